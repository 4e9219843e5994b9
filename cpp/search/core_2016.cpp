#include "search/core_2016.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "support/sequence_pool.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;      // a bound that is worse by rounding only must not prune
constexpr double kActionsPerState = 20;  // that a trace has room for, on average

struct TraceFull {};  // thrown where there is more to record than allowed

class Search {
public:
    Search(ConditionalReturnGraphs& crgs, const CoreOptions& options, Monitor& monitor)
        : crgs_(crgs),
          graphs_(crgs.graphs()),
          options_(options),
          monitor_(monitor),
          n_(crgs.agent_count()),
          layers_(crgs.graphs().stage_count()) {}

    CoreResult run() {
        try {
            search();
        } catch (const LimitReached& limit) {
            result_.stop = limit.stop;
        } catch (const TraceFull&) {
            result_.trace_full = true;
        }
        result_.states_expanded = monitor_.progress.states_expanded;
        result_.actions_evaluated = monitor_.progress.actions_evaluated;
        return std::move(result_);
    }

private:
    void search() {
        Team root;
        for (Index i = 0; i < n_; ++i) {
            root.agents.push_back(i);
            root.nodes.push_back(0);
        }
        allow_gap();
        double value = 0;
        for (const double each : constants()) value += each;
        const auto parts = split(root, 0);
        bool solved = true;
        for (const Team& part : parts) {
            const Visit visit{-1, 0, 1.0, static_cast<Index>(parts.size())};
            solved = solved && solve(part, visit);
            value += returned_;
        }
        if (!solved) {
            result_.stop = monitor_.stop();
            return;
        }
        if (!std::isfinite(value)) {
            throw std::overflow_error("the sum of the rewards is too large");
        }
        result_.lower = value;
        result_.upper = value + result_.given_away;
        const auto decouplings = result_.decouplings;
        collect(parts);
        result_.decouplings = decouplings;  // of the search only
    }

    // Some agents at a stage, each in a node of its graph.
    struct Team {
        Index layer = 0;
        std::vector<Index> agents;
        std::vector<Index> nodes;
    };

    // Where a team comes from, for the trace.
    struct Visit {
        std::int64_t parent;
        Index action;
        double probability;
        Index groups;
    };

    struct Frame {
        Team team;
        std::vector<double> upper;  // per joint action
        std::vector<double> lower;
        double best_known = -kInfinity;  // L_max of the paper
        double slack = 0;                // how much may be given away here
        double best = -kInfinity;
        std::uint32_t best_code = 0;
        std::uint32_t code = 0;
        // The joint action that is being evaluated: its choices, and the outcome that is looked at.
        bool open = false;
        std::vector<Index> choice;
        std::vector<Index> arc;
        double sum = 0;
        double probability = 0;
        double reward = 0;
        double future = 0;
        std::vector<Team> parts;
        std::size_t part = 0;
        std::int64_t record = -1;  // in the trace
        double bytes = 0;          // reserved for the bounds
    };

    // What the team gets at each stage whatever it does.
    [[nodiscard]] std::vector<double> constants() const {
        std::vector<double> result;
        for (Index layer = 0; layer < layers_; ++layer) {
            result.push_back(graphs_.rewards.constant.at_stage(graphs_.first_stage + layer));
        }
        return result;
    }

    void allow_gap() {
        double lower = 0;
        double upper = 0;
        for (const double each : constants()) {
            lower += each;
            upper += each;
        }
        for (std::size_t i = 0; i < n_; ++i) {
            lower += crgs_.of(i).lower[0];
            upper += crgs_.of(i).upper[0];
        }
        // The value's size is at least this; 0 if it may be 0.
        const double size = lower > 0 ? lower : upper < 0 ? -upper : 0;
        result_.given_away = std::max(options_.absolute_gap, options_.relative_gap * size);
    }

    std::vector<Team> split(const Team& team, Index layer) {
        const auto& groups = crgs_.independence().groups(team.agents, team.nodes);
        std::vector<Team> parts;
        for (const auto& positions : groups.positions) {
            Team& part = parts.emplace_back();
            part.layer = layer;
            for (const Index k : positions) {
                part.agents.push_back(team.agents[k]);
                part.nodes.push_back(team.nodes[k]);
            }
        }
        if (parts.size() > 1) ++result_.decouplings;
        return parts;
    }

    // The value of a team that needs no search; else false.
    bool known(const Team& team, const Visit& visit) {
        if (team.agents.size() == 1) {
            const ConditionalReturnGraph& crg = crgs_.of(team.agents[0]);
            if (crg.independent[team.nodes[0]]) {
                returned_ = crg.local_value[team.nodes[0]];
                note(team, visit, true, false, returned_);
                return true;
            }
        }
        if (options_.memo) {
            const std::uint32_t id = record_of(team);
            if (values_[id] != kInfinity) {
                returned_ = values_[id];
                note(team, visit, false, true, returned_);
                return true;
            }
        }
        return false;
    }

    // Depth first with an explicit stack. False if the monitor stopped it.
    bool solve(const Team& team, const Visit& visit) {
        if (known(team, visit)) return true;
        stack_.clear();
        push(team, visit);
        while (!stack_.empty()) {
            if (monitor_.stop() != Stop::none) return false;
            Frame& frame = stack_.back();
            if (!frame.open) {
                if (!start_action(frame)) finish(frame);
                continue;
            }
            if (frame.part < frame.parts.size()) {
                look_at_part(frame);
                continue;
            }
            frame.sum += frame.probability * (frame.reward + frame.future);
            if (next_outcome(frame)) {
                open_outcome(frame);
            } else {
                end_action(frame);
            }
        }
        return true;
    }

    void push(const Team& team, const Visit& visit) {
        Frame frame;
        frame.team = team;
        frame.record = note(team, visit, false, false, 0);
        frame.choice.assign(team.agents.size(), 0);
        frame.arc.assign(team.agents.size(), 0);
        frame.slack = result_.given_away * static_cast<double>(team.agents.size()) /
                      (static_cast<double>(n_) * layers_);
        bound_actions(frame);
        ++monitor_.progress.states_expanded;
        monitor_.tick(64);
        stack_.push_back(std::move(frame));
    }

    [[nodiscard]] const LocalGraph& graph(const Team& team, std::size_t k) const {
        return graphs_.agents[team.agents[k]];
    }
    [[nodiscard]] Index choices(const Team& team, std::size_t k) const {
        const LocalGraph& own = graph(team, k);
        return own.choice_begin[team.nodes[k] + 1] - own.choice_begin[team.nodes[k]];
    }

    // Bounds of all joint actions (lines 4 and 5 of the algorithm): the expectation over outcomes
    // of the rewards now and of the agents' bounds on the return from the next states on.
    void bound_actions(Frame& frame) {
        const Team& team = frame.team;
        const std::size_t size = team.agents.size();
        double total = 1;
        for (std::size_t k = 0; k < size; ++k) total *= choices(team, k);
        traced_actions_ += total;
        if (options_.most_trace > 0 &&
            traced_actions_ > kActionsPerState * static_cast<double>(options_.most_trace)) {
            throw TraceFull{};
        }
        if (total > 1e8) {
            throw LimitReached(Stop::memory_limit, "a joint state has too many joint actions");
        }
        frame.bytes = total * 2 * sizeof(double);
        monitor_.reserve(frame.bytes, "the joint actions of one joint state");
        const auto count = static_cast<std::uint32_t>(total);
        if (!options_.bounds && options_.most_trace == 0) {
            frame.upper.assign(count, kInfinity);
            return;
        }
        std::vector<Index> digits(size, 0);
        for (std::uint32_t code = 0; code < count; ++code) {
            double upper = 0;
            double lower = 0;
            for (std::size_t k = 0; k < size; ++k) {
                const LocalGraph& own = graph(team, k);
                const ConditionalReturnGraph& crg = crgs_.of(team.agents[k]);
                const Index choice = own.choice_begin[team.nodes[k]] + digits[k];
                for (Index arc = own.arc_begin[choice]; arc < own.arc_begin[choice + 1]; ++arc) {
                    const double p = own.arc_probability[arc];
                    const std::size_t next = at(own.arc_next[arc]);
                    const double reward =
                        own.arc_reward[arc] + expected_interaction(team, digits, k, arc);
                    upper += p * (reward + crg.upper[next]);
                    lower += p * (reward + crg.lower[next]);
                }
            }
            frame.upper.push_back(upper);
            frame.lower.push_back(lower);
            frame.best_known = std::max(frame.best_known, lower);
            if (monitor_.tick(32 * size)) return;
            for (std::size_t k = size; k-- > 0;) {
                if (++digits[k] < choices(team, k)) break;
                digits[k] = 0;
            }
        }
        if (!options_.bounds) frame.best_known = -kInfinity;  // they are recorded, not used
    }

    // Expected interaction reward of the functions of agent k, given its own arc and the choices of
    // the others in the team. Agents outside the team take part in nothing any more.
    double expected_interaction(const Team& team, const std::vector<Index>& digits, std::size_t k,
                                Index arc) const {
        const ConditionalReturnGraph& crg = crgs_.of(team.agents[k]);
        double total = 0;
        for (const ActiveEntry& entry : crg.trees[crg.arc_tree[arc]].entries) {
            double expected = entry.value;
            for (const auto& other : entry.others) {
                const auto where =
                    std::ranges::find(team.agents, static_cast<Index>(at(other.agent)));
                if (where == team.agents.end()) {
                    expected = 0;
                    break;
                }
                const auto j = static_cast<std::size_t>(where - team.agents.begin());
                expected *= chance(team, j, digits[j], other.condition);
                if (expected == 0) break;
            }
            total += expected;
        }
        return total;
    }

    double chance(const Team& team, std::size_t j, Index digit, Index condition) const {
        const LocalGraph& other = graph(team, j);
        const Index choice = other.choice_begin[team.nodes[j]] + digit;
        double p = 0;
        for (Index arc = other.arc_begin[choice]; arc < other.arc_begin[choice + 1]; ++arc) {
            if (matches(team.agents[j], other.arc_base[arc], condition)) {
                p += other.arc_probability[arc];
            }
        }
        return p;
    }

    [[nodiscard]] bool matches(Index agent, TransitionId transition, Index condition) const {
        const MoveTypes& types = crgs_.maker().types(agent);
        return types.matches(condition, types.pair_type(transition), types.action_of(transition));
    }

    // Opens the next joint action that is worth it (line 6); false if there is none.
    bool start_action(Frame& frame) {
        for (; frame.code < frame.upper.size(); ++frame.code) {
            const double upper = frame.upper[frame.code];
            const double margin = kTolerance * std::max(1.0, std::abs(frame.best_known));
            const bool hopeless = upper < frame.best_known - margin;
            const bool not_worth =
                frame.slack > 0 && frame.best > -kInfinity && upper <= frame.best + frame.slack;
            const bool pruned = options_.bounds && (hopeless || not_worth);
            trace_action(frame, pruned);
            if (pruned) {
                ++result_.actions_pruned;
                if (monitor_.tick(4)) return true;  // the search stops
                continue;
            }
            std::uint32_t rest = frame.code;
            for (std::size_t k = frame.team.agents.size(); k-- > 0;) {
                const Index count = choices(frame.team, k);
                frame.choice[k] =
                    graph(frame.team, k).choice_begin[frame.team.nodes[k]] + rest % count;
                frame.arc[k] = graph(frame.team, k).arc_begin[frame.choice[k]];
                rest /= count;
            }
            frame.sum = 0;
            frame.open = true;
            open_outcome(frame);
            return true;
        }
        return false;
    }

    // Reads off the reward of the outcome that is looked at, and what remains to be solved.
    void open_outcome(Frame& frame) {
        const Team& team = frame.team;
        frame.probability = 1;
        frame.reward = 0;
        frame.future = 0;
        frame.part = 0;
        frame.parts.clear();
        Team next;
        next.layer = team.layer + 1;
        next.agents = team.agents;
        for (std::size_t k = 0; k < team.agents.size(); ++k) {
            const LocalGraph& own = graph(team, k);
            frame.probability *= own.arc_probability[frame.arc[k]];
            frame.reward += own.arc_reward[frame.arc[k]] + interaction(frame, k);
            next.nodes.push_back(static_cast<Index>(at(own.arc_next[frame.arc[k]])));
        }
        if (next.layer < layers_) frame.parts = split(next, next.layer);
        monitor_.tick(32);
    }

    double interaction(const Frame& frame, std::size_t k) const {
        const Team& team = frame.team;
        const ConditionalReturnGraph& crg = crgs_.of(team.agents[k]);
        double total = 0;
        for (const ActiveEntry& entry : crg.trees[crg.arc_tree[frame.arc[k]]].entries) {
            const bool all = std::ranges::all_of(entry.others, [&](const auto& other) {
                const auto where =
                    std::ranges::find(team.agents, static_cast<Index>(at(other.agent)));
                if (where == team.agents.end()) return false;
                const auto j = static_cast<std::size_t>(where - team.agents.begin());
                return matches(team.agents[j], graph(team, j).arc_base[frame.arc[j]],
                               other.condition);
            });
            if (all) total += entry.value;
        }
        return total;
    }

    void look_at_part(Frame& frame) {
        const Team& part = frame.parts[frame.part];
        const Visit visit{frame.record, frame.code, frame.probability,
                          static_cast<Index>(frame.parts.size())};
        if (known(part, visit)) {
            frame.future += returned_;
            ++frame.part;
            return;
        }
        push(part, visit);  // `frame` is no longer valid
    }

    bool next_outcome(Frame& frame) {
        for (std::size_t k = frame.arc.size(); k-- > 0;) {
            const LocalGraph& own = graph(frame.team, k);
            if (++frame.arc[k] < own.arc_begin[frame.choice[k] + 1]) return true;
            frame.arc[k] = own.arc_begin[frame.choice[k]];
        }
        return false;
    }

    void end_action(Frame& frame) {
        ++monitor_.progress.actions_evaluated;
        if (frame.record >= 0) {
            result_.trace[static_cast<std::size_t>(frame.record)].actions[frame.code].value =
                frame.sum;
        }
        if (frame.sum > frame.best || frame.best == -kInfinity) {
            frame.best = frame.sum;
            frame.best_code = frame.code;
        }
        frame.best_known = std::max(frame.best_known, frame.sum);
        frame.open = false;
        ++frame.code;
    }

    void finish(Frame& frame) {
        returned_ = frame.best;
        const std::uint32_t id = record_of(frame.team);
        values_[id] = frame.best;
        codes_[id] = frame.best_code;
        if (frame.record >= 0) {
            result_.trace[static_cast<std::size_t>(frame.record)].value = frame.best;
        }
        monitor_.release(frame.bytes);
        stack_.pop_back();
        if (!stack_.empty()) {
            stack_.back().future += returned_;
            ++stack_.back().part;
        }
    }

    // The record of a team. Decisions are remembered even without `memo`: the policy is made of
    // them.
    std::uint32_t record_of(const Team& team) {
        const auto [id, is_new] = solved_.intern(key_of(team));
        if (is_new) {
            monitor_.reserve(static_cast<double>(team.agents.size() + 5) * 10,
                             "the search's decisions");
            values_.push_back(kInfinity);
            codes_.push_back(0);
        }
        return id;
    }

    static std::vector<SequencePool::Word> key_of(const Team& team) {
        std::vector<SequencePool::Word> key{team.layer};
        for (std::size_t k = 0; k < team.agents.size(); ++k) {
            key.push_back((SequencePool::Word{team.agents[k]} << 32U) | team.nodes[k]);
        }
        return key;
    }

    // All groups that the policy can lead to, with what it does there.
    void collect(const std::vector<Team>& roots) {
        std::vector<Team> open = roots;
        SequencePool seen;
        while (!open.empty()) {
            const Team team = std::move(open.back());
            open.pop_back();
            if (!seen.intern(key_of(team)).is_new) continue;
            GroupDecision decision{team.layer, team.agents, team.nodes, {}};
            const std::size_t size = team.agents.size();
            if (size == 1 && crgs_.of(team.agents[0]).independent[team.nodes[0]]) {
                continue;  // the local rule says what to do, from here on
            }
            const auto found = solved_.intern(key_of(team));
            if (found.is_new) throw std::logic_error("the policy leads to an unsolved state");
            std::uint32_t rest = codes_[found.id];
            decision.choices.resize(size);
            std::vector<Index> arc(size);
            std::vector<Index> choice(size);
            for (std::size_t k = size; k-- > 0;) {
                const Index count = choices(team, k);
                decision.choices[k] = rest % count;
                choice[k] = graph(team, k).choice_begin[team.nodes[k]] + rest % count;
                arc[k] = graph(team, k).arc_begin[choice[k]];
                rest /= count;
            }
            result_.decisions.push_back(decision);
            if (team.layer + 1 == layers_) continue;
            for (bool more = true; more;) {
                Team next{team.layer + 1, team.agents, {}};
                for (std::size_t k = 0; k < size; ++k) {
                    next.nodes.push_back(static_cast<Index>(at(graph(team, k).arc_next[arc[k]])));
                }
                for (Team& part : split(next, next.layer)) open.push_back(std::move(part));
                more = false;
                for (std::size_t k = size; k-- > 0 && !more;) {
                    more = ++arc[k] < graph(team, k).arc_begin[choice[k] + 1];
                    if (!more) arc[k] = graph(team, k).arc_begin[choice[k]];
                }
            }
        }
    }

    std::int64_t note(const Team& team, const Visit& visit, bool independent, bool remembered,
                      double value) {
        if (options_.most_trace == 0) return -1;
        if (result_.trace.size() >= options_.most_trace) throw TraceFull{};
        result_.trace.push_back({visit.parent,
                                 visit.action,
                                 visit.probability,
                                 team.layer,
                                 team.agents,
                                 team.nodes,
                                 independent,
                                 remembered,
                                 visit.groups,
                                 {},
                                 value});
        return static_cast<std::int64_t>(result_.trace.size()) - 1;
    }

    void trace_action(Frame& frame, bool pruned) {
        if (frame.record < 0) return;
        TraceAction action{
            {}, frame.upper[frame.code], frame.lower[frame.code], 0, 0, pruned, frame.best_known,
            0};
        std::uint32_t rest = frame.code;
        action.choices.resize(frame.team.agents.size());
        for (std::size_t k = frame.team.agents.size(); k-- > 0;) {
            action.choices[k] = rest % choices(frame.team, k);
            rest /= choices(frame.team, k);
        }
        for (std::size_t k = 0; k < frame.team.agents.size(); ++k) {
            add_graph_bounds(frame.team, k, action);
        }
        result_.trace[static_cast<std::size_t>(frame.record)].actions.push_back(std::move(action));
    }

    // What the CRG of agent k says of a joint action: expected over its own outcomes, with the
    // others' outcomes as good or as bad as can be.
    void add_graph_bounds(const Team& team, std::size_t k, TraceAction& action) {
        const LocalGraph& own = graph(team, k);
        const ConditionalReturnGraph& crg = crgs_.of(team.agents[k]);
        const Index choice = own.choice_begin[team.nodes[k]] + action.choices[k];
        for (Index arc = own.arc_begin[choice]; arc < own.arc_begin[choice + 1]; ++arc) {
            const double p = own.arc_probability[arc];
            const std::size_t next = at(own.arc_next[arc]);
            const auto [least, most] = interaction_range(team, k, arc, action.choices);
            action.graph_upper += p * (own.arc_reward[arc] + most + crg.upper[next]);
            action.graph_lower += p * (own.arc_reward[arc] + least + crg.lower[next]);
        }
    }

    // The least and the most that the interactions of agent k can earn, given its own arc.
    std::pair<double, double> interaction_range(const Team& team, std::size_t k, Index own_arc,
                                                const std::vector<Index>& digits) {
        const ConditionalReturnGraph& crg = crgs_.of(team.agents[k]);
        const auto& entries = crg.trees[crg.arc_tree[own_arc]].entries;
        Frame frame;  // only its team and arcs are used
        frame.team = team;
        std::vector<Index> end;
        for (std::size_t j = 0; j < team.agents.size(); ++j) {
            const LocalGraph& other = graph(team, j);
            const Index choice = other.choice_begin[team.nodes[j]] + digits[j];
            const bool matters = j != k && std::ranges::any_of(entries, [&](const auto& entry) {
                                     return std::ranges::any_of(entry.others, [&](const auto& who) {
                                         return at(who.agent) == team.agents[j];
                                     });
                                 });
            frame.arc.push_back(j == k ? own_arc : other.arc_begin[choice]);
            frame.choice.push_back(choice);
            end.push_back(matters ? other.arc_begin[choice + 1] : frame.arc[j] + 1);
        }
        const std::vector<Index> begin = frame.arc;
        double least = kInfinity;
        double most = -kInfinity;
        for (bool more = true; more && !monitor_.tick(32);) {
            const double reward = interaction(frame, k);
            least = std::min(least, reward);
            most = std::max(most, reward);
            more = false;
            for (std::size_t j = end.size(); j-- > 0 && !more;) {
                more = ++frame.arc[j] < end[j];
                if (!more) frame.arc[j] = begin[j];
            }
        }
        return {least, most};
    }

    ConditionalReturnGraphs& crgs_;
    const LocalGraphs& graphs_;
    CoreOptions options_;
    Monitor& monitor_;
    std::size_t n_;
    Index layers_;

    CoreResult result_;
    double traced_actions_ = 0;
    std::vector<Frame> stack_;
    double returned_ = 0;
    SequencePool solved_;               // groups by key_of, with
    std::vector<double> values_;        // their values (infinite: not yet known) and
    std::vector<std::uint32_t> codes_;  // their best joint actions
};

}  // namespace

CoreResult solve_core_2016(ConditionalReturnGraphs& crgs, const CoreOptions& options,
                           Monitor& monitor) {
    return Search(crgs, options, monitor).run();
}

}  // namespace coreplan
