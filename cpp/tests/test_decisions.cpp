#include "simulation/decisions.hpp"

#include <array>

#include "check.hpp"

namespace coreplan {
namespace {

TEST("joint states are found again, with their choices, however many there are") {
    Decisions decisions;
    CHECK(decisions.find(std::array<Index, 2>{0, 0}) == Decisions::kNone);
    for (Index a = 0; a < 40; ++a) {
        for (Index b = 0; b < 40; ++b) {
            const std::array<Index, 2> state{a, b};
            CHECK(decisions.add(state));
            CHECK(!decisions.add(state));
            const auto choices = decisions.choices(decisions.size() - 1, 2);
            choices[0] = 7 * a + b;
            choices[1] = b;
        }
    }
    CHECK(decisions.size() == 1600);
    for (Index a = 0; a < 40; ++a) {
        for (Index b = 0; b < 40; ++b) {
            const std::size_t row = decisions.find(std::array<Index, 2>{a, b});
            CHECK(row == 40 * a + b);
            CHECK(decisions.choices(row, 2)[0] == 7 * a + b);
        }
    }
    CHECK(decisions.find(std::array<Index, 2>{40, 0}) == Decisions::kNone);
}

}  // namespace
}  // namespace coreplan
