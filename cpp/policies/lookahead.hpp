// Decides as it goes: in every joint state, the joint action that is best if a base is followed
// afterwards.
//
// A base is a policy of a team whose exact value is known from every joint state: its clusters act
// by their tables as long as they are in joint states that these lead to, and agent by agent
// otherwise; so does everyone else. All of them are independent, from any joint state on: what
// they earn by themselves is known for each, and what they earn together is a sum over few of them.
// A joint action is therefore worth a sum of terms of few agents each, and is maximised exactly by
// elimination, over the agents that have a choice.
//
// A cluster that has left its table may come back to a joint state of it. So there are as many
// bases as sets F of clusters that could follow their tables from a joint state on: V_F is what the
// base is worth if just these do. W(s) = max_F V_F(s), over several policies too, and the action is
// the best by Q_F(s,a) for the F that W(s) comes from. Let J be the value of acting like this. At
// the horizon J = W = 0. If J >= W at all next states, and F and a are what is chosen in s, then
// J(s) = r(s,a) + E J(s') >= r(s,a) + E W(s') >= r(s,a) + E V_F'(s') = Q_F(s,a) >= V_F(s) = W(s),
// where F' are those of F that are in their tables at s'. So the policy is worth at least as much
// as every base, from every joint state on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policies/outlook.hpp"
#include "policies/state_set.hpp"
#include "policies/team_policy.hpp"
#include "support/reservation.hpp"

namespace coreplan {

// An agent in this class is out of everybody's reach: it neither acts nor counts.
constexpr ClassId kAbsent{~Index{0}};

class Lookahead {
public:
    // Whether the values of such policies are sums of few agents: not if there are sums over
    // agents, or if some but not all members of an interaction of three or more are in one cluster.
    [[nodiscard]] static bool applies(const CompiledModel& model,
                                      std::span<const TeamPolicy> policies);

    // The first policy is the one that others are compared with. Throws if a limit strikes, or if
    // the clusters get to more joint states than fit.
    Lookahead(const CompiledModel& model, const std::vector<TeamPolicy>& policies,
              Monitor& monitor);
    ~Lookahead();
    Lookahead(const Lookahead&) = delete;
    Lookahead& operator=(const Lookahead&) = delete;

    [[nodiscard]] std::size_t base_count() const noexcept { return bases_.size(); }
    // What a base is worth from a joint state on; constants are not counted.
    [[nodiscard]] double value(std::size_t base, Index layer,
                               std::span<const ClassId> classes) const;

    // For one thread.
    class Decider;

    // Actions, as positions among those of the class, for many joint states of a layer: rows of
    // numbers of classes within the layer (all ones: absent). Does the same for any number of
    // threads.
    [[nodiscard]] std::vector<Index> act(Index layer, std::span<const Index> classes,
                                         unsigned threads, Monitor& monitor) const;

    // What runs of the policy earned, without constants, and what of that was luck, as the first
    // base sees it: its expectation is 0.
    struct Runs {
        std::vector<double> earned;
        std::vector<double> luck;
    };
    // Runs `first` to `first + count - 1`: each has random numbers of its own. False if a limit
    // struck; then there are none.
    bool run(std::uint64_t seed, std::size_t first, std::size_t count, unsigned threads,
             Monitor& monitor, Runs& runs) const;

private:
    // A cluster that acts by a table: the joint states that it gets to from the root.
    struct Table {
        std::vector<std::size_t> agents;
        std::vector<StateSet> states;              // per layer; none where everyone acts apart
        std::vector<std::vector<Index>> actions;   // per layer, rows: numbers within the agent
        std::vector<std::vector<double>> value;    // per layer and state
        std::vector<std::vector<Index>> lists;     // per layer, rows: of what each agent will do
        std::vector<Index> bonds;                  // among its agents
        std::vector<std::vector<Index>> possible;  // per layer: interactions among its agents
        std::vector<char> is_watched;              // per agent: whether it has bonds with others
        std::vector<std::vector<char>> differs;    // per layer and state: from what agents do apart
    };
    struct JointBase {
        std::shared_ptr<const Base> apart;
        std::vector<Table> tables;
    };
    static constexpr Index kNone = ~Index{0};

    void add(const TeamPolicy& policy);
    void reach(const Cluster& cluster, const LocalPolicy& otherwise, Table& table);

    const CompiledModel& model_;
    Outlooks outlooks_;
    std::vector<JointBase> bases_;
    Reservation memory_;
    double tolerance_;
};

}  // namespace coreplan
