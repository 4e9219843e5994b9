// The tree of a conditional return graph between a local state and its successor: which actions and
// state transitions of other agents have to be told apart, given the agent's own transition.
//
// Paper: dependent actions, transition influence, and the action and influence trees of the
// definition of a CRG. The readings chosen are in docs/paper-to-code.md.
#pragma once

#include <optional>
#include <vector>

#include "crg/moves.hpp"
#include "model/local_graph.hpp"

namespace coreplan {

struct CrgOptions {
    bool literal = false;   // the printed definitions, for comparison; they can lose rewards
    bool largest = false;   // the neutral signature is the most frequent one, not 0
    bool features = false;  // influence arcs for pair types instead of pairs of states
    // Bounds are expectations over the agent's own outcomes instead of extremes (eq. UB).
    bool expected = false;
    // What leads to the same rewards shares an arc: pairs of states under an action, and dependent
    // actions. Not for literal trees.
    bool share = false;
};

// An interaction entry that earns its value if all these other agents match, given that the agent
// itself does.
struct ActiveEntry {
    struct Other {
        AgentId agent;
        Index condition;  // number among the used ones
    };
    std::vector<Other> others;
    double value;
    Index function;
};

// Influence arcs of one kind: state pairs that nothing in the tree tells apart.
struct PairGroup {
    bool labelled;  // else they share the arc ◇
    Index pairs;    // how many pairs of states
    Move example;   // a move that takes this path
    // Which of the agent's relevant conditions the pairs match; several sets if they share an arc.
    std::vector<std::vector<bool>> matched;
    std::vector<std::pair<Index, Index>> pair_list;  // the pairs; kept for literal trees only
};

struct Branch {
    std::optional<Index> action;    // none: the wildcard
    std::vector<Index> sharing;     // further dependent actions on the same arc
    std::vector<PairGroup> groups;  // labelled ones first
    Index labelled_arcs = 0;        // influence arcs (pairs, or pair types with `features`)
    bool has_other = false;         // whether there is an arc ◇
    std::optional<Move> other;      // a move that takes it
    [[nodiscard]] Index arcs() const noexcept { return labelled_arcs + (has_other ? 1 : 0); }
    [[nodiscard]] bool takes(Index move_action) const;  // not asked of the wildcard
};

struct TreeAgent {
    AgentId agent;
    std::vector<Index> conditions;         // that matter here: used numbers
    std::vector<Branch> branches;          // dependent actions, then the wildcard
    std::vector<Index> dependent;          // the actions of all branches but the wildcard
    bool trivial = false;                  // one path only: left out of the tree
    [[nodiscard]] Index labels() const;    // influence arcs over all branches
    [[nodiscard]] Index all_arcs() const;  // the same with ◇
};

// Numbers of nodes and arcs, by kind. Doubles, since naive graphs outgrow integers.
struct CrgSize {
    double states = 0;        // local states
    double action_nodes = 0;  // of action trees, roots included
    double influence_nodes = 0;
    double action_arcs = 0;  // own and dependent actions
    double wildcard_arcs = 0;
    double influence_arcs = 0;
    double no_influence_arcs = 0;  // ◇
    double reward_arcs = 0;        // into the next local state: the transitions of the CRG

    [[nodiscard]] double nodes() const { return states + action_nodes + influence_nodes; }
    [[nodiscard]] double arcs() const {
        return action_arcs + wildcard_arcs + influence_arcs + no_influence_arcs + reward_arcs;
    }
    CrgSize& operator+=(const CrgSize& other);
};

struct RewardTree {
    std::vector<ActiveEntry> entries;
    std::vector<TreeAgent> agents;  // by agent
    double most = 0;                // of the interaction reward, over all paths
    double least = 0;
    CrgSize size;   // for one own transition: without local states
    CrgSize naive;  // the same if nothing is grouped
};

// Everything that trees are made of, prepared once.
class TreeMaker {
public:
    // `owner`: per interaction entry, the agent that its reward function is assigned to.
    TreeMaker(const Description& description, const LocalGraphs& graphs,
              const std::vector<AgentId>& owner, const CrgOptions& options, Monitor& monitor);

    [[nodiscard]] const MoveTypes& types(std::size_t agent) const { return types_[agent]; }
    [[nodiscard]] const LocalGraphs& graphs() const noexcept { return graphs_; }
    [[nodiscard]] const CrgOptions& options() const noexcept { return options_; }
    [[nodiscard]] const std::vector<std::vector<Index>>& entries_of() const { return entries_of_; }
    [[nodiscard]] const std::vector<AgentId>& scope_of(std::size_t agent) const {
        return scope_of_[agent];
    }
    [[nodiscard]] bool counts_at(Index entry, Index stage) const;

    // The used conditions of an agent that one of its transitions matches.
    [[nodiscard]] std::vector<bool> matched(std::size_t agent, TransitionId transition) const;

    [[nodiscard]] RewardTree make(std::size_t agent, Index layer,
                                  const std::vector<bool>& own_matched) const;

    // The reward that the path of a joint transition carries, own reward left out: that of the
    // moves that stand for the path's labels. `moves`: per agent; those not in the tree are
    // ignored.
    [[nodiscard]] double path_reward(const RewardTree& tree, Index layer,
                                     const std::vector<Move>& moves) const;

    // Which branch and group of a tree's agent a move takes.
    struct Path {
        Index branch;
        std::optional<Index> group;  // none: ◇
    };
    [[nodiscard]] Path path_of(const TreeAgent& agent, const Move& move) const;

    [[nodiscard]] const std::vector<Move>& layer_moves(std::size_t agent, Index layer) const {
        return moves_[agent][layer];
    }

private:
    struct Kind {  // moves that differ in their states only
        Index action;
        Index pair_type;
        double moves;
    };
    class Signatures;

    [[nodiscard]] TreeAgent make_agent(const RewardTree& tree, Index layer, AgentId agent,
                                       const std::vector<Index>& conditions) const;
    void split(TreeAgent& result, const Signatures& signatures, Index layer) const;
    void split_literally(TreeAgent& result, const Signatures& signatures, Index layer) const;
    // The relevant conditions that a pair of states of an agent matches.
    [[nodiscard]] std::vector<bool> pair_matches(const TreeAgent& agent, Index pair_type) const;
    // Adds a branch for some dependent actions, or for all others if there are none. Pairs of the
    // same kind, by `kind_of`, are one group.
    template <class IsLabelled, class KindOf>
    void add_branch(TreeAgent& result, const std::vector<Index>& actions, Index layer,
                    const std::vector<bool>& dependent, IsLabelled is_labelled,
                    KindOf kind_of) const;
    void find_extremes(RewardTree& tree, Index layer) const;
    void count(RewardTree& tree, std::size_t own, Index layer) const;
    [[nodiscard]] std::vector<std::vector<bool>> distinct_matches(
        AgentId agent, Index layer, const std::vector<Index>& conditions) const;

    const LocalGraphs& graphs_;
    CrgOptions options_;
    Monitor& monitor_;
    std::vector<MoveTypes> types_;
    std::vector<std::vector<Index>> entries_of_;  // per agent: entries of its reward functions
    std::vector<std::vector<AgentId>> scope_of_;  // per agent: the others that these look at
    std::vector<std::vector<std::vector<Move>>> moves_;  // per agent and layer
    std::vector<std::vector<std::vector<Kind>>> kinds_;  // likewise
};

}  // namespace coreplan
