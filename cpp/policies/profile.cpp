#include "policies/profile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bounds/sums.hpp"

namespace coreplan {

namespace {

// Improvements below this share of all that can be earned or lost are taken for rounding.
constexpr double kTolerance = 1e-12;
// In small teams the first few tries, and then every so many, put all agents in one by one, in a
// random order.
constexpr std::uint64_t kFreshStarts = 4;
constexpr std::size_t kFewAgents = 16;
// Profiles are alike if no more than this share of what is expected to be signalled differs.
constexpr double kAlike = 0.1;
constexpr std::size_t kNobody = ~std::size_t{0};

}  // namespace

Descent::Descent(const CompiledModel& model, Monitor& monitor)
    : model_(model),
      monitor_(monitor),
      signals_(signal_counts(model)),
      interactions_of_(model.agents.size()),
      aggregates_of_(model.agents.size()),
      neighbours_(model.agents.size()),
      tolerance_(kTolerance * reward_scale(model)) {
    for (std::size_t e = 0; e < model.interactions.size(); ++e) {
        if (model.interactions[e].values.empty()) continue;
        for (const InteractionMember& one : model.interactions[e].members) {
            interactions_of_[at(one.agent)].push_back(static_cast<Index>(e));
            for (const InteractionMember& other : model.interactions[e].members) {
                if (other.agent != one.agent) neighbours_[at(one.agent)].push_back(other.agent);
            }
        }
    }
    for (std::size_t e = 0; e < model.aggregates.size(); ++e) {
        if (model.aggregates[e].layers.empty()) continue;
        for (const AggregateMember& one : model.aggregates[e].members) {
            aggregates_of_[at(one.agent)].push_back(static_cast<Index>(e));
            for (const AggregateMember& other : model.aggregates[e].members) {
                if (other.agent != one.agent) neighbours_[at(one.agent)].push_back(other.agent);
            }
        }
    }
    for (auto& list : neighbours_) {
        std::ranges::sort(list);
        const auto repeated = std::ranges::unique(list);
        list.erase(repeated.begin(), repeated.end());
    }
    if (model.interactions_earn()) hope_ = best_chances(model);
}

void Descent::begin(const LocalPolicy& policy, const Standing& standing) {
    const std::size_t n = model_.agents.size();
    standing_ = standing;
    profile_.policy = policy;
    profile_.chance.resize(n);
    profile_.own.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        follow(model_, as<AgentId>(i), signals_[i], policy.action[i], standing.layer,
               standing.classes[i], flow_, monitor_);
        profile_.chance[i] = flow_.chance;
        profile_.own[i] = 0;
        for (const double own : flow_.own) profile_.own[i] += own;
    }
    absent_.assign(n, 0);
    hoped_for_.assign(n, 0);
    disturbed_.assign(n, 1);
    is_saved_.assign(n, 0);
    saved_.clear();
    forgotten_.clear();
    add_up();
    keep();
}

// The value from nothing, so that rounding does not pile up.
void Descent::add_up() {
    const std::size_t layers = model_.layer_count();
    double total = 0;
    for (std::size_t i = 0; i < profile_.own.size(); ++i) {
        if (absent_[i] == 0) total += profile_.own[i];
    }
    for (const CompiledInteraction& interaction : model_.interactions) {
        for (const auto& [stage, value] : interaction.values) {
            double expected = value;
            for (const InteractionMember& member : interaction.members) {
                expected *= profile_.chance[at(member.agent)][at(member.signal) * layers + stage -
                                                              model_.first_stage];
            }
            total += expected;
        }
    }
    for (const CompiledAggregate& aggregate : model_.aggregates) {
        for (const Index layer : aggregate.layers) {
            total +=
                expected_value(aggregate.table(layer), sums_without(aggregate, layer, kNobody));
        }
    }
    profile_.value = total;
}

// Those who are absent have chances of 0.
const std::vector<double>& Descent::sums_without(const CompiledAggregate& aggregate, Index layer,
                                                 std::size_t without) {
    sums_.assign(1, 1.0);
    std::size_t work = 0;
    for (const AggregateMember& member : aggregate.members) {
        if (at(member.agent) == without) continue;
        add_amounts(sums_, amounts_of(member, profile_.chance[at(member.agent)],
                                      model_.layer_count(), layer));
        work += sums_.size() * (1 + member.units.size());
    }
    monitor_.tick_or_throw(cost::kAmount * work + 1);
    return sums_;
}

// How likely another agent makes its part of an interaction of that value, as far as is known.
double Descent::chance_of(const InteractionMember& member, Index layer, double value) const {
    const std::size_t who = at(member.agent);
    if (hoped_for_[who] != 0 && value > 0) return hope_[who][layer][at(member.signal)];
    return profile_.chance[who][at(member.signal) * model_.layer_count() + layer];
}

// Fills `extra_` for one agent; returns what its interactions are expected to bring as it is.
double Descent::expected_interactions(std::size_t i) {
    const std::size_t layers = model_.layer_count();
    extra_.assign(signals_[i] * layers, 0.0);
    for (const Index e : interactions_of_[i]) {
        const CompiledInteraction& interaction = model_.interactions[e];
        const std::size_t mine =
            at(std::ranges::find(interaction.members, as<AgentId>(i), &InteractionMember::agent)
                   ->signal);
        double* extra = extra_.data() + mine * layers;
        if (interaction.members.size() == 2) {
            const InteractionMember& other =
                interaction.members[at(interaction.members[0].agent) == i ? 1 : 0];
            const double* chance =
                profile_.chance[at(other.agent)].data() + at(other.signal) * layers;
            const bool hope = hoped_for_[at(other.agent)] != 0;
            for (const auto& [stage, value] : interaction.values) {
                const Index layer = stage - model_.first_stage;
                extra[layer] += value * (hope ? chance_of(other, layer, value) : chance[layer]);
            }
        } else {
            for (const auto& [stage, value] : interaction.values) {
                const Index layer = stage - model_.first_stage;
                double expected = value;
                for (const InteractionMember& other : interaction.members) {
                    if (at(other.agent) == i) continue;
                    expected *= chance_of(other, layer, value);
                }
                extra[layer] += expected;
            }
        }
        monitor_.tick_or_throw(cost::kResponseValue * interaction.values.size());
    }
    for (const Index e : aggregates_of_[i]) {
        const CompiledAggregate& aggregate = model_.aggregates[e];
        const AggregateMember& mine =
            *std::ranges::find(aggregate.members, as<AgentId>(i), &AggregateMember::agent);
        for (const Index layer : aggregate.layers) {
            const std::vector<double>& sums = sums_without(aggregate, layer, i);
            const std::span<const double> table = aggregate.table(layer);
            const double without = expected_value(table, sums);
            for (const auto& [signal, units] : mine.units) {
                extra_[at(signal) * layers + layer] += expected_value(table, sums, units) - without;
            }
            monitor_.tick_or_throw(1 + cost::kAmount * sums.size() * mine.units.size());
        }
    }
    double now = 0;
    for (std::size_t k = 0; k < extra_.size(); ++k) now += extra_[k] * profile_.chance[i][k];
    return now;
}

// The best response of one agent. Nothing changes before all is found, so a limit may strike.
bool Descent::answer(std::size_t i) {
    const CompiledAgent& agent = model_.agents[i];
    const std::size_t layers = model_.layer_count();
    const double now = expected_interactions(i) + profile_.own[i];
    class_value_.resize(std::max(class_value_.size(), agent.class_count()));
    after_value_.resize(std::max(after_value_.size(), agent.after_label.size()));
    action_ = profile_.policy.action[i];
    std::fill(class_value_.begin() + agent.layer_begin[layers],
              class_value_.begin() + static_cast<std::ptrdiff_t>(agent.class_count()), 0.0);
    for (std::size_t layer = layers; layer-- > standing_.layer;) {
        for (Index k = agent.after_layer_begin[layer]; k < agent.after_layer_begin[layer + 1];
             ++k) {
            double value = 0;
            const std::size_t label = at(agent.after_label[k]);
            for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                const std::size_t signal = at(agent.label_factor[f].signal);
                if (signal < signals_[i]) {
                    value += agent.label_factor[f].chance * extra_[signal * layers + layer];
                }
            }
            for (Index o = agent.outcome_begin[k]; o < agent.outcome_begin[k + 1]; ++o) {
                value += agent.outcome_probability[o] * class_value_[at(agent.outcome_next[o])];
            }
            after_value_[k] = value;
        }
        for (Index c = agent.layer_begin[layer]; c < agent.layer_begin[layer + 1]; ++c) {
            double best = -std::numeric_limits<double>::infinity();
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                const double value =
                    agent.action_reward[a] + after_value_[at(agent.action_after[a])];
                if (value > best) {
                    best = value;
                    action_[c] = a - agent.action_begin[c];
                }
            }
            class_value_[c] = best;
        }
        monitor_.tick_or_throw(cost::kResponseState *
                               (agent.after_layer_begin[layer + 1] -
                                agent.after_layer_begin[layer] + agent.layer_begin[layer + 1] -
                                agent.layer_begin[layer]));
    }
    const double best = class_value_[at(standing_.classes[i])];
    if (absent_[i] == 0 && best <= now + tolerance_) {
        disturbed_[i] = 0;
        return false;
    }
    follow(model_, as<AgentId>(i), signals_[i], action_, standing_.layer, standing_.classes[i],
           flow_, monitor_);
    save(i);
    profile_.value += absent_[i] != 0 ? best : best - now;
    std::swap(profile_.policy.action[i], action_);
    std::swap(profile_.chance[i], flow_.chance);
    profile_.own[i] = 0;
    for (const double own : flow_.own) profile_.own[i] += own;
    absent_[i] = 0;
    hoped_for_[i] = 0;
    disturb(i);
    disturbed_[i] = 0;
    return true;
}

void Descent::disturb(std::size_t i) {
    for (const AgentId other : neighbours_[i]) disturbed_[at(other)] = 1;
}

void Descent::forget(AgentId who, bool hope) {
    const std::size_t i = at(who);
    if (hope && gains()) hoped_for_[i] = 1;
    if (absent_[i] != 0) return;
    const double now = expected_interactions(i) + profile_.own[i];
    save(i);
    std::ranges::fill(profile_.chance[i], 0.0);
    profile_.own[i] = 0;
    profile_.value -= now;
    absent_[i] = 1;
    forgotten_.push_back(i);
    disturb(i);
}

void Descent::descend() {
    for (std::size_t i = 0; i < absent_.size(); ++i) {
        if (absent_[i] == 0 && disturbed_[i] != 0) answer(i);
    }
    for (const std::size_t i : forgotten_) answer(i);
    forgotten_.clear();
    bool changed = true;
    while (changed) {
        changed = false;
        for (std::size_t i = 0; i < absent_.size(); ++i) {
            if (disturbed_[i] != 0 && answer(i)) changed = true;
        }
    }
    add_up();
}

void Descent::save(std::size_t i) {
    if (is_saved_[i] != 0) return;
    is_saved_[i] = 1;
    saved_.push_back(
        {i, profile_.policy.action[i], profile_.chance[i], profile_.own[i], absent_[i] != 0});
}

void Descent::keep() {
    for (const Saved& saved : saved_) is_saved_[saved.agent] = 0;
    saved_.clear();
    saved_value_ = profile_.value;
}

void Descent::take_back() {
    for (Saved& saved : saved_) {
        profile_.policy.action[saved.agent] = std::move(saved.action);
        profile_.chance[saved.agent] = std::move(saved.chance);
        profile_.own[saved.agent] = saved.own;
        absent_[saved.agent] = saved.absent ? 1 : 0;
        disturbed_[saved.agent] = 1;
        is_saved_[saved.agent] = 0;
    }
    saved_.clear();
    forgotten_.clear();
    std::ranges::fill(hoped_for_, 0);
    profile_.value = saved_value_;
}

double Profile::bytes() const {
    double total = static_cast<double>(own.size() * sizeof(double));
    for (const auto& each : policy.action)
        total += static_cast<double>(each.size() * sizeof(Index));
    for (const auto& each : chance) total += static_cast<double>(each.size() * sizeof(double));
    return total;
}

ProfileSearch::ProfileSearch(const CompiledModel& model, std::uint64_t seed, std::size_t keep,
                             Monitor& monitor, const LocalPolicy* start, bool apart)
    : descent_(model, monitor),
      random_(seed),
      keep_(std::max<std::size_t>(keep, 1)),
      memory_(monitor) {
    add(start != nullptr ? *start : independent_bounds(model, monitor).policy, apart);
}

bool ProfileSearch::add(const LocalPolicy& policy, bool apart) {
    descent_.begin(policy, root_of(descent_.model()));
    // The policy itself is an answer already; a limit may strike before a better one is found.
    if (best_.empty()) {
        memory_.take(descent_.profile().bytes(), "a policy of single agents");
        best_.push_back(descent_.profile());
    }
    if (apart) forget_all(false);
    descent_.descend();
    return record();
}

// Everyone is forgotten, to answer in a random order.
void ProfileSearch::forget_all(bool hope) {
    std::vector<AgentId> order = descent_.model().everyone();
    for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random_.below(k)]);
    for (const AgentId who : order) descent_.forget(who, hope);
}

bool ProfileSearch::attempt() {
    const std::size_t n = descent_.model().agents.size();
    if (n == 0) return false;
    ++attempts_;
    // Where agents can gain together, every other try hopes for that.
    const bool hope = descent_.gains() && attempts_ % 2 == 1;
    // Go on from the best, now and then from another that was kept.
    const bool other = best_.size() > 1 && random_.below(4) == 0;
    const Profile& from = other ? best_[1 + random_.below(best_.size() - 1)] : best_[0];
    if (other || descent_.value() != from.value) {
        descent_.begin(from.policy, root_of(descent_.model()));
    }
    if (n <= kFewAgents && (attempts_ <= kFreshStarts || attempts_ % kFreshStarts == 0)) {
        forget_all(hope);
    } else {
        const AgentId first = as<AgentId>(random_.below(n));
        descent_.forget(first, hope);
        // About two in all: the second is a neighbour, so that both have something to do with
        // each other.
        const auto& near = descent_.neighbours(first);
        if (!near.empty() && random_.below(8) != 0)
            descent_.forget(near[random_.below(near.size())], hope);
        if (!near.empty() && random_.below(3) == 0)
            descent_.forget(near[random_.below(near.size())], hope);
    }
    descent_.descend();
    const bool better = record();
    if (better) {
        descent_.keep();
    } else {
        descent_.take_back();
    }
    return better;
}

// Puts the profile that was reached among the best; true if it is the best of all. Of profiles that
// are much alike only the best is kept: rollouts live on bases that differ.
bool ProfileSearch::record() {
    const Profile& found = descent_.profile();
    const double tolerance = descent_.tolerance();
    if (best_.size() >= keep_ && found.value <= best_.back().value) return false;
    double mass = 0;
    for (const auto& chances : found.chance) {
        for (const double chance : chances) mass += chance;
    }
    const auto alike = [&](const Profile& known) {
        double apart = 0;
        for (std::size_t i = 0; i < known.chance.size(); ++i) {
            for (std::size_t k = 0; k < known.chance[i].size(); ++k) {
                apart += std::abs(known.chance[i][k] - found.chance[i][k]);
            }
            if (apart > kAlike * mass) return false;
        }
        return true;
    };
    for (const Profile& known : best_) {
        if (known.value >= found.value - tolerance && alike(known)) return false;
    }
    const bool better = best_.empty() || found.value > best_.front().value + tolerance;
    // From here on nothing may fail: there has to be a best one.
    Profile fresh = found;
    best_.reserve(keep_ + 1);
    std::erase_if(best_,
                  [&](const Profile& known) { return known.value < found.value && alike(known); });
    const double bytes = found.bytes();
    memory_.set(bytes * static_cast<double>(best_.size()), "");
    // Where there is no room for one more, the worst makes way.
    if (best_.size() >= keep_ || !memory_.try_take(bytes)) {
        keep_ = std::max<std::size_t>(best_.size(), 1);
        if (!best_.empty() && best_.back().value >= found.value) return better;
        if (!best_.empty()) best_.pop_back();
    }
    const auto where =
        std::ranges::upper_bound(best_, fresh.value, std::greater<>{}, &Profile::value);
    best_.insert(where, std::move(fresh));
    return better;
}

}  // namespace coreplan
