// What an agent can still take part in, from a class on.
#pragma once

#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

// A signal that can still match at every stage of a range.
struct SignalRun {
    SignalId signal;
    Index first;
    Index last;

    friend bool operator==(const SignalRun&, const SignalRun&) = default;
};

// Per class of one agent, its runs (by signal, then stage); equal lists are stored once.
struct SignalRuns {
    std::vector<Index> list_of_class;
    std::vector<Index> list_begin;
    std::vector<SignalRun> runs;
};

// What it takes stays reserved: a `Lease` gives it back.
SignalRuns remaining_signals(const CompiledModel& model, AgentId agent, Monitor& monitor);

}  // namespace coreplan
