#include "search/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/hashing.hpp"

namespace coreplan {

double pair_value(const PairBlock& block, const double* value, AfterId first,
                  Index second_in_layer) {
    const auto begin = block.column.begin() + block.row_begin[at(first)];
    const auto end = block.column.begin() + block.row_begin[at(first) + 1];
    const auto found = std::lower_bound(begin, end, second_in_layer);
    return found != end && *found == second_in_layer ? value[found - block.column.begin()] : 0.0;
}

void ValueTable::round_up() {
    rough.resize(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
        const auto near = static_cast<float>(values[k]);
        rough[k] = static_cast<double>(near) >= values[k]
                       ? near
                       : std::nextafter(near, std::numeric_limits<float>::infinity());
    }
    values = {};
}

Shapes::Shapes(const CompiledModel& model, const Couplings& couplings, Room& room, Monitor& monitor)
    : model_(model), couplings_(couplings), room_(room), memory_(monitor) {
    for (const AgentId agent : model.everyone()) {
        memory_.take(modes_bytes(model, agent), "what the search needs of an agent");
        monitor.tick(modes_work(model, agent));
        modes_.push_back(make_modes(model, agent));
    }
    blocks_ = make_pair_blocks(model, model.everyone(), memory_);
}

std::vector<Shape*> Shapes::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<Shape*> found;
    for (const auto& [hash, bucket] : known_) {
        for (const auto& shape : bucket) found.push_back(shape.get());
    }
    return found;
}

Shape& Shapes::get(std::span<const AgentId> agents, Monitor& monitor) {
    std::size_t hash = kHashSeed;
    for (const AgentId agent : agents) hash = hash_on(hash, at(agent));
    const std::lock_guard lock(mutex_);
    auto& bucket = known_[hash];
    for (const auto& shape : bucket) {
        if (std::ranges::equal(shape->agents, agents)) return *shape;
    }
    auto shape = std::make_unique<Shape>();
    shape->agents.assign(agents.begin(), agents.end());
    const auto place = [&](AgentId agent) {
        return static_cast<Index>(std::ranges::lower_bound(shape->agents, agent) -
                                  shape->agents.begin());
    };
    for (std::size_t b = 0; b < couplings_.bonds().size(); ++b) {
        const auto& bond = couplings_.bonds()[b];
        if (!std::ranges::includes(shape->agents, bond.agents)) continue;
        auto& here = shape->bonds.emplace_back(b, std::vector<Index>{});
        for (const AgentId agent : bond.agents) here.places.push_back(place(agent));
    }
    for (const PairBlock& block : blocks_) {
        if (std::ranges::binary_search(shape->agents, block.first) &&
            std::ranges::binary_search(shape->agents, block.second)) {
            shape->pairs.push_back({&block, place(block.first), place(block.second)});
        }
    }
    shape->wide = wide_interactions(model_, shape->agents);
    shape->sums = aggregates_touching(model_, shape->agents);
    shape->places.resize(shape->size());
    std::iota(shape->places.begin(), shape->places.end(), Index{0});
    shape->ties.assign(shape->size(), 0);
    for (const Shape::BondAt& bond : shape->bonds) {
        for (const Index m : bond.places) ++shape->ties[m];
    }
    shape->cells = team_cells(model_, shape->agents);
    shape->table_work = kernel_work(model_, shape->agents);
    if (prepare_) prepare_(*shape, monitor);
    bucket.push_back(std::move(shape));
    return *bucket.back();
}

Index Shapes::split(const Shape& shape, std::span<const Index> lists,
                    std::vector<Index>& part_of) const {
    const std::size_t n = shape.size();
    part_of.resize(n);
    std::iota(part_of.begin(), part_of.end(), Index{0});
    const auto leader = [&](Index m) {
        while (part_of[m] != m) m = part_of[m];
        return m;
    };
    Index parts = static_cast<Index>(n);
    std::vector<Index> own;
    for (const Shape::BondAt& bond : shape.bonds) {
        if (parts == 1) break;
        bool apart = false;
        const Index first = leader(bond.places[0]);
        for (const Index m : bond.places) apart = apart || leader(m) != first;
        if (!apart) continue;
        own.clear();
        for (const Index m : bond.places) own.push_back(lists[m]);
        if (!couplings_.alive(bond.bond, own)) continue;
        for (const Index m : bond.places) {
            const Index one = leader(bond.places[0]);
            const Index other = leader(m);
            if (one == other) continue;
            part_of[std::max(one, other)] = std::min(one, other);
            --parts;
        }
    }
    // Leaders come before those whom they lead: numbers in the order of first members.
    Index count = 0;
    std::vector<Index> number(n);
    for (Index m = 0; m < n; ++m) {
        number[m] = part_of[m] == m ? count++ : number[part_of[m]];
    }
    part_of = std::move(number);
    return count;
}

Team Shapes::team_of(const Shape& shape) const {
    Team team;
    team.agents = shape.agents;
    for (const AgentId agent : shape.agents) {
        team.modes.push_back(&modes_[at(agent)]);
        team.rewards.push_back(model_.agents[at(agent)].action_reward.data());
    }
    for (const Shape::PairAt& pair : shape.pairs) {
        team.pairs.push_back({pair.first, pair.second, pair.block, pair.block->value.data()});
    }
    team.wide = shape.wide;
    for (const Index e : shape.sums) team.sums.push_back({.aggregate = e});
    return team;
}

bool Shapes::solve(Shape& shape, unsigned threads, Monitor& monitor) {
    const std::lock_guard lock(solving_);
    if (shape.exact.load() != nullptr) return true;
    if (shape.refused.load()) return false;
    const KernelOptions options{.policy = false, .values = true, .threads = threads};
    const double bytes = kernel_bytes(model_, shape.agents, options);
    if (!room_.take(bytes)) {
        shape.refused = true;
        return false;
    }
    TeamSolution solution;
    KernelBuffers buffers;
    solve_team(model_, team_of(shape), options, solution, buffers, monitor);
    room_.give_back(bytes);
    if (solution.stop != Stop::none) return false;
    auto table = std::make_unique<ValueTable>();
    table->layer_begin = std::move(solution.layer_begin);
    table->values = std::move(solution.values);
    room_.take(static_cast<double>(table->values.size() * sizeof(double)));
    shape.exact.store(table.get(), std::memory_order_release);
    tables_.push_back(std::move(table));
    return true;
}

std::vector<ValueTable> Shapes::take_tables() {
    std::vector<ValueTable> taken;
    for (const auto& table : tables_) taken.push_back(std::move(*table));
    return taken;
}

double Shapes::look_up(const ValueTable& table, Index layer, std::span<const AgentId> agents,
                       std::span<const Index> places, std::span<const Status> where) const {
    const std::uint64_t first = table.layer_begin[layer];
    std::uint64_t cell = 0;
    bool revealed = true;
    for (const Index m : places) {
        const CompiledAgent& agent = model_.agents[at(agents[m])];
        revealed = revealed && where[m].revealed();
        if (!revealed) break;
        cell =
            cell * agent.layer_size(layer) + (at(where[m].class_id()) - agent.layer_begin[layer]);
    }
    if (revealed) return table.at(first + cell);
    // All combinations of outcomes.
    struct Hidden {
        const CompiledAgent* agent;
        std::uint64_t stride;
        Index begin;
        Index end;
        Index now;
    };
    std::vector<Hidden> hidden;
    std::uint64_t stride = 1;
    cell = 0;
    for (std::size_t x = places.size(); x-- > 0;) {
        const Index m = places[x];
        const CompiledAgent& agent = model_.agents[at(agents[m])];
        if (where[m].revealed()) {
            cell += stride * (at(where[m].class_id()) - agent.layer_begin[layer]);
        } else {
            const std::size_t after = at(where[m].after_id());
            hidden.push_back({&agent, stride, agent.outcome_begin[after],
                              agent.outcome_begin[after + 1], agent.outcome_begin[after]});
        }
        stride *= agent.layer_size(layer);
    }
    double sum = 0;
    for (bool more = true; more;) {
        double chance = 1;
        std::uint64_t to = cell;
        for (const Hidden& each : hidden) {
            chance *= each.agent->outcome_probability[each.now];
            to += each.stride *
                  (at(each.agent->outcome_next[each.now]) - each.agent->layer_begin[layer]);
        }
        sum += chance * table.at(first + to);
        more = false;
        for (Hidden& each : hidden) {
            if (++each.now < each.end) {
                more = true;
                break;
            }
            each.now = each.begin;
        }
    }
    return sum;
}

double Shapes::interactions(const Shape& shape, Index layer,
                            std::span<const AfterId> afters) const {
    double total = 0;
    for (const Shape::PairAt& pair : shape.pairs) {
        const CompiledAgent& second = model_.agents[at(shape.agents[pair.second])];
        total += pair_value(
            *pair.block, pair.block->value.data(), afters[pair.first],
            static_cast<Index>(at(afters[pair.second])) - second.after_layer_begin[layer]);
    }
    for (const Index e : shape.wide) {
        const CompiledInteraction& interaction = model_.interactions[e];
        double value = interaction.value_at(model_.first_stage + layer);
        for (const InteractionMember& member : interaction.members) {
            if (value == 0) break;
            const auto m = static_cast<std::size_t>(
                std::ranges::lower_bound(shape.agents, member.agent) - shape.agents.begin());
            value *= model_.agents[at(member.agent)].chance(at(afters[m]), member.signal);
        }
        total += value;
    }
    for (const Index e : shape.sums) {
        const CompiledAggregate& aggregate = model_.aggregates[e];
        if (!aggregate.counts_at(layer)) continue;
        total += aggregate.table(layer)[units_of(model_, aggregate, shape.agents, afters)];
    }
    return total;
}

namespace {

// What joint actions are worth in one joint state, by a table of what follows.
class ActionValues {
public:
    ActionValues(const CompiledModel& model, const Team& team, const ValueTable& table, Index layer,
                 std::span<const ClassId> classes)
        : model_(model),
          team_(team),
          table_(table),
          layer_(layer),
          last_(layer + 1 == model.layer_count()),
          agents_(classes.size()),
          after_(classes.size()),
          outcome_(classes.size()) {
        std::uint64_t stride = 1;
        for (std::size_t m = classes.size(); m-- > 0;) {
            const CompiledAgent& agent = model.agents[at(team.agents[m])];
            const std::size_t c = at(classes[m]);
            agents_[m] = {&agent,
                          agent.action_begin[c],
                          agent.action_begin[c + 1] - agent.action_begin[c],
                          agent.after_layer_begin[layer],
                          agent.layer_begin[layer + 1],
                          stride};
            if (!last_) stride *= agent.layer_size(layer + 1);
        }
    }

    // Of all of them, the last agent's actions fastest.
    std::vector<double> all() {
        std::size_t cells = 1;
        for (const Agent& agent : agents_) cells *= agent.count;
        std::vector<double> values(cells);
        std::vector<Index> digit(agents_.size(), 0);
        for (double& value : values) {
            value = earned_now(digit);
            if (!last_) value += expected_later();
            for (std::size_t m = agents_.size(); m-- > 0;) {
                if (++digit[m] < agents_[m].count) break;
                digit[m] = 0;
            }
        }
        return values;
    }

private:
    struct Agent {
        const CompiledAgent* model;
        Index first;  // action
        Index count;
        Index after_first;
        Index class_first;
        std::uint64_t stride;
    };

    // What a joint action brings at once; notes where it leads.
    double earned_now(const std::vector<Index>& digit) {
        double value = 0;
        for (std::size_t m = 0; m < agents_.size(); ++m) {
            const Index action = agents_[m].first + digit[m];
            after_[m] = agents_[m].model->action_after[action];
            value += team_.rewards[m][action];
        }
        for (const Team::Pair& pair : team_.pairs) {
            value += pair_value(
                *pair.block, pair.value, after_[pair.first],
                static_cast<Index>(at(after_[pair.second])) - agents_[pair.second].after_first);
        }
        for (const Index e : team_.wide) {
            const CompiledInteraction& interaction = model_.interactions[e];
            double gain = interaction.value_at(model_.first_stage + layer_);
            for (const InteractionMember& member : interaction.members) {
                if (gain == 0) break;
                const std::size_t m = position_in(team_.agents, member.agent);
                gain *= agents_[m].model->chance(at(after_[m]), member.signal);
            }
            value += gain;
        }
        for (const Team::Sum& sum : team_.sums) {
            const double* values = sum_values(model_, sum, layer_);
            if (values == nullptr) continue;
            value +=
                values[units_of(model_, model_.aggregates[sum.aggregate], team_.agents, after_)];
        }
        return value;
    }

    // Over all combinations of outcomes, the last agent's fastest.
    double expected_later() {
        for (std::size_t m = 0; m < agents_.size(); ++m) {
            outcome_[m] = agents_[m].model->outcome_begin[at(after_[m])];
        }
        double sum = 0;
        do {
            double chance = 1;
            std::uint64_t to = table_.layer_begin[layer_ + 1];
            for (std::size_t m = 0; m < agents_.size(); ++m) {
                const CompiledAgent& agent = *agents_[m].model;
                chance *= agent.outcome_probability[outcome_[m]];
                to += agents_[m].stride *
                      (at(agent.outcome_next[outcome_[m]]) - agents_[m].class_first);
            }
            sum += chance * table_.at(to);
        } while (next_outcomes());
        return sum;
    }

    bool next_outcomes() {
        for (std::size_t m = agents_.size(); m-- > 0;) {
            const auto& begin = agents_[m].model->outcome_begin;
            if (++outcome_[m] < begin[at(after_[m]) + 1]) return true;
            outcome_[m] = begin[at(after_[m])];
        }
        return false;
    }

    const CompiledModel& model_;
    const Team& team_;
    const ValueTable& table_;
    Index layer_;
    bool last_;  // nothing follows
    std::vector<Agent> agents_;
    std::vector<AfterId> after_;
    std::vector<Index> outcome_;
};

}  // namespace

std::vector<double> action_values(const CompiledModel& model, const Team& team,
                                  const ValueTable& table, Index layer,
                                  std::span<const ClassId> classes) {
    return ActionValues(model, team, table, layer, classes).all();
}

}  // namespace coreplan
