#include "engine/kernel.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <thread>

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kWorthThreads = 1U << 16U;  // cells of a stage

// One agent at one layer, with numbers from 0.
struct Mode {
    Index states = 0;
    Index afters = 0;
    Index nexts = 0;
    std::vector<Index> action_begin;  // per state
    std::vector<double> reward;
    std::vector<Index> after;
    std::vector<Index> outcome_begin;  // per after-state
    std::vector<Index> next;
    std::vector<double> probability;
    // The same for the last mode: first outcomes and actions, and those who have more.
    std::vector<double> first_probability;
    std::vector<Index> first_next;
    std::vector<Index> spread;  // after-states
    std::vector<double> first_reward;
    std::vector<Index> first_after;
    std::vector<Index> choosing;  // states
    // What each after-state does to interactions: (interaction of the layer, chance).
    std::vector<Index> factor_begin;
    std::vector<std::pair<Index, double>> factor;
};

// An interaction inside the team, at one layer.
struct Bond {
    double value;
    Index members;
    Index last;  // the mode of its last member
    std::vector<std::pair<Index, double>> last_factors;  // (after-state, chance) of that member
};

struct Stage {
    std::vector<Mode> modes;
    std::vector<Bond> bonds;
    std::vector<std::size_t> inner_next;   // per mode: next states of all modes after it
    std::vector<std::size_t> inner_state;  // the same for states
};

Stage make_stage(const CompiledModel& model, const std::vector<AgentId>& team, Index layer) {
    Stage stage;
    const std::size_t k = team.size();
    std::vector<std::vector<std::vector<Index>>> bonds_of(k);  // per mode and signal
    for (std::size_t b = 0; b < model.interactions_at[layer].size(); ++b) {
        const auto& members = model.interactions[model.interactions_at[layer][b]].members;
        Bond bond{model.values_at[layer][b], static_cast<Index>(members.size()), 0, {}};
        std::vector<std::pair<std::size_t, std::size_t>> inside;
        for (const InteractionMember& member : members) {
            const auto where = std::ranges::find(team, member.agent);
            if (where == team.end()) break;
            const auto m = static_cast<std::size_t>(where - team.begin());
            inside.emplace_back(m, at(member.signal));
            bond.last = std::max(bond.last, static_cast<Index>(m));
        }
        if (inside.size() < members.size()) continue;
        for (const auto& [m, signal] : inside) {
            if (signal >= bonds_of[m].size()) bonds_of[m].resize(signal + 1);
            bonds_of[m][signal].push_back(static_cast<Index>(stage.bonds.size()));
        }
        stage.bonds.push_back(std::move(bond));
    }
    for (std::size_t m = 0; m < k; ++m) {
        const CompiledAgent& agent = model.agents[at(team[m])];
        Mode mode;
        mode.states = static_cast<Index>(agent.layer_size(layer));
        mode.nexts = static_cast<Index>(agent.layer_size(layer + 1));
        const Index after_first = agent.after_layer_begin[layer];
        mode.afters = agent.after_layer_begin[layer + 1] - after_first;
        const Index class_first = agent.layer_begin[layer];
        const Index action_first = agent.action_begin[class_first];
        for (Index c = 0; c <= mode.states; ++c) {
            mode.action_begin.push_back(agent.action_begin[class_first + c] - action_first);
        }
        for (Index a = 0; a < mode.action_begin.back(); ++a) {
            mode.reward.push_back(agent.action_reward[action_first + a]);
            mode.after.push_back(
                static_cast<Index>(at(agent.action_after[action_first + a])) - after_first);
        }
        const Index outcome_first = agent.outcome_begin[after_first];
        const Index next_first = agent.layer_begin[layer + 1];
        mode.factor_begin.assign(1, 0);
        for (Index f = 0; f <= mode.afters; ++f) {
            mode.outcome_begin.push_back(agent.outcome_begin[after_first + f] - outcome_first);
            if (f == mode.afters) break;
            const std::size_t label = at(agent.after_label[after_first + f]);
            for (Index x = agent.label_begin[label]; x < agent.label_begin[label + 1]; ++x) {
                const Factor& factor = agent.label_factor[x];
                if (at(factor.signal) >= bonds_of[m].size()) continue;
                for (const Index b : bonds_of[m][at(factor.signal)]) {
                    mode.factor.emplace_back(b, factor.chance);
                    if (stage.bonds[b].last == m) {
                        stage.bonds[b].last_factors.emplace_back(f, factor.chance);
                    }
                }
            }
            mode.factor_begin.push_back(static_cast<Index>(mode.factor.size()));
        }
        for (Index o = 0; o < mode.outcome_begin.back(); ++o) {
            mode.next.push_back(static_cast<Index>(at(agent.outcome_next[outcome_first + o])) -
                                next_first);
            mode.probability.push_back(agent.outcome_probability[outcome_first + o]);
        }
        for (Index f = 0; f < mode.afters; ++f) {
            const Index o = mode.outcome_begin[f];
            mode.first_probability.push_back(mode.probability[o]);
            mode.first_next.push_back(mode.next[o]);
            if (mode.outcome_begin[f + 1] - o > 1) mode.spread.push_back(f);
        }
        for (Index s = 0; s < mode.states; ++s) {
            const Index a = mode.action_begin[s];
            mode.first_reward.push_back(mode.reward[a]);
            mode.first_after.push_back(mode.after[a]);
            if (mode.action_begin[s + 1] - a > 1) mode.choosing.push_back(s);
        }
        stage.modes.push_back(std::move(mode));
    }
    stage.inner_next.assign(k, 1);
    stage.inner_state.assign(k, 1);
    for (std::size_t m = k; m-- > 1;) {
        stage.inner_next[m - 1] = stage.inner_next[m] * stage.modes[m].nexts;
        stage.inner_state[m - 1] = stage.inner_state[m] * stage.modes[m].states;
    }
    return stage;
}

// The numbers of actions of the inner modes' joint states: what an action's digit is worth.
std::vector<std::uint32_t> radix_of(const Stage& stage, std::size_t mode) {
    std::vector<std::uint32_t> radix(1, 1);
    for (std::size_t m = mode + 1; m < stage.modes.size(); ++m) {
        const Mode& inner = stage.modes[m];
        std::vector<std::uint32_t> wider;
        wider.reserve(radix.size() * inner.states);
        for (const std::uint32_t each : radix) {
            for (Index s = 0; s < inner.states; ++s) {
                wider.push_back(each * (inner.action_begin[s + 1] - inner.action_begin[s]));
            }
        }
        radix = std::move(wider);
    }
    return radix;
}

// Solves slabs of one stage. One per thread.
template <bool kPolicy>
class Worker {
public:
    Worker(const Stage& stage, const std::vector<std::vector<std::uint32_t>>& radix)
        : stage_(stage), radix_(radix), k_(stage.modes.size()) {
        levels_.resize(k_);
        for (std::size_t m = 0; m < k_; ++m) {
            const Mode& mode = stage.modes[m];
            Level& level = levels_[m];
            level.averaged.resize(stage.inner_next[m]);
            level.solved.resize(static_cast<std::size_t>(mode.afters) * stage.inner_state[m]);
            if (kPolicy) level.codes.resize(level.solved.size());
        }
        strength_.assign(stage.bonds.size(), 1.0);
        matched_.assign(stage.bonds.size(), 0);
    }

    // All after-states of a mode, the modes before it being fixed; then its maximisation.
    void solve(std::size_t m, const double* next, double* out, std::uint32_t* codes) {
        const Mode& mode = stage_.modes[m];
        if (m + 1 == k_) {
            solve_last(mode, next, out, codes);
            return;
        }
        for (Index f = 0; f < mode.afters; ++f) solve_after(m, f, next);
        maximise(m, levels_[m].solved.data(), levels_[m].codes.data(), out, codes, 0, mode.states);
    }

    // One after-state of a mode: its row of the level's table.
    void solve_after(std::size_t m, Index f, const double* next) {
        const std::size_t width = stage_.inner_state[m];
        double* solved = levels_[m].solved.data() + f * width;
        std::uint32_t* codes = kPolicy ? levels_[m].codes.data() + f * width : nullptr;
        solve_after_into(m, f, next, solved, codes);
    }

    void solve_after_into(std::size_t m, Index f, const double* next, double* solved,
                          std::uint32_t* codes) {
        const Mode& mode = stage_.modes[m];
        const double* rows = averaged(mode, m, f, next);
        const std::size_t undo = undo_.size();
        const double before = fixed_;
        take(mode, m, f);
        solve(m + 1, rows, solved, codes);
        fixed_ = before;
        while (undo_.size() > undo) {
            strength_[undo_.back().first] = undo_.back().second;
            --matched_[undo_.back().first];
            undo_.pop_back();
        }
    }

    void maximise(std::size_t m, const double* solved, const std::uint32_t* inner_codes, double* out,
                  std::uint32_t* codes, Index first, Index last) const {
        const Mode& mode = stage_.modes[m];
        const std::size_t width = stage_.inner_state[m];
        const std::uint32_t* radix = radix_[m].data();
        for (Index s = first; s < last; ++s) {
            double* row = out + s * width;
            std::uint32_t* row_codes = kPolicy ? codes + s * width : nullptr;
            const Index begin = mode.action_begin[s];
            for (Index a = begin; a < mode.action_begin[s + 1]; ++a) {
                const double reward = mode.reward[a];
                const double* from = solved + mode.after[a] * width;
                const std::uint32_t* from_codes =
                    kPolicy ? inner_codes + mode.after[a] * width : nullptr;
                const std::uint32_t digit = a - begin;
                if (digit == 0) {
                    for (std::size_t x = 0; x < width; ++x) row[x] = reward + from[x];
                    if (kPolicy) std::copy_n(from_codes, width, row_codes);
                } else if (kPolicy) {
                    for (std::size_t x = 0; x < width; ++x) {
                        const double value = reward + from[x];
                        const bool better = value > row[x];
                        row[x] = better ? value : row[x];
                        row_codes[x] =
                            better ? digit * radix[x] + from_codes[x] : row_codes[x];
                    }
                } else {
                    for (std::size_t x = 0; x < width; ++x) {
                        row[x] = std::max(row[x], reward + from[x]);
                    }
                }
            }
        }
    }

private:
    struct Level {
        std::vector<double> averaged;
        std::vector<double> solved;  // per after-state: the inner modes' states
        std::vector<std::uint32_t> codes;
    };

    // The inner modes' next states, averaged over the outcomes of an after-state. Where there is one
    // outcome only, that is a row of the table itself.
    const double* averaged(const Mode& mode, std::size_t m, Index f, const double* next) {
        const std::size_t width = stage_.inner_next[m];
        Index o = mode.outcome_begin[f];
        const double* first = next + mode.next[o] * width;
        const double p = mode.probability[o];
        if (o + 1 == mode.outcome_begin[f + 1] && p == 1) return first;
        double* out = levels_[m].averaged.data();
        for (std::size_t x = 0; x < width; ++x) out[x] = p * first[x];
        for (++o; o < mode.outcome_begin[f + 1]; ++o) {
            const double q = mode.probability[o];
            const double* from = next + mode.next[o] * width;
            for (std::size_t x = 0; x < width; ++x) out[x] += q * from[x];
        }
        return out;
    }

    // Fixes an after-state: interactions that end here are earned, others get stronger.
    void take(const Mode& mode, std::size_t m, Index f) {
        for (Index x = mode.factor_begin[f]; x < mode.factor_begin[f + 1]; ++x) {
            const auto& [b, chance] = mode.factor[x];
            undo_.emplace_back(b, strength_[b]);
            strength_[b] *= chance;
            ++matched_[b];
            const Bond& bond = stage_.bonds[b];
            if (bond.last == m && matched_[b] == bond.members) fixed_ += bond.value * strength_[b];
        }
    }

    void solve_last(const Mode& mode, const double* next, double* out, std::uint32_t* codes) {
        // First outcomes without a branch, then the few after-states that have more.
        double* y = levels_.back().solved.data();
        for (Index f = 0; f < mode.afters; ++f) {
            y[f] = mode.first_probability[f] * next[mode.first_next[f]] + fixed_;
        }
        for (const Index f : mode.spread) {
            for (Index o = mode.outcome_begin[f] + 1; o < mode.outcome_begin[f + 1]; ++o) {
                y[f] += mode.probability[o] * next[mode.next[o]];
            }
        }
        // Interactions that only wait for the last mode; each was noted once per member before it.
        for (std::size_t u = 0; u < undo_.size(); ++u) {
            const Index b = undo_[u].first;
            const Bond& bond = stage_.bonds[b];
            if (bond.last + 1 != k_ || matched_[b] + 1 != bond.members) continue;
            if (!is_last_note(u)) continue;
            const double value = bond.value * strength_[b];
            for (const auto& [f, chance] : bond.last_factors) y[f] += value * chance;
        }
        for (Index s = 0; s < mode.states; ++s) {
            out[s] = mode.first_reward[s] + y[mode.first_after[s]];
            if (kPolicy) codes[s] = 0;
        }
        for (const Index s : mode.choosing) {
            const Index begin = mode.action_begin[s];
            double best = out[s];
            std::uint32_t digit = 0;
            for (Index a = begin + 1; a < mode.action_begin[s + 1]; ++a) {
                const double value = mode.reward[a] + y[mode.after[a]];
                if (value > best) {
                    best = value;
                    digit = a - begin;
                }
            }
            out[s] = best;
            if (kPolicy) codes[s] = digit;
        }
    }

    [[nodiscard]] bool is_last_note(std::size_t u) const {
        for (std::size_t v = u + 1; v < undo_.size(); ++v) {
            if (undo_[v].first == undo_[u].first) return false;
        }
        return true;
    }

    const Stage& stage_;
    const std::vector<std::vector<std::uint32_t>>& radix_;
    std::size_t k_;
    std::vector<Level> levels_;
    double fixed_ = 0;
    std::vector<double> strength_;
    std::vector<Index> matched_;
    std::vector<std::pair<Index, double>> undo_;
};

double product(const std::vector<double>& sizes) {
    double total = 1;
    for (const double size : sizes) total *= size;
    return total;
}

// Runs a stage, on several threads where that is worth it.
template <bool kPolicy>
bool run_stage(const Stage& stage, const std::vector<double>& next, std::vector<double>& out,
               std::uint32_t* codes, unsigned threads, Monitor& monitor) {
    std::vector<std::vector<std::uint32_t>> radix;
    for (std::size_t m = 0; m < stage.modes.size(); ++m) {
        radix.push_back(kPolicy ? radix_of(stage, m) : std::vector<std::uint32_t>{});
    }
    const Mode& first = stage.modes[0];
    const std::size_t k = stage.modes.size();
    if (k == 1) {
        Worker<kPolicy> worker(stage, radix);
        worker.solve(0, next.data(), out.data(), codes);
        return monitor.tick(first.afters + first.states);
    }
    // The first mode's after-states are independent pieces; their rows are shared.
    const std::size_t width = stage.inner_state[0];
    std::vector<double> solved(first.afters * width);
    std::vector<std::uint32_t> inner_codes(kPolicy ? solved.size() : 0);
    std::atomic<Index> next_piece{0};
    std::atomic<bool> stop{false};
    const auto work = [&](bool watches) {
        Worker<kPolicy> worker(stage, radix);
        for (;;) {
            const Index f = next_piece.fetch_add(1);
            if (f >= first.afters || stop.load(std::memory_order_relaxed)) return;
            worker.solve_after_into(0, f, next.data(), solved.data() + f * width,
                                    kPolicy ? inner_codes.data() + f * width : nullptr);
            if (watches && monitor.tick(2 * width)) stop = true;
        }
    };
    const bool many = threads > 1 && first.afters * width >= kWorthThreads;
    {
        std::vector<std::jthread> helpers;
        for (unsigned t = 1; many && t < threads; ++t) helpers.emplace_back([&] { work(false); });
        work(true);
    }
    if (stop) return true;
    Worker<kPolicy> worker(stage, radix);
    worker.maximise(0, solved.data(), inner_codes.data(), out.data(), codes, 0, first.states);
    return monitor.tick(out.size());
}

}  // namespace

double kernel_bytes(const CompiledModel& model, const std::vector<AgentId>& agents, bool policy) {
    double all = 0;
    double most = 0;
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        std::vector<double> states;
        double afters = 1;
        double actions = 1;
        for (std::size_t m = 0; m < agents.size(); ++m) {
            const CompiledAgent& agent = model.agents[at(agents[m])];
            states.push_back(static_cast<double>(agent.layer_size(layer)));
            if (m == 0) {
                afters = static_cast<double>(agent.after_layer_begin[layer + 1] -
                                             agent.after_layer_begin[layer]);
            }
            Index widest = 0;
            for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
                widest = std::max(widest, agent.action_begin[c + 1] - agent.action_begin[c]);
            }
            actions *= widest;
        }
        if (actions > 4e9) return kInfinity;
        const double cells = product(states);
        const double work = afters * cells / states[0];
        most = std::max(most, 2 * cells + 2 * work);
        all += cells;
    }
    return most * sizeof(double) + (policy ? (all + 2 * most) * sizeof(std::uint32_t) : 0);
}

TeamSolution solve_team(const CompiledModel& model, const std::vector<AgentId>& agents,
                        const KernelOptions& options, Monitor& monitor) {
    TeamSolution solution;
    solution.agents = agents;
    const double bytes = kernel_bytes(model, agents, options.policy);
    monitor.reserve(bytes, "the tables of a team of " + std::to_string(agents.size()) + " agents");
    const Index layers = model.layer_count();
    std::vector<std::size_t> cells(layers + 1, 1);
    for (Index layer = 0; layer <= layers; ++layer) {
        for (const AgentId agent : agents) cells[layer] *= model.agents[at(agent)].layer_size(layer);
    }
    solution.layer_begin.assign(1, 0);
    for (Index layer = 0; layer < layers; ++layer) {
        solution.layer_begin.push_back(solution.layer_begin.back() + cells[layer]);
    }
    if (options.policy) solution.decisions.resize(solution.layer_begin.back());

    std::vector<double> next(cells[layers], 0.0);
    std::vector<double> now;
    for (Index layer = layers; layer-- > 0;) {
        const Stage stage = make_stage(model, agents, layer);
        now.resize(cells[layer]);
        std::uint32_t* codes =
            options.policy ? solution.decisions.data() + solution.layer_begin[layer] : nullptr;
        const bool stopped =
            options.policy ? run_stage<true>(stage, next, now, codes, options.threads, monitor)
                           : run_stage<false>(stage, next, now, codes, options.threads, monitor);
        solution.cells += cells[layer];
        if (stopped && monitor.stop() != Stop::none) {
            solution.stop = monitor.stop();
            break;
        }
        std::swap(next, now);
    }
    if (!options.policy) monitor.release(bytes);
    solution.value = next[0];
    return solution;
}

}  // namespace coreplan
