#include "baselines/spudd_reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "add/diagrams.hpp"
#include "baselines/reached_policy.hpp"
#include "support/reservation.hpp"

namespace coreplan {

namespace {

constexpr double kBytesPerState = sizeof(double) + sizeof(std::uint32_t);
constexpr double kBytesPerAction = 64;  // a diagram that is held, with its place among the roots
constexpr Index kMostBits = 63;         // of one agent: the states' codes are numbers
constexpr Index kNothing = 0xffff'ffffU;

Index bits_for(std::size_t numbers) { return static_cast<Index>(std::bit_width(numbers - 1)); }

using Row = std::pair<std::uint64_t, Diagram>;

// The code of every local state: its values' bits, one variable after the other.
struct Codes {
    Index bits = 0;
    std::vector<std::uint64_t> of_state;
    std::vector<Index> ascending;  // states by code

    Codes(const FactoredAgent& agent, std::size_t states) {
        const std::size_t variables = agent.sizes.size();
        if (agent.values.size() != states * variables) {
            throw std::invalid_argument("not every local state has a value of every variable");
        }
        for (const Index size : agent.sizes) {
            if (size == 0) throw std::invalid_argument("a variable without values");
            bits += bits_for(size);
        }
        if (bits > kMostBits) return;  // too many, which is found out before codes are needed
        for (std::size_t s = 0; s < states; ++s) {
            std::uint64_t code = 0;
            for (std::size_t v = 0; v < variables; ++v) {
                const Index value = agent.values[s * variables + v];
                if (value >= agent.sizes[v]) throw std::invalid_argument("a value out of range");
                code = (code << bits_for(agent.sizes[v])) | value;
            }
            of_state.push_back(code);
            ascending.push_back(static_cast<Index>(s));
        }
        std::ranges::sort(ascending, {}, [&](Index s) { return of_state[s]; });
        for (std::size_t k = 1; k < states; ++k) {
            if (of_state[ascending[k - 1]] == of_state[ascending[k]]) {
                throw std::invalid_argument("two local states have the same values");
            }
        }
    }
};

// The order of the variables: the clock, then agent by agent; states before next states.
struct Order {
    std::vector<Index> clock, next_clock;
    std::vector<std::vector<Index>> state, next;  // per agent, the most significant bit first
    std::vector<Index> renaming;                  // from states to next states
    Index count = 0;

    Order(Index layers, std::span<const Codes> codes) {
        const auto take = [&](Index bits) {
            std::vector<Index> taken;
            for (Index k = 0; k < bits; ++k) taken.push_back(count++);
            return taken;
        };
        clock = take(bits_for(std::size_t{layers} + 1));
        next_clock = take(static_cast<Index>(clock.size()));
        for (const Codes& each : codes) {
            state.push_back(take(each.bits));
            next.push_back(take(each.bits));
        }
        renaming.resize(count);
        const auto rename = [&](const std::vector<Index>& from, const std::vector<Index>& to) {
            for (std::size_t k = 0; k < from.size(); ++k) renaming[from[k]] = to[k];
        };
        rename(clock, next_clock);
        for (std::size_t i = 0; i < state.size(); ++i) rename(state[i], next[i]);
    }
};

// What commands make agents do.
class Commands {
public:
    Commands(const Description& description, std::span<const FactoredAgent> factored)
        : description_(description), factored_(factored) {
        const Index first = description.first_stage;
        for (const AgentDescription& agent : description.agents) {
            // Layers from which on other actions are available than before.
            std::vector<Index> changes{0};
            const auto change = [&](std::uint64_t stage) {
                if (stage > first && stage < description.horizon) {
                    changes.push_back(static_cast<Index>(stage - first));
                }
            };
            for (std::size_t c = 0; c < agent.choice_count(); ++c) {
                change(agent.choice_first[c]);
                change(std::uint64_t{agent.choice_last[c]} + 1);
            }
            std::ranges::sort(changes);
            const auto rest = std::ranges::unique(changes);
            changes.erase(rest.begin(), rest.end());
            changes_.push_back(std::move(changes));
        }
    }

    [[nodiscard]] Index count(std::size_t agent) const { return factored_[agent].command_count; }
    // Layers at which what commands mean changes, ascending, the first one included.
    [[nodiscard]] const std::vector<Index>& changes(std::size_t agent) const {
        return changes_[agent];
    }
    // The choice that a command stands for; kNothing where no choice is available.
    [[nodiscard]] Index choice(std::size_t i, Index command, Index layer, Index state) const {
        const AgentDescription& agent = description_.agents[i];
        const Index stage = description_.first_stage + layer;
        Index fallback = kNothing;
        for (Index c = agent.choice_begin[state]; c < agent.choice_begin[state + 1]; ++c) {
            if (stage < agent.choice_first[c] || stage > agent.choice_last[c]) continue;
            if (factored_[i].command_of[agent.choice_action[c]] == command) return c;
            if (fallback == kNothing) fallback = c;
        }
        return fallback;
    }

private:
    const Description& description_;
    std::span<const FactoredAgent> factored_;
    std::vector<std::vector<Index>> changes_;
};

// The diagrams of the flat model: laws of agents per command, rewards per joint action.
class FlatModel {
public:
    FlatModel(const Description& description, const LocalGraphs& graphs, bool unit_mass,
              std::span<const Codes> codes, const Commands& commands, const Order& order,
              Diagrams& diagrams, Monitor& monitor)
        : description_(description),
          graphs_(graphs),
          unit_mass_(unit_mass),
          codes_(codes),
          commands_(commands),
          order_(order),
          diagrams_(diagrams),
          monitor_(monitor),
          memory_(monitor),
          layers_(description.horizon - description.first_stage) {
        make_clock();
        for (std::size_t i = 0; i < codes.size(); ++i) {
            auto& mine = laws_.emplace_back();
            auto& earned = own_.emplace_back();
            for (Index a = 0; a < commands.count(i); ++a) {
                mine.push_back(make_law(i, a));
                earned.push_back(make_own(i, a));
            }
        }
        make_values();
        std::vector<Index> given;
        make_rewards(given, diagrams_.constant(0), diagrams_.constant(1));
        own_.clear();
        values_.clear();
        factors_.clear();
        masses_.clear();
    }

    [[nodiscard]] const Diagram& clock() const { return clock_; }
    [[nodiscard]] const Diagram& law(std::size_t agent, Index command) const {
        return laws_[agent][command];
    }
    // By number, the last agent's command changing fastest.
    [[nodiscard]] const Diagram& reward(std::size_t joint) const { return rewards_[joint]; }

    [[nodiscard]] std::uint64_t node_count() const {
        std::uint64_t count = diagrams_.node_count(clock_);
        for (const auto& mine : laws_) {
            for (const Diagram& each : mine) count += diagrams_.node_count(each);
        }
        for (const Diagram& each : rewards_) count += diagrams_.node_count(each);
        return count;
    }

private:
    // The clock goes on by 1, and stops at the horizon.
    void make_clock() {
        std::vector<Diagram> rows;
        for (Index layer = 0; layer <= layers_; ++layer) {
            const std::pair<std::uint64_t, double> next{std::min(layer + 1, layers_), 1.0};
            rows.push_back(diagrams_.sparse(order_.next_clock, std::span(&next, 1)));
            monitor_.tick_or_throw(64);
        }
        clock_ = diagrams_.table(order_.clock, rows);
    }

    // A function of the clock, from one per layer. `at_end`: at the horizon; by default, what is
    // the case just before, since nothing is earned there any more.
    template <class Layer>
    Diagram by_clock(const Layer& layer_of, const std::optional<Diagram>& at_end = std::nullopt) {
        std::vector<Diagram> rows;
        for (Index layer = 0; layer < layers_; ++layer) {
            rows.push_back(layer_of(layer));
            monitor_.tick_or_throw(8);
        }
        rows.push_back(at_end ? *at_end : rows.back());
        return diagrams_.table(order_.clock, rows);
    }

    // A function of the clock and of an agent's state, from one per choice; `idle` where an agent
    // has none. It changes with what commands mean, and nowhere else.
    template <class Choice>
    Diagram by_state(std::size_t i, Index command, const Choice& of_choice,
                     const std::function<Diagram(Index)>& idle) {
        const std::vector<Index>& changes = commands_.changes(i);
        std::size_t next = 0;
        std::optional<Diagram> now;
        return by_clock([&](Index layer) {
            if (next < changes.size() && changes[next] == layer) {
                ++next;
                now = at_layer(i, command, layer, of_choice, idle);
            }
            return *now;
        });
    }

    template <class Choice>
    Diagram at_layer(std::size_t i, Index command, Index layer, const Choice& of_choice,
                     const std::function<Diagram(Index)>& idle) {
        std::vector<Row> rows;
        for (const Index s : codes_[i].ascending) {
            const Index choice = commands_.choice(i, command, layer, s);
            rows.emplace_back(codes_[i].of_state[s],
                              choice == kNothing ? idle(s) : of_choice(choice));
            monitor_.tick_or_throw(32);
        }
        return diagrams_.table(order_.state[i], rows);
    }

    // How likely an agent gets where. One that can do nothing stays.
    Diagram make_law(std::size_t i, Index command) {
        const AgentDescription& agent = description_.agents[i];
        const auto& code = codes_[i].of_state;
        std::vector<std::pair<std::uint64_t, double>> entries;
        return by_state(
            i, command,
            [&](Index choice) {
                entries.clear();
                for (Index o = agent.outcome_begin[choice]; o < agent.outcome_begin[choice + 1];
                     ++o) {
                    if (agent.outcome_probability[o] <= 0) continue;
                    entries.emplace_back(code[agent.outcome_next[o]], agent.outcome_probability[o]);
                }
                std::ranges::sort(entries);
                std::size_t kept = 0;
                for (const auto& [number, chance] : entries) {
                    if (kept > 0 && entries[kept - 1].first == number) {
                        entries[kept - 1].second += chance;
                    } else {
                        entries[kept++] = {number, chance};
                    }
                }
                entries.resize(kept);
                return diagrams_.sparse(order_.next[i], entries);
            },
            [&](Index s) {
                const std::pair<std::uint64_t, double> stay{code[s], 1.0};
                return diagrams_.sparse(order_.next[i], std::span(&stay, 1));
            });
    }

    // Σ p·f over the outcomes of a choice.
    template <class Of>
    [[nodiscard]] double expected(std::size_t i, Index choice, const Of& of) const {
        const AgentDescription& agent = description_.agents[i];
        double sum = 0;
        for (Index o = agent.outcome_begin[choice]; o < agent.outcome_begin[choice + 1]; ++o) {
            if (agent.outcome_probability[o] > 0) sum += agent.outcome_probability[o] * of(o);
        }
        return sum;
    }

    // What an agent earns by itself.
    Diagram make_own(std::size_t i, Index command) {
        const AgentRewards& rewards = graphs_.rewards.agents[i];
        const auto nothing = [&](Index) { return diagrams_.constant(0); };
        std::vector<double> now;
        std::optional<Diagram> last;
        const std::vector<Index>& changes = commands_.changes(i);
        return by_clock(
            [&](Index layer) {
                if (!last || rewards.vary() || std::ranges::binary_search(changes, layer)) {
                    rewards.rewards_at(description_.first_stage + layer, now);
                    last = at_layer(
                        i, command, layer,
                        [&](Index choice) {
                            return diagrams_.constant(
                                expected(i, choice, [&](Index o) { return now[o]; }));
                        },
                        nothing);
                }
                return *last;
            },
            diagrams_.constant(0));
    }

    // How likely an agent makes a signal.
    const Diagram& factor(std::size_t i, Index command, SignalId signal) {
        const auto key = std::tuple(i, command, at(signal));
        if (const auto known = factors_.find(key); known != factors_.end()) return known->second;
        const AgentRewards& rewards = graphs_.rewards.agents[i];
        const auto matches = [&](Index o) {
            for (Index k = rewards.transition_signal_begin[o];
                 k < rewards.transition_signal_begin[o + 1]; ++k) {
                if (rewards.transition_signal[k] == signal) return 1.0;
            }
            return 0.0;
        };
        Diagram made = by_state(
            i, command,
            [&](Index choice) { return diagrams_.constant(expected(i, choice, matches)); },
            [&](Index) { return diagrams_.constant(0); });
        return factors_.emplace(key, std::move(made)).first->second;
    }

    // What the probabilities of an agent's outcomes add up to.
    const Diagram& mass(std::size_t i, Index command) {
        const auto key = std::pair(i, command);
        if (const auto known = masses_.find(key); known != masses_.end()) return known->second;
        Diagram made = by_state(
            i, command,
            [&](Index choice) {
                return diagrams_.constant(expected(i, choice, [](Index) { return 1.0; }));
            },
            [&](Index) { return diagrams_.constant(1); });
        return masses_.emplace(key, std::move(made)).first->second;
    }

    // What the team gets anyway, and what interactions are worth, by the clock.
    void make_values() {
        const auto over_time = [&](const StageValue& value) {
            return by_clock(
                [&](Index layer) {
                    return diagrams_.constant(value.at_stage(description_.first_stage + layer));
                },
                diagrams_.constant(0));
        };
        constant_ = over_time(graphs_.rewards.constant);
        for (const Interaction& each : graphs_.rewards.interactions) {
            values_.push_back(over_time(each.value));
        }
    }

    // All joint actions: `given` are the commands of the first agents, `earned` what these earn by
    // themselves and together, `all` the mass of their outcomes. Where laws do not sum to 1, a
    // reward counts with the mass of the agents that it does not look at.
    void make_rewards(std::vector<Index>& given, const Diagram& earned, const Diagram& all) {
        const std::size_t i = given.size();
        if (i == description_.agents.size()) {
            memory_.take(kBytesPerAction, "the rewards of joint actions");
            rewards_.push_back(diagrams_.plus(earned, diagrams_.times(all, constant_)));
            return;
        }
        for (Index command = 0; command < commands_.count(i); ++command) {
            given.push_back(command);
            Diagram sum = diagrams_.times(all, own_[i][command]);
            for (std::size_t k = 0; k < graphs_.rewards.interactions.size(); ++k) {
                if (at(graphs_.rewards.interactions[k].members.back().agent) == i) {
                    sum = diagrams_.plus(sum, term(k, given));
                }
            }
            if (unit_mass_) {
                make_rewards(given, diagrams_.plus(earned, sum), all);
            } else {
                const Diagram& here = mass(i, command);
                make_rewards(given, diagrams_.plus(diagrams_.times(earned, here), sum),
                             diagrams_.times(all, here));
            }
            given.pop_back();
        }
    }

    // What an interaction brings, given the commands of all agents up to its last one.
    Diagram term(std::size_t k, const std::vector<Index>& given) {
        const Interaction& interaction = graphs_.rewards.interactions[k];
        Diagram product = values_[k];
        // From the last variables on: intermediate products stay small.
        for (std::size_t i = given.size(); i-- > 0;) {
            const auto member =
                std::ranges::find(interaction.members, as<AgentId>(i), &InteractionMember::agent);
            if (member != interaction.members.end()) {
                product = diagrams_.times(factor(i, given[i], member->signal), product);
            } else if (!unit_mass_) {
                product = diagrams_.times(mass(i, given[i]), product);
            }
        }
        return product;
    }

    const Description& description_;
    const LocalGraphs& graphs_;
    bool unit_mass_;
    std::span<const Codes> codes_;
    const Commands& commands_;
    const Order& order_;
    Diagrams& diagrams_;
    Monitor& monitor_;
    Reservation memory_;
    Index layers_;
    Diagram clock_;
    std::vector<std::vector<Diagram>> laws_;  // per agent and command
    std::vector<Diagram> rewards_;            // per joint action
    // Until the rewards are made: per agent and command, per interaction, and what is there anyway.
    std::vector<std::vector<Diagram>> own_;
    std::vector<Diagram> values_;
    Diagram constant_;
    std::map<std::tuple<std::size_t, Index, std::size_t>, Diagram> factors_;
    std::map<std::pair<std::size_t, Index>, Diagram> masses_;
};

// From commands to the actions of a compiled model, and from its classes to codes.
class Translation {
public:
    Translation(const LocalGraphs& graphs, const CompiledModel& model, std::span<const Codes> codes,
                const Commands& commands)
        : model_(model), commands_(commands), codes_(codes) {
        for (std::size_t i = 0; i < model.agents.size(); ++i) {
            const CompiledAgent& agent = model.agents[i];
            std::vector<Index>& nodes = node_of_.emplace_back(agent.class_count());
            for (std::size_t k = 0; k < agent.node_class.size(); ++k) {
                nodes[at(agent.node_class[k])] = static_cast<Index>(k);
            }
            state_of_.emplace_back(agent.class_count());
            for (std::size_t c = 0; c < nodes.size(); ++c) {
                state_of_[i][c] = static_cast<Index>(at(graphs.agents[i].node_state[nodes[c]]));
            }
        }
    }

    // `c`: a class within the layer.
    [[nodiscard]] std::uint64_t code(std::size_t i, Index layer, Index c) const {
        return codes_[i].of_state[state_of_[i][model_.agents[i].layer_begin[layer] + c]];
    }

    // The position among the actions of a class of what a command stands for there.
    [[nodiscard]] Index position(std::size_t i, Index layer, Index c, Index command) const {
        const CompiledAgent& agent = model_.agents[i];
        const Index k = agent.layer_begin[layer] + c;
        const Index choice = commands_.choice(i, command, layer, state_of_[i][k]);
        const Index begin = agent.node_choice_begin[node_of_[i][k]];
        for (Index a = begin; a < agent.node_choice_begin[node_of_[i][k] + 1]; ++a) {
            if (at(agent.node_choice[a]) == choice) return a - begin;
        }
        throw std::logic_error("an action that the model does not have");
    }

private:
    const CompiledModel& model_;
    const Commands& commands_;
    std::span<const Codes> codes_;
    std::vector<std::vector<Index>> node_of_, state_of_;  // per agent and class
};

class Sweeps {
public:
    Sweeps(const FlatModel& flat, const Commands& commands, const Order& order, Diagrams& diagrams,
           SpuddReferenceResult& result)
        : flat_(flat),
          commands_(commands),
          order_(order),
          diagrams_(diagrams),
          result_(result),
          value_(diagrams.constant(0)),
          best_(diagrams.constant(0)) {}

    void run(Index sweeps) {
        for (Index k = 0; k < sweeps; ++k) {
            sweep(k + 1 == sweeps);
            ++result_.sweeps;
            result_.value_nodes += diagrams_.node_count(value_);
        }
    }

    [[nodiscard]] const Diagram& value() const { return value_; }
    // The number of the best joint action, after the last sweep.
    [[nodiscard]] const Diagram& best() const { return best_; }

private:
    void sweep(bool last) {
        const Diagram next =
            diagrams_.sum_of_products(flat_.clock(), diagrams_.rename(value_, order_.renaming),
                                      diagrams_.cube(order_.next_clock));
        std::optional<Diagram> most;
        // From the last agent on; those that are told the same so far share the work.
        const auto go = [&](const auto& self, std::size_t agents, const Diagram& future,
                            std::size_t joint, std::size_t stride) -> void {
            if (agents == 0) {
                add(diagrams_.plus(future, flat_.reward(joint)), joint, most, last);
                return;
            }
            const std::size_t i = agents - 1;
            for (Index command = 0; command < commands_.count(i); ++command) {
                self(self, i,
                     diagrams_.sum_of_products(flat_.law(i, command), future,
                                               diagrams_.cube(order_.next[i])),
                     joint + command * stride, stride * commands_.count(i));
            }
        };
        go(go, order_.state.size(), next, 0, 1);
        value_ = std::move(*most);
    }

    // One more joint action.
    void add(Diagram value, std::size_t joint, std::optional<Diagram>& most, bool last) {
        ++result_.backups;
        const auto number = static_cast<double>(joint);
        if (!most) {
            most = std::move(value);
            if (last) best_ = diagrams_.constant(number);
            return;
        }
        Diagram more = diagrams_.max(*most, value);
        if (last) {
            // The action is new where the maximum has grown.
            const Diagram kept = diagrams_.equal(more, *most);
            best_ = diagrams_.plus(diagrams_.times(kept, best_),
                                   diagrams_.times(diagrams_.minus(diagrams_.constant(1), kept),
                                                   diagrams_.constant(number)));
        }
        most = std::move(more);
    }

    const FlatModel& flat_;
    const Commands& commands_;
    const Order& order_;
    Diagrams& diagrams_;
    SpuddReferenceResult& result_;
    Diagram value_, best_;
};

// Writes down what is best in joint states of the compiled model.
class Writer {
public:
    Writer(const CompiledModel& model, const JointLayout& layout, const Translation& translation,
           const Commands& commands, const Order& order, const Diagrams& diagrams,
           const Sweeps& sweeps, Monitor& monitor)
        : model_(model),
          layout_(layout),
          translation_(translation),
          commands_(commands),
          order_(order),
          diagrams_(diagrams),
          sweeps_(sweeps),
          monitor_(monitor),
          classes_(model.agents.size()),
          actions_(model.agents.size()) {}

    void all_states(SpuddReferenceResult& result) {
        const auto states = static_cast<std::uint64_t>(layout_.state_count());
        Reservation table(monitor_);
        table.take(static_cast<double>(states) * kBytesPerState, "the table of joint states");
        CArray<std::uint32_t> actions = zeros<std::uint32_t>(states);
        CArray<double> values = zeros<double>(states);
        for (Index layer = 0; layer < model_.layer_count(); ++layer) {
            std::uint64_t slot = layout_.layer_begin(layer);
            visit(layer, 0, start(layer), [&](const Place& place) {
                set_actions(layer, classes_, place, actions_);
                actions[slot] = joint_action_number(model_, layer, classes_, actions_);
                values[slot++] = diagrams_.value(place.value);
            });
        }
        result.actions = std::move(actions);
        result.values = std::move(values);
        result.state_count = states;
        table.keep_all();  // what is handed over stays reserved, as long as the monitor is asked
    }

    void reached_states(SpuddReferenceResult& result) {
        const auto choose = [&](Index layer, const std::vector<Index>& classes,
                                std::vector<Index>& actions) {
            Place place = start(layer);
            for (std::size_t i = 0; i < classes.size(); ++i) {
                place = follow(place, order_.state[i], translation_.code(i, layer, classes[i]));
            }
            set_actions(layer, classes, place, actions);
        };
        write_reached_policy(model_, layout_, choose, monitor_, result);
    }

private:
    struct Place {
        DiagramNode value, best;
    };

    [[nodiscard]] Place start(Index layer) const {
        return follow({sweeps_.value().root(), sweeps_.best().root()}, order_.clock, layer);
    }

    [[nodiscard]] Place follow(Place place, std::span<const Index> variables,
                               std::uint64_t code) const {
        for (std::size_t k = 0; k < variables.size(); ++k) {
            const bool bit = ((code >> (variables.size() - 1 - k)) & 1U) != 0;
            place = {diagrams_.cofactor(place.value, variables[k], bit),
                     diagrams_.cofactor(place.best, variables[k], bit)};
        }
        return place;
    }

    // All joint states of a layer, the last agent's changing fastest.
    template <class Visit>
    void visit(Index layer, std::size_t i, const Place& place, const Visit& done) {
        if (monitor_.tick(16)) {
            throw LimitReached(monitor_.stop(), "stopped while the policy was written down");
        }
        if (i == classes_.size()) {
            done(place);
            return;
        }
        const auto count = static_cast<Index>(model_.agents[i].layer_size(layer));
        for (Index c = 0; c < count; ++c) {
            classes_[i] = c;
            visit(layer, i + 1, follow(place, order_.state[i], translation_.code(i, layer, c)),
                  done);
        }
    }

    void set_actions(Index layer, const std::vector<Index>& classes, const Place& place,
                     std::vector<Index>& actions) const {
        auto joint = static_cast<std::uint64_t>(diagrams_.value(place.best));
        for (std::size_t i = classes.size(); i-- > 0;) {
            const auto command = static_cast<Index>(joint % commands_.count(i));
            joint /= commands_.count(i);
            actions[i] = translation_.position(i, layer, classes[i], command);
        }
    }

    const CompiledModel& model_;
    const JointLayout& layout_;
    const Translation& translation_;
    const Commands& commands_;
    const Order& order_;
    const Diagrams& diagrams_;
    const Sweeps& sweeps_;
    Monitor& monitor_;
    std::vector<Index> classes_, actions_;
};

}  // namespace

SpuddReferenceResult solve_spudd_reference(const Description& description,
                                           const LocalGraphs& graphs, const CompiledModel& model,
                                           std::span<const FactoredAgent> factored,
                                           double most_table_states, Monitor& monitor) {
    if (factored.size() != description.agents.size()) {
        throw std::invalid_argument("variables of other agents");
    }
    if (!graphs.rewards.aggregates.empty()) {
        throw std::invalid_argument("aggregates have to be described by entries");
    }
    SpuddReferenceResult result;
    start(result, model, monitor);
    std::vector<Codes> codes;
    double joint = 1;
    bool short_codes = true;
    for (std::size_t i = 0; i < factored.size(); ++i) {
        codes.emplace_back(factored[i], description.agents[i].state_count);
        short_codes = short_codes && codes.back().bits <= kMostBits;
        joint *= factored[i].command_count;
    }
    const Order order(model.layer_count(), codes);
    const JointLayout layout(model);
    result.variables = order.count / 2;
    if (layout.state_count() > kMostJointStates || joint > kMostJointActions || !short_codes ||
        order.count > Diagrams::kMostVariables) {
        result.stop = Stop::memory_limit;
        result.message = "spudd cannot write down a policy for " + in_words(layout.state_count()) +
                         " joint states, with " + in_words(joint) + " joint actions, in " +
                         in_words(order.count) + " variables";
        return result;
    }
    result.joint_actions = static_cast<std::uint64_t>(joint);
    const double bytes = layout.state_count() * kBytesPerState;
    const bool tables = layout.state_count() <= most_table_states && monitor.fits(4 * bytes);
    try {
        Diagrams diagrams(order.count, monitor);
        struct Counts {  // also where a limit strikes
            const Diagrams& diagrams;
            SpuddReferenceResult& result;
            ~Counts() {
                result.peak_nodes = diagrams.peak_nodes();
                result.collections = diagrams.collections();
            }
        };
        const Counts counts{diagrams, result};
        const Commands commands(description, factored);
        const FlatModel flat(description, graphs, model.unit_mass, codes, commands, order, diagrams,
                             monitor);
        result.model_nodes = flat.node_count();
        Sweeps sweeps(flat, commands, order, diagrams, result);
        sweeps.run(model.layer_count());
        std::vector<bool> start(order.count);
        for (std::size_t i = 0; i < codes.size(); ++i) {
            const std::uint64_t code = codes[i].of_state[at(description.start[i])];
            for (Index k = 0; k < codes[i].bits; ++k) {
                start[order.state[i][k]] = ((code >> (codes[i].bits - 1 - k)) & 1U) != 0;
            }
        }
        const Translation translation(graphs, model, codes, commands);
        Writer writer(model, layout, translation, commands, order, diagrams, sweeps, monitor);
        if (tables) {
            writer.all_states(result);
        } else {
            writer.reached_states(result);
        }
        result.lower = result.upper = diagrams.evaluate(sweeps.value(), start);
    } catch (const LimitReached& struck) {
        result.stop = struck.stop;
        if (struck.stop == Stop::memory_limit) result.message = struck.what();
    }
    return result;
}

}  // namespace coreplan
