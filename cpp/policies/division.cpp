#include "policies/division.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "engine/components.hpp"

namespace coreplan {

namespace {

using Members = std::vector<std::size_t>;  // agents with a choice, ascending
using Parts = std::vector<Members>;        // in order of their first members

// Looks for good divisions, from single agents on.
class Divider {
public:
    Divider(const CompiledModel& model, const DivisionOptions& options, Monitor& monitor)
        : model_(model),
          options_(options),
          monitor_(monitor),
          end_(monitor.work_after(options.most_work)) {}

    std::vector<Division> find() {
        if (!is_worth_it()) return {};
        take_apart();
        Parts parts = bound_together();
        for (const Members& part : parts) {
            if (!fits(part)) return {};
        }
        merge(parts);
        if (parts.size() < 2) return {};  // it is solved exactly soon
        explore(std::move(parts));
        std::vector<Division> found;
        for (const auto& [value, known] : best_) {
            if (found.size() == options_.most) break;
            std::vector<std::shared_ptr<const Block>> blocks;
            for (const Members& part : known) blocks.push_back(block(part));
            found.emplace_back(std::move(blocks));
        }
        return found;
    }

private:
    // Whether agents without a choice matter to several others that can earn together.
    bool is_worth_it() {
        const auto sums = [](const auto& each) { return !each.layers.empty(); };
        if (std::ranges::any_of(model_.aggregates, sums) || !model_.interactions_earn()) {
            return false;
        }
        near_.resize(model_.agents.size());
        passive_near_.resize(model_.agents.size());
        bool found = false;
        for (const CompiledInteraction& interaction : model_.interactions) {
            if (interaction.values.empty()) continue;
            for (const InteractionMember& one : interaction.members) {
                for (const InteractionMember& other : interaction.members) {
                    if (one.agent == other.agent || !chooses(at(one.agent))) continue;
                    (chooses(at(other.agent)) ? near_ : passive_near_)[at(one.agent)].insert(
                        at(other.agent));
                    found = found || !chooses(at(other.agent));
                }
            }
        }
        return found;
    }

    [[nodiscard]] bool chooses(std::size_t i) const { return model_.agents[i].has_choice(); }

    // What agents without a choice earn by themselves is nobody's.
    void take_apart() {
        memory_.take(model_.bytes(), "a team that is divided");
        apart_ = model_;
        for (CompiledAgent& agent : apart_.agents) {
            if (!agent.has_choice()) std::ranges::fill(agent.action_reward, 0.0);
        }
        for (CompiledInteraction& interaction : apart_.interactions) {
            const auto member_chooses = [&](const auto& each) { return chooses(at(each.agent)); };
            if (!std::ranges::any_of(interaction.members, member_chooses)) {
                interaction.values.clear();
            }
        }
    }

    // Agents that may cost each other something belong to one block.
    [[nodiscard]] Parts bound_together() const {
        std::vector<std::size_t> first(model_.agents.size());
        for (std::size_t i = 0; i < first.size(); ++i) first[i] = i;
        for (const CompiledInteraction& interaction : model_.interactions) {
            const auto costs = [](const auto& each) { return each.second < 0; };
            if (std::ranges::none_of(interaction.values, costs)) continue;
            Members members;
            for (const InteractionMember& member : interaction.members) {
                if (chooses(at(member.agent))) members.push_back(first[at(member.agent)]);
            }
            for (std::size_t& each : first) {
                if (std::ranges::find(members, each) != members.end()) {
                    each = std::ranges::min(members);
                }
            }
        }
        std::map<std::size_t, Members> parts;
        for (std::size_t i = 0; i < first.size(); ++i) {
            if (chooses(i)) parts[first[i]].push_back(i);
        }
        Parts found;
        for (auto& [who, members] : parts) found.push_back(std::move(members));
        return found;
    }

    // With all agents without a choice that they interact with.
    [[nodiscard]] std::vector<AgentId> with_passive(const Members& members) const {
        std::set<std::size_t> all(members.begin(), members.end());
        for (const std::size_t i : members) {
            all.insert(passive_near_[i].begin(), passive_near_[i].end());
        }
        std::vector<AgentId> agents;
        for (const std::size_t i : all) agents.push_back(as<AgentId>(i));
        return agents;
    }

    [[nodiscard]] bool fits(const Members& members) const {
        if (blocks_.contains(members)) return true;
        if (monitor_.work() >= end_) return false;
        const std::vector<AgentId> agents = with_passive(members);
        const KernelOptions kernel{.policy = true, .values = true, .threads = options_.threads};
        return kernel_work(model_, agents) <= options_.block_work &&
               monitor_.fits(kernel_bytes(model_, agents, kernel));
    }

    const std::shared_ptr<const Block>& block(const Members& members) {
        auto& known = blocks_[members];
        if (known == nullptr) {
            const std::vector<AgentId> agents = with_passive(members);
            known = std::make_shared<Block>(restrict_to(apart_, agents), agents, options_.threads,
                                            monitor_);
        }
        return known;
    }

    double value_of(const Members& members) { return block(members)->root_value(); }

    [[nodiscard]] bool touch(const Members& one, const Members& other) const {
        return std::ranges::any_of(one, [&](std::size_t i) {
            return std::ranges::any_of(other, [&](std::size_t j) { return near_[i].contains(j); });
        });
    }

    static Members united(const Members& one, const Members& other) {
        Members all;
        std::ranges::set_union(one, other, std::back_inserter(all));
        return all;
    }

    // The two blocks that gain most by each other become one, as long as any do.
    void merge(Parts& parts) {
        for (;;) {
            double most = -std::numeric_limits<double>::infinity();
            std::pair<std::size_t, std::size_t> best;
            for (std::size_t k = 0; k < parts.size(); ++k) {
                for (std::size_t m = k + 1; m < parts.size(); ++m) {
                    if (!touch(parts[k], parts[m])) continue;
                    const Members all = united(parts[k], parts[m]);
                    if (!fits(all)) continue;
                    const double gain = value_of(all) - value_of(parts[k]) - value_of(parts[m]);
                    if (gain > most) {
                        most = gain;
                        best = {k, m};
                    }
                }
            }
            if (most == -std::numeric_limits<double>::infinity()) return;
            parts[best.first] = united(parts[best.first], parts[best.second]);
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best.second));
        }
    }

    // Agents change from block to block, from the best divisions on.
    void explore(Parts parts) {
        note(std::move(parts));
        for (std::size_t look = 0; look < options_.looks; ++look) {
            const auto next = std::ranges::find_if(
                best_, [&](const auto& each) { return !looked_at_.contains(each.second); });
            if (next == best_.end()) return;
            const Parts from = next->second;
            looked_at_.insert(from);
            for (std::size_t k = 0; k < from.size(); ++k) {
                for (const std::size_t who : from[k]) {
                    for (std::size_t m = 0; m < from.size(); ++m) {
                        if (m != k && touch({who}, from[m])) move(from, k, who, m);
                    }
                }
            }
        }
    }

    void move(const Parts& from, std::size_t k, std::size_t who, std::size_t to) {
        Parts parts = from;
        parts[to] = united(parts[to], {who});
        std::erase(parts[k], who);
        if (parts[k].empty() || !fits(parts[to]) || cuts_costs(parts)) return;
        std::ranges::sort(parts);
        note(std::move(parts));
    }

    [[nodiscard]] bool cuts_costs(const Parts& parts) const {
        return std::ranges::any_of(model_.interactions, [&](const auto& interaction) {
            const auto costs = [](const auto& each) { return each.second < 0; };
            if (std::ranges::none_of(interaction.values, costs)) return false;
            return std::ranges::none_of(parts, [&](const Members& part) {
                return std::ranges::all_of(interaction.members, [&](const auto& member) {
                    return !chooses(at(member.agent)) ||
                           std::ranges::binary_search(part, at(member.agent));
                });
            });
        });
    }

    void note(Parts parts) {
        std::ranges::sort(parts);
        for (const auto& [value, known] : best_) {
            if (known == parts) return;
        }
        double total = 0;
        for (const Members& part : parts) total += value_of(part);
        const auto where = std::ranges::upper_bound(best_, total, std::greater<>{},
                                                    [](const auto& each) { return each.first; });
        best_.insert(where, {total, std::move(parts)});
    }

    const CompiledModel& model_;
    DivisionOptions options_;
    Monitor& monitor_;
    Reservation memory_{monitor_};
    CompiledModel apart_;  // the model, without what no block counts
    std::uint64_t end_;
    std::vector<std::set<std::size_t>> near_;  // per agent with a choice: others with a choice
    std::vector<std::set<std::size_t>> passive_near_;
    std::map<Members, std::shared_ptr<const Block>> blocks_;
    std::vector<std::pair<double, Parts>> best_;
    std::set<Parts> looked_at_;
};

}  // namespace

Block::Block(const CompiledModel& model, const std::vector<AgentId>& agents, unsigned threads,
             Monitor& monitor)
    : layout_(model), memory_(monitor) {
    for (const AgentId who : agents) agents_.push_back(at(who));
    const KernelOptions options{.policy = true, .values = true, .threads = threads};
    solution_ = solve_team(model, model.everyone(), options, monitor);
    memory_.adopt(static_cast<double>(solution_.decisions.size()) * sizeof(std::uint32_t) +
                  static_cast<double>(solution_.values.size()) * sizeof(double));
    if (solution_.stop != Stop::none) monitor.look_or_throw();
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        for (const CompiledAgent& agent : model.agents) {
            first_class_.push_back(agent.layer_begin[layer]);
        }
    }
    for (const CompiledAgent& agent : model.agents) action_begin_.push_back(agent.action_begin);
}

void Block::act(Index layer, std::span<const ClassId> classes, std::span<Index> actions) const {
    std::uint32_t code = solution_.decisions[number(layer, classes)];
    for (std::size_t m = agents_.size(); m-- > 0;) {
        const std::size_t c = at(classes[agents_[m]]);
        const Index begin = action_begin_[m][c];
        const Index count = action_begin_[m][c + 1] - begin;
        actions[agents_[m]] = begin + code % count;
        code /= count;
    }
}

std::vector<Division> divide(const CompiledModel& model, const DivisionOptions& options,
                             Monitor& monitor) {
    return Divider(model, options, monitor).find();
}

}  // namespace coreplan
