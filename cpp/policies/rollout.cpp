#include "policies/rollout.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <thread>

#include "policies/state_set.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-13;  // of all that can be earned or lost
constexpr std::size_t kChunk = 128;  // states between two looks at the clock
constexpr std::size_t kWorthThreads = 16;
// Joint outcomes of one state; beyond, those of little probability are left out.
constexpr double kManyOutcomes = 1024;
constexpr double kUnlikely = 1e-4;

}  // namespace

// Decides one state at a time. One per thread.
class Rollout::Decider {
public:
    Decider(const Outlooks& outlooks, const std::vector<std::shared_ptr<const Base>>& bases)
        : outlooks_(outlooks), model_(outlooks.model()), bases_(bases), lookup_(outlooks),
          tolerance_(kTolerance * reward_scale(model_)) {}

    void decide(RolloutLayer& layer, Index number, std::size_t state, double& runner_up) {
        const std::size_t n = model_.agents.size();
        const auto classes = std::span(layer.classes).subspan(state * n, n);
        const auto chosen = std::span(layer.actions).subspan(state * n, n);
        choosers_.clear();
        for (std::size_t i = 0; i < n; ++i) {
            const auto& begin = model_.agents[i].action_begin;
            if (begin[at(classes[i]) + 1] - begin[at(classes[i])] > 1) choosers_.push_back(i);
        }
        double best = -kInfinity;
        double second = -kInfinity;
        double best_value = -kInfinity;
        for (Index b = 0; b < bases_.size(); ++b) {
            const Base& base = *bases_[b];
            if (base.from > number) continue;
            start(base, classes);
            if (b == 0) layer.default_value[state] = q_;
            best_value = std::max(best_value, q_);
            if (!choosers_.empty()) climb(base, classes);
            if (q_ > best) {
                second = best;
                best = q_;
                layer.base[state] = b;
                std::ranges::copy(actions_, chosen.begin());
            } else {
                second = std::max(second, q_);
            }
        }
        layer.base_value[state] = best_value;
        layer.best_q[state] = best;
        layer.default_q[state] = layer.base[state] == 0 ? best : lookup_.value(*bases_[0], chosen);
        runner_up = std::max(second, layer.default_value[state]);
    }

private:
    // Everyone does what the base says.
    void start(const Base& base, std::span<const ClassId> classes) {
        const std::size_t n = classes.size();
        actions_.resize(n);
        lists_.resize(n);
        q_ = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const AgentOutlook& outlook = *base.agents[i];
            actions_[i] = model_.agents[i].action_begin[at(classes[i])] + outlook.action[at(classes[i])];
            lists_[i] = outlook.list(classes[i]);
            q_ += outlook.value(classes[i]);
        }
        for (Index b = 0; b < outlooks_.bonds().size(); ++b) q_ += lookup_.expected(b, lists_);
    }

    // Agents change their actions one at a time as long as that is better.
    void climb(const Base& base, std::span<const ClassId> classes) {
        std::size_t unchanged = 0;
        for (std::size_t turn = 0; unchanged < choosers_.size();
             turn = turn + 1 == choosers_.size() ? 0 : turn + 1) {
            const std::size_t i = choosers_[turn];
            const CompiledAgent& agent = model_.agents[i];
            const AgentOutlook& outlook = *base.agents[i];
            const Index now = actions_[i];
            const double current = part(i, now, agent, outlook);
            double best = current;
            Index best_action = now;
            const std::size_t c = at(classes[i]);
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                if (a == now) continue;
                const double value = part(i, a, agent, outlook);
                if (value > best + tolerance_) {
                    best = value;
                    best_action = a;
                }
            }
            actions_[i] = best_action;
            lists_[i] = outlook.list(agent.action_after[best_action]);
            if (best_action == now) {
                ++unchanged;
            } else {
                q_ += best - current;
                unchanged = 1;
            }
        }
    }

    // What depends on one agent's action.
    double part(std::size_t i, Index a, const CompiledAgent& agent, const AgentOutlook& outlook) {
        const AfterId after = agent.action_after[a];
        lists_[i] = outlook.list(after);
        double total = agent.action_reward[a] + outlook.value(after);
        if (lists_[i] == 0) return total;
        for (const Index b : outlooks_.bonds_of(i)) total += lookup_.expected(b, lists_);
        return total;
    }

    const Outlooks& outlooks_;
    const CompiledModel& model_;
    const std::vector<std::shared_ptr<const Base>>& bases_;
    Lookup lookup_;
    double tolerance_;
    std::vector<std::size_t> choosers_;
    std::vector<Index> actions_;
    std::vector<Index> lists_;
    double q_ = 0;
};

Rollout::Rollout(const Outlooks& outlooks, std::vector<std::shared_ptr<const Base>> bases,
                 const RolloutOptions& options, Monitor& monitor)
    : outlooks_(outlooks),
      bases_(std::move(bases)),
      options_(options),
      monitor_(monitor),
      agents_(outlooks.model().agents.size()),
      worth_(bases_.size(), 0.0) {
    RolloutLayer& root = layers_.emplace_back();
    root.classes.assign(agents_, ClassId{0});
    root.reach.assign(1, 1.0);
    const unsigned threads = std::max(options.threads, 1U);
    for (unsigned t = 0; t < threads; ++t) {
        const double bytes = Lookup::bytes(outlooks);
        if (t > 0 && !monitor.fits(bytes)) break;
        monitor.reserve(bytes, "remembered sums of a rollout");
        bytes_ += bytes;
        deciders_.push_back(std::make_unique<Decider>(outlooks, bases_));
    }
}

Rollout::~Rollout() { monitor_.release(bytes_); }

bool Rollout::run(double seconds) {
    const double end = monitor_.seconds() + seconds;
    const std::size_t layers = outlooks_.model().layer_count();
    while (!done_) {
        RolloutLayer& layer = layers_[layer_];
        const std::size_t size = layer.size();
        if (state_ == 0) {
            layer.actions.resize(size * agents_);
            for (auto* each : {&layer.default_value, &layer.default_q, &layer.base_value,
                               &layer.best_q, &layer.value}) {
                each->resize(size);
            }
            layer.base.resize(size);
            runner_up_.resize(size);
        }
        while (state_ < size) {
            const std::size_t stop = std::min(size, state_ + kChunk * deciders_.size());
            decide(state_, stop);
            monitor_.tick_or_throw((stop - state_) * agents_ * bases_.size() * 16);
            state_ = stop;
            if (state_ < size && monitor_.seconds() >= end) return false;
        }
        account();
        states_ += size;
        ++decided_;
        state_ = 0;
        if (layer_ + 1 == layers || !expand()) {
            evaluate();
            done_ = true;
            break;
        }
        ++layer_;
        if (monitor_.seconds() >= end) return false;
    }
    return true;
}

// States are apart from each other, so threads do not change what comes out.
void Rollout::decide(std::size_t begin, std::size_t end) {
    RolloutLayer& layer = layers_[layer_];
    const auto work = [&](Decider& decider, std::size_t from, std::size_t to) {
        for (std::size_t s = from; s < to; ++s) {
            decider.decide(layer, static_cast<Index>(layer_), s, runner_up_[s]);
        }
    };
    const std::size_t count = end - begin;
    if (deciders_.size() == 1 || count < kWorthThreads) {
        work(*deciders_[0], begin, end);
        return;
    }
    std::vector<std::jthread> helpers;
    const std::size_t parts = deciders_.size();
    for (std::size_t t = 1; t < parts; ++t) {
        helpers.emplace_back(work, std::ref(*deciders_[t]), begin + count * t / parts,
                             begin + count * (t + 1) / parts);
    }
    work(*deciders_[0], begin, begin + count / parts);
}

void Rollout::account() {
    const RolloutLayer& layer = layers_[layer_];
    for (std::size_t s = 0; s < layer.size(); ++s) {
        worth_[layer.base[s]] += layer.reach[s] * (layer.best_q[s] - runner_up_[s]);
    }
}

// All joint outcomes of the layer in work; false if the default is followed from the next one on.
bool Rollout::expand() {
    RolloutLayer& layer = layers_[layer_];
    RolloutLayer next;
    StateSet found(agents_);
    std::vector<ClassId> row(agents_);
    std::vector<Index> outcome(agents_);
    std::vector<double> partial(agents_ + 1);
    std::vector<AfterId> after(agents_);
    layer.next_begin.assign(1, 0);
    const auto& agents = outlooks_.model().agents;
    for (std::size_t s = 0; s < layer.size(); ++s) {
        double count = 1;
        for (std::size_t i = 0; i < agents_; ++i) {
            after[i] = agents[i].action_after[layer.actions[s * agents_ + i]];
            const auto& begin = agents[i].outcome_begin;
            count *= begin[at(after[i]) + 1] - begin[at(after[i])];
            outcome[i] = begin[at(after[i])];
        }
        const double least = count > kManyOutcomes ? kUnlikely : 0;
        if (least > 0) exact_ = false;
        // Depth first over the agents' outcomes, without recursion.
        std::size_t i = 0;
        partial[0] = 1;
        for (;;) {
            if (i == agents_) {
                const auto [number, is_new] = found.insert(row);
                if (is_new) next.reach.push_back(0.0);
                next.reach[number] += layer.reach[s] * partial[i];
                layer.next.push_back(number);
                layer.probability.push_back(partial[i]);
                if (i == 0) break;
                --i;
                ++outcome[i];
                continue;
            }
            if (outcome[i] == agents[i].outcome_begin[at(after[i]) + 1]) {
                outcome[i] = agents[i].outcome_begin[at(after[i])];
                if (i == 0) break;
                --i;
                ++outcome[i];
                continue;
            }
            partial[i + 1] = partial[i] * agents[i].outcome_probability[outcome[i]];
            if (partial[i + 1] <= least) {
                ++outcome[i];
                continue;
            }
            row[i] = agents[i].outcome_next[outcome[i]];
            ++i;
        }
        layer.next_begin.push_back(static_cast<Index>(layer.next.size()));
        monitor_.tick_or_throw(16 * (agents_ + 4 * (layer.next_begin[s + 1] - layer.next_begin[s])));
    }
    next.classes = found.take_rows();
    const std::size_t before = next.size();
    const double row_bytes = static_cast<double>(agents_ * 8 + 96);
    const double link_bytes = static_cast<double>(layer.next.size()) * 12;
    if (!monitor_.fits(static_cast<double>(before) * row_bytes + link_bytes)) {
        options_.most_states = std::min(options_.most_states, std::max<std::size_t>(before / 4, 1));
    }
    bool goes_on = true;
    if (before > options_.most_states) {
        if (options_.cut) {
            goes_on = false;
        } else {
            exact_ = false;
            keep_likeliest(next);
        }
    }
    const double bytes = static_cast<double>(next.size()) * row_bytes +
                         static_cast<double>(layer.next.size()) * 12;
    monitor_.reserve(bytes, "the states of a rollout");
    bytes_ += bytes;
    layers_.push_back(std::move(next));
    return goes_on;
}

// The likeliest states stay, in the order in which they were found.
void Rollout::keep_likeliest(RolloutLayer& next) {
    const std::size_t most = options_.most_states;
    std::vector<Index> order(next.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::nth_element(order, order.begin() + static_cast<std::ptrdiff_t>(most),
                             [&](Index a, Index b) {
                                 return next.reach[a] != next.reach[b]
                                            ? next.reach[a] > next.reach[b]
                                            : a < b;
                             });
    order.resize(most);
    std::ranges::sort(order);
    constexpr Index kGone = ~Index{0};
    std::vector<Index> moved(next.size(), kGone);
    for (std::size_t k = 0; k < most; ++k) {
        moved[order[k]] = static_cast<Index>(k);
        next.reach[k] = next.reach[order[k]];
        for (std::size_t i = 0; i < agents_; ++i) {
            next.classes[k * agents_ + i] = next.classes[order[k] * agents_ + i];
        }
    }
    next.reach.resize(most);
    next.classes.resize(most * agents_);
    next.classes.shrink_to_fit();
    RolloutLayer& layer = layers_[layer_];
    std::size_t kept = 0;
    for (std::size_t s = 0; s < layer.size(); ++s) {
        std::size_t k = layer.next_begin[s];
        layer.next_begin[s] = static_cast<Index>(kept);
        for (; k < layer.next_begin[s + 1]; ++k) {
            if (moved[layer.next[k]] == kGone) continue;
            layer.next[kept] = moved[layer.next[k]];
            layer.probability[kept] = layer.probability[k];
            ++kept;
        }
    }
    layer.next_begin[layer.size()] = static_cast<Index>(kept);
    layer.next.resize(kept);
    layer.probability.resize(kept);
}

void Rollout::evaluate() {
    for (std::size_t l = decided_; l-- > 0;) {
        RolloutLayer& layer = layers_[l];
        const bool last = l + 1 == decided_;
        for (std::size_t s = 0; s < layer.size(); ++s) {
            double value = layer.default_q[s];
            if (!last) {
                const RolloutLayer& next = layers_[l + 1];
                for (Index k = layer.next_begin[s]; k < layer.next_begin[s + 1]; ++k) {
                    const Index to = layer.next[k];
                    value += layer.probability[k] * (next.value[to] - next.default_value[to]);
                }
            }
            layer.value[s] = value;
        }
        monitor_.tick_or_throw(4 * layer.next.size() + layer.size());
    }
}

JointTable Rollout::table() const {
    JointTable table;
    const auto& agents = outlooks_.model().agents;
    std::vector<Index> order;
    for (std::size_t l = 0; l < decided_; ++l) {
        const RolloutLayer& layer = layers_[l];
        order.clear();
        for (Index s = 0; s < layer.size(); ++s) {
            bool same = true;
            for (std::size_t i = 0; same && i < agents_; ++i) {
                const std::size_t c = at(layer.classes[s * agents_ + i]);
                same = layer.actions[s * agents_ + i] ==
                       agents[i].action_begin[c] + bases_[0]->agents[i]->action[c];
            }
            if (!same) order.push_back(s);
        }
        const auto row = [&](Index s) { return std::span(layer.classes).subspan(s * agents_, agents_); };
        std::ranges::sort(order, [&](Index a, Index b) {
            return std::ranges::lexicographical_compare(row(a), row(b));
        });
        for (const Index s : order) {
            table.layer.push_back(static_cast<Index>(l));
            for (std::size_t i = 0; i < agents_; ++i) {
                const std::size_t c = at(layer.classes[s * agents_ + i]);
                table.classes.push_back(static_cast<Index>(c - agents[i].layer_begin[l]));
                table.actions.push_back(layer.actions[s * agents_ + i] - agents[i].action_begin[c]);
            }
        }
    }
    return table;
}

}  // namespace coreplan
