// What can still happen from a node of a layered graph on: signals over ranges of stages.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "support/ids.hpp"
#include "support/reservation.hpp"
#include "support/sequence_pool.hpp"

namespace coreplan {

// A signal that can still be given at every stage of a range.
struct StageRun {
    Index signal;
    Index first;
    Index last;

    friend bool operator==(const StageRun&, const StageRun&) = default;
};

// Per node, its runs (by signal, then stage). Equal lists are stored once; list 0 is empty.
struct StageRuns {
    std::vector<Index> list_of;
    std::vector<Index> list_begin;
    std::vector<StageRun> runs;

    [[nodiscard]] std::size_t list_count() const noexcept { return list_begin.size() - 1; }
};

// Sorts runs and joins those of one signal that touch or overlap.
inline void normalise(std::vector<StageRun>& runs) {
    std::ranges::sort(runs, {},
                      [](const StageRun& run) { return std::tuple(run.signal, run.first); });
    std::size_t kept = 0;
    for (std::size_t k = 0; k < runs.size(); ++k) {
        if (kept > 0 && runs[kept - 1].signal == runs[k].signal &&
            runs[k].first <= runs[kept - 1].last + 1) {
            runs[kept - 1].last = std::max(runs[kept - 1].last, runs[k].last);
        } else {
            runs[kept++] = runs[k];
        }
    }
    runs.resize(kept);
}

// Backwards over the layers. `visit(node, signal, next)` calls `signal(s)` for every signal that
// the node can give at its own stage and `next(node)` for every node that it can lead to. What the
// result takes stays reserved, for the caller to give back.
template <class Visit>
StageRuns collect_runs(Index first_stage, Index layers, const std::vector<Index>& layer_begin,
                       Visit visit, Monitor& monitor) {
    using Word = SequencePool::Word;
    Reservation memory(monitor);
    SequencePool pool;
    pool.intern({});
    StageRuns result;
    result.list_of.assign(layer_begin[layers + 1], 0);
    std::vector<Index> lists;
    std::vector<StageRun> runs;
    std::vector<Word> words;
    const auto unpack = [&](Index list, std::vector<StageRun>& into) {
        const auto packed = pool[list];
        for (std::size_t k = 0; k < packed.size(); k += 2) {
            into.push_back({static_cast<Index>(packed[k]), static_cast<Index>(packed[k + 1] >> 32U),
                            static_cast<Index>(packed[k + 1])});
        }
    };
    for (Index layer = layers; layer-- > 0;) {
        const Index stage = first_stage + layer;
        for (Index node = layer_begin[layer]; node < layer_begin[layer + 1]; ++node) {
            lists.clear();
            runs.clear();
            visit(
                node, [&](Index signal) { runs.push_back({signal, stage, stage}); },
                [&](Index next) { lists.push_back(result.list_of[next]); });
            std::ranges::sort(lists);
            const auto repeated = std::ranges::unique(lists);
            lists.erase(repeated.begin(), repeated.end());
            for (const Index list : lists) unpack(list, runs);
            normalise(runs);
            words.clear();
            for (const StageRun& run : runs) {
                words.push_back(run.signal);
                words.push_back((Word{run.first} << 32U) | run.last);
            }
            const auto [list, is_new] = pool.intern(words);
            if (is_new) {
                memory.take(static_cast<double>(words.size()) * 2 * sizeof(Word),
                            "the lists of what can still happen");
            }
            result.list_of[node] = list;
            monitor.tick_or_throw(16 + 4 * words.size());
        }
    }
    result.list_begin.assign(1, 0);
    for (std::uint32_t list = 0; list < pool.size(); ++list) {
        unpack(list, result.runs);
        result.list_begin.push_back(static_cast<Index>(result.runs.size()));
    }
    memory.keep_all();
    return result;
}

}  // namespace coreplan
