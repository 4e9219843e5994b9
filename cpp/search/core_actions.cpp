#include "search/core_actions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;  // a bound that is worse by rounding only must not prune
constexpr double kMostActions = 1e8;
constexpr double kMostCodes = 9e18;
constexpr Index kNone = CoreTeams::kNone;

}  // namespace

CoreActions::CoreActions(const ConditionalReturnGraphs& crgs, const RewardPaths& paths,
                         const CoreOptions& options, Monitor& monitor)
    : graphs_(crgs.graphs()),
      paths_(paths),
      options_(options),
      monitor_(monitor),
      memory_(monitor) {
    for (std::size_t i = 0; i < crgs.agent_count(); ++i) {
        const LocalGraph& graph = graphs_.agents[i];
        const ConditionalReturnGraph& crg = crgs.of(i);
        const std::size_t choices = graph.arc_begin.size() - 1;
        memory_.take(static_cast<double>(choices) * 2 * sizeof(double),
                     "the bounds of one agent's actions");
        Own& own = own_.emplace_back();
        for (std::size_t c = 0; c < choices; ++c) {
            double upper = 0;
            double lower = 0;
            for (Index arc = graph.arc_begin[c]; arc < graph.arc_begin[c + 1]; ++arc) {
                const double p = graph.arc_probability[arc];
                const std::size_t next = at(graph.arc_next[arc]);
                upper += p * (graph.arc_reward[arc] + crg.upper[next]);
                lower += p * (graph.arc_reward[arc] + crg.lower[next]);
            }
            own.upper.push_back(upper);
            own.lower.push_back(lower);
            monitor.tick_or_throw(16);
        }
    }
}

double CoreActions::margin(double best_known) {
    return kTolerance * std::max(1.0, std::abs(best_known));
}

double CoreActions::upper(std::size_t action) const {
    return stored_ ? kept_[action].upper : kInfinity;
}

CoreActions::Found CoreActions::begin(const CoreTeams::Shape& team, std::span<const Index> nodes,
                                      bool keep_all, CoreResult& counts) {
    read_team(team, nodes);
    stored_ = options_.bounds || keep_all;
    double total = 1;
    for (const Index count : count_) total *= count;
    const bool separately = stored_ && options_.independent_actions;
    if (total > (separately ? kMostCodes : kMostActions)) {
        throw LimitReached(Stop::memory_limit, "a joint state has too many joint actions");
    }
    if (!stored_) return {0, static_cast<std::size_t>(total), -kInfinity};
    const std::size_t first = kept_.size();
    double best_lower = 0;
    if (separately) {
        best_lower = combine(team, nodes, keep_all);
        for (std::size_t k = 0; k < sets_.size(); ++k) counts.actions_bounded += lists_[k].size();
    } else {
        set_.resize(nodes.size());
        std::iota(set_.begin(), set_.end(), Index{0});
        level_ = set_;
        make_terms(team, nodes);
        make_room(kept_, total);
        best_lower = terms_.empty() && nodes.size() == 1 ? list_alone(team.agents[0])
                                                         : enumerate(team, kept_);
        counts.actions_bounded += kept_.size() - first;
        if (options_.bounds && !keep_all) {
            const double least = best_lower - margin(best_lower);
            const auto hopeless =
                std::remove_if(kept_.begin() + static_cast<std::ptrdiff_t>(first), kept_.end(),
                               [&](const Action& action) { return action.upper < least; });
            kept_.erase(hopeless, kept_.end());
        }
    }
    if (monitor_.stop() == Stop::none) {
        counts.actions_pruned +=
            static_cast<std::uint64_t>(total) - static_cast<std::uint64_t>(kept_.size() - first);
    }
    const auto begin = kept_.begin() + static_cast<std::ptrdiff_t>(first);
    if (options_.bounds && options_.promising) {
        std::sort(begin, kept_.end(), [](const Action& a, const Action& b) {
            return a.upper != b.upper ? a.upper > b.upper : a.code < b.code;
        });
    } else if (separately) {
        std::sort(begin, kept_.end(),
                  [](const Action& a, const Action& b) { return a.code < b.code; });
    }
    return {first, kept_.size(), best_lower};
}

void CoreActions::read_team(const CoreTeams::Shape& team, std::span<const Index> nodes) {
    const std::size_t size = nodes.size();
    count_.resize(size);
    first_choice_.resize(size);
    stride_.resize(size);
    digit_.assign(size, 0);
    std::uint64_t stride = 1;
    for (std::size_t k = size; k-- > 0;) {
        const LocalGraph& graph = graphs_.agents[team.agents[k]];
        first_choice_[k] = graph.choice_begin[nodes[k]];
        count_[k] = graph.choice_begin[nodes[k] + 1] - first_choice_[k];
        stride_[k] = stride;
        stride *= count_[k];
    }
}

void CoreActions::make_terms(const CoreTeams::Shape& team, std::span<const Index> nodes) {
    terms_.clear();
    term_parts_.clear();
    term_values_.clear();
    for (const Index k : set_) add_term(team, nodes, k);
    if (terms_.size() > 1) std::ranges::sort(terms_, {}, &Term::level);
}

void CoreActions::add_term(const CoreTeams::Shape& team, std::span<const Index> nodes,
                           Index owner) {
    Term term{level_[owner], term_parts_.size(), 0, term_values_.size()};
    std::size_t size = 1;
    const auto add = [&](Index position) {
        term_parts_.push_back({position, size});
        size *= count_[position];
        term.level = std::max(term.level, level_[position]);
    };
    for (const RewardPaths::Wanted& other : paths_.others(team.agents[owner], nodes[owner])) {
        const Index position = team.position[other.agent];
        if (position == kNone || level_[position] == kNone) continue;
        // An agent that can match nothing here takes the same path whatever it does.
        if ((paths_.matchable(other.agent, nodes[position]) & other.conditions) != 0) add(position);
    }
    if (term_parts_.size() == term.first_part) return;
    add(owner);
    term.last_part = term_parts_.size();
    bool any = false;
    make_room(term_values_, static_cast<double>(size));
    term_values_.resize(term.values + size);
    const std::span parts = std::span(term_parts_).subspan(term.first_part);
    for (std::size_t place = 0; place < size; ++place) {
        const double value = expected(team, owner);
        any = any || value != 0;
        term_values_[term.values + place] = value;
        for (const TermPart& part : parts) {
            if (++digit_[part.position] < count_[part.position]) break;
            digit_[part.position] = 0;
        }
        if (monitor_.tick(32)) break;
    }
    for (const TermPart& part : parts) digit_[part.position] = 0;
    if (any) {
        terms_.push_back(term);
    } else {
        term_parts_.resize(term.first_part);
        term_values_.resize(term.values);
    }
}

// Of the functions of one agent, by what it and the others in the set do.
double CoreActions::expected(const CoreTeams::Shape& team, Index owner) const {
    const std::size_t agent = team.agents[owner];
    const LocalGraph& graph = graphs_.agents[agent];
    const Index choice = first_choice_[owner] + digit_[owner];
    const auto arcs_of = [&](Index other) -> std::pair<Index, Index> {
        const Index position = team.position[other];
        if (position == kNone || level_[position] == kNone) return {kNone, kNone};
        const LocalGraph& theirs = graphs_.agents[other];
        const Index chosen = first_choice_[position] + digit_[position];
        return {theirs.arc_begin[chosen], theirs.arc_begin[chosen + 1]};
    };
    double total = 0;
    const Index last = graph.arc_begin[choice + 1];
    for (Index arc = graph.arc_begin[choice]; arc < last;) {
        const Index tree = paths_.tree(agent, arc);
        double p = 0;
        for (; arc < last && paths_.tree(agent, arc) == tree; ++arc)
            p += graph.arc_probability[arc];
        if (tree != RewardPaths::kNone) total += p * paths_.expected(tree, arcs_of);
    }
    return total;
}

// The actions of one agent that interacts with nobody; gives the largest lower bound.
double CoreActions::list_alone(std::size_t agent) {
    const Own& own = own_[agent];
    double best_lower = -kInfinity;
    for (Index k = 0; k < count_[0]; ++k) {
        kept_.push_back({own.upper[first_choice_[0] + k], k});
        best_lower = std::max(best_lower, own.lower[first_choice_[0] + k]);
    }
    monitor_.tick(16 * count_[0]);
    return best_lower;
}

// All joint actions of the set, others left out; gives the largest lower bound.
double CoreActions::enumerate(const CoreTeams::Shape& team, std::vector<Action>& into) {
    const std::size_t size = set_.size();
    upper_.resize(size + 1);
    lower_.resize(size + 1);
    code_.resize(size + 1);
    upper_[0] = lower_[0] = 0;
    code_[0] = 0;
    double best_lower = -kInfinity;
    // Sums up to a level are kept; only what is behind the digit that changes is added up anew.
    std::vector<std::size_t>& first_term = first_term_;
    first_term.resize(size + 1);
    first_term[size] = terms_.size();
    for (std::size_t l = size, t = terms_.size(); l-- > 0; first_term[l] = t) {
        while (t > 0 && terms_[t - 1].level == l) --t;
    }
    for (std::size_t from = 0;;) {
        for (std::size_t l = from; l < size; ++l) {
            const Index k = set_[l];
            const Index choice = first_choice_[k] + digit_[k];
            const Own& own = own_[team.agents[k]];
            double expected = 0;
            for (std::size_t t = first_term[l]; t < first_term[l + 1]; ++t) {
                std::size_t place = terms_[t].values;
                for (std::size_t p = terms_[t].first_part; p < terms_[t].last_part; ++p) {
                    place += digit_[term_parts_[p].position] * term_parts_[p].stride;
                }
                expected += term_values_[place];
            }
            upper_[l + 1] = upper_[l] + own.upper[choice] + expected;
            lower_[l + 1] = lower_[l] + own.lower[choice] + expected;
            code_[l + 1] = code_[l] + digit_[k] * stride_[k];
        }
        into.push_back({upper_[size], code_[size]});
        best_lower = std::max(best_lower, lower_[size]);
        if (monitor_.tick(32)) break;
        std::size_t l = size;
        while (l > 0 && ++digit_[set_[l - 1]] == count_[set_[l - 1]]) digit_[set_[--l]] = 0;
        if (l == 0) break;
        from = l - 1;
    }
    for (const Index k : set_) digit_[k] = 0;
    return best_lower;
}

// Agents that can match an entry together at this stage are in one set.
void CoreActions::find_sets(const CoreTeams::Shape& team, std::span<const Index> nodes) {
    std::vector<Index>& leader = level_;
    leader.resize(nodes.size());
    std::iota(leader.begin(), leader.end(), Index{0});
    const auto find = [&](Index k) {
        while (leader[k] != k) k = leader[k];
        return k;
    };
    const auto can = [&](Index agent, Index condition) {
        const Index k = team.position[agent];
        if (k == kNone) return false;
        const LocalGraph& graph = graphs_.agents[agent];
        const Index last = graph.arc_begin[first_choice_[k] + count_[k]];
        for (Index arc = graph.arc_begin[first_choice_[k]]; arc < last; ++arc) {
            if (paths_.matches(agent, arc, condition)) return true;
        }
        return false;
    };
    for (Index k = 0; k < nodes.size(); ++k) {
        const std::size_t agent = team.agents[k];
        const LocalGraph& graph = graphs_.agents[agent];
        const Index last = graph.arc_begin[first_choice_[k] + count_[k]];
        Index before = RewardPaths::kNone;
        for (Index arc = graph.arc_begin[first_choice_[k]]; arc < last; ++arc) {
            const Index tree = paths_.tree(agent, arc);
            if (tree == RewardPaths::kNone || tree == before) continue;
            before = tree;
            paths_.possible_entries(tree, can, [&](const auto& others) {
                for (const RewardPaths::Other& other : others) {
                    const Index one = find(team.position[other.agent]);
                    const Index two = find(k);
                    leader[std::max(one, two)] = std::min(one, two);
                }
            });
        }
    }
    sets_.clear();
    for (Index k = 0; k < nodes.size(); ++k) {
        const Index root = find(k);
        if (root == k) sets_.emplace_back();
        const auto mine = std::ranges::find_if(
            sets_, [&](const auto& set) { return !set.empty() && set[0] == root; });
        (mine == sets_.end() ? sets_.back() : *mine).push_back(k);
    }
}

// Bounds add up over sets of agents that cannot interact at this stage: each is bounded alone, and
// only the combinations whose sum is not pruned at once are made. Gives the largest lower bound.
double CoreActions::combine(const CoreTeams::Shape& team, std::span<const Index> nodes,
                            bool keep_all) {
    find_sets(team, nodes);
    const std::size_t count_sets = sets_.size();
    if (lists_.size() < count_sets) lists_.resize(count_sets);  // those there are keep their memory
    double best_lower = 0;
    for (std::size_t s = 0; s < count_sets; ++s) {
        set_ = sets_[s];
        level_.assign(nodes.size(), kNone);
        double count = 1;
        for (Index l = 0; l < set_.size(); ++l) {
            level_[set_[l]] = l;
            count *= count_[set_[l]];
        }
        if (count > kMostActions) {
            throw LimitReached(Stop::memory_limit, "a joint state has too many joint actions");
        }
        make_terms(team, nodes);
        lists_[s].clear();
        make_room(lists_[s], count);
        best_lower += enumerate(team, lists_[s]);
        std::ranges::sort(lists_[s], [](const Action& a, const Action& b) {
            return a.upper != b.upper ? a.upper > b.upper : a.code < b.code;
        });
    }
    if (monitor_.stop() != Stop::none) return best_lower;
    const bool all = keep_all || !options_.bounds;
    const double least = all ? -kInfinity : best_lower - margin(best_lower);
    // The most that the sets from s on can add.
    std::vector<double> rest(count_sets + 1, 0);
    for (std::size_t s = count_sets; s-- > 0;) rest[s] = rest[s + 1] + lists_[s][0].upper;
    std::vector<std::size_t> place(count_sets, 0);
    std::vector<Action> sum(count_sets + 1, Action{0, 0});
    for (std::size_t s = 0;;) {
        const bool fits = place[s] < lists_[s].size() &&
                          sum[s].upper + lists_[s][place[s]].upper + rest[s + 1] >= least;
        if (fits) {
            const Action& own = lists_[s][place[s]++];
            sum[s + 1] = {sum[s].upper + own.upper, sum[s].code + own.code};
            if (s + 1 < count_sets) {
                place[++s] = 0;
            } else {
                make_room(kept_, 1);
                kept_.push_back(sum[s + 1]);
                if (monitor_.tick(16)) break;
            }
        } else if (s-- == 0) {
            break;  // lists are sorted: nothing behind it fits, either
        }
    }
    return best_lower;
}

}  // namespace coreplan
