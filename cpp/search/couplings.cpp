#include "search/couplings.hpp"

#include <algorithm>
#include <map>

#include "support/sequence_pool.hpp"

namespace coreplan {

namespace {

constexpr std::size_t kMostKnown = 1U << 24U;  // answers that a bond remembers
constexpr double kPartOfMemory = 0.05;         // for answers of all bonds

struct Stages {
    Index first;
    Index last;
};

std::vector<Stages> stages_of(std::span<const SignalRun> runs, SignalId signal) {
    std::vector<Stages> found;
    for (const SignalRun& run : std::ranges::equal_range(runs, signal, {}, &SignalRun::signal)) {
        found.push_back({run.first, run.last});
    }
    return found;
}

std::vector<Stages> meet(const std::vector<Stages>& one, const std::vector<Stages>& other) {
    std::vector<Stages> found;
    for (std::size_t a = 0, b = 0; a < one.size() && b < other.size();) {
        const Stages both{std::max(one[a].first, other[b].first),
                          std::min(one[a].last, other[b].last)};
        if (both.first <= both.last) found.push_back(both);
        if (one[a].last < other[b].last) {
            ++a;
        } else {
            ++b;
        }
    }
    return found;
}

std::vector<SequencePool::Word> words_of(std::span<const SignalRun> runs) {
    std::vector<SequencePool::Word> words;
    for (const SignalRun& run : runs) {
        words.push_back(at(run.signal));
        words.push_back((std::uint64_t{run.first} << 32U) | run.last);
    }
    return words;
}

// Sorts runs and joins those that touch.
void join(std::vector<SignalRun>& runs) {
    std::ranges::sort(runs, [](const SignalRun& a, const SignalRun& b) {
        return std::pair(a.signal, a.first) < std::pair(b.signal, b.first);
    });
    std::size_t kept = 0;
    for (const SignalRun& run : runs) {
        if (kept > 0 && runs[kept - 1].signal == run.signal &&
            run.first <= runs[kept - 1].last + 1) {
            runs[kept - 1].last = std::max(runs[kept - 1].last, run.last);
        } else {
            runs[kept++] = run;
        }
    }
    runs.resize(kept);
}

}  // namespace

Couplings::Couplings(const CompiledModel& model, Monitor& monitor)
    : model_(model), lease_(monitor), memory_(monitor) {
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        SignalRuns found = remaining_signals(model, as<AgentId>(i), monitor);
        Lists& lists = agents_.emplace_back();
        lists.of_class = std::move(found.list_of_class);
        lists.begin = std::move(found.list_begin);
        lists.runs = std::move(found.runs);
        unite_outcomes(model.agents[i], lists);
        monitor.tick_or_throw(16 * lists.of_after.size());
    }
    lease_.settle();
    struct Links {
        std::vector<Index> interactions;
        std::vector<Index> aggregates;
    };
    std::map<std::vector<AgentId>, Links> bonds;
    for (std::size_t e = 0; e < model.interactions.size(); ++e) {
        if (model.interactions[e].values.empty()) continue;
        std::vector<AgentId> who;
        for (const InteractionMember& member : model.interactions[e].members) {
            who.push_back(member.agent);
        }
        std::ranges::sort(who);
        bonds[std::move(who)].interactions.push_back(static_cast<Index>(e));
    }
    for (std::size_t e = 0; e < model.aggregates.size(); ++e) {
        const std::vector<AggregateMember>& members = model.aggregates[e].members;
        if (model.aggregates[e].layers.empty()) continue;
        for (std::size_t x = 0; x < members.size(); ++x) {
            for (std::size_t y = x + 1; y < members.size(); ++y) {
                const auto [first, second] = std::minmax(members[x].agent, members[y].agent);
                bonds[{first, second}].aggregates.push_back(static_cast<Index>(e));
            }
        }
    }
    double left = kPartOfMemory * (monitor.memory_limit() - monitor.reserved());
    for (auto& [agents, links] : bonds) {
        Memo& memo = memos_.emplace_back();
        if (agents.size() == 2) {
            const std::size_t rows = list_count(agents[0]);
            const std::size_t columns = list_count(agents[1]);
            const auto bytes = static_cast<double>(rows) * static_cast<double>(columns);
            if (rows <= kMostKnown / columns && bytes <= left) {
                memory_.take(bytes, "what is known of who can still interact");
                left -= bytes;
                memo.columns = columns;
                memo.known = std::make_unique<std::atomic<char>[]>(rows * columns);
            }
        }
        bonds_.push_back({agents, std::move(links.interactions), std::move(links.aggregates)});
    }
}

// Lists of after-states: what any of the outcomes can still take part in.
void Couplings::unite_outcomes(const CompiledAgent& agent, Lists& lists) const {
    SequencePool pool;
    for (std::size_t l = 0; l + 1 < lists.begin.size(); ++l) {
        pool.intern(words_of(
            std::span(lists.runs).subspan(lists.begin[l], lists.begin[l + 1] - lists.begin[l])));
    }
    std::vector<SignalRun> runs;
    for (std::size_t k = 0; k + 1 < agent.outcome_begin.size(); ++k) {
        const Index begin = agent.outcome_begin[k];
        const Index end = agent.outcome_begin[k + 1];
        const auto list_of = [&](Index o) { return lists.of_class[at(agent.outcome_next[o])]; };
        Index list = begin < end ? list_of(begin) : 0;
        bool same = true;
        for (Index o = begin; o < end; ++o) same = same && list_of(o) == list;
        if (!same) {
            runs.clear();
            for (Index o = begin; o < end; ++o) {
                const Index each = list_of(o);
                runs.insert(runs.end(), lists.runs.begin() + lists.begin[each],
                            lists.runs.begin() + lists.begin[each + 1]);
            }
            join(runs);
            const auto found = pool.intern(words_of(runs));
            list = found.id;
            if (found.is_new) {
                lists.runs.insert(lists.runs.end(), runs.begin(), runs.end());
                lists.begin.push_back(static_cast<Index>(lists.runs.size()));
            }
        }
        lists.of_after.push_back(list);
    }
}

bool Couplings::alive(std::size_t b, std::span<const Index> lists) const {
    const Memo& memo = memos_[b];
    if (memo.known == nullptr) return find_alive(bonds_[b], lists);
    std::atomic<char>& known = memo.known[lists[0] * memo.columns + lists[1]];
    char answer = known.load(std::memory_order_relaxed);
    if (answer == 0) {
        answer = find_alive(bonds_[b], lists) ? 2 : 1;
        known.store(answer, std::memory_order_relaxed);
    }
    return answer == 2;
}

// Whether both agents of a bond can add to an aggregate at some stage.
bool Couplings::both_add(const Bond& bond, const CompiledAggregate& aggregate,
                         std::span<const Index> lists) const {
    std::vector<Stages> adds[2];
    for (std::size_t m = 0; m < 2; ++m) {
        const auto member =
            std::ranges::find(aggregate.members, bond.agents[m], &AggregateMember::agent);
        for (const auto& [signal, units] : member->units) {
            for (const Stages& each : stages_of(runs(bond.agents[m], lists[m]), signal)) {
                adds[m].push_back(each);
            }
        }
    }
    return std::ranges::any_of(adds[0], [&](const Stages& one) {
        return std::ranges::any_of(adds[1], [&](const Stages& other) {
            const Index first = std::max(one.first, other.first);
            const Index last = std::min(one.last, other.last);
            if (first > last) return false;
            const auto layer =
                std::ranges::lower_bound(aggregate.layers, first - model_.first_stage);
            return layer != aggregate.layers.end() && *layer + model_.first_stage <= last;
        });
    });
}

bool Couplings::find_alive(const Bond& bond, std::span<const Index> lists) const {
    const bool adding = std::ranges::any_of(
        bond.aggregates, [&](Index e) { return both_add(bond, model_.aggregates[e], lists); });
    if (adding) return true;
    return std::ranges::any_of(bond.interactions, [&](Index e) {
        const CompiledInteraction& interaction = model_.interactions[e];
        std::vector<Stages> common{
            {interaction.values.front().first, interaction.values.back().first}};
        for (const InteractionMember& member : interaction.members) {
            const std::size_t m = static_cast<std::size_t>(
                std::ranges::lower_bound(bond.agents, member.agent) - bond.agents.begin());
            common = meet(common, stages_of(runs(member.agent, lists[m]), member.signal));
            if (common.empty()) return false;
        }
        return std::ranges::any_of(common, [&](const Stages& stages) {
            const auto found = std::ranges::lower_bound(interaction.values, stages.first, {},
                                                        &std::pair<Index, double>::first);
            return found != interaction.values.end() && found->first <= stages.last;
        });
    });
}

}  // namespace coreplan
