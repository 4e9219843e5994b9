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

// Follows the search's policy from the start on and writes down what groups do where they get to.
class GroupSearch::PolicyWriter final : public Worker::Follower {
public:
    PolicyWriter(GroupSearch& search, std::size_t most_states, double least, Monitor& monitor)
        : search_(search),
          model_(search.model_),
          worker_(*search.workers_[0]),
          most_states_(most_states),
          least_(least),
          monitor_(monitor),
          memory_(monitor),
          layers_(model_.layer_count() + 1) {}

    GroupDecisions write() {
        try {
            follow();
        } catch (const LimitReached&) {
            sound_ = false;
        }
        if (!sound_ || monitor_.stop() != Stop::none) return {};
        evaluate();
        list_decisions();
        found_.sound = true;
        return std::move(found_);
    }

private:
    // What a node or the start leads to in the next layer, and how likely it is.
    using Links = std::vector<std::pair<Index, double>>;
    // A group that is reached, and what it does there.
    struct Node {
        Shape* shape;
        std::vector<Status> where;
        double reach = 0;  // how likely it is
        double usual = 0;  // what the default is worth
        std::vector<Index> actions{};
        double reward = 0;
        Links next{};
        double value = 0;
    };

    // Finds all nodes and what they do, layer by layer.
    void follow() {
        JointAction nothing;
        links_ = &roots_;
        worker_.start({nothing, monitor_, this});
        for (Index layer = 0; layer < model_.layer_count() && sound_; ++layer) {
            known_.clear();
            const std::vector<Index> order = by_reach(layers_[layer]);
            for (std::size_t x = 0; x < order.size() && sound_; ++x) {
                if (monitor_.tick(cost::kDecision)) sound_ = false;
                follow_node(layers_[layer][order[x]], layer, x >= most_states_);
            }
        }
    }

    // Numbers of nodes; the likeliest first, if not all can be followed.
    [[nodiscard]] std::vector<Index> by_reach(const std::vector<Node>& nodes) const {
        std::vector<Index> order(nodes.size());
        std::iota(order.begin(), order.end(), Index{0});
        if (nodes.size() > most_states_) {
            std::ranges::stable_sort(order, std::greater<>{},
                                     [&](Index k) { return nodes[k].reach; });
        }
        return order;
    }

    // Decides for a node, unless it is too unlikely, and goes on to where that leads.
    void follow_node(Node& node, Index layer, bool unlikely) {
        ++found_.states;
        const ValueTable* exact = node.shape->exact.load(std::memory_order_acquire);
        node.usual = worker_.eye().usual(*node.shape, layer, node.where);
        // Whoever is too unlikely, or leads too far, follows the default as well.
        const bool cut =
            unlikely || (exact == nullptr && layers_[layer + 1].size() >= 4 * most_states_);
        if (cut || follows_default(*node.shape, layer, node.where, node.reach, node.usual)) {
            node.reward = node.usual;
            found_.whole = found_.whole && !cut;
            return;
        }
        node.actions = decide(*node.shape, layer, node.where, exact);
        from_exact_ = exact != nullptr;
        reach_ = node.reach;
        links_ = &node.next;
        JointAction joint;
        joint.actions = node.actions;
        worker_.lead(*node.shape, layer, node.where, {joint, monitor_, this});
        node.reward = joint.fixed_lower;
    }

    void meet(Shape& shape, Index layer, std::span<const Status> where, double weight) override {
        // Parts of a group with a table need one of their own.
        if (from_exact_ && shape.exact.load() == nullptr &&
            !search_.shapes_.solve(shape, 1, monitor_)) {
            sound_ = false;
        }
        const std::optional<Index> number = number_of(shape, layer, where);
        if (!number) return;
        layers_[layer][*number].reach += reach_ * weight;
        count(2 * sizeof(links_->front()));
        links_->emplace_back(*number, weight);
    }

    std::optional<double> value_hidden(Shape& shape, Index layer, std::span<const Status> where,
                                       double weight) override {
        const double usual = worker_.eye().usual(shape, layer, where);
        if (follows_default(shape, layer, where, reach_ * weight, usual)) return usual;
        return std::nullopt;
    }

    // The number of a group's node, made if there is none; nothing if there is no room for it.
    std::optional<Index> number_of(Shape& shape, Index layer, std::span<const Status> where) {
        std::vector<Node>& nodes = layers_[layer];
        const std::size_t hash = hash_of(shape, where);
        const auto [begin, end] = known_.equal_range(hash);
        for (auto each = begin; each != end; ++each) {
            const Node& node = nodes[each->second];
            if (node.shape == &shape && std::ranges::equal(node.where, where)) return each->second;
        }
        // The node, its entry among the known ones, and its row of the answer, here and there.
        count(1.5 * sizeof(Node) + kEntryBytes + 32.0 * static_cast<double>(where.size()));
        if (!sound_) return std::nullopt;
        const auto number = static_cast<Index>(nodes.size());
        nodes.push_back({&shape, {where.begin(), where.end()}});
        known_.emplace(hash, number);
        return number;
    }

    void count(double bytes) {
        needed_ += bytes;
        if (needed_ > memory_.bytes() &&
            !memory_.try_take(needed_ + kStepBytes - memory_.bytes())) {
            sound_ = false;
        }
    }

    // Whether a group follows the default: it loses nothing that counts by it.
    bool follows_default(Shape& shape, Index layer, std::span<const Status> where, double likely,
                         double usual) {
        const ValueTable* exact = shape.exact.load(std::memory_order_acquire);
        const double loss = claim(shape, layer, where, exact) - usual;
        const bool follows = loss <= kEqual * std::abs(usual) || likely * loss <= least_;
        some_follow_default_ = some_follow_default_ || follows;
        return follows;
    }

    // What a group counts on in a joint state, at least.
    [[nodiscard]] double claim(Shape& shape, Index layer, std::span<const Status> where,
                               const ValueTable* exact) {
        if (exact != nullptr) return search_.shapes_.look_up(*exact, shape, layer, where);
        const Record* record = search_.table_->find(shape, where);
        if (record != nullptr) return record->lower.load();
        // Where there is one way on, it counts on what comes then.
        if (worker_.passes(shape, layer, where)) return std::numeric_limits<double>::infinity();
        return worker_.floor_of(shape, layer, where);
    }

    // What a group does in a joint state: the best by its table, by its record, or by a policy.
    [[nodiscard]] std::vector<Index> decide(Shape& shape, Index layer,
                                            std::span<const Status> where,
                                            const ValueTable* exact) {
        if (exact != nullptr) return best_by_table(shape, layer, where, *exact);
        const Record* record = search_.table_->find(shape, where);
        if (record != nullptr && record->body != nullptr && record->body->best != kNoAction) {
            return record->body->joint_actions[record->body->best].actions;
        }
        std::vector<Index> actions;
        worker_.eye().act(shape, layer, where, actions);
        return actions;
    }

    [[nodiscard]] std::vector<Index> best_by_table(Shape& shape, Index layer,
                                                   std::span<const Status> where,
                                                   const ValueTable& exact) const {
        std::vector<ClassId> classes;
        for (const Status each : where) classes.push_back(each.class_id());
        const auto values =
            action_values(model_, search_.shapes_.team_of(shape), exact, layer, classes);
        auto code = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
        std::vector<Index> actions(classes.size());
        for (std::size_t m = classes.size(); m-- > 0;) {
            const auto& begin = model_.agents[at(shape.agents[m])].action_begin;
            const std::size_t count = begin[at(classes[m]) + 1] - begin[at(classes[m])];
            actions[m] = static_cast<Index>(code % count);
            code /= count;
        }
        return actions;
    }

    // Values of all nodes, from the last layer back.
    void evaluate() {
        const bool some_cut = !found_.whole || some_follow_default_;
        for (Index layer = model_.layer_count(); layer-- > 0;) {
            for (Node& node : layers_[layer]) {
                node.value = node.reward;
                for (const auto& [to, weight] : node.next) {
                    node.value += weight * layers_[layer + 1][to].value;
                }
                // Whoever relied too much on states that follow the default follows it as well:
                // those who get here from such a state count on no less.
                if (!some_cut || node.actions.empty() || node.value >= node.usual) continue;
                node.value = node.usual;
                node.actions.clear();
            }
        }
        for (const auto& [to, weight] : roots_) found_.value += weight * layers_[0][to].value;
    }

    // A row for every node where there is something to decide.
    void list_decisions() {
        std::map<std::vector<AgentId>, std::size_t> places;
        for (Index layer = 0; layer < model_.layer_count(); ++layer) {
            for (const Node& node : layers_[layer]) {
                if (!has_choice(node)) continue;
                auto& rows = rows_of(found_.groups, places, node.shape->agents);
                rows.layer.push_back(layer);
                for (std::size_t m = 0; m < node.actions.size(); ++m) {
                    const CompiledAgent& agent = model_.agents[at(node.shape->agents[m])];
                    rows.classes.push_back(static_cast<Index>(at(node.where[m].class_id())) -
                                           agent.layer_begin[layer]);
                    rows.actions.push_back(node.actions[m]);
                }
            }
        }
    }

    [[nodiscard]] bool has_choice(const Node& node) const {
        for (std::size_t m = 0; m < node.actions.size(); ++m) {
            const auto& begin = model_.agents[at(node.shape->agents[m])].action_begin;
            const std::size_t c = at(node.where[m].class_id());
            if (begin[c + 1] > begin[c] + 1) return true;
        }
        return false;
    }

    GroupSearch& search_;
    const CompiledModel& model_;
    Worker& worker_;
    std::size_t most_states_;
    double least_;
    Monitor& monitor_;
    Reservation memory_;
    double needed_ = 0;  // of it
    GroupDecisions found_;
    std::vector<std::vector<Node>> layers_;
    Links roots_;
    std::unordered_multimap<std::size_t, Index> known_;  // nodes of the layer that is reached
    bool some_follow_default_ = false;
    bool sound_ = true;

    // The node that is left.
    Links* links_ = nullptr;
    double reach_ = 1;
    bool from_exact_ = false;  // it has a table
};

GroupDecisions GroupSearch::decisions(std::size_t most_states, double least, Monitor& monitor) {
    return PolicyWriter(*this, most_states, least, monitor).write();
}

SearchProof GroupSearch::proof() const {
    SearchProof found;
    std::map<std::vector<AgentId>, std::size_t> places;
    std::unordered_set<const Record*> seen;
    std::vector<const Record*> left;
    const auto reach = [&](const JointAction& joint) {
        for (const Child& child : joint.children) {
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
        for (const JointAction& joint : record.body->joint_actions) reach(joint);
    }
    for (const Shape* shape : shapes_.all()) {
        if (shape->exact.load() != nullptr) found.solved.push_back(shape->agents);
    }
    return found;
}

}  // namespace coreplan
