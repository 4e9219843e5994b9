#include "model/stage_runs.hpp"

#include <map>
#include <random>
#include <set>

#include "check.hpp"

namespace coreplan {
namespace {

using Runs = std::vector<StageRun>;

Runs normal(Runs runs) {
    normalise(runs);
    return runs;
}

Runs runs_of(const StageRuns& all, Index node) {
    const Index list = all.list_of[node];
    return {all.runs.begin() + all.list_begin[list], all.runs.begin() + all.list_begin[list + 1]};
}

// A layered graph: per node what it signals at its own stage and where it leads.
struct Layered {
    std::vector<Index> layer_begin;
    std::vector<std::vector<Index>> signals;
    std::vector<std::vector<Index>> nexts;

    [[nodiscard]] Index layers() const { return static_cast<Index>(layer_begin.size()) - 2; }
};

StageRuns collect(const Layered& graph, Index first_stage, Monitor& monitor) {
    return collect_runs(
        first_stage, graph.layers(), graph.layer_begin,
        [&](Index node, auto signal, auto next) {
            for (const Index s : graph.signals[node]) signal(s);
            for (const Index n : graph.nexts[node]) next(n);
        },
        monitor);
}

// One node per layer, the same signals at all stages but the last.
Layered line(Index layers, const std::vector<Index>& signals) {
    Layered graph;
    for (Index layer = 0; layer <= layers; ++layer) {
        graph.layer_begin.push_back(layer);
        graph.signals.push_back(layer < layers ? signals : std::vector<Index>{});
        graph.nexts.push_back(layer < layers ? std::vector<Index>{layer + 1}
                                             : std::vector<Index>{});
    }
    graph.layer_begin.push_back(layers + 1);
    return graph;
}

TEST("runs of one signal that touch or overlap become one, in order") {
    CHECK(normal({}).empty());
    CHECK(normal({{1, 5, 6}, {0, 3, 4}, {1, 0, 4}}) == Runs{{0, 3, 4}, {1, 0, 6}});
    CHECK(normal({{0, 2, 9}, {0, 3, 4}, {0, 5, 5}}) == Runs{{0, 2, 9}});  // one inside another
    CHECK(normal({{0, 2, 3}, {0, 5, 5}}) == Runs{{0, 2, 3}, {0, 5, 5}});  // stage 4 is missing
    CHECK(normal({{0, 2, 3}, {1, 4, 5}}) == Runs{{0, 2, 3}, {1, 4, 5}});
    CHECK(normal({{2, 1, 1}, {2, 1, 1}, {2, 1, 1}}) == Runs{{2, 1, 1}});
}

TEST("what can still happen is collected backwards, from the first stage that there is") {
    // Node 0 leads to 1 (silent) and 2 (gives signal 7); both lead to 3, at the end.
    const Layered graph{{0, 1, 3, 4}, {{4, 7}, {}, {7}, {}}, {{1, 2}, {3}, {3}, {}}};
    Monitor monitor;
    const StageRuns runs = collect(graph, 10, monitor);
    CHECK(runs_of(runs, 0) == Runs{{4, 10, 10}, {7, 10, 11}});
    CHECK(runs_of(runs, 1).empty());
    CHECK(runs_of(runs, 2) == Runs{{7, 11, 11}});
    CHECK(runs_of(runs, 3).empty());
    CHECK(runs.list_count() == 3);
    CHECK(runs.list_of[1] == 0);
    CHECK(runs.list_of[3] == 0);
}

TEST("runs of random graphs say exactly what can be reached, and equal lists are one") {
    std::mt19937_64 random(11);
    const auto below = [&](Index bound) { return static_cast<Index>(random() % bound); };
    for (int sample = 0; sample < 100; ++sample) {
        const testing::Context context("sample", sample);
        const Index layers = 1 + below(8), width = 1 + below(4), first_stage = below(5);
        Layered graph;
        for (Index layer = 0; layer <= layers + 1; ++layer)
            graph.layer_begin.push_back(layer * width);
        for (Index node = 0; node < (layers + 1) * width; ++node) {
            auto& signals = graph.signals.emplace_back();
            auto& nexts = graph.nexts.emplace_back();
            const Index layer = node / width;
            if (layer == layers) continue;
            for (Index k = below(3); k > 0; --k) signals.push_back(below(3));
            for (Index k = 1 + below(2); k > 0; --k)
                nexts.push_back((layer + 1) * width + below(width));
        }
        Monitor monitor;
        const StageRuns runs = collect(graph, first_stage, monitor);
        std::map<std::set<std::pair<Index, Index>>, Index> list_of;
        for (Index node = 0; node < graph.signals.size(); ++node) {
            std::set<std::pair<Index, Index>> reached, listed;
            std::set<Index> front{node};
            for (Index stage = first_stage + node / width; !front.empty(); ++stage) {
                std::set<Index> next;
                for (const Index each : front) {
                    for (const Index s : graph.signals[each]) reached.insert({s, stage});
                    next.insert(graph.nexts[each].begin(), graph.nexts[each].end());
                }
                front = std::move(next);
            }
            const Runs own = runs_of(runs, node);
            CHECK(own == normal(own));
            for (const StageRun& run : own) {
                for (Index stage = run.first; stage <= run.last; ++stage) {
                    listed.insert({run.signal, stage});
                }
            }
            CHECK(listed == reached);
            const auto [place, is_new] = list_of.try_emplace(reached, runs.list_of[node]);
            CHECK(place->second == runs.list_of[node]);
            CHECK((runs.list_of[node] == 0) == reached.empty());
        }
        CHECK(list_of.size() == runs.list_count());
    }
}

TEST("what never ends is one run, however long the horizon") {
    Monitor monitor;
    const StageRuns runs = collect(line(50'000, {3}), 0, monitor);
    CHECK(runs_of(runs, 0) == Runs{{3, 0, 49'999}});
    CHECK(runs_of(runs, 49'999) == Runs{{3, 49'999, 49'999}});
    CHECK(runs.runs.size() == 50'000);
}

TEST("collecting obeys limits of memory and time") {
    const Layered graph = line(20'000, {0, 2, 4});
    Monitor small(Monitor::kNoLimit, 100'000);
    CHECK(testing::caught<LimitReached>([&] { collect(graph, 0, small); }).stop ==
          Stop::memory_limit);
    Monitor late(0);
    CHECK(testing::caught<LimitReached>([&] { collect(graph, 0, late); }).stop == Stop::time_limit);
}

}  // namespace
}  // namespace coreplan
