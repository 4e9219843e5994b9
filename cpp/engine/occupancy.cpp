#include "engine/occupancy.hpp"

#include <algorithm>
#include <limits>

namespace coreplan {

namespace {

void collect(std::vector<double>& dense, Chances& sparse) {
    sparse.at.clear();
    sparse.chance.clear();
    for (std::size_t k = 0; k < dense.size(); ++k) {
        if (dense[k] == 0) continue;
        sparse.at.push_back(static_cast<Index>(k));
        sparse.chance.push_back(dense[k]);
        dense[k] = 0;
    }
}

// The position of the pair's after-states in its block, or its size if they do not interact.
std::size_t entry(const Team& team, const Team::Pair& pair, Index layer,
                  const std::vector<Index>& after) {
    const auto first = pair.block->column.begin();
    const auto begin = first + pair.block->row_begin[after[pair.first]];
    const auto end = first + pair.block->row_begin[after[pair.first] + 1];
    if (begin == end) return pair.block->column.size();
    const Index column = after[pair.second] - (*team.modes[pair.second])[layer].after_first;
    const auto found = std::lower_bound(begin, end, column);
    if (found == end || *found != column) return pair.block->column.size();
    return static_cast<std::size_t>(found - first);
}

// What a team adds to the sum of an aggregate.
std::size_t units_of(const CompiledModel& model, const Team& team, const Team::Sum& sum,
                     const std::vector<Index>& after) {
    std::size_t units = 0;
    for (const AggregateMember& member : model.aggregates[sum.aggregate].members) {
        const std::size_t m = position_in(team.agents, member.agent);
        if (m < team.agents.size()) units += model.units(member, AfterId{after[m]});
    }
    return units;
}

// Finds the best joint action of joint states of one layer.
class Lookahead {
public:
    Lookahead(const CompiledModel& model, const Team& team, const TeamSolution& solution)
        : model_(model), team_(team), solution_(solution), k_(team.agents.size()) {
        state.resize(k_);
        action.resize(k_);
        after.resize(k_);
        step_.resize(k_);
        digit_.resize(k_);
        best_.resize(k_);
    }

    std::vector<Index> state;   // per agent, within the layer
    std::vector<Index> action;  // per agent, by the model's numbers: the best
    std::vector<Index> after;

    // Returns how many joint next states there are.
    std::uint64_t begin_layer(Index layer) {
        layer_ = layer;
        std::uint64_t cells = 1;
        for (std::size_t m = k_; m-- > 0;) {
            step_[m] = cells;
            cells *= (*team_.modes[m])[layer].nexts;
        }
        wide_.clear();
        for (const Index e : team_.wide) {
            const double value = model_.interactions[e].value_at(model_.first_stage + layer);
            if (value != 0) wide_.emplace_back(e, value);
        }
        sums_.clear();
        for (const Team::Sum& sum : team_.sums) {
            const double* values = sum_values(model_, sum, layer);
            if (values != nullptr) sums_.emplace_back(&sum, values);
        }
        return cells;
    }

    // Sets `state`, `action` and `after` for a joint state.
    void choose(std::uint64_t number) {
        bool choice = false;
        for (std::size_t m = k_; m-- > 0;) {
            const Mode& mode = (*team_.modes[m])[layer_];
            state[m] = static_cast<Index>(number % mode.states);
            number /= mode.states;
            choice = choice || mode.action_count[state[m]] > 1;
            digit_[m] = 0;
            best_[m] = 0;
        }
        if (choice) {
            double most = -std::numeric_limits<double>::infinity();
            do {
                take(digit_);
                const double value = worth();
                if (value > most) {
                    most = value;
                    best_ = digit_;
                }
            } while (next_digits());
        }
        take(best_);
    }

    // Where the chosen action leads: (joint next state, chance).
    const std::vector<std::pair<std::uint64_t, double>>& outcomes(double chance) {
        outcomes_.assign(1, {0, chance});
        for (std::size_t m = 0; m < k_; ++m) {
            const Mode& mode = (*team_.modes[m])[layer_];
            const Index f = after[m] - mode.after_first;
            wider_.clear();
            for (const auto& [base, mass] : outcomes_) {
                for (Index o = mode.outcome_begin[f]; o < mode.outcome_begin[f + 1]; ++o) {
                    wider_.emplace_back(base + mode.next[o] * step_[m], mass * mode.probability[o]);
                }
            }
            std::swap(outcomes_, wider_);
        }
        return outcomes_;
    }

private:
    void take(const std::vector<Index>& digits) {
        for (std::size_t m = 0; m < k_; ++m) {
            const CompiledAgent& agent = model_.agents[at(team_.agents[m])];
            const Index c = (*team_.modes[m])[layer_].class_first + state[m];
            action[m] = agent.action_begin[c] + digits[m];
            after[m] = static_cast<Index>(at(agent.action_after[action[m]]));
        }
    }

    bool next_digits() {
        for (std::size_t m = k_; m-- > 0;) {
            if (++digit_[m] < (*team_.modes[m])[layer_].action_count[state[m]]) return true;
            digit_[m] = 0;
        }
        return false;
    }

    double worth() {
        double sum = 0;
        for (std::size_t m = 0; m < k_; ++m) sum += team_.rewards[m][action[m]];
        for (const Team::Pair& pair : team_.pairs) {
            const std::size_t x = entry(team_, pair, layer_, after);
            if (x < pair.block->column.size()) sum += pair.value[x];
        }
        for (const auto& [e, value] : wide_) sum += value * wide_chance(model_.interactions[e]);
        for (const auto& [each, values] : sums_) {
            sum += values[units_of(model_, team_, *each, after)];
        }
        if (layer_ + 1 == model_.layer_count()) return sum;
        const double* next = solution_.values.data() + solution_.layer_begin[layer_ + 1];
        for (const auto& [there, mass] : outcomes(1.0)) sum += mass * next[there];
        return sum;
    }

    [[nodiscard]] double wide_chance(const CompiledInteraction& interaction) const {
        double product = 1;
        for (const InteractionMember& member : interaction.members) {
            const std::size_t m = position_in(team_.agents, member.agent);
            product *= model_.agents[at(member.agent)].chance(after[m], member.signal);
        }
        return product;
    }

    const CompiledModel& model_;
    const Team& team_;
    const TeamSolution& solution_;
    std::size_t k_;
    Index layer_ = 0;
    std::vector<std::uint64_t> step_;
    std::vector<Index> digit_;
    std::vector<Index> best_;
    std::vector<std::pair<Index, double>> wide_;
    std::vector<std::pair<const Team::Sum*, const double*>> sums_;
    std::vector<std::pair<std::uint64_t, double>> outcomes_;
    std::vector<std::pair<std::uint64_t, double>> wider_;
};

}  // namespace

bool walk(const CompiledModel& model, const Team& team, const TeamSolution& solution,
          WalkBuffers& buffers, Monitor& monitor, const std::function<bool(const Visit&)>& visit) {
    auto& now = buffers.now;
    auto& next = buffers.next;
    now.assign(1, 0);
    buffers.chance.assign(1, 1.0);
    Lookahead ahead(model, team, solution);
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        const std::uint64_t cells = ahead.begin_layer(layer);
        if (buffers.mass.size() < cells) buffers.mass.resize(cells, 0.0);
        next.clear();
        for (std::size_t x = 0; x < now.size(); ++x) {
            const double chance = buffers.chance[x];
            ahead.choose(now[x]);
            const bool goes_on = visit({layer, chance, ahead.state, ahead.action, ahead.after});
            const auto& outcomes = ahead.outcomes(chance);
            for (const auto& [there, mass] : outcomes) {
                if (buffers.mass[there] == 0) next.push_back(there);
                buffers.mass[there] += mass;
            }
            if (!goes_on || monitor.tick(cost::kFollow * outcomes.size())) {
                for (const std::uint64_t there : next) buffers.mass[there] = 0;
                return false;
            }
        }
        std::ranges::sort(next);
        next.erase(std::ranges::unique(next).begin(), next.end());
        buffers.chance.clear();
        for (const std::uint64_t there : next) {
            buffers.chance.push_back(buffers.mass[there]);
            buffers.mass[there] = 0;
        }
        std::swap(now, next);
    }
    return true;
}

bool follow(const CompiledModel& model, const Team& team, const TeamSolution& solution,
            Occupancy& occupancy, OccupancyBuffers& buffers, Monitor& monitor) {
    const std::size_t k = team.agents.size();
    buffers.actions.resize(k);
    buffers.pairs.resize(team.pairs.size());
    for (std::size_t m = 0; m < k; ++m) {
        buffers.actions[m].assign(model.agents[at(team.agents[m])].action_reward.size(), 0.0);
    }
    for (std::size_t p = 0; p < team.pairs.size(); ++p) {
        buffers.pairs[p].assign(team.pairs[p].block->column.size(), 0.0);
    }
    buffers.sums.resize(team.sums.size());
    for (std::size_t g = 0; g < team.sums.size(); ++g) {
        const CompiledAggregate& aggregate = model.aggregates[team.sums[g].aggregate];
        buffers.sums[g].assign(aggregate.layers.size() * team.sums[g].width, 0.0);
    }
    occupancy.states = 0;
    const auto count = [&](const Visit& here) {
        ++occupancy.states;
        for (std::size_t m = 0; m < k; ++m) buffers.actions[m][here.actions[m]] += here.chance;
        for (std::size_t p = 0; p < team.pairs.size(); ++p) {
            const std::size_t x = entry(team, team.pairs[p], here.layer, here.afters);
            if (x < buffers.pairs[p].size()) buffers.pairs[p][x] += here.chance;
        }
        for (std::size_t g = 0; g < team.sums.size(); ++g) {
            const Team::Sum& sum = team.sums[g];
            const auto& layers = model.aggregates[sum.aggregate].layers;
            const auto found = std::ranges::lower_bound(layers, here.layer);
            if (sum.width == 0 || found == layers.end() || *found != here.layer) continue;
            const auto row = static_cast<std::size_t>(found - layers.begin());
            buffers.sums[g][row * sum.width + units_of(model, team, sum, here.afters)] +=
                here.chance;
        }
        return true;
    };
    if (!walk(model, team, solution, buffers.walk, monitor, count)) return false;
    occupancy.actions.resize(k);
    occupancy.pairs.resize(team.pairs.size());
    for (std::size_t m = 0; m < k; ++m) collect(buffers.actions[m], occupancy.actions[m]);
    for (std::size_t p = 0; p < team.pairs.size(); ++p) {
        collect(buffers.pairs[p], occupancy.pairs[p]);
    }
    occupancy.sums.resize(team.sums.size());
    for (std::size_t g = 0; g < team.sums.size(); ++g) {
        collect(buffers.sums[g], occupancy.sums[g]);
    }
    return true;
}

}  // namespace coreplan
