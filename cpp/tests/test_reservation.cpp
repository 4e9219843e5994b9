#include "support/reservation.hpp"

#include <memory>
#include <string>
#include <utility>

#include "baselines/dp.hpp"
#include "baselines/spudd.hpp"
#include "check.hpp"
#include "model/local_graph.hpp"
#include "model/remaining_signals.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

TEST("a reservation that is moved or swapped is released once, by who has it then") {
    Monitor monitor;
    {
        Reservation one(monitor);
        one.take(300, "one");
        Reservation other(std::move(one));
        CHECK(other.bytes() == 300.0);
        CHECK(monitor.reserved() == 300.0);
        {
            Reservation third(monitor);
            third.take(50, "three");
            swap(other, third);
        }
        CHECK(monitor.reserved() == 50.0);
    }
    CHECK(monitor.reserved() == 0.0);
}

TEST("what is kept stays reserved, the rest does not") {
    Monitor monitor;
    {
        Reservation memory(monitor);
        memory.take(300, "all");
        memory.keep_all();
        memory.take(20, "more");
    }
    CHECK(monitor.reserved() == 300.0);
}

TEST("something counted is reserved until the last who has it lets it go") {
    Monitor monitor;
    std::shared_ptr<const std::string> last;
    {
        Reservation memory(monitor);
        memory.take(64, "a text");
        const std::shared_ptr<const std::string> first =
            counted(std::move(memory), std::string("x"));
        last = first;
    }
    CHECK(*last == "x");
    CHECK(monitor.reserved() == 64.0);
    last.reset();
    CHECK(monitor.reserved() == 0.0);
}

TEST("a lease gives back what was reserved meanwhile, or until it was settled") {
    Monitor monitor;
    monitor.reserve(7, "before");
    {
        const Lease all(monitor);
        monitor.reserve(100, "meanwhile");
        Lease some(monitor);
        monitor.reserve(30, "its own");
        some.settle();
        monitor.reserve(5, "later");
    }
    CHECK(monitor.reserved() == 7.0);
}

// With ever less memory: what throws leaves nothing behind.
template <class Work>
void give_back_if_thrown(double enough, const Work& work) {
    int thrown = 0;
    for (double limit = enough; limit > 1; limit *= 0.8) {
        Monitor monitor(Monitor::kNoLimit, limit);
        try {
            work(monitor);
        } catch (const LimitReached& struck) {
            CHECK(struck.stop == Stop::memory_limit);
            CHECK(monitor.reserved() == 0.0);
            ++thrown;
        }
    }
    CHECK(thrown > 10);
}

TEST("a model that does not fit leaves nothing reserved") {
    const Description description = problems::crowd(3, 4, 6);
    give_back_if_thrown(1e5, [&](Monitor& monitor) { unroll(description, monitor); });
    Monitor patient;
    const LocalGraphs graphs = unroll(description, patient);
    const CompiledModel model = problems::compiled(description);
    give_back_if_thrown(1e5, [&](Monitor& monitor) { compile(graphs, true, monitor); });
    give_back_if_thrown(1e4,
                        [&](Monitor& monitor) { remaining_signals(model, AgentId{1}, monitor); });
}

TEST("what a solver of joint states does not hand over is not reserved after it") {
    const CompiledModel model = problems::compiled(problems::crowd(3, 4, 6));
    Monitor monitor;
    const DpResult dp = solve_dp(model, monitor);
    CHECK(dp.actions != nullptr);
    CHECK(monitor.reserved() == 12.0 * static_cast<double>(dp.state_count));
    Monitor other;
    const SpuddResult spudd = solve_spudd(model, {}, other);
    CHECK(spudd.actions != nullptr);
    CHECK(other.reserved() == 12.0 * static_cast<double>(spudd.state_count));
}

}  // namespace
}  // namespace coreplan
