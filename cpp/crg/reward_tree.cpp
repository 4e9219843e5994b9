#include "crg/reward_tree.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <tuple>

namespace coreplan {

namespace {

// Beyond this many combinations of what other agents do, a tree is not worth making.
constexpr double kMostCombinations = 1e7;

// The agents that entries look at, each with the conditions that matter.
std::map<AgentId, std::vector<Index>> conditions_by_agent(const std::vector<ActiveEntry>& entries) {
    std::map<AgentId, std::vector<Index>> result;
    for (const ActiveEntry& entry : entries) {
        for (const auto& other : entry.others) result[other.agent].push_back(other.condition);
    }
    for (auto& [agent, conditions] : result) {
        std::ranges::sort(conditions);
        const auto repeated = std::ranges::unique(conditions);
        conditions.erase(repeated.begin(), repeated.end());
    }
    return result;
}

}  // namespace

bool Branch::takes(Index move_action) const {
    return action == move_action || std::ranges::find(sharing, move_action) != sharing.end();
}

Index TreeAgent::labels() const {
    return std::accumulate(branches.begin(), branches.end(), Index{0},
                           [](Index sum, const Branch& b) { return sum + b.labelled_arcs; });
}

Index TreeAgent::all_arcs() const {
    return std::accumulate(branches.begin(), branches.end(), Index{0},
                           [](Index sum, const Branch& b) { return sum + b.arcs(); });
}

CrgSize& CrgSize::operator+=(const CrgSize& other) {
    states += other.states;
    action_nodes += other.action_nodes;
    influence_nodes += other.influence_nodes;
    action_arcs += other.action_arcs;
    wildcard_arcs += other.wildcard_arcs;
    influence_arcs += other.influence_arcs;
    no_influence_arcs += other.no_influence_arcs;
    reward_arcs += other.reward_arcs;
    return *this;
}

TreeMaker::TreeMaker(const Description& description, const LocalGraphs& graphs,
                     const std::vector<AgentId>& owner, const CrgOptions& options, Monitor& monitor)
    : graphs_(graphs), options_(options), monitor_(monitor) {
    const std::size_t n = graphs.agents.size();
    const auto& entries = graphs.rewards.interaction_entries;
    if (owner.size() != entries.size()) throw std::invalid_argument("one owner per entry");
    if (options.literal && options.share) {
        throw std::invalid_argument("the arcs of the printed definitions are not shared");
    }
    entries_of_.resize(n);
    for (std::size_t e = 0; e < entries.size(); ++e) {
        entries_of_[at(owner[e])].push_back(static_cast<Index>(e));
    }
    for (std::size_t i = 0; i < n; ++i) {
        std::set<AgentId> scope;
        for (const Index e : entries_of_[i]) {
            for (const Member& member : entries[e].members) scope.insert(member.agent);
        }
        scope.erase(as<AgentId>(i));
        scope_of_.emplace_back(scope.begin(), scope.end());
    }
    for (std::size_t i = 0; i < n; ++i) {
        const LocalGraph& graph = graphs.agents[i];
        types_.emplace_back(description, as<AgentId>(i), entries);
        monitor.reserve(static_cast<double>(graph.arc_next.size()) * sizeof(Move),
                        "the moves of one agent");
        auto& moves = moves_.emplace_back();
        auto& kinds = kinds_.emplace_back();
        for (Index layer = 0; layer < graphs.stage_count(); ++layer) {
            moves.push_back(moves_at(graph, types_[i], layer));
            std::map<std::pair<Index, Index>, double> found;
            for (const Move& move : moves.back()) found[{move.action, move.pair_type}] += 1;
            auto& row = kinds.emplace_back();
            for (const auto& [key, count] : found) row.push_back({key.first, key.second, count});
            monitor.tick_or_throw(moves.back().size() * 8);
        }
    }
}

bool TreeMaker::counts_at(Index entry, Index stage) const {
    const Entry& it = graphs_.rewards.interaction_entries[entry];
    if (it.value == 0) return false;
    return !it.stages || std::ranges::find(*it.stages, stage) != it.stages->end();
}

std::vector<bool> TreeMaker::matched(std::size_t agent, TransitionId transition) const {
    const MoveTypes& types = types_[agent];
    std::vector<bool> result(types.condition_count());
    for (Index c = 0; c < types.condition_count(); ++c) {
        result[c] = types.matches(c, types.pair_type(transition), types.action_of(transition));
    }
    return result;
}

std::vector<std::vector<bool>> TreeMaker::distinct_matches(
    AgentId agent, Index layer, const std::vector<Index>& conditions) const {
    std::set<std::vector<bool>> found;
    const MoveTypes& types = types_[at(agent)];
    std::vector<bool> row(conditions.size());
    for (const Kind& kind : kinds_[at(agent)][layer]) {
        for (std::size_t k = 0; k < conditions.size(); ++k) {
            row[k] = types.matches(conditions[k], kind.pair_type, kind.action);
        }
        found.insert(row);
    }
    return {found.begin(), found.end()};
}

RewardTree TreeMaker::make(std::size_t agent, Index layer,
                           const std::vector<bool>& own_matched) const {
    RewardTree tree;
    const Index stage = graphs_.first_stage + layer;
    for (const Index e : entries_of_[agent]) {
        const Entry& entry = graphs_.rewards.interaction_entries[e];
        if (!counts_at(e, stage)) continue;
        const double value = entry.value * graphs_.rewards.weights.at_stage(stage);
        ActiveEntry active{{}, value, entry.function};
        bool matches = true;
        for (const Member& member : entry.members) {
            const Index condition = types_[at(member.agent)].number_of(member.condition);
            if (at(member.agent) == agent) {
                matches = own_matched[condition];
            } else {
                active.others.push_back({member.agent, condition});
            }
        }
        if (matches) tree.entries.push_back(std::move(active));
    }
    for (const auto& [other, conditions] : conditions_by_agent(tree.entries)) {
        tree.agents.push_back(make_agent(tree, layer, other, conditions));
    }
    find_extremes(tree, layer);
    count(tree, agent, layer);
    monitor_.tick_or_throw(1000);
    return tree;
}

// Values of the entries that agent j takes part in, as a function of what j does, for every
// combination of what the other agents in those entries can do.
class TreeMaker::Signatures {
public:
    Signatures(const TreeMaker& maker, const std::vector<ActiveEntry>& entries, AgentId agent,
               Index layer)
        : types_(maker.types_[at(agent)]) {
        std::vector<ActiveEntry> relevant;
        for (const ActiveEntry& entry : entries) {
            Row row{0, entry.value, entry.function, {}};
            ActiveEntry rest{{}, entry.value, entry.function};
            bool has_agent = false;
            for (const auto& other : entry.others) {
                if (other.agent == agent) {
                    has_agent = true;
                    row.condition = other.condition;
                } else {
                    rest.others.push_back(other);
                }
            }
            if (!has_agent) continue;
            rows_.push_back(std::move(row));
            relevant.push_back(std::move(rest));
        }
        combine(maker, relevant, layer);
    }

    // Without the reward functions that the agent cannot change by what is possible at this stage.
    void keep_changeable(const std::vector<Kind>& kinds) {
        std::set<Index> functions;
        for (const Row& row : rows_) functions.insert(row.function);
        for (const Index function : functions) {
            std::set<std::vector<double>> values;
            for (const Kind& kind : kinds) {
                values.insert(vector_of(kind.pair_type, kind.action, function));
            }
            if (values.size() <= 1) {
                std::erase_if(rows_, [=](const Row& row) { return row.function == function; });
            }
        }
    }

    [[nodiscard]] std::vector<Index> functions() const {
        std::set<Index> found;
        for (const Row& row : rows_) found.insert(row.function);
        return {found.begin(), found.end()};
    }

    // One number for each combination of the others; of one function, or of all.
    [[nodiscard]] std::vector<double> vector_of(Index pair_type, Index action,
                                                std::optional<Index> function = {}) const {
        std::vector<double> result(combinations_, 0.0);
        for (const Row& row : rows_) {
            if (function && row.function != *function) continue;
            if (!types_.matches(row.condition, pair_type, action)) continue;
            for (std::size_t z = 0; z < combinations_; ++z) {
                if (row.others_match[z]) result[z] += row.value;
            }
        }
        for (double& value : result) value += 0.0;  // no negative zeros
        return result;
    }

    [[nodiscard]] std::vector<double> zero() const {
        return std::vector<double>(combinations_, 0.0);
    }

private:
    struct Row {
        Index condition;
        double value;
        Index function;
        std::vector<bool> others_match;  // per combination
    };

    void combine(const TreeMaker& maker, const std::vector<ActiveEntry>& relevant, Index layer) {
        const auto conditions = conditions_by_agent(relevant);
        std::vector<AgentId> agents;
        std::vector<std::vector<std::vector<bool>>> ways;
        double total = 1;
        for (const auto& [other, list] : conditions) {
            agents.push_back(other);
            ways.push_back(maker.distinct_matches(other, layer, list));
            total *= static_cast<double>(ways.back().size());
        }
        if (total > kMostCombinations) {
            throw LimitReached(Stop::memory_limit,
                               "a reward function looks at too many combinations of what other "
                               "agents do");
        }
        combinations_ = static_cast<std::size_t>(total);
        std::vector<std::size_t> digits(agents.size(), 0);
        for (std::size_t z = 0; z < combinations_; ++z) {
            for (std::size_t r = 0; r < rows_.size(); ++r) {
                rows_[r].others_match.push_back(
                    std::ranges::all_of(relevant[r].others, [&](const auto& other) {
                        const auto where = std::ranges::find(agents, other.agent);
                        const auto k = static_cast<std::size_t>(where - agents.begin());
                        const auto& list = conditions.at(other.agent);
                        const auto c = std::ranges::lower_bound(list, other.condition);
                        return bool{ways[k][digits[k]][static_cast<std::size_t>(c - list.begin())]};
                    }));
            }
            for (std::size_t k = agents.size(); k-- > 0;) {
                if (++digits[k] < ways[k].size()) break;
                digits[k] = 0;
            }
        }
    }

    const MoveTypes& types_;
    std::vector<Row> rows_;
    std::size_t combinations_ = 1;
};

TreeAgent TreeMaker::make_agent(const RewardTree& tree, Index layer, AgentId agent,
                                const std::vector<Index>& conditions) const {
    TreeAgent result;
    result.agent = agent;
    result.conditions = conditions;
    Signatures signatures(*this, tree.entries, agent, layer);
    if (options_.literal) {
        split_literally(result, signatures, layer);
    } else {
        signatures.keep_changeable(kinds_[at(agent)][layer]);
        split(result, signatures, layer);
    }
    result.trivial = result.dependent.empty() && result.labels() == 0;
    return result;
}

void TreeMaker::split(TreeAgent& result, const Signatures& signatures, Index layer) const {
    const auto& kinds = kinds_[at(result.agent)][layer];
    const MoveTypes& types = types_[at(result.agent)];
    using Signature = std::vector<double>;
    std::map<std::pair<Index, Index>, Signature> of;
    std::map<Signature, double> frequency;
    for (const Kind& kind : kinds) {
        const auto& signature = of[{kind.action, kind.pair_type}] =
            signatures.vector_of(kind.pair_type, kind.action);
        frequency[signature] += kind.moves;
    }
    Signature neutral = signatures.zero();
    if (options_.largest) {
        neutral =
            std::ranges::max_element(frequency, {}, [](const auto& f) { return f.second; })->first;
    }
    std::vector<bool> dependent(types.action_count(), false);
    for (const Kind& kind : kinds) {
        const Signature& here = of[{kind.action, kind.pair_type}];
        if (dependent[kind.action] || here == neutral) continue;
        for (Index b = 0; b < types.action_count(); ++b) {
            if (b != kind.action && signatures.vector_of(kind.pair_type, b) != here) {
                dependent[kind.action] = true;
                break;
            }
        }
    }

    const auto label_branch = [&](const std::vector<Index>& actions) {
        // Over what is possible in this branch: is there anything to tell apart?
        std::map<Signature, Index> seen;
        std::map<std::vector<bool>, Signature> by_pair;
        for (const Kind& kind : kinds) {
            const bool inside = actions.empty()
                                    ? !dependent[kind.action]
                                    : std::ranges::find(actions, kind.action) != actions.end();
            if (!inside) continue;
            const Signature& here = of[{kind.action, kind.pair_type}];
            const auto [place, is_new] =
                by_pair.try_emplace(pair_matches(result, kind.pair_type), here);
            // A pair determines the signature: else an action behind the wildcard is dependent.
            if (!is_new && place->second != here) throw std::logic_error("a branch loses rewards");
            seen.try_emplace(here, static_cast<Index>(seen.size()));
        }
        if (seen.empty()) return;
        const bool constant = seen.size() == 1;
        add_branch(
            result, actions, layer, dependent,
            [&](const Move& move) {
                return !constant && of[{move.action, move.pair_type}] != neutral;
            },
            [&](const Move& move, const std::vector<bool>& matched) {
                if (!options_.share) return matched;
                std::vector<bool> number(seen.size(), false);
                number[seen.at(of[{move.action, move.pair_type}])] = true;
                return number;
            });
    };

    // Dependent actions share a branch if the same signatures occur under them, and the pairs that
    // are possible under several have the same one under each. The branch then needs no more arcs
    // than one of them alone.
    struct Shared {
        std::vector<Index> actions;
        std::map<std::vector<bool>, Signature> by_pair;
        std::set<Signature> seen;
    };
    std::vector<Shared> branches;
    for (Index a = 0; a < types.action_count(); ++a) {
        if (!dependent[a]) continue;
        result.dependent.push_back(a);
        Shared alone{{a}, {}, {}};
        for (const Kind& kind : kinds) {
            if (!options_.share || kind.action != a) continue;
            const Signature& here = of[{a, kind.pair_type}];
            alone.by_pair.emplace(pair_matches(result, kind.pair_type), here);
            alone.seen.insert(here);
        }
        const auto agrees = [&](const Shared& branch) {
            return branch.seen == alone.seen &&
                   std::ranges::all_of(alone.by_pair, [&](const auto& own) {
                       const auto known = branch.by_pair.find(own.first);
                       return known == branch.by_pair.end() || known->second == own.second;
                   });
        };
        const auto known = options_.share ? std::ranges::find_if(branches, agrees) : branches.end();
        if (known == branches.end()) {
            branches.push_back(std::move(alone));
        } else {
            known->actions.push_back(a);
            known->by_pair.merge(alone.by_pair);
        }
    }
    for (const Shared& branch : branches) label_branch(branch.actions);
    label_branch({});
}

void TreeMaker::split_literally(TreeAgent& result, const Signatures& signatures,
                                Index layer) const {
    const auto& kinds = kinds_[at(result.agent)][layer];
    const MoveTypes& types = types_[at(result.agent)];
    std::vector<bool> dependent(types.action_count(), false);
    std::set<std::pair<Index, Index>> influences;
    for (const Index function : signatures.functions()) {
        for (const Kind& kind : kinds) {
            const auto here = signatures.vector_of(kind.pair_type, kind.action, function);
            const auto differs = [&](const std::vector<double>& other) {
                for (std::size_t z = 0; z < here.size(); ++z) {
                    if (here[z] != 0 && other[z] != here[z]) return true;
                }
                return false;
            };
            for (Index b = 0; b < types.action_count(); ++b) {
                if (b != kind.action &&
                    differs(signatures.vector_of(kind.pair_type, b, function))) {
                    dependent[kind.action] = true;
                }
            }
            for (Index pair = 0; pair < types.pair_type_count(); ++pair) {
                if (differs(signatures.vector_of(pair, kind.action, function))) {
                    influences.insert({kind.action, kind.pair_type});
                }
            }
        }
    }
    const auto is_labelled = [&](const Move& move) {
        return influences.contains({move.action, move.pair_type});
    };
    const auto as_matched = [](const Move&, const std::vector<bool>& matched) { return matched; };
    for (Index a = 0; a < types.action_count(); ++a) {
        if (!dependent[a]) continue;
        result.dependent.push_back(a);
        add_branch(result, {a}, layer, dependent, is_labelled, as_matched);
    }
    const bool others =
        std::ranges::any_of(kinds, [&](const Kind& k) { return !dependent[k.action]; });
    if (others) add_branch(result, {}, layer, dependent, is_labelled, as_matched);
}

std::vector<bool> TreeMaker::pair_matches(const TreeAgent& agent, Index pair_type) const {
    const MoveTypes& types = types_[at(agent.agent)];
    std::vector<bool> matched(agent.conditions.size());
    for (std::size_t k = 0; k < matched.size(); ++k) {
        matched[k] = types.pair_matches(agent.conditions[k], pair_type);
    }
    return matched;
}

template <class IsLabelled, class KindOf>
void TreeMaker::add_branch(TreeAgent& result, const std::vector<Index>& actions, Index layer,
                           const std::vector<bool>& dependent, IsLabelled is_labelled,
                           KindOf kind_of) const {
    struct Found {
        std::set<std::pair<Index, Index>> pairs;
        std::set<std::vector<bool>> matched;
        Move example;
    };
    Branch branch;
    if (!actions.empty()) {
        branch.action = actions[0];
        branch.sharing.assign(actions.begin() + 1, actions.end());
    }
    // A pair is labelled if it is under some action of the branch.
    std::set<std::pair<Index, Index>> labelled_pairs;
    const auto& moves = moves_[at(result.agent)][layer];
    const auto in_branch = [&](const Move& move) {
        return branch.action ? branch.takes(move.action) : !dependent[move.action];
    };
    std::map<std::pair<bool, std::vector<bool>>, Found> groups;
    for (const Move& move : moves) {
        if (in_branch(move) && is_labelled(move)) labelled_pairs.insert({move.from, move.to});
    }
    for (const Move& move : moves) {
        if (!in_branch(move)) continue;
        // Merged states may have moves of several kinds between the same two states.
        const bool labelled =
            options_.literal ? labelled_pairs.contains({move.from, move.to}) : is_labelled(move);
        std::vector<bool> matched = pair_matches(result, move.pair_type);
        const auto [place, is_new] =
            groups.try_emplace({!labelled, kind_of(move, matched)}, Found{{}, {}, move});
        place->second.pairs.insert({move.from, move.to});
        place->second.matched.insert(std::move(matched));
    }
    for (auto& [key, found] : groups) {
        const bool labelled = !key.first;
        const auto pairs = static_cast<Index>(found.pairs.size());
        PairGroup group{
            labelled, pairs, found.example, {found.matched.begin(), found.matched.end()}, {}};
        if (options_.literal) group.pair_list.assign(found.pairs.begin(), found.pairs.end());
        if (labelled) {
            branch.labelled_arcs += options_.features || options_.share ? 1 : pairs;
        } else {
            branch.has_other = true;
            if (!branch.other) branch.other = found.example;
        }
        branch.groups.push_back(std::move(group));
    }
    result.branches.push_back(std::move(branch));
}

TreeMaker::Path TreeMaker::path_of(const TreeAgent& agent, const Move& move) const {
    const std::vector<bool> matched = pair_matches(agent, move.pair_type);
    for (std::size_t b = 0; b < agent.branches.size(); ++b) {
        const Branch& branch = agent.branches[b];
        if (branch.action && !branch.takes(move.action)) continue;
        for (std::size_t g = 0; g < branch.groups.size(); ++g) {
            const PairGroup& group = branch.groups[g];
            if (!group.labelled || std::ranges::find(group.matched, matched) == group.matched.end())
                continue;
            if (options_.literal &&
                !std::ranges::binary_search(group.pair_list, std::pair(move.from, move.to))) {
                continue;
            }
            return {static_cast<Index>(b), static_cast<Index>(g)};
        }
        return {static_cast<Index>(b), std::nullopt};
    }
    throw std::logic_error("a move is on no path of the tree");
}

double TreeMaker::path_reward(const RewardTree& tree, Index, const std::vector<Move>& moves) const {
    // The moves that stand for the labels; none where the printed text says 0 by definition.
    std::map<AgentId, std::optional<Move>> stands;
    for (const TreeAgent& agent : tree.agents) {
        const Path path = path_of(agent, moves[at(agent.agent)]);
        const Branch& branch = agent.branches[path.branch];
        if (path.group) {
            stands[agent.agent] = branch.groups[*path.group].example;
        } else if (options_.literal && !branch.action) {
            stands[agent.agent] = std::nullopt;
        } else {
            stands[agent.agent] = branch.other;
        }
    }
    double total = 0;
    for (const ActiveEntry& entry : tree.entries) {
        const bool all = std::ranges::all_of(entry.others, [&](const auto& other) {
            const auto& move = stands.at(other.agent);
            return move &&
                   types_[at(other.agent)].matches(other.condition, move->pair_type, move->action);
        });
        if (all) total += entry.value;
    }
    return total;
}

// The best and worst interaction reward. Agents that share no entry can be looked at apart.
void TreeMaker::find_extremes(RewardTree& tree, Index layer) const {
    const auto conditions = conditions_by_agent(tree.entries);
    std::map<AgentId, AgentId> leader;
    for (const auto& [agent, list] : conditions) leader[agent] = agent;
    const auto find = [&](AgentId agent) {
        while (leader[agent] != agent) agent = leader[agent];
        return agent;
    };
    for (const ActiveEntry& entry : tree.entries) {
        for (const auto& other : entry.others)
            leader[find(other.agent)] = find(entry.others[0].agent);
    }
    for (const auto& [root, unused] : conditions) {
        if (find(root) != root) continue;
        std::vector<AgentId> group;
        std::vector<std::vector<std::vector<bool>>> ways;
        double combinations = 1;
        for (const auto& [agent, list] : conditions) {
            if (find(agent) != root) continue;
            group.push_back(agent);
            ways.push_back(distinct_matches(agent, layer, list));
            combinations *= static_cast<double>(ways.back().size());
        }
        if (combinations > kMostCombinations) {
            throw LimitReached(Stop::memory_limit,
                               "reward functions look at too many combinations of what other "
                               "agents do");
        }
        double most = -std::numeric_limits<double>::infinity();
        double least = std::numeric_limits<double>::infinity();
        std::vector<std::size_t> digits(group.size(), 0);
        for (;;) {
            double sum = 0;
            for (const ActiveEntry& entry : tree.entries) {
                if (find(entry.others[0].agent) != root) continue;
                const bool all = std::ranges::all_of(entry.others, [&](const auto& other) {
                    const auto where = std::ranges::find(group, other.agent);
                    const auto k = static_cast<std::size_t>(where - group.begin());
                    const auto& list = conditions.at(other.agent);
                    const auto c = std::ranges::lower_bound(list, other.condition);
                    return bool{ways[k][digits[k]][static_cast<std::size_t>(c - list.begin())]};
                });
                if (all) sum += entry.value;
            }
            most = std::max(most, sum);
            least = std::min(least, sum);
            monitor_.tick_or_throw(tree.entries.size() * 8);
            std::size_t k = group.size();
            while (k > 0 && ++digits[k - 1] == ways[k - 1].size()) digits[--k] = 0;
            if (k == 0) break;
        }
        tree.most += most;
        tree.least += least;
    }
}

void TreeMaker::count(RewardTree& tree, std::size_t own, Index layer) const {
    // Levels of a tree, one per agent: branches by action, then influence arcs under each.
    struct Level {
        double dependent, wildcard, labelled, other;
        [[nodiscard]] double branches() const { return dependent + wildcard; }
        [[nodiscard]] double ends() const { return labelled + other; }
    };
    const auto count_levels = [](const std::vector<Level>& levels) {
        CrgSize size;
        size.action_arcs = 1;  // the agent's own action
        size.action_nodes = 1;
        double above = 1;
        for (const Level& level : levels) {
            size.action_arcs += above * level.dependent;
            size.wildcard_arcs += above * level.wildcard;
            above *= level.branches();
            size.action_nodes += above;
        }
        for (const Level& level : levels) {
            above /= level.branches();
            size.influence_arcs += above * level.labelled;
            size.no_influence_arcs += above * level.other;
            above *= level.ends();
            size.influence_nodes += above;
        }
        size.reward_arcs = above;
        return size;
    };
    std::vector<Level> levels;
    for (const TreeAgent& agent : tree.agents) {
        if (agent.trivial) continue;
        Level level{0, 0, 0, 0};
        for (const Branch& branch : agent.branches) {
            (branch.action ? level.dependent : level.wildcard) += 1;
        }
        level.labelled = agent.labels();
        level.other = agent.all_arcs() - level.labelled;
        levels.push_back(level);
    }
    tree.size = count_levels(levels);

    std::vector<Level> all;
    for (const AgentId agent : scope_of_[own]) {
        std::set<Index> actions;
        // Merged states can have moves of several pair types between the same two states.
        std::set<std::tuple<Index, Index, Index, Index>> triples;
        for (const Move& move : moves_[at(agent)][layer]) {
            actions.insert(move.action);
            triples.insert({move.action, move.from, move.to, move.pair_type});
        }
        all.push_back(
            {static_cast<double>(actions.size()), 0, static_cast<double>(triples.size()), 0});
    }
    tree.naive = count_levels(all);
}

}  // namespace coreplan
