#include "decentralised/gmaa.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "bounds/sums.hpp"
#include "support/hashing.hpp"

namespace coreplan {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
// Sums of some dozens of terms, relative to all that can be earned or lost.
constexpr double kRounding = 64 * std::numeric_limits<double>::epsilon();
constexpr std::size_t kProfiles = 4;

}  // namespace

DecentralisedSearch::DecentralisedSearch(const CompiledModel& model, std::uint64_t seed,
                                         Monitor& monitor)
    : model_(model),
      monitor_(monitor),
      seed_(seed),
      signals_(signal_counts(model)),
      rounding_(kRounding * reward_scale(model)),
      left_out_(kNothing),
      memory_(monitor),
      next_(model.agents.size()),
      signal_(model.agents.size()) {
    // Quick, and without it there is no answer.
    Monitor patient;
    IndependentBounds bounds = independent_bounds(model, patient);
    policy_ = std::move(bounds.policy);
    lower_ = bounds.lower - model.constant();
    start_upper_ = bounds.upper - model.constant();
}

void DecentralisedSearch::note(const LimitReached& limit) {
    stop_ = limit.stop;
    message_ = limit.stop == Stop::memory_limit ? limit.what() : "";
}

// Takes a policy that is worth more than the one in hand.
void DecentralisedSearch::take(const LocalPolicy& policy) {
    Monitor patient;
    const double value = value_of(model_, policy, patient) - model_.constant();
    if (value <= lower_) return;
    lower_ = value;
    policy_ = policy;
}

bool DecentralisedSearch::improve(std::size_t tries) {
    const double before = lower_;
    try {
        if (!profiles_) {
            profiles_ =
                std::make_unique<ProfileSearch>(model_, seed_, kProfiles, monitor_, &policy_);
            ++work_.best_responses;
            take(profiles_->best().front().policy);
        }
        for (std::size_t k = 0; k < tries; ++k) {
            ++work_.best_responses;
            if (profiles_->attempt()) take(profiles_->best().front().policy);
        }
    } catch (const LimitReached& limit) {
        note(limit);
    }
    return lower_ > before;
}

bool DecentralisedSearch::prepare() {
    try {
        central_ = std::make_unique<CentralValues>(model_, monitor_);
    } catch (const LimitReached& limit) {
        note(limit);
        return false;
    }
    work_.cells += central_->cells();
    Node& root = nodes_.emplace_back();
    root.layer = 0;
    root.parent = 0;
    root.past = 0;
    for (std::size_t i = 0; i < model_.agents.size(); ++i) {
        root.type_begin.push_back(static_cast<Index>(i));
        root.type.push_back(0);
        root.chance.push_back(1);
    }
    root.type_begin.push_back(static_cast<Index>(model_.agents.size()));
    ++work_.nodes;
    push(central_->value(), 0);
    return true;
}

double DecentralisedSearch::upper() const {
    if (!central_) return std::max(start_upper_, lower_);
    const double open = open_.empty() ? kNothing : open_.front().bound;
    return std::max({lower_, left_out_ - rounding_, open});
}

DecentralisedWork DecentralisedSearch::work() const {
    DecentralisedWork work = work_;
    for (const Node& node : nodes_) {
        if (node.solver) work.partial_solutions += node.solver->partial_solutions();
    }
    return work;
}

bool DecentralisedSearch::worse(const Open& one, const Open& other) {
    if (one.bound != other.bound) return one.bound < other.bound;
    if (one.layer != other.layer) return one.layer < other.layer;
    return one.node > other.node;
}

void DecentralisedSearch::push(double bound, Index node) {
    open_.push_back({bound, nodes_[node].layer, node});
    std::ranges::push_heap(open_, worse);
}

bool DecentralisedSearch::run(double tolerance, std::uint64_t work) {
    if (stop_ != Stop::none) return false;
    const double slack = std::max(tolerance, rounding_);
    const std::uint64_t end = monitor_.work_after(work);
    while (!open_.empty()) {
        const Open top = open_.front();
        if (top.bound <= lower_ + slack) {
            left_out_ = std::max(left_out_, top.bound);
            open_.clear();
            break;
        }
        if (monitor_.tick(1)) {
            stop_ = monitor_.stop();
            return false;
        }
        std::ranges::pop_heap(open_, worse);
        open_.pop_back();
        if (nodes_[top.node].replaced) {
            finish(nodes_[top.node]);
            continue;
        }
        bool done = false;
        try {
            done = advance(top, slack);
            if (!done) stop_ = monitor_.stop();
        } catch (const LimitReached& limit) {
            note(limit);
        }
        if (!done) {
            push(top.bound, top.node);  // as if it had not been touched
            return false;
        }
        if (!open_.empty() && monitor_.work() >= end) return false;
    }
    return true;
}

// Makes the node's next child. False if a limit struck.
bool DecentralisedSearch::advance(const Open& open, double slack) {
    Node& node = nodes_[open.node];
    if (!node.solver) make_solver(node);
    const auto step = node.solver->next(lower_ + slack - node.past, monitor_);
    if (step == GameSolver::Step::stopped) return false;
    left_out_ = std::max(left_out_, node.past + node.solver->left_out());
    if (step == GameSolver::Step::exhausted) {
        finish(node);
        return true;
    }
    const double bytes = node.solver->bytes();
    if (bytes > node.memory->bytes()) node.memory->set(bytes, "the search in a Bayesian game");
    const double bound = std::min(node.past + node.solver->value(), open.bound);
    if (node.layer + 1 == model_.layer_count()) {
        complete(open.node, node.solver->solution());
        finish(node);  // the next best are no better
        return true;
    }
    make_child(open.node, node.solver->solution(), bound);
    const double rest = std::min(node.past + node.solver->bound(), open.bound);
    if (rest > lower_ + slack) {
        push(rest, open.node);
    } else {
        left_out_ = std::max(left_out_, rest);
        finish(node);
    }
    return true;
}

void DecentralisedSearch::finish(Node& node) {
    if (!node.solver) return;
    work_.partial_solutions += node.solver->partial_solutions();
    node.solver.reset();
    node.memory.reset();
}

// The game of a node: what a joint action of a joint type is worth at most, by the chance of it.
void DecentralisedSearch::make_solver(Node& node) {
    const std::size_t n = model_.agents.size();
    struct Move {
        double chance;
        double reward;
        std::size_t after;  // within the layer
    };
    BayesianGame game;
    std::vector<std::vector<Move>> moves(n);
    double cells = 1;
    double joint_types = 1;
    for (std::size_t i = 0; i < n; ++i) {
        const CompiledAgent& agent = model_.agents[i];
        auto& begin = game.move_begin.emplace_back(1, 0);
        auto& chance = game.chance.emplace_back();
        for (Index k = node.type_begin[i]; k < node.type_begin[i + 1]; ++k) {
            const Index c = node.type[k];
            chance.push_back(node.chance[k]);
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                moves[i].push_back(
                    {node.chance[k], agent.action_reward[a],
                     at(agent.action_after[a]) - agent.after_layer_begin[node.layer]});
            }
            begin.push_back(static_cast<Index>(moves[i].size()));
        }
        cells *= static_cast<double>(moves[i].size());
        joint_types *= static_cast<double>(chance.size());
        work_.types += chance.size();
    }
    const double bytes = cells * sizeof(double);
    Reservation memory(monitor_);
    memory.take(bytes, "a Bayesian game of " + std::to_string(n) + " agents");

    game.payoff.resize(static_cast<std::size_t>(cells));
    const std::vector<double>& after = central_->after(node.layer);
    std::vector<std::size_t> size(n);
    for (std::size_t i = 0; i < n; ++i) {
        size[i] = model_.agents[i].after_layer_begin[node.layer + 1] -
                  model_.agents[i].after_layer_begin[node.layer];
    }
    std::vector<std::size_t> move(n, 0);
    double* out = game.payoff.data();
    for (bool more = true; more;) {
        double chance = 1;
        double reward = 0;
        std::size_t row = 0;
        for (std::size_t i = 0; i + 1 < n; ++i) {
            const Move& each = moves[i][move[i]];
            chance *= each.chance;
            reward += each.reward;
            row = (row + each.after) * size[i + 1];
        }
        for (const Move& each : moves[n - 1]) {
            *out++ = chance * each.chance * (reward + each.reward + after[row + each.after]);
        }
        monitor_.tick_or_throw(moves[n - 1].size() + 4);
        more = false;
        for (std::size_t i = n - 1; !more && i-- > 0;) {
            more = ++move[i] < moves[i].size();
            if (!more) move[i] = 0;
        }
    }
    node.solver = std::make_unique<GameSolver>(std::move(game));
    node.memory.emplace(std::move(memory));
    ++work_.games;
    work_.joint_types += static_cast<std::uint64_t>(joint_types);
    work_.joint_actions += static_cast<std::uint64_t>(cells);
    monitor_.progress.states_expanded += static_cast<std::uint64_t>(joint_types);
    monitor_.progress.actions_evaluated += static_cast<std::uint64_t>(cells);
}

// What the agents earn at the node's layer; fills `next_` with where they are then.
double DecentralisedSearch::earned(const Node& node, const GameSolution& solution) {
    double total = 0;
    for (std::size_t i = 0; i < model_.agents.size(); ++i) {
        const CompiledAgent& agent = model_.agents[i];
        next_[i].assign(agent.layer_size(node.layer + 1), 0.0);
        signal_[i].assign(signals_[i], 0.0);
        for (Index k = node.type_begin[i]; k < node.type_begin[i + 1]; ++k) {
            const Index a = agent.action_begin[node.type[k]] + solution[i][k - node.type_begin[i]];
            const std::size_t after = at(agent.action_after[a]);
            const std::size_t label = at(agent.after_label[after]);
            total += node.chance[k] * agent.action_reward[a];
            for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                const std::size_t signal = at(agent.label_factor[f].signal);
                if (signal < signals_[i]) {
                    signal_[i][signal] += node.chance[k] * agent.label_factor[f].chance;
                }
            }
            for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
                next_[i][at(agent.outcome_next[o]) - agent.layer_begin[node.layer + 1]] +=
                    node.chance[k] * agent.outcome_probability[o];
            }
        }
    }
    for (std::size_t k = 0; k < model_.interactions_at[node.layer].size(); ++k) {
        double expected = model_.values_at[node.layer][k];
        for (const auto& member :
             model_.interactions[model_.interactions_at[node.layer][k]].members) {
            expected *= signal_[at(member.agent)][at(member.signal)];
        }
        total += expected;
    }
    for (const Index e : model_.aggregates_at[node.layer]) {
        const CompiledAggregate& aggregate = model_.aggregates[e];
        std::vector<double> sums(1, 1.0);
        for (const AggregateMember& member : aggregate.members) {
            add_amounts(sums, amounts_of(member, signal_[at(member.agent)], 1, 0));
        }
        total += expected_value(aggregate.table(node.layer), sums);
    }
    return total;
}

void DecentralisedSearch::make_child(Index parent, const GameSolution& solution, double bound) {
    Node child;
    child.layer = nodes_[parent].layer + 1;
    child.parent = parent;
    child.past = nodes_[parent].past + earned(nodes_[parent], solution);
    for (const auto& actions : solution) {
        child.rule.insert(child.rule.end(), actions.begin(), actions.end());
    }
    child.type_begin.push_back(0);
    for (std::size_t i = 0; i < model_.agents.size(); ++i) {
        const Index first = model_.agents[i].layer_begin[child.layer];
        for (std::size_t k = 0; k < next_[i].size(); ++k) {
            if (next_[i][k] == 0) continue;
            child.type.push_back(first + static_cast<Index>(k));
            child.chance.push_back(next_[i][k]);
        }
        child.type_begin.push_back(static_cast<Index>(child.type.size()));
    }
    const auto number = static_cast<Index>(nodes_.size());
    Index known = 0;
    const bool again = is_known(child, known);
    if (again && nodes_[known].past >= child.past) return;
    const double bytes =
        sizeof(Node) + 64 +
        static_cast<double>((child.rule.size() + child.type.size() + child.type_begin.size()) *
                                sizeof(Index) +
                            child.chance.size() * sizeof(double));
    memory_.take(bytes, "the search over partial policies");
    const std::size_t hash = hash_of(child);
    if (again) {
        nodes_[known].replaced = true;
        const auto [begin, end] = known_.equal_range(hash);
        for (auto each = begin; each != end; ++each) {
            if (each->second == known) each->second = number;
        }
    } else {
        known_.emplace(hash, number);
    }
    nodes_.push_back(std::move(child));
    ++work_.nodes;
    push(bound, number);
}

std::size_t DecentralisedSearch::hash_of(const Node& node) {
    std::size_t hash = hash_on(kHashSeed, node.layer);
    for (const Index begin : node.type_begin) hash = hash_on(hash, begin);
    for (const Index type : node.type) hash = hash_on(hash, type);
    for (const double chance : node.chance) {
        hash = hash_on(hash, std::bit_cast<std::uint64_t>(chance));
    }
    return hash;
}

bool DecentralisedSearch::is_known(const Node& fresh, Index& known) const {
    const auto [begin, end] = known_.equal_range(hash_of(fresh));
    for (auto each = begin; each != end; ++each) {
        const Node& node = nodes_[each->second];
        if (node.layer == fresh.layer && node.type_begin == fresh.type_begin &&
            node.type == fresh.type && node.chance == fresh.chance) {
            known = each->second;
            return true;
        }
    }
    return false;
}

// A whole policy: what the solution of the last game says, and what led there. Classes that the
// agents do not get into keep the actions of the policy in hand.
void DecentralisedSearch::complete(Index last, const GameSolution& solution) {
    LocalPolicy found = policy_;
    std::vector<Index> rule;
    for (const auto& actions : solution) rule.insert(rule.end(), actions.begin(), actions.end());
    for (Index number = last;; number = nodes_[number].parent) {
        const Node& node = nodes_[number];
        for (std::size_t i = 0; i < model_.agents.size(); ++i) {
            for (Index k = node.type_begin[i]; k < node.type_begin[i + 1]; ++k) {
                found.action[i][node.type[k]] = rule[k];
            }
        }
        if (node.layer == 0) break;
        rule = node.rule;
    }
    take(found);
}

}  // namespace coreplan
