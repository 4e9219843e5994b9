#include "baselines/dp.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "support/reservation.hpp"

namespace coreplan {

namespace {

constexpr double kBytesPerState = sizeof(double) + sizeof(std::uint32_t);
constexpr std::size_t kMostTableCells = 1U << 16U;  // of joint interaction rewards, per layer
constexpr std::size_t kMostTableCellsInAll = 1U << 22U;

// Untouched memory reads as this NaN: values are stored xor its bits, so that pages which the
// system hands out as zeros need not be written before use.
constexpr std::uint64_t kUnknown = 0x7ff8'0000'0000'0001ULL;

double flip(double value) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) ^ kUnknown);
}

// The interaction rewards of joint actions, by the labels of the agents' after-states.
class JointRewards {
public:
    // Stops early if the monitor says so; then nothing here is to be used.
    JointRewards(const CompiledModel& model, Monitor& monitor)
        : model_(model), monitor_(monitor), memory_(monitor) {
        const std::size_t n = model.agents.size();
        layers_.resize(model.layer_count());
        label_offset_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            label_offset_[i].assign(model.agents[i].after_label.size(), 0);
        }
        std::size_t cells_in_all = 0;
        for (Index layer = 0; layer < model.layer_count(); ++layer) {
            if (!model.unit_mass || !interacts(layer)) continue;
            if (monitor.stop() != Stop::none) return;
            tabulate(layer, cells_in_all);
        }
    }

    // Whether rewards at a layer depend on several agents.
    [[nodiscard]] bool interacts(Index layer) const {
        return !model_.interactions_at[layer].empty() || !model_.aggregates_at[layer].empty();
    }

    // What is added up over agents to find a joint interaction reward.
    [[nodiscard]] std::size_t offset(std::size_t agent, AfterId after) const {
        return label_offset_[agent][at(after)];
    }

    // Where the layer has a table: its value at the sum of offsets. Else null.
    [[nodiscard]] const double* table(Index layer) const {
        return layers_[layer].empty() ? nullptr : layers_[layer].data();
    }

    // Interaction rewards by looking at all interactions.
    [[nodiscard]] double sum(Index layer, const AfterId* afters) const {
        double total = 0;
        for (std::size_t k = 0; k < model_.interactions_at[layer].size(); ++k) {
            total += term(layer, k, afters);
        }
        return total + sums(layer, afters);
    }

    // Reward of a joint action where the outcome laws do not sum to 1: every part counts with the
    // mass of the agents that it does not look at.
    [[nodiscard]] double sum_with_mass(Index layer, const AfterId* afters,
                                       const double* own) const {
        const std::size_t n = model_.agents.size();
        double all = 1;
        for (std::size_t i = 0; i < n; ++i) all *= mass(i, afters);
        double total = model_.constant_at[layer] * all;
        for (std::size_t i = 0; i < n; ++i) total += own[i] * (all / mass(i, afters));
        for (std::size_t k = 0; k < model_.interactions_at[layer].size(); ++k) {
            double part = term(layer, k, afters) * all;
            const Index interaction = model_.interactions_at[layer][k];
            for (const InteractionMember& member : model_.interactions[interaction].members) {
                part /= mass(at(member.agent), afters);
            }
            total += part;
        }
        return total + sums(layer, afters) * all;
    }

private:
    [[nodiscard]] double mass(std::size_t agent, const AfterId* afters) const {
        return model_.agents[agent].after_mass[at(afters[agent])];
    }

    [[nodiscard]] double term(Index layer, std::size_t k, const AfterId* afters) const {
        return model_.interaction_value(layer, k, {afters, model_.agents.size()});
    }

    // What aggregates bring.
    [[nodiscard]] double sums(Index layer, const AfterId* afters) const {
        double total = 0;
        for (const Index e : model_.aggregates_at[layer]) {
            total +=
                model_.aggregate_value(model_.aggregates[e], layer, {afters, model_.agents.size()});
        }
        return total;
    }

    void tabulate(Index layer, std::size_t& cells_in_all) {
        const std::size_t n = model_.agents.size();
        // One after-state stands for each label of each agent.
        std::vector<std::vector<AfterId>> examples(n);
        std::vector<std::vector<std::size_t>> number(n);
        std::size_t cells = 1;
        for (std::size_t i = 0; i < n; ++i) {
            const CompiledAgent& agent = model_.agents[i];
            number[i].assign(agent.label_begin.size(), 0);
            for (Index k = agent.after_layer_begin[layer]; k < agent.after_layer_begin[layer + 1];
                 ++k) {
                std::size_t& known = number[i][at(agent.after_label[k])];
                if (known != 0) continue;
                examples[i].push_back(AfterId{k});
                known = examples[i].size();
            }
            cells *= examples[i].size();
            if (cells > kMostTableCells) return;
        }
        const double bytes = static_cast<double>(cells * sizeof(double));
        if (cells_in_all + cells > kMostTableCellsInAll || !monitor_.fits(bytes)) return;
        cells_in_all += cells;
        memory_.take(bytes, "the tables of joint rewards");

        std::size_t stride = 1;
        for (std::size_t i = n; i-- > 0;) {
            const CompiledAgent& agent = model_.agents[i];
            for (Index k = agent.after_layer_begin[layer]; k < agent.after_layer_begin[layer + 1];
                 ++k) {
                label_offset_[i][k] = (number[i][at(agent.after_label[k])] - 1) * stride;
            }
            stride *= examples[i].size();
        }
        layers_[layer].resize(cells);
        std::vector<AfterId> afters(n);
        std::size_t work = n + 4 * model_.interactions_at[layer].size();
        for (const Index e : model_.aggregates_at[layer]) {
            work += 4 * model_.aggregates[e].members.size();
        }
        for (std::size_t cell = 0; cell < cells; ++cell) {
            if (monitor_.tick(work)) return;
            std::size_t rest = cell;
            for (std::size_t i = n; i-- > 0;) {
                afters[i] = examples[i][rest % examples[i].size()];
                rest /= examples[i].size();
            }
            layers_[layer][cell] = sum(layer, afters.data());
        }
    }

    const CompiledModel& model_;
    Monitor& monitor_;
    Reservation memory_;
    std::vector<std::vector<double>> layers_;
    std::vector<std::vector<std::size_t>> label_offset_;  // per agent and after-state
};

// The search itself. Frames on an explicit stack, one per stage at most.
class DepthFirst {
public:
    DepthFirst(const CompiledModel& model, const JointLayout& layout, Monitor& monitor)
        : model_(model),
          monitor_(monitor),
          n_(model.agents.size()),
          layers_(model.layer_count()),
          layout_(layout),
          rewards_(model, monitor),
          values_(zeros<double>(static_cast<std::uint64_t>(layout.state_count()))),
          actions_(zeros<std::uint32_t>(static_cast<std::uint64_t>(layout.state_count()))) {
        outcome_offset_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) {
            const CompiledAgent& agent = model.agents[i];
            outcome_offset_[i].assign(agent.outcome_next.size(), 0);
            for (Index layer = 0; layer + 1 < layers_; ++layer) {
                const Index first = agent.outcome_begin[agent.after_layer_begin[layer]];
                const Index last = agent.outcome_begin[agent.after_layer_begin[layer + 1]];
                for (Index o = first; o < last; ++o) {
                    outcome_offset_[i][o] =
                        (at(agent.outcome_next[o]) - agent.layer_begin[layer + 1]) *
                        layout_.stride(layer + 1, i);
                }
            }
        }
        classes_.resize(static_cast<std::size_t>(layers_) * n_);
        digits_.resize(static_cast<std::size_t>(layers_) * n_);
        frames_.reserve(layers_);
        afters_.resize(n_);
        own_.resize(n_);
        spread_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) classes_[i] = 0;
    }

    // Runs to the end, or until the monitor says stop. `constant` is what the team gets anyway.
    void run(double constant) {
        push(0);
        if (monitor_.stop() != Stop::none) return;
        while (!frames_.empty()) {
            if (!work_on_top()) continue;  // a successor was pushed, and comes first
            if (monitor_.stop() != Stop::none) return;
            const Frame& frame = frames_.back();
            values_[frame.slot] = flip(frame.best);
            actions_[frame.slot] = frame.best_code + 1;
            if (!std::isfinite(frame.best)) {
                throw std::overflow_error("the sum of the rewards is too large");
            }
            ++monitor_.progress.states_expanded;
            root_best_ = frame.best + constant;
            frames_.pop_back();
            if (frames_.size() == 1) note_root(constant);
        }
        solved_ = true;
    }

    [[nodiscard]] bool solved() const noexcept { return solved_; }
    // The best joint action evaluated at the root so far; minus infinity if there is none.
    [[nodiscard]] double root_best(double constant) const {
        if (solved_) return root_best_;
        return frames_.empty() ? -std::numeric_limits<double>::infinity()
                               : frames_.front().best + constant;
    }

    CArray<std::uint32_t> take_actions() {
        if (!solved_) actions_[0] = frames_.front().best_code + 1;
        return std::move(actions_);
    }

    // The plain values; only if solved, when all of them are known.
    CArray<double> take_values() {
        // What the team gets anyway is added at the end, except where masses weigh it.
        double constant = 0;
        for (Index layer = layers_; layer-- > 0;) {
            if (model_.unit_mass) constant += model_.constant_at[layer];
            for (std::uint64_t k = layout_.layer_begin(layer); k < layout_.layer_begin(layer + 1);
                 ++k) {
                values_[k] = flip(values_[k]) + constant;
            }
        }
        return std::move(values_);
    }

private:
    struct Frame {
        Index layer;
        std::uint64_t slot;
        double best = -std::numeric_limits<double>::infinity();
        std::uint32_t code = 0;
        std::uint32_t best_code = 0;
    };

    // An agent with several outcomes, in the enumeration of joint outcomes.
    struct Spread {
        Index current, begin, end;
        const double* probability;
        const std::uint64_t* offset;
        double weight;          // of the agents before this one
        std::uint64_t address;  // likewise
    };

    void push(Index layer) {
        std::uint64_t slot = layout_.layer_begin(layer);
        Index* digits = digits_.data() + layer * n_;
        const Index* classes = classes_.data() + layer * n_;
        for (std::size_t i = 0; i < n_; ++i) {
            digits[i] = 0;
            const CompiledAgent& agent = model_.agents[i];
            slot += (classes[i] - agent.layer_begin[layer]) * layout_.stride(layer, i);
        }
        frames_.push_back({layer, slot});
    }

    void note_root(double constant) {
        monitor_.progress.lower =
            std::max(monitor_.progress.lower, frames_.front().best + constant);
    }

    // Evaluates joint actions of the top frame. True when all are done, or the monitor stops; false
    // if a successor has to be solved first.
    bool work_on_top() {
        Frame& frame = frames_.back();
        const Index layer = frame.layer;
        const Index* classes = classes_.data() + layer * n_;
        Index* digits = digits_.data() + layer * n_;
        const double* table = rewards_.table(layer);
        const bool interacts = rewards_.interacts(layer);
        for (;;) {
            double reward = 0;
            std::size_t label = 0;
            for (std::size_t i = 0; i < n_; ++i) {
                const CompiledAgent& agent = model_.agents[i];
                const Index action = agent.action_begin[classes[i]] + digits[i];
                afters_[i] = agent.action_after[action];
                own_[i] = agent.action_reward[action];
                reward += own_[i];
                label += rewards_.offset(i, afters_[i]);
            }
            if (!model_.unit_mass) {
                reward = rewards_.sum_with_mass(layer, afters_.data(), own_.data());
            } else if (table != nullptr) {
                reward += table[label];
            } else if (interacts) {
                reward += rewards_.sum(layer, afters_.data());
            }
            if (layer + 1 < layers_) {
                const double future = expected_future(layer);
                if (monitor_.stop() != Stop::none) return true;  // perhaps in the middle of the sum
                if (std::isnan(future)) {
                    prepare_unknown_successor(layer);
                    push(layer + 1);
                    return false;
                }
                reward += future;
            }
            ++monitor_.progress.actions_evaluated;
            if (reward > frame.best) {
                frame.best = reward;
                frame.best_code = frame.code;
            }
            ++frame.code;
            std::size_t i = n_;
            for (;;) {
                if (i == 0) {
                    monitor_.tick(16);
                    return true;
                }
                --i;
                const CompiledAgent& agent = model_.agents[i];
                const Index count =
                    agent.action_begin[classes[i] + 1] - agent.action_begin[classes[i]];
                if (++digits[i] < count) break;
                digits[i] = 0;
            }
            if (monitor_.tick(8)) return true;
        }
    }

    // Expected value of the joint outcomes of `afters_`; not a number if one is not known yet.
    // Not to be used if the monitor stops.
    double expected_future(Index layer) {
        const double* values = values_.get() + layout_.layer_begin(layer + 1);
        double weight = 1;
        std::uint64_t address = 0;
        std::size_t several = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            const CompiledAgent& agent = model_.agents[i];
            const Index begin = agent.outcome_begin[at(afters_[i])];
            const Index end = agent.outcome_begin[at(afters_[i]) + 1];
            if (end - begin == 1) {
                weight *= agent.outcome_probability[begin];
                address += outcome_offset_[i][begin];
            } else {
                spread_[several++] = {
                    begin, begin, end, agent.outcome_probability.data(), outcome_offset_[i].data(),
                    0,     0};
            }
        }
        if (several == 0) return weight * flip(values[address]);

        double total = 0;
        const std::size_t inner = several - 1;
        spread_[0].weight = weight;
        spread_[0].address = address;
        std::size_t level = 0;
        for (;;) {
            for (; level < inner; ++level) {
                const Spread& up = spread_[level];
                Spread& down = spread_[level + 1];
                down.current = down.begin;
                down.weight = up.weight * up.probability[up.current];
                down.address = up.address + up.offset[up.current];
            }
            const Spread& last = spread_[inner];
            double sum = 0;
            for (Index o = last.begin; o < last.end; ++o) {
                sum += last.probability[o] * flip(values[last.address + last.offset[o]]);
            }
            total += last.weight * sum;
            if (monitor_.tick(last.end - last.begin)) return total;
            for (;;) {
                if (level == 0) return total;
                --level;
                if (++spread_[level].current < spread_[level].end) break;
            }
        }
    }

    // Writes the classes of the first joint outcome of `afters_` whose value is not known.
    void prepare_unknown_successor(Index layer) {
        const double* values = values_.get() + layout_.layer_begin(layer + 1);
        Index* classes = classes_.data() + (layer + 1) * n_;
        std::vector<Index> outcome(n_);
        for (std::size_t i = 0; i < n_; ++i) {
            outcome[i] = model_.agents[i].outcome_begin[at(afters_[i])];
        }
        for (;;) {
            std::uint64_t address = 0;
            for (std::size_t i = 0; i < n_; ++i) address += outcome_offset_[i][outcome[i]];
            if (std::isnan(flip(values[address]))) {
                for (std::size_t i = 0; i < n_; ++i) {
                    classes[i] = static_cast<Index>(at(model_.agents[i].outcome_next[outcome[i]]));
                }
                return;
            }
            std::size_t i = n_;
            for (;;) {
                // All are known, so the sum is not a number for another reason.
                if (i == 0) throw std::overflow_error("the sum of the rewards is too large");
                --i;
                const auto& begin = model_.agents[i].outcome_begin;
                if (++outcome[i] < begin[at(afters_[i]) + 1]) break;
                outcome[i] = begin[at(afters_[i])];
            }
        }
    }

    const CompiledModel& model_;
    Monitor& monitor_;
    std::size_t n_;
    Index layers_;
    const JointLayout& layout_;
    JointRewards rewards_;
    CArray<double> values_;
    CArray<std::uint32_t> actions_;
    std::vector<std::vector<std::uint64_t>> outcome_offset_;

    std::vector<Frame> frames_;
    std::vector<Index> classes_;  // per layer and agent: the joint state of that layer's frame
    std::vector<Index> digits_;   // likewise: the joint action that is looked at
    std::vector<AfterId> afters_;
    std::vector<double> own_;
    std::vector<Spread> spread_;
    double root_best_ = 0;
    bool solved_ = false;
};

}  // namespace

DpResult solve_dp(const CompiledModel& model, Monitor& monitor) {
    DpResult result;
    start(result, model, monitor);
    const JointLayout layout(model);
    double bytes = layout.state_count() * kBytesPerState;
    for (const CompiledAgent& agent : model.agents) {
        bytes += static_cast<double>(agent.after_label.size()) * sizeof(std::size_t) +
                 static_cast<double>(agent.outcome_next.size()) * sizeof(std::uint64_t);
    }
    if (!monitor.fits(bytes) || layout.state_count() > kMostJointStates ||
        layout.most_actions() > kMostJointActions) {
        result.stop = Stop::memory_limit;
        result.message = "dp would have to remember " + in_words(layout.state_count()) +
                         " joint states (" + in_words(bytes / 1e6) + " MB), with up to " +
                         in_words(layout.most_actions()) + " joint actions each";
        return result;
    }
    Reservation memory(monitor);
    memory.take(bytes, "the table of joint states");

    double constant = 0;
    if (model.unit_mass) {
        for (const double each : model.constant_at) constant += each;
    }
    DepthFirst search(model, layout, monitor);
    search.run(constant);
    result.state_count = static_cast<std::uint64_t>(layout.state_count());
    result.states_expanded = monitor.progress.states_expanded;
    result.actions_evaluated = monitor.progress.actions_evaluated;
    const double found = search.root_best(constant);
    if (search.solved()) {
        result.lower = result.upper = found;
        result.actions = search.take_actions();
        result.values = search.take_values();
    } else {
        result.stop = monitor.stop();
        // Everything that the root's best action leads to is solved, so its value is exact.
        if (found > result.lower) {
            result.lower = found;
            result.actions = search.take_actions();
        }
        result.upper = std::max(result.upper, result.lower);
    }
    // What is handed over stays reserved, as long as the monitor is asked.
    if (result.actions != nullptr) memory.keep(layout.state_count() * kBytesPerState);
    return result;
}

}  // namespace coreplan
