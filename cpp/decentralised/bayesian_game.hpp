// Collaborative Bayesian games: chance gives every agent a type, each sees its own type only and
// chooses an action by it, and all earn the same. A solution is an action for every type of every
// agent; its value is a sum over joint types.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "support/ids.hpp"
#include "support/monitor.hpp"

namespace coreplan {

struct BayesianGame {
    // Per agent: the moves of each of its types begin here, and end where the next type's begin. A
    // move is an action of a type.
    std::vector<std::vector<Index>> move_begin;
    std::vector<std::vector<double>> chance;  // per agent and type; says which types matter most
    // Per joint move, the last agent's being the innermost: what it adds to the value of a solution
    // that has it. The chance of the joint type is a factor of it already.
    std::vector<double> payoff;

    [[nodiscard]] std::size_t agent_count() const noexcept { return move_begin.size(); }
    [[nodiscard]] std::size_t type_count(std::size_t agent) const {
        return move_begin[agent].size() - 1;
    }
    [[nodiscard]] std::size_t move_count(std::size_t agent) const {
        return move_begin[agent].back();
    }
};

// Per agent and type: the number of the action among those of the type.
using GameSolution = std::vector<std::vector<Index>>;

// Exact branch and bound, best first, so that it can go on to the next best solution and the one
// after that. A partial solution fixes the actions of the first types in an order: those of all
// agents but the last by how likely they are, then those of the last agent. Its bound relaxes who
// sees what: each joint type of the first agents takes the actions that are best for it among those
// that agree with what is fixed, for each move of the last agent; the last agent, who sees its own
// type only, chooses then. Once the first agents are fixed, this is exact.
class GameSolver {
public:
    enum class Step { found, exhausted, stopped };

    explicit GameSolver(BayesianGame game);

    // Goes on to the next solution. `exhausted`: no further one is worth more than `floor`, which
    // must not fall from call to call. `stopped`: a limit struck; nothing is lost.
    Step next(double floor, Monitor& monitor);

    // What `next` found.
    [[nodiscard]] const GameSolution& solution() const noexcept { return solution_; }
    [[nodiscard]] double value() const noexcept { return value_; }

    // No solution that is still to come is worth more; minus infinity if there is none.
    [[nodiscard]] double bound() const;
    // The highest bound of what was left out because of a floor.
    [[nodiscard]] double left_out() const noexcept { return left_out_; }

    [[nodiscard]] std::uint64_t partial_solutions() const noexcept { return partials_.size(); }
    [[nodiscard]] double bytes() const noexcept;

private:
    static constexpr Index kFree = 0xffff'ffffU;
    struct Slot {
        Index agent;
        Index type;
    };
    struct Partial {
        Index parent;
        Index action;
    };
    struct Open {
        double bound;
        Index depth;
        Index partial;
    };
    static bool worse(const Open& one, const Open& other);

    void fix(const Open& open);
    bool find_bounds(Index depth, Monitor& monitor);
    bool add_rows(const Slot& slot, Index action, std::vector<double>& sums, bool with_slot,
                  Monitor& monitor);
    [[nodiscard]] double best_answers(const std::vector<double>& sums) const;

    BayesianGame game_;
    std::vector<std::size_t> stride_;  // per agent
    std::vector<Slot> slots_;          // the types that have a choice, in the order of branching
    std::vector<Partial> partials_;
    std::vector<Open> open_;                 // a heap
    std::vector<std::vector<Index>> fixed_;  // per agent and type: the action, or kFree
    GameSolution solution_;
    double value_ = 0;
    double left_out_ = -std::numeric_limits<double>::infinity();

    // Used again from call to call.
    std::vector<double> bounds_;
    std::vector<double> base_;
    std::vector<double> sums_;
    std::vector<double> row_;
    std::vector<std::size_t> type_;
    std::vector<Index> first_;
    std::vector<Index> last_;
    std::vector<Index> move_;
};

}  // namespace coreplan
