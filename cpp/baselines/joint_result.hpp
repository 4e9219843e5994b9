// What a solver gives that treats the whole team at once: bounds, and a joint action per joint
// state.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "bounds/independent.hpp"
#include "model/compiled_model.hpp"
#include "model/joint_layout.hpp"

namespace coreplan {

struct FreeDeleter {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
template <class T>
using CArray = std::unique_ptr<T[], FreeDeleter>;

// Memory that reads as zeros, taken from the system only where it is touched.
template <class T>
CArray<T> zeros(std::uint64_t count) {
    auto* memory = static_cast<T*>(std::calloc(count == 0 ? 1 : count, sizeof(T)));
    if (memory == nullptr) throw std::bad_alloc();
    return CArray<T>(memory);
}

constexpr double kMostJointActions = 4294967294.0;  // joint actions are stored in 32 bits
constexpr double kMostJointStates = 9e18;           // and joint states numbered with 63

struct JointResult {
    Stop stop = Stop::none;  // none: solved to the end
    std::string message;     // why it stopped, where there is more to say
    double lower = 0;        // the value of the policy in hand
    double upper = 0;

    // Where nothing better is known, every agent does what is best for itself alone.
    LocalPolicy fallback;
    // Per joint state (see JointLayout): 1 + the best joint action, 0 where not known. Null if the
    // policy in hand is the fallback everywhere.
    CArray<std::uint32_t> actions;
    CArray<double> values;  // of the joint states, if all of them are known; else null
    // The joint states that `actions` is about, ascending; null: all of them.
    CArray<std::uint64_t> numbers;
    std::uint64_t state_count = 0;  // of `actions`
};

// Sets the fallback and the bounds that come from looking at one agent at a time.
void start(JointResult& result, const CompiledModel& model, Monitor& monitor);

// A number for people: whole as long as it is short.
std::string in_words(double number);

}  // namespace coreplan
