// The optimal decentralised policy of a team: every agent sees its own class only.
//
// GMAA*-ICE, a best-first search over partial joint policies: what every agent does in the first
// layers, by its own class. Agents move independently, so all that matters of the past is each
// agent's own distribution over its classes, and partial policies that lead to the same
// distributions are one node. What a node may still earn is bounded by the centralised value. Its
// children are the solutions of a collaborative Bayesian game, whose types are the classes that
// have a chance; they are made one by one, the best first, and meanwhile the node waits with the
// bound of the next one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bounds/independent.hpp"
#include "decentralised/bayesian_game.hpp"
#include "decentralised/central_values.hpp"
#include "model/compiled_model.hpp"
#include "policies/profile.hpp"
#include "support/reservation.hpp"

namespace coreplan {

struct DecentralisedWork {
    std::uint64_t nodes = 0;              // partial joint policies that were kept
    std::uint64_t games = 0;              // Bayesian games that were made
    std::uint64_t types = 0;              // of agents, in all games
    std::uint64_t joint_types = 0;        // likewise
    std::uint64_t joint_actions = 0;      // of joint types
    std::uint64_t partial_solutions = 0;  // of games
    std::uint64_t best_responses = 0;     // tries of the local search
    std::uint64_t cells = 0;              // of the kernel
};

// Constants are not counted in any value here. Limits end in valid bounds, never in an exception.
class DecentralisedSearch {
public:
    // Begins with everyone doing what is best alone.
    DecentralisedSearch(const CompiledModel& model, std::uint64_t seed, Monitor& monitor);
    DecentralisedSearch(const DecentralisedSearch&) = delete;
    DecentralisedSearch& operator=(const DecentralisedSearch&) = delete;

    // Looks for a better policy by alternating best responses, so many times. True if it got
    // better.
    bool improve(std::size_t tries);
    // The memory that the centralised values take, and whether there is as much.
    [[nodiscard]] double table_bytes() const { return CentralValues::bytes_of(model_); }
    [[nodiscard]] bool fits() const { return monitor_.fits(table_bytes()); }
    // Finds the centralised values. Without them there is nothing to search by. False if a limit
    // struck.
    bool prepare();
    // Searches for about so much work, or until the bounds are apart by no more than `tolerance`.
    // True if they are. Only after `prepare`.
    bool run(double tolerance, std::uint64_t work);

    // The value of the policy in hand.
    [[nodiscard]] double lower() const noexcept { return lower_; }
    [[nodiscard]] const LocalPolicy& policy() const noexcept { return policy_; }
    // No decentralised policy has a higher value. At first no joint policy has.
    [[nodiscard]] double upper() const;

    // Which limit ended it, if one did; and what did not fit, if that was memory.
    [[nodiscard]] Stop stop() const noexcept { return stop_; }
    [[nodiscard]] const std::string& message() const noexcept { return message_; }
    [[nodiscard]] DecentralisedWork work() const;

private:
    struct Node {
        Index layer;
        Index parent;
        double past;                    // what is earned before the layer
        std::vector<Index> rule;        // per type of the parent, over all agents: the action
        std::vector<Index> type_begin;  // per agent: its types in the arrays below
        std::vector<Index> type;        // classes of the layer that have a chance
        std::vector<double> chance;
        std::optional<Reservation> memory;  // of the solver
        std::unique_ptr<GameSolver> solver;
        bool replaced = false;  // another node leads to the same with more in hand
    };
    struct Open {
        double bound;
        Index layer;
        Index node;
    };
    static bool worse(const Open& one, const Open& other);

    void note(const LimitReached& limit);
    void take(const LocalPolicy& policy);
    void push(double bound, Index node);
    bool advance(const Open& open, double slack);
    void make_solver(Node& node);
    void finish(Node& node);
    void make_child(Index parent, const GameSolution& solution, double bound);
    [[nodiscard]] double earned(const Node& node, const GameSolution& solution);
    void complete(Index last, const GameSolution& solution);
    [[nodiscard]] bool is_known(const Node& fresh, Index& known) const;
    [[nodiscard]] static std::size_t hash_of(const Node& node);

    const CompiledModel& model_;
    Monitor& monitor_;
    std::uint64_t seed_;
    std::vector<std::size_t> signals_;
    double rounding_;  // differences below this mean nothing

    LocalPolicy policy_;
    double lower_ = 0;
    double start_upper_ = 0;
    std::unique_ptr<ProfileSearch> profiles_;

    std::unique_ptr<CentralValues> central_;
    std::deque<Node> nodes_;
    std::vector<Open> open_;                             // a heap
    std::unordered_multimap<std::size_t, Index> known_;  // by layer and distributions
    double left_out_;     // the highest bound of what was not worth following
    Reservation memory_;  // of nodes, without their solvers
    Stop stop_ = Stop::none;
    std::string message_;
    DecentralisedWork work_;

    std::vector<std::vector<double>> next_;    // per agent: chances of the next layer's classes
    std::vector<std::vector<double>> signal_;  // per agent: chances of signals
};

}  // namespace coreplan
