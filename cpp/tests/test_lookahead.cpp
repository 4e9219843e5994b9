#include "policies/lookahead.hpp"

#include <cmath>
#include <map>
#include <set>

#include "check.hpp"
#include "groups.hpp"
#include "policies.hpp"
#include "policies/improve.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;

// A table for some agents: random actions in joint states that it leads to itself, in most of them.
Cluster random_cluster(const CompiledModel& model, std::vector<AgentId> agents,
                       const LocalPolicy& otherwise, std::mt19937_64& random) {
    Cluster cluster;
    cluster.agents = std::move(agents);
    const std::size_t n = cluster.agents.size();
    std::set<std::vector<ClassId>> here{std::vector<ClassId>(n, ClassId{0})};
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        std::set<std::vector<ClassId>> next;
        for (const auto& state : here) {
            const bool known = random() % 4 != 0;
            std::vector<std::vector<ClassId>> moves{{}};
            for (std::size_t m = 0; m < n; ++m) {
                const std::size_t i = at(cluster.agents[m]);
                const CompiledAgent& who = model.agents[i];
                const Index begin = who.action_begin[at(state[m])];
                const Index count = who.action_begin[at(state[m]) + 1] - begin;
                Index position = otherwise.action[i][at(state[m])];
                if (known) {
                    position = static_cast<Index>(random() % count);
                    cluster.table.classes.push_back(
                        static_cast<Index>(at(state[m]) - who.layer_begin[layer]));
                    cluster.table.actions.push_back(position);
                }
                const std::size_t after = at(who.action_after[begin + position]);
                std::vector<std::vector<ClassId>> wider;
                for (const auto& row : moves) {
                    for (Index o = who.outcome_begin[after]; o < who.outcome_begin[after + 1];
                         ++o) {
                        wider.push_back(row);
                        wider.back().push_back(who.outcome_next[o]);
                    }
                }
                moves = std::move(wider);
            }
            if (known) cluster.table.layer.push_back(layer);
            next.insert(moves.begin(), moves.end());
        }
        here = std::move(next);
    }
    return cluster;
}

TeamPolicy random_team_policy(const CompiledModel& model, std::mt19937_64& random) {
    TeamPolicy policy{groups::random_policy(model, random), {}};
    std::vector<AgentId> agents = model.everyone();
    std::ranges::shuffle(agents, random);
    while (agents.size() > 1) {
        const std::size_t size = std::min<std::size_t>(agents.size(), 2 + random() % 2);
        std::vector<AgentId> some(agents.end() - static_cast<std::ptrdiff_t>(size), agents.end());
        agents.resize(agents.size() - size);
        std::ranges::sort(some);
        if (random() % 4 == 0) continue;
        policy.clusters.push_back(random_cluster(model, some, policy.otherwise, random));
    }
    return policy;
}

// The joint states of a policy's clusters: those that they get to from the root.
using Reached = std::vector<std::set<std::pair<Index, std::vector<ClassId>>>>;

Reached reached_by(const CompiledModel& model, const TeamPolicy& policy) {
    Reached reached(policy.clusters.size());
    for (std::size_t k = 0; k < reached.size(); ++k) {
        const Cluster& cluster = policy.clusters[k];
        const std::size_t n = cluster.agents.size();
        const Index last = cluster.table.size() == 0 ? 0 : cluster.table.layer.back() + 1;
        std::set<std::vector<ClassId>> here{std::vector<ClassId>(n, ClassId{0})};
        for (Index layer = 0; layer < last; ++layer) {
            std::set<std::vector<ClassId>> next;
            std::vector<ClassId> all(model.agents.size());
            for (std::size_t i = 0; i < all.size(); ++i) {
                all[i] = ClassId{model.agents[i].layer_begin[layer]};
            }
            for (const auto& state : here) {
                reached[k].emplace(layer, state);
                for (std::size_t m = 0; m < n; ++m) all[at(cluster.agents[m])] = state[m];
                const auto positions = policy.act(model, layer, all);
                std::vector<std::vector<ClassId>> moves{{}};
                for (std::size_t m = 0; m < n; ++m) {
                    const CompiledAgent& who = model.agents[at(cluster.agents[m])];
                    const Index a =
                        who.action_begin[at(state[m])] + positions[at(cluster.agents[m])];
                    const std::size_t after = at(who.action_after[a]);
                    std::vector<std::vector<ClassId>> wider;
                    for (const auto& row : moves) {
                        for (Index o = who.outcome_begin[after]; o < who.outcome_begin[after + 1];
                             ++o) {
                            wider.push_back(row);
                            wider.back().push_back(who.outcome_next[o]);
                        }
                    }
                    moves = std::move(wider);
                }
                next.insert(moves.begin(), moves.end());
            }
            here = std::move(next);
        }
    }
    return reached;
}

// The values of a base by recursion, for any set of clusters that follow their tables from a joint
// state on: those that leave them, and all others, follow their defaults for ever.
class PlainBase {
public:
    using Following = std::vector<char>;

    PlainBase(const Description& d, const policies::Translation& translation,
              const TeamPolicy& policy)
        : description_(d),
          translation_(translation),
          policy_(policy),
          reached_(reached_by(translation.model(), policy)) {}

    // Which clusters can follow their tables.
    Following all(Index stage, const reference::JointState& state) {
        Following follows;
        const Index layer = stage - translation_.model().first_stage;
        for (std::size_t k = 0; k < policy_.clusters.size(); ++k) {
            std::vector<ClassId> row;
            for (const AgentId who : policy_.clusters[k].agents) {
                row.push_back(ClassId{translation_.class_of(at(who), stage, state[at(who)])});
            }
            follows.push_back(reached_[k].contains({layer, row}) ? 1 : 0);
        }
        return follows;
    }

    double value(Index stage, const reference::JointState& state, const Following& follows) {
        return from(follows).value(stage, state);
    }
    double value(Index stage, const reference::JointState& state, const Following& follows,
                 const reference::JointChoice& choice) {
        double total = 0;
        std::vector<Index> transition(state.size());
        visit(stage, state, follows, choice, transition, 0, 1.0, total);
        return total;
    }

private:
    reference::Bellman& from(const Following& follows) {
        auto& known = bellmans_[follows];
        if (known != nullptr) return *known;
        auto& followed = followed_.emplace_back(std::make_unique<TeamPolicy>());
        followed->otherwise = policy_.otherwise;
        for (std::size_t k = 0; k < follows.size(); ++k) {
            if (follows[k] != 0) followed->clusters.push_back(policy_.clusters[k]);
        }
        known = std::make_unique<reference::Bellman>(description_, translation_.rule(*followed));
        return *known;
    }

    void visit(Index stage, const reference::JointState& state, const Following& follows,
               const reference::JointChoice& choice, std::vector<Index>& transition, std::size_t i,
               double chance, double& total) {
        if (i == state.size()) {
            reference::JointState next;
            for (std::size_t j = 0; j < state.size(); ++j) {
                next.push_back(description_.agents[j].outcome_next[transition[j]]);
            }
            double worth = from(follows).reward(stage, state, choice, transition);
            if (stage + 1 < description_.horizon) {
                Following still = all(stage + 1, next);
                for (std::size_t k = 0; k < still.size(); ++k) {
                    still[k] = still[k] != 0 && follows[k] != 0 ? 1 : 0;
                }
                worth += value(stage + 1, next, still);
            }
            total += chance * worth;
            return;
        }
        const AgentDescription& agent = description_.agents[i];
        for (Index o = agent.outcome_begin[choice[i]]; o < agent.outcome_begin[choice[i] + 1];
             ++o) {
            if (agent.outcome_probability[o] == 0) continue;
            transition[i] = o;
            visit(stage, state, follows, choice, transition, i + 1,
                  chance * agent.outcome_probability[o], total);
        }
    }

    const Description& description_;
    const policies::Translation& translation_;
    const TeamPolicy& policy_;
    Reached reached_;
    std::vector<std::unique_ptr<TeamPolicy>> followed_;
    std::map<std::vector<char>, std::unique_ptr<reference::Bellman>> bellmans_;
};

// All joint states of a stage.
template <class Visit>
void for_each_state(const policies::Translation& translation, Index layer, const Visit& visit) {
    for (const auto& state : policies::joint_states_at(translation.graphs(), layer)) visit(state);
}

std::vector<ClassId> classes_of(const policies::Translation& translation, Index stage,
                                const reference::JointState& state) {
    std::vector<ClassId> classes;
    for (std::size_t i = 0; i < state.size(); ++i) {
        classes.push_back(ClassId{translation.class_of(i, stage, state[i])});
    }
    return classes;
}

std::vector<Index> numbers_of(const CompiledModel& model, Index layer,
                              std::span<const ClassId> classes) {
    std::vector<Index> numbers;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        numbers.push_back(static_cast<Index>(at(classes[i]) - model.agents[i].layer_begin[layer]));
    }
    return numbers;
}

// The lookahead as a rule of the description.
reference::Rule rule_of(const policies::Translation& translation, const Lookahead& lookahead,
                        Monitor& monitor) {
    return [&](Index stage, const reference::JointState& state) {
        const CompiledModel& model = translation.model();
        const Index layer = stage - model.first_stage;
        const auto numbers = numbers_of(model, layer, classes_of(translation, stage, state));
        const auto positions = lookahead.act(layer, numbers, 1, monitor);
        reference::JointChoice choice;
        for (std::size_t i = 0; i < state.size(); ++i) {
            choice.push_back(translation.choice_of(i, stage, state[i], positions[i]));
        }
        return choice;
    };
}

TEST(
    "a base is worth in every joint state what following it is, and the joint action is the best "
    "for the clusters with which it is worth most") {
    std::mt19937_64 random(7);
    int tables = 0;
    int states = 0;
    int apart = 0;  // where a cluster that could follow its table had better not
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        const CompiledModel& model = translation.model();
        const std::vector<TeamPolicy> policies{random_team_policy(model, random)};
        if (!Lookahead::applies(model, policies)) continue;
        Monitor monitor;
        const Lookahead lookahead(model, policies, monitor);
        PlainBase plain(d, translation, policies[0]);
        tables += static_cast<int>(policies[0].clusters.size());
        for (Index layer = 0; layer < model.layer_count(); ++layer) {
            const Index stage = model.first_stage + layer;
            double constant = 0;
            for (Index l = layer; l < model.layer_count(); ++l) constant += model.constant_at[l];
            for_each_state(translation, layer, [&](const reference::JointState& state) {
                if (random() % 4 != 0) return;
                ++states;
                const auto classes = classes_of(translation, stage, state);
                const PlainBase::Following all = plain.all(stage, state);
                const double value = plain.value(stage, state, all);
                CHECK_NEAR(lookahead.value(0, layer, classes) + constant, value, relative(value));
                // All sets of clusters that follow their tables.
                std::vector<std::pair<double, PlainBase::Following>> sets;
                double most = value;
                std::vector<Index> ways;
                for (const char each : all) ways.push_back(each != 0 ? 2 : 1);
                std::vector<Index> set(all.size(), 0);
                do {
                    PlainBase::Following follows;
                    for (std::size_t k = 0; k < all.size(); ++k) {
                        follows.push_back(all[k] != 0 && set[k] == 0 ? 1 : 0);
                    }
                    sets.emplace_back(plain.value(stage, state, follows), follows);
                    most = std::max(most, sets.back().first);
                } while (groups::count_on(set, ways));
                apart += most > value + relative(value) ? 1 : 0;
                std::vector<Index> sizes;
                for (std::size_t i = 0; i < state.size(); ++i) {
                    const auto& begin = model.agents[i].action_begin;
                    sizes.push_back(begin[at(classes[i]) + 1] - begin[at(classes[i])]);
                }
                const auto chosen =
                    lookahead.act(layer, numbers_of(model, layer, classes), 1, monitor);
                const auto q = [&](const PlainBase::Following& follows,
                                   const std::vector<Index>& positions) {
                    reference::JointChoice choice;
                    for (std::size_t i = 0; i < state.size(); ++i) {
                        choice.push_back(translation.choice_of(i, stage, state[i], positions[i]));
                    }
                    return plain.value(stage, state, follows, choice);
                };
                bool found = false;
                for (const auto& [worth, follows] : sets) {
                    if (found || worth < most - relative(most)) continue;
                    const double now = q(follows, chosen);
                    double best = worth;
                    std::vector<Index> positions(state.size(), 0);
                    do best = std::max(best, q(follows, positions));
                    while (groups::count_on(positions, sizes));
                    found = now >= best - relative(best);
                }
                CHECK(found);
            });
        }
    }
    CHECK(tables > 100);
    CHECK(states > 1000);
    CHECK(apart > 10);
}

TEST("looking ahead is worth at least as much as every base, at most the optimum") {
    std::mt19937_64 random(11);
    int better = 0;
    int checked = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const policies::Translation translation(d, true);
        const CompiledModel& model = translation.model();
        std::vector<TeamPolicy> policies;
        for (std::uint64_t k = 0; k <= seed % 3; ++k) {
            policies.push_back(random_team_policy(model, random));
        }
        if (!Lookahead::applies(model, policies)) continue;
        Monitor monitor;
        const Lookahead lookahead(model, policies, monitor);
        const auto root = root_of(model).classes;
        double base = -1e300;
        for (std::size_t b = 0; b < policies.size(); ++b) {
            base = std::max(base, lookahead.value(b, 0, root) + model.constant());
            if (policies[b].clusters.empty()) continue;
            CHECK_NEAR(lookahead.value(b, 0, root), teams::worth(model, policies[b]),
                       relative(base));
        }
        reference::Bellman followed(d, rule_of(translation, lookahead, monitor));
        reference::Bellman best(d);
        const double value = followed.value();
        CHECK(value >= base - relative(base));
        for (Index layer = 0; layer < model.layer_count(); ++layer) {
            double constant = 0;
            for (Index l = layer; l < model.layer_count(); ++l) constant += model.constant_at[l];
            const Index stage = model.first_stage + layer;
            for_each_state(translation, layer, [&](const reference::JointState& state) {
                const double worth = followed.value(stage, state);
                const auto classes = classes_of(translation, stage, state);
                for (std::size_t b = 0; b < policies.size(); ++b) {
                    const double least = lookahead.value(b, layer, classes) + constant;
                    CHECK(worth >= least - relative(least));
                }
            });
        }
        CHECK(value <= best.value() + relative(value));
        better += value > base + 1e-6 ? 1 : 0;
        ++checked;
    }
    CHECK(checked > 80);
    CHECK(better > checked / 5);
}

TEST("runs of a lookahead earn its value on average, with and without what was luck") {
    std::mt19937_64 random(3);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const policies::Translation translation(d, true);
        const CompiledModel& model = translation.model();
        std::vector<TeamPolicy> policies{random_team_policy(model, random)};
        if (seed % 2 == 0) policies.push_back(random_team_policy(model, random));
        if (!Lookahead::applies(model, policies)) continue;
        Monitor monitor;
        const Lookahead lookahead(model, policies, monitor);
        const double value =
            reference::Bellman(d, rule_of(translation, lookahead, monitor)).value() -
            model.constant();
        constexpr std::size_t kRuns = 4000;
        Lookahead::Runs runs;
        Lookahead::Runs again;
        CHECK(lookahead.run(seed, 0, kRuns, 1, monitor, runs));
        // The same, on more threads and in parts.
        CHECK(lookahead.run(seed, 100, 300, 3, monitor, again));
        for (std::size_t r = 0; r < 300; ++r) {
            CHECK(again.earned[r] == runs.earned[100 + r]);
            CHECK(again.luck[r] == runs.luck[100 + r]);
        }
        for (const double part : {0.0, 0.7, 1.0}) {
            double mean = 0;
            double squares = 0;
            for (std::size_t r = 0; r < kRuns; ++r) {
                const double each = runs.earned[r] - part * runs.luck[r];
                mean += each / kRuns;
                squares += each * each / kRuns;
            }
            const double error = std::sqrt(std::max(squares - mean * mean, 0.0) / kRuns);
            CHECK_NEAR(mean, value, 4.5 * error + relative(value));
        }
    }
}

TEST("a large team looks ahead from clusters that were searched for") {
    // Without interactions of three, which clusters would cut in two.
    CompiledModel model = teams::ring(30, 10, 5);
    for (CompiledInteraction& interaction : model.interactions) {
        if (interaction.members.size() > 2) interaction.values.clear();
    }
    for (std::size_t l = 0; l < model.interactions_at.size(); ++l) {
        for (std::size_t k = 0; k < model.interactions_at[l].size(); ++k) {
            if (model.interactions[model.interactions_at[l][k]].members.size() > 2) {
                model.values_at[l][k] = 0;
            }
        }
    }
    Monitor monitor;
    PolicySearch search(model, {}, monitor);
    search.improve(Monitor::kNoEnd, 6000);
    std::vector<TeamPolicy> policies{search.policy()};
    CHECK(!policies[0].clusters.empty());
    for (const LocalPolicy& policy : search.bases(2)) policies.push_back({policy, {}});
    CHECK(Lookahead::applies(model, policies));
    const Lookahead lookahead(model, policies, monitor);
    const double certain = search.value() - model.constant();
    CHECK_NEAR(lookahead.value(0, 0, root_of(model).classes), certain, relative(certain));
    Lookahead::Runs runs;
    CHECK(lookahead.run(1, 0, 400, 2, monitor, runs));
    double mean = 0;
    double squares = 0;
    for (std::size_t r = 0; r < 400; ++r) {
        const double each = runs.earned[r] - runs.luck[r];
        mean += each / 400;
        squares += each * each / 400;
    }
    const double error = std::sqrt((squares - mean * mean) / 400);
    CHECK(mean > certain);
    CHECK(mean + 4 * error > certain);
}

}  // namespace
}  // namespace coreplan
