#include "model/remaining_signals.hpp"

#include <algorithm>
#include <tuple>

#include "support/sequence_pool.hpp"

namespace coreplan {

namespace {

using Word = SequencePool::Word;

// Sorts runs and joins those of one signal that touch or overlap.
void normalise(std::vector<SignalRun>& runs) {
    std::ranges::sort(runs, {}, [](const SignalRun& run) { return std::tuple(run.signal, run.first); });
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

}  // namespace

SignalRuns remaining_signals(const CompiledModel& model, AgentId id, Monitor& monitor) {
    const CompiledAgent& agent = model.agents[at(id)];
    SequencePool pool;
    std::vector<Index> list_of_class(agent.class_count(), 0);
    pool.intern({});  // list 0: nothing is left to take part in
    std::vector<Index> lists;
    std::vector<SignalRun> runs;
    std::vector<Word> words;
    for (Index layer = model.layer_count(); layer-- > 0;) {
        const Index stage = model.first_stage + layer;
        for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
            lists.clear();
            runs.clear();
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                const std::size_t after = at(agent.action_after[a]);
                const std::size_t label = at(agent.after_label[after]);
                for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                    runs.push_back({agent.label_factor[f].signal, stage, stage});
                }
                for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
                    lists.push_back(list_of_class[at(agent.outcome_next[o])]);
                }
            }
            std::ranges::sort(lists);
            const auto repeated = std::ranges::unique(lists);
            lists.erase(repeated.begin(), repeated.end());
            for (const Index list : lists) {
                const auto packed = pool[list];
                for (std::size_t k = 0; k < packed.size(); k += 2) {
                    runs.push_back({SignalId{static_cast<Index>(packed[k])},
                                    static_cast<Index>(packed[k + 1] >> 32U),
                                    static_cast<Index>(packed[k + 1])});
                }
            }
            normalise(runs);
            words.clear();
            for (const SignalRun& run : runs) {
                words.push_back(at(run.signal));
                words.push_back((Word{run.first} << 32U) | run.last);
            }
            const auto [list, is_new] = pool.intern(words);
            if (is_new) {
                monitor.reserve(static_cast<double>(words.size()) * 2 * sizeof(Word),
                                "the lists of what can still happen");
            }
            list_of_class[c] = list;
            monitor.tick_or_throw(16 + 4 * words.size());
        }
    }

    SignalRuns result;
    result.list_of_class = std::move(list_of_class);
    result.list_begin.assign(1, 0);
    for (std::uint32_t list = 0; list < pool.size(); ++list) {
        const auto packed = pool[list];
        for (std::size_t k = 0; k < packed.size(); k += 2) {
            result.runs.push_back({SignalId{static_cast<Index>(packed[k])},
                                   static_cast<Index>(packed[k + 1] >> 32U),
                                   static_cast<Index>(packed[k + 1])});
        }
        result.list_begin.push_back(static_cast<Index>(result.runs.size()));
    }
    return result;
}

}  // namespace coreplan
