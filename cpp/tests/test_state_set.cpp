#include "policies/state_set.hpp"

#include <map>

#include "check.hpp"
#include "policies/random.hpp"

namespace coreplan {
namespace {

TEST("a state set numbers distinct rows in order of appearance") {
    StateSet set(3);
    std::map<std::vector<ClassId>, Index> expected;
    Random random(3);
    for (int k = 0; k < 5000; ++k) {
        const std::vector<ClassId> row{as<ClassId>(random.below(9)), as<ClassId>(random.below(9)),
                                       as<ClassId>(random.below(9))};
        const auto [where, is_new] = expected.try_emplace(row, static_cast<Index>(expected.size()));
        const StateSet::Found found = set.insert(row);
        CHECK(found.number == where->second);
        CHECK(found.is_new == is_new);
    }
    CHECK(set.size() == expected.size());
    for (const auto& [row, number] : expected) CHECK(std::ranges::equal(set[number], row));
}

}  // namespace
}  // namespace coreplan
