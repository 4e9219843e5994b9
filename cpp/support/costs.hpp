// What pieces of work cost: the one table of costs that all decisions go by.
//
// Work is counted, not timed, so that a solver does the same on every run. One unit is about one
// nanosecond of one thread. Measured on eight problems of 4 to 30 agents (maintenance problems at
// random, pyramids, road networks), one thread, a busy machine: after each kind stands how many
// nanoseconds of processor time one counted unit took, over all problems and per problem.
#pragma once

#include <cstdint>

namespace coreplan::cost {

inline constexpr double kUnitsPerSecond = 1e9;

// -- shrinking: 1.1 (1.0 to 1.4) -----------------------------------------------------------------

// Per state, after-state or signal that is looked at; per action that is built anew, and per
// outcome and signal of it; a round on a model, per part of the model.
inline constexpr std::uint64_t kShrinkItem = 6;
inline constexpr std::uint64_t kBuildChoice = 100;
inline constexpr std::uint64_t kBuildPart = 20;
inline constexpr double kShrink = 80;

// -- kernel and relaxation: exact solutions 1.1 to 1.4, rounds of a relaxation 1.2 (0.9 to 1.4) --

// Kernel, per row of the last agent's states (one for every combination of the others'
// after-states), and per state of such a row.
inline constexpr std::uint64_t kKernelRow = 16;
inline constexpr std::uint64_t kKernelCell = 4;
// Preparing an agent for the kernel, per layer and per action; a pair of agents, per layer and per
// pair of after-states with a reward. The first bound of a relaxation, mostly this: 1.7 (1.6
// to 2.4).
inline constexpr std::uint64_t kMode = 2'000;
inline constexpr std::uint64_t kModeAction = 40;
inline constexpr std::uint64_t kPairLayer = 1'000;
inline constexpr std::uint64_t kPairEntry = 12;
// Following a cluster's best policy, per outcome of a joint state that it gets to.
inline constexpr std::uint64_t kFollow = 64;
// Bundle method: per entry of a cut that is looked at, per share that is moved.
inline constexpr std::uint64_t kCutEntry = 2;
inline constexpr std::uint64_t kShare = 8;

// -- policies: 1.5 (1.2 to 1.8) -------------------------------------------------------------------

// Best responses of single agents, per value of an interaction and per local state or after-state.
inline constexpr std::uint64_t kResponseValue = 2;
inline constexpr std::uint64_t kResponseState = 4;
// A cluster's view of the others, per action or outcome of its agents that is copied, per value of
// an interaction that is looked at.
inline constexpr std::uint64_t kCopy = 10;
inline constexpr std::uint64_t kClash = 20;
// Rollout: per page of 4096 bytes that it remembers sums in; per agent or bond that a base's value
// in a state is added up from; per outcome that is looked at more closely; per agent and per
// outcome of a state that is expanded; per link and per state that is evaluated.
// Per number that the chances of an aggregate's sums are added up from.
inline constexpr std::uint64_t kAmount = 2;
inline constexpr std::uint64_t kPage = 800;
inline constexpr std::uint64_t kDecide = 10;
inline constexpr std::uint64_t kPeek = 80;
inline constexpr std::uint64_t kExpandAgent = 16;
inline constexpr std::uint64_t kExpandOutcome = 64;
inline constexpr std::uint64_t kLink = 4;

// -- search: 1.4 (0.8 to 2.2); writing a policy down 1.0 to 2.0 -----------------------------------

// Per look at a record; per joint action and per group that is looked at there.
inline constexpr std::uint64_t kVisit = 600;
inline constexpr std::uint64_t kVisitAction = 8;
inline constexpr std::uint64_t kVisitChild = 12;
// Per group that is reached, and per agent of it.
inline constexpr std::uint64_t kArrival = 300;
inline constexpr std::uint64_t kArrivalAgent = 30;
// Per record that is made; per agent, bond or table that its bounds are added up from.
inline constexpr std::uint64_t kRecord = 700;
inline constexpr std::uint64_t kLookUp = 8;
// Per byte of an order of joint actions that is made, per step in it.
inline constexpr std::uint64_t kOrderByte = 1;
inline constexpr std::uint64_t kOrderStep = 100;
// Per joint action that is built, beside what it leads to.
inline constexpr std::uint64_t kAction = 2'000;
// Per state of a policy that is written down.
inline constexpr std::uint64_t kDecision = 500;

}  // namespace coreplan::cost
