#include "support/sequence_pool.hpp"

#include <map>
#include <random>
#include <vector>

#include "check.hpp"

namespace coreplan {
namespace {

using Words = std::vector<SequencePool::Word>;

TEST("equal sequences get the same number, and numbers follow first appearance") {
    SequencePool pool;
    const Words a{1, 2, 3}, b{3, 2, 1}, c{1, 2};
    CHECK(pool.intern(a).id == 0);
    CHECK(pool.intern(b).id == 1);
    CHECK(pool.intern(c).id == 2);
    const auto again = pool.intern(b);
    CHECK(again.id == 1);
    CHECK(!again.is_new);
    CHECK(pool.size() == 3);
}

TEST("the empty sequence is a sequence like any other") {
    SequencePool pool;
    const Words zero{0}, zeros{0, 0};
    CHECK(pool.intern(zero).id == 0);
    const auto empty = pool.intern({});
    CHECK(empty.id == 1);
    CHECK(empty.is_new);
    CHECK(pool.intern(zeros).id == 2);
    CHECK(!pool.intern({}).is_new);
    CHECK(pool[1].empty());
}

TEST("a number gives its sequence back, however far the pool has grown") {
    SequencePool pool;
    std::map<Words, std::uint32_t> known;
    std::mt19937_64 random(1);
    for (int k = 0; k < 20000; ++k) {
        Words words(random() % 5);
        for (auto& word : words) word = random() % 12;
        const auto [id, is_new] = pool.intern(words);
        const auto [place, added] = known.emplace(words, id);
        CHECK(is_new == added);
        CHECK(place->second == id);
    }
    CHECK(pool.size() == known.size());
    CHECK(pool.size() > 5000);  // many times the first size of its table
    for (const auto& [words, id] : known) {
        const auto stored = pool[id];
        CHECK(Words(stored.begin(), stored.end()) == words);
    }
}

TEST("a cleared pool knows nothing and counts from the start again") {
    SequencePool pool;
    for (SequencePool::Word k = 0; k < 500; ++k) pool.intern(Words{k});
    pool.clear();
    CHECK(pool.size() == 0);
    const auto found = pool.intern(Words{499});
    CHECK(found.id == 0);
    CHECK(found.is_new);
    CHECK(pool[0].size() == 1);
}

}  // namespace
}  // namespace coreplan
