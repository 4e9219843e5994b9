// A problem with its conditional return graphs, to test with.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "crg/conditional_return_graph.hpp"
#include "crg/merge.hpp"
#include "reference.hpp"
#include "search/core_2016.hpp"

namespace coreplan::problems {

// One of the members of each interaction entry; the same one for all of a function's entries that
// look at the same agents. Seed 0 chooses the first members.
std::vector<AgentId> some_owners(const Rewards& rewards, std::uint64_t seed);

// A description with all that conditional return graphs are made of, with no limits.
struct WithCrgs {
    explicit WithCrgs(const Description& description, bool merge = false,
                      const CrgOptions& options = {}, std::uint64_t seed = 0);
    WithCrgs(const WithCrgs&) = delete;  // the graphs refer to each other
    WithCrgs& operator=(const WithCrgs&) = delete;

    [[nodiscard]] const TreeMaker& maker() const { return crgs.maker(); }
    [[nodiscard]] const LocalGraph& graph(std::size_t agent) const {
        return merged.graphs.agents[agent];
    }
    // The tree of a transition of the description at a layer.
    [[nodiscard]] RewardTree tree(std::size_t agent, Index layer, Index transition) const;
    // What the team gets from this stage on, whatever it does.
    [[nodiscard]] double constants_from(Index stage) const;

    Monitor monitor;
    LocalGraphs full;
    MergedGraphs merged;
    std::vector<AgentId> owner;
    ConditionalReturnGraphs crgs;
};

// What a search decided, in the description's own terms. Throws std::out_of_range where the policy
// leads to a group that there is no decision for.
class SearchPolicy {
public:
    SearchPolicy(const Description& description, WithCrgs& setup, const CoreResult& result);

    [[nodiscard]] reference::Rule rule();
    // How many decisions the rule has been asked for so far.
    [[nodiscard]] std::size_t used() const { return used_.size(); }

private:
    using Key = std::tuple<Index, std::vector<Index>, std::vector<Index>>;  // layer, agents, nodes

    reference::JointChoice decide(Index stage, const reference::JointState& state);

    const Description& description_;
    WithCrgs& setup_;
    std::map<Key, std::vector<Index>> decisions_;
    std::set<Key> used_;
};

}  // namespace coreplan::problems
