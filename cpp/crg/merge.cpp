#include "crg/merge.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

#include "support/sequence_pool.hpp"

namespace coreplan {

namespace {

using Word = SequencePool::Word;

struct Arc {
    Index next;  // class
    Index pair_type;
    Word reward;
    double probability;
    TransitionId base;
};

class Merger {
public:
    Merger(const LocalGraph& graph, const MoveTypes& types, Monitor& monitor)
        : graph_(graph), types_(types), monitor_(monitor) {}

    std::vector<NodeId> run(LocalGraph& merged) {
        const auto layers = static_cast<Index>(graph_.layer_begin.size() - 1);
        class_of_.assign(graph_.node_count(), 0);
        examples_.resize(layers);
        for (Index layer = layers; layer-- > 0;) {
            SequencePool pool;
            for (Index node = graph_.layer_begin[layer]; node < graph_.layer_begin[layer + 1];
                 ++node) {
                const auto [id, is_new] = pool.intern(sign(node));
                class_of_[node] = id;
                if (is_new) examples_[layer].push_back(node);
            }
        }
        return write(merged);
    }

private:
    // The arcs of a choice with equal ones added up, in a fixed order.
    std::vector<Arc> arcs_of(Index choice) {
        std::vector<Arc> arcs;
        for (Index a = graph_.arc_begin[choice]; a < graph_.arc_begin[choice + 1]; ++a) {
            arcs.push_back({class_of_[at(graph_.arc_next[a])], types_.pair_type(graph_.arc_base[a]),
                            std::bit_cast<Word>(graph_.arc_reward[a] + 0.0),
                            graph_.arc_probability[a], graph_.arc_base[a]});
        }
        const auto key = [](const Arc& arc) {
            return std::tuple(arc.next, arc.pair_type, arc.reward);
        };
        std::ranges::stable_sort(arcs, {}, key);
        std::size_t kept = 0;
        for (std::size_t k = 0; k < arcs.size(); ++k) {
            if (kept > 0 && key(arcs[kept - 1]) == key(arcs[k])) {
                arcs[kept - 1].probability += arcs[k].probability;
            } else {
                arcs[kept++] = arcs[k];
            }
        }
        arcs.resize(kept);
        monitor_.tick_or_throw(16 * (1 + kept));
        return arcs;
    }

    std::vector<Word> sign(Index node) {
        const Index first = graph_.choice_begin[node];
        std::vector<Index> choices(graph_.choice_begin[node + 1] - first);
        std::iota(choices.begin(), choices.end(), first);
        const auto action = [&](Index choice) {
            return types_.action_of(graph_.arc_base[graph_.arc_begin[choice]]);
        };
        std::ranges::sort(choices, {}, action);
        std::vector<Word> words;
        for (const Index choice : choices) {
            const auto arcs = arcs_of(choice);
            words.push_back((Word{action(choice)} << 32U) | arcs.size());
            for (const Arc& arc : arcs) {
                words.push_back((Word{arc.next} << 32U) | arc.pair_type);
                words.push_back(arc.reward);
                words.push_back(std::bit_cast<Word>(arc.probability));
            }
        }
        return words;
    }

    std::vector<NodeId> write(LocalGraph& merged) {
        merged.layer_begin.assign(1, 0);
        merged.choice_begin.assign(1, 0);
        merged.arc_begin.assign(1, 0);
        std::vector<NodeId> node_class(graph_.node_count());
        Index begin = 0;
        for (std::size_t layer = 0; layer < examples_.size(); ++layer) {
            const auto next_begin = begin + static_cast<Index>(examples_[layer].size());
            for (Index node = graph_.layer_begin[layer]; node < graph_.layer_begin[layer + 1];
                 ++node) {
                node_class[node] = NodeId{begin + class_of_[node]};
            }
            for (const Index node : examples_[layer]) {
                merged.node_state.push_back(graph_.node_state[node]);
                for (Index c = graph_.choice_begin[node]; c < graph_.choice_begin[node + 1]; ++c) {
                    merged.choice_base.push_back(graph_.choice_base[c]);
                    for (const Arc& arc : arcs_of(c)) {
                        merged.arc_next.push_back(NodeId{next_begin + arc.next});
                        merged.arc_probability.push_back(arc.probability);
                        merged.arc_reward.push_back(std::bit_cast<double>(arc.reward));
                        merged.arc_base.push_back(arc.base);
                    }
                    merged.arc_begin.push_back(static_cast<Index>(merged.arc_next.size()));
                }
                merged.choice_begin.push_back(static_cast<Index>(merged.choice_base.size()));
            }
            merged.layer_begin.push_back(next_begin);
            begin = next_begin;
        }
        return node_class;
    }

    const LocalGraph& graph_;
    const MoveTypes& types_;
    Monitor& monitor_;
    std::vector<Index> class_of_;               // within the layer
    std::vector<std::vector<Index>> examples_;  // per layer and class: its first node
};

}  // namespace

MergedGraphs merge_transitions(const Description& description, const LocalGraphs& graphs,
                               bool merge, Monitor& monitor) {
    MergedGraphs result;
    result.graphs.first_stage = graphs.first_stage;
    result.graphs.horizon = graphs.horizon;
    result.graphs.rewards = graphs.rewards;
    for (std::size_t i = 0; i < graphs.agents.size(); ++i) {
        const LocalGraph& graph = graphs.agents[i];
        if (!merge) {
            result.graphs.agents.push_back(graph);
            auto& same = result.node_class.emplace_back();
            for (std::size_t node = 0; node < graph.node_count(); ++node) {
                same.push_back(as<NodeId>(node));
            }
            continue;
        }
        const MoveTypes types(description, as<AgentId>(i), graphs.rewards.interaction_entries);
        LocalGraph merged;
        result.node_class.push_back(Merger(graph, types, monitor).run(merged));
        result.graphs.agents.push_back(std::move(merged));
    }
    return result;
}

}  // namespace coreplan
