#include "baselines/joint_result.hpp"

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace coreplan {

void start(JointResult& result, const CompiledModel& model, Monitor& monitor) {
    IndependentBounds bounds = independent_bounds(model, monitor);
    result.fallback = std::move(bounds.policy);
    result.lower = bounds.lower;
    result.upper = bounds.upper;
    if (!std::isfinite(result.lower) || !std::isfinite(result.upper)) {
        throw std::overflow_error("the sum of the rewards is too large");
    }
    monitor.progress.lower = result.lower;
    monitor.progress.upper = result.upper;
}

std::string in_words(double number) {
    char text[64];
    std::snprintf(text, sizeof text, number >= 1000 && number < 1e9 ? "%.0f" : "%.4g", number);
    return text;
}

}  // namespace coreplan
