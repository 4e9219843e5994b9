// Probabilities that do not sum to 1. Formats allow 1 ± 1e-9 and use them as they are: the chance
// of a joint outcome is the product of what is written. A method that takes agents apart needs laws
// that sum to 1; it works on the model that `make_unit_mass` leaves and widens its bounds by
// `mass_error`.
#pragma once

#include "model/compiled_model.hpp"

namespace coreplan {

// Divides every law by its sum, and with it the rewards and chances of signals that it stands for.
// Leaves a model alone whose laws sum to 1 up to rounding.
void make_unit_mass(CompiledModel& model);

// How far any policy's value, as it is written, can be from its value if laws sum to 1. Zero if
// they do up to rounding.
double mass_error(const CompiledModel& model);

}  // namespace coreplan
