#include "add/diagrams.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <unordered_map>

#include "support/hashing.hpp"

namespace coreplan {

namespace {

constexpr std::size_t kFirstCapacity = 1U << 10U;
constexpr Index kMostNodes = 1U << 28U;  // an operation and a node fit into 32 bits
constexpr std::size_t kLargestCache = 1U << 24U;
constexpr std::size_t kFewNodes = 1U << 14U;  // not worth a collection
constexpr std::uint64_t kWorkPerStep = 16;

}  // namespace

// How large the arrays are for a number of nodes.
struct Diagrams::Sizes {
    explicit Sizes(std::size_t capacity)
        : nodes(capacity),
          buckets(2 * std::bit_ceil(capacity)),  // few nodes share one
          cache(std::min(std::bit_ceil(capacity), kLargestCache)) {}

    [[nodiscard]] double bytes() const {
        return static_cast<double>(nodes) * sizeof(Node) +
               static_cast<double>(buckets) * sizeof(Index) +
               static_cast<double>(cache) * sizeof(Remembered);
    }

    std::size_t nodes, buckets, cache;
};

double Diagrams::Node::number() const {
    return std::bit_cast<double>((static_cast<std::uint64_t>(high) << 32U) | low);
}

// Which operation, in the upper four bits; below them a third operand, if there is one.
enum class Diagrams::Operation : Index {
    plus = 0U << 28U,
    minus = 1U << 28U,
    times = 2U << 28U,
    max = 3U << 28U,
    min = 4U << 28U,
    restrict = 5U << 28U,
    rename = 6U << 28U,
    sum_of_products = 7U << 28U,
    max_of_sums = 8U << 28U,
    equal = 9U << 28U,
};

// -- handles -------------------------------------------------------------------------------------

Diagram::Diagram(const Diagram& other) : owner_(other.owner_) {
    if (owner_ != nullptr) slot_ = owner_->slot_for(owner_->roots_[other.slot_]);
}

Diagram::Diagram(Diagram&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), slot_(other.slot_) {}

Diagram& Diagram::operator=(Diagram other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(slot_, other.slot_);
    return *this;
}

Diagram::~Diagram() {
    if (owner_ == nullptr) return;
    owner_->roots_[slot_] = Diagrams::kNone;
    owner_->free_slots_.push_back(slot_);  // has room: see slot_for
}

DiagramNode Diagram::root() const {
    return DiagramNode{owner_ == nullptr ? Diagrams::kNone : owner_->roots_[slot_]};
}

Index Diagrams::slot_for(Index node) {
    if (free_slots_.empty()) {
        roots_.push_back(node);
        // So that giving slots back never allocates.
        if (free_slots_.capacity() < roots_.capacity()) free_slots_.reserve(roots_.capacity());
        return static_cast<Index>(roots_.size() - 1);
    }
    const Index slot = free_slots_.back();
    free_slots_.pop_back();
    roots_[slot] = node;
    return slot;
}

Diagram Diagrams::hold(Index node) { return {this, slot_for(node)}; }

Index Diagrams::node_of(const Diagram& f) const {
    if (f.owner_ != this) throw std::invalid_argument("a diagram of somebody else");
    return roots_[f.slot_];
}

// -- nodes ---------------------------------------------------------------------------------------

Diagrams::Diagrams(Index variables, Monitor& monitor)
    : variables_(variables), monitor_(monitor), memory_(monitor) {
    if (variables > kMostVariables) throw std::invalid_argument("too many variables");
    resize(kFirstCapacity);
    terminal(0);
    terminal(1);
}

// Makes room for so many nodes, with a table to find them and one to remember results.
void Diagrams::resize(std::size_t capacity) {
    const Sizes sizes(capacity);
    // Old and new are there at the same time.
    Reservation fresh(monitor_);
    fresh.take(sizes.bytes(), "the decision diagrams");
    nodes_ = nodes_.resized(capacity, used_);
    if (sizes.buckets != buckets_.size()) {
        buckets_ = LargeArray<Index>(sizes.buckets, kNone);
        link_all();
    }
    if (sizes.cache != cache_.size()) {
        LargeArray<Remembered> old(sizes.cache, {kNone, kNone, kNone, kNone});
        std::swap(old, cache_);
        for (const Remembered& each : old) {
            if (each.result != kNone) cache_[slot_of(each.f, each.g, each.what)] = each;
        }
    }
    swap(memory_, fresh);
}

void Diagrams::grow() {
    // As much more as there is room for: double, or a part of it.
    const std::size_t capacity = nodes_.size();
    std::size_t more = 2 * capacity;
    for (const std::size_t parts : {2U, 4U, 8U}) {
        if (monitor_.fits(Sizes(more).bytes())) break;
        more = capacity + capacity / parts;
    }
    if (more > kMostNodes) {
        throw LimitReached(Stop::memory_limit, "the decision diagrams have too many nodes");
    }
    resize(more);
}

// Puts all nodes in use into their buckets, which are empty, and the others onto the free list.
void Diagrams::link_all() {
    free_ = kNone;
    for (std::size_t k = used_; k-- > 0;) {
        Node& node = nodes_[k];
        if (node.level == kFree) {
            node.next = free_;
            free_ = static_cast<Index>(k);
            continue;
        }
        std::size_t hash = hash_on(hash_on(node.level, node.low), node.high);
        Index& bucket = buckets_[hash & (buckets_.size() - 1)];
        node.next = bucket;
        bucket = static_cast<Index>(k);
    }
}

Index Diagrams::find_or_add(std::uint16_t level, Index low, Index high) {
    const std::size_t hash = hash_on(hash_on(level, low), high);
    for (Index k = buckets_[hash & (buckets_.size() - 1)]; k != kNone; k = nodes_[k].next) {
        const Node& node = nodes_[k];
        if (node.low == low && node.high == high && node.level == level) return k;
    }
    Index made = free_;
    if (made != kNone) {
        free_ = nodes_[made].next;
    } else {
        if (used_ == nodes_.size()) grow();
        made = static_cast<Index>(used_++);
    }
    ++in_use_;
    peak_ = std::max(peak_, in_use_);
    Index& bucket = buckets_[hash & (buckets_.size() - 1)];
    nodes_[made] = {low, high, bucket, level, 0};
    bucket = made;
    return made;
}

Index Diagrams::terminal(double value) {
    if (!std::isfinite(value)) {
        throw std::overflow_error("the sum of the rewards is too large");
    }
    const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
    return find_or_add(kTerminal, static_cast<Index>(bits), static_cast<Index>(bits >> 32U));
}

Index Diagrams::make(Index level, Index low, Index high) {
    if (low == high) return low;
    return find_or_add(static_cast<std::uint16_t>(level), low, high);
}

// -- results remembered --------------------------------------------------------------------------

std::size_t Diagrams::slot_of(Index f, Index g, Index what) const {
    return hash_on(hash_on(hash_on(kHashSeed, f), g), what) & (cache_.size() - 1);
}

Index Diagrams::recall(Index f, Index g, Index what) const {
    const Remembered& here = cache_[slot_of(f, g, what)];
    return here.f == f && here.g == g && here.what == what ? here.result : kNone;
}

void Diagrams::remember(Index f, Index g, Index what, Index result) {
    cache_[slot_of(f, g, what)] = {f, g, what, result};
}

void Diagrams::step() {
    if (monitor_.tick(kWorkPerStep)) {
        throw LimitReached(monitor_.stop(), "stopped within a decision diagram");
    }
}

// -- collection ----------------------------------------------------------------------------------

void Diagrams::mark(Index node) const {
    const Node& here = nodes_[node];
    if (here.mark != 0) return;
    here.mark = 1;
    if (here.level == kTerminal) return;
    mark(here.low);
    mark(here.high);
}

void Diagrams::unmark(Index node) const {
    const Node& here = nodes_[node];
    if (here.mark == 0) return;
    here.mark = 0;
    if (here.level == kTerminal) return;
    unmark(here.low);
    unmark(here.high);
}

void Diagrams::collect() {
    ++collections_;
    mark(kZero);
    mark(kOne);
    for (const Index root : roots_) {
        if (root != kNone) mark(root);
    }
    const auto kept = [&](Index node) { return nodes_[node].mark != 0; };
    for (Remembered& each : cache_) {
        if (each.result == kNone) continue;
        const auto what = static_cast<Operation>(each.what & ~(kMostNodes - 1));
        const bool second = what == Operation::rename || kept(each.g);
        if (!kept(each.f) || !second || !kept(each.what & (kMostNodes - 1)) || !kept(each.result)) {
            each = {kNone, kNone, kNone, kNone};
        }
    }
    in_use_ = 0;
    for (std::size_t k = 0; k < used_; ++k) {
        Node& node = nodes_[k];
        if (node.mark != 0) {
            node.mark = 0;
            ++in_use_;
        } else {
            node.level = kFree;
        }
    }
    std::ranges::fill(buckets_, kNone);
    link_all();
    at_last_collection_ = in_use_;
}

template <class Call>
Diagram Diagrams::run(const Call& call) {
    if (in_use_ > kFewNodes + 2 * at_last_collection_) collect();
    try {
        return hold(call());
    } catch (const LimitReached& struck) {
        if (struck.stop != Stop::memory_limit || monitor_.stop() != Stop::none) throw;
        // What the operation has made so far is not held by anybody.
        collect();
        if (nodes_.size() - in_use_ < nodes_.size() / 4) throw;
    }
    return hold(call());
}

// -- building ------------------------------------------------------------------------------------

Index Diagrams::checked(Index variable, Index child) const {
    if (variable >= variables_ || variable >= nodes_[child].level) {
        throw std::invalid_argument("variables are not in ascending order");
    }
    return child;
}

Diagram Diagrams::constant(double value) {
    return run([&] { return terminal(value); });
}

Diagram Diagrams::decide(Index variable, const Diagram& low, const Diagram& high) {
    return run([&] {
        return make(variable, checked(variable, node_of(low)), checked(variable, node_of(high)));
    });
}

Index Diagrams::build(std::span<const Index> variables, std::span<const Diagram> rows) {
    if (variables.empty()) {
        if (rows.size() != 1) throw std::invalid_argument("more rows than the variables can tell");
        return node_of(rows[0]);
    }
    const std::size_t half = variables.size() > 63
                                 ? rows.size()
                                 : std::min(rows.size(), std::size_t{1} << (variables.size() - 1));
    const Index low = checked(variables[0], build(variables.subspan(1), rows.first(half)));
    if (half == rows.size()) return low;
    const Index high = checked(variables[0], build(variables.subspan(1), rows.subspan(half)));
    return make(variables[0], low, high);
}

Diagram Diagrams::table(std::span<const Index> variables, std::span<const Diagram> rows) {
    if (rows.empty()) throw std::invalid_argument("a table without rows");
    return run([&] { return build(variables, rows); });
}

Index Diagrams::build_some(std::span<const Index> variables,
                           std::span<const std::pair<std::uint64_t, Diagram>> rows,
                           std::uint64_t first) {
    if (variables.empty()) {
        if (rows.size() != 1 || rows[0].first != first) {
            throw std::invalid_argument("numbers that the variables cannot tell");
        }
        return node_of(rows[0].second);
    }
    const std::uint64_t middle = first + (std::uint64_t{1} << (variables.size() - 1));
    const auto split =
        std::ranges::lower_bound(rows, middle, {}, &std::pair<std::uint64_t, Diagram>::first);
    const auto below = static_cast<std::size_t>(split - rows.begin());
    const auto rest = variables.subspan(1);
    if (below == rows.size()) return checked(variables[0], build_some(rest, rows, first));
    if (below == 0) return checked(variables[0], build_some(rest, rows, middle));
    const Index low = checked(variables[0], build_some(rest, rows.first(below), first));
    const Index high = checked(variables[0], build_some(rest, rows.subspan(below), middle));
    return make(variables[0], low, high);
}

Diagram Diagrams::table(std::span<const Index> variables,
                        std::span<const std::pair<std::uint64_t, Diagram>> rows) {
    if (variables.size() > 63) throw std::invalid_argument("more variables than bits");
    if (rows.empty()) throw std::invalid_argument("a table without rows");
    return run([&] { return build_some(variables, rows, 0); });
}

Index Diagrams::build_sparse(std::span<const Index> variables,
                             std::span<const std::pair<std::uint64_t, double>> entries,
                             std::uint64_t first) {
    if (entries.empty()) return kZero;
    if (variables.empty()) {
        if (entries.size() != 1 || entries[0].first != first) {
            throw std::invalid_argument("numbers that the variables cannot tell");
        }
        return terminal(entries[0].second);
    }
    const std::uint64_t middle = first + (std::uint64_t{1} << (variables.size() - 1));
    const auto split =
        std::ranges::lower_bound(entries, middle, {}, &std::pair<std::uint64_t, double>::first);
    const auto below = static_cast<std::size_t>(split - entries.begin());
    const auto rest = variables.subspan(1);
    const Index low = checked(variables[0], build_sparse(rest, entries.first(below), first));
    const Index high = checked(variables[0], build_sparse(rest, entries.subspan(below), middle));
    return make(variables[0], low, high);
}

Diagram Diagrams::sparse(std::span<const Index> variables,
                         std::span<const std::pair<std::uint64_t, double>> entries) {
    if (variables.size() > 63) throw std::invalid_argument("more variables than bits");
    return run([&] { return build_sparse(variables, entries, 0); });
}

Diagram Diagrams::literals(std::span<const std::pair<Index, bool>> values) {
    return run([&] {
        Index node = kOne;
        for (std::size_t k = values.size(); k-- > 0;) {
            const auto [variable, value] = values[k];
            const Index rest = checked(variable, node);
            node = value ? make(variable, kZero, rest) : make(variable, rest, kZero);
        }
        return node;
    });
}

Diagram Diagrams::cube(std::span<const Index> variables) {
    std::vector<std::pair<Index, bool>> values;
    for (const Index variable : variables) values.emplace_back(variable, true);
    return literals(values);
}

// -- point by point ------------------------------------------------------------------------------

// `quick` is the result where it can be seen at once, else kNone.
struct Diagrams::Plus {
    static constexpr Operation kOperation = Operation::plus;
    static constexpr bool kCommutes = true;
    static double of(double a, double b) { return a + b; }
    static Index quick(Index f, Index g) { return f == kZero ? g : g == kZero ? f : kNone; }
};

struct Diagrams::Minus {
    static constexpr Operation kOperation = Operation::minus;
    static constexpr bool kCommutes = false;
    static double of(double a, double b) { return a - b; }
    static Index quick(Index f, Index g) { return g == kZero ? f : f == g ? kZero : kNone; }
};

struct Diagrams::Times {
    static constexpr Operation kOperation = Operation::times;
    static constexpr bool kCommutes = true;
    static double of(double a, double b) { return a * b; }
    static Index quick(Index f, Index g) {
        if (f == kZero || g == kZero) return kZero;
        return f == kOne ? g : g == kOne ? f : kNone;
    }
};

struct Diagrams::Max {
    static constexpr Operation kOperation = Operation::max;
    static constexpr bool kCommutes = true;
    static double of(double a, double b) { return std::max(a, b); }
    static Index quick(Index f, Index g) { return f == g ? f : kNone; }
};

struct Diagrams::Min {
    static constexpr Operation kOperation = Operation::min;
    static constexpr bool kCommutes = true;
    static double of(double a, double b) { return std::min(a, b); }
    static Index quick(Index f, Index g) { return f == g ? f : kNone; }
};

struct Diagrams::Equal {
    static constexpr Operation kOperation = Operation::equal;
    static constexpr bool kCommutes = true;
    static double of(double a, double b) { return a == b ? 1 : 0; }
    static Index quick(Index f, Index g) { return f == g ? kOne : kNone; }
};

template <class Op>
Index Diagrams::apply(Index f, Index g) {
    const Index quick = Op::quick(f, g);
    if (quick != kNone) return quick;
    if (Op::kCommutes && f > g) std::swap(f, g);
    // By value: nodes move when their array grows.
    const Node a = nodes_[f];
    const Node b = nodes_[g];
    if (a.level == kTerminal && b.level == kTerminal) {
        return terminal(Op::of(a.number(), b.number()));
    }
    constexpr auto what = static_cast<Index>(Op::kOperation);
    const Index known = recall(f, g, what);
    if (known != kNone) return known;
    step();
    const std::uint16_t level = std::min(a.level, b.level);
    const bool of_f = a.level == level;
    const bool of_g = b.level == level;
    const Index low = apply<Op>(of_f ? a.low : f, of_g ? b.low : g);
    const Index high = apply<Op>(of_f ? a.high : f, of_g ? b.high : g);
    const Index result = make(level, low, high);
    remember(f, g, what, result);
    return result;
}

Diagram Diagrams::plus(const Diagram& f, const Diagram& g) {
    return run([&] { return apply<Plus>(node_of(f), node_of(g)); });
}
Diagram Diagrams::minus(const Diagram& f, const Diagram& g) {
    return run([&] { return apply<Minus>(node_of(f), node_of(g)); });
}
Diagram Diagrams::times(const Diagram& f, const Diagram& g) {
    return run([&] { return apply<Times>(node_of(f), node_of(g)); });
}
Diagram Diagrams::max(const Diagram& f, const Diagram& g) {
    return run([&] { return apply<Max>(node_of(f), node_of(g)); });
}
Diagram Diagrams::min(const Diagram& f, const Diagram& g) {
    return run([&] { return apply<Min>(node_of(f), node_of(g)); });
}
Diagram Diagrams::equal(const Diagram& f, const Diagram& g) {
    return run([&] { return apply<Equal>(node_of(f), node_of(g)); });
}

// -- over variables ------------------------------------------------------------------------------

Index Diagrams::restrict_to(Index f, Index literals) {
    const Node here = nodes_[f];
    Node fixed = nodes_[literals];
    while (fixed.level < here.level) {
        literals = fixed.low == kZero ? fixed.high : fixed.low;
        fixed = nodes_[literals];
    }
    if (here.level == kTerminal || literals == kOne) return f;
    const Index what = static_cast<Index>(Operation::restrict);
    const Index known = recall(f, literals, what);
    if (known != kNone) return known;
    step();
    Index result = 0;
    if (fixed.level == here.level) {
        result = fixed.low == kZero ? restrict_to(here.high, fixed.high)
                                    : restrict_to(here.low, fixed.low);
    } else {
        const Index low = restrict_to(here.low, literals);
        const Index high = restrict_to(here.high, literals);
        result = make(here.level, low, high);
    }
    remember(f, literals, what, result);
    return result;
}

Diagram Diagrams::restrict(const Diagram& f, const Diagram& literals) {
    return run([&] { return restrict_to(node_of(f), node_of(literals)); });
}

struct Diagrams::SumOfProducts {
    using Combine = Times;
    using Gather = Plus;
    static constexpr Operation kOperation = Operation::sum_of_products;
    static constexpr bool kCounts = true;  // a variable that is not tested counts twice
    static bool vanishes(Index f, Index g) { return f == kZero || g == kZero; }
};

struct Diagrams::MaxOfSums {
    using Combine = Plus;
    using Gather = Max;
    static constexpr Operation kOperation = Operation::max_of_sums;
    static constexpr bool kCounts = false;
    static bool vanishes(Index, Index) { return false; }
};

template <class Fold>
Index Diagrams::fold(Index f, Index g, Index cube) {
    if (Fold::vanishes(f, g)) return kZero;
    const Node a = nodes_[f];
    const Node b = nodes_[g];
    const std::uint16_t level = std::min(a.level, b.level);
    int skipped = 0;
    while (nodes_[cube].level < level) {
        cube = nodes_[cube].high;
        ++skipped;
    }
    if (Fold::kCounts && skipped > 0) {
        const Index once = fold<Fold>(f, g, cube);
        return apply<Times>(once, terminal(std::ldexp(1.0, skipped)));
    }
    if (cube == kOne) return apply<typename Fold::Combine>(f, g);
    const Index what = static_cast<Index>(Fold::kOperation) | cube;
    if (f > g) {
        const Index known = recall(g, f, what);
        if (known != kNone) return known;
    } else {
        const Index known = recall(f, g, what);
        if (known != kNone) return known;
    }
    step();
    const bool gathers = nodes_[cube].level == level;
    const Index rest = gathers ? nodes_[cube].high : cube;
    const bool of_f = a.level == level;
    const bool of_g = b.level == level;
    const Index low = fold<Fold>(of_f ? a.low : f, of_g ? b.low : g, rest);
    const Index high = fold<Fold>(of_f ? a.high : f, of_g ? b.high : g, rest);
    const Index result = gathers ? apply<typename Fold::Gather>(low, high) : make(level, low, high);
    remember(std::min(f, g), std::max(f, g), what, result);
    return result;
}

Diagram Diagrams::sum_of_products(const Diagram& f, const Diagram& g, const Diagram& cube) {
    return run([&] { return fold<SumOfProducts>(node_of(f), node_of(g), node_of(cube)); });
}
Diagram Diagrams::max_of_sums(const Diagram& f, const Diagram& g, const Diagram& cube) {
    return run([&] { return fold<MaxOfSums>(node_of(f), node_of(g), node_of(cube)); });
}
Diagram Diagrams::sum_out(const Diagram& f, const Diagram& cube) {
    return run([&] { return fold<SumOfProducts>(node_of(f), kOne, node_of(cube)); });
}
Diagram Diagrams::max_out(const Diagram& f, const Diagram& cube) {
    return run([&] { return fold<MaxOfSums>(node_of(f), kZero, node_of(cube)); });
}

Index Diagrams::rename_to(Index f) {
    const Node here = nodes_[f];
    if (here.level == kTerminal) return f;
    const Index what = static_cast<Index>(Operation::rename);
    const Index known = recall(f, renamings_, what);
    if (known != kNone) return known;
    step();
    const Index low = rename_to(here.low);
    const Index high = rename_to(here.high);
    const Index level = renaming_[here.level];
    const Index result = make(level, checked(level, low), checked(level, high));
    remember(f, renamings_, what, result);
    return result;
}

Diagram Diagrams::rename(const Diagram& f, std::span<const Index> to) {
    if (to.size() != variables_) throw std::invalid_argument("a renaming of other variables");
    if (!std::ranges::equal(to, renaming_)) {
        renaming_.assign(to.begin(), to.end());
        ++renamings_;
    }
    return run([&] { return rename_to(node_of(f)); });
}

// -- looking -------------------------------------------------------------------------------------

double Diagrams::evaluate(const Diagram& f, const std::vector<bool>& values) const {
    Index node = node_of(f);
    while (nodes_[node].level != kTerminal) {
        node = values.at(nodes_[node].level) ? nodes_[node].high : nodes_[node].low;
    }
    return nodes_[node].number();
}

std::size_t Diagrams::node_count(const Diagram& f) const {
    const Index root = node_of(f);
    std::size_t count = 0;
    std::vector<Index> open{root};
    while (!open.empty()) {
        const Node& here = nodes_[open.back()];
        open.pop_back();
        if (here.mark != 0) continue;
        here.mark = 1;
        ++count;
        if (here.level == kTerminal) continue;
        open.push_back(here.low);
        open.push_back(here.high);
    }
    unmark(root);
    return count;
}

double Diagrams::path_count(const Diagram& f) const {
    std::unordered_map<Index, double> known;
    const auto count = [&](const auto& self, Index node) -> double {
        if (nodes_[node].level == kTerminal) return 1;
        if (const auto found = known.find(node); found != known.end()) return found->second;
        const double paths = self(self, nodes_[node].low) + self(self, nodes_[node].high);
        known.emplace(node, paths);
        return paths;
    };
    return count(count, node_of(f));
}

}  // namespace coreplan
