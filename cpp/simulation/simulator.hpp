// Runs of a policy: every agent moves by the laws of the description, rewards are those of joint
// transitions. What the policy does is asked for once for each joint state that comes up.
//
// Every run has random numbers of its own, made of the key and the run's number. So what happens in
// a run depends neither on threads nor on how many runs there are beside it.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "policies/random.hpp"
#include "simulation/decisions.hpp"
#include "support/ids.hpp"
#include "support/reservation.hpp"

namespace coreplan {

// How an agent moves. Outcomes of choice c are [outcome_begin[c], outcome_begin[c+1]).
struct SimulatedAgent {
    Index start = 0;
    std::vector<Index> outcome_begin;
    std::vector<Index> outcome_next;
    std::vector<double> outcome_probability;
    std::vector<Index>
        outcome_event;  // per outcome: what is counted when it comes about, or kNoEvent
    Index event_count = 0;
};

inline constexpr Index kNoEvent = std::numeric_limits<Index>::max();
inline constexpr Index kNothing = std::numeric_limits<Index>::max();  // nothing is earned

// How the classes of agents make the cell of a table.
enum class CellKind {
    combination,  // numbered by a mixed radix, the last agent fastest
    all,          // 1 if all classes, which are 0 or 1, are 1; else 0
    sum,          // their sum
};

// Rewards for what some agents do at once. Each of them has a class for each of its outcomes; the
// classes together make a cell.
struct RewardTable {
    std::vector<AgentId> members;
    std::vector<std::vector<Index>> classes;  // per member, per outcome
    std::vector<Index> class_count;           // per member
    CellKind kind = CellKind::combination;
    std::size_t sum = 0;  // the sum that its rewards are part of
    // Per stage from the first: which row of values, or kNothing; empty: the only row, always.
    std::vector<Index> variant_at;
    std::vector<double> values;  // per variant and cell

    [[nodiscard]] std::size_t cell_count() const;
};

// Joint states that have come up, and wait for the policy's choices.
struct Question {
    Index stage = 0;  // from the first
    std::size_t part = 0;
    std::vector<Index> states;  // a row for each joint state
    std::size_t first_row = 0;  // where they are in the part's decisions
};

// Mean and scatter of a sum over runs.
struct Moments {
    double mean = 0;
    double squares = 0;  // sum of squared distances from the mean
};

class Simulator {
public:
    // Runs are taken in blocks of this size, unless another is given; sums are added up block by
    // block.
    static constexpr std::size_t kBlock = 1024;

    // Parts are agents that decide together; every agent is in one of them.
    Simulator(const Simulator&) = delete;
    Simulator& operator=(const Simulator&) = delete;
    Simulator(Index stages, std::size_t sums, std::vector<SimulatedAgent> agents,
              std::vector<std::vector<AgentId>> parts, std::vector<RewardTable> tables,
              std::array<std::uint64_t, 2> key, Monitor& monitor);

    // Begins some more runs: the next blocks of this size, of which the last may be a smaller one.
    void begin(std::size_t runs, std::size_t size = kBlock);
    // Goes on. True if all runs are through; else there are questions, or a limit has struck.
    bool advance(unsigned threads);
    [[nodiscard]] const std::vector<Question>& questions() const noexcept { return questions_; }
    void answer(std::size_t question, const std::vector<Index>& choices);

    // Of the runs that are through since the last `begin`: what each has earned.
    [[nodiscard]] std::vector<double> totals() const;
    // Of all runs that are through.
    [[nodiscard]] std::size_t runs() const noexcept { return runs_; }
    [[nodiscard]] const std::vector<Moments>& moments() const noexcept { return moments_; }
    // How often each cell of a table was seen, per variant and cell.
    [[nodiscard]] const std::vector<std::uint64_t>& seen(std::size_t table) const {
        return counts_.cells.at(table);
    }
    // How often events of an agent have come about, per event and stage.
    [[nodiscard]] const std::vector<std::uint64_t>& events(std::size_t agent) const {
        return counts_.events.at(agent);
    }

    [[nodiscard]] double decision_bytes() const;
    // Forgets all decisions, to make room.
    void forget();

private:
    struct Law {
        Index begin = 0;
        Index end = 0;
        double mass = 1;
    };
    struct Agent {
        std::vector<Law> laws;      // per choice
        std::vector<double> upper;  // per outcome: of the numbers in [0, 1), its are below this
        std::vector<Index> next;    // per outcome
        std::vector<Index> event;   // per outcome; empty if nothing is counted
        Index start = 0;
        Index event_count = 0;
    };
    struct Counts {
        std::vector<std::vector<std::uint64_t>> cells;
        std::vector<std::vector<std::uint64_t>> events;
    };
    // Some runs, side by side.
    struct Block {
        std::size_t first_run = 0;
        std::size_t count = 0;
        Index stage = 0;
        std::vector<Random> random;
        std::vector<double> weight;
        std::vector<std::vector<Index>> state;    // per agent and run
        std::vector<std::vector<double>> earned;  // per sum and run
        std::vector<std::vector<Index>> unknown;  // per part: joint states to ask about
        std::vector<double> total;
        std::vector<Moments> moments;
    };
    // What one thread needs for a step.
    struct Scratch {
        std::vector<std::vector<Index>> choice;   // per agent and run
        std::vector<std::vector<Index>> outcome;  // per agent and run
        Counts counts;
    };

    void add_agent(SimulatedAgent given);
    void check_parts() const;
    void check_table(const RewardTable& table) const;
    void begin_block(Block& block, std::size_t count) const;
    bool choose(Block& block, Scratch& scratch) const;
    void move(Block& block, Scratch& scratch) const;
    void earn(Block& block, Scratch& scratch) const;
    void finish(Block& block) const;
    void ask();
    void add_up();
    [[nodiscard]] Counts make_counts() const;
    [[nodiscard]] std::uint64_t work_of_step() const noexcept;

    Index stages_;
    std::size_t sums_;
    std::vector<Agent> agents_;
    std::vector<std::vector<AgentId>> parts_;
    std::vector<RewardTable> tables_;
    std::array<std::uint64_t, 2> key_;
    Monitor& monitor_;
    double counts_bytes_ = 0;  // of one `Counts`
    Reservation counts_memory_;
    Reservation blocks_memory_;
    bool lossy_ = false;  // whether some chances do not add up to 1

    std::vector<std::vector<Decisions>> decisions_;  // per stage and part
    std::vector<Block> blocks_;
    std::vector<Scratch> scratch_;  // per worker
    std::vector<Question> questions_;
    std::size_t runs_ = 0;
    std::vector<Moments> moments_;
    Counts counts_;
};

}  // namespace coreplan
