#include "search/core_2016.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "search/core_actions.hpp"
#include "search/core_alone.hpp"
#include "search/core_best.hpp"
#include "search/core_locals.hpp"
#include "search/core_moves.hpp"
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
          updates_(options.bounds && options.update),
          n_(crgs.agent_count()),
          layers_(crgs.graphs().stage_count()),
          paths_(crgs, options.rewards, monitor),
          locals_(crgs, paths_, monitor),
          teams_(crgs.independence(), crgs.agent_count(), monitor),
          actions_(locals_, paths_, options_, monitor),
          alone_(crgs, locals_, paths_, options_, monitor, result_),
          trace_(crgs, paths_, locals_, options.most_trace, result_) {}

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
        Index layer;
        CoreTeams::Shape* shape;
        std::vector<Index> nodes;
    };

    struct Frame {
        Index layer = 0;
        Index part = 0;                     // of the outcome
        CoreTeams::Shape* shape = nullptr;  // its agents
        std::size_t moves = 0;              // where those of its agents begin
        std::size_t first_action = 0;       // among the joint actions that are kept
        std::size_t next_action = 0;
        std::size_t last_action = 0;
        CoreBest best;
        std::uint64_t best_code = 0;
        // The joint action that is being evaluated, and the outcome that is looked at.
        std::uint64_t code = 0;
        double sum = 0;
        double probability = 0;
        double reward = 0;
        double future = 0;
        double upper = 0;                         // U of the joint action, by what is known so far,
        double future_upper = 0;                  // and that of the outcome's next nodes
        const CoreTeams::Split* split = nullptr;  // what the outcome leads to; none: the horizon
        bool open = false;
        bool forced = false;           // there is one joint action only
        std::uint32_t remembered = 0;  // number of the team, with memory
        Index traced = 0;              // actions in the trace so far
        std::int64_t record = -1;      // in the trace
    };

    void search() {
        std::vector<Index> all(n_);
        for (Index i = 0; i < n_; ++i) all[i] = i;
        const std::vector<Index> start(n_, 0);
        allow_gap();
        double value = constant();
        const CoreTeams::Split& split = split_of(teams_.shape_of(all), start);
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

    // What the team gets whatever it does.
    [[nodiscard]] double constant() const {
        double sum = 0;
        for (Index layer = 0; layer < layers_; ++layer) {
            sum += graphs_.rewards.constant.at_stage(graphs_.first_stage + layer);
        }
        return sum;
    }

    void allow_gap() {
        double lower = constant();
        double upper = lower;
        for (std::size_t i = 0; i < n_; ++i) {
            lower += crgs_.of(i).lower[0];
            upper += crgs_.of(i).upper[0];
        }
        // The value's size is at least this; 0 if it may be 0.
        const double size = lower > 0 ? lower : upper < 0 ? -upper : 0;
        result_.given_away = std::max(options_.absolute_gap, options_.relative_gap * size);
    }

    const CoreTeams::Split& split_of(CoreTeams::Shape& shape, std::span<const Index> nodes) {
        const CoreTeams::Split& split = teams_.split(shape, nodes);
        if (split.parts.size() > 1) ++result_.decouplings;
        return split;
    }

    // Depth first with an explicit stack. False if the monitor stopped it.
    bool solve(const Team& team, const CoreVisit& visit) {
        nodes_ = team.nodes;
        if (known(*team.shape, team.layer, visit)) return true;
        stack_.clear();
        moves_.clear();
        push(*team.shape, team.layer, visit);
        while (!stack_.empty()) {
            if (monitor_.stop() != Stop::none) return false;
            step(stack_.back());
        }
        return true;
    }

    // Goes on with a frame until it is finished, another one is pushed, or an action is done.
    void step(Frame& frame) {
        if (!frame.open && !start_action(frame)) {
            finish(frame);
            return;
        }
        while (frame.open && monitor_.stop() == Stop::none && !look_at_parts(frame)) {
            frame.sum += frame.probability * (frame.reward + frame.future);
            frame.upper -= frame.probability * (frame.future_upper - frame.future);
            if (!next_outcome(moves(frame))) {
                end_action(frame);
            } else if (updates_ && frame.best.gives_up(frame.upper)) {
                give_up(frame);
            } else {
                open_outcome(frame);
            }
        }
    }

    // What an agent on its own earns from a node on, if its local policy tells; else none.
    [[nodiscard]] const double* local_value(const CoreLocals::Agent& agent, Index node) const {
        const bool tells = options_.table || agent.crg->independent[node];
        return tells ? &agent.crg->local_value[node] : nullptr;
    }

    // The value of the team in `nodes_` if it needs no frame; else false.
    bool known(const CoreTeams::Shape& shape, Index layer, const CoreVisit& visit) {
        if (nodes_.size() == 1) {
            const Index agent = shape.agents[0];
            if (const double* value = local_value(locals_[agent], nodes_[0])) {
                returned_ = *value;
                if (trace_.on()) trace_.note(shape, nodes_, layer, visit, true, false, returned_);
                return true;
            }
            if (!options_.memo && !trace_.on()) {
                return alone_.solve(agent, nodes_[0], layer, slack(1), returned_);
            }
        }
        if (!options_.memo) return false;
        looked_up_ = record_of(shape, layer);
        if (values_[looked_up_] == kInfinity) return false;
        returned_ = values_[looked_up_];
        if (trace_.on()) trace_.note(shape, nodes_, layer, visit, false, true, returned_);
        return true;
    }

    // How much a group of so many agents may give away at one stage.
    [[nodiscard]] double slack(std::size_t agents) const {
        return result_.given_away * static_cast<double>(agents) /
               (static_cast<double>(n_) * layers_);
    }

    // Begins with the team in `nodes_`; with memory, `known` has just looked it up.
    void push(CoreTeams::Shape& shape, Index layer, const CoreVisit& visit) {
        Frame& frame = stack_.emplace_back();
        frame.shape = &shape;
        frame.layer = layer;
        frame.remembered = looked_up_;
        if (trace_.on()) {
            frame.record = trace_.note(shape, nodes_, layer, visit, false, false, 0);
        }
        frame.best.slack = slack(nodes_.size());
        const auto found = actions_.begin(shape, nodes_, trace_.on(), result_);
        frame.first_action = frame.next_action = found.first;
        frame.last_action = found.last;
        frame.forced = found.forced;
        if (options_.bounds) frame.best.certain = found.best_lower;
        frame.moves = moves_.size();
        add_moves(shape.agents, nodes_);
        ++monitor_.progress.states_expanded;
        monitor_.tick(64);
    }

    void add_moves(const std::vector<Index>& agents, const std::vector<Index>& nodes) {
        for (std::size_t k = 0; k < agents.size(); ++k) {
            moves_.push_back({&locals_[agents[k]], nodes[k]});
        }
    }

    [[nodiscard]] std::span<CoreMove> moves(const Frame& frame) {
        return {moves_.data() + frame.moves, frame.shape->agents.size()};
    }

    // Opens the next joint action that is worth it (line 6); false if there is none.
    bool start_action(Frame& frame) {
        for (; frame.next_action < frame.last_action; ++frame.next_action) {
            const bool pruned =
                options_.bounds && frame.best.excludes(actions_.upper(frame.next_action));
            if (pruned && options_.promising && frame.record < 0) {
                // The others promise no more.
                result_.actions_pruned += frame.last_action - frame.next_action;
                frame.next_action = frame.last_action;
                return false;
            }
            frame.code = actions_.code(frame.next_action);
            if (frame.record >= 0) record_action(frame, pruned);
            if (!pruned) {
                take(moves(frame), frame.code);
                frame.sum = 0;
                frame.upper = options_.bounds ? actions_.upper(frame.next_action) : kInfinity;
                frame.open = true;
                open_outcome(frame);
                return true;
            }
            ++result_.actions_pruned;
            if (monitor_.tick(4)) return true;  // the search stops
        }
        return false;
    }

    // Reads off the reward of the outcome that is looked at, and what remains to be solved. The
    // next nodes are left in `nodes_`.
    void open_outcome(Frame& frame) {
        const CoreTeams::Shape& shape = *frame.shape;
        const std::span<const CoreMove> own = moves(frame);
        const auto arc_of = [&](Index agent) {
            const Index position = shape.position[agent];
            return position == CoreTeams::kNone ? RewardPaths::kNone : own[position].arc;
        };
        double probability = 1;
        double reward = 0;
        double upper = 0;
        if (nodes_.size() != own.size()) nodes_.resize(own.size());
        for (std::size_t k = 0; k < own.size(); ++k) {
            const CoreLocals::Arc& arc = own[k].outcome();
            probability *= arc.probability;
            reward += arc.reward;
            upper += arc.upper;
            if (arc.tree != RewardPaths::kNone) reward += paths_.reward(arc.tree, arc_of);
            nodes_[k] = arc.next;
        }
        frame.probability = probability;
        frame.reward = reward;
        frame.future = 0;
        frame.future_upper = upper;
        frame.part = 0;
        frame.split = frame.layer + 1 < layers_ ? &split_of(*frame.shape, nodes_) : nullptr;
        monitor_.tick(32);
    }

    // Adds up what the groups of an outcome are worth; true once one has to be searched.
    bool look_at_parts(Frame& frame) {
        if (frame.split == nullptr) return false;
        const auto& parts = frame.split->parts;
        for (; frame.part < parts.size(); ++frame.part) {
            const CoreTeams::Part& part = parts[frame.part];
            const std::span<const CoreMove> own = moves(frame);
            if (part.positions.size() == 1 && frame.record < 0) {  // as `known` does, but sooner
                const CoreMove& move = own[part.positions[0]];
                if (const double* value = local_value(*move.agent, move.outcome().next)) {
                    frame.future += *value;
                    continue;
                }
            }
            if (parts.size() > 1) {  // else all nodes are as `open_outcome` left them
                nodes_.clear();
                for (const Index k : part.positions) nodes_.push_back(own[k].outcome().next);
            }
            const CoreVisit visit{frame.record, frame.traced, frame.probability,
                                  static_cast<Index>(parts.size())};
            if (!known(*part.shape, frame.layer + 1, visit)) {
                push(*part.shape, frame.layer + 1, visit);  // `frame` is no longer valid
                return true;
            }
            frame.future += returned_;
        }
        return false;
    }

    void end_action(Frame& frame) {
        if (frame.record >= 0) trace_.set_action_value(frame.record, frame.sum);
        if (frame.best.add(frame.sum)) frame.best_code = frame.code;
        close_action(frame);
    }

    // It cannot be the best one: its other outcomes are not looked at.
    void give_up(Frame& frame) {
        if (frame.record >= 0) trace_.give_up(frame.record, frame.upper);
        close_action(frame);
    }

    void close_action(Frame& frame) {
        ++monitor_.progress.actions_evaluated;
        ++frame.traced;
        ++frame.next_action;
        frame.open = false;
    }

    void finish(const Frame& frame) {
        returned_ = frame.best.value;
        returned_code_ = frame.best_code;
        if (options_.memo) {
            remember(frame.remembered, frame);
        } else if (!frame.forced && frame.layer + kForgotten < layers_) {
            nodes_.clear();
            for (const CoreMove& move : moves(frame)) nodes_.push_back(move.node);
            remember(record_of(*frame.shape, frame.layer), frame);
        }
        if (frame.record >= 0) trace_.set_value(frame.record, returned_);
        actions_.end(frame.first_action);
        moves_.resize(frame.moves);
        stack_.pop_back();
        if (!stack_.empty()) {
            stack_.back().future += returned_;
            ++stack_.back().part;
        }
    }

    void remember(std::uint32_t id, const Frame& frame) {
        values_[id] = frame.best.value;
        codes_[id] = frame.best_code;
    }

    // The number of the team in `nodes_`. Decisions are remembered even without `memo`: the policy
    // is made of them.
    std::uint32_t record_of(const CoreTeams::Shape& shape, Index layer) {
        key_.assign(1, (SequencePool::Word{layer} << 32U) | shape.number);
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
            const auto& agents = team.shape->agents;
            if (agents.size() == 1 && local_value(locals_[agents[0]], team.nodes[0])) continue;
            nodes_ = team.nodes;
            const std::uint32_t id = record_of(*team.shape, team.layer);
            if (!seen.intern(key_).is_new) continue;
            const std::uint64_t code = values_[id] == kInfinity ? find_again(team) : codes_[id];
            moves_.clear();
            add_moves(agents, team.nodes);
            take(moves_, code);
            GroupDecision decision{team.layer, agents, team.nodes, {}};
            for (const CoreMove& move : moves_) decision.choices.push_back(move.position());
            result_.decisions.push_back(std::move(decision));
            if (team.layer + 1 == layers_) continue;
            do {
                nodes_.clear();
                for (const CoreMove& move : moves_) nodes_.push_back(move.outcome().next);
                for (const CoreTeams::Part& part : teams_.split(*team.shape, nodes_).parts) {
                    Team& next = open.emplace_back(Team{team.layer + 1, part.shape, {}});
                    for (const Index k : part.positions) next.nodes.push_back(nodes_[k]);
                }
            } while (next_outcome(moves_));
        }
    }

    // What was decided for a team that was solved and forgotten.
    std::uint64_t find_again(const Team& team) {
        moves_.clear();
        add_moves(team.shape->agents, team.nodes);
        if (std::ranges::all_of(moves_, [](const CoreMove& move) { return move.choices() == 1; })) {
            return 0;  // nothing to decide
        }
        const bool single = team.nodes.size() == 1;
        const auto alone = [&] { return alone_.decision(team.shape->agents[0], team.nodes[0]); };
        const CoreVisit visit{-1, 0, 1.0, 1};
        if ((!single || alone() == CoreAlone::kNone) && !solve(team, visit)) {
            throw LimitReached(monitor_.stop(), "the search was stopped");
        }
        return single ? alone() : returned_code_;
    }

    // A joint action whose turn it is, for the trace.
    void record_action(Frame& frame, bool pruned) {
        take(moves(frame), frame.code);
        std::vector<Index> choices;
        for (const CoreMove& move : moves(frame)) choices.push_back(move.position());
        trace_.add_action(frame.record, *frame.shape, std::move(choices), pruned,
                          frame.best.certain);
        if (pruned) ++frame.traced;
    }

    ConditionalReturnGraphs& crgs_;
    const LocalGraphs& graphs_;
    CoreOptions options_;
    Monitor& monitor_;
    Reservation memory_;  // what it decided
    bool updates_;        // U of joint actions
    std::size_t n_;
    Index layers_;

    CoreResult result_;
    RewardPaths paths_;
    CoreLocals locals_;
    CoreTeams teams_;
    CoreActions actions_;
    CoreAlone alone_;
    CoreTrace trace_;
    std::vector<Frame> stack_;
    std::vector<CoreMove> moves_;  // of all frames
    std::vector<Index> nodes_;     // of the team that is looked at
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
    if (!crgs.graphs().rewards.aggregates.empty()) {
        throw std::invalid_argument("aggregates have to be described by entries");
    }
    try {
        return Search(crgs, options, monitor).run();
    } catch (const LimitReached& limit) {  // before it had begun
        CoreResult result;
        result.stop = limit.stop;
        return result;
    }
}

}  // namespace coreplan
