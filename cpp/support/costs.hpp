// What pieces of work cost: the one table of costs that all decisions go by.
//
// Work is counted, not timed, so that a solver does the same on every run. One unit is about one
// nanosecond of one thread. Numbers are rounded; the comments say what was measured.
#pragma once

#include <cstdint>

namespace coreplan::cost {

inline constexpr double kUnitsPerSecond = 1e9;

// Kernel, per row of the last agent's states (one for every combination of the others'
// after-states), and per state of such a row.
inline constexpr std::uint64_t kKernelRow = 16;
inline constexpr std::uint64_t kKernelCell = 4;
// Preparing an agent for the kernel, per layer and per action; a pair of agents, per layer and per
// pair of after-states with a reward.
inline constexpr std::uint64_t kMode = 2'000;
inline constexpr std::uint64_t kModeAction = 40;
inline constexpr std::uint64_t kPairLayer = 1'000;
inline constexpr std::uint64_t kPairEntry = 12;
// Following a cluster's best policy, per outcome of a joint state that it gets to.
inline constexpr std::uint64_t kFollow = 64;
// Bundle method: per entry of a cut that is looked at, per share that is moved.
inline constexpr std::uint64_t kCutEntry = 2;
inline constexpr std::uint64_t kShare = 8;

// Best responses of single agents, per value of an interaction and per local state or after-state.
inline constexpr std::uint64_t kResponseValue = 2;
inline constexpr std::uint64_t kResponseState = 4;
// A cluster's view of the others, per action or outcome of its agents that is copied, per value of
// an interaction that is looked at.
inline constexpr std::uint64_t kCopy = 10;
inline constexpr std::uint64_t kClash = 20;
// Rollout: per page of 4096 bytes that it remembers sums in; per agent and base of a state that is
// decided, per agent and per outcome of a state that is expanded, per link and per state that is
// evaluated.
inline constexpr std::uint64_t kPage = 800;
inline constexpr std::uint64_t kDecide = 10;
inline constexpr std::uint64_t kPeek = 80;
inline constexpr std::uint64_t kExpandAgent = 16;
inline constexpr std::uint64_t kExpandOutcome = 64;
inline constexpr std::uint64_t kLink = 4;

// Search: per look at a record, per group that is reached, per step in the order of joint actions,
// per joint action that is built, per state of a policy that is written down.
inline constexpr std::uint64_t kVisit = 600;
inline constexpr std::uint64_t kVisitOption = 8;
inline constexpr std::uint64_t kVisitChild = 12;
inline constexpr std::uint64_t kArrival = 300;
inline constexpr std::uint64_t kArrivalAgent = 30;
inline constexpr std::uint64_t kRecord = 700;
inline constexpr std::uint64_t kLookUp = 8;
inline constexpr std::uint64_t kOrderByte = 1;
inline constexpr std::uint64_t kOrderStep = 100;
inline constexpr std::uint64_t kOption = 2'000;
inline constexpr std::uint64_t kDecision = 500;

}  // namespace coreplan::cost
