#include "baselines/spudd.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "add/diagrams.hpp"
#include "baselines/reached_policy.hpp"
#include "support/reservation.hpp"

namespace coreplan {

namespace {

constexpr double kBytesPerState = sizeof(double) + sizeof(std::uint32_t);
constexpr double kBytesPerCandidate = 128;  // with its places among the roots of diagrams

Index bits_for(std::size_t numbers) { return static_cast<Index>(std::bit_width(numbers - 1)); }

// The most actions that a class of the layer has.
Index most_actions(const CompiledAgent& agent, Index layer) {
    Index most = 0;
    for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
        most = std::max(most, agent.action_begin[c + 1] - agent.action_begin[c]);
    }
    return most;
}

// Which variables hold the agents' states, actions and next states. In both orders an agent's own
// variables come in this sequence, and states are in the same order as next states.
class Variables {
public:
    Variables(const CompiledModel& model, VariableOrder order) : model_(model) {
        const std::size_t n = model.agents.size();
        state_.resize(n);
        action_.resize(n);
        next_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t states = 1;
            Index actions = 1;
            for (Index layer = 0; layer < model.layer_count(); ++layer) {
                states = std::max(states, model.agents[i].layer_size(layer));
                actions = std::max(actions, most_actions(model.agents[i], layer));
            }
            state_[i].resize(bits_for(states));
            action_[i].resize(bits_for(actions));
            next_[i].resize(bits_for(states));
        }
        if (order == VariableOrder::grouped) {
            for (std::size_t i = 0; i < n; ++i) {
                for (auto* kind : {&state_, &action_, &next_}) {
                    for (Index& variable : (*kind)[i]) variable = count_++;
                }
            }
        } else {
            for (auto* kind : {&state_, &action_, &next_}) interleave(*kind);
        }
        renaming_.resize(count_);
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t k = 0; k < state_[i].size(); ++k)
                renaming_[state_[i][k]] = next_[i][k];
        }
    }

    [[nodiscard]] Index count() const noexcept { return count_; }
    // From states to next states.
    [[nodiscard]] const std::vector<Index>& renaming() const { return renaming_; }
    // Of one agent, the most significant bit first.
    [[nodiscard]] std::span<const Index> state(std::size_t agent, Index layer) const {
        return std::span(state_[agent]).first(bits_for(model_.agents[agent].layer_size(layer)));
    }
    [[nodiscard]] std::span<const Index> action(std::size_t agent, Index layer) const {
        return std::span(action_[agent]).first(bits_for(most_actions(model_.agents[agent], layer)));
    }
    [[nodiscard]] std::span<const Index> next(std::size_t agent, Index layer) const {
        return std::span(next_[agent]).first(bits_for(model_.agents[agent].layer_size(layer + 1)));
    }

private:
    void interleave(std::vector<std::vector<Index>>& kind) {
        for (std::size_t bit = 0, more = 1; more != 0; ++bit) {
            more = 0;
            for (auto& variables : kind) {
                if (bit >= variables.size()) continue;
                variables[bit] = count_++;
                more = 1;
            }
        }
    }

    const CompiledModel& model_;
    Index count_ = 0;
    std::vector<std::vector<Index>> state_, action_, next_;  // per agent
    std::vector<Index> renaming_;
};

// The diagrams of one layer: laws of single agents, rewards of the team.
class Layer {
public:
    Layer(const CompiledModel& model, const Variables& variables, Diagrams& diagrams, Index layer)
        : model_(model), variables_(variables), diagrams_(diagrams), layer_(layer) {}

    // How likely an agent gets where, by its state and action.
    [[nodiscard]] Diagram law(std::size_t i) const {
        const CompiledAgent& agent = model_.agents[i];
        const Index first = agent.after_layer_begin[layer_];
        const auto next = variables_.next(i, layer_);
        std::vector<Diagram> laws;
        std::vector<std::pair<std::uint64_t, double>> entries;
        for (Index k = first; k < agent.after_layer_begin[layer_ + 1]; ++k) {
            entries.clear();
            for (Index o = agent.outcome_begin[k]; o < agent.outcome_begin[k + 1]; ++o) {
                entries.emplace_back(at(agent.outcome_next[o]) - agent.layer_begin[layer_ + 1],
                                     agent.outcome_probability[o]);
            }
            std::ranges::sort(entries);
            add_up(entries);
            laws.push_back(diagrams_.sparse(next, entries));
        }
        return by_choice(i, [&](Index a) { return laws[at(agent.action_after[a]) - first]; });
    }

    // What the team earns, by all states and actions.
    [[nodiscard]] Diagram reward() {
        Diagram total = term(model_.constant_at[layer_], {});
        for (std::size_t i = 0; i < model_.agents.size(); ++i) {
            const CompiledAgent& agent = model_.agents[i];
            const Diagram own =
                by_choice(i, [&](Index a) { return diagrams_.constant(agent.action_reward[a]); });
            total = diagrams_.plus(total, term(1, {{i, own}}));
        }
        for (std::size_t k = 0; k < model_.interactions_at[layer_].size(); ++k) {
            std::vector<std::pair<std::size_t, Diagram>> parts;
            for (const auto& member :
                 model_.interactions[model_.interactions_at[layer_][k]].members) {
                parts.emplace_back(at(member.agent), factor(at(member.agent), member.signal));
            }
            total = diagrams_.plus(total, term(model_.values_at[layer_][k], parts));
        }
        for (const Index e : model_.aggregates_at[layer_]) {
            total = diagrams_.plus(total, sum(model_.aggregates[e]));
        }
        return total;
    }

private:
    // One entry per number, with the sum of its values.
    static void add_up(std::vector<std::pair<std::uint64_t, double>>& entries) {
        std::size_t kept = 0;
        for (const auto& [number, value] : entries) {
            if (kept > 0 && entries[kept - 1].first == number) {
                entries[kept - 1].second += value;
            } else {
                entries[kept++] = {number, value};
            }
        }
        entries.resize(kept);
    }

    // A function of an agent's state and action, from one per action.
    template <class Row>
    Diagram by_choice(std::size_t i, const Row& row) const {
        const CompiledAgent& agent = model_.agents[i];
        std::vector<Diagram> states, actions;
        for (Index c = agent.layer_begin[layer_]; c < agent.layer_begin[layer_ + 1]; ++c) {
            actions.clear();
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                actions.push_back(row(a));
            }
            states.push_back(diagrams_.table(variables_.action(i, layer_), actions));
        }
        return diagrams_.table(variables_.state(i, layer_), states);
    }

    // How likely an agent makes a signal.
    const Diagram& factor(std::size_t i, SignalId signal) {
        for (const auto& known : factors_) {
            if (known.agent == i && known.signal == signal) return known.chance;
        }
        const CompiledAgent& agent = model_.agents[i];
        factors_.push_back({i, signal, by_choice(i, [&](Index a) {
                                return diagrams_.constant(
                                    agent.chance(at(agent.action_after[a]), signal));
                            })});
        return factors_.back().chance;
    }

    // A value times a part of some agents. Where outcome laws do not sum to 1, it counts with the
    // mass of the others.
    Diagram term(double value, const std::vector<std::pair<std::size_t, Diagram>>& parts) {
        Diagram product = diagrams_.constant(value);
        // From the last variables on: intermediate products stay small.
        for (std::size_t i = model_.agents.size(); i-- > 0;) {
            const auto part = std::ranges::find(parts, i, &std::pair<std::size_t, Diagram>::first);
            if (part != parts.end()) {
                product = diagrams_.times(part->second, product);
            } else if (!model_.unit_mass) {
                product = diagrams_.times(mass(i), product);
            }
        }
        return product;
    }

    // What an aggregate brings, from the last agent on: for every sum of those before, what it is
    // worth with what the others add. Where outcome laws do not sum to 1, it counts with the mass
    // of all agents.
    Diagram sum(const CompiledAggregate& aggregate) {
        std::vector<Diagram> worth;  // by the sum of the agents before
        for (const double value : aggregate.table(layer_)) {
            worth.push_back(diagrams_.constant(value));
        }
        for (std::size_t i = model_.agents.size(); i-- > 0;) {
            const auto member =
                std::ranges::find(aggregate.members, as<AgentId>(i), &AggregateMember::agent);
            if (member == aggregate.members.end()) {
                if (model_.unit_mass) continue;
                for (Diagram& each : worth) each = diagrams_.times(mass(i), each);
                continue;
            }
            worth = with_member(*member, worth);
        }
        return worth[0];
    }

    // The same with one agent before the others: sums that it can lead beyond the table do not
    // come up.
    std::vector<Diagram> with_member(const AggregateMember& member,
                                     const std::vector<Diagram>& worth) {
        const std::size_t i = at(member.agent);
        const CompiledAgent& agent = model_.agents[i];
        std::vector<Index> amounts;
        for (Index k = agent.after_layer_begin[layer_]; k < agent.after_layer_begin[layer_ + 1];
             ++k) {
            amounts.push_back(model_.units(member, AfterId{k}));
        }
        std::ranges::sort(amounts);
        const auto repeated = std::ranges::unique(amounts);
        amounts.erase(repeated.begin(), repeated.end());
        std::vector<Diagram> adds;  // the mass with which it adds so much
        for (const Index amount : amounts) {
            adds.push_back(by_choice(i, [&](Index a) {
                const AfterId after = agent.action_after[a];
                const bool same = model_.units(member, after) == amount;
                return diagrams_.constant(same ? agent.after_mass[at(after)] : 0.0);
            }));
        }
        std::vector<Diagram> with;
        for (std::size_t k = 0; k + amounts.back() < worth.size(); ++k) {
            Diagram total = diagrams_.times(adds[0], worth[k + amounts[0]]);
            for (std::size_t x = 1; x < amounts.size(); ++x) {
                total = diagrams_.plus(total, diagrams_.times(adds[x], worth[k + amounts[x]]));
            }
            with.push_back(std::move(total));
        }
        return with;
    }

    const Diagram& mass(std::size_t i) {
        masses_.resize(model_.agents.size());
        if (!masses_[i]) {
            const CompiledAgent& agent = model_.agents[i];
            masses_[i] = by_choice(i, [&](Index a) {
                return diagrams_.constant(agent.after_mass[at(agent.action_after[a])]);
            });
        }
        return *masses_[i];
    }

    struct KnownFactor {
        std::size_t agent;
        SignalId signal;
        Diagram chance;
    };

    const CompiledModel& model_;
    const Variables& variables_;
    Diagrams& diagrams_;
    Index layer_;
    std::vector<KnownFactor> factors_;
    std::vector<std::optional<Diagram>> masses_;
};

// The value of some joint actions, in two parts to be added. `actions` holds what is decided
// already, the other actions are variables of the parts.
struct Candidate {
    Diagram future, reward;
    std::uint64_t actions = 0;
};

// Finds best joint actions of one layer by going down its candidates, variable by variable.
class Chooser {
public:
    Chooser(const CompiledModel& model, const Variables& variables, const Diagrams& diagrams,
            Monitor& monitor, Index layer)
        : model_(model), diagrams_(diagrams), monitor_(monitor), layer_(layer) {
        const std::size_t n = model.agents.size();
        code_.assign(n, 0);
        shift_.assign(n + 1, 0);
        for (std::size_t i = n; i-- > 0;) {
            const auto states = variables.state(i, layer);
            const auto actions = variables.action(i, layer);
            shift_[i] = shift_[i + 1] + static_cast<Index>(actions.size());
            for (std::size_t k = 0; k < states.size(); ++k) {
                steps_.push_back({states[k], i, true, static_cast<Index>(states.size() - 1 - k)});
            }
            for (std::size_t k = 0; k < actions.size(); ++k) {
                const auto below = static_cast<Index>(actions.size() - 1 - k);
                steps_.push_back({actions[k], i, false, shift_[i + 1] + below});
            }
        }
        std::ranges::sort(steps_, {}, &Step::variable);
    }

    // Where action numbers of an agent begin in `Candidate::actions`.
    [[nodiscard]] Index shift(std::size_t agent) const { return shift_[agent + 1]; }

    struct Choice {
        double value;
        std::uint64_t actions;
    };
    // The action of an agent, as its position among the actions of its class.
    [[nodiscard]] Index action(std::uint64_t actions, std::size_t agent) const {
        const Index bits = shift_[agent] - shift_[agent + 1];
        return static_cast<Index>((actions >> shift_[agent + 1]) &
                                  ((std::uint64_t{1} << bits) - 1));
    }

    // Calls visit(classes within the layer, best choice) for all joint states, or for one.
    template <class Visit>
    void visit(const std::vector<Candidate>& candidates, const Visit& visit,
               const std::vector<Index>* only = nullptr) {
        items_.clear();
        for (const Candidate& each : candidates) {
            items_.push_back({each.future.root(), each.reward.root(), each.actions});
        }
        only_ = only;
        descend(0, 0, visit);
    }

    // 1 + the number of a joint action, with the last agent's changing fastest.
    [[nodiscard]] std::uint32_t number(const std::vector<Index>& classes,
                                       std::uint64_t actions) const {
        std::uint32_t number = 0;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            number = number * action_count(i, classes[i]) + action(actions, i);
        }
        return number + 1;
    }

private:
    struct Step {
        Index variable;
        std::size_t agent;
        bool is_state;
        Index below;  // the bit's place in the state's number, or in `Candidate::actions`
    };
    struct Item {
        DiagramNode future, reward;
        std::uint64_t actions;
    };

    [[nodiscard]] Index action_count(std::size_t agent, Index c) const {
        const CompiledAgent& who = model_.agents[agent];
        const Index k = who.layer_begin[layer_] + c;
        return who.action_begin[k + 1] - who.action_begin[k];
    }

    // Goes on from items_[begin, end), which the variables before this step lead to.
    template <class Visit>
    void descend(std::size_t number, std::size_t begin, const Visit& visit) {
        const std::size_t end = items_.size();
        if (monitor_.tick(4 + end - begin)) {
            throw LimitReached(monitor_.stop(), "stopped while the policy was written down");
        }
        if (number == steps_.size()) {
            visit(code_, best(begin));
            return;
        }
        const Step& step = steps_[number];
        if (!step.is_state) {
            for (std::size_t k = begin; k < end; ++k) {
                const Item item = items_[k];
                items_.push_back(follow(item, step.variable, false));
                // Where an action's number is beyond those of the state, nothing is tested.
                if (tests(item, step.variable)) {
                    Item chosen = follow(item, step.variable, true);
                    chosen.actions |= std::uint64_t{1} << step.below;
                    items_.push_back(chosen);
                }
            }
            descend(number + 1, end, visit);
            items_.resize(end);
            return;
        }
        Index& code = code_[step.agent];
        const Index before = code;
        for (const bool bit : {false, true}) {
            code = before | (static_cast<Index>(bit) << step.below);
            if (code >= model_.agents[step.agent].layer_size(layer_)) break;
            if (only_ != nullptr && (((*only_)[step.agent] >> step.below) & 1U) != bit) continue;
            for (std::size_t k = begin; k < end; ++k) {
                items_.push_back(follow(items_[k], step.variable, bit));
            }
            descend(number + 1, end, visit);
            items_.resize(end);
        }
        code = before;
    }

    [[nodiscard]] bool tests(const Item& item, Index variable) const {
        return diagrams_.tests(item.future, variable) || diagrams_.tests(item.reward, variable);
    }

    [[nodiscard]] Item follow(const Item& item, Index variable, bool value) const {
        return {diagrams_.cofactor(item.future, variable, value),
                diagrams_.cofactor(item.reward, variable, value), item.actions};
    }

    [[nodiscard]] Choice best(std::size_t begin) const {
        Choice found{0, 0};
        bool any = false;
        for (std::size_t k = begin; k < items_.size(); ++k) {
            const Item& item = items_[k];
            const double value = diagrams_.value(item.future) + diagrams_.value(item.reward);
            if ((any && value <= found.value) || !exists(item.actions)) continue;
            found = {value, item.actions};
            any = true;
        }
        return found;
    }

    // Whether all actions are among those of the agents' classes; enumeration tries others too.
    [[nodiscard]] bool exists(std::uint64_t actions) const {
        for (std::size_t i = 0; i < code_.size(); ++i) {
            if (action(actions, i) >= action_count(i, code_[i])) return false;
        }
        return true;
    }

    const CompiledModel& model_;
    const Diagrams& diagrams_;
    Monitor& monitor_;
    Index layer_;
    std::vector<Step> steps_;  // by variable
    std::vector<Index> shift_;
    std::vector<Index> code_;  // per agent: the class within the layer, as far as it is decided
    std::vector<Item> items_;  // a stack
    const std::vector<Index>* only_ = nullptr;
};

// What following the fallback up to some layer is worth, given the values from there on.
class FallbackFirst {
public:
    FallbackFirst(const CompiledModel& model, const JointLayout& layout,
                  const LocalPolicy& fallback, Monitor& monitor)
        : layout_(layout), earned_(rewards_of(model, fallback, monitor)) {
        for (std::size_t i = 0; i < model.agents.size(); ++i) {
            const CompiledAgent& agent = model.agents[i];
            std::vector<double>& chance = chance_.emplace_back(agent.class_count(), 0.0);
            chance[0] = 1;
            const Index last = agent.layer_begin[model.layer_count() - 1];
            for (Index c = 0; c < last; ++c) {
                if (chance[c] == 0) continue;
                const std::size_t after =
                    at(agent.action_after[agent.action_begin[c] + fallback.action[i][c]]);
                for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1];
                     ++o) {
                    chance[at(agent.outcome_next[o])] += chance[c] * agent.outcome_probability[o];
                }
                monitor.tick_or_throw(8);
            }
            begin_.push_back(&agent.layer_begin);
        }
        double total = 0;
        for (double& each : earned_) total += std::exchange(each, total);
    }

    // `values`: of the joint states of the layer.
    [[nodiscard]] double value(Index layer, const double* values) const {
        return earned_[layer] + expected(0, layer, values);
    }

private:
    [[nodiscard]] double expected(std::size_t i, Index layer, const double* values) const {
        if (i == chance_.size()) return *values;
        double sum = 0;
        for (Index c = (*begin_[i])[layer]; c < (*begin_[i])[layer + 1]; ++c) {
            const double chance = chance_[i][c];
            if (chance != 0) sum += chance * expected(i + 1, layer, values);
            values += layout_.stride(layer, i);
        }
        return sum;
    }

    const JointLayout& layout_;
    std::vector<double> earned_;               // per layer: before it
    std::vector<std::vector<double>> chance_;  // per agent and class
    std::vector<const std::vector<Index>*> begin_;
};

class ValueIteration {
public:
    ValueIteration(const CompiledModel& model, const SpuddOptions& options,
                   const Variables& variables, const JointLayout& layout, Monitor& monitor,
                   SpuddResult& result)
        : model_(model),
          options_(options),
          variables_(variables),
          layout_(layout),
          monitor_(monitor),
          result_(result),
          candidates_memory_(monitor),
          diagrams_(variables.count(), monitor),
          value_(diagrams_.constant(0)) {}

    ~ValueIteration() {
        result_.peak_nodes = diagrams_.peak_nodes();
        result_.collections = diagrams_.collections();
    }
    ValueIteration(const ValueIteration&) = delete;
    ValueIteration& operator=(const ValueIteration&) = delete;

    // Writes the policy of every stage into tables as soon as it is solved.
    void run_with_tables() {
        const auto states = static_cast<std::uint64_t>(layout_.state_count());
        Reservation table(monitor_);
        table.take(static_cast<double>(states) * kBytesPerState, "the table of joint states");
        const FallbackFirst fallback_first(model_, layout_, result_.fallback, monitor_);
        CArray<std::uint32_t> actions = zeros<std::uint32_t>(states);
        CArray<double> values = zeros<double>(states);
        for (Index layer = model_.layer_count(); layer-- > 0;) {
            try {
                const std::vector<Candidate> candidates = solve(layer);
                Chooser chooser(model_, variables_, diagrams_, monitor_, layer);
                const std::uint64_t begin = layout_.layer_begin(layer);
                chooser.visit(candidates, [&](const std::vector<Index>& classes,
                                              const Chooser::Choice& choice) {
                    const std::uint64_t slot = begin + number(layer, classes);
                    actions[slot] = chooser.number(classes, choice.actions);
                    values[slot] = choice.value;
                });
            } catch (...) {
                // A stage that is not complete does not count.
                std::fill(actions.get() + layout_.layer_begin(layer),
                          actions.get() + layout_.layer_begin(layer + 1), 0U);
                if (result_.actions == nullptr && layer + 1 < model_.layer_count()) {
                    result_.actions = std::move(actions);
                    table.keep_all();
                }
                throw;
            }
            candidates_memory_.give_back(candidates_memory_.bytes());
            ++result_.iterations;
            result_.lower = std::max(
                result_.lower, fallback_first.value(layer, &values[layout_.layer_begin(layer)]));
            monitor_.progress.lower = result_.lower;
            result_.state_count = states;
        }
        result_.lower = result_.upper = values[0];
        result_.actions = std::move(actions);
        result_.values = std::move(values);
        table.keep_all();  // what is handed over stays reserved, as long as the monitor is asked
    }

    // Keeps the diagrams of all stages, then writes down what the policy gets into.
    void run_without_tables() {
        std::vector<std::vector<Candidate>> candidates(model_.layer_count());
        for (Index layer = model_.layer_count(); layer-- > 0;) {
            candidates[layer] = solve(layer);
            ++result_.iterations;
        }
        const double best = diagrams_.value(value_.root());
        std::optional<Chooser> chooser;
        Index current = 0;
        const auto choose = [&](Index layer, const std::vector<Index>& classes,
                                std::vector<Index>& actions) {
            if (!chooser || current != layer) {
                if (chooser) candidates[current].clear();
                current = layer;
                chooser.emplace(model_, variables_, diagrams_, monitor_, layer);
            }
            chooser->visit(
                candidates[layer],
                [&](const std::vector<Index>&, const Chooser::Choice& choice) {
                    for (std::size_t i = 0; i < actions.size(); ++i) {
                        actions[i] = chooser->action(choice.actions, i);
                    }
                },
                &classes);
        };
        write_reached_policy(model_, layout_, choose, monitor_, result_);
        result_.lower = result_.upper = best;
    }

private:
    // One step of value iteration: value_ becomes that of the layer.
    std::vector<Candidate> solve(Index layer) {
        Layer here(model_, variables_, diagrams_, layer);
        std::vector<Candidate> candidates;
        std::vector<Diagram> laws;
        Diagram future = diagrams_.rename(value_, variables_.renaming());
        if (layer + 1 < model_.layer_count()) {
            for (std::size_t i = 0; i < model_.agents.size(); ++i) laws.push_back(here.law(i));
        }
        Diagram reward = here.reward();
        if (options_.actions == ActionMode::diagram) {
            // From the last variables on, which was measured to be quicker.
            for (std::size_t i = laws.size(); i-- > 0;) future = expect(layer, i, laws[i], future);
            value_ = diagrams_.max_of_sums(future, reward, all_actions(layer));
            candidates.push_back({std::move(future), std::move(reward)});
        } else {
            enumerate(layer, laws, future, reward, candidates);
        }
        result_.value_nodes += diagrams_.node_count(value_);
        return candidates;
    }

    // Expectation over one agent's next state.
    Diagram expect(Index layer, std::size_t i, const Diagram& law, const Diagram& future) {
        return diagrams_.sum_of_products(law, future, diagrams_.cube(variables_.next(i, layer)));
    }

    Diagram all_actions(Index layer) {
        std::vector<Index> all;
        for (std::size_t i = 0; i < model_.agents.size(); ++i) {
            const auto mine = variables_.action(i, layer);
            all.insert(all.end(), mine.begin(), mine.end());
        }
        std::ranges::sort(all);
        return diagrams_.cube(all);
    }

    // All joint actions, agent after agent; agents that act the same so far share the work.
    void enumerate(Index layer, const std::vector<Diagram>& laws, const Diagram& future,
                   const Diagram& reward, std::vector<Candidate>& candidates) {
        const Chooser places(model_, variables_, diagrams_, monitor_, layer);
        std::optional<Diagram> best;
        const auto go = [&](const auto& self, std::size_t i, const Diagram& f, const Diagram& r,
                            std::uint64_t actions) -> void {
            if (i == model_.agents.size()) {
                Diagram value = diagrams_.plus(f, r);
                best = best ? diagrams_.max(*best, value) : value;
                candidates_memory_.take(kBytesPerCandidate, "the values of joint actions");
                candidates.push_back({std::move(value), diagrams_.constant(0), actions});
                return;
            }
            const auto bits = variables_.action(i, layer);
            for (Index action = 0; action < most_actions(model_.agents[i], layer); ++action) {
                std::vector<std::pair<Index, bool>> fixed;
                for (std::size_t k = 0; k < bits.size(); ++k) {
                    fixed.emplace_back(bits[k], ((action >> (bits.size() - 1 - k)) & 1U) != 0);
                }
                const Diagram chosen = diagrams_.literals(fixed);
                Diagram after = f;
                if (!laws.empty()) {
                    after = expect(layer, i, diagrams_.restrict(laws[i], chosen), f);
                }
                self(self, i + 1, after, diagrams_.restrict(r, chosen),
                     actions | (std::uint64_t{action} << places.shift(i)));
            }
        };
        go(go, 0, future, reward, 0);
        value_ = *best;
    }

    [[nodiscard]] std::uint64_t number(Index layer, const std::vector<Index>& classes) const {
        std::uint64_t number = 0;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            number += classes[i] * layout_.stride(layer, i);
        }
        return number;
    }

    const CompiledModel& model_;
    const SpuddOptions& options_;
    const Variables& variables_;
    const JointLayout& layout_;
    Monitor& monitor_;
    SpuddResult& result_;
    Reservation candidates_memory_;
    Diagrams diagrams_;
    Diagram value_;
};

}  // namespace

SpuddResult solve_spudd(const CompiledModel& model, const SpuddOptions& options, Monitor& monitor) {
    SpuddResult result;
    start(result, model, monitor);
    const JointLayout layout(model);
    const Variables variables(model, options.order);
    if (layout.state_count() > kMostJointStates || layout.most_actions() > kMostJointActions ||
        variables.count() > Diagrams::kMostVariables) {
        result.stop = Stop::memory_limit;
        result.message = "spudd cannot write down a policy for " + in_words(layout.state_count()) +
                         " joint states, with up to " + in_words(layout.most_actions()) +
                         " joint actions each, in " + in_words(variables.count()) + " variables";
        return result;
    }
    const double bytes = layout.state_count() * kBytesPerState;
    // Diagrams need most of the memory.
    const bool tables =
        layout.state_count() <= options.most_table_states && monitor.fits(4 * bytes);
    try {
        ValueIteration iteration(model, options, variables, layout, monitor, result);
        if (tables) {
            iteration.run_with_tables();
        } else {
            iteration.run_without_tables();
        }
    } catch (const LimitReached& struck) {
        result.stop = struck.stop;
        if (struck.stop == Stop::memory_limit) result.message = struck.what();
        result.upper = std::max(result.upper, result.lower);
    }
    return result;
}

}  // namespace coreplan
