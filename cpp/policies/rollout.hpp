// Exact parallel rollout of a team over several bases.
//
// Forward from the root, over the joint states that are reached: in each, find the joint actions
// that are best if some base is followed afterwards, by Q_b(s,a); of the best few, take the one
// with the highest Q_default(s,a) + Σ_s' P(s'|s,a) (W(s') - V_default(s')), where W(s') is the best
// that is known to be within reach at s': V_b of some base, or the value of an earlier rollout.
// Then evaluate backward what that policy is really worth. Its value J satisfies J(s) >= Q_b(s,a)
// >= V_b(s) for every base b that is known at s.
//
// One base is the default: it is followed, for ever, where the policy says nothing. With
// gain(s) = J(s) - V_default(s) >= 0,
//   J(s) = Q_default(s,a) + Σ_s' P(s'|s,a) gain(s'),
// in which states that are not kept count nothing: they follow the default. A kept state can still
// be reached from one that is not; there, the policy gains what is not counted. So J is exact if
// all states are kept, and a lower bound otherwise. For that no gain may be negative: a state that
// relied too much on others which were not kept follows the default as well.
//
// Divisions are further bases, which see agents without a choice (policies/division.hpp). What they
// promise holds as long as nothing costs across their blocks; J is what it is in any case. They
// lead to many more joint states than profiles do. So only the likely ones are looked at closely,
// and in the others the best division is followed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policies/division.hpp"
#include "policies/outlook.hpp"
#include "policies/state_set.hpp"
#include "policies/team_policy.hpp"
#include "support/reservation.hpp"

namespace coreplan {

struct RolloutOptions {
    std::size_t most_states = 1000;  // per layer; the likeliest are kept
    // Instead of leaving states out, follow the default from the last layer on before the first one
    // that has too many. The value is then exact at any size.
    bool cut = false;
    std::size_t candidates = 4;  // joint actions of a state that are looked at more closely
    // States that no earlier rollout knows are expected to gain as much on the bases as those of
    // the first one did, times this. More than 0 leads to something new, but may disappoint.
    double optimism = 0;
    unsigned threads = 1;
};

// Joint states of one layer and what is known of them.
struct RolloutLayer {
    StateSet states;
    std::vector<double> reach;  // how likely the state is (through kept states)
    // If decided:
    std::vector<Index> actions;         // rows: numbers of actions within the agent
    std::vector<double> default_value;  // V_default
    std::vector<double> default_q;      // Q_default of the actions
    std::vector<double> base_value;     // the best V_b
    std::vector<double> best_q;         // what the actions were chosen for; J is at least that
    std::vector<Index> base;            // the base that they come from, or a division after them
    // Until the rollout is done:
    std::vector<Index> next_begin;
    std::vector<Index> next;  // states of the next layer that are kept
    std::vector<double> probability;
    std::vector<double> value;   // J
    std::vector<char> gives_up;  // whether the default is followed after all; may be empty

    [[nodiscard]] std::size_t size() const noexcept { return reach.size(); }
};

class Rollout {
public:
    // The first base is the default. `earlier` are finished rollouts, which this one is to
    // improve: it may do in each state what any of them does. `divisions` have to stay until it is
    // done.
    Rollout(const Outlooks& outlooks, std::vector<std::shared_ptr<const Base>> bases,
            const RolloutOptions& options, Monitor& monitor,
            std::vector<std::shared_ptr<const Rollout>> earlier = {},
            std::span<const Division> divisions = {});
    ~Rollout();
    Rollout(const Rollout&) = delete;
    Rollout& operator=(const Rollout&) = delete;

    // Goes on until all is done (true) or about so much work; throws if a limit strikes. Where it
    // pauses does not depend on the number of threads.
    bool run(std::uint64_t budget = Monitor::kNoEnd);

    // When done:
    [[nodiscard]] double value() const { return value_; }  // without constants
    [[nodiscard]] bool exact() const noexcept { return exact_; }
    [[nodiscard]] std::uint64_t states() const noexcept { return states_; }
    [[nodiscard]] const std::vector<RolloutLayer>& layers() const noexcept { return layers_; }
    // Layers from this one on follow the default (with `cut`).
    [[nodiscard]] std::size_t decided_layers() const noexcept { return decided_; }
    // Per layer: how much better than the best base its states are, relative to that.
    [[nodiscard]] std::vector<double> relative_gain() const;
    // Per base, then per division: what the policy would lose, at least by its own reckoning,
    // without it.
    [[nodiscard]] const std::vector<double>& worth() const noexcept { return worth_; }
    // The states in which the default is not followed, by layer and classes.
    [[nodiscard]] JointTable table() const;

private:
    class Decider;

    void decide(std::size_t begin, std::size_t end);
    bool expand();
    void keep_likeliest(RolloutLayer& next);
    void evaluate();
    [[nodiscard]] double reward_of(const RolloutLayer& layer, Index number, std::size_t state,
                                   std::vector<AfterId>& afters) const;
    void account();
    void forget_links();

    const CompiledModel& model_;
    const Outlooks& outlooks_;  // until this one is done
    std::vector<std::shared_ptr<const Base>> bases_;
    RolloutOptions options_;
    Monitor& monitor_;
    std::vector<std::shared_ptr<const Rollout>> earlier_;  // until this one is done
    std::span<const Division> divisions_;                  // likewise
    std::size_t agents_;
    std::vector<RolloutLayer> layers_;
    std::vector<std::unique_ptr<Decider>> deciders_;
    std::size_t layer_ = 0;     // the one in work
    std::size_t state_ = 0;     // of it: the next one to decide
    double work_of_piece_ = 0;  // a few states: as in the last round
    std::size_t decided_ = 0;
    bool done_ = false;
    bool exact_ = true;
    double value_ = 0;
    std::uint64_t states_ = 0;
    Reservation memory_;
    double decider_bytes_ = 0;  // of it
    std::vector<double> worth_;
    std::vector<double> runner_up_;  // per state of the layer in work: the best of another base
};

}  // namespace coreplan
