#include "search/core_actions.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "search/core_best.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostActions = 1e8;
constexpr double kMostCodes = 9e18;
constexpr Index kNone = CoreTeams::kNone;

}  // namespace

CoreActions::CoreActions(const CoreLocals& locals, const RewardPaths& paths,
                         const CoreOptions& options, Monitor& monitor)
    : locals_(locals),
      paths_(paths),
      options_(options),
      monitor_(monitor),
      memory_(monitor),
      own_(locals.agent_count()),
      count_(own_.size()),
      first_choice_(own_.size()),
      stride_(own_.size()),
      digit_(own_.size()),
      first_term_(own_.size() + 1),
      upper_(own_.size() + 1),
      lower_(own_.size() + 1),
      code_(own_.size() + 1) {}

CoreActions::Found CoreActions::begin(const CoreTeams::Shape& team, std::span<const Index> nodes,
                                      bool keep_all, CoreResult& counts) {
    stored_ = options_.bounds || keep_all;
    double total = 1;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
        const Index* begin = locals_[team.agents[k]].choice_begin + nodes[k];
        total *= begin[1] - begin[0];
    }
    const bool separately = stored_ && options_.independent_actions;
    if (total > (separately ? kMostCodes : kMostActions)) {
        throw LimitReached(Stop::memory_limit, "a joint state has too many joint actions");
    }
    const bool forced = total == 1;
    if (!stored_) return {0, static_cast<std::size_t>(total), -kInfinity, forced};
    const std::size_t first = kept_.size();
    if (forced && !keep_all) {
        ++counts.actions_bounded;
        make_room(kept_, 1);
        kept_.push_back({kInfinity, 0});
        return {first, first + 1, -kInfinity, forced};
    }
    read_team(team, nodes);
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
        best_lower = terms_.empty() && nodes.size() == 1 ? list_alone() : enumerate(kept_);
        counts.actions_bounded += kept_.size() - first;
        if (options_.bounds && !keep_all) {
            const double least = CoreBest::least(best_lower);
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
    return {first, kept_.size(), best_lower, forced};
}

void CoreActions::read_team(const CoreTeams::Shape& team, std::span<const Index> nodes) {
    std::uint64_t stride = 1;
    for (std::size_t k = nodes.size(); k-- > 0;) {
        const CoreLocals::Agent& agent = locals_[team.agents[k]];
        const Index first = agent.choice_begin[nodes[k]];
        first_choice_[k] = first;
        count_[k] = agent.choice_begin[nodes[k] + 1] - first;
        own_[k] = {&agent, agent.upper.data() + first, agent.lower.data() + first};
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
    const std::size_t block = size;  // what the others can do
    add(owner);
    term.last_part = term_parts_.size();
    const std::span others =
        std::span(term_parts_).subspan(term.first_part, term.last_part - term.first_part - 1);
    bool any = false;
    make_room(term_values_, static_cast<double>(size));
    term_values_.resize(term.values + size, 0.0);
    for (Index& own = digit_[owner]; own < count_[owner]; ++own) {
        if (own_[owner].agent->interacts[first_choice_[owner] + own] == 0) continue;
        for (std::size_t place = 0; place < block; ++place) {
            const double value = expected(team, owner);
            any = any || value != 0;
            term_values_[term.values + own * block + place] = value;
            for (const TermPart& part : others) {
                if (++digit_[part.position] < count_[part.position]) break;
                digit_[part.position] = 0;
            }
            if (monitor_.tick(32)) break;
        }
    }
    for (std::size_t p = term.first_part; p < term.last_part; ++p) {
        digit_[term_parts_[p].position] = 0;
    }
    if (any) {
        terms_.push_back(term);
    } else {
        term_parts_.resize(term.first_part);
        term_values_.resize(term.values);
    }
}

// Of the functions of one agent, by what it and the others in the set do.
double CoreActions::expected(const CoreTeams::Shape& team, Index owner) const {
    const CoreLocals::Agent& agent = *own_[owner].agent;
    const Index choice = first_choice_[owner] + digit_[owner];
    const auto arcs_of = [&](Index other) -> std::pair<Index, Index> {
        const Index position = team.position[other];
        if (position == kNone || level_[position] == kNone) return {kNone, kNone};
        const Index* begin =
            own_[position].agent->arc_begin + first_choice_[position] + digit_[position];
        return {begin[0], begin[1]};
    };
    double total = 0;
    const Index last = agent.arc_begin[choice + 1];
    for (Index arc = agent.arc_begin[choice]; arc < last;) {
        const Index tree = agent.arcs[arc].tree;
        double p = 0;
        for (; arc < last && agent.arcs[arc].tree == tree; ++arc) p += agent.arcs[arc].probability;
        if (tree != RewardPaths::kNone) total += p * paths_.expected(tree, arcs_of);
    }
    return total;
}

// The actions of one agent that interacts with nobody; gives the largest lower bound.
double CoreActions::list_alone() {
    double best_lower = -kInfinity;
    for (Index k = 0; k < count_[0]; ++k) {
        kept_.push_back({own_[0].upper[k], k});
        best_lower = std::max(best_lower, own_[0].lower[k]);
    }
    monitor_.tick(16 * count_[0]);
    return best_lower;
}

// All joint actions of the set, others left out; gives the largest lower bound.
double CoreActions::enumerate(std::vector<Action>& into) {
    const std::size_t size = set_.size();
    upper_[0] = lower_[0] = 0;
    code_[0] = 0;
    double best_lower = -kInfinity;
    // Sums up to a level are kept; only what is behind the digit that changes is added up anew.
    std::vector<std::size_t>& first_term = first_term_;
    first_term[size] = terms_.size();
    for (std::size_t l = size, t = terms_.size(); l-- > 0; first_term[l] = t) {
        while (t > 0 && terms_[t - 1].level == l) --t;
    }
    for (std::size_t from = 0;;) {
        for (std::size_t l = from; l < size; ++l) {
            const Index k = set_[l];
            const Index digit = digit_[k];
            double expected = 0;
            for (std::size_t t = first_term[l]; t < first_term[l + 1]; ++t) {
                std::size_t place = terms_[t].values;
                for (std::size_t p = terms_[t].first_part; p < terms_[t].last_part; ++p) {
                    place += digit_[term_parts_[p].position] * term_parts_[p].stride;
                }
                expected += term_values_[place];
            }
            upper_[l + 1] = upper_[l] + own_[k].upper[digit] + expected;
            lower_[l + 1] = lower_[l] + own_[k].lower[digit] + expected;
            code_[l + 1] = code_[l] + digit * stride_[k];
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
        const Index* arc_begin = own_[k].agent->arc_begin;
        const Index last = arc_begin[first_choice_[k] + count_[k]];
        for (Index arc = arc_begin[first_choice_[k]]; arc < last; ++arc) {
            if (paths_.matches(agent, arc, condition)) return true;
        }
        return false;
    };
    for (Index k = 0; k < nodes.size(); ++k) {
        const CoreLocals::Agent& agent = *own_[k].agent;
        const Index last = agent.arc_begin[first_choice_[k] + count_[k]];
        Index before = RewardPaths::kNone;
        for (Index arc = agent.arc_begin[first_choice_[k]]; arc < last; ++arc) {
            const Index tree = agent.arcs[arc].tree;
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
        best_lower += enumerate(lists_[s]);
        std::ranges::sort(lists_[s], [](const Action& a, const Action& b) {
            return a.upper != b.upper ? a.upper > b.upper : a.code < b.code;
        });
    }
    if (monitor_.stop() != Stop::none) return best_lower;
    const bool all = keep_all || !options_.bounds;
    const double least = all ? -kInfinity : CoreBest::least(best_lower);
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
