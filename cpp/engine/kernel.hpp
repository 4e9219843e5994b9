// The tensor kernel: exact backward induction of a small team on dense tables.
//
// The law of outcomes is a product over agents, and so is the set of joint actions. So neither is
// enumerated: expectation and maximisation are done one agent at a time. For an after-state f of
// the first agent, the table of the others' next states is averaged over f's outcomes; the rest of
// the team is solved on that smaller table, in the same way; then the first agent maximises over
// its actions. The working set of the inner agents stays in the cache. The last agent's expectation
// is done before, for whole tables, and its actions lie side by side, so that what remains in the
// inner loops is arithmetic on rows.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/team_model.hpp"
#include "model/compiled_model.hpp"

namespace coreplan {

struct KernelOptions {
    bool policy = true;   // whether to keep the best joint action of every joint state
    bool values = false;  // whether to keep the values of all layers
    unsigned threads = 1;
};

// A team and what it is solved for. Agents go from the outermost to the innermost; fast if the last
// one has the most states.
struct Team {
    struct Pair {
        std::size_t first;  // positions in `agents`, first < second
        std::size_t second;
        const PairBlock* block;
        const double* value;  // instead of the block's own
    };
    // A reward for the sum of what the team's agents add to an aggregate.
    struct Sum {
        Index aggregate;
        const double* values = nullptr;  // instead of the aggregate's own: per layer that it counts
        std::size_t width = 0;           // at, so many
    };
    std::vector<AgentId> agents;
    std::vector<const AgentModes*> modes;
    std::vector<const double*> rewards;  // per agent, by the model's number of the action
    std::vector<Pair> pairs;
    std::vector<Index> wide;  // interactions of three and more members
    std::vector<Sum> sums;
};

// The values of a team's sum at a layer; null if it does not count then.
const double* sum_values(const CompiledModel& model, const Team::Sum& sum, Index layer);

// A team that is solved. Joint states and actions are numbered with the team's first agent as the
// most significant digit, as in JointLayout.
struct TeamSolution {
    Stop stop = Stop::none;
    double value = 0;  // at the root; constants are not counted
    std::vector<AgentId> agents;
    std::vector<std::uint64_t> layer_begin;  // per layer before the horizon, and the end
    std::vector<std::uint32_t> decisions;    // per joint state: number of the best joint action
    std::vector<double> values;              // per joint state
    std::uint64_t cells = 0;                 // of value tables computed
};

// The memory that solving a team takes, in bytes; infinite if joint actions cannot be numbered.
double kernel_bytes(const CompiledModel& model, const std::vector<AgentId>& agents,
                    const KernelOptions& options);

// Joint states of all layers before the horizon.
double team_cells(const CompiledModel& model, const std::vector<AgentId>& agents);

// The work of solving a team, as the monitor counts it. The last agent is the innermost one.
double kernel_work(const CompiledModel& model, const std::vector<AgentId>& agents);

// Tables that are used again from one team to the next.
struct KernelBuffers {
    std::vector<double> next;
    std::vector<double> now;
};

// The caller has reserved the memory. Storage of `solution` and `buffers` is used again. If time
// runs out, `stop` says so and there is no value.
void solve_team(const CompiledModel& model, const Team& team, const KernelOptions& options,
                TeamSolution& solution, KernelBuffers& buffers, Monitor& monitor);

// A team by itself, prepared to be solved: interactions with agents outside of it are ignored.
class PreparedTeam {
public:
    // Throws if it does not fit into memory. The monitor has to outlive it.
    PreparedTeam(const CompiledModel& model, const std::vector<AgentId>& agents, Monitor& monitor);
    [[nodiscard]] const Team& team() const noexcept { return team_; }
    // Throws if it does not fit into memory.
    [[nodiscard]] TeamSolution solve(const KernelOptions& options, Monitor& monitor) const;

private:
    const CompiledModel& model_;
    Reservation memory_;
    std::vector<AgentModes> modes_;
    std::vector<PairBlock> blocks_;
    Team team_;
};

TeamSolution solve_team(const CompiledModel& model, const std::vector<AgentId>& agents,
                        const KernelOptions& options, Monitor& monitor);

}  // namespace coreplan
