#include "engine/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "model/agent_builder.hpp"
#include "model/joint_layout.hpp"
#include "model/unit_mass.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Losses that differ by rounding only have to count as equal; what that costs is added up.
constexpr double kGridOfScale = 1e-13;
constexpr double kCheapRound = 1e7;  // work of a round that is always worth it
constexpr double kWorth = 16;        // what is gone would have been looked at so many times

// What shrinks until it no longer does.
double size_of(const CompiledAgent& agent) {
    return static_cast<double>(agent.class_count() + agent.action_reward.size() +
                               agent.outcome_next.size() + agent.label_factor.size());
}

std::uint64_t count_classes(const CompiledModel& model) {
    std::uint64_t total = 0;
    for (const CompiledAgent& agent : model.agents) total += agent.class_count();
    return total;
}

// One model on its way to a smaller one, in rounds: actions are marked, then the agents that lost
// some are built anew. A round only looks at agents for which something has changed. The model is
// valid whenever an agent is finished, so a limit may strike at any time.
class Reducer {
public:
    Reducer(const CompiledModel& model, const ReductionOptions& options, Monitor& monitor)
        : options_(options), monitor_(monitor) {
        result_.model = model;
        result_.error = mass_error(model);
        make_unit_mass(result_.model);
        result_.report.classes_before = count_classes(model);
        result_.report.joint_before = JointLayout(model).state_count();
        const std::size_t n = model.agents.size();
        for (const CompiledAgent& agent : model.agents) start_way_back(agent);
        result_.offset_of.assign(n, 0.0);
        keep_.resize(n);
        alone_.resize(n);
        chances_.resize(n);
        touching_.resize(n);
        summed_.resize(n);
        for (std::size_t e = 0; e < model.interactions.size(); ++e) {
            for (const InteractionMember& member : model.interactions[e].members) {
                touching_[at(member.agent)].push_back(static_cast<Index>(e));
            }
        }
        for (std::size_t e = 0; e < model.aggregates.size(); ++e) {
            for (const AggregateMember& member : model.aggregates[e].members) {
                summed_[at(member.agent)].push_back(static_cast<Index>(e));
            }
        }
    }

    Reduction run() {
        try {
            shrink();
        } catch (const LimitReached&) {
            // What has been done so far stands.
        }
        result_.report.classes_after = count_classes(result_.model);
        result_.report.joint_after = JointLayout(result_.model).state_count();
        return std::move(result_);
    }

private:
    // What happens to an agent in a round.
    enum class Fate : char { clean, waiting, touched };

    CompiledModel& model() { return result_.model; }

    void shrink() {
        if (options_.shape) shape();
        const bool marks = options_.settle || options_.eliminate;
        if (!marks && !options_.drop && !options_.merge) return;
        const std::size_t n = model().agents.size();
        fate_.assign(n, Fate::waiting);
        if (options_.eliminate) {
            for (std::size_t i = 0; i < n; ++i) find_chances(i, nullptr);
        }
        for (;;) {
            double size = 0;
            for (std::size_t i = 0; i < n; ++i) {
                if (fate_[i] != Fate::clean) size += size_of(model().agents[i]);
            }
            if (size == 0 || !is_worth(size)) return;
            gained_ = round();
            ++result_.report.rounds;
        }
    }

    // Whether a round on agents of that size promises more than it costs: the last one says what
    // there is to gain, and what is gone does not have to be looked at ever after.
    [[nodiscard]] bool is_worth(double size) const {
        const double work = size * cost::kShrink;
        return result_.report.rounds == 0 || work <= kCheapRound || work <= kWorth * gained_;
    }

    // Marks what is not needed and builds the agents concerned anew. Returns how much work on the
    // model has become less, about.
    double round() {
        const std::size_t n = model().agents.size();
        const bool first = result_.report.rounds == 0;
        for (std::size_t i = 0; i < n; ++i) {
            keep_[i].clear();
            if (fate_[i] == Fate::clean) continue;
            keep_[i].assign(model().agents[i].action_reward.size(), true);
            if ((options_.settle || options_.eliminate) && !shaped_) {
                alone_[i] = solve_alone(model().agents[i]);
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (fate_[i] == Fate::clean) continue;
            if (options_.settle) settle(i);
            if (options_.eliminate) eliminate(i);
        }
        std::vector<std::vector<bool>> reached(n);
        std::vector<char> marked(n, 0);
        for (std::size_t i = 0; i < n; ++i) {
            if (fate_[i] == Fate::clean) continue;
            marked[i] = first || std::ranges::find(keep_[i], false) != keep_[i].end() ? 1 : 0;
            if (marked[i] == 0) continue;
            reached[i] = find_reached(i);
            if (options_.drop || options_.eliminate) find_chances(i, &reached[i]);
        }
        std::ranges::fill(fate_, Fate::clean);
        if (options_.drop) drop_interactions();
        double gained = 0;
        for (std::size_t i = 0; i < n; ++i) {
            if (marked[i] == 0 && fate_[i] != Fate::touched) continue;
            CompiledAgent& agent = model().agents[i];
            const double before = size_of(agent);
            if (keep_[i].empty()) keep_[i].assign(agent.action_reward.size(), true);
            if (reached[i].empty()) reached[i].assign(agent.class_count(), true);
            rebuild(i, reached[i]);
            reached[i] = {};
            gained += before - size_of(agent);
            if (size_of(agent) != before || fate_[i] == Fate::touched) wake(i);
        }
        return cost::kShrink * gained;
    }

    // The agent has changed. That matters to what others can lose, too.
    void wake(std::size_t i) {
        fate_[i] = Fate::waiting;
        if (!options_.eliminate) return;
        const auto wake_member = [&](AgentId who) {
            if (fate_[at(who)] == Fate::clean) fate_[at(who)] = Fate::waiting;
        };
        for (const Index e : touching_[i]) {
            if (model().interactions[e].values.empty()) continue;
            for (const auto& member : model().interactions[e].members) wake_member(member.agent);
        }
    }

    void start_way_back(const CompiledAgent& agent) {
        auto& classes = result_.class_of.emplace_back();
        auto& begin = result_.action_begin.emplace_back(1, 0);
        auto& actions = result_.action_of.emplace_back();
        for (Index c = 0; c < agent.class_count(); ++c) {
            classes.push_back(c);
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                actions.push_back(a - agent.action_begin[c]);
            }
            begin.push_back(static_cast<Index>(actions.size()));
        }
    }

    // Own rewards become r + E V0(next) - V0(here) <= 0, V0 being the agent's best value alone.
    void shape() {
        double scale = 0;
        std::vector<std::vector<double>> alone;
        for (const CompiledAgent& agent : model().agents) {
            monitor_.tick_or_throw(16 * std::uint64_t{agent.layer_begin[model().layer_count()]});
            alone.push_back(solve_alone(agent));
            for (const double each : agent.action_reward) scale = std::max(scale, std::abs(each));
            for (const double each : alone.back()) scale = std::max(scale, std::abs(each));
        }
        if (!std::isfinite(scale)) return;  // the solver finds out and says so
        shaped_ = true;
        grid_ = scale > 0 ? std::exp2(std::ceil(std::log2(scale * kGridOfScale))) : 0;
        for (std::size_t i = 0; i < model().agents.size(); ++i) {
            CompiledAgent& agent = model().agents[i];
            std::vector<double> losses;
            for (Index c = 0; c < agent.class_count(); ++c) {
                for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                    losses.push_back(q(agent, a, alone[i]) - alone[i][c]);
                }
            }
            agent.action_reward = std::move(losses);
            result_.offset += alone[i][0];
            result_.offset_of[i] = alone[i][0];
        }
    }

    // Best values without interactions, by class.
    std::vector<double> solve_alone(const CompiledAgent& agent) {
        std::vector<double> value(agent.class_count(), 0.0);
        for (Index c = agent.layer_begin[model().layer_count()]; c-- > 0;) {
            double best = -kInfinity;
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                best = std::max(best, q(agent, a, value));
            }
            value[c] = best;
        }
        return value;
    }

    static double q(const CompiledAgent& agent, Index action, const std::vector<double>& value) {
        double sum = agent.action_reward[action];
        const std::size_t after = at(agent.action_after[action]);
        for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
            sum += agent.outcome_probability[o] * value[at(agent.outcome_next[o])];
        }
        return sum;
    }

    // What an action is worth if the agent is alone. Where rewards are losses, the rest is zero
    // everywhere: the best action loses nothing, and one that loses nothing is always kept.
    [[nodiscard]] double worth_alone(std::size_t i, Index action) const {
        const CompiledAgent& agent = result_.model.agents[i];
        return shaped_ ? agent.action_reward[action] : q(agent, action, alone_[i]);
    }

    // From a class with nothing left to interact, only the action that is best alone matters.
    void settle(std::size_t i) {
        const CompiledAgent& agent = model().agents[i];
        std::vector<bool> interacts(agent.class_count(), false);
        std::vector<bool> after(agent.after_label.size(), false);
        for (Index layer = model().layer_count(); layer-- > 0;) {
            const Index first = agent.after_layer_begin[layer];
            const Index last = agent.after_layer_begin[layer + 1];
            for (Index k = first; k < last; ++k) {
                const std::size_t label = at(agent.after_label[k]);
                bool found = agent.label_begin[label] != agent.label_begin[label + 1];
                for (Index o = agent.outcome_begin[k]; !found && o < agent.outcome_begin[k + 1];
                     ++o) {
                    found = interacts[at(agent.outcome_next[o])];
                }
                after[k] = found;
            }
            tick(last - first);
            for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                for (Index a = agent.action_begin[c];
                     !interacts[c] && a < agent.action_begin[c + 1]; ++a) {
                    interacts[c] = after[at(agent.action_after[a])];
                }
                if (!interacts[c]) settle_at(i, c);
            }
            tick(agent.layer_size(layer));
        }
    }

    void settle_at(std::size_t i, Index c) {
        const CompiledAgent& agent = model().agents[i];
        Index best = agent.action_begin[c];
        double most = -kInfinity;
        for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
            const double here = worth_alone(i, a);
            if (here > most) {
                most = here;
                best = a;
            }
        }
        for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
            if (a == best) continue;
            keep_[i][a] = false;
            ++result_.report.actions_settled;
        }
        tick(agent.action_begin[c + 1] - agent.action_begin[c]);
    }

    // Where all interactions of an agent are costs: W is what it pays at most, whatever the others
    // do, if it plays safe. An action that loses at least as much at once is never needed: the
    // agent could play safe instead while the others act as if it had not.
    void eliminate(std::size_t i) {
        if (can_gain(i)) return;
        const CompiledAgent& agent = model().agents[i];
        const std::vector<std::vector<double>> worst = worst_costs(i);
        std::vector<double> after(agent.after_label.size(), 0.0);
        std::vector<double> value(agent.class_count(), 0.0);  // W
        std::vector<double> losses;
        for (Index layer = model().layer_count(); layer-- > 0;) {
            const Index first = agent.after_layer_begin[layer];
            const Index last = agent.after_layer_begin[layer + 1];
            for (Index k = first; k < last; ++k) {
                double cost = label_cost(agent, k, worst[layer]);
                for (Index o = agent.outcome_begin[k]; o < agent.outcome_begin[k + 1]; ++o) {
                    cost += agent.outcome_probability[o] * value[at(agent.outcome_next[o])];
                }
                after[k] = cost;
            }
            tick(2 * (last - first));
            for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                const double most = shaped_ ? 0 : alone_[i][c];
                double least = kInfinity;
                Index safest = agent.action_begin[c];
                losses.clear();
                for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                    losses.push_back(most - worth_alone(i, a));
                    const double cost = losses.back() + after[at(agent.action_after[a])];
                    if (cost < least) {
                        least = cost;
                        safest = a;
                    }
                }
                value[c] = least;
                for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                    const double loss = losses[a - agent.action_begin[c]];
                    if (a == safest || loss < least || !keep_[i][a]) continue;
                    keep_[i][a] = false;
                    ++result_.report.actions_eliminated;
                }
            }
            tick(2 * agent.layer_size(layer));
        }
    }

    static double label_cost(const CompiledAgent& agent, Index after,
                             const std::vector<double>& worst) {
        const std::size_t label = at(agent.after_label[after]);
        double cost = 0;
        for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
            const std::size_t signal = at(agent.label_factor[f].signal);
            // Labels may hold signals that no interaction looks at any more.
            if (signal < worst.size()) cost += worst[signal] * agent.label_factor[f].chance;
        }
        return cost;
    }

    // Whether an agent can earn more by some interaction.
    bool can_gain(std::size_t i) {
        for (const Index e : touching_[i]) {
            for (const auto& [stage, value] : model().interactions[e].values) {
                if (value > 0) return true;
            }
            monitor_.tick_or_throw(1);
        }
        return std::ranges::any_of(summed_[i],
                                   [&](Index e) { return !never_gains(model().aggregates[e]); });
    }

    // Per layer and signal of an agent: the most that interactions with it can cost if it is given,
    // the others matching as well as they can.
    std::vector<std::vector<double>> worst_costs(std::size_t i) {
        std::vector<std::vector<double>> worst(model().layer_count());
        const auto add = [&](Index layer, SignalId signal, double cost) {
            if (at(signal) >= worst[layer].size()) worst[layer].resize(at(signal) + 1, 0.0);
            worst[layer][at(signal)] += cost;
        };
        for (const Index e : touching_[i]) {
            const CompiledInteraction& interaction = model().interactions[e];
            for (const auto& [stage, value] : interaction.values) {
                const Index layer = stage - model().first_stage;
                double cost = -value;
                SignalId mine{};
                for (const InteractionMember& member : interaction.members) {
                    if (at(member.agent) == i) {
                        mine = member.signal;
                    } else {
                        cost *= best_chance(member, layer);
                    }
                }
                add(layer, mine, cost);
            }
            tick(interaction.values.size());
        }
        for (const Index e : summed_[i]) {
            const CompiledAggregate& aggregate = model().aggregates[e];
            const AggregateMember& member =
                *std::ranges::find(aggregate.members, as<AgentId>(i), &AggregateMember::agent);
            for (const auto& [signal, units] : member.units) {
                const double* known = nullptr;
                double fall = 0;
                for (const Index layer : aggregate.layers) {
                    const std::span<const double> table = aggregate.table(layer);
                    if (table.data() != known) {
                        known = table.data();
                        fall = steepest_fall(table, units);
                        monitor_.tick_or_throw(aggregate.sums);
                    }
                    add(layer, signal, fall);
                    monitor_.tick_or_throw(1);
                }
            }
        }
        return worst;
    }

    // The most likely that any action of an agent makes a signal at a layer.
    [[nodiscard]] double best_chance(const InteractionMember& member, Index layer) const {
        const std::vector<Factor>& known = chances_[at(member.agent)][layer];
        const auto found = std::ranges::lower_bound(known, member.signal, {}, &Factor::signal);
        return found != known.end() && found->signal == member.signal ? found->chance : 0.0;
    }

    // These of all signals that an agent can still make by the actions that it keeps, in the
    // classes that it reaches (all of them if that is not known).
    void find_chances(std::size_t i, const std::vector<bool>* reached) {
        const CompiledAgent& agent = model().agents[i];
        std::vector<double> best;
        std::vector<SignalId> found;
        std::vector<bool> used(agent.after_label.size(), reached == nullptr);
        if (reached != nullptr) {
            for (Index c = 0; c < agent.class_count(); ++c) {
                if (!(*reached)[c]) continue;
                for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                    if (keep_[i][a]) used[at(agent.action_after[a])] = true;
                }
            }
            tick(agent.class_count());
        }
        chances_[i].assign(model().layer_count(), {});
        for (Index layer = 0; layer < model().layer_count(); ++layer) {
            const Index first = agent.after_layer_begin[layer];
            const Index last = agent.after_layer_begin[layer + 1];
            found.clear();
            for (Index k = first; k < last; ++k) {
                if (!used[k]) continue;
                const std::size_t label = at(agent.after_label[k]);
                for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                    const Factor& factor = agent.label_factor[f];
                    if (at(factor.signal) >= best.size()) best.resize(at(factor.signal) + 1, 0.0);
                    double& most = best[at(factor.signal)];
                    if (most == 0) found.push_back(factor.signal);
                    most = std::max(most, factor.chance);
                }
            }
            std::ranges::sort(found);
            for (const SignalId signal : found) {
                chances_[i][layer].push_back({signal, best[at(signal)]});
                best[at(signal)] = 0;
            }
            tick(last - first + found.size());
        }
    }

    // Whether larger sums are never worth more.
    static bool never_gains(const CompiledAggregate& aggregate) {
        return std::ranges::all_of(aggregate.layers, [&](Index layer) {
            return std::ranges::is_sorted(aggregate.table(layer), std::greater<>{});
        });
    }

    // The most that is lost if a sum grows by some units.
    static double steepest_fall(std::span<const double> values, Index units) {
        double most = 0;
        for (std::size_t k = units; k < values.size(); ++k) {
            most = std::max(most, values[k - units] - values[k]);
        }
        return most;
    }

    std::vector<bool> find_reached(std::size_t i) {
        const CompiledAgent& agent = model().agents[i];
        std::vector<bool> seen(agent.class_count(), false);
        std::vector<bool> done(agent.after_label.size(), false);
        seen[0] = true;
        for (Index layer = 0; layer < model().layer_count(); ++layer) {
            for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                if (!seen[c]) continue;
                for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                    const std::size_t after = at(agent.action_after[a]);
                    if (!keep_[i][a] || done[after]) continue;
                    done[after] = true;
                    for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1];
                         ++o) {
                        seen[at(agent.outcome_next[o])] = true;
                    }
                }
            }
            tick(2 * agent.layer_size(layer));
        }
        return seen;
    }

    // Drops interactions at layers at which some member cannot take part any more. Members are
    // touched: labels lose signals.
    void drop_interactions() {
        CompiledModel& now = model();
        std::vector<bool> lost(now.interactions.size(), false);
        for (Index layer = 0; layer < now.layer_count(); ++layer) {
            auto& active = now.interactions_at[layer];
            auto& values = now.values_at[layer];
            monitor_.tick(1 + cost::kShrinkItem * active.size());  // must not stop half-way
            std::size_t kept = 0;
            for (std::size_t k = 0; k < active.size(); ++k) {
                const auto& members = now.interactions[active[k]].members;
                const bool possible =
                    std::ranges::all_of(members, [&](const InteractionMember& member) {
                        return best_chance(member, layer) > 0;
                    });
                if (possible) {
                    active[kept] = active[k];
                    values[kept++] = values[k];
                    continue;
                }
                ++result_.report.interactions_dropped;
                lost[active[k]] = true;
                for (const InteractionMember& member : members) {
                    fate_[at(member.agent)] = Fate::touched;
                }
            }
            active.resize(kept);
            values.resize(kept);
            drop_aggregates(layer);
        }
        for (std::size_t e = 0; e < lost.size(); ++e) {
            if (lost[e]) now.interactions[e].values.clear();
        }
        for (Index layer = 0; layer < now.layer_count(); ++layer) {
            for (std::size_t k = 0; k < now.interactions_at[layer].size(); ++k) {
                const Index e = now.interactions_at[layer][k];
                if (!lost[e]) continue;
                now.interactions[e].values.emplace_back(now.first_stage + layer,
                                                        now.values_at[layer][k]);
            }
        }
        monitor_.look_or_throw();
    }

    // Aggregates to which nobody can add anything.
    void drop_aggregates(Index layer) {
        std::erase_if(model().aggregates_at[layer], [&](Index e) {
            CompiledAggregate& aggregate = model().aggregates[e];
            for (const AggregateMember& member : aggregate.members) {
                for (const auto& [signal, units] : member.units) {
                    if (best_chance({member.agent, signal}, layer) > 0) return false;
                }
            }
            aggregate.drop(layer);
            ++result_.report.interactions_dropped;
            return true;
        });
    }

    // Per layer: the signals of an agent that some interaction or aggregate looks at.
    std::vector<std::vector<SignalId>> live_signals(std::size_t i) {
        std::vector<std::vector<SignalId>> live(model().layer_count());
        for (const Index e : touching_[i]) {
            const CompiledInteraction& interaction = model().interactions[e];
            const InteractionMember& mine =
                *std::ranges::find(interaction.members, as<AgentId>(i), &InteractionMember::agent);
            for (const auto& [stage, value] : interaction.values) {
                live[stage - model().first_stage].push_back(mine.signal);
            }
            tick(interaction.values.size());
        }
        for (const Index e : summed_[i]) {
            const CompiledAggregate& aggregate = model().aggregates[e];
            const AggregateMember& mine =
                *std::ranges::find(aggregate.members, as<AgentId>(i), &AggregateMember::agent);
            for (const Index layer : aggregate.layers) {
                for (const auto& [signal, units] : mine.units) live[layer].push_back(signal);
                tick(mine.units.size());
            }
        }
        return live;
    }

    // Builds an agent of the actions that are kept and the classes that are reached, without
    // signals that nothing looks at; states that have become equal become one.
    void rebuild(std::size_t i, const std::vector<bool>& reached) {
        const CompiledAgent& agent = model().agents[i];
        const std::vector<std::vector<SignalId>> live = live_signals(i);
        AgentBuilder builder(model().layer_count(), options_.merge, grid_);
        std::vector<bool> is_live;
        std::vector<Index> local(agent.class_count(), Reduction::kGone);
        std::vector<std::pair<Index, double>> outcomes;
        std::vector<Factor> factors;
        for (Index layer = model().layer_count() + 1; layer-- > 0;) {
            builder.begin_layer(layer);
            if (layer < model().layer_count()) {
                for (const SignalId signal : live[layer]) {
                    if (at(signal) >= is_live.size()) is_live.resize(at(signal) + 1, false);
                    is_live[at(signal)] = true;
                }
            }
            for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                if (!reached[c]) continue;
                for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                    if (!keep_[i][a]) continue;
                    const std::size_t after = at(agent.action_after[a]);
                    const std::size_t label = at(agent.after_label[after]);
                    factors.clear();
                    for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1];
                         ++f) {
                        const std::size_t signal = at(agent.label_factor[f].signal);
                        if (signal < is_live.size() && is_live[signal]) {
                            factors.push_back(agent.label_factor[f]);
                        }
                    }
                    outcomes.clear();
                    for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1];
                         ++o) {
                        outcomes.emplace_back(local[at(agent.outcome_next[o])],
                                              agent.outcome_probability[o]);
                    }
                    builder.add_choice(agent.action_reward[a], factors, outcomes,
                                       a - agent.action_begin[c]);
                    monitor_.tick_or_throw(cost::kBuildChoice +
                                           cost::kBuildPart * (outcomes.size() + factors.size()));
                }
                local[c] = builder.end_node();
            }
            if (layer < model().layer_count()) {
                for (const SignalId signal : live[layer]) is_live[at(signal)] = false;
            }
        }
        CompiledAgent next = builder.finish();
        // From here on nothing stops it: agent and way back belong together.
        result_.error += builder.deviation();
        update_way_back(i, reached, next);
        model().agents[i] = std::move(next);
    }

    // Composes the way back with the step just made.
    void update_way_back(std::size_t i, const std::vector<bool>& reached,
                         const CompiledAgent& next) {
        // The builder numbered reached classes in order.
        std::vector<Index> node(reached.size(), Reduction::kGone);
        Index count = 0;
        for (std::size_t c = 0; c < reached.size(); ++c) {
            if (reached[c]) node[c] = count++;
        }
        auto& classes = result_.class_of[i];
        std::vector<Index> begin(1, 0);
        std::vector<Index> actions;
        for (std::size_t original = 0; original < classes.size(); ++original) {
            const Index middle = classes[original];
            const Index at_node = middle == Reduction::kGone ? Reduction::kGone : node[middle];
            if (at_node == Reduction::kGone) {
                classes[original] = Reduction::kGone;
            } else {
                classes[original] = static_cast<Index>(at(next.node_class[at_node]));
                for (Index k = next.node_choice_begin[at_node];
                     k < next.node_choice_begin[at_node + 1]; ++k) {
                    const auto position = static_cast<Index>(at(next.node_choice[k]));
                    actions.push_back(
                        result_.action_of[i][result_.action_begin[i][original] + position]);
                }
            }
            begin.push_back(static_cast<Index>(actions.size()));
        }
        result_.action_begin[i] = std::move(begin);
        result_.action_of[i] = std::move(actions);
    }

    // Counts what was looked at.
    void tick(std::size_t items) { monitor_.tick_or_throw(1 + cost::kShrinkItem * items); }

    ReductionOptions options_;
    Monitor& monitor_;
    Reduction result_;
    std::vector<Fate> fate_;                    // per agent
    std::vector<std::vector<Index>> touching_;  // per agent: its interactions
    std::vector<std::vector<Index>> summed_;    // per agent: its aggregates
    std::vector<std::vector<bool>> keep_;       // per agent and action
    std::vector<std::vector<double>> alone_;    // per agent and class: its best value alone
    std::vector<std::vector<std::vector<Factor>>> chances_;  // per agent and layer, by signal
    bool shaped_ = false;                                    // rewards are losses
    double grid_ = 0;    // losses in one cell of it count as equal
    double gained_ = 0;  // by the last round
};

}  // namespace

Reduction reduce(const CompiledModel& model, const ReductionOptions& options, Monitor& monitor) {
    return Reducer(model, options, monitor).run();
}

}  // namespace coreplan
