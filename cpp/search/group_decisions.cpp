// What comes out of a search: its policy, and the proof of its upper bound.
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "search/group_worker.hpp"

namespace coreplan {

namespace {

constexpr double kStepBytes = 65536;  // that are reserved at a time
constexpr double kEntryBytes = 64;    // of a hash table

// The rows of some agents; the first time, new ones.
template <class Rows>
Rows& rows_of(std::vector<Rows>& groups, std::map<std::vector<AgentId>, std::size_t>& places,
              const std::vector<AgentId>& agents) {
    const auto [place, is_new] = places.emplace(agents, groups.size());
    if (is_new) groups.emplace_back().agents = agents;
    return groups[place->second];
}

}  // namespace

GroupDecisions GroupSearch::decisions(std::size_t most_states, double least, Monitor& monitor) {
    // Groups that are reached, layer by layer, and what they do there.
    struct Node {
        Shape* shape;
        std::vector<Status> where;
        double reach = 0;  // how likely it is
        double usual = 0;  // what the default is worth
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
    // A node, its entry among the known ones, and its row of the answer, here and there; and links.
    Reservation memory(monitor);
    double needed = 0;
    const auto count = [&](double bytes) {
        needed += bytes;
        if (needed > memory.bytes() && !memory.try_take(needed + kStepBytes - memory.bytes())) {
            sound = false;
        }
    };
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
            count(1.5 * sizeof(Node) + kEntryBytes + 32.0 * static_cast<double>(where.size()));
            if (!sound) return;
            nodes.push_back({&shape, {where.begin(), where.end()}});
            known.emplace(hash, number);
        }
        nodes[number].reach += reach * weight;
        count(2 * sizeof(next->front()));
        next->emplace_back(number, weight);
    };
    GroupDecisions found;
    // Whoever loses nothing that counts by it follows the default.
    bool some_follow_it = false;
    const auto follows_default = [&](Shape& shape, Index layer, std::span<const Status> where,
                                     double likely, double usual) {
        const ValueTable* exact = shape.exact.load(std::memory_order_acquire);
        const double loss = claim(worker, shape, layer, where, exact) - usual;
        const bool follows = loss <= kEqual * std::abs(usual) || likely * loss <= least;
        some_follow_it = some_follow_it || follows;
        return follows;
    };
    worker.on_hidden = [&](Shape& shape, Index layer, std::span<const Status> where,
                           double weight) -> std::optional<double> {
        const double usual = worker.eye().usual(shape, layer, where);
        if (follows_default(shape, layer, where, reach * weight, usual)) return usual;
        return std::nullopt;
    };
    std::vector<std::pair<Index, double>> roots;
    Option nothing;
    next = &roots;
    try {
        worker.start(nothing, monitor);
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
                if (monitor.tick(cost::kDecision)) sound = false;
                Node& node = nodes[order[x]];
                ++found.states;
                const ValueTable* exact = node.shape->exact.load(std::memory_order_acquire);
                // Whoever is too unlikely, or leads too far, follows it as well.
                node.usual = worker.eye().usual(*node.shape, layer, node.where);
                const bool cut = x >= most_states ||
                                 (exact == nullptr && layers[layer + 1].size() >= 4 * most_states);
                if (cut ||
                    follows_default(*node.shape, layer, node.where, node.reach, node.usual)) {
                    node.reward = node.usual;
                    found.whole = found.whole && !cut;
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
    worker.on_hidden = nullptr;
    if (!sound || monitor.stop() != Stop::none) return {};
    for (Index layer = model_.layer_count(); layer-- > 0;) {
        for (Node& node : layers[layer]) {
            node.value = node.reward;
            for (const auto& [to, weight] : node.next)
                node.value += weight * layers[layer + 1][to].value;
            if ((found.whole && !some_follow_it) || node.actions.empty()) continue;
            // Whoever relied too much on states that follow the default follows it as well: those
            // who get here from such a state count on no less.
            if (node.value >= node.usual) continue;
            node.value = node.usual;
            node.actions.clear();
        }
    }
    for (const auto& [to, weight] : roots) found.value += weight * layers[0][to].value;
    std::map<std::vector<AgentId>, std::size_t> places;
    for (Index layer = 0; layer < model_.layer_count(); ++layer) {
        for (const Node& node : layers[layer]) {
            bool choice = false;
            for (std::size_t m = 0; m < node.actions.size(); ++m) {
                const auto& begin = model_.agents[at(node.shape->agents[m])].action_begin;
                const std::size_t c = at(node.where[m].class_id());
                choice = choice || begin[c + 1] > begin[c] + 1;
            }
            if (!choice) continue;
            auto& rows = rows_of(found.groups, places, node.shape->agents);
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
    std::map<std::vector<AgentId>, std::size_t> places;
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
            (bound_ == nullptr ||
             record.upper.load() >=
                 workers_[0]->above().upper(*record.shape, record.layer, record.where()))) {
            continue;
        }
        auto& rows = rows_of(found.groups, places, record.shape->agents);
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

// What a group counts on in a joint state, at least.
double GroupSearch::claim(Worker& worker, Shape& shape, Index layer, std::span<const Status> where,
                          const ValueTable* exact) {
    if (exact != nullptr) return shapes_.look_up(*exact, shape, layer, where);
    const Record* record = table_->find(shape, where);
    if (record != nullptr) return record->lower.load();
    // Where there is one way on, it counts on what comes then.
    if (worker.passes(shape, layer, where)) return std::numeric_limits<double>::infinity();
    return worker.floor_of(shape, layer, where);
}

// What a group does in a joint state: the best by its table, by its record, or by a policy.
std::vector<Index> GroupSearch::decide(Worker& worker, Shape& shape, Index layer,
                                       std::span<const Status> where, const ValueTable* exact) {
    std::vector<Index> actions;
    if (exact == nullptr) {
        const Record* record = table_->find(shape, where);
        if (record != nullptr && record->body != nullptr && record->body->best != kNoOption) {
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

}  // namespace coreplan
