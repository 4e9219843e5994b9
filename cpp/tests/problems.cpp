#include "problems.hpp"

#include <algorithm>
#include <cmath>

namespace coreplan::problems {

AgentDescription agent(Index states, Index actions, std::vector<Choice> choices) {
    std::ranges::stable_sort(choices, {}, &Choice::state);
    AgentDescription result;
    result.state_count = states;
    result.action_count = actions;
    result.choice_begin.assign(states + 1, 0);
    result.outcome_begin.assign(1, 0);
    for (const Choice& choice : choices) {
        ++result.choice_begin[choice.state + 1];
        result.choice_action.push_back(choice.action);
        result.choice_first.push_back(choice.first);
        result.choice_last.push_back(choice.last);
        for (const Branch& branch : choice.outcomes) {
            result.outcome_next.push_back(branch.next);
            result.outcome_probability.push_back(branch.probability);
        }
        result.outcome_begin.push_back(static_cast<Index>(result.outcome_next.size()));
    }
    for (Index s = 0; s < states; ++s) result.choice_begin[s + 1] += result.choice_begin[s];
    return result;
}

AgentDescription one_state(Index actions) {
    std::vector<Choice> choices;
    for (Index a = 0; a < actions; ++a) choices.push_back({0, a, {{0}}});
    return agent(1, actions, std::move(choices));
}

Condition on_states(std::vector<Index> states) {
    return {std::move(states), std::nullopt, std::nullopt};
}
Condition on_actions(std::vector<Index> actions) {
    return {std::nullopt, std::move(actions), std::nullopt};
}
Condition on_nexts(std::vector<Index> nexts) {
    return {std::nullopt, std::nullopt, std::move(nexts)};
}
Condition on_anything() { return {}; }
Condition on(std::vector<Index> states, std::vector<Index> actions, std::vector<Index> nexts) {
    return {std::move(states), std::move(actions), std::move(nexts)};
}

Member when(Description& description, Index agent, Condition condition) {
    auto& conditions = description.agents[agent].conditions;
    conditions.push_back(std::move(condition));
    return {AgentId{agent}, static_cast<Index>(conditions.size() - 1)};
}

Entry entry(double value, std::vector<Member> members, std::optional<std::vector<Index>> stages) {
    return {std::move(members), value, std::move(stages)};
}

Description team(Index horizon, std::vector<AgentDescription> agents) {
    Description description;
    description.horizon = horizon;
    description.start.assign(agents.size(), StateId{0});
    description.agents = std::move(agents);
    return description;
}

Description crowd(Index agents, Index states, Index horizon) {
    std::vector<Choice> choices;
    for (Index s = 0; s < states; ++s) {
        std::vector<Branch> anywhere;
        for (Index n = 0; n < states; ++n) anywhere.push_back({n, 1.0 / states});
        choices.push_back(
            {s, 0, s % 4 == 0 ? anywhere : std::vector<Branch>{{(7 * s + 3) % states}}});
        choices.push_back({s, 1, {{(s + 1) % states, 0.5}, {(3 * s + 5) % states, 0.5}}});
    }
    Description made = team(horizon, std::vector(agents, agent(states, 2, choices)));
    for (Index i = 0; i < agents; ++i) {
        for (Index s = 0; s < states; ++s) {
            const Member alone = when(made, i, on_states({s}));
            made.entries.push_back(entry(0.1 * ((s * 13 + i) % 17), {alone}));
        }
        if (i == 0) continue;
        const Member here = when(made, i, on_actions({1}));
        const Member there = when(made, i - 1, on_actions({1}));
        made.entries.push_back(entry(-0.5 - 0.1 * i, {there, here}));
    }
    return made;
}

CompiledModel compiled(const Description& description, bool merge) {
    Monitor monitor;
    return compile(unroll(description, monitor), merge, monitor);
}

bool unit_mass(const Description& description) {
    for (const AgentDescription& agent : description.agents) {
        for (std::size_t c = 0; c < agent.choice_count(); ++c) {
            double mass = 0;
            for (Index o = agent.outcome_begin[c]; o < agent.outcome_begin[c + 1]; ++o) {
                mass += agent.outcome_probability[o];
            }
            if (std::abs(mass - 1) > 1e-14) return false;
        }
    }
    return true;
}

double relative(double value, double tolerance) {
    return tolerance * std::max(1.0, std::abs(value));
}

namespace {

class Maker {
public:
    explicit Maker(std::uint64_t seed) : random_(seed) {}

    Description make() {
        agents_ = between(1, 4);
        imprecise_ = happens(0.25);
        std::vector<AgentDescription> agents;
        for (Index i = 0; i < agents_; ++i) agents.push_back(make_agent());
        Description description = team(between(1, agents_ <= 2 ? 6 : 4), std::move(agents));
        if (happens(0.2)) description.first_stage = between(0, description.horizon - 1);
        for (Index i = 0; i < agents_; ++i) {
            description.start[i] = StateId{between(0, description.agents[i].state_count - 1)};
        }
        const Index entries = between(0, 9);
        for (Index k = 0; k < entries; ++k) {
            add_entry(description);
            description.entries.back().function = k / 2;
        }
        return description;
    }

    Description make_with_sums() {
        Description description = make();
        const Index count = between(1, 3);
        for (Index k = 0; k < count; ++k) add_aggregate(description);
        return description;
    }

private:
    Index between(Index low, Index high) {
        return std::uniform_int_distribution<Index>(low, high)(random_);
    }
    bool happens(double chance) { return std::bernoulli_distribution(chance)(random_); }

    // Sizes are held so that a reference can enumerate every joint action and joint outcome.
    AgentDescription make_agent() {
        const Index states = between(1, agents_ == 4 ? 3 : 4);
        const Index actions = agents_ <= 2 ? 3 : 2;
        std::vector<std::vector<Choice>> of_state(states);
        for (Index s = 0; s < states; ++s) {
            if (s > 0 && happens(0.25)) {
                of_state[s] = of_state[s - 1];
                for (Choice& choice : of_state[s]) choice.state = s;
                // The order of equal actions must not matter.
                if (happens(0.5)) std::ranges::reverse(of_state[s]);
                continue;
            }
            const Index choices = between(1, actions);
            for (Index a = 0; a < choices; ++a) {
                Choice choice{s, a, outcomes(states)};
                // The first one stays open, so that there always is an action.
                if (a > 0 && happens(0.25)) {
                    choice.first = between(0, 3);
                    choice.last = between(0, 5);
                }
                of_state[s].push_back(std::move(choice));
            }
        }
        std::vector<Choice> all;
        for (const auto& choices : of_state) all.insert(all.end(), choices.begin(), choices.end());
        return agent(states, actions, std::move(all));
    }

    std::vector<Branch> outcomes(Index states) {
        std::vector<Branch> branches;
        const Index most = agents_ <= 2 ? 4 : 2;
        const Index count = std::min(between(1, most), states);
        std::vector<Index> nexts(states);
        for (Index s = 0; s < states; ++s) nexts[s] = s;
        std::ranges::shuffle(nexts, random_);
        Index left = 8;  // eighths of probability
        for (Index k = 0; k < count; ++k) {
            const Index share = k + 1 == count ? left : between(0, left);
            left -= share;
            branches.push_back({nexts[k], share / 8.0});
        }
        if (imprecise_ && happens(0.7)) {
            Branch& largest = *std::ranges::max_element(branches, {}, &Branch::probability);
            largest.probability += std::uniform_real_distribution<double>(-5e-10, 5e-10)(random_);
        }
        return branches;
    }

    std::vector<Index> some_below(Index bound) {
        std::vector<Index> some;
        for (Index k = 0; k < bound; ++k) {
            if (happens(0.5)) some.push_back(k);
        }
        // Empty lists, which match nothing, are kept but rare; repeated ones mean no more than one.
        if (some.empty() && happens(0.8)) some.assign(2, between(0, bound - 1));
        return some;
    }

    std::optional<std::vector<Index>> perhaps_below(Index bound, double chance) {
        if (!happens(chance)) return std::nullopt;
        return some_below(bound);
    }

    void add_entry(Description& description) {
        std::vector<Member> members;
        const double chance = between(0, 4) / 4.0;
        for (Index i = 0; i < agents_; ++i) {
            if (!happens(chance)) continue;
            const AgentDescription& who = description.agents[i];
            members.push_back(
                when(description, i,
                     {perhaps_below(who.state_count, 0.4), perhaps_below(who.action_count, 0.5),
                      perhaps_below(who.state_count, 0.4)}));
        }
        const double value = static_cast<double>(between(0, 80)) / 4.0 - 10.0;
        description.entries.push_back(
            entry(value, std::move(members), perhaps_below(description.horizon, 0.4)));
    }

    void add_aggregate(Description& description) {
        Aggregate aggregate;
        std::vector<Index> most(agents_, 0);
        for (Index i = 0; i < agents_; ++i) {
            const Index amounts = happens(0.8) ? between(1, 2) : 0;
            for (Index k = 0; k < amounts; ++k) {
                const AgentDescription& who = description.agents[i];
                const Member member = when(description, i,
                                           {perhaps_below(who.state_count, 0.4),
                                            perhaps_below(who.action_count, 0.7), std::nullopt});
                const Index units = between(0, 2);
                aggregate.amounts.push_back({member.agent, member.condition, units});
                most[i] += units;
            }
        }
        Index sums = 1;
        for (const Index each : most) sums += each;
        const Index threshold = between(1, 3);
        const double step = static_cast<double>(between(0, 40)) / 4.0 - 5.0;
        const bool steps = happens(0.6);
        for (Index k = 0; k < sums; ++k) {
            aggregate.values.push_back(steps
                                           ? (k >= threshold ? step * (happens(0.5) ? 1 : k) : 0.0)
                                           : static_cast<double>(between(0, 40)) / 4.0 - 5.0);
        }
        aggregate.stages = perhaps_below(description.horizon, 0.3);
        description.aggregates.push_back(std::move(aggregate));
    }

    std::mt19937_64 random_;
    Index agents_ = 1;
    bool imprecise_ = false;
};

// A third count later rewards less, some of them not at all.
Description weighted(Description description, std::uint64_t seed) {
    if (seed % 3 != 1) return description;
    double weight = 1;
    for (Index stage = 0; stage < description.horizon; ++stage) {
        description.weights.push_back(stage < 5 || seed % 2 == 0 ? weight : 0.0);
        weight *= seed % 4 < 2 ? 0.5 : 0.9;
    }
    return description;
}

}  // namespace

Description random_team(std::uint64_t seed) { return weighted(Maker(seed).make(), seed); }
Description random_team_with_sums(std::uint64_t seed) {
    return weighted(Maker(seed).make_with_sums(), seed);
}
Description any_team(std::uint64_t seed) {
    return seed / 3 % 2 == 0 ? random_team(seed) : random_team_with_sums(seed);
}

}  // namespace coreplan::problems
