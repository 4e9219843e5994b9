#include "engine/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "bounds/independent.hpp"
#include "model/agent_builder.hpp"
#include "model/joint_layout.hpp"
#include "model/remaining_signals.hpp"
#include "model/unit_mass.hpp"
#include "support/reservation.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Losses that differ by rounding only have to count as equal; what that costs is added up.
constexpr double kGridOfScale = 1e-13;

std::uint64_t count_classes(const CompiledModel& model) {
    std::uint64_t total = 0;
    for (const CompiledAgent& agent : model.agents) total += agent.class_count();
    return total;
}

// One model on its way to a smaller one. Actions are marked, then the model is built anew.
class Reducer {
public:
    Reducer(const CompiledModel& model, const ReductionOptions& options, Monitor& monitor)
        : options_(options), monitor_(monitor) {
        result_.model = model;
        result_.error = mass_error(model);
        make_unit_mass(result_.model);
        result_.report.classes_before = count_classes(model);
        result_.report.joint_before = JointLayout(model).state_count();
        for (const CompiledAgent& agent : model.agents) start_way_back(agent);
        result_.offset_of.assign(model.agents.size(), 0.0);
    }

    Reduction run() {
        if (options_.shape) shape();
        for (;;) {
            const std::uint64_t before = measure();
            mark_all();
            if (options_.settle || options_.eliminate) find_alone();
            if (options_.settle) settle();
            if (options_.eliminate) eliminate();
            rebuild();
            ++result_.report.rounds;
            if (measure() == before) break;
        }
        result_.report.classes_after = count_classes(result_.model);
        result_.report.joint_after = JointLayout(result_.model).state_count();
        return std::move(result_);
    }

private:
    CompiledModel& model() { return result_.model; }

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

    // What shrinks until it no longer does.
    std::uint64_t measure() {
        std::uint64_t total = 0;
        for (const CompiledAgent& agent : model().agents) {
            total += agent.class_count() + agent.action_reward.size() + agent.outcome_next.size() +
                     agent.label_factor.size();
        }
        for (const auto& layer : model().interactions_at) total += layer.size();
        return total;
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

    // The same of all agents, once for a round. Where rewards are losses, it is zero everywhere:
    // the best action loses nothing, and one that loses nothing is always kept.
    void find_alone() {
        alone_.clear();
        for (const CompiledAgent& agent : model().agents) {
            alone_.push_back(shaped_ ? std::vector<double>(agent.class_count(), 0.0)
                                     : solve_alone(agent));
        }
    }

    static double q(const CompiledAgent& agent, Index action, const std::vector<double>& value) {
        double sum = agent.action_reward[action];
        const std::size_t after = at(agent.action_after[action]);
        for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
            sum += agent.outcome_probability[o] * value[at(agent.outcome_next[o])];
        }
        return sum;
    }

    void mark_all() {
        keep_.clear();
        for (const CompiledAgent& agent : model().agents) {
            keep_.emplace_back(agent.action_reward.size(), true);
        }
    }

    // From a class with nothing left to interact, only the action that is best alone matters.
    void settle() {
        for (std::size_t i = 0; i < model().agents.size(); ++i) {
            const CompiledAgent& agent = model().agents[i];
            const Lease lease(monitor_);
            const SignalRuns runs = remaining_signals(model(), as<AgentId>(i), monitor_);
            for (Index c = 0; c < agent.layer_begin[model().layer_count()]; ++c) {
                const Index list = runs.list_of_class[c];
                if (runs.list_begin[list] != runs.list_begin[list + 1]) continue;
                Index best = agent.action_begin[c];
                double most = -kInfinity;
                for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                    const double here = q(agent, a, alone_[i]);
                    if (here > most) {
                        most = here;
                        best = a;
                    }
                }
                keep_only(i, c, best, result_.report.actions_settled);
            }
        }
    }

    void keep_only(std::size_t i, Index c, Index best, std::uint64_t& counter) {
        const CompiledAgent& agent = model().agents[i];
        for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
            if (a == best || !keep_[i][a]) continue;
            keep_[i][a] = false;
            ++counter;
        }
    }

    // Where all interactions of an agent are costs: W is what it pays at most, whatever the others
    // do, if it plays safe. An action that loses at least as much at once is never needed: the
    // agent could play safe instead while the others act as if it had not.
    void eliminate() {
        const auto worst = worst_costs();
        for (std::size_t i = 0; i < model().agents.size(); ++i) {
            if (worst[i].empty()) continue;
            const CompiledAgent& agent = model().agents[i];
            std::vector<double> value(agent.class_count(), 0.0);  // W
            const std::vector<double>& alone = alone_[i];
            for (Index layer = model().layer_count(); layer-- > 0;) {
                for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                    const double most = alone[c];
                    double least = kInfinity;
                    Index safest = agent.action_begin[c];
                    for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                        double cost =
                            most - q(agent, a, alone) + label_cost(agent, a, worst[i][layer]);
                        const std::size_t after = at(agent.action_after[a]);
                        for (Index o = agent.outcome_begin[after];
                             o < agent.outcome_begin[after + 1]; ++o) {
                            cost += agent.outcome_probability[o] * value[at(agent.outcome_next[o])];
                        }
                        if (cost < least) {
                            least = cost;
                            safest = a;
                        }
                    }
                    value[c] = least;
                    for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                        const double loss = most - q(agent, a, alone);
                        if (a == safest || loss < least || !keep_[i][a]) continue;
                        keep_[i][a] = false;
                        ++result_.report.actions_eliminated;
                    }
                    monitor_.tick_or_throw(64);
                }
            }
        }
    }

    static double label_cost(const CompiledAgent& agent, Index action,
                             const std::vector<double>& worst) {
        const std::size_t label = at(agent.after_label[at(agent.action_after[action])]);
        double cost = 0;
        for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
            cost += worst[at(agent.label_factor[f].signal)] * agent.label_factor[f].chance;
        }
        return cost;
    }

    // Per agent, layer and signal: the most that interactions with it can cost if it is given, the
    // others matching as well as they can. Empty for an agent that can also gain.
    std::vector<std::vector<std::vector<double>>> worst_costs() {
        const std::size_t n = model().agents.size();
        std::vector<bool> can_gain(n, false);
        for (const CompiledInteraction& interaction : model().interactions) {
            const bool gain = std::ranges::any_of(interaction.values,
                                                  [](const auto& each) { return each.second > 0; });
            for (const InteractionMember& member : interaction.members) {
                if (gain) can_gain[at(member.agent)] = true;
            }
        }
        for (const CompiledAggregate& aggregate : model().aggregates) {
            if (never_gains(aggregate)) continue;
            for (const AggregateMember& member : aggregate.members) {
                can_gain[at(member.agent)] = true;
            }
        }
        const Index layers = model().layer_count();
        const auto signals = signal_counts(model());
        const auto best = best_chances(model());
        monitor_.tick_or_throw(layers);
        std::vector<std::vector<std::vector<double>>> worst(n);
        for (std::size_t i = 0; i < n; ++i) {
            if (!can_gain[i]) worst[i].assign(layers, std::vector<double>(signals[i], 0.0));
        }
        for (Index layer = 0; layer < layers; ++layer) {
            for (std::size_t k = 0; k < model().interactions_at[layer].size(); ++k) {
                const auto& members =
                    model().interactions[model().interactions_at[layer][k]].members;
                for (const InteractionMember& member : members) {
                    if (can_gain[at(member.agent)]) continue;
                    double cost = -model().values_at[layer][k];
                    for (const InteractionMember& other : members) {
                        if (other.agent == member.agent) continue;
                        cost *= best[at(other.agent)][layer][at(other.signal)];
                    }
                    worst[at(member.agent)][layer][at(member.signal)] += cost;
                }
                monitor_.tick_or_throw(16);
            }
        }
        for (const CompiledAggregate& aggregate : model().aggregates) {
            for (const AggregateMember& member : aggregate.members) {
                if (can_gain[at(member.agent)]) continue;
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
                        worst[at(member.agent)][layer][at(signal)] += fall;
                        monitor_.tick_or_throw(1);
                    }
                }
            }
        }
        return worst;
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

    // Builds the model of the actions that are kept: what can still be reached, the interactions
    // that can still happen, and states that have become equal as one.
    void rebuild() {
        CompiledModel& old = model();
        const auto reached = find_reached();
        if (options_.drop) drop_interactions(reached);
        CompiledModel next;
        next.first_stage = old.first_stage;
        next.horizon = old.horizon;
        next.constant_at = old.constant_at;
        next.interactions = old.interactions;
        next.interactions_at = old.interactions_at;
        next.values_at = old.values_at;
        next.aggregates = old.aggregates;
        next.aggregates_at = old.aggregates_at;
        next.unit_mass = old.unit_mass;
        for (std::size_t i = 0; i < old.agents.size(); ++i) {
            next.agents.push_back(rebuild_agent(i, reached[i]));
        }
        old = std::move(next);
    }

    std::vector<std::vector<bool>> find_reached() {
        std::vector<std::vector<bool>> reached;
        for (std::size_t i = 0; i < model().agents.size(); ++i) {
            const CompiledAgent& agent = model().agents[i];
            auto& seen = reached.emplace_back(agent.class_count(), false);
            seen[0] = true;
            for (Index c = 0; c < agent.class_count(); ++c) {
                if (!seen[c]) continue;
                for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                    if (!keep_[i][a]) continue;
                    const std::size_t after = at(agent.action_after[a]);
                    for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1];
                         ++o) {
                        seen[at(agent.outcome_next[o])] = true;
                    }
                }
                monitor_.tick_or_throw(16);
            }
        }
        return reached;
    }

    void drop_interactions(const std::vector<std::vector<bool>>& reached) {
        CompiledModel& now = model();
        std::vector<std::vector<bool>> given(now.agents.size());
        for (CompiledInteraction& interaction : now.interactions) interaction.values.clear();
        for (Index layer = 0; layer < now.layer_count(); ++layer) {
            for (std::size_t i = 0; i < now.agents.size(); ++i) {
                const CompiledAgent& agent = now.agents[i];
                given[i].assign(signal_bound_, false);
                for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                    if (!reached[i][c]) continue;
                    for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                        if (keep_[i][a]) note_signals(agent, a, given[i]);
                    }
                }
            }
            auto& active = now.interactions_at[layer];
            auto& values = now.values_at[layer];
            std::size_t kept = 0;
            for (std::size_t k = 0; k < active.size(); ++k) {
                CompiledInteraction& interaction = now.interactions[active[k]];
                const bool possible =
                    std::ranges::all_of(interaction.members, [&](const InteractionMember& member) {
                        const auto& mine = given[at(member.agent)];
                        return at(member.signal) < mine.size() && mine[at(member.signal)];
                    });
                if (!possible) {
                    ++result_.report.interactions_dropped;
                    continue;
                }
                interaction.values.emplace_back(now.first_stage + layer, values[k]);
                active[kept] = active[k];
                values[kept++] = values[k];
            }
            active.resize(kept);
            values.resize(kept);
            drop_aggregates(layer, given);
            monitor_.tick_or_throw(64);
        }
    }

    // Aggregates to which nobody can add anything.
    void drop_aggregates(Index layer, const std::vector<std::vector<bool>>& given) {
        std::erase_if(model().aggregates_at[layer], [&](Index e) {
            CompiledAggregate& aggregate = model().aggregates[e];
            for (const AggregateMember& member : aggregate.members) {
                const auto& mine = given[at(member.agent)];
                for (const auto& [signal, units] : member.units) {
                    if (at(signal) < mine.size() && mine[at(signal)]) return false;
                }
            }
            aggregate.drop(layer);
            ++result_.report.interactions_dropped;
            return true;
        });
    }

    void note_signals(const CompiledAgent& agent, Index action, std::vector<bool>& given) {
        const std::size_t label = at(agent.after_label[at(agent.action_after[action])]);
        for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
            const std::size_t signal = at(agent.label_factor[f].signal);
            if (signal >= given.size()) given.resize(signal + 1, false);
            signal_bound_ = std::max(signal_bound_, given.size());
            given[signal] = true;
        }
    }

    CompiledAgent rebuild_agent(std::size_t i, const std::vector<bool>& reached) {
        const CompiledAgent& agent = model().agents[i];
        AgentBuilder builder(model().layer_count(), options_.merge, grid_);
        std::vector<Index> local(agent.class_count(), Reduction::kGone);
        std::vector<std::pair<Index, double>> outcomes;
        std::vector<Factor> factors;
        for (Index layer = model().layer_count() + 1; layer-- > 0;) {
            builder.begin_layer(layer);
            std::vector<bool> live;
            if (layer < model().layer_count()) {
                for (const Index e : model().interactions_at[layer]) {
                    for (const InteractionMember& member : model().interactions[e].members) {
                        if (at(member.agent) != i) continue;
                        if (at(member.signal) >= live.size()) live.resize(at(member.signal) + 1);
                        live[at(member.signal)] = true;
                    }
                }
                for (const Index e : model().aggregates_at[layer]) {
                    for (const AggregateMember& member : model().aggregates[e].members) {
                        if (at(member.agent) != i) continue;
                        const std::size_t last = at(member.units.back().first);
                        if (last >= live.size()) live.resize(last + 1);
                        for (const auto& [signal, units] : member.units) live[at(signal)] = true;
                    }
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
                        if (signal < live.size() && live[signal]) {
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
                    monitor_.tick_or_throw(32);
                }
                local[c] = builder.end_node();
            }
        }
        result_.error += builder.deviation();
        CompiledAgent next = builder.finish();
        update_way_back(i, reached, next);
        return next;
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

    ReductionOptions options_;
    Monitor& monitor_;
    Reduction result_;
    std::vector<std::vector<bool>> keep_;     // per agent and action
    std::vector<std::vector<double>> alone_;  // per agent and class: its best value alone
    bool shaped_ = false;                     // rewards are losses
    double grid_ = 0;                         // losses in one cell of it count as equal
    std::size_t signal_bound_ = 0;
};

}  // namespace

Reduction reduce(const CompiledModel& model, const ReductionOptions& options, Monitor& monitor) {
    return Reducer(model, options, monitor).run();
}

}  // namespace coreplan
