#include "search/core_2016.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "search/core_actions.hpp"
#include "search/core_teams.hpp"
#include "search/core_trace.hpp"
#include "support/reservation.hpp"
#include "support/sequence_pool.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Most of a search without memory happens in the last stages. Decisions there are found again when
// the policy is put together, which is less work than to keep them all.
constexpr Index kForgotten = 2;

class Search {
public:
    Search(ConditionalReturnGraphs& crgs, const CoreOptions& options, Monitor& monitor)
        : crgs_(crgs),
          graphs_(crgs.graphs()),
          options_(options),
          monitor_(monitor),
          memory_(monitor),
          n_(crgs.agent_count()),
          layers_(crgs.graphs().stage_count()),
          paths_(crgs, options.rewards, monitor),
          teams_(crgs.independence(), crgs.agent_count(), monitor),
          actions_(crgs, paths_, options, monitor),
          trace_(crgs, paths_, actions_, options.most_trace, result_) {}

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
    // A group of agents at a stage, each in a node of its graph.
    struct Team {
        Index layer = 0;
        Index shape = 0;
        std::vector<Index> nodes;
    };

    // One agent of a frame's team: where it stands, and what it does in the joint action and the
    // outcome that are being looked at.
    struct Slot {
        Index node;
        Index choice;
        Index arc;
    };

    struct Frame {
        Index layer;
        Index shape;
        const CoreTeams::Shape* team;  // of that number
        std::size_t slots;             // where its slots begin
        std::size_t first_action;      // among the joint actions that are kept
        std::size_t next_action;
        std::size_t last_action;
        double best_known = -kInfinity;  // L_max of the paper
        double slack = 0;                // how much may be given away here
        double best = -kInfinity;
        std::uint64_t best_code = 0;
        // The joint action that is being evaluated, and the outcome that is looked at.
        bool open = false;
        std::uint64_t code = 0;
        double sum = 0;
        double probability = 0;
        double reward = 0;
        double future = 0;
        const CoreTeams::Split* split = nullptr;  // what the outcome leads to; none: the horizon
        Index part = 0;
        std::uint32_t remembered = 0;  // number of the team, with memory
        std::int64_t record = -1;      // in the trace
        Index traced = 0;              // actions in the trace so far
    };

    void search() {
        std::vector<Index> all(n_);
        for (Index i = 0; i < n_; ++i) all[i] = i;
        const Index shape = teams_.shape_of(all);
        const std::vector<Index> start(n_, 0);
        allow_gap();
        double value = 0;
        for (const double each : constants()) value += each;
        const CoreTeams::Split& split = split_of(shape, start);
        std::vector<Team> parts;
        bool solved = true;
        for (const CoreTeams::Part& part : split.parts) {
            parts.push_back({0, part.shape, std::vector<Index>(part.positions.size(), 0)});
            const CoreVisit visit{-1, 0, 1.0, static_cast<Index>(split.parts.size())};
            solved = solved && solve(parts.back(), visit);
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
        // What is counted is the search, not that the policy is put together.
        const Progress progress = monitor_.progress;
        const auto counts =
            std::tuple(result_.actions_pruned, result_.actions_bounded, result_.decouplings);
        trace_.stop();
        collect(std::move(parts));
        monitor_.progress = progress;
        std::tie(result_.actions_pruned, result_.actions_bounded, result_.decouplings) = counts;
    }

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

    const CoreTeams::Split& split_of(Index shape, std::span<const Index> nodes) {
        const CoreTeams::Split& split = teams_.split(shape, nodes);
        if (split.parts.size() > 1) ++result_.decouplings;
        return split;
    }

    // Depth first with an explicit stack. False if the monitor stopped it.
    bool solve(const Team& team, const CoreVisit& visit) {
        nodes_ = team.nodes;
        if (known(team.shape, team.layer, visit)) return true;
        stack_.clear();
        slots_.clear();
        push(team.shape, team.layer, visit);
        while (!stack_.empty()) {
            if (monitor_.stop() != Stop::none) return false;
            Frame& frame = stack_.back();
            if (!frame.open) {
                if (!start_action(frame)) finish(frame);
                continue;
            }
            if (look_at_parts(frame)) continue;
            frame.sum += frame.probability * (frame.reward + frame.future);
            if (next_outcome(frame)) {
                open_outcome(frame);
            } else {
                end_action(frame);
            }
        }
        return true;
    }

    // The value of the team in `nodes_` if it needs no search; else false.
    bool known(Index shape, Index layer, const CoreVisit& visit) {
        if (nodes_.size() == 1) {
            const ConditionalReturnGraph& crg = crgs_.of(teams_[shape].agents[0]);
            if (options_.table || crg.independent[nodes_[0]]) {
                returned_ = crg.local_value[nodes_[0]];
                if (trace_.on()) {
                    trace_.note(teams_[shape], nodes_, layer, visit, true, false, returned_);
                }
                return true;
            }
        }
        if (!options_.memo) return false;
        looked_up_ = record_of(shape, layer);
        if (values_[looked_up_] == kInfinity) return false;
        returned_ = values_[looked_up_];
        if (trace_.on()) {
            trace_.note(teams_[shape], nodes_, layer, visit, false, true, returned_);
        }
        return true;
    }

    // Begins with the team in `nodes_`; with memory, `known` has just looked it up.
    void push(Index shape, Index layer, const CoreVisit& visit) {
        Frame frame;
        const CoreTeams::Shape& team = teams_[shape];
        frame.shape = shape;
        frame.team = &team;
        frame.layer = layer;
        frame.remembered = looked_up_;
        if (trace_.on()) {
            frame.record = trace_.note(team, nodes_, layer, visit, false, false, 0);
        }
        frame.slack = result_.given_away * static_cast<double>(nodes_.size()) /
                      (static_cast<double>(n_) * layers_);
        const auto found = actions_.begin(team, nodes_, trace_.on(), result_);
        frame.first_action = frame.next_action = found.first;
        frame.last_action = found.last;
        if (options_.bounds) frame.best_known = found.best_lower;
        frame.slots = slots_.size();
        for (const Index node : nodes_) slots_.push_back({node, 0, 0});
        ++monitor_.progress.states_expanded;
        monitor_.tick(64);
        stack_.push_back(frame);
    }

    [[nodiscard]] std::span<Slot> slots(const Frame& frame) {
        return std::span(slots_).subspan(frame.slots, frame.team->agents.size());
    }

    // Opens the next joint action that is worth it (line 6); false if there is none.
    bool start_action(Frame& frame) {
        for (; frame.next_action < frame.last_action; ++frame.next_action) {
            bool pruned = false;
            if (options_.bounds) {
                const double upper = actions_.upper(frame.next_action);
                pruned = upper < frame.best_known - CoreActions::margin(frame.best_known) ||
                         (frame.slack > 0 && frame.best > -kInfinity &&
                          upper <= frame.best + frame.slack);
            }
            if (pruned && options_.promising && frame.record < 0) {
                // The others promise no more.
                result_.actions_pruned += frame.last_action - frame.next_action;
                frame.next_action = frame.last_action;
                return false;
            }
            frame.code = actions_.code(frame.next_action);
            if (frame.record >= 0) record_action(frame, pruned);
            if (!pruned) {
                decode(frame);
                frame.sum = 0;
                frame.open = true;
                open_outcome(frame);
                return true;
            }
            ++result_.actions_pruned;
            if (monitor_.tick(4)) return true;  // the search stops
        }
        return false;
    }

    // The choices of a joint action, each at its first outcome.
    void decode(Frame& frame) {
        const auto& agents = frame.team->agents;
        const std::span<Slot> own = slots(frame);
        std::uint64_t rest = frame.code;
        for (std::size_t k = own.size(); k-- > 0;) {
            const LocalGraph& graph = graphs_.agents[agents[k]];
            const Index first = graph.choice_begin[own[k].node];
            const Index count = graph.choice_begin[own[k].node + 1] - first;
            own[k].choice = first + static_cast<Index>(rest % count);
            own[k].arc = graph.arc_begin[own[k].choice];
            rest /= count;
        }
    }

    // Reads off the reward of the outcome that is looked at, and what remains to be solved.
    void open_outcome(Frame& frame) {
        const CoreTeams::Shape& team = *frame.team;
        const std::span<const Slot> own = slots(frame);
        const auto arc_of = [&](Index agent) {
            const Index position = team.position[agent];
            return position == CoreTeams::kNone ? RewardPaths::kNone : own[position].arc;
        };
        frame.probability = 1;
        frame.reward = 0;
        frame.future = 0;
        frame.part = 0;
        nodes_.resize(own.size());
        for (std::size_t k = 0; k < own.size(); ++k) {
            const LocalGraph& graph = graphs_.agents[team.agents[k]];
            const Index arc = own[k].arc;
            frame.probability *= graph.arc_probability[arc];
            frame.reward += graph.arc_reward[arc];
            const Index tree = paths_.tree(team.agents[k], arc);
            if (tree != RewardPaths::kNone) frame.reward += paths_.reward(tree, arc_of);
            nodes_[k] = static_cast<Index>(at(graph.arc_next[arc]));
        }
        frame.split = frame.layer + 1 < layers_ ? &split_of(frame.shape, nodes_) : nullptr;
        monitor_.tick(32);
    }

    // Adds up what the groups of an outcome are worth; true once one has to be searched.
    bool look_at_parts(Frame& frame) {
        if (frame.split == nullptr) return false;
        const auto& parts = frame.split->parts;
        for (; frame.part < parts.size(); ++frame.part) {
            const CoreTeams::Part& part = parts[frame.part];
            const auto& agents = frame.team->agents;
            const std::span<const Slot> own = slots(frame);
            nodes_.clear();
            for (const Index k : part.positions) {
                nodes_.push_back(
                    static_cast<Index>(at(graphs_.agents[agents[k]].arc_next[own[k].arc])));
            }
            const CoreVisit visit{frame.record, frame.traced, frame.probability,
                                  static_cast<Index>(parts.size())};
            if (!known(part.shape, frame.layer + 1, visit)) {
                push(part.shape, frame.layer + 1, visit);  // `frame` is no longer valid
                return true;
            }
            frame.future += returned_;
        }
        return false;
    }

    bool next_outcome(Frame& frame) {
        const auto& agents = frame.team->agents;
        const std::span<Slot> own = slots(frame);
        for (std::size_t k = own.size(); k-- > 0;) {
            const LocalGraph& graph = graphs_.agents[agents[k]];
            if (++own[k].arc < graph.arc_begin[own[k].choice + 1]) return true;
            own[k].arc = graph.arc_begin[own[k].choice];
        }
        return false;
    }

    void end_action(Frame& frame) {
        ++monitor_.progress.actions_evaluated;
        if (frame.record >= 0) {
            trace_.set_action_value(frame.record, frame.sum);
            ++frame.traced;
        }
        if (frame.sum > frame.best || frame.best == -kInfinity) {
            frame.best = frame.sum;
            frame.best_code = frame.code;
        }
        frame.best_known = std::max(frame.best_known, frame.sum);
        frame.open = false;
        ++frame.next_action;
    }

    void finish(Frame& frame) {
        returned_ = frame.best;
        returned_code_ = frame.best_code;
        if (options_.memo) {
            remember(frame.remembered, frame);
        } else if (frame.layer + kForgotten < layers_) {
            nodes_.clear();
            for (const Slot& slot : slots(frame)) nodes_.push_back(slot.node);
            remember(record_of(frame.shape, frame.layer), frame);
        }
        if (frame.record >= 0) trace_.set_value(frame.record, frame.best);
        actions_.end(frame.first_action);
        slots_.resize(frame.slots);
        stack_.pop_back();
        if (!stack_.empty()) {
            stack_.back().future += returned_;
            ++stack_.back().part;
        }
    }

    void remember(std::uint32_t id, const Frame& frame) {
        values_[id] = frame.best;
        codes_[id] = frame.best_code;
    }

    // The number of the team in `nodes_`. Decisions are remembered even without `memo`: the policy
    // is made of them.
    std::uint32_t record_of(Index shape, Index layer) {
        key_.assign(1, (SequencePool::Word{layer} << 32U) | shape);
        for (std::size_t k = 0; k < nodes_.size(); k += 2) {
            const SequencePool::Word second = k + 1 < nodes_.size() ? nodes_[k + 1] : 0;
            key_.push_back((second << 32U) | nodes_[k]);
        }
        const auto [id, is_new] = solved_.intern(key_);
        if (is_new) {
            memory_.take(static_cast<double>(nodes_.size() + 6) * 8, "the search's decisions");
            values_.push_back(kInfinity);
            codes_.push_back(0);
        }
        return id;
    }

    // All groups that the policy can lead to, with what it does there. Single agents that are on
    // their own follow their local rule, unless they were searched for.
    void collect(std::vector<Team> open) {
        SequencePool seen;
        while (!open.empty()) {
            const Team team = std::move(open.back());
            open.pop_back();
            const auto& agents = teams_[team.shape].agents;
            const bool alone = agents.size() == 1 &&
                               (options_.table || crgs_.of(agents[0]).independent[team.nodes[0]]);
            if (alone) continue;
            nodes_ = team.nodes;
            const std::uint32_t id = record_of(team.shape, team.layer);
            if (!seen.intern(key_).is_new) continue;
            if (values_[id] == kInfinity && !find_again(team)) {
                throw LimitReached(monitor_.stop(), "the search was stopped");
            }
            Frame frame;  // only its team, choices and outcomes are used
            frame.shape = team.shape;
            frame.team = &teams_[team.shape];
            frame.code = values_[id] == kInfinity ? returned_code_ : codes_[id];
            frame.slots = 0;
            slots_.clear();
            for (const Index node : team.nodes) slots_.push_back({node, 0, 0});
            decode(frame);
            GroupDecision decision{team.layer, agents, team.nodes, {}};
            for (std::size_t k = 0; k < agents.size(); ++k) {
                decision.choices.push_back(slots_[k].choice -
                                           graphs_.agents[agents[k]].choice_begin[team.nodes[k]]);
            }
            result_.decisions.push_back(std::move(decision));
            if (team.layer + 1 == layers_) continue;
            do {
                nodes_.clear();
                for (std::size_t k = 0; k < agents.size(); ++k) {
                    nodes_.push_back(
                        static_cast<Index>(at(graphs_.agents[agents[k]].arc_next[slots_[k].arc])));
                }
                for (const CoreTeams::Part& part : teams_.split(team.shape, nodes_).parts) {
                    Team& next = open.emplace_back(Team{team.layer + 1, part.shape, {}});
                    for (const Index k : part.positions) next.nodes.push_back(nodes_[k]);
                }
            } while (next_outcome(frame));
        }
    }

    // What was decided for a team that was solved and forgotten: `returned_code_`.
    bool find_again(const Team& team) {
        const CoreVisit visit{-1, 0, 1.0, 1};
        return solve(team, visit);
    }

    // A joint action whose turn it is, for the trace.
    void record_action(Frame& frame, bool pruned) {
        decode(frame);
        const CoreTeams::Shape& team = *frame.team;
        std::vector<Index> choices;
        const std::span<const Slot> own = slots(frame);
        for (std::size_t k = 0; k < own.size(); ++k) {
            choices.push_back(own[k].choice -
                              graphs_.agents[team.agents[k]].choice_begin[own[k].node]);
        }
        trace_.add_action(frame.record, team, std::move(choices), pruned, frame.best_known);
        if (pruned) ++frame.traced;
    }

    ConditionalReturnGraphs& crgs_;
    const LocalGraphs& graphs_;
    CoreOptions options_;
    Monitor& monitor_;
    Reservation memory_;  // what it decided
    std::size_t n_;
    Index layers_;

    CoreResult result_;
    RewardPaths paths_;
    CoreTeams teams_;
    CoreActions actions_;
    CoreTrace trace_;
    std::vector<Frame> stack_;
    std::vector<Slot> slots_;   // of all frames
    std::vector<Index> nodes_;  // of the team that is looked at
    double returned_ = 0;
    std::uint64_t returned_code_ = 0;
    std::uint32_t looked_up_ = 0;
    SequencePool solved_;  // teams by record_of, with
    std::vector<SequencePool::Word> key_;
    std::vector<double> values_;        // their values (infinite: not yet known) and
    std::vector<std::uint64_t> codes_;  // their best joint actions
};

}  // namespace

CoreResult solve_core_2016(ConditionalReturnGraphs& crgs, const CoreOptions& options,
                           Monitor& monitor) {
    try {
        return Search(crgs, options, monitor).run();
    } catch (const LimitReached& limit) {  // before it had begun
        CoreResult result;
        result.stop = limit.stop;
        return result;
    }
}

}  // namespace coreplan
