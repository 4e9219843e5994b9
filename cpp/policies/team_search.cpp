#include "policies/team_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace coreplan {

namespace {

constexpr double kMostListBytes = 256e6;
constexpr std::size_t kStatesPerRound = 20;  // at which new bases are looked for
constexpr std::size_t kFreshPerRound = 8;    // that are tried
constexpr std::size_t kCandidates = 4;
constexpr std::size_t kPool = 4;           // profiles that are kept, per one that is in use
constexpr std::size_t kFirstTries = 12;    // of the local search, per agent
constexpr std::size_t kTriesPerRound = 4;  // later, per agent
constexpr std::size_t kGrowth = 8;         // of the states per layer, until all are kept
constexpr std::size_t kFewestStates = 64;  // per layer, with which it is worth a try
constexpr std::uint64_t kExploreEvery = 2;
// States per layer of the first rollout that goes by divisions, and of the largest one.
constexpr std::size_t kFirstDivided = 16'384;
constexpr std::size_t kMostDivided = 131'072;
constexpr double kCopies = 3;  // of a table: here, in the policy, and as the caller's arrays
constexpr Index kNoBase = ~Index{0};

}  // namespace

TeamSearch::TeamSearch(const CompiledModel& model, const TeamSearchOptions& options,
                       Monitor& monitor, const LocalPolicy* start)
    : model_(model),
      options_(options),
      monitor_(monitor),
      random_(options.seed ^ 0x5eedULL),
      profiles_(model, options.seed, kPool * options.bases, monitor, start),
      descent_(model, monitor),
      memory_(monitor),
      states_(options.first_states),
      table_memory_(monitor) {
    for (const CompiledAgent& agent : model.agents) {
        policy_bytes_ += static_cast<double>(agent.class_count() * sizeof(Index));
    }
    const bool sums = std::ranges::any_of(model.aggregates,
                                          [](const auto& each) { return !each.layers.empty(); });
    trivial_ = !sums && std::ranges::all_of(model.interactions,
                                            [](const auto& each) { return each.values.empty(); });
    take_profile();
    left_ = kFirstTries * model.agents.size();
}

bool TeamSearch::take_profile() {
    const Profile& best = profiles_.best().front();
    if (!otherwise_.action.empty() && best.value <= value_) return false;
    otherwise_ = LocalPolicy(best.policy);  // nothing changes if there is no room for it
    value_ = best.value;
    exact_ = true;
    table_ = {};
    best_rollout_.reset();
    return true;
}

bool TeamSearch::add(const LocalPolicy& policy) {
    profiles_.add(policy);
    return take_profile();
}

bool TeamSearch::improve(std::uint64_t budget, std::uint64_t rounds) {
    const double before = value_;
    try {
        work(monitor_.work_after(budget), rounds);
    } catch (const LimitReached& limit) {
        // What was found so far stands. If it was memory that was short, fewer states may do.
        if (limit.stop == Stop::memory_limit && monitor_.stop() == Stop::none) {
            rollout_.reset();
            fresh_.clear();
            step_ = Step::search;
            left_ = 1;
            if (states_ <= kFewestStates) trivial_ = true;
            states_ = std::max(kFewestStates, states_ / kGrowth);
        }
    }
    return value_ > before;
}

void TeamSearch::work(std::uint64_t end, std::uint64_t rounds) {
    while (!done(rounds)) {
        switch (step_) {
            case Step::search:
                if (!search(end)) return;
                if (!prepare()) {
                    trivial_ = true;
                    return;
                }
                step_ = Step::roll;
                break;
            case Step::roll:
                if (!rollout_->run(monitor_.work_until(end))) return;
                finish();
                step_ = Step::generate;
                left_ = kStatesPerRound;
                fresh_.clear();
                break;
            case Step::generate:
                if (!generate(end)) return;
                step_ = Step::search;
                left_ = kTriesPerRound * model_.agents.size();
                break;
        }
        if (monitor_.work() >= end) return;
    }
}

bool TeamSearch::search(std::uint64_t end) {
    for (; left_ > 0; --left_) {
        if (monitor_.work() >= end) return false;
        profiles_.attempt();
        take_profile();
    }
    return true;
}

// A rollout that goes by divisions gets to many states, most of which take little work.
void TeamSearch::find_divisions() {
    divided_ = true;
    divisions_ = divide(model_, {.threads = options_.threads}, monitor_);
    if (divisions_.empty()) return;
    states_ = std::max(states_, kFirstDivided);
    options_.most_states = std::max(options_.most_states, kMostDivided);
}

// The bases of the next rollout; false if not even one finds room.
bool TeamSearch::prepare() {
    rollout_.reset();
    if (outlooks_ == nullptr || outlooks_->bytes() > kMostListBytes / 2) {
        generated_.clear();
        outlooks_.reset();
        try {
            outlooks_ = std::make_unique<Outlooks>(model_, kMostListBytes, monitor_);
        } catch (const LimitReached& limit) {
            if (monitor_.stop() != Stop::none) throw;
            return false;
        }
        if (alone_.action.empty()) alone_ = independent_bounds(model_, monitor_).policy;
    }
    if (options_.divide && !divided_) find_divisions();
    std::vector<std::shared_ptr<const Base>> bases;
    base_policies_.clear();
    generated_of_base_.clear();
    memory_.set(policy_bytes_ * static_cast<double>(generated_.size() + fresh_.size()), "bases");
    const auto use = [&](const LocalPolicy& policy, const Standing* from, std::size_t generated) {
        auto base = from == nullptr ? outlooks_->add(policy) : outlooks_->add(policy, *from);
        if (base == nullptr || !memory_.try_take(policy_bytes_)) return;
        bases.push_back(std::move(base));
        base_policies_.push_back(policy);
        generated_of_base_.push_back(generated);
    };
    // The best profiles, and some of the others, each time different ones.
    std::vector<std::size_t> order(profiles_.best().size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t k = (options_.bases + 1) / 2; k < std::min(options_.bases, order.size());
         ++k) {
        std::swap(order[k], order[k + random_.below(order.size() - k)]);
    }
    order.resize(std::min(options_.bases, order.size()));
    for (const std::size_t k : order) use(profiles_.best()[k].policy, nullptr, kNoBase);
    if (bases.empty()) return false;
    use(alone_, nullptr, kNoBase);
    for (Known& known : fresh_) generated_.push_back(std::move(known));
    fresh_.clear();
    for (std::size_t g = 0; g < generated_.size(); ++g) {
        use(generated_[g].policy, &generated_[g].from, g);
    }
    // Every other round looks for something new, the others make the best of what is known.
    std::vector<std::shared_ptr<const Rollout>> earlier;
    if (best_rollout_ != nullptr) earlier.push_back(best_rollout_);
    const bool explores = best_rollout_ != nullptr && rounds_ % kExploreEvery == 0;
    if (!explores && last_rollout_ != nullptr && last_rollout_ != best_rollout_) {
        earlier.push_back(last_rollout_);
    }
    RolloutOptions options;
    options.most_states = states_;
    options.cut = options_.cut;
    options.candidates = kCandidates;
    options.threads = options_.threads;
    options.optimism = explores ? 0.5 + random_.unit() : 0;
    // Now and then from nothing, so as not to be caught in what was found first.
    if (explores && rounds_ % (2 * kExploreEvery) == 0) earlier.clear();
    last_rollout_.reset();
    try {
        rollout_ = std::make_shared<Rollout>(*outlooks_, std::move(bases), options, monitor_,
                                             std::move(earlier), divisions_);
    } catch (const LimitReached& limit) {
        if (monitor_.stop() != Stop::none) throw;
        return false;
    }
    return true;
}

bool TeamSearch::finish() {
    ++rounds_;
    // Bases that are of little use make room for others.
    for (std::size_t b = 0; b < generated_of_base_.size(); ++b) {
        if (generated_of_base_[b] != kNoBase) {
            generated_[generated_of_base_[b]].worth = rollout_->worth()[b];
        }
    }
    std::ranges::stable_sort(generated_, std::greater<>{}, &Known::worth);
    while (!generated_.empty() &&
           (generated_.size() > options_.generated || generated_.back().worth <= 0)) {
        generated_.pop_back();
    }
    const double gain = rollout_->value() - value_;
    const bool all = rollout_->exact() && rollout_->decided_layers() == model_.layer_count();
    if (!all) states_ = std::min(options_.most_states, kGrowth * states_);
    last_rollout_ = rollout_;
    if (gain <= 0) return false;
    LocalPolicy otherwise = base_policies_[0];
    JointTable table = rollout_->table();
    const double bytes = kCopies * table.bytes();
    if (bytes > table_memory_.bytes() && !table_memory_.try_take(bytes - table_memory_.bytes())) {
        return false;
    }
    otherwise_ = std::move(otherwise);
    table_ = std::move(table);
    value_ = rollout_->value();
    exact_ = rollout_->exact();
    best_rollout_ = rollout_;
    return true;
}

// Best responses from states that the rollout reaches.
bool TeamSearch::generate(std::uint64_t end) {
    const std::size_t n = model_.agents.size();
    for (; left_ > 0; --left_) {
        if (monitor_.work() >= end) return false;
        // A layer, and in it a state by how likely it is.
        const std::size_t l = random_.below(rollout_->decided_layers());
        const RolloutLayer& layer = rollout_->layers()[l];
        double mass = 0;
        for (const double reach : layer.reach) mass += reach;
        double draw = random_.unit() * mass;
        std::size_t s = 0;
        while (s + 1 < layer.size() && draw >= layer.reach[s]) draw -= layer.reach[s++];
        Standing standing{static_cast<Index>(l), {}};
        for (std::size_t i = 0; i < n; ++i) standing.classes.push_back(layer.states[s][i]);
        const std::size_t base = layer.base[s] < base_policies_.size() ? layer.base[s] : 0;
        descent_.begin(base_policies_[base], standing);
        descent_.descend();
        descent_.keep();
        for (std::size_t tries = 0; tries < 2; ++tries) {
            const double before = descent_.value();
            descent_.forget(as<AgentId>(random_.below(n)));
            descent_.forget(as<AgentId>(random_.below(n)));
            descent_.descend();
            if (descent_.value() > before) {
                descent_.keep();
            } else {
                descent_.take_back();
            }
        }
        const double gain = descent_.value() - layer.base_value[s];
        if (gain <= 1e-9 * std::abs(layer.base_value[s])) continue;
        if (!memory_.try_take(policy_bytes_)) break;
        fresh_.push_back({descent_.profile().policy, std::move(standing), gain * layer.reach[s]});
    }
    // Those that promise most.
    std::ranges::stable_sort(fresh_, std::greater<>{}, &Known::worth);
    if (fresh_.size() > kFreshPerRound) fresh_.resize(kFreshPerRound);
    return true;
}

}  // namespace coreplan
