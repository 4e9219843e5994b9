#include "search/action_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "check.hpp"
#include "clocks.hpp"
#include "groups.hpp"

namespace coreplan {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Group {
    std::vector<Index> choices;
    std::vector<ActionTerm> terms;

    [[nodiscard]] std::size_t joint_actions() const {
        std::size_t count = 1;
        for (const Index each : choices) count *= each;
        return count;
    }
    [[nodiscard]] double value(const std::vector<Index>& actions) const {
        double total = 0;
        for (const ActionTerm& term : terms) {
            std::size_t cell = 0;
            for (const Index i : term.agents) cell = cell * choices[i] + actions[i];
            total += term.value[cell];
        }
        return total;
    }
    [[nodiscard]] std::size_t number(const std::vector<Index>& actions) const {
        std::size_t cell = 0;
        for (std::size_t i = 0; i < choices.size(); ++i) cell = cell * choices[i] + actions[i];
        return cell;
    }
};

class Maker {
public:
    explicit Maker(std::uint64_t seed) : random_(seed) {}

    Index below(Index bound) { return static_cast<Index>(random_() % bound); }

    void add(Group& group, std::vector<Index> agents, bool coarse) {
        std::size_t cells = 1;
        for (const Index i : agents) cells *= group.choices[i];
        std::vector<double> value;
        for (std::size_t k = 0; k < cells; ++k) {
            value.push_back(coarse ? static_cast<double>(below(4)) - 2
                                   : std::uniform_real_distribution<double>(-10, 10)(random_));
        }
        group.terms.push_back({std::move(agents), std::move(value)});
    }

    // Terms over random agents, now and then none at all.
    Group small(bool coarse) {
        Group group;
        const Index agents = 1 + below(6);
        for (Index i = 0; i < agents; ++i) group.choices.push_back(1 + below(4));
        const Index terms = below(8);
        for (Index t = 0; t < terms; ++t) {
            std::vector<Index> who;
            for (Index i = 0; i < agents; ++i) {
                if (below(2) == 0) who.push_back(i);
            }
            add(group, std::move(who), coarse);
        }
        return group;
    }

    // Every two agents share a term.
    Group clique(Index agents, Index actions, bool coarse) {
        Group group;
        group.choices.assign(agents, actions);
        for (Index i = 0; i < agents; ++i) {
            add(group, {i}, coarse);
            for (Index j = i + 1; j < agents; ++j) add(group, {i, j}, coarse);
        }
        return group;
    }

private:
    std::mt19937_64 random_;
};

template <class Order>
void check_order_of(const Group& group) {
    double scale = 1;
    for (const ActionTerm& term : group.terms) {
        double most = 0;
        for (const double each : term.value) most = std::max(most, std::abs(each));
        scale += most;
    }
    const double slack = 1e-12 * scale;
    std::vector<double> left;  // values of all that have not come, ascending
    std::vector<Index> actions(group.choices.size(), 0);
    do {
        left.push_back(group.value(actions));
    } while (groups::count_on(actions, group.choices));
    std::ranges::sort(left);
    std::vector<char> seen(left.size(), 0);
    Order order(group.choices, group.terms);
    CHECK(order.bytes() > 0);
    Monitor monitor;
    double before = kInfinity;
    double promised = kInfinity;
    while (!left.empty()) {
        const double bound = order.next_bound();
        CHECK(bound >= left.back() - slack);
        CHECK(bound <= promised + slack);
        promised = bound;
        if (!order.next(actions, monitor)) break;
        CHECK(actions.size() == group.choices.size());
        for (std::size_t i = 0; i < actions.size(); ++i) CHECK(actions[i] < group.choices[i]);
        const double value = group.value(actions);
        CHECK(value <= bound + slack);
        CHECK(value <= before + slack);
        CHECK_NEAR(value, left.back(), slack);
        before = value;
        CHECK(seen[group.number(actions)]++ == 0);
        left.pop_back();
    }
    CHECK(left.empty());
    CHECK(order.next_bound() == -kInfinity);
    CHECK(!order.next(actions, monitor));
}

void check_order(const Group& group) {
    check_order_of<BestFirstActions>(group);
    check_order_of<EnumeratedActions>(group);
}

TEST("joint actions come best first, all of them once, and never more than was promised") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        check_order(Maker(seed).small(seed % 2 == 0));
    }
}

TEST("so they do where tables are too large to eliminate agents exactly") {
    for (const bool coarse : {false, true}) {
        const testing::Context context("coarse", coarse);
        check_order(Maker(1).clique(8, 3, coarse));   // 6561 joint actions
        check_order(Maker(2).clique(5, 6, coarse));   // 7776
        check_order(Maker(3).clique(13, 2, coarse));  // 8192
        check_order(Maker(4).clique(2, 80, coarse));  // one table, larger than may be made
    }
    // A term that is too large by itself, beside others.
    Maker maker(5);
    Group group{{6, 6, 6, 6, 6}, {}};
    maker.add(group, {0, 1, 2, 3, 4}, false);
    maker.add(group, {1, 3}, false);
    maker.add(group, {4}, false);
    check_order(group);
}

TEST("agents without a choice, and groups without terms, are no exception") {
    check_order({{1, 1, 1}, {}});
    check_order({{1}, {{{0}, {2.5}}}});
    check_order({{2, 1, 3}, {}});
    check_order({{1, 3, 1}, {{{0, 1, 2}, {1, 5, 3}}, {{0, 2}, {-7}}}});
    check_order({{2, 2}, {{{}, {4}}, {{0, 1}, {1, 1, 1, 1}}}});
    check_order({{3, 2}, {{{0}, {0, 0, 0}}, {{1}, {0, 0}}}});
}

TEST("the first joint actions of a hundred agents in a ring come after little work") {
    Maker maker(6);
    Group group;
    group.choices.assign(100, 3);
    for (Index i = 0; i + 1 < 100; ++i) maker.add(group, {i, i + 1}, false);
    maker.add(group, {0, 99}, false);
    BestFirstActions order(group.choices, group.terms);
    Monitor monitor = clocks::striking_after(1000);  // of 3 to the power of 100 joint actions
    std::vector<Index> actions;
    double before = kInfinity;
    for (int k = 0; k < 200; ++k) {
        const double bound = order.next_bound();
        CHECK(order.next(actions, monitor));
        CHECK_NEAR(group.value(actions), bound, 1e-9);
        CHECK(bound <= before + 1e-9);
        before = bound;
    }
}

TEST("where a limit strikes nothing is lost") {
    const Group group = Maker(7).clique(6, 3, false);
    BestFirstActions order(group.choices, group.terms);
    Monitor monitor;
    std::size_t come = 0;
    std::vector<Index> actions;
    double before = kInfinity;
    while (order.next_bound() > -kInfinity) {
        const double bound = order.next_bound();
        Monitor over(0.0);
        if (over.tick(1U << 30U) && order.next(actions, over)) {
            ++come;  // it was ready
        } else {
            CHECK(order.next_bound() == bound);
            if (!order.next(actions, monitor)) break;
            ++come;
        }
        CHECK(group.value(actions) <= std::min(bound, before) + 1e-9);
        before = group.value(actions);
    }
    CHECK(come == group.joint_actions());
}

}  // namespace
}  // namespace coreplan
