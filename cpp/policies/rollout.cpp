#include "policies/rollout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "support/partners.hpp"
#include "support/work_list.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-13;  // of all that can be earned or lost
constexpr std::size_t kPiece = 16;    // states that are decided together
constexpr std::size_t kRound = 512;   // states between two looks at the budget, for any threads
constexpr double kLinkBytes = sizeof(Index) + sizeof(double);  // from a state to the next one
constexpr double kStepBytes = 65536;                           // that are reserved at a time
// Joint outcomes of one state; beyond, those of little probability are left out.
constexpr double kManyOutcomes = 1024;
constexpr double kUnlikely = 1e-4;
constexpr double kManyTogether = 512;      // joint actions of agents that can gain together
constexpr double kManyLooks = 64;          // outcomes of a joint action that is looked at
constexpr double kLikely = 1e-3;           // states that are worth a closer look with divisions
constexpr std::size_t kKnown = 1U << 13U;  // states that are remembered per thread

// Calls `visit(probability)` for every joint outcome of some actions that is likelier than `least`,
// with the next classes in `row`: depth first over the agents, without recursion.
template <class Visit>
void for_each_outcome(const CompiledModel& model, std::span<const Index> actions, double least,
                      std::vector<ClassId>& row, std::vector<Index>& outcome,
                      std::vector<double>& partial, Visit visit) {
    const std::size_t n = actions.size();
    const auto begin_of = [&](std::size_t i, std::size_t plus) {
        const CompiledAgent& agent = model.agents[i];
        return agent.outcome_begin[at(agent.action_after[actions[i]]) + plus];
    };
    std::size_t i = 0;
    partial[0] = 1;
    if (n > 0) outcome[0] = begin_of(0, 0);
    for (;;) {
        if (i == n) {
            visit(partial[n]);
        } else if (outcome[i] < begin_of(i, 1)) {
            const CompiledAgent& agent = model.agents[i];
            partial[i + 1] = partial[i] * agent.outcome_probability[outcome[i]];
            if (partial[i + 1] <= least) {
                ++outcome[i];
                continue;
            }
            row[i] = agent.outcome_next[outcome[i]];
            ++i;
            if (i < n) outcome[i] = begin_of(i, 0);
            continue;
        }
        if (i == 0) return;
        ++outcome[--i];
    }
}

double outcome_count(const CompiledModel& model, std::span<const Index> actions) {
    double count = 1;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const CompiledAgent& agent = model.agents[i];
        const std::size_t after = at(agent.action_after[actions[i]]);
        count *= agent.outcome_begin[after + 1] - agent.outcome_begin[after];
    }
    return count;
}

}  // namespace

// Decides one state at a time. One per thread.
class Rollout::Decider {
public:
    explicit Decider(const Rollout& rollout)
        : outlooks_(rollout.outlooks_),
          model_(rollout.model_),
          bases_(rollout.bases_),
          earlier_(rollout.earlier_),
          divisions_(rollout.divisions_),
          most_(std::max<std::size_t>(rollout.options_.candidates, 1)),
          lookup_(rollout.outlooks_),
          sums_(model_.aggregates.size(), SumLookup(rollout.outlooks_)),
          tolerance_(kTolerance * reward_scale(model_)),
          agents_(model_.agents.size()),
          known_(kKnown),
          known_rows_(kKnown * agents_) {
        find_parties();
        find_passive();
        if (!earlier_.empty() && rollout.options_.optimism > 0) {
            hope_ = earlier_[0]->relative_gain();
            for (double& each : hope_) each *= rollout.options_.optimism;
        }
        hope_.resize(model_.layer_count() + 1, 0.0);
    }

    void decide(RolloutLayer& layer, Index number, std::size_t state, double& runner_up) {
        layer_ = number;
        const auto classes = layer.states[state];
        const auto chosen = std::span(layer.actions).subspan(state * agents_, agents_);
        choosers_.clear();
        for (std::size_t i = 0; i < agents_; ++i) {
            const auto& begin = model_.agents[i].action_begin;
            if (begin[at(classes[i]) + 1] - begin[at(classes[i])] > 1) choosers_.push_back(i);
        }
        candidates_.clear();
        closely_ = divisions_.empty() || layer.reach[state] >= kLikely;
        double best_value = -kInfinity;
        for (Index b = 0; b < (closely_ ? bases_.size() : 1); ++b) {
            const Base& base = *bases_[b];
            const char mark = base.mark(number, classes);
            if (mark == AgentOutlook::kUnknown) continue;
            base_ = b;
            work += cost::kDecide * (agents_ + outlooks_.bonds().size());
            start(base, classes);
            if (b == 0) layer.default_value[state] = q_;
            best_value = std::max(best_value, q_);
            note(q_);
            if (!closely_ || choosers_.empty() || mark != AgentOutlook::kDeviated) continue;
            climb(base, classes);
            while (climb_together(base, classes)) climb(base, classes);
        }
        best_value = std::max(best_value, consider_divisions(classes));
        consider_earlier(classes);
        std::size_t best = 0;
        if (candidates_.size() > 1) {
            if (closely_) {
                for (Candidate& each : candidates_) look_closer(each);
            }
            for (std::size_t k = 1; k < candidates_.size(); ++k) {
                if (candidates_[k].q > candidates_[best].q) best = k;
            }
        }
        const Candidate& winner = candidates_[best];
        runner_up = layer.default_value[state];
        for (const Candidate& each : candidates_) {
            if (each.base != winner.base) runner_up = std::max(runner_up, each.q);
        }
        std::ranges::copy(winner.actions, chosen.begin());
        layer.base_value[state] = best_value;
        layer.best_q[state] = winner.q;
        layer.base[state] = winner.base;
        layer.default_q[state] = lookup_.value(*bases_[0], chosen);
        if (sums_.empty()) return;
        std::uint64_t numbers = lookup_.take_work();
        for (SumLookup& each : sums_) numbers += each.take_work();
        work += cost::kAmount * numbers;
    }

    // Of all states so far. What is remembered of others counts as if it were looked up again.
    std::uint64_t work = 0;

private:
    struct Candidate {
        double q;
        Index base;
        std::vector<Index> actions;
    };
    // The best that is known of a state, and the default's value there.
    struct Known {
        Index layer = ~Index{0};
        double best = 0;
        double usual = 0;
    };

    // Everyone does what the base says.
    void start(const Base& base, std::span<const ClassId> classes) {
        actions_.resize(agents_);
        lists_.resize(agents_);
        q_ = 0;
        for (std::size_t i = 0; i < agents_; ++i) {
            const AgentOutlook& outlook = *base.agents[i];
            actions_[i] =
                model_.agents[i].action_begin[at(classes[i])] + outlook.action[at(classes[i])];
            lists_[i] = outlook.list(classes[i]);
            q_ += outlook.value(classes[i]);
        }
        for (Index b = 0; b < outlooks_.bonds().size(); ++b) q_ += lookup_.expected(b, lists_);
        for (Index e = 0; e < sums_.size(); ++e) q_ += lookup_.expected_sum(e, lists_);
    }

    // Remembers the actions as they are if they are among the best few.
    void note(double q) {
        for (Candidate& each : candidates_) {
            if (each.actions != actions_) continue;
            if (q > each.q) {
                each.q = q;
                each.base = base_;
            }
            return;
        }
        if (candidates_.size() < most_) {
            candidates_.push_back({q, base_, actions_});
            return;
        }
        const auto worst = std::ranges::min_element(candidates_, {}, &Candidate::q);
        if (q > worst->q) {
            worst->q = q;
            worst->base = base_;
            worst->actions = actions_;
        }
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
            add_up_others(i);
            const double current = part(i, now, agent, outlook);
            double best = current;
            Index best_action = now;
            const std::size_t c = at(classes[i]);
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                if (a == now) continue;
                const double value = part(i, a, agent, outlook);
                actions_[i] = a;
                note(q_ + value - current);
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

    // Agents that can gain together, as far as they can choose; and all of their bonds and
    // aggregates.
    struct Party {
        std::vector<std::size_t> agents;
        std::vector<Index> bonds;
        std::vector<Index> sums;
    };

    void find_parties() {
        for (const Bond& bond : outlooks_.bonds()) {
            if (!bond.gains) continue;
            Party party;
            for (const Index i : bond.agents) {
                if (model_.agents[i].has_choice()) party.agents.push_back(i);
            }
            const bool known =
                std::ranges::find(parties_, party.agents, &Party::agents) != parties_.end();
            if (party.agents.size() < 2 || known) continue;
            for (const std::size_t i : party.agents) {
                const auto& mine = outlooks_.bonds_of(i);
                party.bonds.insert(party.bonds.end(), mine.begin(), mine.end());
                for (const auto& [e, member] : outlooks_.sums_of(i)) party.sums.push_back(e);
            }
            for (std::vector<Index>* each : {&party.bonds, &party.sums}) {
                std::ranges::sort(*each);
                each->erase(std::ranges::unique(*each).begin(), each->end());
            }
            parties_.push_back(std::move(party));
        }
    }

    // Agents that can gain together change their actions together, if that is better. None of them
    // may gain by that alone.
    bool climb_together(const Base& base, std::span<const ClassId> classes) {
        bool changed = false;
        for (const Party& party : parties_) {
            double combinations = 1;
            for (const std::size_t i : party.agents) combinations *= action_count(i, classes);
            if (combinations > 1 && combinations <= kManyTogether) {
                changed = change_together(party, base, classes) || changed;
            }
        }
        return changed;
    }

    [[nodiscard]] Index action_count(std::size_t i, std::span<const ClassId> classes) const {
        const auto& begin = model_.agents[i].action_begin;
        return begin[at(classes[i]) + 1] - begin[at(classes[i])];
    }

    bool change_together(const Party& party, const Base& base, std::span<const ClassId> classes) {
        const std::size_t size = party.agents.size();
        const auto value = [&] {
            double total = 0;
            for (const std::size_t i : party.agents) {
                const AfterId after = model_.agents[i].action_after[actions_[i]];
                lists_[i] = base.agents[i]->list(after);
                total += model_.agents[i].action_reward[actions_[i]] + base.agents[i]->value(after);
            }
            for (const Index b : party.bonds) total += lookup_.expected(b, lists_);
            for (const Index e : party.sums) total += lookup_.expected_sum(e, lists_);
            work += cost::kDecide * (size + party.bonds.size());
            return total;
        };
        const auto first_action = [&](std::size_t i) {
            return model_.agents[i].action_begin[at(classes[i])];
        };
        const double current = value();
        together_.clear();
        for (const std::size_t i : party.agents) together_.push_back(actions_[i]);
        double best = current;
        for (const std::size_t i : party.agents) actions_[i] = first_action(i);
        for (bool more = true; more;) {
            const double found = value();
            if (found > best + tolerance_) {
                best = found;
                for (std::size_t m = 0; m < size; ++m) together_[m] = actions_[party.agents[m]];
            }
            more = false;
            for (std::size_t m = size; !more && m-- > 0;) {
                const std::size_t i = party.agents[m];
                more = ++actions_[i] < first_action(i) + action_count(i, classes);
                if (!more) actions_[i] = first_action(i);
            }
        }
        for (std::size_t m = 0; m < size; ++m) {
            const std::size_t i = party.agents[m];
            actions_[i] = together_[m];
            lists_[i] = base.agents[i]->list(model_.agents[i].action_after[actions_[i]]);
        }
        if (best == current) return false;
        q_ += best - current;
        note(q_);
        return true;
    }

    // What the others add to aggregates.
    void add_up_others(std::size_t i) {
        for (const auto& [e, mine] : outlooks_.sums_of(i)) {
            const auto& members = model_.aggregates[e].members;
            sums_[e].begin(e);
            for (std::size_t m = 0; m < members.size(); ++m) {
                if (m != mine) sums_[e].add(m, lists_[at(members[m].agent)]);
            }
        }
    }

    // What depends on one agent's action, with what the others add to aggregates known.
    double part(std::size_t i, Index a, const CompiledAgent& agent, const AgentOutlook& outlook) {
        const AfterId after = agent.action_after[a];
        work += cost::kDecide * (1 + outlooks_.bonds_of(i).size());
        lists_[i] = outlook.list(after);
        double total = agent.action_reward[a] + outlook.value(after);
        if (lists_[i] == 0) return total;
        for (const Index b : outlooks_.bonds_of(i)) total += lookup_.expected(b, lists_);
        for (const auto& [e, mine] : outlooks_.sums_of(i)) {
            total += sums_[e].gain(mine, lists_[i]);
        }
        return total;
    }

    // What an earlier rollout does here is a candidate, whatever it looks like to the bases.
    void consider_earlier(std::span<const ClassId> classes) {
        for (const auto& earlier : earlier_) {
            if (layer_ >= earlier->decided_) continue;
            const RolloutLayer& before = earlier->layers_[layer_];
            const Index known = before.states.find(classes);
            if (known == StateSet::kNone) continue;
            if (!before.gives_up.empty() && before.gives_up[known] != 0) continue;
            const auto did = std::span(before.actions).subspan(known * agents_, agents_);
            actions_.assign(did.begin(), did.end());
            base_ = 0;
            ++most_;
            note(before.value[known]);
            --most_;
        }
    }

    // Agents without a choice, and the bonds of nobody else.
    void find_passive() {
        if (divisions_.empty()) return;
        const auto chooses = [&](std::size_t i) { return model_.agents[i].has_choice(); };
        for (std::size_t i = 0; i < agents_; ++i) {
            if (!chooses(i)) passive_.push_back(i);
        }
        for (Index b = 0; b < outlooks_.bonds().size(); ++b) {
            if (std::ranges::none_of(outlooks_.bonds()[b].agents, chooses)) {
                passive_bonds_.push_back(b);
            }
        }
    }

    // What agents without a choice earn among themselves, whatever the others do.
    double passive_value(std::span<const ClassId> classes) {
        lists_.resize(agents_);
        double total = 0;
        for (const std::size_t i : passive_) {
            lists_[i] = bases_[0]->agents[i]->list(classes[i]);
            total += bases_[0]->agents[i]->value(classes[i]);
        }
        for (const Index b : passive_bonds_) total += lookup_.expected(b, lists_);
        work += cost::kDecide * (passive_.size() + passive_bonds_.size());
        return total;
    }

    // What the best division does is a candidate; returns what it is worth.
    double consider_divisions(std::span<const ClassId> classes) {
        double best = -kInfinity;
        if (divisions_.empty()) return best;
        const double passive = passive_value(classes);
        for (std::size_t d = 0; d < divisions_.size(); ++d) {
            const double value = passive + divisions_[d].value(layer_, classes);
            if (value <= best) continue;
            best = value;
            base_ = static_cast<Index>(bases_.size() + d);
        }
        actions_.resize(agents_);
        for (const std::size_t i : passive_) {
            actions_[i] = model_.agents[i].action_begin[at(classes[i])];
        }
        divisions_[base_ - bases_.size()].act(layer_, classes, actions_);
        work += cost::kDecide * (divisions_.size() + 1) * agents_;
        ++most_;
        note(best);
        --most_;
        return best;
    }

    // The chances of outcomes, each with the best that is known then.
    void look_closer(Candidate& candidate) {
        if (layer_ + 1 == model_.layer_count()) return;
        const double many = divisions_.empty() ? kManyLooks : kManyOutcomes;
        if (outcome_count(model_, candidate.actions) > many) {
            candidate.q += hope_[layer_] * std::abs(candidate.q);
            return;
        }
        outcome_.resize(agents_);
        row_.resize(agents_);
        partial_.resize(agents_ + 1);
        double total = lookup_.value(*bases_[0], std::span<const Index>(candidate.actions));
        for_each_outcome(model_, candidate.actions, 0, row_, outcome_, partial_,
                         [&](double probability) {
                             work += cost::kPeek;
                             const Known known = best_known();
                             total += probability * (known.best - known.usual);
                         });
        candidate.q = std::max(candidate.q, total);
    }

    Known best_known() {
        const std::size_t slot = StateSet::hash(row_) & (kKnown - 1);
        Known& known = known_[slot];
        const auto stored = std::span(known_rows_).subspan(slot * agents_, agents_);
        if (known.layer == layer_ + 1 && std::ranges::equal(stored, row_)) return known;
        known.layer = layer_ + 1;
        std::ranges::copy(row_, stored.begin());
        const std::span<const ClassId> classes(row_);
        known.usual = lookup_.value(*bases_[0], classes);
        known.best = known.usual;
        for (std::size_t b = 1; b < bases_.size(); ++b) {
            if (bases_[b]->mark(known.layer, classes) != AgentOutlook::kUnknown) {
                known.best = std::max(known.best, lookup_.value(*bases_[b], classes));
            }
        }
        if (!divisions_.empty()) {
            const double passive = passive_value(classes);
            for (const Division& each : divisions_) {
                known.best = std::max(known.best, passive + each.value(known.layer, classes));
            }
        }
        bool is_known = false;
        for (const auto& earlier : earlier_) {
            if (known.layer >= earlier->decided_) continue;
            const RolloutLayer& before = earlier->layers_[known.layer];
            const Index number = before.states.find(classes);
            if (number == StateSet::kNone) continue;
            is_known = true;
            known.best = std::max(known.best, before.value[number]);
        }
        if (!is_known) known.best += hope_[known.layer] * std::abs(known.best);
        return known;
    }

    const Outlooks& outlooks_;
    const CompiledModel& model_;
    const std::vector<std::shared_ptr<const Base>>& bases_;
    const std::vector<std::shared_ptr<const Rollout>>& earlier_;
    std::span<const Division> divisions_;
    std::vector<std::size_t> passive_;  // agents without a choice, if there are divisions
    std::vector<Index> passive_bonds_;
    bool closely_ = true;       // whether the state is worth a closer look
    std::vector<double> hope_;  // per layer: of states that are not known
    std::size_t most_;
    Lookup lookup_;
    std::vector<SumLookup> sums_;  // per aggregate
    double tolerance_;
    std::size_t agents_;
    Index layer_ = 0;
    Index base_ = 0;
    std::vector<std::size_t> choosers_;
    std::vector<Candidate> candidates_;
    std::vector<Index> actions_;
    std::vector<Index> lists_;
    std::vector<Party> parties_;
    std::vector<Index> together_;
    double q_ = 0;
    std::vector<Index> outcome_;
    std::vector<ClassId> row_;
    std::vector<double> partial_;
    std::vector<Known> known_;
    std::vector<ClassId> known_rows_;
};

Rollout::Rollout(const Outlooks& outlooks, std::vector<std::shared_ptr<const Base>> bases,
                 const RolloutOptions& options, Monitor& monitor,
                 std::vector<std::shared_ptr<const Rollout>> earlier,
                 std::span<const Division> divisions)
    : model_(outlooks.model()),
      outlooks_(outlooks),
      bases_(std::move(bases)),
      options_(options),
      monitor_(monitor),
      earlier_(std::move(earlier)),
      divisions_(divisions),
      agents_(model_.agents.size()),
      memory_(monitor),
      worth_(bases_.size() + divisions.size(), 0.0) {
    RolloutLayer& root = layers_.emplace_back();
    root.states = StateSet(agents_);
    root.states.insert(std::vector<ClassId>(agents_, ClassId{0}));
    root.reach.assign(1, 1.0);
    const unsigned threads = std::max(options.threads, 1U);
    for (unsigned t = 0; t < threads; ++t) {
        const double bytes = Lookup::bytes(outlooks) +
                             static_cast<double>(kKnown * (sizeof(ClassId) * agents_ + 24));
        if (t > 0 && !monitor.fits(bytes)) break;
        memory_.take(bytes, "remembered sums of a rollout");
        decider_bytes_ += bytes;
        // Counted once, whatever the number of threads.
        if (t == 0) monitor.tick(cost::kPage * static_cast<std::uint64_t>(bytes / 4096));
        deciders_.push_back(std::make_unique<Decider>(*this));
    }
}

Rollout::~Rollout() = default;

bool Rollout::run(std::uint64_t budget) {
    const std::uint64_t end = monitor_.work_after(budget);
    const std::size_t layers = model_.layer_count();
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
            const std::size_t round = state_ / kRound * kRound + kRound;
            const std::size_t stop = std::min(size, round);
            decide(state_, stop);
            state_ = stop;
            if (state_ == round && state_ < size && monitor_.work() >= end) return false;
        }
        account();
        states_ += size;
        ++decided_;
        state_ = 0;
        if (layer_ + 1 == layers || !expand()) {
            evaluate();
            done_ = true;
            // What only serves to decide or to evaluate is given back.
            deciders_.clear();
            earlier_.clear();
            memory_.give_back(decider_bytes_);
            forget_links();
            break;
        }
        ++layer_;
        if (monitor_.work() >= end) return false;
    }
    return true;
}

void Rollout::forget_links() {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        RolloutLayer& layer = layers_[l];
        // They are counted with the states that they lead to.
        const bool counts = l + 1 < layers_.size();
        if (counts) memory_.give_back(static_cast<double>(layer.next.size()) * kLinkBytes);
        layer.next_begin = {};
        layer.next = {};
        layer.probability = {};
    }
}

// States are apart from each other, so neither threads nor partners change what comes out.
void Rollout::decide(std::size_t begin, std::size_t end) {
    RolloutLayer& layer = layers_[layer_];
    const auto for_each_state = [&](std::size_t piece, const auto& visit) {
        const std::size_t from = begin + piece * kPiece;
        for (std::size_t s = from; s < std::min(end, from + kPiece); ++s) visit(s);
    };
    const auto for_each_number = [&](std::size_t s, const auto& visit) {
        visit(layer.default_value[s]);
        visit(layer.default_q[s]);
        visit(layer.base_value[s]);
        visit(layer.best_q[s]);
        visit(runner_up_[s]);
        visit(layer.base[s]);
        for (std::size_t i = 0; i < agents_; ++i) visit(layer.actions[s * agents_ + i]);
    };
    SharedPieces pieces;
    pieces.count = (end - begin + kPiece - 1) / kPiece;
    pieces.work = [&](std::size_t) { return work_of_piece_; };
    pieces.run = [&](std::size_t piece, unsigned worker, Monitor& own) {
        Decider& decider = *deciders_[worker];
        for_each_state(piece, [&](std::size_t s) {
            decider.decide(layer, static_cast<Index>(layer_), s, runner_up_[s]);
        });
        own.tick(std::exchange(decider.work, 0));
    };
    pieces.put = [&](std::size_t piece, Parcel& parcel) {
        for_each_state(piece, [&](std::size_t s) {
            for_each_number(s, [&](const auto& number) { parcel.put(number); });
        });
    };
    pieces.take = [&](std::size_t piece, Parcel& parcel) {
        for_each_state(piece, [&](std::size_t s) {
            for_each_number(s, [&]<typename T>(T& number) { number = parcel.template take<T>(); });
        });
    };
    const std::uint64_t before = monitor_.work();
    const WorkList list(static_cast<unsigned>(deciders_.size()));
    if (!run_shared(list, pieces, monitor_)) monitor_.look_or_throw();
    const auto spent = static_cast<double>(monitor_.work() - before);
    work_of_piece_ = spent / static_cast<double>(pieces.count);
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
    layer.next_begin.assign(1, 0);
    layer.next.clear();  // a limit may have struck the last time
    layer.probability.clear();
    const double row_bytes = static_cast<double>(agents_ * 8 + 96);
    Reservation memory(monitor_);  // for what is found, while it is looked for
    for (std::size_t s = 0; s < layer.size(); ++s) {
        const auto actions = std::span(layer.actions).subspan(s * agents_, agents_);
        const double least = outcome_count(model_, actions) > kManyOutcomes ? kUnlikely : 0;
        if (least > 0) exact_ = false;
        for_each_outcome(model_, actions, least, row, outcome, partial, [&](double probability) {
            const auto [number, is_new] = found.insert(row);
            if (is_new) next.reach.push_back(0.0);
            next.reach[number] += layer.reach[s] * probability;
            layer.next.push_back(number);
            layer.probability.push_back(probability);
        });
        if (options_.cut && next.size() > options_.most_states) {
            // This layer is the first one that follows the default.
            --decided_;
            return false;
        }
        // Room to grow, too.
        const double needed = 1.5 * (static_cast<double>(next.size()) * row_bytes +
                                     static_cast<double>(layer.next.size()) * kLinkBytes);
        if (needed > memory.bytes() && !memory.try_take(needed + kStepBytes - memory.bytes())) {
            if (!options_.cut) {
                throw LimitReached(Stop::memory_limit, "no room for the states of a rollout");
            }
            --decided_;
            return false;
        }
        layer.next_begin.push_back(static_cast<Index>(layer.next.size()));
        monitor_.tick_or_throw(cost::kExpandAgent * agents_ +
                               cost::kExpandOutcome *
                                   (layer.next_begin[s + 1] - layer.next_begin[s]));
    }
    next.states = std::move(found);
    const std::size_t before = next.size();
    memory.set(0, "");
    const double link_bytes = static_cast<double>(layer.next.size()) * kLinkBytes;
    if (!monitor_.fits(static_cast<double>(before) * row_bytes + link_bytes)) {
        options_.most_states = std::min(options_.most_states, std::max<std::size_t>(before / 4, 1));
    }
    if (before > options_.most_states) {
        if (options_.cut) {
            --decided_;
            return false;
        }
        exact_ = false;
        keep_likeliest(next);
    }
    const double bytes = static_cast<double>(next.size()) * row_bytes +
                         static_cast<double>(layer.next.size()) * kLinkBytes;
    memory_.take(bytes, "the states of a rollout");
    layers_.push_back(std::move(next));
    return true;
}

// The likeliest states stay, in the order in which they were found.
void Rollout::keep_likeliest(RolloutLayer& next) {
    const std::size_t most = options_.most_states;
    std::vector<Index> order(next.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::nth_element(
        order, order.begin() + static_cast<std::ptrdiff_t>(most), [&](Index a, Index b) {
            return next.reach[a] != next.reach[b] ? next.reach[a] > next.reach[b] : a < b;
        });
    order.resize(most);
    std::ranges::sort(order);
    constexpr Index kGone = ~Index{0};
    std::vector<Index> moved(next.size(), kGone);
    StateSet kept_states(agents_);
    for (std::size_t k = 0; k < most; ++k) {
        moved[order[k]] = static_cast<Index>(k);
        next.reach[k] = next.reach[order[k]];
        kept_states.insert(next.states[order[k]]);
    }
    next.reach.resize(most);
    next.states = std::move(kept_states);
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

// What the actions of a state bring at once.
double Rollout::reward_of(const RolloutLayer& layer, Index number, std::size_t state,
                          std::vector<AfterId>& afters) const {
    double total = 0;
    afters.clear();
    for (std::size_t i = 0; i < agents_; ++i) {
        const Index action = layer.actions[state * agents_ + i];
        total += model_.agents[i].action_reward[action];
        afters.push_back(model_.agents[i].action_after[action]);
    }
    for (std::size_t k = 0; k < model_.interactions_at[number].size(); ++k) {
        total += model_.interaction_value(number, k, afters);
    }
    for (const Index e : model_.aggregates_at[number]) {
        total += model_.aggregate_value(model_.aggregates[e], number, afters);
    }
    return total;
}

void Rollout::evaluate() {
    constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
    std::vector<AfterId> afters;
    std::vector<double> lost;  // per state: what rounding can have added to its value
    std::vector<double> lost_next;
    for (std::size_t l = decided_; l-- > 0;) {
        RolloutLayer& layer = layers_[l];
        const bool last = l + 1 == decided_;
        if (!exact_) layer.gives_up.assign(layer.size(), 0);
        lost.assign(exact_ ? 0 : layer.size(), 0.0);
        for (std::size_t s = 0; s < layer.size(); ++s) {
            double value = layer.default_q[s];
            if (!last && exact_) {
                // All outcomes are there. The default may be far worse, and all digits would be
                // lost in the difference to it.
                const RolloutLayer& next = layers_[l + 1];
                value = reward_of(layer, static_cast<Index>(l), s, afters);
                for (Index k = layer.next_begin[s]; k < layer.next_begin[s + 1]; ++k) {
                    value += layer.probability[k] * next.value[layer.next[k]];
                }
            } else if (!last) {
                const RolloutLayer& next = layers_[l + 1];
                double size = std::abs(value);
                for (Index k = layer.next_begin[s]; k < layer.next_begin[s + 1]; ++k) {
                    const Index to = layer.next[k];
                    value += layer.probability[k] * (next.value[to] - next.default_value[to]);
                    size += layer.probability[k] *
                            (std::abs(next.value[to]) + std::abs(next.default_value[to]));
                    lost[s] += layer.probability[k] * lost_next[to];
                }
                lost[s] += kRounding * size;
            }
            layer.value[s] = value;
            if (!exact_ && value < layer.default_value[s]) {
                layer.value[s] = layer.default_value[s];
                layer.gives_up[s] = 1;
                lost[s] = 0;
            }
        }
        std::swap(lost, lost_next);
        monitor_.tick_or_throw(cost::kLink * (layer.next.size() + layer.size()));
    }
    value_ = decided_ == 0 ? layers_[0].default_value[0] : layers_[0].value[0];
    if (!lost_next.empty()) value_ -= lost_next[0];
}

std::vector<double> Rollout::relative_gain() const {
    std::vector<double> result(layers_.size(), 0.0);
    for (std::size_t l = 0; l < decided_; ++l) {
        const RolloutLayer& layer = layers_[l];
        double gain = 0;
        double size = 0;
        for (std::size_t s = 0; s < layer.size(); ++s) {
            gain += layer.reach[s] * (layer.value[s] - layer.base_value[s]);
            size += layer.reach[s] * std::abs(layer.base_value[s]);
        }
        if (gain > 0 && size > 0) result[l] = gain / size;
    }
    return result;
}

JointTable Rollout::table() const {
    JointTable table;
    const auto& agents = model_.agents;
    std::vector<Index> order;
    for (std::size_t l = 0; l < decided_; ++l) {
        const RolloutLayer& layer = layers_[l];
        order.clear();
        for (Index s = 0; s < layer.size(); ++s) {
            if (!layer.gives_up.empty() && layer.gives_up[s] != 0) continue;
            bool same = true;
            for (std::size_t i = 0; same && i < agents_; ++i) {
                const std::size_t c = at(layer.states[s][i]);
                same = layer.actions[s * agents_ + i] ==
                       agents[i].action_begin[c] + bases_[0]->agents[i]->action[c];
            }
            if (!same) order.push_back(s);
        }
        const auto row = [&](Index s) { return layer.states[s]; };
        std::ranges::sort(order, [&](Index a, Index b) {
            return std::ranges::lexicographical_compare(row(a), row(b));
        });
        for (const Index s : order) {
            table.layer.push_back(static_cast<Index>(l));
            for (std::size_t i = 0; i < agents_; ++i) {
                const std::size_t c = at(layer.states[s][i]);
                table.classes.push_back(static_cast<Index>(c - agents[i].layer_begin[l]));
                table.actions.push_back(layer.actions[s * agents_ + i] - agents[i].action_begin[c]);
            }
        }
    }
    return table;
}

}  // namespace coreplan
