#include "search/group_search.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "bounds/independent.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kShards = 64;
constexpr Index kNone = ~Index{0};
constexpr double kSecondsPerCell = 2e-8;     // of the kernel, at most about
constexpr double kEqual = 1e-14;             // of the scale: bounds that are as good as the same
constexpr double kSmallTable = 2e4;          // joint states that are always worth a table
constexpr double kFewOutcomes = 32;          // combinations that are revealed all at once
constexpr std::uint64_t kSweeps = 3;         // at the beginning
constexpr double kLeastPart = 1e-5;          // of the gap, that is worth a look in a sweep
constexpr std::uint64_t kQuicklyFreed = 50'000;  // records
constexpr double kEnoughFreed = 0.1;         // of all memory, so that it is worth going on
constexpr double kPatience = 0.2;            // seconds that a sweep may always take

std::size_t mix(std::size_t hash, std::size_t value) {
    hash = (hash ^ value) * 0xbf58476d1ce4e5b9ULL;
    return hash ^ (hash >> 29U);
}

std::size_t hash_of(const Shape& shape, std::span<const Status> where) {
    std::size_t hash = reinterpret_cast<std::uintptr_t>(&shape) * 0x9e3779b97f4a7c15ULL;
    for (const Status each : where) hash = mix(hash, each.code());
    return hash;
}

}  // namespace

LargestContribution::Choice LargestContribution::choose(const Situation& situation) const {
    double open = 0;
    for (const Branch& branch : situation.branches) open += branch.gap > 0 ? branch.weight : 0;
    // If all gaps were as small as that, the record's would be small enough.
    const double fair = 0.9 * situation.tolerance / open;
    double most = 0;
    std::size_t chosen = 0;
    for (std::size_t k = 0; k < situation.branches.size(); ++k) {
        const Branch& branch = situation.branches[k];
        const double contribution = branch.weight * branch.gap / (1 + branch.visitors);
        if (branch.gap <= fair || contribution <= most) continue;
        most = contribution;
        chosen = k;
    }
    const Branch& branch = situation.branches[chosen];
    const double drop = std::max(situation.advantage, 0.1 * situation.gap) / branch.weight;
    return {chosen, std::max(fair, 0.25 * branch.gap), drop};
}

struct GroupSearch::Child {
    Record* record;
    double weight;
};

// A joint action and where it leads.
struct GroupSearch::Option {
    [[nodiscard]] double bytes() const {
        return static_cast<double>(sizeof(Option) + children.capacity() * sizeof(Child) +
                                   actions.capacity() * sizeof(Index));
    }

    std::vector<Index> actions;
    std::vector<Child> children;
    double fixed_lower = 0;  // rewards, and groups that are known
    double fixed_upper = 0;
    double lower = 0;        // as last added up
    double upper = 0;

    void add_up();
};

// What can be done in a joint state; where outcomes are not revealed, the one option is to wait.
struct GroupSearch::Body {
    std::unique_ptr<ActionOrder> order;
    double order_bytes = 0;
    bool stale = false;  // the order goes by a bound that has changed, or an action is missing
    std::vector<Option> options;
    std::size_t best = kNone;  // the option that the lower bound comes from; none: a policy's
};

struct GroupSearch::Record {
    Shape* shape = nullptr;
    const Status* first = nullptr;
    Index layer = 0;
    Index number = 0;
    std::atomic<double> lower{0};
    std::atomic<double> upper{0};
    std::atomic<unsigned> visitors{0};
    std::atomic_flag busy;
    std::unique_ptr<Body> body;
    bool forgotten = false;   // it is not in the table any more
    std::uint64_t swept = 0;  // the last sweep that came by
    double reach = 0;         // how likely it is then

    [[nodiscard]] std::span<const Status> where() const { return {first, shape->size()}; }
    [[nodiscard]] double gap() const {
        return upper.load(std::memory_order_relaxed) - lower.load(std::memory_order_relaxed);
    }
    void close(double value) {
        lower.store(value, std::memory_order_relaxed);
        upper.store(value, std::memory_order_relaxed);
    }
};

void GroupSearch::Option::add_up() {
    lower = fixed_lower;
    upper = fixed_upper;
    for (const Child& child : children) {
        lower += child.weight * child.record->lower.load(std::memory_order_relaxed);
        upper += child.weight * child.record->upper.load(std::memory_order_relaxed);
    }
}

double GroupSearch::record_bytes(const Shape& shape) {
    return 1.5 * (sizeof(Record) + 2 * sizeof(Record*)) +
           static_cast<double>(shape.size() * sizeof(Status));
}

class GroupSearch::Records {
public:
    Record* find(const Shape& shape, std::span<const Status> where) {
        const std::size_t hash = hash_of(shape, where);
        Shard& shard = shards_[hash % kShards];
        const std::lock_guard lock(shard.guard);
        return *slot_of(shard, hash, shape, where);
    }

    // The record, made if there is none; and whether it is new.
    std::pair<Record*, bool> insert(Shape& shape, Index layer, std::span<const Status> where,
                                    double lower, double upper) {
        const std::size_t hash = hash_of(shape, where);
        Shard& shard = shards_[hash % kShards];
        const std::lock_guard lock(shard.guard);
        Record** slot = slot_of(shard, hash, shape, where);
        if (*slot != nullptr) return {*slot, false};
        Record* reused = nullptr;
        if (!shard.unused.empty() && shard.unused.back()->shape->size() >= where.size()) {
            reused = shard.unused.back();
            shard.unused.pop_back();
        }
        Record& record = reused != nullptr ? *reused : shard.records.emplace_back();
        if (reused != nullptr) {
            std::ranges::copy(where, const_cast<Status*>(record.first));
            record.forgotten = false;
        } else if (shard.room < where.size()) {
            shard.room = std::max<std::size_t>(4096, where.size());
            shard.chunks.push_back(std::make_unique<Status[]>(shard.room));
            shard.next = shard.chunks.back().get();
        }
        if (reused == nullptr) {
            std::ranges::copy(where, shard.next);
            record.first = shard.next;
            shard.next += where.size();
            shard.room -= where.size();
        }
        record.shape = &shape;
        record.layer = layer;
        record.number = count_.fetch_add(1);
        record.lower = lower;
        record.upper = upper;
        *slot = &record;
        if (2 * shard.records.size() > shard.slots.size()) rehash(shard, 2 * shard.slots.size());
        return {&record, true};
    }

    // Forgets records that are not to be kept; their memory is used again. Returns how many.
    template <class Keep>
    std::uint64_t forget(const Keep& keep) {
        std::uint64_t forgotten = 0;
        for (Shard& shard : shards_) {
            for (Record& record : shard.records) {
                if (record.forgotten || keep(record)) continue;
                record.forgotten = true;
                record.body.reset();
                shard.unused.push_back(&record);
                ++forgotten;
            }
            rehash(shard, shard.slots.size());
        }
        return forgotten;
    }

    template <class Visit>
    void for_each(const Visit& visit) {
        for (Shard& shard : shards_) {
            for (Record& record : shard.records) {
                if (!record.forgotten) visit(record);
            }
        }
    }

private:
    struct Shard {
        std::mutex guard;
        std::deque<Record> records;
        std::vector<Record*> unused;
        std::vector<Record*> slots = std::vector<Record*>(64, nullptr);
        std::vector<std::unique_ptr<Status[]>> chunks;
        Status* next = nullptr;
        std::size_t room = 0;
    };

    static Record** slot_of(Shard& shard, std::size_t hash, const Shape& shape,
                            std::span<const Status> where) {
        std::size_t k = (hash / kShards) & (shard.slots.size() - 1);
        while (shard.slots[k] != nullptr && (shard.slots[k]->shape != &shape ||
                                             !std::ranges::equal(shard.slots[k]->where(), where))) {
            k = (k + 1) & (shard.slots.size() - 1);
        }
        return &shard.slots[k];
    }

    static void rehash(Shard& shard, std::size_t size) {
        shard.slots.assign(size, nullptr);
        for (Record& record : shard.records) {
            if (record.forgotten) continue;
            std::size_t k = (hash_of(*record.shape, record.where()) / kShards) &
                            (shard.slots.size() - 1);
            while (shard.slots[k] != nullptr) k = (k + 1) & (shard.slots.size() - 1);
            shard.slots[k] = &record;
        }
    }

    Shard shards_[kShards];
    std::atomic<Index> count_{0};
};

// What one thread needs.
class GroupSearch::Worker {
public:
    explicit Worker(GroupSearch& search)
        : search_(search),
          model_(search.model_),
          shapes_(search.shapes_),
          above_(search.bound_->eye()),
          below_(search.floor_.eye()) {}

    // Works on a record until its bounds are near enough, its upper bound has come down far enough,
    // or it is time to stop.
    void work(Record& record, double tolerance, double floor, double end, Monitor& monitor);

    // Follows the most promising actions from some records wherever they are likely to lead, and
    // brings the bounds up to date from the end back. Or follows the best policy that is known.
    enum class Follow { promise, policy };
    void sweep(std::span<const Child> from, Follow follow, std::uint64_t number, double least,
               double end, Monitor& monitor);

    // Agents who stand somewhere, all of their interactions ahead: adds them to an option.
    void enter(Shape& shape, Index layer, std::span<const Status> where, double weight,
               Option& option, Monitor& monitor);
    // What the option's actions bring in a joint state, and where they lead.
    void lead(Shape& shape, Index layer, std::span<const Status> where, Option& option,
              Monitor& monitor);

    [[nodiscard]] GroupFloor::Eye& eye() { return *below_; }
    [[nodiscard]] GroupBound::Eye& above() { return *above_; }
    // The bound has changed.
    void look_again() { above_ = search_.bound_->eye(); }

    // Who is told of every group that is reached, all outcomes revealed, instead of making records.
    using Arrival = std::function<void(Shape&, Index, std::span<const Status>, double)>;
    Arrival on_arrival;

private:
    struct Frame {
        Record* record;
        double tolerance;
        double floor;
    };
    // Agents of which some outcomes are not revealed yet, and how likely that is.
    struct Partial {
        Shape* shape;
        std::size_t begin;  // into `pool_`
        double weight;
    };

    struct Top {
        std::size_t option;  // the most promising one, its bounds up to date
        double second;       // no other one promises more
    };

    Record* visit(const Frame& frame, Frame& child, Monitor& monitor);
    static Top find_top(Record& record);
    std::size_t promising(Record& record, Monitor& monitor);
    std::size_t known_best(Record& record, Monitor& monitor);
    static double update(Record& record, const Top& top);
    bool open(Record& record, Monitor& monitor);
    void begin(Record& record, Monitor& monitor);
    void order_actions_of(Record& record);
    void clear_outcomes();
    bool add_option(Record& record, Monitor& monitor);
    bool build(Record& record, Option option, Monitor& monitor);

    void part(Shape& shape, Index layer, std::span<const Status> where, double weight,
              Option& option, Monitor& monitor);
    void put(Shape& shape, std::span<const Status> where, double weight);
    void grow_slots();
    void reveal(const Partial& from, Index layer, Option& option, Monitor& monitor);
    void spread(Index layer, Option& option, Monitor& monitor);
    void arrive(Shape& shape, Index layer, std::span<const Status> where, double weight,
                Option& option, Monitor& monitor);
    void add_record(Shape& shape, Index layer, std::span<const Status> where, double weight,
                    Option& option);
    bool go_on(Shape& shape, Index layer, std::span<const Status> where, double& reward,
               std::vector<Status>& next) const;
    [[nodiscard]] double outcomes(const Shape& shape, std::span<const Status> where) const;
    static void join_children(Option& option);

    [[nodiscard]] std::span<const Status> where_of(const Partial& partial) const {
        return std::span(pool_).subspan(partial.begin, partial.shape->size());
    }
    [[nodiscard]] bool stopping(Monitor& monitor) const {
        return monitor.stop() != Stop::none || monitor.tick(300) || search_.full_ ||
               monitor.seconds() >= end_;
    }

    GroupSearch& search_;
    const CompiledModel& model_;
    Shapes& shapes_;
    std::unique_ptr<GroupBound::Eye> above_;
    std::unique_ptr<GroupFloor::Eye> below_;
    std::vector<ActionTerm> terms_;
    std::vector<Frame> stack_;
    std::vector<SearchOrder::Branch> branches_;
    double build_seconds_ = 50e-6;
    double end_ = 0;

    // Of the outcomes in work.
    std::vector<std::vector<Partial>> levels_;  // by how many are not revealed
    std::vector<Status> pool_;
    std::vector<std::size_t> slots_;  // 1 + position and level of a partial, or 0
    std::vector<std::size_t> used_slots_;
    std::vector<Index> part_of_;
    std::vector<Index> lists_;
};

namespace {

constexpr std::size_t kLevelBits = 12;

std::size_t hidden_count(std::span<const Status> where) {
    return static_cast<std::size_t>(
        std::ranges::count_if(where, [](Status each) { return !each.revealed(); }));
}

}  // namespace

void GroupSearch::Worker::grow_slots() {
    slots_.assign(std::max<std::size_t>(256, 4 * slots_.size()), 0);
    used_slots_.clear();
    for (std::size_t level = 0; level < levels_.size(); ++level) {
        for (std::size_t k = 0; k < levels_[level].size(); ++k) {
            const Partial& each = levels_[level][k];
            std::size_t s = hash_of(*each.shape, where_of(each)) & (slots_.size() - 1);
            while (slots_[s] != 0) s = (s + 1) & (slots_.size() - 1);
            slots_[s] = ((k << kLevelBits) | level) + 1;
            used_slots_.push_back(s);
        }
    }
}

// Remembers agents who stand somewhere; those who are there already become likelier.
void GroupSearch::Worker::put(Shape& shape, std::span<const Status> where, double weight) {
    if (4 * used_slots_.size() >= slots_.size()) grow_slots();
    std::size_t s = hash_of(shape, where) & (slots_.size() - 1);
    for (; slots_[s] != 0; s = (s + 1) & (slots_.size() - 1)) {
        const std::size_t code = slots_[s] - 1;
        Partial& each = levels_[code & ((1U << kLevelBits) - 1)][code >> kLevelBits];
        if (each.shape == &shape && std::ranges::equal(where_of(each), where)) {
            each.weight += weight;
            return;
        }
    }
    const std::size_t level = hidden_count(where);
    if (levels_.size() <= level) levels_.resize(level + 1);
    slots_[s] = ((levels_[level].size() << kLevelBits) | level) + 1;
    used_slots_.push_back(s);
    levels_[level].push_back({&shape, pool_.size(), weight});
    pool_.insert(pool_.end(), where.begin(), where.end());
}

// Takes apart those who cannot interact any more.
void GroupSearch::Worker::part(Shape& shape, Index layer, std::span<const Status> where,
                               double weight, Option& option, Monitor& monitor) {
    Index parts = 1;
    if (search_.options_.split) {
        lists_.clear();
        for (std::size_t m = 0; m < where.size(); ++m) {
            const AgentId agent = shape.agents[m];
            lists_.push_back(where[m].revealed()
                                 ? search_.couplings_.list(agent, where[m].class_id())
                                 : search_.couplings_.list(agent, where[m].after_id()));
        }
        parts = shapes_.split(shape, lists_, part_of_);
    }
    const auto take = [&](Shape& mine, std::span<const Status> own) {
        const ValueTable* exact = mine.exact.load(std::memory_order_acquire);
        if (exact == nullptr || on_arrival) {
            put(mine, own, weight);
            return;
        }
        const double value =
            weight * shapes_.look_up(*exact, layer, mine.agents, mine.places, own);
        option.fixed_lower += value;
        option.fixed_upper += value;
    };
    if (parts == 1) {
        take(shape, where);
        return;
    }
    std::vector<AgentId> agents;
    std::vector<Status> own;
    for (Index p = 0; p < parts; ++p) {
        agents.clear();
        own.clear();
        for (std::size_t m = 0; m < where.size(); ++m) {
            if (part_of_[m] != p) continue;
            agents.push_back(shape.agents[m]);
            own.push_back(where[m]);
        }
        take(shapes_.get(agents, monitor), own);
    }
}

// Combinations of outcomes that are not revealed.
double GroupSearch::Worker::outcomes(const Shape& shape, std::span<const Status> where) const {
    double count = 1;
    for (std::size_t m = 0; m < where.size(); ++m) {
        if (where[m].revealed()) continue;
        const auto& begin = model_.agents[at(shape.agents[m])].outcome_begin;
        const std::size_t after = at(where[m].after_id());
        count *= begin[after + 1] - begin[after];
    }
    return count;
}

// Reveals the outcome of the agent that most others are tied to.
void GroupSearch::Worker::reveal(const Partial& from, Index layer, Option& option,
                                 Monitor& monitor) {
    const auto before = where_of(from);
    std::vector<Status> where(before.begin(), before.end());
    std::size_t who = where.size();
    for (std::size_t m = 0; m < where.size(); ++m) {
        if (where[m].revealed()) continue;
        if (who == where.size() || from.shape->ties[m] > from.shape->ties[who]) who = m;
    }
    const CompiledAgent& agent = model_.agents[at(from.shape->agents[who])];
    const std::size_t after = at(where[who].after_id());
    for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
        where[who] = Status(agent.outcome_next[o]);
        part(*from.shape, layer, where, from.weight * agent.outcome_probability[o], option, monitor);
    }
}

// Reveals what is hidden as far as that is little, and hands over what is reached.
void GroupSearch::Worker::spread(Index layer, Option& option, Monitor& monitor) {
    for (std::size_t level = levels_.size(); level-- > 0;) {
        for (std::size_t k = 0; k < levels_[level].size(); ++k) {
            if (monitor.tick(200) || monitor.stop() != Stop::none ||
                (search_.full_ && !on_arrival)) {
                break;
            }
            const Partial from = levels_[level][k];
            if (level > 0 &&
                (on_arrival || outcomes(*from.shape, where_of(from)) <= kFewOutcomes)) {
                reveal(from, layer, option, monitor);
            } else {
                const auto where = where_of(from);
                arrive(*from.shape, layer, std::vector<Status>(where.begin(), where.end()),
                       from.weight, option, monitor);
            }
        }
    }
    clear_outcomes();
    join_children(option);
}

void GroupSearch::Worker::clear_outcomes() {
    for (auto& level : levels_) level.clear();
    pool_.clear();
    for (const std::size_t s : used_slots_) slots_[s] = 0;
    used_slots_.clear();
}

// Going on where there is one way on may have led to the same.
void GroupSearch::Worker::join_children(Option& option) {
    auto& children = option.children;
    if (children.size() < 2) return;
    std::ranges::stable_sort(children, {}, [](const Child& each) { return each.record->number; });
    std::size_t kept = 0;
    for (std::size_t k = 1; k < children.size(); ++k) {
        if (children[k].record == children[kept].record) {
            children[kept].weight += children[k].weight;
        } else {
            children[++kept] = children[k];
        }
    }
    children.resize(kept + 1);
    children.shrink_to_fit();
}

void GroupSearch::Worker::enter(Shape& shape, Index layer, std::span<const Status> where,
                                double weight, Option& option, Monitor& monitor) {
    clear_outcomes();  // a limit may have struck the last time
    part(shape, layer, where, weight, option, monitor);
    spread(layer, option, monitor);
}

void GroupSearch::Worker::lead(Shape& shape, Index layer, std::span<const Status> where,
                               Option& option, Monitor& monitor) {
    double reward = 0;
    double mass = 1;  // of agents with one outcome: 1, up to what the input says
    std::vector<AfterId> afters;
    std::vector<Status> next;
    for (std::size_t m = 0; m < where.size(); ++m) {
        const CompiledAgent& agent = model_.agents[at(shape.agents[m])];
        const Index action = agent.action_begin[at(where[m].class_id())] + option.actions[m];
        const AfterId after = agent.action_after[action];
        const Index o = agent.outcome_begin[at(after)];
        reward += agent.action_reward[action];
        afters.push_back(after);
        if (agent.outcome_begin[at(after) + 1] == o + 1) {
            next.emplace_back(agent.outcome_next[o]);
            mass *= agent.outcome_probability[o];
        } else {
            next.emplace_back(after);
        }
    }
    reward += shapes_.interactions(shape, layer, afters);
    option.fixed_lower += reward;
    option.fixed_upper += reward;
    if (layer + 1 < model_.layer_count()) enter(shape, layer + 1, next, mass, option, monitor);
}

// Whether there is one way on for all; if so, what it brings and where it leads.
bool GroupSearch::Worker::go_on(Shape& shape, Index layer, std::span<const Status> where,
                                double& reward, std::vector<Status>& next) const {
    reward = 0;
    next.clear();
    std::vector<AfterId> afters;
    for (std::size_t m = 0; m < where.size(); ++m) {
        if (!where[m].revealed()) return false;
        const CompiledAgent& agent = model_.agents[at(shape.agents[m])];
        const std::size_t c = at(where[m].class_id());
        const Index a = agent.action_begin[c];
        const std::size_t after = at(agent.action_after[a]);
        const Index o = agent.outcome_begin[after];
        if (agent.action_begin[c + 1] != a + 1 || agent.outcome_begin[after + 1] != o + 1) return false;
        reward += agent.action_reward[a];
        afters.push_back(as<AfterId>(after));
        next.emplace_back(agent.outcome_next[o]);
    }
    reward += shapes_.interactions(shape, layer, afters);
    return true;
}

void GroupSearch::Worker::add_record(Shape& shape, Index layer, std::span<const Status> where,
                                     double weight, Option& option) {
    Record* record = search_.table_->find(shape, where);
    if (record == nullptr) {
        const double lower = search_.options_.floors ? below_->lower(shape, layer, where)
                                                     : search_.lowest_;
        const double upper = std::max(above_->upper(shape, layer, where), lower);
        if (upper - lower <= kEqual * search_.scale_) {
            option.fixed_lower += weight * lower;
            option.fixed_upper += weight * upper;
            return;
        }
        if (!search_.room_.take(record_bytes(shape))) {
            search_.full_ = true;
            return;
        }
        const auto made = search_.table_->insert(shape, layer, where, lower, upper);
        record = made.first;
        if (made.second) search_.records_.fetch_add(1, std::memory_order_relaxed);
    }
    option.children.push_back({record, weight});
}

// A group that is reached: goes on while there is one way on, then makes it a child.
void GroupSearch::Worker::arrive(Shape& shape, Index layer, std::span<const Status> where,
                                 double weight, Option& option, Monitor& monitor) {
    if (on_arrival) {
        on_arrival(shape, layer, where, weight);
        return;
    }
    double reward = 0;
    std::vector<Status> next;
    if (!search_.options_.skip || !model_.unit_mass || !go_on(shape, layer, where, reward, next)) {
        add_record(shape, layer, where, weight, option);
        return;
    }
    option.fixed_lower += weight * reward;
    option.fixed_upper += weight * reward;
    struct Place {
        Shape* shape;
        Index layer;
        std::vector<Status> where;
    };
    std::vector<Place> left{{&shape, layer + 1, next}};
    while (!left.empty()) {
        Place here = std::move(left.back());
        left.pop_back();
        if (here.layer == model_.layer_count()) continue;
        if (const ValueTable* exact = here.shape->exact.load(std::memory_order_acquire)) {
            const double value = weight * shapes_.look_up(*exact, here.layer, here.shape->agents,
                                                          here.shape->places, here.where);
            option.fixed_lower += value;
            option.fixed_upper += value;
            continue;
        }
        Index parts = 1;
        if (search_.options_.split) {
            lists_.clear();
            for (std::size_t m = 0; m < here.where.size(); ++m) {
                lists_.push_back(
                    search_.couplings_.list(here.shape->agents[m], here.where[m].class_id()));
            }
            parts = shapes_.split(*here.shape, lists_, part_of_);
        }
        if (parts > 1) {
            for (Index p = 0; p < parts; ++p) {
                std::vector<AgentId> agents;
                std::vector<Status> own;
                for (std::size_t m = 0; m < here.where.size(); ++m) {
                    if (part_of_[m] != p) continue;
                    agents.push_back(here.shape->agents[m]);
                    own.push_back(here.where[m]);
                }
                left.push_back({&shapes_.get(agents, monitor), here.layer, std::move(own)});
            }
            continue;
        }
        if (!go_on(*here.shape, here.layer, here.where, reward, next)) {
            add_record(*here.shape, here.layer, here.where, weight, option);
            continue;
        }
        option.fixed_lower += weight * reward;
        option.fixed_upper += weight * reward;
        left.push_back({here.shape, here.layer + 1, next});
    }
}

void GroupSearch::Worker::begin(Record& record, Monitor& monitor) {
    auto body = std::make_unique<Body>();
    double bytes = sizeof(Body);
    if (hidden_count(record.where()) > 0) {
        // Reveal one outcome at least.
        Option option;
        clear_outcomes();
        pool_.assign(record.where().begin(), record.where().end());
        reveal({record.shape, 0, 1.0}, record.layer, option, monitor);
        spread(record.layer, option, monitor);
        if (monitor.stop() != Stop::none || search_.full_) return;  // it may not be whole
        option.add_up();
        bytes += option.bytes();
        body->options.push_back(std::move(option));
    }
    if (!search_.room_.take(bytes)) search_.full_ = true;
    record.body = std::move(body);
    if (hidden_count(record.where()) == 0) order_actions_of(record);
    search_.expanded_.fetch_add(1, std::memory_order_relaxed);
}

// Makes a record ready to be looked into; false if a limit struck.
bool GroupSearch::Worker::open(Record& record, Monitor& monitor) {
    if (record.body == nullptr) begin(record, monitor);
    if (record.body == nullptr) return false;
    if (record.body->stale) order_actions_of(record);
    return true;
}

void GroupSearch::Worker::order_actions_of(Record& record) {
    std::vector<Index> choices;
    std::vector<ClassId> classes;
    for (std::size_t m = 0; m < record.shape->size(); ++m) {
        const CompiledAgent& agent = model_.agents[at(record.shape->agents[m])];
        const std::size_t c = at(record.where()[m].class_id());
        choices.push_back(agent.action_begin[c + 1] - agent.action_begin[c]);
        classes.push_back(as<ClassId>(c));
    }
    above_->terms(*record.shape, record.layer, classes, terms_);
    Body& body = *record.body;
    body.order = order_actions(choices, terms_);
    body.stale = false;
    const auto bytes = static_cast<double>(body.order->bytes());
    if (bytes > body.order_bytes) {
        if (!search_.room_.take(bytes - body.order_bytes)) search_.full_ = true;
        body.order_bytes = bytes;
    }
}

// Builds the next joint action; false if there is none, or a limit struck.
bool GroupSearch::Worker::add_option(Record& record, Monitor& monitor) {
    Option option;
    const auto known = [&](const Option& each) { return each.actions == option.actions; };
    if (!record.body->order->next(option.actions, monitor)) return false;
    // What a policy does, or what came before the bound changed, may be there already.
    if (std::ranges::any_of(record.body->options, known)) return true;
    return build(record, std::move(option), monitor);
}

// Finds out where an option's actions lead, and keeps it.
bool GroupSearch::Worker::build(Record& record, Option option, Monitor& monitor) {
    // If a limit strikes, the option may not be whole, and its action must not get lost.
    const bool stale = std::exchange(record.body->stale, true);
    lead(*record.shape, record.layer, record.where(), option, monitor);
    if (monitor.stop() != Stop::none || search_.full_) return false;
    record.body->stale = stale;
    option.add_up();
    if (!search_.room_.take(option.bytes())) search_.full_ = true;
    record.body->options.push_back(std::move(option));
    search_.actions_.fetch_add(1, std::memory_order_relaxed);
    record.shape->work.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// Bounds of the other options may be out of date, which is safe.
GroupSearch::Worker::Top GroupSearch::Worker::find_top(Record& record) {
    Body& body = *record.body;
    for (;;) {
        Top top{kNone, -kInfinity};
        for (std::size_t k = 0; k < body.options.size(); ++k) {
            if (top.option == kNone || body.options[k].upper > body.options[top.option].upper) {
                if (top.option != kNone) top.second = body.options[top.option].upper;
                top.option = k;
            } else {
                top.second = std::max(top.second, body.options[k].upper);
            }
        }
        if (top.option == kNone) return top;
        Option& option = body.options[top.option];
        const double before = option.upper;
        option.add_up();
        if (option.lower > record.lower.load(std::memory_order_relaxed)) {
            record.lower.store(option.lower, std::memory_order_relaxed);
            body.best = top.option;
        }
        if (option.upper >= std::min(before, top.second)) return top;
    }
}

// Brings the upper bound up to date; returns the bound of joint actions that have not come yet.
double GroupSearch::Worker::update(Record& record, const Top& top) {
    Body& body = *record.body;
    if (body.stale) return kInfinity;
    const double rest = body.order == nullptr ? -kInfinity : body.order->next_bound();
    const double best = top.option == kNone ? -kInfinity : body.options[top.option].upper;
    const double upper = std::min(record.upper.load(std::memory_order_relaxed), std::max(best, rest));
    record.upper.store(std::max(upper, record.lower.load(std::memory_order_relaxed)),
                       std::memory_order_relaxed);
    return rest;
}

// The most promising option, built if it is not there yet; none if a limit struck.
std::size_t GroupSearch::Worker::promising(Record& record, Monitor& monitor) {
    Top top = find_top(record);
    const double best = top.option == kNone ? -kInfinity : record.body->options[top.option].upper;
    if (update(record, top) <= best) return top.option;
    if (!add_option(record, monitor)) return kNone;
    return find_top(record).option;  // another one, if it does not keep its promise
}

// The option that the lower bound comes from, built if it is a policy's; none if a limit struck.
std::size_t GroupSearch::Worker::known_best(Record& record, Monitor& monitor) {
    Body& body = *record.body;
    if (body.best != kNone) return body.best;
    if (body.order == nullptr) return 0;
    Option option;
    below_->act(*record.shape, record.layer, record.where(), option.actions);
    for (std::size_t k = 0; k < body.options.size(); ++k) {
        if (body.options[k].actions == option.actions) return k;
    }
    return build(record, std::move(option), monitor) ? body.options.size() - 1 : kNone;
}

void GroupSearch::Worker::sweep(std::span<const Child> from, Follow follow, std::uint64_t number,
                                double least, double end, Monitor& monitor) {
    end_ = end;
    // In the order of time; what is hidden is revealed first.
    const std::size_t most = model_.agents.size();
    std::map<std::size_t, std::vector<Record*>> ahead;
    const auto reach = [&](Record& record, double weight) {
        if (record.swept != number) {
            record.swept = number;
            record.reach = 0;
            ahead[record.layer * (most + 1) + (most - hidden_count(record.where()))].push_back(&record);
        }
        record.reach += weight;
    };
    for (const Child& each : from) reach(*each.record, each.weight);
    std::vector<std::pair<Record*, std::size_t>> passed;
    while (!ahead.empty() && !stopping(monitor)) {
        const auto records = std::move(ahead.begin()->second);
        ahead.erase(ahead.begin());
        for (Record* record : records) {
            if (record->reach * record->gap() <= least) continue;
            if (stopping(monitor)) break;
            if (const ValueTable* exact = record->shape->exact.load(std::memory_order_acquire)) {
                record->close(shapes_.look_up(*exact, record->layer, record->shape->agents,
                                              record->shape->places, record->where()));
                continue;
            }
            if (!open(*record, monitor)) break;
            const std::size_t option = follow == Follow::promise ? promising(*record, monitor)
                                                                 : known_best(*record, monitor);
            if (option == kNone) break;
            passed.emplace_back(record, option);
            for (const Child& child : record->body->options[option].children) {
                reach(*child.record, record->reach * child.weight);
            }
        }
    }
    for (std::size_t k = passed.size(); k-- > 0;) {
        Record& record = *passed[k].first;
        Option& option = record.body->options[passed[k].second];
        option.add_up();
        if (option.lower > record.lower.load(std::memory_order_relaxed)) {
            record.lower.store(option.lower, std::memory_order_relaxed);
            record.body->best = passed[k].second;
        }
        update(record, find_top(record));
    }
}

// One look at a record: null if it is done with, else the group to work on next.
GroupSearch::Record* GroupSearch::Worker::visit(const Frame& frame, Frame& child, Monitor& monitor) {
    Record& record = *frame.record;
    if (const ValueTable* exact = record.shape->exact.load(std::memory_order_acquire)) {
        record.close(shapes_.look_up(*exact, record.layer, record.shape->agents,
                                     record.shape->places, record.where()));
        return nullptr;
    }
    if (!open(record, monitor)) return nullptr;
    Body& body = *record.body;
    for (;;) {
        const Top top = find_top(record);
        const double rest = update(record, top);
        const double best = top.option == kNone ? -kInfinity : body.options[top.option].upper;
        const double lower = record.lower.load(std::memory_order_relaxed);
        const double upper = record.upper.load(std::memory_order_relaxed);
        if (upper - lower <= frame.tolerance || upper <= frame.floor) return nullptr;
        if (stopping(monitor)) return nullptr;
        if (rest > best) {
            if (!add_option(record, monitor)) return nullptr;
            continue;
        }
        const Option& option = body.options[top.option];
        branches_.clear();
        double total = 0;
        for (const Child& each : option.children) {
            const double gap = std::max(0.0, each.record->gap());
            branches_.push_back(
                {each.weight, gap, each.record->visitors.load(std::memory_order_relaxed)});
            total += each.weight * gap;
        }
        if (total <= kEqual * search_.scale_) {
            // Others may have closed the groups since they were added up.
            const double fixed = option.fixed_upper - option.fixed_lower;
            if (option.upper - option.lower > fixed + 64 * kEqual * search_.scale_) continue;
            // Nothing is left to be gained below: this is as near as rounding allows.
            record.upper.store(lower, std::memory_order_relaxed);
            return nullptr;
        }
        const auto choice = search_.order_.choose(
            {upper - lower, frame.tolerance, best - std::max({top.second, rest, frame.floor, lower}),
             branches_});
        Record* next = option.children[choice.branch].record;
        child = {next, choice.tolerance,
                 next->upper.load(std::memory_order_relaxed) - choice.drop};
        return next;
    }
}

void GroupSearch::Worker::work(Record& record, double tolerance, double floor, double end,
                               Monitor& monitor) {
    end_ = end;
    stack_.clear();
    stack_.push_back({&record, tolerance, floor});
    record.visitors.fetch_add(1);
    const auto leave = [&] {
        for (const Frame& each : stack_) each.record->visitors.fetch_sub(1);
        stack_.clear();
    };
    while (!stack_.empty()) {
        const Frame frame = stack_.back();
        Record& here = *frame.record;
        while (here.busy.test_and_set(std::memory_order_acquire)) {
            // Somebody else is at it, perhaps for long.
            if (stopping(monitor)) {
                leave();
                return;
            }
            std::this_thread::yield();
        }
        Frame child{};
        Record* next = nullptr;
        try {
            next = visit(frame, child, monitor);
        } catch (...) {
            here.busy.clear(std::memory_order_release);
            leave();
            throw;
        }
        here.busy.clear(std::memory_order_release);
        if (next == nullptr || stopping(monitor)) {
            here.visitors.fetch_sub(1);
            stack_.pop_back();
            continue;
        }
        // A group that much work goes into is worth a table.
        Shape& shape = *next->shape;
        if (search_.options_.tables && shape.exact.load() == nullptr && !shape.refused.load() &&
            static_cast<double>(shape.work.load(std::memory_order_relaxed)) * build_seconds_ >
                shape.cells * kSecondsPerCell) {
            shapes_.solve(shape, 1, monitor);
        }
        next->visitors.fetch_add(1);
        stack_.push_back(child);
    }
}

GroupSearch::GroupSearch(const CompiledModel& model, const Relaxation& relaxation,
                         std::span<const LocalPolicy> policies, const GroupSearchOptions& options,
                         Monitor& monitor)
    : model_(model),
      options_(options),
      owner_(monitor),
      reserved_(options.most_bytes),
      room_(options.most_bytes),
      couplings_(model, monitor),
      shapes_(model, couplings_, room_),
      bound_(std::make_unique<RelaxationBound>(relaxation, shapes_, options.threads, monitor)),
      floor_(model, policies, monitor),
      usual_(policies.front()),
      error_(relaxation.error()),
      scale_(std::max(reward_scale(model), 1e-300)),
      lowest_(-2 * scale_),
      table_(std::make_unique<Records>()),
      root_(std::make_unique<Option>()) {
    monitor.reserve(reserved_, "the search");
    shapes_.set_prepare([this](Shape& shape, Monitor& own) {
        if (bound_ != nullptr) bound_->prepare(shape, own);  // without one, policies only
        floor_.prepare(shape);
        if (shape.size() == 1 || (options_.tables && (shape.size() == 2 || shape.cells <= kSmallTable))) {
            shapes_.solve(shape, 1, own);
        }
    });
    for (unsigned t = 0; t < std::max(1U, options_.threads); ++t) {
        workers_.push_back(std::make_unique<Worker>(*this));
    }
    try {
        std::vector<Status> start(model.agents.size(), Status(ClassId{0}));
        workers_[0]->enter(shapes_.get(model.everyone(), monitor), 0, start, 1.0, *root_, monitor);
        if (monitor.stop() != Stop::none || full_) {
            throw LimitReached(full_ ? Stop::memory_limit : monitor.stop(), "no room for a search");
        }
        root_->add_up();
    } catch (...) {
        monitor.release(reserved_);
        throw;
    }
}

GroupSearch::~GroupSearch() {
    owner_.release(reserved_);
    // Millions of small pieces of memory: giving them back would keep whoever waits for the answer.
    struct Rest {
        std::unique_ptr<Records> records;
        std::vector<ValueTable> tables;
        std::vector<ValueTable> more;
    };
    Rest rest{std::move(table_), {}, shapes_.take_tables()};
    if (bound_ != nullptr) rest.tables = bound_->take_tables();
    if (records_ < kQuicklyFreed) return;
    std::thread([rest = std::move(rest)]() mutable { rest = Rest{}; }).detach();
}

bool GroupSearch::run(double seconds, double tolerance, Monitor& monitor) {
    const double end = monitor.seconds() + seconds;
    const auto nearly = [&] { return upper() - lower() <= tolerance; };
    // Sweeps for good policies, each time twice as much has been done, ever closer looks.
    const double begin = monitor.seconds();
    while (!nearly() && !full_ && monitor.stop() == Stop::none &&
           (sweeps_ < kSweeps || actions_ > 2 * actions_at_sweep_)) {
        const double least = std::max(kLeastPart, std::pow(0.1, 2.0 + static_cast<double>(sweeps_)));
        const double patience = std::max(seconds, kPatience + spent_);
        for (const auto follow : {Worker::Follow::promise, Worker::Follow::policy}) {
            try {
                workers_[0]->sweep(root_->children, follow, ++sweep_number_,
                                   least * (upper() - lower()), monitor.seconds() + patience, monitor);
            } catch (const LimitReached& limit) {
                if (limit.stop == Stop::memory_limit) full_ = true;
            }
        }
        ++sweeps_;
        actions_at_sweep_ = actions_;
        if (monitor.seconds() >= end) break;
    }
    WorkList work(options_.threads);
    std::atomic<bool> done{false};
    work.run(
        workers_.size(),
        [&](std::size_t, unsigned worker, Monitor& own) {
            // A worker's clock may have started later.
            const double own_end = own.seconds() + (end - monitor.seconds());
            while (!done && !full_ && own.stop() == Stop::none && own.seconds() < own_end) {
                Record* most = nullptr;
                double gap = 0;
                for (const Child& child : root_->children) {
                    const double each = child.record->gap() / (1 + child.record->visitors.load());
                    if (each > gap) {
                        gap = each;
                        most = child.record;
                    }
                }
                if (most == nullptr || nearly()) break;
                const double share = 0.9 * tolerance / static_cast<double>(root_->children.size());
                try {
                    workers_[worker]->work(*most, share, -kInfinity, own_end, own);
                } catch (const LimitReached& limit) {
                    if (limit.stop == Stop::memory_limit) full_ = true;
                }
                own.tick(1U << 20U);
            }
            done = true;
        },
        monitor);
    spent_ += monitor.seconds() - begin;
    if (full_ && bound_ != nullptr && monitor.stop() == Stop::none && forget()) full_ = false;
    return nearly();
}

bool GroupSearch::adopt(const Relaxation& relaxation, Monitor& monitor) {
    // Both old and new tables at a time, or the new ones only. Without either, it cannot go on.
    if (RelaxationBound::bytes(relaxation, model_) > 0.5 * room_.left()) bound_.reset();
    try {
        auto fresh = std::make_unique<RelaxationBound>(relaxation, shapes_, options_.threads, monitor);
        std::vector<std::unique_ptr<ShapeNotes>> before;
        const std::vector<Shape*> shapes = shapes_.all();
        for (Shape* shape : shapes) {
            before.push_back(std::move(shape->upper));
            try {
                fresh->prepare(*shape, monitor);
            } catch (...) {
                for (std::size_t k = 0; k < before.size(); ++k) shapes[k]->upper = std::move(before[k]);
                throw;
            }
        }
        bound_ = std::move(fresh);
    } catch (const LimitReached&) {
        if (bound_ == nullptr) full_ = true;
        return false;
    }
    error_ = std::max(error_, relaxation.error());
    for (const auto& worker : workers_) worker->look_again();
    table_->for_each([&](Record& record) {
        if (record.body != nullptr && record.body->order != nullptr) record.body->stale = true;
        if (record.gap() <= 0) return;
        const double upper =
            std::max(workers_[0]->above().upper(*record.shape, record.layer, record.where()),
                     record.lower.load());
        if (upper < record.upper.load()) record.upper = upper;
    });
    return true;
}

// Makes room: keeps the policy in hand and the bounds of records that work went into, but forgets
// how they came about. False if that is of little use.
bool GroupSearch::forget() {
    // The policy in hand: records whose lower bounds it needs, each with the option it takes.
    std::unordered_set<const Record*> kept;
    std::unordered_set<const Record*> used;
    std::vector<Record*> left;
    const auto follow = [&](const Option& option) {
        for (const Child& child : option.children) {
            if (used.insert(child.record).second) left.push_back(child.record);
        }
    };
    follow(*root_);
    double freed = 0;
    while (!left.empty()) {
        Record& record = *left.back();
        left.pop_back();
        if (record.body == nullptr || record.body->best == kNone) continue;
        kept.insert(&record);
        follow(record.body->options[record.body->best]);
    }
    GroupFloor::Eye& eye = workers_[0]->eye();
    table_->for_each([&](Record& record) {
        if (record.body == nullptr) return;
        Body& body = *record.body;
        const bool keep = kept.contains(&record);
        for (std::size_t k = 0; k < body.options.size(); ++k) {
            if (!keep || k != body.best) freed += body.options[k].bytes();
        }
        freed += body.order_bytes;
        if (keep) {
            Option option = std::move(body.options[body.best]);
            body.options.clear();
            body.options.push_back(std::move(option));
            body.best = 0;
            body.stale = hidden_count(record.where()) == 0;
            body.order.reset();
            body.order_bytes = 0;
            return;
        }
        // Without its options the lower bound has to stand by itself.
        if (body.best != kNone && record.shape->exact.load() == nullptr) {
            record.lower = options_.floors ? eye.lower(*record.shape, record.layer, record.where())
                                           : lowest_;
        }
        freed += sizeof(Body);
        record.body.reset();
    });
    // Records that nobody refers to: first those that nobody looked into.
    const auto forget_all = [&](const auto& dispensable) {
        table_->forget([&](const Record& record) {
            if (used.contains(&record) || !dispensable(record)) return true;
            freed += record_bytes(*record.shape);
            return false;
        });
    };
    GroupBound::Eye& above = workers_[0]->above();
    forget_all([&](const Record& record) {
        return record.upper.load() >= above.upper(*record.shape, record.layer, record.where());
    });
    if (freed < kEnoughFreed * options_.most_bytes) forget_all([](const Record&) { return true; });
    room_.give_back(freed);
    return freed >= kEnoughFreed * options_.most_bytes;
}

GroupDecisions GroupSearch::decisions(std::size_t most_states, Monitor& monitor) {
    // Groups that are reached, layer by layer, and what they do there.
    struct Node {
        Shape* shape;
        std::vector<Status> where;
        double reach = 0;  // how likely it is
        std::vector<Index> actions{};
        double reward = 0;
        std::vector<std::pair<Index, double>> next{};
        double value = 0;
    };
    Worker& worker = *workers_[0];
    std::vector<std::vector<Node>> layers(model_.layer_count() + 1);
    std::unordered_multimap<std::size_t, Index> known;  // of the layer that is reached
    std::vector<std::pair<Index, double>>* next = nullptr;
    double reach = 1;
    bool from_exact = false;
    bool sound = true;
    worker.on_arrival = [&](Shape& shape, Index layer, std::span<const Status> where,
                            double weight) {
        // Parts of a group with a table need one of their own.
        if (from_exact && shape.exact.load() == nullptr && !shapes_.solve(shape, 1, monitor)) {
            sound = false;
        }
        auto& nodes = layers[layer];
        const std::size_t hash = hash_of(shape, where);
        const auto [begin, end] = known.equal_range(hash);
        auto each = begin;
        while (each != end && (nodes[each->second].shape != &shape ||
                               !std::ranges::equal(nodes[each->second].where, where))) {
            ++each;
        }
        Index number = 0;
        if (each != end) {
            number = each->second;
        } else {
            number = static_cast<Index>(nodes.size());
            nodes.push_back({&shape, {where.begin(), where.end()}});
            known.emplace(hash, number);
        }
        nodes[number].reach += reach * weight;
        next->emplace_back(number, weight);
    };
    GroupDecisions found;
    std::vector<std::pair<Index, double>> roots;
    Option nothing;
    next = &roots;
    try {
        std::vector<Status> start(model_.agents.size(), Status(ClassId{0}));
        worker.enter(shapes_.get(model_.everyone(), monitor), 0, start, 1.0, nothing, monitor);
        for (Index layer = 0; layer < model_.layer_count() && sound; ++layer) {
            auto& nodes = layers[layer];
            known.clear();
            std::vector<Index> order(nodes.size());
            std::iota(order.begin(), order.end(), Index{0});
            if (nodes.size() > most_states) {
                std::ranges::stable_sort(order, std::greater<>{},
                                         [&](Index k) { return nodes[k].reach; });
            }
            for (std::size_t x = 0; x < order.size() && sound; ++x) {
                if (monitor.tick(500)) sound = false;
                Node& node = nodes[order[x]];
                ++found.states;
                const ValueTable* exact = node.shape->exact.load(std::memory_order_acquire);
                // Whoever is too unlikely, or leads too far, follows the default.
                if (x >= most_states ||
                    (exact == nullptr && layers[layer + 1].size() >= 4 * most_states)) {
                    node.reward = worker.eye().usual(*node.shape, layer, node.where);
                    found.whole = false;
                    continue;
                }
                node.actions = decide(worker, *node.shape, layer, node.where, exact);
                from_exact = exact != nullptr;
                reach = node.reach;
                next = &node.next;
                Option option;
                option.actions = node.actions;
                worker.lead(*node.shape, layer, node.where, option, monitor);
                node.reward = option.fixed_lower;
            }
        }
    } catch (const LimitReached&) {
        sound = false;
    }
    worker.on_arrival = nullptr;
    if (!sound || monitor.stop() != Stop::none) return {};
    for (Index layer = model_.layer_count(); layer-- > 0;) {
        for (Node& node : layers[layer]) {
            node.value = node.reward;
            for (const auto& [to, weight] : node.next) node.value += weight * layers[layer + 1][to].value;
            if (found.whole || node.actions.empty()) continue;
            // Whoever relied too much on states that follow the default follows it as well: those
            // who get here from such a state count on no less.
            const double usual = worker.eye().usual(*node.shape, layer, node.where);
            if (node.value >= usual) continue;
            node.value = usual;
            node.actions.clear();
        }
    }
    for (const auto& [to, weight] : roots) found.value += weight * layers[0][to].value;
    std::map<std::vector<AgentId>, std::size_t> rows_of;
    for (Index layer = 0; layer < model_.layer_count(); ++layer) {
        for (const Node& node : layers[layer]) {
            bool choice = false;
            for (std::size_t m = 0; m < node.actions.size(); ++m) {
                const auto& begin = model_.agents[at(node.shape->agents[m])].action_begin;
                const std::size_t c = at(node.where[m].class_id());
                choice = choice || begin[c + 1] > begin[c] + 1;
            }
            if (!choice) continue;
            const auto [place, is_new] = rows_of.emplace(node.shape->agents, found.groups.size());
            if (is_new) found.groups.emplace_back().agents = node.shape->agents;
            auto& rows = found.groups[place->second];
            rows.layer.push_back(layer);
            for (std::size_t m = 0; m < node.actions.size(); ++m) {
                const CompiledAgent& agent = model_.agents[at(node.shape->agents[m])];
                rows.classes.push_back(static_cast<Index>(at(node.where[m].class_id())) -
                                       agent.layer_begin[layer]);
                rows.actions.push_back(node.actions[m]);
            }
        }
    }
    found.sound = true;
    return found;
}

SearchProof GroupSearch::proof() const {
    SearchProof found;
    std::map<std::vector<AgentId>, std::size_t> rows_of;
    std::unordered_set<const Record*> seen;
    std::vector<const Record*> left;
    const auto reach = [&](const Option& option) {
        for (const Child& child : option.children) {
            if (seen.insert(child.record).second) left.push_back(child.record);
        }
    };
    reach(*root_);
    while (!left.empty()) {
        const Record& record = *left.back();
        left.pop_back();
        if (record.shape->exact.load() != nullptr) continue;
        // Nobody looked into it; but what it is known for may come from a bound that has changed.
        if (record.body == nullptr &&
            (bound_ == nullptr || record.upper.load() >= workers_[0]->above().upper(
                                                             *record.shape, record.layer, record.where()))) {
            continue;
        }
        const auto [place, is_new] = rows_of.emplace(record.shape->agents, found.groups.size());
        if (is_new) found.groups.emplace_back().agents = record.shape->agents;
        auto& rows = found.groups[place->second];
        rows.layer.push_back(record.layer);
        rows.where.insert(rows.where.end(), record.where().begin(), record.where().end());
        rows.upper.push_back(record.upper.load());
        if (record.body == nullptr) continue;
        for (const Option& option : record.body->options) reach(option);
    }
    for (const Shape* shape : shapes_.all()) {
        if (shape->exact.load() != nullptr) found.solved.push_back(shape->agents);
    }
    return found;
}

// What a group does in a joint state: the best by its table, by its record, or by a policy.
std::vector<Index> GroupSearch::decide(Worker& worker, Shape& shape, Index layer,
                                       std::span<const Status> where, const ValueTable* exact) {
    std::vector<Index> actions;
    if (exact == nullptr) {
        const Record* record = table_->find(shape, where);
        if (record != nullptr && record->body != nullptr && record->body->best != kNone) {
            return record->body->options[record->body->best].actions;
        }
        worker.eye().act(shape, layer, where, actions);
        return actions;
    }
    std::vector<ClassId> classes;
    for (const Status each : where) classes.push_back(each.class_id());
    const auto values = action_values(model_, shapes_.team_of(shape), *exact, layer, classes);
    auto code = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
    actions.resize(classes.size());
    for (std::size_t m = classes.size(); m-- > 0;) {
        const auto& begin = model_.agents[at(shape.agents[m])].action_begin;
        const std::size_t count = begin[at(classes[m]) + 1] - begin[at(classes[m])];
        actions[m] = static_cast<Index>(code % count);
        code /= count;
    }
    return actions;
}

double GroupSearch::lower() const {
    double total = root_->fixed_lower;
    for (const Child& child : root_->children) total += child.weight * child.record->lower.load();
    return total;
}

double GroupSearch::upper() const {
    double total = root_->fixed_upper;
    for (const Child& child : root_->children) total += child.weight * child.record->upper.load();
    return total + error_;
}

}  // namespace coreplan
