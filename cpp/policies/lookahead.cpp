#include "policies/lookahead.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "policies/random.hpp"
#include "search/action_order.hpp"
#include "support/partners.hpp"
#include "support/work_list.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMostListBytes = 1e9;
constexpr std::size_t kMostStates = 500'000;  // of all tables of a base
constexpr std::size_t kMostTogether = 16;     // joint actions of a cluster that are looked at
constexpr std::size_t kMostNodes = 10'000;    // of a search for the best joint action
constexpr std::size_t kAllNodes = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostCombinations = 256;
constexpr unsigned kBits = 10;            // of sums per bond that are remembered
constexpr std::size_t kRunsAtOnce = 16;   // by a thread
constexpr std::size_t kStatesAtOnce = 4;  // to decide, by a thread
constexpr double kTolerance = 1e-13;      // of all that can be earned or lost

// Counts on to the next combination, the last digit fastest; false after the last one.
template <class Size>
bool count_on(std::vector<Index>& digits, const Size& size) {
    for (std::size_t x = digits.size(); x-- > 0;) {
        if (++digits[x] < size(x)) return true;
        digits[x] = 0;
    }
    return false;
}

// Calls visit(chance) for every joint outcome of some agents' actions, with the next classes in
// `row`.
template <class Visit>
void for_each_outcome(const CompiledModel& model, std::span<const std::size_t> agents,
                      std::span<const Index> actions, std::vector<ClassId>& row,
                      std::vector<Index>& digits, const Visit& visit) {
    const std::size_t n = agents.size();
    row.resize(n);
    digits.assign(n, 0);
    const auto begin = [&](std::size_t m, std::size_t plus) {
        const CompiledAgent& agent = model.agents[agents[m]];
        return agent.outcome_begin[at(agent.action_after[actions[m]]) + plus];
    };
    do {
        double chance = 1;
        for (std::size_t m = 0; m < n; ++m) {
            const CompiledAgent& agent = model.agents[agents[m]];
            const Index o = begin(m, 0) + digits[m];
            row[m] = agent.outcome_next[o];
            chance *= agent.outcome_probability[o];
        }
        if (chance > 0) visit(chance);
    } while (count_on(digits, [&](std::size_t m) { return begin(m, 1) - begin(m, 0); }));
}

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Policies may come from files.
void check(const CompiledModel& model, const TeamPolicy& policy) {
    const auto count_at = [&](std::size_t i, std::size_t c) {
        return model.agents[i].action_begin[c + 1] - model.agents[i].action_begin[c];
    };
    const std::size_t n = model.agents.size();
    require(policy.otherwise.action.size() == n, "a base is for another number of agents");
    for (std::size_t i = 0; i < n; ++i) {
        const auto& action = policy.otherwise.action[i];
        require(action.size() == model.agents[i].class_count(), "a base is for other states");
        for (std::size_t c = 0; c < model.agents[i].layer_begin[model.layer_count()]; ++c) {
            require(action[c] < count_at(i, c), "a base names an unknown action");
        }
    }
    std::vector<char> taken(n, 0);
    for (const Cluster& cluster : policy.clusters) {
        const JointTable& table = cluster.table;
        const std::size_t width = cluster.agents.size();
        for (const AgentId who : cluster.agents) {
            require(at(who) < n && taken[at(who)] == 0, "an agent is in two clusters of a base");
            taken[at(who)] = 1;
        }
        require(table.classes.size() == table.size() * width &&
                    table.actions.size() == table.size() * width &&
                    std::ranges::is_sorted(table.layer),
                "the table of a cluster is not in order");
        for (std::size_t e = 0; e < table.size(); ++e) {
            require(table.layer[e] < model.layer_count(), "a cluster acts after the horizon");
            for (std::size_t m = 0; m < width; ++m) {
                const std::size_t i = at(cluster.agents[m]);
                const CompiledAgent& agent = model.agents[i];
                const Index c = table.classes[e * width + m];
                require(c < agent.layer_size(table.layer[e]) &&
                            table.actions[e * width + m] <
                                count_at(i, agent.layer_begin[table.layer[e]] + c),
                        "a cluster names an unknown state or action");
            }
        }
    }
}

}  // namespace

bool Lookahead::applies(const CompiledModel& model, std::span<const TeamPolicy> policies) {
    if (!model.unit_mass) return false;
    if (std::ranges::any_of(model.aggregates, [](const auto& e) { return !e.layers.empty(); })) {
        return false;
    }
    std::vector<std::size_t> cluster_of(model.agents.size());
    for (const TeamPolicy& policy : policies) {
        std::ranges::fill(cluster_of, kNone);
        for (std::size_t k = 0; k < policy.clusters.size(); ++k) {
            if (policy.clusters[k].table.size() == 0) continue;
            for (const AgentId who : policy.clusters[k].agents) cluster_of[at(who)] = k;
        }
        for (const CompiledInteraction& interaction : model.interactions) {
            if (interaction.values.empty() || interaction.members.size() < 3) continue;
            std::vector<std::size_t> touched;
            for (const InteractionMember& member : interaction.members) {
                const std::size_t k = cluster_of[at(member.agent)];
                if (k != kNone) touched.push_back(k);
            }
            std::ranges::sort(touched);
            const bool whole =
                touched.size() == interaction.members.size() && touched.front() == touched.back();
            if (!whole && std::ranges::adjacent_find(touched) != touched.end()) return false;
        }
    }
    return true;
}

// Looks at one joint state at a time, by one base at a time.
class Lookahead::Decider {
public:
    explicit Decider(const Lookahead& all)
        : all_(all),
          model_(all.model_),
          lookup_(all.outlooks_, kBits),
          blocks_(model_.agents.size()),
          block_of_(model_.agents.size()),
          place_of_(model_.agents.size()),
          lists_(model_.agents.size()) {}

    // Per table of a base: whether its cluster follows it.
    using Following = std::vector<char>;

    // What a base is worth if all clusters that can follow their tables do.
    double value(std::size_t base, Index layer, std::span<const ClassId> classes) {
        look(base, layer, classes, nullptr, nullptr);
        return q_of_usual();
    }

    // What a base is worth after these actions (numbers within the agent).
    double value(std::size_t base, Index layer, std::span<const ClassId> classes,
                 std::span<const Index> actions) {
        look(base, layer, classes, &actions, nullptr);
        return q_of_usual();
    }

    // The best joint action by all bases: numbers within the agent. Returns what it is worth if
    // the base that it is chosen by is followed afterwards. `before` says which clusters of the
    // first base followed their tables when the decision before was made, if anybody knows.
    double decide(Index layer, std::span<const ClassId> classes, std::vector<Index>& actions,
                  Monitor& monitor, const Following* before = nullptr) {
        double best = -kInfinity;
        for (std::size_t b = 0; b < all_.bases_.size(); ++b) {
            if (b == 0 && before != nullptr) {
                look(b, layer, classes, nullptr, before);
                first_value_ = q_of_usual();
            }
            choose_following(b, layer, classes, monitor);
            look(b, layer, classes, nullptr, &wanted_);
            if (b == 0) first_following_ = following_;
            const double q = maximise(monitor, kMostNodes);
            if (b == 0 && before == nullptr) first_value_ = before_;
            if (b > 0 && q <= best + all_.tolerance_) continue;
            best = q;
            chosen_by_ = b;
            actions.assign(classes.size(), 0);
            for (std::size_t k = 0; k < used_; ++k) {
                const Block& block = blocks_[k];
                for (std::size_t m = 0; m < block.agents.size(); ++m) {
                    actions[block.agents[m]] = block.actions[digit_[k] * block.agents.size() + m];
                }
            }
        }
        return best;
    }

    // Of the last decision: the base that it comes from, and what the first base was worth there.
    [[nodiscard]] std::size_t chosen_by() const noexcept { return chosen_by_; }
    [[nodiscard]] double first_value() const noexcept { return first_value_; }
    // And which clusters of the first base follow their tables from there on; and those of the last
    // value that was asked for.
    [[nodiscard]] const Following& first_following() const noexcept { return first_following_; }
    [[nodiscard]] const Following& following() const noexcept { return following_; }
    std::uint64_t take_work() { return std::exchange(work_, 0); }

private:
    // What an agent gives now, and how it may go on.
    struct Part {
        AfterId after{};
        std::vector<std::pair<Index, double>> next;  // lists and chances
    };
    // Agents that act jointly: a cluster that follows its table, or one agent.
    struct Block {
        std::vector<std::size_t> agents;
        const Table* table = nullptr;
        std::size_t count = 0;       // of actions
        std::size_t usual = 0;       // what the base does
        std::vector<Index> actions;  // rows: numbers within the agent
        std::vector<double> own;     // what they are worth without others
        std::vector<Index> lists;    // of a single agent, after each action
        std::vector<Part> parts;     // rows of one per agent
        std::vector<char> apart;     // of a choice whether to follow a table: no longer with this
    };
    struct Term {
        std::vector<Index> blocks;  // ascending
        std::vector<double> value;  // the last one's action counts fastest
    };

    // Only clusters that `follow` says may follow their tables; all, if there is none. With
    // `either`, blocks only have the base's own action, or, where that is not the same, the choice
    // between following the table and acting apart.
    void look(std::size_t base, Index layer, std::span<const ClassId> classes,
              const std::span<const Index>* given, const Following* follow, bool either = false) {
        const JointBase& joint = all_.bases_[base];
        base_ = joint.apart.get();
        layer_ = layer;
        used_ = 0;
        bool any = false;
        following_.assign(joint.tables.size(), 0);
        std::ranges::fill(block_of_, kNone);
        for (std::size_t t = 0; t < joint.tables.size(); ++t) {
            const Table& table = joint.tables[t];
            if (follow != nullptr && (*follow)[t] == 0) continue;
            const Index state = state_in(table, layer, classes);
            if (state == StateSet::kNone) continue;
            any = true;
            following_[t] = 1;
            Block& block = blocks_[used_];
            for (std::size_t m = 0; m < table.agents.size(); ++m) {
                block_of_[table.agents[m]] = static_cast<Index>(used_);
                place_of_[table.agents[m]] = m;
            }
            if (either) {
                open_either(block, table, state, classes);
            } else {
                open(block, table, state, classes, given);
            }
            ++used_;
        }
        for (std::size_t i = 0; i < classes.size(); ++i) {
            if (block_of_[i] != kNone || classes[i] == kAbsent) continue;
            block_of_[i] = static_cast<Index>(used_);
            place_of_[i] = 0;
            Block& block = blocks_[used_++];
            open(block, i, classes[i], any, given);
            if (either) keep_usual(block);
        }
        digit_.resize(used_);
        for (std::size_t k = 0; k < used_; ++k) {
            digit_[k] = static_cast<Index>(blocks_[k].usual);
        }
        work_ += cost::kDecide * (classes.size() + all_.outlooks_.bonds().size());
    }

    Index state_in(const Table& table, Index layer, std::span<const ClassId> classes) {
        if (layer >= table.states.size()) return StateSet::kNone;
        row_.clear();
        for (const std::size_t i : table.agents) row_.push_back(classes[i]);
        return table.states[layer].find(row_);
    }

    // Which clusters follow their tables from here on, so that the base is worth most: `wanted_`.
    // A cluster that acts apart may come back to a joint state of its table. The decision before
    // may have assumed that it acts apart from there on, so that must stay possible.
    void choose_following(std::size_t base, Index layer, std::span<const ClassId> classes,
                          Monitor& monitor) {
        const std::vector<Table>& tables = all_.bases_[base].tables;
        wanted_.assign(tables.size(), 1);
        bool differs = false;
        for (const Table& table : tables) {
            const Index state = state_in(table, layer, classes);
            differs = differs || (state != StateSet::kNone && table.differs[layer][state] != 0);
        }
        if (!differs) return;
        look(base, layer, classes, nullptr, nullptr, true);
        maximise(monitor, kAllNodes);
        std::size_t k = 0;
        for (std::size_t t = 0; t < tables.size(); ++t) {
            if (following_[t] == 0) continue;
            wanted_[t] = blocks_[k].apart[digit_[k]] == 0 ? 1 : 0;
            ++k;
        }
    }

    // One agent.
    void open(Block& block, std::size_t i, ClassId c, bool any,
              const std::span<const Index>* given) {
        const CompiledAgent& agent = model_.agents[i];
        const AgentOutlook& outlook = *base_->agents[i];
        block.agents.assign(1, i);
        block.table = nullptr;
        Index begin = agent.action_begin[at(c)];
        Index end = agent.action_begin[at(c) + 1];
        block.usual = outlook.action[at(c)];
        if (given != nullptr) {
            begin = (*given)[i];
            end = begin + 1;
            block.usual = 0;
        }
        block.count = end - begin;
        block.actions.clear();
        block.own.clear();
        block.lists.clear();
        if (any && block.parts.size() < block.count) block.parts.resize(block.count);
        for (Index a = begin; a < end; ++a) {
            const AfterId after = agent.action_after[a];
            block.actions.push_back(a);
            block.own.push_back(agent.action_reward[a] + outlook.value(after));
            block.lists.push_back(outlook.list(after));
            if (!any) continue;
            Part& part = block.parts[a - begin];
            part.after = after;
            part.next.clear();
            for (Index o = agent.outcome_begin[at(after)]; o < agent.outcome_begin[at(after) + 1];
                 ++o) {
                note(part, outlook.list(agent.outcome_next[o]), agent.outcome_probability[o]);
            }
        }
        work_ += cost::kDecide * block.count;
    }

    // A cluster that is in a state of its table.
    void open(Block& block, const Table& table, Index state, std::span<const ClassId> classes,
              const std::span<const Index>* given) {
        const std::size_t n = table.agents.size();
        block.agents = table.agents;
        block.table = &table;
        block.actions.clear();
        block.own.clear();
        const auto usual = std::span(table.actions[layer_]).subspan(state * n, n);
        block.usual = 0;
        if (given != nullptr) {
            for (const std::size_t i : table.agents) block.actions.push_back((*given)[i]);
        } else {
            list_actions(block, usual, classes);
        }
        block.count = block.actions.size() / n;
        if (block.parts.size() < block.actions.size()) block.parts.resize(block.actions.size());
        for (std::size_t a = 0; a < block.count; ++a) {
            const auto actions = std::span(block.actions).subspan(a * n, n);
            const auto parts = std::span(block.parts).subspan(a * n, n);
            block.own.push_back(worth(table, actions, parts));
        }
    }

    // A cluster that may follow its table from a state on, or act apart.
    void open_either(Block& block, const Table& table, Index state,
                     std::span<const ClassId> classes) {
        const std::size_t n = table.agents.size();
        block.agents = table.agents;
        block.table = &table;
        block.usual = 0;
        block.own.clear();
        const auto usual = std::span(table.actions[layer_]).subspan(state * n, n);
        block.actions.assign(usual.begin(), usual.end());
        block.apart.assign(1, 0);
        if (table.differs[layer_][state] != 0) {
            for (const std::size_t i : table.agents) {
                const std::size_t c = at(classes[i]);
                block.actions.push_back(model_.agents[i].action_begin[c] +
                                        base_->agents[i]->action[c]);
            }
            block.apart.push_back(1);
        }
        block.count = block.apart.size();
        if (block.parts.size() < block.actions.size()) block.parts.resize(block.actions.size());
        for (std::size_t a = 0; a < block.count; ++a) {
            const auto actions = std::span(block.actions).subspan(a * n, n);
            const auto parts = std::span(block.parts).subspan(a * n, n);
            block.own.push_back(worth(table, actions, parts, block.apart[a] == 0));
        }
    }

    // Leaves a single agent nothing but the base's own action.
    static void keep_usual(Block& block) {
        move_action(block, 1, block.usual, 0);
        block.count = 1;
        block.usual = 0;
        block.own.resize(1);
    }

    // All joint actions of a cluster if they are few; otherwise those that differ in one agent.
    void list_actions(Block& block, std::span<const Index> usual,
                      std::span<const ClassId> classes) {
        const std::size_t n = usual.size();
        const auto begin = [&](std::size_t m, std::size_t plus) {
            const std::size_t i = block.agents[m];
            return model_.agents[i].action_begin[at(classes[i]) + plus];
        };
        std::size_t together = 1;
        for (std::size_t m = 0; m < n; ++m) {
            together = std::min(together * (begin(m, 1) - begin(m, 0)), kMostTogether + 1);
        }
        const auto add = [&](std::span<const Index> actions) {
            block.actions.insert(block.actions.end(), actions.begin(), actions.end());
        };
        add(usual);
        if (together == 1) return;
        joint_.assign(usual.begin(), usual.end());
        if (together > kMostTogether) {
            for (std::size_t m = 0; m < n; ++m) {
                for (Index a = begin(m, 0); a < begin(m, 1); ++a) {
                    joint_[m] = a;
                    if (a != usual[m]) add(joint_);
                }
                joint_[m] = usual[m];
            }
            return;
        }
        digits_.assign(n, 0);
        do {
            for (std::size_t m = 0; m < n; ++m) joint_[m] = begin(m, 0) + digits_[m];
            if (!std::ranges::equal(joint_, usual)) add(joint_);
        } while (count_on(digits_, [&](std::size_t m) { return begin(m, 1) - begin(m, 0); }));
    }

    static void note(Part& part, Index list, double chance) {
        if (list == 0) return;
        for (auto& [known, sum] : part.next) {
            if (known != list) continue;
            sum += chance;
            return;
        }
        part.next.emplace_back(list, chance);
    }

public:
    // What a cluster earns by itself with a joint action, if its table is followed afterwards or,
    // beyond it, everyone acts apart; and what its agents then do for others.
    double worth(const Table& table, std::span<const Index> actions, std::span<Part> parts,
                 bool follows = true) {
        const std::size_t n = table.agents.size();
        double total = 0;
        for (std::size_t m = 0; m < n; ++m) {
            const CompiledAgent& agent = model_.agents[table.agents[m]];
            total += agent.action_reward[actions[m]];
            parts[m].after = agent.action_after[actions[m]];
            parts[m].next.clear();
            place_of_[table.agents[m]] = m;
        }
        for (const Index e : table.possible[layer_]) {
            const CompiledInteraction& interaction = model_.interactions[e];
            double value = interaction.value_at(model_.first_stage + layer_);
            for (const InteractionMember& member : interaction.members) {
                const std::size_t i = at(member.agent);
                if (value == 0) break;
                value *= model_.agents[i].chance(at(parts[place_of_[i]].after), member.signal);
            }
            total += value;
        }
        work_ += cost::kDecide * (n + table.possible[layer_].size());
        for_each_outcome(model_, table.agents, actions, next_, outcome_, [&](double chance) {
            work_ += cost::kDecide * n;
            const Index state = follows && layer_ + 1 < table.states.size()
                                    ? table.states[layer_ + 1].find(next_)
                                    : StateSet::kNone;
            if (state != StateSet::kNone) {
                total += chance * table.value[layer_ + 1][state];
                for (std::size_t m = 0; m < n; ++m) {
                    note(parts[m], table.lists[layer_ + 1][state * n + m], chance);
                }
                return;
            }
            double value = 0;
            for (std::size_t m = 0; m < n; ++m) {
                const std::size_t i = table.agents[m];
                const AgentOutlook& outlook = *base_->agents[i];
                value += outlook.value(next_[m]);
                lists_[i] = outlook.list(next_[m]);
                if (table.is_watched[m]) note(parts[m], lists_[i], chance);
            }
            for (const Index b : table.bonds) value += lookup_.expected(b, lists_);
            work_ += cost::kDecide * table.bonds.size();
            total += chance * value;
        });
        return total;
    }

    // Whether a cluster does anything else from a state on than its agents do apart; known for
    // later states.
    bool differs(const Table& table, std::span<const Index> actions, std::size_t state) {
        for (std::size_t m = 0; m < table.agents.size(); ++m) {
            const std::size_t i = table.agents[m];
            const std::size_t c = at(table.states[layer_][static_cast<Index>(state)][m]);
            if (actions[m] != model_.agents[i].action_begin[c] + base_->agents[i]->action[c]) {
                return true;
            }
        }
        bool found = false;
        if (layer_ + 1u < table.states.size()) {
            for_each_outcome(model_, table.agents, actions, next_, outcome_, [&](double) {
                const Index next = table.states[layer_ + 1].find(next_);
                found = found || (next != StateSet::kNone && table.differs[layer_ + 1][next] != 0);
            });
        }
        return found;
    }

    // For tables in the making.
    void stand_at(const Base& base, Index layer) {
        base_ = &base;
        layer_ = layer;
    }
    static std::vector<Part> parts_for(std::size_t agents) { return std::vector<Part>(agents); }

private:
    // What a bond brings with the actions that the digits say.
    double expected(Index b) {
        const Bond& bond = all_.outlooks_.bonds()[b];
        bool apart = true;
        for (const Index i : bond.agents) apart = apart && blocks_[block_of_[i]].table == nullptr;
        work_ += cost::kDecide;
        if (apart) {
            for (const Index i : bond.agents) {
                lists_[i] = blocks_[block_of_[i]].lists[digit_[block_of_[i]]];
            }
            return lookup_.expected(b, lists_);
        }
        parts_.clear();
        for (const Index i : bond.agents) {
            const Block& block = blocks_[block_of_[i]];
            parts_.push_back(
                &block.parts[digit_[block_of_[i]] * block.agents.size() + place_of_[i]]);
        }
        double total = 0;
        for (const Index e : bond.interactions) {
            const CompiledInteraction& interaction = model_.interactions[e];
            double value = interaction.value_at(model_.first_stage + layer_);
            for (const InteractionMember& member : interaction.members) {
                if (value == 0) break;
                const std::size_t i = at(member.agent);
                const auto k = std::ranges::find(bond.agents, i) - bond.agents.begin();
                value *= model_.agents[i].chance(at(parts_[static_cast<std::size_t>(k)]->after),
                                                 member.signal);
            }
            total += value;
        }
        for (const Part* part : parts_) {
            if (part->next.empty()) return total;
        }
        chain_.assign(parts_.size(), 0);
        do {
            double chance = 1;
            for (std::size_t k = 0; k < parts_.size(); ++k) {
                const auto& [list, each] = parts_[k]->next[chain_[k]];
                lists_[bond.agents[k]] = list;
                chance *= each;
            }
            total += chance * lookup_.expected(b, lists_);
            work_ += cost::kDecide;
        } while (count_on(chain_, [&](std::size_t k) { return parts_[k]->next.size(); }));
        return total;
    }

    // Whether everyone is there and not all of them act jointly anyway; then `within_` has the
    // blocks, ascending.
    bool counts(const Bond& bond) {
        within_.clear();
        for (const Index i : bond.agents) {
            if (block_of_[i] == kNone) return false;
            within_.push_back(block_of_[i]);
        }
        std::ranges::sort(within_);
        within_.erase(std::ranges::unique(within_).begin(), within_.end());
        return within_.size() > 1;
    }

    double q_of_usual() {
        double total = 0;
        for (std::size_t k = 0; k < used_; ++k) total += blocks_[k].own[digit_[k]];
        for (Index b = 0; b < all_.outlooks_.bonds().size(); ++b) {
            if (counts(all_.outlooks_.bonds()[b])) total += expected(b);
        }
        return total;
    }

    // Leaves out actions that lose more by themselves than what the base does can cost with others.
    void leave_out_hopeless() {
        least_.assign(used_, 0.0);
        for (Index b = 0; b < all_.outlooks_.bonds().size(); ++b) {
            const Bond& bond = all_.outlooks_.bonds()[b];
            if (!counts(bond)) continue;
            for (const Index k : within_) {
                if (blocks_[k].count == 1) continue;
                // What is earned with others may be worth any loss.
                if (bond.gains) least_[k] = -kInfinity;
                if (least_[k] == -kInfinity) continue;
                double least = 0;
                choice_.assign(within_.size(), 0);
                const auto set = [&](bool usual) {
                    for (std::size_t x = 0; x < within_.size(); ++x) {
                        const Index other = within_[x];
                        const bool fixed = usual || other == k;
                        digit_[other] =
                            fixed ? static_cast<Index>(blocks_[other].usual) : choice_[x];
                    }
                };
                do {
                    set(false);
                    least = std::min(least, expected(b));
                } while (count_on(choice_, [&](std::size_t x) {
                    return within_[x] == k ? std::size_t{1} : blocks_[within_[x]].count;
                }));
                set(true);
                least_[k] += least;
            }
        }
        for (std::size_t k = 0; k < used_; ++k) {
            Block& block = blocks_[k];
            if (block.count == 1 || least_[k] == -kInfinity) continue;
            const double enough = block.own[block.usual] + least_[k] - all_.tolerance_;
            const std::size_t n = block.agents.size();
            std::size_t kept = 0;
            std::size_t usual = 0;
            for (std::size_t a = 0; a < block.count; ++a) {
                if (a == block.usual) usual = kept;
                if (a != block.usual && block.own[a] < enough) continue;
                if (kept < a) move_action(block, n, a, kept);
                ++kept;
            }
            block.count = kept;
            block.usual = usual;
            block.own.resize(kept);
            digit_[k] = static_cast<Index>(usual);
        }
    }

    static void move_action(Block& block, std::size_t n, std::size_t from, std::size_t to) {
        block.own[to] = block.own[from];
        if (to < block.apart.size() && from < block.apart.size()) {
            block.apart[to] = block.apart[from];
        }
        if (block.table == nullptr) block.lists[to] = block.lists[from];
        for (std::size_t m = 0; m < n; ++m) {
            block.actions[to * n + m] = block.actions[from * n + m];
            if (from * n + m < block.parts.size()) {
                std::swap(block.parts[to * n + m], block.parts[from * n + m]);
            }
        }
    }

    // The best actions: sets the digits, and returns what they are worth. Those of the base, if
    // nothing is better.
    double maximise(Monitor& monitor, std::size_t most_nodes) {
        leave_out_hopeless();
        double rest = 0;
        terms_.clear();
        choosers_.clear();
        for (std::size_t k = 0; k < used_; ++k) {
            if (blocks_[k].count > 1) {
                terms_.push_back({{static_cast<Index>(k)}, blocks_[k].own});
                choosers_.push_back(static_cast<Index>(k));
            } else {
                rest += blocks_[k].own[0];
            }
        }
        for (Index b = 0; b < all_.outlooks_.bonds().size(); ++b) {
            if (!counts(all_.outlooks_.bonds()[b])) continue;
            std::erase_if(within_, [&](Index k) { return blocks_[k].count == 1; });
            if (within_.empty()) {
                rest += expected(b);
                continue;
            }
            Term term{within_, {}};
            usual_.clear();
            for (const Index k : term.blocks) usual_.push_back(digit_[k]);
            choice_.assign(term.blocks.size(), 0);
            do {
                for (std::size_t x = 0; x < choice_.size(); ++x)
                    digit_[term.blocks[x]] = choice_[x];
                term.value.push_back(expected(b));
            } while (
                count_on(choice_, [&](std::size_t x) { return blocks_[term.blocks[x]].count; }));
            for (std::size_t x = 0; x < usual_.size(); ++x) digit_[term.blocks[x]] = usual_[x];
            terms_.push_back(std::move(term));
        }
        before_ = rest;
        if (choosers_.empty()) return rest;
        const std::vector<Index> base = digit_;
        const double before = sum();
        before_ += before;
        best_ = digit_;
        double best = before;
        improve_alone();
        take(best);
        search(monitor, most_nodes);
        take(best);
        if (best <= before + all_.tolerance_) {
            best = before;
            best_ = base;
        }
        digit_ = best_;
        return rest + best;
    }

    // Keeps the actions if they are better than the best so far.
    void take(double& best) {
        const double now = sum();
        if (now <= best) return;
        best = now;
        best_ = digit_;
    }

    // Of all terms, with the actions that the digits say.
    double sum() const {
        double total = 0;
        for (const Term& term : terms_) {
            std::size_t cell = 0;
            for (const Index k : term.blocks) cell = cell * blocks_[k].count + digit_[k];
            total += term.value[cell];
        }
        return total;
    }

    // One block after the other, until nothing is better.
    void improve_alone() {
        std::size_t unchanged = 0;
        for (std::size_t turn = 0; unchanged < choosers_.size();
             turn = turn + 1 == choosers_.size() ? 0 : turn + 1) {
            const Index k = choosers_[turn];
            gain_.assign(blocks_[k].count, 0.0);
            for (const Term& term : terms_) {
                std::size_t cell = 0;
                std::size_t step = 0;
                for (const Index other : term.blocks) {
                    cell = cell * blocks_[other].count + (other == k ? 0 : digit_[other]);
                    step *= blocks_[other].count;
                    if (other == k) step = 1;
                }
                if (step == 0) continue;
                for (std::size_t a = 0; a < gain_.size(); ++a) {
                    gain_[a] += term.value[cell + a * step];
                }
            }
            work_ += terms_.size();
            std::size_t best = digit_[k];
            for (std::size_t a = 0; a < gain_.size(); ++a) {
                if (gain_[a] > gain_[best] + all_.tolerance_) best = a;
            }
            unchanged = best == digit_[k] ? unchanged + 1 : 1;
            digit_[k] = static_cast<Index>(best);
        }
    }

    // The best of all joint actions, if it is found without too much work.
    void search(Monitor& monitor, std::size_t most_nodes) {
        // Actions that another one beats whatever the others do are out.
        open_.assign(used_, {});
        for (const Index k : choosers_) {
            for (std::size_t a = 0; a < blocks_[k].count; ++a) {
                open_[k].push_back(static_cast<Index>(a));
            }
        }
        for (bool more = true; more;) {
            more = false;
            for (const Index k : choosers_) {
                for (std::size_t a = 0; a < open_[k].size() && open_[k].size() > 1;) {
                    if (is_beaten(k, open_[k][a])) {
                        open_[k].erase(open_[k].begin() + static_cast<std::ptrdiff_t>(a));
                        more = true;
                    } else {
                        ++a;
                    }
                }
            }
        }
        std::vector<Index> place(used_, kNone);
        std::vector<Index> choices;
        std::vector<Index> left;
        std::size_t combinations = 1;
        for (const Index k : choosers_) {
            digit_[k] = open_[k][0];
            if (open_[k].size() == 1) continue;
            place[k] = static_cast<Index>(left.size());
            left.push_back(k);
            choices.push_back(static_cast<Index>(open_[k].size()));
            combinations = std::min(combinations * open_[k].size(), kMostCombinations + 1);
        }
        if (left.empty()) return;
        std::vector<ActionTerm> terms;
        for (const Term& term : terms_) {
            ActionTerm smaller;
            std::vector<Index> blocks;
            for (const Index k : term.blocks) {
                if (place[k] == kNone) continue;
                smaller.agents.push_back(place[k]);
                blocks.push_back(k);
            }
            if (blocks.empty()) continue;
            choice_.assign(blocks.size(), 0);
            do {
                for (std::size_t x = 0; x < blocks.size(); ++x) {
                    digit_[blocks[x]] = open_[blocks[x]][choice_[x]];
                }
                std::size_t cell = 0;
                for (const Index k : term.blocks) cell = cell * blocks_[k].count + digit_[k];
                smaller.value.push_back(term.value[cell]);
            } while (count_on(choice_, [&](std::size_t x) { return open_[blocks[x]].size(); }));
            work_ += 8 + smaller.value.size();
            terms.push_back(std::move(smaller));
        }
        std::vector<Index> actions;
        bool found = false;
        if (combinations <= kMostCombinations) {
            found = EnumeratedActions(choices, terms).next(actions, monitor);
            work_ += combinations * terms.size();
        } else {
            BestFirstActions order(choices, terms, most_nodes);
            work_ += cost::kOrderByte * order.bytes();
            found = order.next(actions, monitor);
        }
        if (!found) {
            digit_ = best_;
            return;
        }
        for (std::size_t x = 0; x < left.size(); ++x) digit_[left[x]] = open_[left[x]][actions[x]];
    }

    // Whether some other open action of the block is better than this one, whatever others do.
    bool is_beaten(Index k, Index a) {
        for (const Index other : open_[k]) {
            if (other == a) continue;
            double least = 0;
            for (const Term& term : terms_) {
                least += least_difference(term, k, other, a);
                if (least == -kInfinity) break;
            }
            if (least > all_.tolerance_) return true;
        }
        return false;
    }

    // How much better, at least, one action of a block is than another by a term.
    double least_difference(const Term& term, Index k, Index one, Index other) {
        if (std::ranges::find(term.blocks, k) == term.blocks.end()) return 0;
        double least = kInfinity;
        choice_.assign(term.blocks.size(), 0);
        do {
            std::size_t first = 0;
            std::size_t second = 0;
            for (std::size_t x = 0; x < term.blocks.size(); ++x) {
                const Index b = term.blocks[x];
                first *= blocks_[b].count;
                second *= blocks_[b].count;
                first += b == k ? one : open_[b][choice_[x]];
                second += b == k ? other : open_[b][choice_[x]];
            }
            least = std::min(least, term.value[first] - term.value[second]);
            ++work_;
        } while (count_on(choice_, [&](std::size_t x) {
            return term.blocks[x] == k ? std::size_t{1} : open_[term.blocks[x]].size();
        }));
        return least;
    }

    const Lookahead& all_;
    const CompiledModel& model_;
    Lookup lookup_;
    std::uint64_t work_ = 0;
    std::size_t chosen_by_ = 0;
    double first_value_ = 0;
    Following first_following_;
    Following following_;  // as last looked at
    Following wanted_;
    double before_ = 0;  // what the base in work is worth

    // Of the joint state and base in work:
    const Base* base_ = nullptr;
    Index layer_ = 0;
    std::vector<Block> blocks_;  // those in use come first
    std::size_t used_ = 0;
    std::vector<Index> block_of_;        // per agent, or kNone
    std::vector<std::size_t> place_of_;  // per agent: its place in the block
    std::vector<Index> digit_;           // per block: its action
    std::vector<Term> terms_;
    std::vector<Index> choosers_;  // blocks with a choice
    std::vector<Index> best_;
    std::vector<std::vector<Index>> open_;  // per block: actions that may be the best

    std::vector<Index> lists_;  // per agent
    std::vector<Index> within_;
    std::vector<const Part*> parts_;
    std::vector<Index> chain_;
    std::vector<Index> choice_;
    std::vector<Index> usual_;
    std::vector<Index> digits_;
    std::vector<Index> joint_;
    std::vector<Index> outcome_;
    std::vector<ClassId> row_;
    std::vector<ClassId> next_;
    std::vector<double> gain_;
    std::vector<double> least_;  // per block: what the base's action brings with others, at least
};

Lookahead::Lookahead(const CompiledModel& model, const std::vector<TeamPolicy>& policies,
                     Monitor& monitor)
    : model_(model),
      outlooks_(model, kMostListBytes, monitor),
      memory_(monitor),
      tolerance_(kTolerance * reward_scale(model)) {
    require(!policies.empty() && applies(model, policies), "these policies are no bases");
    for (const TeamPolicy& policy : policies) {
        check(model, policy);
        add(policy);
    }
}

Lookahead::~Lookahead() = default;

void Lookahead::add(const TeamPolicy& policy) {
    Monitor& monitor = memory_.monitor();
    JointBase base;
    base.apart = outlooks_.add(policy.otherwise);
    if (base.apart == nullptr) {
        throw LimitReached(Stop::memory_limit, "a base takes more memory than the limit allows");
    }
    for (const Cluster& cluster : policy.clusters) {
        if (cluster.table.size() == 0) continue;
        Table table;
        for (const AgentId who : cluster.agents) {
            table.agents.push_back(at(who));
        }
        reach(cluster, policy.otherwise, table);
        base.tables.push_back(std::move(table));
    }
    bases_.push_back(std::move(base));
    JointBase& kept = bases_.back();
    std::size_t states = 0;
    for (Table& table : kept.tables) {
        const auto is_inside = [&](Index i) {
            return std::ranges::find(table.agents, i) != table.agents.end();
        };
        table.possible.resize(model_.layer_count());
        table.is_watched.assign(table.agents.size(), 0);
        for (Index b = 0; b < outlooks_.bonds().size(); ++b) {
            const Bond& bond = outlooks_.bonds()[b];
            if (std::ranges::all_of(bond.agents, is_inside)) {
                table.bonds.push_back(b);
                for (const Index e : bond.interactions) {
                    for (const auto& [stage, value] : model_.interactions[e].values) {
                        table.possible[stage - model_.first_stage].push_back(e);
                    }
                }
                continue;
            }
            for (std::size_t m = 0; m < table.agents.size(); ++m) {
                if (std::ranges::find(bond.agents, table.agents[m]) != bond.agents.end()) {
                    table.is_watched[m] = 1;
                }
            }
        }
        for (const StateSet& layer : table.states) states += layer.size();
        if (states > kMostStates) {
            throw LimitReached(Stop::memory_limit, "the clusters of a base have too many states");
        }
    }
    // Backward: what each state of a table is worth, and what its agents do for others.
    Decider decider(*this);
    for (Table& table : kept.tables) {
        const std::size_t n = table.agents.size();
        auto parts = Decider::parts_for(n);
        table.value.resize(table.states.size());
        table.lists.resize(table.states.size());
        table.differs.resize(table.states.size());
        for (std::size_t layer = table.states.size(); layer-- > 0;) {
            decider.stand_at(*kept.apart, static_cast<Index>(layer));
            memory_.take(static_cast<double>(table.states[layer].size()) *
                             (static_cast<double>(n) * sizeof(Index) + sizeof(double) + 1),
                         "the clusters of a base");
            for (std::size_t s = 0; s < table.states[layer].size(); ++s) {
                const auto actions = std::span<const Index>(table.actions[layer]).subspan(s * n, n);
                table.value[layer].push_back(decider.worth(table, actions, parts));
                for (std::size_t m = 0; m < n; ++m) {
                    Index list = 0;
                    if (table.is_watched[m]) {
                        const CompiledAgent& agent = model_.agents[table.agents[m]];
                        list = outlooks_.combine(table.agents[m], layer,
                                                 at(agent.after_label[at(parts[m].after)]),
                                                 parts[m].next);
                    }
                    table.lists[layer].push_back(list);
                }
                table.differs[layer].push_back(decider.differs(table, actions, s) ? 1 : 0);
                monitor.tick_or_throw(decider.take_work());
            }
        }
    }
}

// Forward from the root: the joint states that a cluster gets to, as far as its table goes.
void Lookahead::reach(const Cluster& cluster, const LocalPolicy& otherwise, Table& table) {
    Monitor& monitor = memory_.monitor();
    const std::size_t n = table.agents.size();
    const JointTable& rows = cluster.table;
    const std::size_t layers = std::size_t{rows.layer.back()} + 1;
    table.states.assign(layers, StateSet(n));
    table.actions.resize(layers);
    std::vector<ClassId> row(n);
    std::vector<ClassId> next;
    std::vector<Index> outcome;
    for (std::size_t m = 0; m < n; ++m) row[m] = ClassId{0};
    table.states[0].insert(row);
    std::size_t first = 0;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        // The rows of the table of this layer.
        StateSet known(n);
        const std::size_t begin = first;
        for (; first < rows.size() && rows.layer[first] == layer; ++first) {
            for (std::size_t m = 0; m < n; ++m) {
                const CompiledAgent& agent = model_.agents[table.agents[m]];
                row[m] = ClassId{agent.layer_begin[layer] + rows.classes[first * n + m]};
            }
            require(known.insert(row).is_new, "a cluster has two rows for one joint state");
        }
        auto& actions = table.actions[layer];
        const std::size_t count = table.states[layer].size();
        memory_.take(static_cast<double>(count) * 2 * (static_cast<double>(n) + 2) * sizeof(Index),
                     "the clusters of a base");
        for (std::size_t s = 0; s < count; ++s) {
            std::ranges::copy(table.states[layer][s], row.begin());
            const Index found = known.find(row);
            for (std::size_t m = 0; m < n; ++m) {
                const std::size_t i = table.agents[m];
                const Index position = found == StateSet::kNone
                                           ? otherwise.action[i][at(row[m])]
                                           : rows.actions[(begin + found) * n + m];
                actions.push_back(model_.agents[i].action_begin[at(row[m])] + position);
            }
            std::size_t work = 0;
            if (layer + 1 < layers) {
                const auto mine = std::span<const Index>(actions).subspan(s * n, n);
                for_each_outcome(model_, table.agents, mine, next, outcome, [&](double) {
                    table.states[layer + 1].insert(next);
                    ++work;
                });
                if (table.states[layer + 1].size() > kMostStates) {
                    throw LimitReached(Stop::memory_limit,
                                       "the clusters of a base have too many states");
                }
            }
            monitor.tick_or_throw(cost::kExpandAgent * n + cost::kExpandOutcome * work);
        }
    }
}

double Lookahead::value(std::size_t base, Index layer, std::span<const ClassId> classes) const {
    return Decider(*this).value(base, layer, classes);
}

std::vector<Index> Lookahead::act(Index layer, std::span<const Index> classes, unsigned threads,
                                  Monitor& monitor) const {
    const std::size_t n = model_.agents.size();
    require(layer < model_.layer_count() && n > 0 && classes.size() % n == 0,
            "these are no joint states of the team");
    const std::size_t count = classes.size() / n;
    std::vector<Index> positions(classes.size(), 0);
    const WorkList work(static_cast<unsigned>(
        std::min<std::size_t>(threads, (count + kStatesAtOnce - 1) / kStatesAtOnce)));
    std::vector<std::unique_ptr<Decider>> deciders(work.threads());
    Reservation memory(monitor);
    memory.take(work.threads() * Lookup::bytes(outlooks_, kBits), "decisions");
    const bool done = work.run(
        (count + kStatesAtOnce - 1) / kStatesAtOnce,
        [&](std::size_t piece, unsigned worker, Monitor& own) {
            auto& decider = deciders[worker];
            if (decider == nullptr) decider = std::make_unique<Decider>(*this);
            std::vector<ClassId> row(n);
            std::vector<Index> actions;
            const std::size_t end = std::min(count, (piece + 1) * kStatesAtOnce);
            for (std::size_t s = piece * kStatesAtOnce; s < end; ++s) {
                for (std::size_t i = 0; i < n; ++i) {
                    const Index c = classes[s * n + i];
                    row[i] = ClassId{c};
                    if (row[i] != kAbsent) {
                        const CompiledAgent& agent = model_.agents[i];
                        require(c < agent.layer_size(layer), "there is no such class");
                        row[i] = ClassId{agent.layer_begin[layer] + c};
                    }
                }
                decider->decide(layer, row, actions, own);
                for (std::size_t i = 0; i < n; ++i) {
                    if (row[i] == kAbsent) continue;
                    positions[s * n + i] = actions[i] - model_.agents[i].action_begin[at(row[i])];
                }
                if (own.tick(decider->take_work())) return;
            }
        },
        monitor);
    if (!done) monitor.look_or_throw();
    return positions;
}

bool Lookahead::run(std::uint64_t seed, std::size_t first, std::size_t count, unsigned threads,
                    Monitor& monitor, Runs& runs) const {
    const std::size_t n = model_.agents.size();
    runs.earned.assign(count, 0.0);
    runs.luck.assign(count, 0.0);
    SharedPieces pieces;
    pieces.count = (count + kRunsAtOnce - 1) / kRunsAtOnce;
    const WorkList work(static_cast<unsigned>(std::min<std::size_t>(threads, pieces.count)));
    std::vector<std::unique_ptr<Decider>> deciders(work.threads());
    Reservation memory(monitor);
    memory.take(work.threads() * Lookup::bytes(outlooks_, kBits), "runs of a policy");
    const auto for_each_run = [&](std::size_t piece, const auto& visit) {
        const std::size_t end = std::min(count, (piece + 1) * kRunsAtOnce);
        for (std::size_t r = piece * kRunsAtOnce; r < end; ++r) visit(r);
    };
    pieces.work = [&](std::size_t) {
        // Each decision looks at everybody at least once.
        return static_cast<double>(kRunsAtOnce * model_.layer_count() * cost::kDecide *
                                   (n + outlooks_.bonds().size()));
    };
    pieces.put = [&](std::size_t piece, Parcel& parcel) {
        for_each_run(piece, [&](std::size_t r) {
            parcel.put(runs.earned[r]);
            parcel.put(runs.luck[r]);
        });
    };
    pieces.take = [&](std::size_t piece, Parcel& parcel) {
        for_each_run(piece, [&](std::size_t r) {
            runs.earned[r] = parcel.take<double>();
            runs.luck[r] = parcel.take<double>();
        });
    };
    pieces.run = [&](std::size_t piece, unsigned worker, Monitor& own) {
        auto& decider = deciders[worker];
        if (decider == nullptr) decider = std::make_unique<Decider>(*this);
        std::vector<ClassId> classes(n);
        std::vector<AfterId> afters(n);
        std::vector<Index> actions;
        const std::size_t end = std::min(count, (piece + 1) * kRunsAtOnce);
        for (std::size_t r = piece * kRunsAtOnce; r < end; ++r) {
            Random seeds(seed);
            Random random(seeds.next() ^ (0xd1342543de82ef95ULL * (first + r + 1)));
            std::ranges::fill(classes, ClassId{0});
            double earned = 0;
            double known = 0;  // by what the first base can tell
            Decider::Following following(bases_[0].tables.size(), 1);
            for (Index layer = 0; layer < model_.layer_count(); ++layer) {
                double q = decider->decide(layer, classes, actions, own, &following);
                const double before = decider->first_value();
                if (decider->chosen_by() == 0) {
                    following = decider->first_following();
                } else {
                    q = decider->value(0, layer, classes, actions);
                    following = decider->following();
                }
                known += layer == 0 ? q : q - before;
                for (std::size_t i = 0; i < n; ++i) {
                    const CompiledAgent& agent = model_.agents[i];
                    afters[i] = agent.action_after[actions[i]];
                    earned += agent.action_reward[actions[i]];
                }
                for (std::size_t k = 0; k < model_.interactions_at[layer].size(); ++k) {
                    earned += model_.interaction_value(layer, k, afters);
                }
                for (std::size_t i = 0; i < n; ++i) {
                    const CompiledAgent& agent = model_.agents[i];
                    Index o = agent.outcome_begin[at(afters[i])];
                    const Index last = agent.outcome_begin[at(afters[i]) + 1] - 1;
                    if (o < last) {
                        double draw = random.unit();
                        while (o < last && draw >= agent.outcome_probability[o]) {
                            draw -= agent.outcome_probability[o++];
                        }
                    }
                    classes[i] = agent.outcome_next[o];
                }
                if (own.tick(decider->take_work() +
                             cost::kDecide * (n + model_.interactions_at[layer].size()))) {
                    return;
                }
            }
            runs.earned[r] = earned;
            runs.luck[r] = earned - known;
        }
    };
    return run_shared(work, pieces, monitor);
}

}  // namespace coreplan
