#include "policies/random.hpp"

#include <set>

#include "check.hpp"

namespace coreplan {
namespace {

TEST("a seed gives the published sequence of splitmix64") {
    Random random(1234567);
    CHECK(random.next() == 6457827717110365317ULL);
    CHECK(random.next() == 3203168211198807973ULL);
    CHECK(random.next() == 9817491932198370423ULL);
}

TEST("numbers below a bound take every value, and units stay below 1") {
    Random random(1);
    std::set<std::size_t> seen;
    for (int k = 0; k < 1000; ++k) {
        seen.insert(random.below(7));
        const double unit = random.unit();
        CHECK(unit >= 0.0);
        CHECK(unit < 1.0);
    }
    CHECK(seen.size() == 7);
    CHECK(*seen.rbegin() == 6);
}

}  // namespace
}  // namespace coreplan
