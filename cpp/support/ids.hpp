// Strong ids: an agent is not a stage is not an action.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coreplan {

using Index = std::uint32_t;

enum class AgentId : Index {};
enum class StateId : Index {};       // a local state of the description
enum class ChoiceId : Index {};      // a (state, action) pair of the description
enum class TransitionId : Index {};  // a (state, action, next state) triple of the description
enum class NodeId : Index {};        // a (stage, state) pair of an unrolled local graph
enum class ClassId : Index {};       // a set of merged nodes of one stage
enum class ActionId : Index {};      // an action of a class
enum class AfterId : Index {};       // what remains of an action: its label and outcome law
enum class LabelId : Index {};       // a list of (signal, factor)
enum class SignalId : Index {};      // a condition of one agent that interactions look at

// The position that an id stands for in an array.
template <class Id>
constexpr std::size_t at(Id id) noexcept {
    return static_cast<std::size_t>(id);
}

// The id of a position; the caller has checked that positions fit (see `require_index`).
template <class Id>
constexpr Id as(std::size_t position) noexcept {
    return static_cast<Id>(static_cast<Index>(position));
}

}  // namespace coreplan
