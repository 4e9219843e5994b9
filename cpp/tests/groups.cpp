#include "groups.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace coreplan::groups {

LocalPolicy random_policy(const CompiledModel& model, std::mt19937_64& random) {
    LocalPolicy policy;
    for (const CompiledAgent& who : model.agents) {
        auto& actions = policy.action.emplace_back();
        for (std::size_t c = 0; c < who.class_count(); ++c) {
            const Index count = who.action_begin[c + 1] - who.action_begin[c];
            actions.push_back(count == 0 ? 0 : static_cast<Index>(random() % count));
        }
    }
    return policy;
}

std::vector<std::vector<AgentId>> subsets(const CompiledModel& model) {
    std::vector<std::vector<AgentId>> all;
    for (std::size_t bits = 1; bits < std::size_t{1} << model.agents.size(); ++bits) {
        auto& some = all.emplace_back();
        for (std::size_t i = 0; i < model.agents.size(); ++i) {
            if ((bits >> i & 1U) != 0) some.push_back(as<AgentId>(i));
        }
    }
    return all;
}

std::vector<Status> somewhere(const CompiledModel& model, std::span<const AgentId> agents,
                              Index layer, double hidden, std::mt19937_64& random) {
    std::vector<Status> where;
    for (const AgentId each : agents) {
        const CompiledAgent& who = model.agents[at(each)];
        if (layer > 0 && std::bernoulli_distribution(hidden)(random)) {
            const Index first = who.after_layer_begin[layer - 1];
            const Index count = who.after_layer_begin[layer] - first;
            where.emplace_back(AfterId{first + static_cast<Index>(random() % count)});
        } else {
            where.emplace_back(ClassId{who.layer_begin[layer] +
                                       static_cast<Index>(random() % who.layer_size(layer))});
        }
    }
    return where;
}

std::vector<std::pair<Classes, double>> revealed(const CompiledModel& model,
                                                 std::span<const AgentId> agents,
                                                 std::span<const Status> where) {
    std::vector<std::pair<Classes, double>> all{{{}, 1.0}};
    for (std::size_t m = 0; m < agents.size(); ++m) {
        const CompiledAgent& who = model.agents[at(agents[m])];
        std::vector<std::pair<Classes, double>> wider;
        for (const auto& [row, chance] : all) {
            const auto add = [&](ClassId c, double probability) {
                wider.emplace_back(row, chance * probability);
                wider.back().first.push_back(c);
            };
            if (where[m].revealed()) {
                add(where[m].class_id(), 1.0);
                continue;
            }
            const std::size_t after = at(where[m].after_id());
            for (Index o = who.outcome_begin[after]; o < who.outcome_begin[after + 1]; ++o) {
                add(who.outcome_next[o], who.outcome_probability[o]);
            }
        }
        all = std::move(wider);
    }
    return all;
}

std::vector<AfterId> afters_of(const CompiledModel& model, std::span<const AgentId> agents,
                               std::span<const ClassId> classes, std::span<const Index> actions) {
    std::vector<AfterId> afters;
    for (std::size_t m = 0; m < agents.size(); ++m) {
        const CompiledAgent& who = model.agents[at(agents[m])];
        afters.push_back(who.action_after[who.action_begin[at(classes[m])] + actions[m]]);
    }
    return afters;
}

double own_reward(const CompiledModel& model, std::span<const AgentId> agents,
                  std::span<const ClassId> classes, std::span<const Index> actions) {
    double total = 0;
    for (std::size_t m = 0; m < agents.size(); ++m) {
        const CompiledAgent& who = model.agents[at(agents[m])];
        total += who.action_reward[who.action_begin[at(classes[m])] + actions[m]];
    }
    return total;
}

double interaction_reward(const CompiledModel& model, std::span<const AgentId> agents, Index layer,
                          std::span<const AfterId> afters) {
    double total = 0;
    for (const CompiledInteraction& interaction : model.interactions) {
        double product = 1;
        for (const InteractionMember& member : interaction.members) {
            const auto found = std::ranges::find(agents, member.agent);
            if (found == agents.end()) {
                product = 0;
                break;
            }
            const auto m = static_cast<std::size_t>(found - agents.begin());
            product *= model.agents[at(member.agent)].chance(at(afters[m]), member.signal);
        }
        for (const auto& [stage, value] : interaction.values) {
            if (stage == model.first_stage + layer) total += value * product;
        }
    }
    for (const CompiledAggregate& aggregate : model.aggregates) {
        if (!aggregate.counts_at(layer)) continue;
        std::size_t sum = 0;
        for (const AggregateMember& member : aggregate.members) {
            const auto found = std::ranges::find(agents, member.agent);
            if (found == agents.end()) continue;
            sum += model.units(member, afters[static_cast<std::size_t>(found - agents.begin())]);
        }
        total += aggregate.table(layer)[sum];
    }
    return total;
}

std::vector<Index> choices_of(const CompiledModel& model, std::span<const AgentId> agents,
                              std::span<const ClassId> classes) {
    std::vector<Index> choices;
    for (std::size_t m = 0; m < agents.size(); ++m) {
        const auto& begin = model.agents[at(agents[m])].action_begin;
        choices.push_back(begin[at(classes[m]) + 1] - begin[at(classes[m])]);
    }
    return choices;
}

bool count_on(std::vector<Index>& digits, std::span<const Index> sizes) {
    for (std::size_t x = digits.size(); x-- > 0;) {
        if (++digits[x] < sizes[x]) return true;
        digits[x] = 0;
    }
    return false;
}

double Exact::value(Index layer, const Classes& classes, std::span<const Index> actions) {
    const auto afters = afters_of(model_, agents_, classes, actions);
    std::vector<Status> next;
    for (const AfterId after : afters) next.emplace_back(after);
    return own_reward(model_, agents_, classes, actions) +
           interaction_reward(model_, agents_, layer, afters) + value(layer + 1, next);
}

double Exact::value(Index layer, std::span<const Status> where) {
    if (layer == model_.layer_count()) return 0;
    double total = 0;
    for (const auto& [classes, chance] : revealed(model_, agents_, where)) {
        total += chance * value(layer, classes);
    }
    return total;
}

double Exact::value(Index layer, const Classes& classes) {
    const auto found = known_.find({layer, classes});
    if (found != known_.end()) return found->second;
    const auto choices = choices_of(model_, agents_, classes);
    std::vector<Index> actions(agents_.size(), 0);
    double best = -std::numeric_limits<double>::infinity();
    do {
        best = std::max(best, value(layer, classes, actions));
    } while (count_on(actions, choices));
    return known_[{layer, classes}] = best;
}

std::vector<std::vector<Index>> together(const CompiledModel& model, const Couplings& couplings,
                                         std::span<const Index> lists, bool split) {
    const std::size_t n = model.agents.size();
    std::vector<std::vector<Index>> found;
    std::vector<char> seen(n, 0);
    const auto linked = [&](std::size_t i, std::size_t j) {
        for (std::size_t b = 0; b < couplings.bonds().size(); ++b) {
            const auto& who = couplings.bonds()[b].agents;
            if (std::ranges::find(who, as<AgentId>(i)) == who.end() ||
                std::ranges::find(who, as<AgentId>(j)) == who.end()) {
                continue;
            }
            std::vector<Index> own;
            for (const AgentId each : who) own.push_back(lists[at(each)]);
            if (couplings.alive(b, own)) return true;
        }
        return false;
    };
    for (std::size_t i = 0; i < n; ++i) {
        if (seen[i] != 0) continue;
        auto& group = found.emplace_back();
        const std::function<void(std::size_t)> visit = [&](std::size_t k) {
            if (seen[k] != 0) return;
            seen[k] = 1;
            group.push_back(static_cast<Index>(k));
            for (std::size_t j = 0; j < n; ++j) {
                if (!split || linked(k, j)) visit(j);
            }
        };
        visit(i);
        std::ranges::sort(group);
    }
    return found;
}

double worth(const CompiledModel& model, const Couplings& couplings,
             const GroupDecisions& decisions, const LocalPolicy& usual, bool split) {
    const auto everyone = model.everyone();
    using Place = std::pair<Index, std::vector<Index>>;  // layer, classes within it
    std::map<std::vector<AgentId>, std::map<Place, std::vector<Index>>> rows;
    for (const GroupDecisions::Rows& group : decisions.groups) {
        const auto width = static_cast<std::ptrdiff_t>(group.agents.size());
        for (std::size_t r = 0; r < group.layer.size(); ++r) {
            const auto from = static_cast<std::ptrdiff_t>(r) * width;
            const std::vector<Index> classes(group.classes.begin() + from,
                                             group.classes.begin() + from + width);
            rows[group.agents][{group.layer[r], classes}].assign(
                group.actions.begin() + from, group.actions.begin() + from + width);
        }
    }
    double total = 0;
    std::map<Classes, double> here{{Classes(everyone.size(), ClassId{0}), 1.0}};
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        std::map<Classes, double> next;
        for (const auto& [classes, chance] : here) {
            std::vector<Index> lists;
            std::vector<Index> actions;
            for (std::size_t i = 0; i < everyone.size(); ++i) {
                lists.push_back(couplings.list(everyone[i], classes[i]));
                actions.push_back(usual.action[i][at(classes[i])]);
            }
            for (const auto& group : together(model, couplings, lists, split)) {
                std::vector<AgentId> who;
                Place place{layer, {}};
                for (const Index i : group) {
                    who.push_back(AgentId{i});
                    place.second.push_back(static_cast<Index>(at(classes[i])) -
                                           model.agents[i].layer_begin[layer]);
                }
                const auto table = rows.find(who);
                if (table == rows.end()) continue;
                const auto row = table->second.find(place);
                if (row == table->second.end()) continue;
                for (std::size_t m = 0; m < group.size(); ++m) actions[group[m]] = row->second[m];
            }
            const auto afters = afters_of(model, everyone, classes, actions);
            total += chance * (own_reward(model, everyone, classes, actions) +
                               interaction_reward(model, everyone, layer, afters));
            std::vector<Status> reached;
            for (const AfterId after : afters) reached.emplace_back(after);
            for (const auto& [row, probability] : revealed(model, everyone, reached)) {
                next[row] += chance * probability;
            }
        }
        here = std::move(next);
    }
    return total;
}

}  // namespace coreplan::groups
