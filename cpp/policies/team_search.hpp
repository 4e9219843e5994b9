// Looks for a good policy of a team that is small enough to act on joint states: profiles by local
// search, a rollout over the best of them, then new bases made where the rollout can use them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policies/profile.hpp"
#include "policies/rollout.hpp"

namespace coreplan {

struct TeamSearchOptions {
    std::uint64_t seed = 1;
    std::size_t bases = 8;             // profiles from the root in use at a time
    std::size_t generated = 60;        // bases made for later states
    std::size_t first_states = 64;     // per layer of the first rollout; grows from there
    std::size_t most_states = 20'000;  // per layer
    bool cut = false;                  // see RolloutOptions
    bool divide = false;               // also use divisions, and keep more states then
    unsigned threads = 1;
};

class TeamSearch {
public:
    // Starts from the given policy, or from everyone doing what is best alone.
    TeamSearch(const CompiledModel& model, const TeamSearchOptions& options, Monitor& monitor,
               const LocalPolicy* start = nullptr);

    // Does about that much work, or until `rounds` rollouts are done in all; true if the value has
    // become better. A limit ends it early.
    bool improve(std::uint64_t budget, std::uint64_t rounds = kNoEnd);
    static constexpr std::uint64_t kNoEnd = Monitor::kNoEnd;
    // Whether that many rounds are done, or there is nothing to do.
    [[nodiscard]] bool done(std::uint64_t rounds) const noexcept {
        return trivial_ || rounds_ >= rounds;
    }
    // Descends from this policy too.
    bool add(const LocalPolicy& policy);

    // Constants are not counted. What is reported is the policy's value if `exact`, else a bound.
    [[nodiscard]] double value() const noexcept { return value_; }
    [[nodiscard]] bool exact() const noexcept { return exact_; }
    [[nodiscard]] const LocalPolicy& otherwise() const noexcept { return otherwise_; }
    [[nodiscard]] const JointTable& table() const noexcept { return table_; }
    // The finished rollout that gave the best value; null if that is a profile.
    [[nodiscard]] const Rollout* rollout() const noexcept { return best_rollout_.get(); }
    [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_; }
    // Whether it goes by divisions.
    [[nodiscard]] bool divides() const noexcept { return !divisions_.empty(); }
    // Profiles that were found, best first; never empty.
    [[nodiscard]] const std::vector<Profile>& profiles() const noexcept { return profiles_.best(); }

private:
    enum class Step { search, roll, generate };
    struct Known {
        LocalPolicy policy;
        Standing from;
        double worth;
    };

    // Until the monitor has counted work up to `end`.
    void work(std::uint64_t end, std::uint64_t rounds);
    bool search(std::uint64_t end);
    bool generate(std::uint64_t end);
    void find_divisions();
    bool prepare();
    bool finish();
    bool take_profile();

    const CompiledModel& model_;
    TeamSearchOptions options_;
    Monitor& monitor_;
    Random random_;
    ProfileSearch profiles_;
    Descent descent_;
    Reservation memory_;  // of policies that bases are made of
    double policy_bytes_ = 0;
    LocalPolicy alone_;
    bool trivial_ = false;  // nobody interacts, or there is no room for rollouts

    Step step_ = Step::search;
    std::size_t left_ = 0;  // tries of the step in work
    std::uint64_t rounds_ = 0;
    std::size_t states_;
    bool divided_ = false;  // whether divisions have been looked for
    std::vector<Division> divisions_;
    std::unique_ptr<Outlooks> outlooks_;
    std::vector<Known> generated_;
    std::vector<Known> fresh_;
    std::vector<LocalPolicy> base_policies_;  // of the rollout in work
    std::vector<std::size_t> generated_of_base_;
    std::shared_ptr<Rollout> rollout_;
    std::shared_ptr<Rollout> best_rollout_;
    std::shared_ptr<Rollout> last_rollout_;

    double value_ = 0;
    bool exact_ = true;
    LocalPolicy otherwise_;
    JointTable table_;
    Reservation table_memory_;
};

}  // namespace coreplan
