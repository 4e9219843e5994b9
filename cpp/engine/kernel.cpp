#include "engine/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/rows.hpp"
#include "support/work_list.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kWorthThreads = 1U << 15U;  // cells of a stage

// The work of one row of the last agent's states.
constexpr std::uint64_t row_work(std::size_t width) {
    return cost::kKernelRow + cost::kKernelCell * width;
}

// An interaction of three and more members inside the team, at one layer.
struct Bond {
    double value;
    Index members;
    std::size_t last;                                    // the mode of its last member
    std::vector<std::pair<Index, double>> last_factors;  // (after-state, chance) of that member
};

// A reward for a sum over agents, at one layer.
struct Sum {
    const double* values;
    std::vector<std::vector<Index>> units;  // per mode and after-state; empty if it adds nothing
    std::vector<Index> slot_units;          // per slot of the last mode; empty if it adds nothing
};

// One layer of a team.
struct Stage {
    std::vector<const Mode*> modes;
    std::vector<const double*> rewards;  // per mode, from the layer's first action
    // Rewards of the last mode's slots; then the same with what pairs of the last two modes give,
    // for those after-states of the last but one that take part.
    std::vector<double> slot_reward;
    std::vector<std::size_t> reward_row;   // per after-state of the last but one: where it begins
    std::vector<std::size_t> inner_next;   // per mode: next states of all modes after it
    std::vector<std::size_t> inner_state;  // the same for states
    std::vector<std::vector<std::uint32_t>> radix;  // per mode and inner joint state: its actions
    std::vector<std::vector<std::size_t>> pairs_from;  // per mode: pairs whose first it is
    std::vector<Bond> bonds;
    // Per mode and after-state: what it does to bonds.
    std::vector<std::vector<std::vector<std::pair<Index, double>>>> factors;
    std::vector<Sum> sums;
};

void add_bonds(Stage& stage, const CompiledModel& model, const Team& team, Index layer) {
    if (team.wide.empty()) return;
    const std::size_t k = team.agents.size();
    stage.factors.resize(k);
    for (std::size_t m = 0; m < k; ++m) stage.factors[m].resize(stage.modes[m]->afters);
    for (const Index e : team.wide) {
        const CompiledInteraction& interaction = model.interactions[e];
        const double value = interaction.value_at(model.first_stage + layer);
        if (value == 0) continue;
        const auto b = static_cast<Index>(stage.bonds.size());
        Bond bond{value, static_cast<Index>(interaction.members.size()), 0, {}};
        std::vector<std::pair<Index, double>> mine;
        for (const InteractionMember& member : interaction.members) {
            const std::size_t m = position_in(team.agents, member.agent);
            const CompiledAgent& agent = model.agents[at(member.agent)];
            mine.clear();
            for (Index f = 0; f < stage.modes[m]->afters; ++f) {
                const double chance = agent.chance(stage.modes[m]->after_first + f, member.signal);
                if (chance == 0) continue;
                mine.emplace_back(f, chance);
                stage.factors[m][f].emplace_back(b, chance);
            }
            if (m >= bond.last) {
                bond.last = m;
                bond.last_factors = mine;
            }
        }
        stage.bonds.push_back(std::move(bond));
    }
}

void add_sums(Stage& stage, const CompiledModel& model, const Team& team, Index layer) {
    const std::size_t k = team.agents.size();
    for (const Team::Sum& each : team.sums) {
        const double* values = sum_values(model, each, layer);
        if (values == nullptr) continue;
        Sum& sum = stage.sums.emplace_back();
        sum.values = values;
        sum.units.resize(k);
        for (const AggregateMember& member : model.aggregates[each.aggregate].members) {
            const std::size_t m = position_in(team.agents, member.agent);
            if (m == k) continue;
            const Mode& mode = *stage.modes[m];
            for (Index f = 0; f < mode.afters; ++f) {
                sum.units[m].push_back(model.units(member, AfterId{mode.after_first + f}));
            }
        }
        const Mode& last = *stage.modes.back();
        if (sum.units.back().empty()) continue;
        sum.slot_units.resize(last.slots());
        for (Index f = 0; f < last.afters; ++f) {
            for (Index x = last.after_slot_begin[f]; x < last.after_slot_begin[f + 1]; ++x) {
                sum.slot_units[last.after_slot[x]] = sum.units.back()[f];
            }
        }
    }
}

void add_to_slots(const Mode& mode, Index after, double value, double* row) {
    for (Index x = mode.after_slot_begin[after]; x < mode.after_slot_begin[after + 1]; ++x) {
        row[mode.after_slot[x]] += value;
    }
}

void make_reward_rows(Stage& stage, const Team& team) {
    const std::size_t k = team.agents.size();
    const Mode& last = *stage.modes.back();
    for (const Index action : last.slot_action) {
        stage.slot_reward.push_back(stage.rewards.back()[action]);
    }
    if (k < 2) return;
    const Mode& mode = *stage.modes[k - 2];
    stage.reward_row.assign(mode.afters, 0);
    for (const std::size_t p : stage.pairs_from[k - 2]) {
        const Team::Pair& pair = team.pairs[p];  // its second can only be the last mode
        for (Index f = 0; f < mode.afters; ++f) {
            const Index row = mode.after_first + f;
            const Index begin = pair.block->row_begin[row];
            const Index end = pair.block->row_begin[row + 1];
            if (begin == end) continue;
            if (stage.reward_row[f] == 0) {
                stage.reward_row[f] = stage.slot_reward.size();
                stage.slot_reward.resize(stage.slot_reward.size() + last.slots());
                std::copy_n(stage.slot_reward.begin(), last.slots(),
                            stage.slot_reward.end() - static_cast<std::ptrdiff_t>(last.slots()));
            }
            double* out = stage.slot_reward.data() + stage.reward_row[f];
            for (Index x = begin; x < end; ++x) {
                add_to_slots(last, pair.block->column[x], pair.value[x], out);
            }
        }
    }
}

Stage make_stage(const CompiledModel& model, const Team& team, Index layer, bool policy) {
    Stage stage;
    const std::size_t k = team.agents.size();
    stage.pairs_from.resize(k);
    for (std::size_t m = 0; m < k; ++m) {
        stage.modes.push_back(&(*team.modes[m])[layer]);
        stage.rewards.push_back(team.rewards[m] + stage.modes[m]->action_first);
    }
    for (std::size_t p = 0; p < team.pairs.size(); ++p) {
        const Team::Pair& pair = team.pairs[p];
        const Mode& first = *stage.modes[pair.first];
        // Pairs that have nothing at this layer need not be looked at.
        if (pair.block->row_begin[first.after_first] !=
            pair.block->row_begin[first.after_first + first.afters]) {
            stage.pairs_from[pair.first].push_back(p);
        }
    }
    make_reward_rows(stage, team);
    stage.inner_next.assign(k, 1);
    stage.inner_state.assign(k, 1);
    for (std::size_t m = k; m-- > 1;) {
        stage.inner_next[m - 1] = stage.inner_next[m] * stage.modes[m]->nexts;
        stage.inner_state[m - 1] = stage.inner_state[m] * stage.modes[m]->states;
    }
    stage.radix.resize(k);
    if (policy) {
        stage.radix[k - 1].assign(1, 1);
        for (std::size_t m = k; m-- > 1;) {
            auto& wider = stage.radix[m - 1];
            wider.reserve(stage.inner_state[m - 1]);
            for (const Index count : stage.modes[m]->action_count) {
                for (const std::uint32_t each : stage.radix[m]) wider.push_back(count * each);
            }
        }
    }
    add_bonds(stage, model, team, layer);
    add_sums(stage, model, team, layer);
    return stage;
}

// Solves parts of a stage. One per thread, for all stages.
template <bool kPolicy>
class Worker {
public:
    Worker(const Team& team, std::size_t modes) : team_(team), k_(modes), levels_(modes) {}

    void begin(const Stage& stage) {
        stage_ = &stage;
        for (std::size_t m = 0; m + 1 < k_; ++m) {
            levels_[m].averaged.resize(std::max(levels_[m].averaged.size(), width_next(m)));
            levels_[m].value.resize(std::max(levels_[m].value.size(), stage.inner_state[m]));
            if (kPolicy) levels_[m].code.resize(levels_[m].value.size());
            levels_[m].extra.assign(stage.modes[m]->afters, 0.0);
            levels_[m].bonus.resize(std::max(levels_[m].bonus.size(), stage.modes.back()->slots()));
        }
        const Mode& last = *stage.modes.back();
        row_.resize(std::max<std::size_t>(row_.size(), last.slots()));
        sorted_.resize(std::max<std::size_t>(sorted_.size(), last.states));
        if (kPolicy) sorted_code_.resize(sorted_.size());
        strength_.assign(stage.bonds.size(), 1.0);
        matched_.assign(stage.bonds.size(), 0);
        sums_.assign(stage.sums.size(), 0);
        fixed_ = 0;
        bonus_ = nullptr;
        reward_row_ = stage.slot_reward.data();
    }

    // The last mode's expectation, for each row of a table, with what its pairs with fixed modes
    // give.
    void spread(const double* next, double* out, std::size_t count) const {
        const Mode& last = *stage_->modes.back();
        const std::size_t slots = last.slots();
        for (std::size_t r = 0; r < count; ++r, next += last.nexts, out += slots) {
            rows::gather(out, next, last.slot_next.data(), last.slot_probability.data(), slots);
            for (std::size_t x = 0; x < last.spread.size(); ++x) {
                double sum = out[last.spread[x]];
                for (Index o = last.spread_begin[x]; o < last.spread_begin[x + 1]; ++o) {
                    sum += last.spread_probability[o] * next[last.spread_next[o]];
                }
                out[last.spread[x]] = sum;
            }
            if (bonus_ != nullptr) rows::add_scaled(out, bonus_, 1.0, slots);
        }
    }

    // The table that a mode works on: its next states by those of the inner modes, or by the slots
    // of the last mode if only that one is left.
    const double* prepare(std::size_t m, const double* next) {
        if (m + 2 != k_) return next;
        const Mode& mode = *stage_->modes[m];
        slots_.resize(std::max(slots_.size(), mode.nexts * stage_->modes.back()->slots()));
        spread(next, slots_.data(), mode.nexts);
        return slots_.data();
    }

    // Some after-states (positions of Mode::order) of a mode, those before it being fixed; `next`
    // is prepared. False if the work has to stop.
    bool solve(std::size_t m, const double* next, double* out, std::uint32_t* codes, Index begin,
               Index end, Monitor& monitor) {
        const Mode& mode = *stage_->modes[m];
        const double* rewards = stage_->rewards[m];
        const std::size_t width = stage_->inner_state[m];
        const std::uint32_t* radix = stage_->radix[m].data();
        Level& level = levels_[m];
        for (Index at = begin; at < end; ++at) {
            const Index f = mode.order[at];
            const double before = fixed_;
            const std::size_t undo = undo_.size();
            const double* bonus = bonus_;
            enter(m, f);
            const double* rows = averaged(m, f, next);
            const Mode::User* user = mode.user.data() + mode.user_begin[at];
            const Mode::User* last = mode.user.data() + mode.user_begin[at + 1];
            if (last - user == 1 && user->first && (!kPolicy || user->digit == 0)) {
                fixed_ += rewards[user->action];
                if (!inner(m + 1, rows, out + user->state * width,
                           kPolicy ? codes + user->state * width : nullptr, monitor)) {
                    return false;
                }
            } else {
                if (!inner(m + 1, rows, level.value.data(), level.code.data(), monitor))
                    return false;
                for (; user != last; ++user) {
                    double* row = out + user->state * width;
                    const double reward = rewards[user->action];
                    if (user->first) {
                        rows::add(row, level.value.data(), reward, width);
                        if (kPolicy) {
                            rows::encode(codes + user->state * width, level.code.data(),
                                         user->digit, radix, width);
                        }
                    } else if (kPolicy) {
                        rows::maximise(row, codes + user->state * width, level.value.data(), reward,
                                       level.code.data(), user->digit, radix, width);
                    } else {
                        rows::maximise(row, level.value.data(), reward, width);
                    }
                }
            }
            leave(before, undo, bonus);
            take_back(m, f);
            if (m + 2 == k_ && monitor.tick(row_work(width))) return false;
        }
        return true;
    }

    void solve_last(const double* next, double* out, std::uint32_t* codes) {
        const Mode& mode = *stage_->modes.back();
        const double* row = with_sums(mode, with_bonds(mode, next));
        double* value = mode.state_at.empty() ? out : sorted_.data();
        std::uint32_t* code = mode.state_at.empty() ? codes : sorted_code_.data();
        rows::add(value, row, reward_row_, fixed_, mode.states);
        if (kPolicy) std::fill_n(code, mode.states, 0U);
        for (std::size_t rank = 1; rank + 1 < mode.rank_begin.size(); ++rank) {
            const Index first = mode.rank_begin[rank];
            const Index count = mode.rank_begin[rank + 1] - first;
            if (kPolicy) {
                rows::maximise(value, code, row + first, reward_row_ + first, fixed_,
                               static_cast<std::uint32_t>(rank), count);
            } else {
                rows::maximise(value, row + first, reward_row_ + first, fixed_, count);
            }
        }
        if (mode.state_at.empty()) return;
        for (Index s = 0; s < mode.states; ++s) {
            out[mode.state_at[s]] = value[s];
            if (kPolicy) codes[mode.state_at[s]] = code[s];
        }
    }

private:
    struct Level {
        std::vector<double> averaged;
        std::vector<double> value;  // the inner modes' states, for one after-state
        std::vector<std::uint32_t> code;
        std::vector<double> extra;  // per after-state: what pairs with outer modes give
        std::vector<double> bonus;  // per slot of the last mode: the same
    };
    struct Undo {
        double* where;
        double before;
        Index bond;  // kNone if it is about a pair
    };
    static constexpr Index kNone = 0xffff'ffffU;

    [[nodiscard]] std::size_t width_next(std::size_t m) const {
        return m + 2 == k_ ? stage_->modes.back()->slots() : stage_->inner_next[m];
    }

    bool inner(std::size_t m, const double* rows, double* out, std::uint32_t* codes,
               Monitor& monitor) {
        if (m + 1 == k_) {
            solve_last(rows, out, codes);
            return true;
        }
        const auto all = static_cast<Index>(stage_->modes[m]->order.size());
        return solve(m, prepare(m, rows), out, codes, 0, all, monitor);
    }

    // A mode's table, averaged over the outcomes of an after-state. Where there is one outcome
    // only, that is a row of the table itself.
    const double* averaged(std::size_t m, Index f, const double* next) {
        const Mode& mode = *stage_->modes[m];
        const std::size_t width = width_next(m);
        Index o = mode.outcome_begin[f];
        const double* first = next + mode.next[o] * width;
        if (o + 1 == mode.outcome_begin[f + 1] && mode.probability[o] == 1) return first;
        double* out = levels_[m].averaged.data();
        rows::scale(out, first, mode.probability[o], width);
        for (++o; o < mode.outcome_begin[f + 1]; ++o) {
            rows::add_scaled(out, next + mode.next[o] * width, mode.probability[o], width);
        }
        return out;
    }

    // Fixes an after-state of a mode: what it makes of interactions.
    void enter(std::size_t m, Index f) {
        fixed_ += levels_[m].extra[f];
        if (m + 2 == k_) reward_row_ = stage_->slot_reward.data() + stage_->reward_row[f];
        for (const std::size_t p : stage_->pairs_from[m]) {
            const Team::Pair& pair = team_.pairs[p];
            const Index row = stage_->modes[m]->after_first + f;
            const Index begin = pair.block->row_begin[row];
            const Index end = pair.block->row_begin[row + 1];
            if (begin == end) continue;
            if (pair.second + 1 == k_) {
                if (m + 2 != k_) add_bonus(m, pair, begin, end);
                continue;
            }
            double* extra = levels_[pair.second].extra.data();
            for (Index x = begin; x < end; ++x) {
                double& cell = extra[pair.block->column[x]];
                undo_.push_back({&cell, cell, kNone});
                cell += pair.value[x];
            }
        }
        for (std::size_t g = 0; g < sums_.size(); ++g) {
            const auto& units = stage_->sums[g].units[m];
            if (!units.empty()) sums_[g] += units[f];
        }
        if (stage_->factors.empty()) return;
        for (const auto& [b, chance] : stage_->factors[m][f]) {
            undo_.push_back({&strength_[b], strength_[b], b});
            strength_[b] *= chance;
            ++matched_[b];
            const Bond& bond = stage_->bonds[b];
            if (bond.last == m && matched_[b] == bond.members) fixed_ += bond.value * strength_[b];
        }
    }

    void add_bonus(std::size_t m, const Team::Pair& pair, Index begin, Index end) {
        const Mode& last = *stage_->modes.back();
        double* row = levels_[m].bonus.data();
        if (bonus_ == nullptr) {
            std::fill_n(row, last.slots(), 0.0);
        } else if (bonus_ != row) {
            std::copy_n(bonus_, last.slots(), row);
        }
        bonus_ = row;
        for (Index x = begin; x < end; ++x) {
            add_to_slots(last, pair.block->column[x], pair.value[x], row);
        }
    }

    void leave(double fixed, std::size_t undo, const double* bonus) {
        fixed_ = fixed;
        bonus_ = bonus;
        while (undo_.size() > undo) {
            *undo_.back().where = undo_.back().before;
            if (undo_.back().bond != kNone) --matched_[undo_.back().bond];
            undo_.pop_back();
        }
    }

    void take_back(std::size_t m, Index f) {
        for (std::size_t g = 0; g < sums_.size(); ++g) {
            const auto& units = stage_->sums[g].units[m];
            if (!units.empty()) sums_[g] -= units[f];
        }
    }

    // The last mode's row with what sums bring, which only wait for its units.
    const double* with_sums(const Mode& mode, const double* row) {
        for (std::size_t g = 0; g < sums_.size(); ++g) {
            const Sum& sum = stage_->sums[g];
            const double* values = sum.values + sums_[g];
            double* out = row_.data();
            const std::size_t slots = mode.slots();
            if (sum.slot_units.empty()) {
                for (std::size_t x = 0; x < slots; ++x) out[x] = row[x] + values[0];
            } else {
                const Index* units = sum.slot_units.data();
                for (std::size_t x = 0; x < slots; ++x) out[x] = row[x] + values[units[x]];
            }
            row = out;
        }
        return row;
    }

    // The last mode's row with the wide interactions that only wait for it.
    const double* with_bonds(const Mode& mode, const double* next) {
        if (stage_->bonds.empty()) return next;
        double* row = row_.data();
        std::copy_n(next, mode.slots(), row);
        for (std::size_t b = 0; b < stage_->bonds.size(); ++b) {
            const Bond& bond = stage_->bonds[b];
            if (bond.last + 1 != k_ || matched_[b] + 1 != bond.members) continue;
            for (const auto& [f, chance] : bond.last_factors) {
                add_to_slots(mode, f, bond.value * strength_[b] * chance, row);
            }
        }
        return row;
    }

    const Team& team_;
    std::size_t k_;
    const Stage* stage_ = nullptr;
    std::vector<Level> levels_;
    std::vector<double> slots_;
    std::vector<double> row_;
    std::vector<double> sorted_;
    std::vector<std::uint32_t> sorted_code_;
    double fixed_ = 0;
    std::vector<double> strength_;
    std::vector<Index> matched_;
    std::vector<std::size_t> sums_;  // of the modes that are fixed
    std::vector<Undo> undo_;
    const double* bonus_ = nullptr;       // of the modes that are fixed; null if there is none
    const double* reward_row_ = nullptr;  // of the after-state of the last mode but one
};

// Runs a stage, on several threads where that is worth it. False if the work has to stop.
template <bool kPolicy>
bool run_stage(const Stage& stage, std::vector<Worker<kPolicy>>& workers, const double* next,
               double* out, std::uint32_t* codes, Monitor& monitor) {
    const std::size_t k = stage.modes.size();
    workers[0].begin(stage);
    if (k == 1) {
        std::vector<double> slots(stage.modes[0]->slots());
        workers[0].spread(next, slots.data(), 1);
        workers[0].solve_last(slots.data(), out, codes);
        return !monitor.tick(row_work(stage.modes[0]->states));
    }
    const Mode& first = *stage.modes[0];
    const double* prepared = workers[0].prepare(0, next);
    const auto all = static_cast<Index>(first.order.size());
    if (workers.size() == 1 || first.states * stage.inner_state[0] < kWorthThreads) {
        return workers[0].solve(0, prepared, out, codes, 0, all, monitor);
    }
    for (Worker<kPolicy>& worker : workers) worker.begin(stage);
    return WorkList(static_cast<unsigned>(workers.size()))
        .run(
            first.piece_begin.size() - 1,
            [&](std::size_t piece, unsigned worker, Monitor& own) {
                workers[worker].solve(0, prepared, out, codes, first.piece_begin[piece],
                                      first.piece_begin[piece + 1], own);
            },
            monitor);
}

template <bool kPolicy>
void run(const CompiledModel& model, const Team& team, const KernelOptions& options,
         TeamSolution& solution, KernelBuffers& buffers, Monitor& monitor) {
    const Index layers = model.layer_count();
    std::vector<Worker<kPolicy>> workers;
    for (unsigned t = 0; t < std::max(1U, options.threads); ++t) {
        workers.emplace_back(team, team.agents.size());
    }
    std::uint64_t widest = 1;  // at the horizon every agent has few classes, as a rule one
    for (const AgentId agent : team.agents) widest *= model.agents[at(agent)].layer_size(layers);
    const std::uint64_t last = widest;
    for (Index layer = 0; layer < layers; ++layer) {
        widest = std::max(widest, solution.layer_begin[layer + 1] - solution.layer_begin[layer]);
    }
    std::vector<double>& next = buffers.next;
    std::vector<double>& now = buffers.now;
    const std::uint64_t needed = options.values ? last : widest;
    if (next.size() < needed) next.resize(needed);
    if (!options.values && now.size() < needed) now.resize(needed);
    std::fill_n(next.data(), last, 0.0);
    const double* from = next.data();
    for (Index layer = layers; layer-- > 0;) {
        const Stage stage = make_stage(model, team, layer, kPolicy);
        const std::uint64_t begin = solution.layer_begin[layer];
        const std::uint64_t cells = solution.layer_begin[layer + 1] - begin;
        double* to = options.values ? solution.values.data() + begin : now.data();
        std::uint32_t* codes = kPolicy ? solution.decisions.data() + begin : nullptr;
        if (!run_stage<kPolicy>(stage, workers, from, to, codes, monitor)) {
            // A helper's clock may be a little ahead.
            solution.stop = monitor.stop() == Stop::none ? Stop::time_limit : monitor.stop();
            return;
        }
        solution.cells += cells;
        if (!options.values) std::swap(next, now);
        from = options.values ? to : next.data();
    }
    solution.value = from[0];
}

}  // namespace

double kernel_work(const CompiledModel& model, const std::vector<AgentId>& agents) {
    double total = 0;
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        double rows = 1;
        for (std::size_t m = 0; m + 1 < agents.size(); ++m) {
            const auto& begin = model.agents[at(agents[m])].after_layer_begin;
            rows *= static_cast<double>(begin[layer + 1] - begin[layer]);
        }
        const std::size_t width = model.agents[at(agents.back())].layer_size(layer);
        total += rows * static_cast<double>(row_work(width));
    }
    return total;
}

double team_cells(const CompiledModel& model, const std::vector<AgentId>& agents) {
    double total = 0;
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        double cells = 1;
        for (const AgentId agent : agents) {
            cells *= static_cast<double>(model.agents[at(agent)].layer_size(layer));
        }
        total += cells;
    }
    return total;
}

double kernel_bytes(const CompiledModel& model, const std::vector<AgentId>& agents,
                    const KernelOptions& options) {
    double widest_table = 0;
    double widest_work = 0;
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        double cells = 1;
        double actions = 1;
        double inner = 0;  // states and next states of the modes within, for all but the last
        double slots = 1;
        for (std::size_t m = agents.size(); m-- > 0;) {
            const CompiledAgent& agent = model.agents[at(agents[m])];
            const auto states =
                static_cast<double>(std::max(agent.layer_size(layer), agent.layer_size(layer + 1)));
            if (m + 1 < agents.size()) inner += cells;
            if (m + 2 >= agents.size()) {
                const Index first = agent.action_begin[agent.layer_begin[layer]];
                const Index end = agent.action_begin[agent.layer_begin[layer + 1]];
                slots *= m + 1 == agents.size() ? static_cast<double>(end - first) : states;
            }
            cells *= states;
            Index most = 0;
            for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                most = std::max(most, agent.action_begin[c + 1] - agent.action_begin[c]);
            }
            actions *= most;
        }
        if (options.policy && actions > 4e9) return kInfinity;
        widest_table = std::max(widest_table, cells);
        widest_work = std::max(widest_work, (options.policy ? 20 : 16) * inner + 8 * slots);
    }
    const double all = team_cells(model, agents);
    return (options.values ? all : 2 * widest_table) * sizeof(double) +
           (options.policy ? all * sizeof(std::uint32_t) : 0) +
           std::max(1U, options.threads) * widest_work;
}

void solve_team(const CompiledModel& model, const Team& team, const KernelOptions& options,
                TeamSolution& solution, KernelBuffers& buffers, Monitor& monitor) {
    solution.stop = Stop::none;
    solution.value = 0;
    solution.cells = 0;
    solution.agents = team.agents;
    solution.layer_begin.assign(1, 0);
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        std::uint64_t cells = 1;
        for (const AgentId agent : team.agents) cells *= model.agents[at(agent)].layer_size(layer);
        solution.layer_begin.push_back(solution.layer_begin.back() + cells);
    }
    if (options.policy) solution.decisions.resize(solution.layer_begin.back());
    if (options.values) solution.values.resize(solution.layer_begin.back());
    if (options.policy) {
        run<true>(model, team, options, solution, buffers, monitor);
    } else {
        run<false>(model, team, options, solution, buffers, monitor);
    }
}

const double* sum_values(const CompiledModel& model, const Team::Sum& sum, Index layer) {
    const CompiledAggregate& aggregate = model.aggregates[sum.aggregate];
    const auto found = std::ranges::lower_bound(aggregate.layers, layer);
    if (found == aggregate.layers.end() || *found != layer) return nullptr;
    if (sum.values == nullptr) return aggregate.table(layer).data();
    return sum.values + static_cast<std::size_t>(found - aggregate.layers.begin()) * sum.width;
}

PreparedTeam::PreparedTeam(const CompiledModel& model, const std::vector<AgentId>& agents,
                           Monitor& monitor)
    : model_(model), memory_(monitor), blocks_(make_pair_blocks(model, agents, memory_)) {
    team_.agents = agents;
    modes_.reserve(agents.size());
    for (const AgentId agent : agents) {
        memory_.take(modes_bytes(model, agent), "what the kernel needs of an agent");
        monitor.tick(modes_work(model, agent));
        team_.modes.push_back(&modes_.emplace_back(make_modes(model, agent)));
        team_.rewards.push_back(model.agents[at(agent)].action_reward.data());
    }
    for (const PairBlock& block : blocks_) {
        team_.pairs.push_back({position_in(agents, block.first), position_in(agents, block.second),
                               &block, block.value.data()});
    }
    team_.wide = wide_interactions(model, agents);
    for (const Index e : aggregates_among(model, agents)) team_.sums.push_back({.aggregate = e});
}

TeamSolution PreparedTeam::solve(const KernelOptions& options, Monitor& monitor) const {
    TeamSolution solution;
    Reservation memory(monitor);
    {
        memory.take(kernel_bytes(model_, team_.agents, options),
                    "the tables of a team of " + std::to_string(team_.agents.size()) + " agents");
        KernelBuffers buffers;
        solve_team(model_, team_, options, solution, buffers, monitor);
    }
    if (solution.stop != Stop::none) {
        solution.decisions = {};
        solution.values = {};
    }
    // The tables stay.
    memory.keep(static_cast<double>(solution.decisions.size()) * sizeof(std::uint32_t) +
                static_cast<double>(solution.values.size()) * sizeof(double));
    return solution;
}

TeamSolution solve_team(const CompiledModel& model, const std::vector<AgentId>& agents,
                        const KernelOptions& options, Monitor& monitor) {
    return PreparedTeam(model, agents, monitor).solve(options, monitor);
}

}  // namespace coreplan
