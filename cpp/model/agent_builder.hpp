// Builds one agent of a compiled model, layer by layer from the last one back, merging equal nodes.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "model/compiled_model.hpp"
#include "support/sequence_pool.hpp"

namespace coreplan {

class AgentBuilder {
public:
    // `layers`: those before the horizon. Without `merge`, every node is a class of its own and
    // keeps all its actions. Rewards in the same cell of `grid` count as equal (0: equal bits).
    AgentBuilder(Index layers, bool merge, double grid = 0);

    // Layers come from the last (index `layers`, whose nodes have no actions) to the first.
    void begin_layer(Index layer);

    // A node of the current layer: its choices, then the end. Returns its class within the layer.
    // `tag` is what the way back gives for this choice; `factors` are by signal; outcomes name
    // classes of the layer after this one and are put in order here.
    void add_choice(double reward, std::span<const Factor> factors,
                    std::vector<std::pair<Index, double>>& outcomes, Index tag);
    Index end_node();

    // All layers are there: the agent, with `node_class` and `node_choice` (tags) by node, in the
    // order in which nodes were added within layers, layers from first to last.
    CompiledAgent finish();

    // How far an agent's rewards, over all layers, can be from those of the nodes it stands for.
    [[nodiscard]] double deviation() const;

private:
    struct Signature {
        double reward;
        SequencePool::Word cell;  // of the grid that the reward is in
        Index after;
        Index tag;
        [[nodiscard]] bool same(const Signature& other) const {
            return after == other.after && cell == other.cell;
        }
    };
    struct Layer {
        std::vector<Index> action_begin{0};
        std::vector<double> action_reward;
        std::vector<SequencePool::Word> action_cell;
        std::vector<Index> action_after;
        std::vector<LabelId> after_label;
        std::vector<Index> outcome_begin{0};
        std::vector<Index> outcome_next;
        std::vector<double> outcome_probability;
        std::vector<Index> class_of;  // per node
        std::vector<Index> node_tag;  // per node, as many as its class has actions
        [[nodiscard]] Index class_count() const {
            return static_cast<Index>(action_begin.size()) - 1;
        }
    };

    Index intern_label(std::span<const Factor> factors);
    Index intern_after(Index label, const std::vector<std::pair<Index, double>>& outcomes);
    Index own_class(Layer& now);
    Index merged_class(Layer& now);
    [[nodiscard]] std::vector<Index> class_order(const Layer& layer) const;

    [[nodiscard]] SequencePool::Word cell_of(double reward) const;

    bool merge_;
    double grid_;
    std::vector<double> deviation_;  // per layer
    Index layer_ = 0;
    std::vector<Layer> layers_;
    CompiledAgent agent_;
    SequencePool label_pool_, after_pool_, class_pool_;
    std::vector<Signature> signatures_;
    std::vector<SequencePool::Word> words_;
};

}  // namespace coreplan
