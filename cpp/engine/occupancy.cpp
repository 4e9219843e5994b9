#include "engine/occupancy.hpp"

#include <algorithm>

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

}  // namespace

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
    occupancy.states = 0;
    auto& now = buffers.now;
    auto& next = buffers.next;
    now.assign(1, 0);
    buffers.chance.assign(1, 1.0);
    std::vector<Index> state(k);
    std::vector<Index> after(k);
    std::vector<std::size_t> step(k);
    std::vector<std::pair<std::uint64_t, double>> outcomes;
    std::vector<std::pair<std::uint64_t, double>> wider;
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        std::uint64_t cells = 1;
        for (std::size_t m = k; m-- > 0;) {
            step[m] = cells;
            cells *= (*team.modes[m])[layer].nexts;
        }
        if (buffers.mass.size() < cells) buffers.mass.resize(cells, 0.0);
        next.clear();
        for (std::size_t x = 0; x < now.size(); ++x) {
            const double chance = buffers.chance[x];
            std::uint64_t number = now[x];
            std::uint32_t code = solution.decisions[solution.layer_begin[layer] + number];
            for (std::size_t m = k; m-- > 0;) {
                const Mode& mode = (*team.modes[m])[layer];
                const CompiledAgent& agent = model.agents[at(team.agents[m])];
                state[m] = static_cast<Index>(number % mode.states);
                number /= mode.states;
                const Index count = mode.action_count[state[m]];
                const Index action = agent.action_begin[mode.class_first + state[m]] + code % count;
                code /= count;
                after[m] = static_cast<Index>(at(agent.action_after[action]));
                buffers.actions[m][action] += chance;
            }
            for (std::size_t p = 0; p < team.pairs.size(); ++p) {
                const Team::Pair& pair = team.pairs[p];
                const auto first = pair.block->column.begin();
                const auto begin = first + pair.block->row_begin[after[pair.first]];
                const auto end = first + pair.block->row_begin[after[pair.first] + 1];
                if (begin == end) continue;
                const Index column =
                    after[pair.second] - (*team.modes[pair.second])[layer].after_first;
                const auto found = std::lower_bound(begin, end, column);
                if (found == end || *found != column) continue;
                buffers.pairs[p][static_cast<std::size_t>(found - first)] += chance;
            }
            outcomes.assign(1, {0, chance});
            for (std::size_t m = 0; m < k; ++m) {
                const Mode& mode = (*team.modes[m])[layer];
                const Index f = after[m] - mode.after_first;
                wider.clear();
                for (const auto& [base, mass] : outcomes) {
                    for (Index o = mode.outcome_begin[f]; o < mode.outcome_begin[f + 1]; ++o) {
                        wider.emplace_back(base + mode.next[o] * step[m],
                                           mass * mode.probability[o]);
                    }
                }
                std::swap(outcomes, wider);
            }
            for (const auto& [there, mass] : outcomes) {
                if (buffers.mass[there] == 0) next.push_back(there);
                buffers.mass[there] += mass;
            }
            if (monitor.tick(16 * outcomes.size())) {
                for (const std::uint64_t there : next) buffers.mass[there] = 0;
                return false;
            }
        }
        occupancy.states += now.size();
        std::ranges::sort(next);
        next.erase(std::ranges::unique(next).begin(), next.end());
        buffers.chance.clear();
        for (const std::uint64_t there : next) {
            buffers.chance.push_back(buffers.mass[there]);
            buffers.mass[there] = 0;
        }
        std::swap(now, next);
    }
    occupancy.actions.resize(k);
    occupancy.pairs.resize(team.pairs.size());
    for (std::size_t m = 0; m < k; ++m) collect(buffers.actions[m], occupancy.actions[m]);
    for (std::size_t p = 0; p < team.pairs.size(); ++p) {
        collect(buffers.pairs[p], occupancy.pairs[p]);
    }
    return true;
}

}  // namespace coreplan
