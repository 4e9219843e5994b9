// Where a team stands: at a layer, every agent in one of its classes.
#pragma once

#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

struct Standing {
    Index layer = 0;
    std::vector<ClassId> classes;
};

inline Standing root_of(const CompiledModel& model) {
    return {0, std::vector<ClassId>(model.agents.size(), ClassId{0})};
}

}  // namespace coreplan
