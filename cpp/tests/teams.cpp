#include "teams.hpp"

#include <algorithm>
#include <map>

#include "problems.hpp"

namespace coreplan::teams {

using namespace problems;

CompiledModel ring(Index agents, Index horizon, std::uint64_t seed, bool with_sum) {
    std::mt19937_64 random(seed);
    const auto unit = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
    std::vector<AgentDescription> descriptions;
    for (Index i = 0; i < agents; ++i) {
        std::vector<Choice> choices;
        // States: 0 to do, 1 at work, 2 done. Work may take longer.
        choices.push_back({0, 0, {{0}}});
        const double delay = unit();
        choices.push_back({0, 1, {{1, delay}, {2, 1 - delay}}});
        choices.push_back({1, 1, {{1, 0.25}, {2, 0.75}}});
        choices.push_back({2, 0, {{2}}});
        if (unit() < 0.5) choices.push_back({2, 1, {{0, 0.5}, {2, 0.5}}});
        descriptions.push_back(agent(3, 2, std::move(choices)));
    }
    Description d = team(horizon, std::move(descriptions));
    const auto add = [&](double value, std::vector<Member> members) {
        std::ranges::sort(members, {}, &Member::agent);
        d.entries.push_back(entry(value, std::move(members)));
    };
    for (Index i = 0; i < agents; ++i) {
        d.entries.push_back(entry(1 + 4 * unit(), {when(d, i, on({0}, {1}, {1, 2}))}));
        d.entries.push_back(entry(-unit(), {when(d, i, on_states({1}))}));
        const Index next = (i + 1) % agents;
        const double value = unit() < 0.7 ? -6 * unit() : 3 * unit();
        add(value, {when(d, i, on_actions({1})), when(d, next, on_actions({1}))});
        if (i % 3 == 0 && agents > 2) {
            const Index third = (i + 2) % agents;
            add(4 * unit() - 3, {when(d, i, on_nexts({1})), when(d, next, on_actions({0})),
                                 when(d, third, on_actions({1}))});
        }
    }
    if (!with_sum) return compiled(d);
    Aggregate aggregate;
    for (Index i = 0; i < agents; ++i) {
        const Member works = when(d, i, on_actions({1}));
        aggregate.amounts.push_back({works.agent, works.condition, 1});
        if (i % 2 == 0) continue;
        const Member begins =
            when(d, i, Condition{std::vector<Index>{0}, std::vector<Index>{1}, std::nullopt});
        aggregate.amounts.push_back({begins.agent, begins.condition, 1});
    }
    double worth = 0;
    for (Index k = 0; k <= 2 * agents; ++k) {
        aggregate.values.push_back(worth);
        worth += k < 3 ? unit() - 0.3 : -3 * unit();
    }
    d.aggregates.push_back(std::move(aggregate));
    return compiled(d);
}

double worth(const CompiledModel& model, const TeamPolicy& policy) {
    const std::size_t n = model.agents.size();
    std::vector<Cluster> clusters = policy.clusters;
    std::vector<char> covered(n, 0);
    for (const Cluster& cluster : clusters) {
        for (const AgentId who : cluster.agents) covered[at(who)] = 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (covered[i] == 0) clusters.push_back({{as<AgentId>(i)}, {}});
    }
    double total = 0;
    std::vector<std::vector<double>> product(model.layer_count());
    // Per aggregate and layer: the chances of the sum that clusters so far add up to.
    std::vector<std::vector<std::map<std::size_t, double>>> sums(
        model.aggregates.size(),
        std::vector<std::map<std::size_t, double>>(model.layer_count(), {{0, 1.0}}));
    for (Index l = 0; l < model.layer_count(); ++l) product[l] = model.values_at[l];
    for (const Cluster& cluster : clusters) {
        std::map<std::vector<ClassId>, double> here{
            {std::vector<ClassId>(cluster.agents.size(), ClassId{0}), 1.0}};
        std::vector<ClassId> all(n);
        for (Index l = 0; l < model.layer_count(); ++l) {
            for (std::size_t i = 0; i < n; ++i) all[i] = ClassId{model.agents[i].layer_begin[l]};
            std::map<std::vector<ClassId>, double> next;
            std::vector<double> matched(model.interactions_at[l].size(), 0.0);
            std::vector<std::map<std::size_t, double>> adds(model.aggregates.size());
            for (const auto& [state, chance] : here) {
                for (std::size_t m = 0; m < state.size(); ++m)
                    all[at(cluster.agents[m])] = state[m];
                const auto actions = policy.act(model, l, all);
                std::vector<std::map<SignalId, double>> made(n);
                std::vector<std::pair<std::vector<ClassId>, double>> moves{{{}, chance}};
                for (std::size_t m = 0; m < state.size(); ++m) {
                    const std::size_t i = at(cluster.agents[m]);
                    const CompiledAgent& who = model.agents[i];
                    const Index a = who.action_begin[at(state[m])] + actions[i];
                    total += chance * who.action_reward[a];
                    const std::size_t after = at(who.action_after[a]);
                    const std::size_t label = at(who.after_label[after]);
                    for (Index f = who.label_begin[label]; f < who.label_begin[label + 1]; ++f) {
                        made[i][who.label_factor[f].signal] = who.label_factor[f].chance;
                    }
                    std::vector<std::pair<std::vector<ClassId>, double>> wider;
                    for (const auto& [row, probability] : moves) {
                        for (Index o = who.outcome_begin[after]; o < who.outcome_begin[after + 1];
                             ++o) {
                            wider.emplace_back(row, probability * who.outcome_probability[o]);
                            wider.back().first.push_back(who.outcome_next[o]);
                        }
                    }
                    moves = std::move(wider);
                }
                for (const auto& [row, probability] : moves) next[row] += probability;
                for (std::size_t e = 0; e < model.aggregates.size(); ++e) {
                    std::size_t units = 0;
                    for (const AggregateMember& member : model.aggregates[e].members) {
                        const auto place = std::ranges::find(cluster.agents, member.agent);
                        if (place == cluster.agents.end()) continue;
                        const std::size_t i = at(member.agent);
                        const auto m = static_cast<std::size_t>(place - cluster.agents.begin());
                        const Index a = model.agents[i].action_begin[at(state[m])] + actions[i];
                        units += model.units(member, model.agents[i].action_after[a]);
                    }
                    adds[e][units] += chance;
                }
                for (std::size_t k = 0; k < matched.size(); ++k) {
                    double all_match = chance;
                    for (const auto& member :
                         model.interactions[model.interactions_at[l][k]].members) {
                        if (std::ranges::find(cluster.agents, member.agent) ==
                            cluster.agents.end()) {
                            continue;
                        }
                        all_match *= made[at(member.agent)][member.signal];
                    }
                    matched[k] += all_match;
                }
            }
            for (std::size_t k = 0; k < matched.size(); ++k) product[l][k] *= matched[k];
            for (std::size_t e = 0; e < adds.size(); ++e) {
                std::map<std::size_t, double> both;
                for (const auto& [one, chance] : sums[e][l]) {
                    for (const auto& [more, probability] : adds[e]) {
                        both[one + more] += chance * probability;
                    }
                }
                sums[e][l] = std::move(both);
            }
            here = std::move(next);
        }
    }
    for (const auto& layer : product) {
        for (const double value : layer) total += value;
    }
    for (std::size_t e = 0; e < sums.size(); ++e) {
        for (const Index l : model.aggregates[e].layers) {
            const auto table = model.aggregates[e].table(l);
            for (const auto& [sum, chance] : sums[e][l]) total += chance * table[sum];
        }
    }
    return total;
}

}  // namespace coreplan::teams
