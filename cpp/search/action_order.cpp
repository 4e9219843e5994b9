#include "search/action_order.hpp"

#include <algorithm>
#include <limits>

namespace coreplan {

namespace {

constexpr std::size_t kMostCells = 1U << 12U;  // of a table made by elimination
constexpr std::size_t kMostEnumerated = 256;   // joint actions that are worked out at once
constexpr Index kNone = ~Index{0};

// Counts on to the next combination of digits.
template <class Sizes>
void count_on(std::vector<Index>& digits, const Sizes& size) {
    for (std::size_t x = digits.size(); x-- > 0;) {
        if (++digits[x] < size(x)) return;
        digits[x] = 0;
    }
}

}  // namespace

bool BestFirstActions::Later::operator()(Index a, Index b) const {
    const Node& one = (*nodes)[a];
    const Node& other = (*nodes)[b];
    if (one.bound != other.bound) return one.bound < other.bound;
    if (one.depth != other.depth) return one.depth < other.depth;
    return a > b;
}

EnumeratedActions::EnumeratedActions(std::span<const Index> choices,
                                     std::span<const ActionTerm> terms)
    : choices_(choices.begin(), choices.end()) {
    std::size_t count = 1;
    for (const Index each : choices_) count *= each;
    heap_.reserve(count);
    for (std::size_t code = 0; code < count; ++code)
        heap_.push_back({0.0, static_cast<Index>(code)});
    std::vector<std::size_t> step(choices_.size());
    std::vector<Index> digit(choices_.size());
    for (const ActionTerm& term : terms) {
        // What one choice more of each agent adds to the place in the table.
        std::ranges::fill(step, 0);
        std::size_t stride = 1;
        for (std::size_t x = term.agents.size(); x-- > 0;) {
            step[term.agents[x]] = stride;
            stride *= choices_[term.agents[x]];
        }
        std::ranges::fill(digit, 0);
        std::size_t cell = 0;
        for (Joint& joint : heap_) {
            joint.value += term.value[cell];
            for (std::size_t m = digit.size(); m-- > 0;) {
                cell += step[m];
                if (++digit[m] < choices_[m]) break;
                cell -= step[m] * choices_[m];
                digit[m] = 0;
            }
        }
    }
    std::make_heap(heap_.begin(), heap_.end());
}

double EnumeratedActions::next_bound() const {
    return heap_.empty() ? -std::numeric_limits<double>::infinity() : heap_.front().value;
}

bool EnumeratedActions::next(std::vector<Index>& actions, Monitor& /*monitor*/) {
    if (heap_.empty()) return false;
    std::pop_heap(heap_.begin(), heap_.end());
    std::size_t code = heap_.back().code;
    heap_.pop_back();
    actions.assign(choices_.size(), 0);
    for (std::size_t m = choices_.size(); m-- > 0;) {
        actions[m] = static_cast<Index>(code % choices_[m]);
        code /= choices_[m];
    }
    return true;
}

std::size_t EnumeratedActions::bytes() const {
    return sizeof(*this) + heap_.capacity() * sizeof(Joint) + choices_.size() * sizeof(Index);
}

std::unique_ptr<ActionOrder> order_actions(std::span<const Index> choices,
                                           std::span<const ActionTerm> terms) {
    std::size_t count = 1;
    for (const Index each : choices) count = std::min(count * each, kMostEnumerated + 1);
    if (count <= kMostEnumerated) return std::make_unique<EnumeratedActions>(choices, terms);
    return std::make_unique<BestFirstActions>(choices, terms);
}

BestFirstActions::BestFirstActions(std::span<const Index> choices,
                                   std::span<const ActionTerm> terms, std::size_t most_nodes)
    : choices_(choices.begin(), choices.end()), most_nodes_(most_nodes) {
    // Agents that share terms with many come first; the others then fall apart.
    std::vector<std::size_t> links(choices_.size(), 0);
    for (const ActionTerm& term : terms) {
        for (const Index i : term.agents) links[i] += term.agents.size() - 1;
    }
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        if (choices_[i] > 1) order_.push_back(static_cast<Index>(i));
    }
    std::ranges::stable_sort(order_, std::greater<>{}, [&](Index i) { return links[i]; });
    std::vector<Index> place_of(choices_.size(), kNone);
    for (std::size_t k = 0; k < order_.size(); ++k) place_of[order_[k]] = static_cast<Index>(k);
    bucket_.resize(order_.size());
    message_.resize(order_.size());
    digits_.assign(order_.size(), 0);
    nodes_.push_back({0.0, kNone, 0, 0});
    for (const ActionTerm& term : terms) add(term, place_of);
    for (std::size_t k = order_.size(); k-- > 0;) eliminate(k);
    heap_.push_back(0);
}

// Terms over agents become tables over places; agents without a choice are left out.
void BestFirstActions::add(const ActionTerm& term, const std::vector<Index>& place_of) {
    std::vector<Index> from;
    for (const Index i : term.agents) {
        if (place_of[i] != kNone) from.push_back(place_of[i]);
    }
    if (from.empty()) {
        nodes_[0].bound += term.value[0];
        return;
    }
    Factor factor{from, {}};
    std::ranges::sort(factor.places);
    if (factor.places == from) {
        factor.value = term.value;
    } else {
        const auto size_at = [&](std::size_t x) { return choices_[order_[from[x]]]; };
        std::vector<std::size_t> step(from.size());
        for (std::size_t x = 0; x < from.size(); ++x) {
            step[x] = 1;
            for (const Index later : factor.places) {
                if (later > from[x]) step[x] *= choices_[order_[later]];
            }
        }
        factor.value.resize(term.value.size());
        std::vector<Index> digit(from.size(), 0);
        for (const double each : term.value) {
            std::size_t cell = 0;
            for (std::size_t x = 0; x < from.size(); ++x) cell += step[x] * digit[x];
            factor.value[cell] = each;
            count_on(digit, size_at);
        }
    }
    // Tables over the same places are one.
    for (Factor& known : bucket_[factor.places.back()]) {
        if (known.places != factor.places) continue;
        for (std::size_t k = 0; k < known.value.size(); ++k) known.value[k] += factor.value[k];
        return;
    }
    bucket_[factor.places.back()].push_back(std::move(factor));
}

// Maximises a place out of the tables that look at it, put together as far as they stay small.
void BestFirstActions::eliminate(std::size_t place) {
    struct Heap {
        std::vector<const Factor*> factors;
        std::vector<Index> scope;
    };
    std::vector<Heap> heaps;
    std::ranges::stable_sort(bucket_[place], std::greater<>{},
                             [](const Factor& each) { return each.places.size(); });
    for (const Factor& factor : bucket_[place]) {
        const auto takes = [&](Heap& heap) {
            std::vector<Index> both;
            std::ranges::set_union(heap.scope, factor.places, std::back_inserter(both));
            std::size_t cells = 1;
            for (const Index p : both)
                cells = std::min(cells * choices_[order_[p]], kMostCells + 1);
            if (cells > kMostCells && both.size() > heap.scope.size()) return false;
            heap.factors.push_back(&factor);
            heap.scope = std::move(both);
            return true;
        };
        if (std::ranges::none_of(heaps, takes)) heaps.push_back({{&factor}, factor.places});
    }
    const std::size_t own = choices_[order_[place]];
    for (const Heap& heap : heaps) {
        Factor message;
        message.places.assign(heap.scope.begin(), heap.scope.end() - 1);
        std::size_t rows = 1;
        for (const Index p : message.places) rows *= choices_[order_[p]];
        std::vector<std::vector<std::size_t>> steps;  // per table and place of the scope
        for (const Factor* factor : heap.factors) {
            auto& step = steps.emplace_back(heap.scope.size(), 0);
            std::size_t stride = 1;
            for (std::size_t x = factor->places.size(); x-- > 0;) {
                const auto y = std::ranges::lower_bound(heap.scope, factor->places[x]);
                step[static_cast<std::size_t>(y - heap.scope.begin())] = stride;
                stride *= choices_[order_[factor->places[x]]];
            }
        }
        std::vector<Index> digit(message.places.size(), 0);
        message.value.reserve(rows);
        for (std::size_t row = 0; row < rows; ++row) {
            double best = -std::numeric_limits<double>::infinity();
            for (std::size_t c = 0; c < own; ++c) {
                double sum = 0;
                for (std::size_t f = 0; f < steps.size(); ++f) {
                    std::size_t cell = steps[f].back() * c;
                    for (std::size_t x = 0; x < digit.size(); ++x) cell += steps[f][x] * digit[x];
                    sum += heap.factors[f]->value[cell];
                }
                best = std::max(best, sum);
            }
            message.value.push_back(best);
            count_on(digit, [&](std::size_t x) { return choices_[order_[message.places[x]]]; });
        }
        if (message.places.empty()) {
            nodes_[0].bound += message.value[0];
        } else {
            bucket_[message.places.back()].push_back(message);
        }
        message_[place].push_back(std::move(message));
    }
}

double BestFirstActions::look_up(const Factor& factor) const {
    std::size_t cell = 0;
    for (const Index p : factor.places) cell = cell * choices_[order_[p]] + digits_[p];
    return factor.value[cell];
}

// Decides agents until the best node is complete; false if a limit struck.
bool BestFirstActions::advance(Monitor& monitor) {
    while (!heap_.empty() && nodes_[heap_.front()].depth < order_.size()) {
        if (nodes_.size() > most_nodes_ || monitor.tick(cost::kOrderStep)) return false;
        std::ranges::pop_heap(heap_, Later{&nodes_});
        const Index parent = heap_.back();
        heap_.pop_back();
        const Index place = nodes_[parent].depth;
        for (Index n = parent, k = place; k > 0; n = nodes_[n].parent)
            digits_[--k] = nodes_[n].choice;
        const double before = nodes_[parent].bound;
        double rest = before;
        for (const Factor& message : message_[place]) rest -= look_up(message);
        for (Index c = 0; c < choices_[order_[place]]; ++c) {
            digits_[place] = c;
            double bound = rest;
            for (const Factor& factor : bucket_[place]) bound += look_up(factor);
            nodes_.push_back({std::min(bound, before), parent, place + 1, c});
            heap_.push_back(static_cast<Index>(nodes_.size() - 1));
            std::ranges::push_heap(heap_, Later{&nodes_});
        }
    }
    return !heap_.empty();
}

double BestFirstActions::next_bound() const {
    return heap_.empty() ? -std::numeric_limits<double>::infinity() : nodes_[heap_.front()].bound;
}

bool BestFirstActions::next(std::vector<Index>& actions, Monitor& monitor) {
    if (!advance(monitor)) return false;
    std::ranges::pop_heap(heap_, Later{&nodes_});
    actions.assign(choices_.size(), 0);
    for (Index n = heap_.back(); nodes_[n].depth > 0; n = nodes_[n].parent) {
        actions[order_[nodes_[n].depth - 1]] = nodes_[n].choice;
    }
    heap_.pop_back();
    return true;
}

std::size_t BestFirstActions::bytes() const {
    std::size_t cells = 0;
    for (const auto& bucket : bucket_) {
        for (const Factor& factor : bucket) cells += factor.value.size() + 8;
    }
    return 2 * cells * sizeof(double) + nodes_.capacity() * sizeof(Node) +
           heap_.capacity() * sizeof(Index) + sizeof(*this);
}

}  // namespace coreplan
