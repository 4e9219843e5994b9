// The search that closes the gap: AND/OR branch and bound over groups of coupled agents.
//
// A record holds what is known of a group in a joint state: bounds [lower, upper] on what it earns
// from there on. A joint action leads to several groups, each with a weight: outcomes are revealed
// one agent at a time, agents that cannot interact any more go apart at once, and what is equal is
// added up. Joint actions come one by one, the most promising first, so that the next one's bound
// holds for all that have not come. Work goes down the most promising action into the group that
// contributes most to the gap, until that action is no longer the most promising one or the gap is
// small enough. Bounds are valid whenever it is stopped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "search/group_bound.hpp"
#include "search/group_floor.hpp"
#include "search/shapes.hpp"
#include "support/work_list.hpp"

namespace coreplan {

struct GroupSearchOptions {
    unsigned threads = 1;
    double most_bytes = 1e9;  // of all that it remembers
    // The same on every run, for any number of threads. Else threads go their own ways, which is
    // faster.
    bool deterministic = true;
    // Lines of search that go on at the same time then: one more for every so many joint actions
    // that were built, up to a number. They do not depend on the threads.
    std::uint64_t actions_per_line = 2'000;
    std::size_t most_lines = 16;
    // Each idea can be switched off, to see what it gains.
    bool split = true;   // agents that cannot interact any more go apart
    bool skip = true;    // where there is one way on, go on
    bool floors = true;  // lower bounds of groups from policies, not from search alone
    bool tables = true;  // exact tables of groups that much work goes into
};

// Where to work next, and for how long.
class SearchOrder {
public:
    // A group that an action leads to.
    struct Branch {
        double weight;
        double gap;
        unsigned visitors;  // threads that are at work on it
    };
    struct Situation {
        double gap;        // of the record
        double tolerance;  // that it should get to
        double advantage;  // of the most promising action over the next one
        std::span<const Branch> branches;
    };
    struct Choice {
        std::size_t branch;  // their number: none is worth it
        double tolerance;    // the gap that is small enough
        double drop;         // of the upper bound that is large enough
    };
    virtual ~SearchOrder() = default;
    [[nodiscard]] virtual Choice choose(const Situation& situation) const = 0;
};

// Recursive best first: what contributes most, until it contributes clearly less, or the action is
// overtaken by a good part of the gap.
class LargestContribution final : public SearchOrder {
public:
    [[nodiscard]] Choice choose(const Situation& situation) const override;
};

// What groups do, where they get to.
struct GroupDecisions {
    struct Rows {
        std::vector<AgentId> agents;
        std::vector<Index> layer;
        std::vector<Index> classes;  // rows of one per agent: numbers within the layer
        std::vector<Index> actions;  // rows: positions among the class's actions
    };
    std::vector<Rows> groups;
    double value = 0;          // of the policy, constants not counted
    std::uint64_t states = 0;  // group states that it gets to
    bool whole = true;         // false: some follow the default; the value is then a lower bound
    bool sound = false;        // false: a limit struck, there is no policy
};

// What the upper bound rests on. For every record, no joint action is worth more than the record's
// upper bound, if groups that it leads to are worth their records' bounds, what exact solution
// says, or else what the relaxation says.
struct SearchProof {
    struct Rows {
        std::vector<AgentId> agents;
        std::vector<Index> layer;
        std::vector<Status> where;  // rows of one per agent
        std::vector<double> upper;
    };
    std::vector<Rows> groups;
    std::vector<std::vector<AgentId>> solved;  // groups that were solved exactly
};

class GroupSearch {
public:
    GroupSearch(const CompiledModel& model, const Relaxation& relaxation,
                std::span<const LocalPolicy> policies, const GroupSearchOptions& options,
                Monitor& monitor);
    ~GroupSearch();
    GroupSearch(const GroupSearch&) = delete;
    GroupSearch& operator=(const GroupSearch&) = delete;

    // Does about that much work, or until what work can close of the gap is as small as that; true
    // if it is. What rounding may have done stays open: `upper` counts it. If anything is thrown,
    // the bounds are valid, and it is full.
    bool run(std::uint64_t budget, double tolerance, Monitor& monitor);

    // Goes by a relaxation that has become better, and keeps what is known. False if there is no
    // room for its tables, or no time; it may then be `full`.
    bool adopt(const Relaxation& relaxation, Monitor& monitor);

    // Bounds on the team's value; constants are not counted, `upper` includes rounding.
    [[nodiscard]] double lower() const;
    [[nodiscard]] double upper() const;
    // What work can still close of the gap.
    [[nodiscard]] double open() const;
    // What rounding can do to `upper`.
    [[nodiscard]] double error() const;
    // The records that prove `upper`.
    [[nodiscard]] SearchProof proof() const;
    // The bound that the search goes by, with its shares; null if there was no room for it.
    [[nodiscard]] const RelaxationBound* bound() const noexcept { return bound_.get(); }
    // There is no more room: going on is of no use.
    [[nodiscard]] bool full() const noexcept { return full_.load(); }
    // The policy whose value is `lower` at least, if it is whole. Where groups get into more joint
    // states than that at a layer, the least likely follow the first of the policies given; and so
    // does whoever loses no more than `least` by it, times how likely that is.
    [[nodiscard]] GroupDecisions decisions(std::size_t most_states, double least, Monitor& monitor);

    [[nodiscard]] std::uint64_t expanded() const noexcept { return expanded_.load(); }
    [[nodiscard]] std::uint64_t actions() const noexcept { return actions_.load(); }
    [[nodiscard]] std::uint64_t records() const noexcept { return records_.load(); }
    // The policy that groups follow where nothing better is known, agent by agent.
    [[nodiscard]] const LocalPolicy& usual() const noexcept { return usual_; }
    [[nodiscard]] const Couplings& couplings() const noexcept { return couplings_; }
    [[nodiscard]] const CompiledModel& model() const noexcept { return model_; }

private:
    struct Record;
    struct Child;
    struct JointAction;
    struct Body;
    class Records;
    class Worker;
    class PolicyWriter;

    bool work(std::uint64_t budget, double tolerance, Monitor& monitor);
    void work_in_rounds(std::uint64_t end, double tolerance, Monitor& monitor);
    void work_freely(std::uint64_t end, double tolerance, Monitor& monitor);
    [[nodiscard]] Record* widest_root() const;
    bool forget();
    void go_by(const Relaxation& relaxation);
    void note_terms(std::uint64_t terms);
    static double record_bytes(const Shape& shape);

    const CompiledModel& model_;
    GroupSearchOptions options_;
    Reservation memory_;
    Room room_;
    Couplings couplings_;
    Shapes shapes_;
    std::unique_ptr<RelaxationBound> bound_;
    BaseFloor floor_;
    LocalPolicy usual_;
    LargestContribution order_;
    double error_ = 0;       // of the relaxation
    double gained_ = 0;      // the most that its shares above zero can add up to
    double operations_ = 0;  // roundings of one number at one stage
    double lowest_;          // nobody can earn less
    std::unique_ptr<Records> table_;
    std::unique_ptr<JointAction> root_;
    std::atomic<bool> full_{false};
    std::atomic<std::uint64_t> expanded_{0};
    std::atomic<std::uint64_t> actions_{0};
    std::atomic<std::uint64_t> records_{0};
    std::atomic<std::uint64_t> most_terms_{0};  // of one sum
    std::mutex numbering_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::uint64_t sweeps_ = 0;
    std::uint64_t sweep_number_ = 0;
    std::uint64_t spent_ = 0;  // work
    std::uint64_t actions_at_sweep_ = 0;
};

}  // namespace coreplan
