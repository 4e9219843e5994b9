// An upper bound on what a team can earn, quick enough to ask about parts of its rewards.
#pragma once

#include "model/description.hpp"
#include "support/monitor.hpp"

namespace coreplan {

// No policy has a higher value. The smaller of two bounds, each from a backward recursion per
// agent: one knows the chances of what other agents do, the other (U of the conditional return
// graphs, in expectation over own outcomes) what they cannot do at the same time.
double value_bound(const Description& description, Monitor& monitor);

}  // namespace coreplan
