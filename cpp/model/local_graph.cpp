#include "model/local_graph.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "support/reservation.hpp"

namespace coreplan {

namespace {

constexpr double kBytesPerNode = sizeof(StateId) + sizeof(Index);
constexpr double kBytesPerChoice = sizeof(ChoiceId) + sizeof(Index);
constexpr double kBytesPerArc = sizeof(NodeId) + 2 * sizeof(double) + sizeof(TransitionId);
constexpr std::size_t kMostIds = 0xffff'fff0U;

// Which states one agent can be in, stage by stage, and how large its graph will be.
struct Layers {
    std::vector<std::vector<StateId>> states;  // per stage, in increasing order
    std::size_t nodes = 0;
    std::size_t choices = 0;
    std::size_t arcs = 0;

    [[nodiscard]] double bytes() const {
        return static_cast<double>(nodes) * kBytesPerNode +
               static_cast<double>(choices) * kBytesPerChoice +
               static_cast<double>(arcs) * kBytesPerArc;
    }
};

// The choices of states at stages, asked for in the order of the stages. A state whose actions
// change very often has very many choices, few of them at a time: what has ended is never looked at
// again, and what has not begun waits in order.
class Offers {
public:
    explicit Offers(const AgentDescription& agent) : agent_(agent) {}

    // In increasing order; until the next call.
    std::span<const Index> at_stage(StateId state, Index stage) {
        const Index begin = agent_.choice_begin[at(state)];
        const Index end = agent_.choice_begin[at(state) + 1];
        if (end - begin <= kMany) {
            now_.clear();
            for (Index c = begin; c < end; ++c) {
                if (agent_.choice_first[c] <= stage && stage <= agent_.choice_last[c]) {
                    now_.push_back(c);
                }
            }
            return now_;
        }
        Waiting& mine = waiting_[at(state)];
        if (mine.order.empty()) {
            for (Index c = begin; c < end; ++c) mine.order.push_back(c);
            std::ranges::stable_sort(mine.order, {},
                                     [&](Index c) { return agent_.choice_first[c]; });
        }
        std::erase_if(mine.now, [&](Index c) { return agent_.choice_last[c] < stage; });
        const std::size_t before = mine.now.size();
        for (; mine.next < mine.order.size() && agent_.choice_first[mine.order[mine.next]] <= stage;
             ++mine.next) {
            const Index c = mine.order[mine.next];
            if (stage <= agent_.choice_last[c]) mine.now.push_back(c);
        }
        if (mine.now.size() > before) std::ranges::sort(mine.now);
        return mine.now;
    }

private:
    static constexpr Index kMany = 64;
    struct Waiting {
        std::vector<Index> order;  // by first stage
        std::size_t next = 0;
        std::vector<Index> now;
    };

    const AgentDescription& agent_;
    std::vector<Index> now_;
    std::unordered_map<std::size_t, Waiting> waiting_;
};

class Unroller {
public:
    Unroller(const Description& description, AgentId id, Reservation& memory)
        : description_(description),
          agent_(description.agents[at(id)]),
          id_(id),
          memory_(memory),
          monitor_(memory.monitor()) {}

    LocalGraph run(const AgentRewards& rewards) {
        const Layers layers = find_layers();
        memory_.take(layers.bytes(), "the unrolled local states of one agent");
        return fill(layers, rewards);
    }

private:
    Layers find_layers() {
        Layers layers;
        std::vector<StateId> current{description_.start[at(id_)]};
        std::vector<Index> seen(agent_.state_count, 0);
        Index mark = 0;
        Offers offers(agent_);
        for (Index stage = description_.first_stage; stage < description_.horizon; ++stage) {
            ++mark;
            std::vector<StateId> next;
            for (const StateId state : current) {
                const std::span<const Index> choices = offers.at_stage(state, stage);
                if (choices.empty()) throw NoAction(id_, state, stage);
                visit(choices, mark, seen, next, layers);
            }
            layers.nodes += current.size();
            layers.states.push_back(std::move(current));
            std::ranges::sort(next);
            current = std::move(next);
            // Stop counting as soon as the answer is no.
            if (!monitor_.fits(layers.bytes()) || layers.arcs > kMostIds) {
                memory_.take(std::max(layers.bytes(), 1e30 * (layers.arcs > kMostIds ? 1 : 0)),
                             "the unrolled local states of one agent");
            }
        }
        layers.nodes += current.size();
        layers.states.push_back(std::move(current));
        return layers;
    }

    void visit(std::span<const Index> choices, Index mark, std::vector<Index>& seen,
               std::vector<StateId>& next, Layers& layers) {
        for (const Index c : choices) {
            ++layers.choices;
            for (Index o = agent_.outcome_begin[c]; o < agent_.outcome_begin[c + 1]; ++o) {
                if (agent_.outcome_probability[o] <= 0) continue;
                ++layers.arcs;
                const Index target = agent_.outcome_next[o];
                if (seen[target] == mark) continue;
                seen[target] = mark;
                next.push_back(StateId{target});
            }
            monitor_.tick_or_throw(4);
        }
    }

    LocalGraph fill(const Layers& layers, const AgentRewards& rewards) {
        LocalGraph graph;
        graph.node_state.reserve(layers.nodes);
        graph.choice_begin.reserve(layers.nodes + 1);
        graph.choice_base.reserve(layers.choices);
        graph.arc_begin.reserve(layers.choices + 1);
        graph.arc_next.reserve(layers.arcs);
        graph.arc_probability.reserve(layers.arcs);
        graph.arc_reward.reserve(layers.arcs);
        graph.arc_base.reserve(layers.arcs);
        graph.layer_begin.assign(1, 0);
        graph.choice_begin.assign(1, 0);
        graph.arc_begin.assign(1, 0);

        std::vector<NodeId> node_of(agent_.state_count);
        std::vector<double> reward_now = rewards.constant;
        Offers offers(agent_);
        for (std::size_t layer = 0; layer < layers.states.size(); ++layer) {
            const Index stage = description_.first_stage + static_cast<Index>(layer);
            const std::size_t next_layer_begin = graph.node_count() + layers.states[layer].size();
            if (stage < description_.horizon) {
                const auto& next = layers.states[layer + 1];
                for (std::size_t k = 0; k < next.size(); ++k) {
                    node_of[at(next[k])] = as<NodeId>(next_layer_begin + k);
                }
                rewards.add_stage(stage, reward_now);
            }
            const double weight =
                stage < description_.horizon ? rewards.weights.at_stage(stage) : 1;
            for (const StateId state : layers.states[layer]) {
                graph.node_state.push_back(state);
                if (stage < description_.horizon)
                    add_choices(graph, offers.at_stage(state, stage), node_of, reward_now, weight);
                graph.choice_begin.push_back(static_cast<Index>(graph.choice_base.size()));
            }
            graph.layer_begin.push_back(static_cast<Index>(graph.node_count()));
            if (stage < description_.horizon) rewards.take_stage(stage, reward_now);
        }
        return graph;
    }

    void add_choices(LocalGraph& graph, std::span<const Index> choices,
                     const std::vector<NodeId>& node_of, const std::vector<double>& reward_now,
                     double weight) {
        for (const Index c : choices) {
            graph.choice_base.push_back(ChoiceId{c});
            for (Index o = agent_.outcome_begin[c]; o < agent_.outcome_begin[c + 1]; ++o) {
                if (agent_.outcome_probability[o] <= 0) continue;
                graph.arc_next.push_back(node_of[agent_.outcome_next[o]]);
                graph.arc_probability.push_back(agent_.outcome_probability[o]);
                graph.arc_reward.push_back(reward_now[o] * weight);
                graph.arc_base.push_back(TransitionId{o});
            }
            graph.arc_begin.push_back(static_cast<Index>(graph.arc_next.size()));
            monitor_.tick_or_throw(8);
        }
    }

    const Description& description_;
    const AgentDescription& agent_;
    AgentId id_;
    Reservation& memory_;
    Monitor& monitor_;
};

}  // namespace

LocalGraphs unroll(const Description& description, Monitor& monitor) {
    check(description);
    LocalGraphs graphs;
    graphs.first_stage = description.first_stage;
    graphs.horizon = description.horizon;
    graphs.rewards = sort_rewards(description);
    Reservation memory(monitor);
    for (std::size_t i = 0; i < description.agents.size(); ++i) {
        graphs.agents.push_back(
            Unroller(description, as<AgentId>(i), memory).run(graphs.rewards.agents[i]));
    }
    memory.keep_all();  // the graphs may outlive the monitor
    return graphs;
}

}  // namespace coreplan
