#include "engine/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bounds/rounding.hpp"
#include "model/unit_mass.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kSweeps = 6;
constexpr std::size_t kMovesPerCut = 3;
constexpr double kWorthThreads = 5e5;  // work of a round

// The largest of an agent's rewards at a layer, by action; zero if none is above it.
double most_at(const CompiledAgent& agent, Index layer, const double* reward) {
    double most = 0;
    for (Index a = agent.action_begin[agent.layer_begin[layer]];
         a < agent.action_begin[agent.layer_begin[layer + 1]]; ++a) {
        most = std::max(most, reward[a]);
    }
    return most;
}

}  // namespace

Relaxation::Relaxation(const CompiledModel& model, const RelaxationOptions& options,
                       Monitor& monitor)
    : model_(model),
      options_(options),
      work_(options.threads),
      workers_(work_.threads()),
      model_memory_(monitor),
      tables_memory_(monitor),
      shares_memory_(monitor),
      cuts_memory_(monitor) {
    everyone_ = model.everyone();
    make_blocks(monitor);
    std::vector<std::vector<AgentId>> groups = first_groups(monitor);
    for (const CompiledAgent& agent : model.agents) {
        Index most = 1;
        for (std::size_t f = 0; f + 1 < agent.outcome_begin.size(); ++f) {
            most = std::max(most, agent.outcome_begin[f + 1] - agent.outcome_begin[f]);
        }
        outcomes_.push_back(most);
    }
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        for (const CompiledAgent& agent : model.agents) {
            own_gained_ += most_at(agent, layer, agent.action_reward.data());
        }
        for (const double value : model.values_at[layer]) own_gained_ += std::max(0.0, value);
        for (const Index e : model.aggregates_at[layer]) {
            own_gained_ += size_of(model.aggregates[e], layer);
        }
        interactions_ = std::max(interactions_, static_cast<double>(model.values_at[layer].size()));
    }
    // Clusters count the masses of their own agents' laws, the whole team those of all.
    mass_error_ = 2 * mass_error(model);
    set_clusters(std::move(groups));
    place_wide();
    share_equally();
    for (Cluster& cluster : clusters_) cluster.trial = cluster.centre;
    upper_ = kInfinity;
    if (!solve_all(monitor)) monitor.look_or_throw();
    accept();
    remember(monitor);
}

Team Relaxation::team_of(const Cluster& cluster) const {
    Team team;
    team.agents = cluster.agents;
    const auto share = [&](std::size_t x) {
        const Block& block = blocks_[cluster.blocks[x]];
        return block.shared() ? cluster.trial.data() + cluster.begin[x] : block.total.data();
    };
    for (std::size_t m = 0; m < cluster.agents.size(); ++m) {
        team.modes.push_back(&modes_[at(cluster.agents[m])]);
        team.rewards.push_back(share(m));
    }
    for (std::size_t x = cluster.agents.size(); x < cluster.rewards; ++x) {
        const PairBlock& block = pairs_[cluster.blocks[x] - model_.agents.size()];
        team.pairs.push_back({position_in(cluster.agents, block.first),
                              position_in(cluster.agents, block.second), &block, share(x)});
    }
    team.wide = cluster.wide;
    for (const Owned& owned : cluster.owned) {
        const double* values = owned.values.empty() ? nullptr : owned.values.data();
        team.sums.push_back({owned.aggregate, values, owned.values.empty() ? 0 : owned.width});
    }
    return team;
}

void Relaxation::solve_cluster(Cluster& cluster, Worker& worker, Monitor& monitor) const {
    value_owned(cluster, monitor);
    Team team = team_of(cluster);
    pay_members(cluster, team, worker);
    solve_team(model_, team, {.policy = false, .values = true}, worker.solution, worker.buffers,
               monitor);
    if (worker.solution.stop != Stop::none) return;
    if (!follow(model_, team, worker.solution, worker.occupancy, worker.forward, monitor)) return;
    cluster.found = worker.solution.value;
    Cut& cut = cluster.fresh;
    cut = Cut{};
    double shared = 0;
    const auto chances_of = [&](std::size_t x) -> const Chances& {
        return x < team.agents.size() ? worker.occupancy.actions[x]
                                      : worker.occupancy.pairs[x - team.agents.size()];
    };
    std::size_t entries = 0;
    for (std::size_t x = 0; x < cluster.blocks.size(); ++x) {
        if (!blocks_[cluster.blocks[x]].shared()) continue;
        entries +=
            x < cluster.rewards ? chances_of(x).at.size() : blocks_[cluster.blocks[x]].total.size();
    }
    cut.at.reserve(entries);
    cut.chance.reserve(entries);
    const auto add = [&](std::size_t place, double chance) {
        cut.at.push_back(static_cast<Index>(place));
        cut.chance.push_back(chance);
        shared += chance * cluster.trial[place];
    };
    for (std::size_t x = 0; x < cluster.rewards; ++x) {
        if (!blocks_[cluster.blocks[x]].shared()) continue;
        const Chances& chances = chances_of(x);
        for (std::size_t k = 0; k < chances.at.size(); ++k) {
            add(cluster.begin[x] + chances.at[k], chances.chance[k]);
        }
    }
    std::vector<double> units;
    for (std::size_t x = cluster.rewards; x < cluster.blocks.size(); ++x) {
        count_units(cluster, team, worker, units, x);
        for (std::size_t k = 0; k < units.size(); ++k) {
            if (units[k] != 0) add(cluster.begin[x] + k, units[k]);
        }
    }
    cut.constant = cluster.found - shared;
}

// What solving a cluster at the trial shares has given, for partners.
void Relaxation::put_found(const Cluster& cluster, Parcel& parcel) {
    parcel.put(cluster.found);
    parcel.put(cluster.fresh.constant);
    parcel.put_all(cluster.fresh.at);
    parcel.put_all(cluster.fresh.chance);
}

void Relaxation::take_found(Cluster& cluster, Parcel& parcel) {
    cluster.found = parcel.take<double>();
    cluster.fresh = Cut{};
    cluster.fresh.constant = parcel.take<double>();
    parcel.take_all(cluster.fresh.at);
    parcel.take_all(cluster.fresh.chance);
}

// Solves every cluster at the trial shares. False if a limit struck.
bool Relaxation::solve_all(Monitor& monitor) {
    double most = 0;
    for (const Cluster& cluster : clusters_) most = std::max(most, bytes_of(cluster.agents));
    if (most > tables_memory_.bytes()) tables_memory_.set(most, "the tables of a relaxation");
    // Large ones first, so that threads finish together.
    std::vector<std::size_t> order(clusters_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<double> cells;
    for (const Cluster& cluster : clusters_) cells.push_back(team_cells(model_, cluster.agents));
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return cells[a] > cells[b]; });
    // Threads take a while to start; what comes out does not depend on them.
    double work = 0;
    for (const Cluster& cluster : clusters_) work += kernel_work(model_, cluster.agents);
    const std::uint64_t before = monitor.work();
    const WorkList list(work < kWorthThreads ? 1 : work_.threads());
    const auto cluster_of = [&](std::size_t piece) -> Cluster& { return clusters_[order[piece]]; };
    SharedPieces pieces;
    pieces.count = order.size();
    pieces.work = [&](std::size_t piece) {
        return strain_ * kernel_work(model_, cluster_of(piece).agents);
    };
    pieces.run = [&](std::size_t piece, unsigned worker, Monitor& own) {
        solve_cluster(cluster_of(piece), workers_[worker], own);
    };
    pieces.put = [&](std::size_t piece, Parcel& parcel) { put_found(cluster_of(piece), parcel); };
    pieces.take = [&](std::size_t piece, Parcel& parcel) { take_found(cluster_of(piece), parcel); };
    const bool finished = run_shared(list, pieces, monitor);
    if (finished) {
        for (const double each : cells) cells_ += static_cast<std::uint64_t>(each);
        strain_ = std::max(1.0, static_cast<double>(monitor.work() - before) / std::max(work, 1.0));
    }
    return finished;
}

// The trial becomes the centre.
void Relaxation::accept() {
    centre_value_ = 0;
    for (Cluster& cluster : clusters_) {
        cluster.centre = cluster.trial;
        cluster.value = cluster.found;
        centre_value_ += cluster.value;
        for (Cut& cut : cluster.cuts) cut.centre = false;
        cluster.fresh.centre = true;
    }
    measure();
    upper_ = std::min(upper_, centre_value_ + error_);
}

// The most that a cluster's shares above zero can add up to, at the centre.
double Relaxation::gained(const Cluster& cluster) const {
    double total = most_priced(cluster);
    for (std::size_t x = 0; x < cluster.rewards; ++x) {
        const Block& block = blocks_[cluster.blocks[x]];
        const double* share =
            block.shared() ? cluster.centre.data() + cluster.begin[x] : block.total.data();
        if (x < cluster.agents.size()) {
            const CompiledAgent& agent = model_.agents[at(cluster.agents[x])];
            for (Index layer = 0; layer < model_.layer_count(); ++layer) {
                total += most_at(agent, layer, share);
            }
            continue;
        }
        const PairBlock& pair = pairs_[cluster.blocks[x] - model_.agents.size()];
        const CompiledAgent& first = model_.agents[at(pair.first)];
        for (Index layer = 0; layer < model_.layer_count(); ++layer) {
            double most = 0;
            for (Index k = pair.row_begin[first.after_layer_begin[layer]];
                 k < pair.row_begin[first.after_layer_begin[layer + 1]]; ++k) {
                most = std::max(most, share[k]);
            }
            total += most;
        }
    }
    for (const Index e : cluster.wide) {
        for (const auto& [stage, value] : model_.interactions[e].values) {
            total += std::max(0.0, value);
        }
    }
    return total;
}

// Roundings that one number of a cluster's table goes through at one stage.
double Relaxation::operations(const Cluster& cluster) const {
    double count = 4 + static_cast<double>(cluster.blocks.size());
    for (const AgentId agent : cluster.agents) count += 2 + outcomes_[at(agent)];
    for (const Index e : cluster.wide) {
        count += 1 + static_cast<double>(model_.interactions[e].members.size());
    }
    count += 4 * static_cast<double>(cluster.owned.size() + cluster.paid.size());
    return count;
}

// What rounding can do to the bound.
void Relaxation::measure() {
    const double layers = model_.layer_count();
    gained_ = own_gained_;
    // Interactions become rewards of pairs before they are shared.
    error_ = mass_error_ + rounding_error(4 + interactions_, 0, own_gained_, centre_value_);
    double values = 0;
    for (const Cluster& cluster : clusters_) {
        const double mine = gained(cluster);
        const double roundings = operations(cluster);
        operations_ = std::max(operations_, roundings);
        error_ += rounding_error(roundings, layers, mine, cluster.value);
        gained_ += mine;
        values += std::abs(cluster.value);
    }
    size_ = gained_ + values;
    error_ += rounding_error(static_cast<double>(clusters_.size()), 0, 0, values);
}

// Shares of the trial have to add up to what is shared. Spreads what is missing; what rounding
// leaves of it is added to one share, a little too much rather than too little: the bound stays
// valid and loses only where the share is used.
void Relaxation::balance() {
    std::vector<double*> shares;
    std::vector<double> missing;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
        const Block& block = blocks_[b];
        if (!block.shared()) continue;
        const double part = 1.0 / static_cast<double>(block.clusters.size());
        shares.clear();
        for (const std::size_t c : block.clusters) {
            Cluster& cluster = clusters_[c];
            shares.push_back(cluster.trial.data() + cluster.begin[block_in(cluster, b)]);
        }
        if (is_price(b)) {  // the same to the last bit
            limit_prices(b, shares[0]);
            for (double* mine : shares) std::copy_n(shares[0], block.total.size(), mine);
            continue;
        }
        missing = block.total;
        for (const double* mine : shares) {
            for (std::size_t k = 0; k < missing.size(); ++k) missing[k] -= mine[k];
        }
        for (double* mine : shares) {
            for (std::size_t k = 0; k < missing.size(); ++k) mine[k] += part * missing[k];
        }
        for (std::size_t k = 0; k < missing.size(); ++k) {
            const auto share = [&](std::size_t x) { return shares[x][k]; };
            round_up_last(block.total[k], shares.size() - 1, share, shares.back()[k]);
        }
    }
}

// The policies just found become cuts.
void Relaxation::remember(Monitor& monitor) {
    for (Cluster& cluster : clusters_) {
        cluster.fresh.used = rounds_;
        if (cluster.cuts.empty()) {
            cluster.fresh.weight = 1;
            for (std::size_t k = 0; k < cluster.fresh.at.size(); ++k) {
                const Index place = cluster.fresh.at[k];
                cluster.sum[place] += cluster.fresh.chance[k];
                total_sum_[cluster.flat[place]] += cluster.fresh.chance[k];
            }
        }
        cluster.fresh.product.reserve(options_.most_cuts + 1);
        const double bytes = cluster.fresh.bytes();
        const double most = kPartOfMemory * cuts_memory_.monitor().memory_limit();
        while (cluster.cuts.size() > 1 && all_bytes() + bytes > most && forget(cluster)) {
        }
        if (!cuts_memory_.try_take(bytes)) {
            // Without it the next rounds would be of no use.
            settled_ = true;
            cluster.fresh = Cut{};
            continue;
        }
        add_cut(cluster, monitor);
        if (cluster.cuts.size() > options_.most_cuts) forget(cluster);
    }
}

void Relaxation::add_cut(Cluster& cluster, Monitor& monitor) const {
    Cut& fresh = cluster.fresh;
    std::size_t entries = fresh.at.size();
    for (Cut& cut : cluster.cuts) {
        entries += cut.at.size() + fresh.at.size();
        const double with = product(cluster, cut, fresh);
        cut.product.push_back(with);
        fresh.product.push_back(with);
    }
    fresh.product.push_back(product(cluster, fresh, fresh));
    cluster.cuts.push_back(std::move(fresh));
    fresh = Cut{};
    monitor.tick(cost::kCutEntry * entries);
}

// Drops a cut that has no weight, the one that had none for longest; but never the centre's. False
// if there is none.
bool Relaxation::forget(Cluster& cluster) {
    std::size_t worst = cluster.cuts.size();
    for (std::size_t k = 0; k + 1 < cluster.cuts.size(); ++k) {
        const Cut& cut = cluster.cuts[k];
        if (cut.centre || cut.weight > 0) continue;
        if (worst == cluster.cuts.size() || cut.used < cluster.cuts[worst].used) worst = k;
    }
    if (worst == cluster.cuts.size()) return false;
    const auto place = static_cast<std::ptrdiff_t>(worst);
    cuts_memory_.give_back(cluster.cuts[worst].bytes());
    cluster.cuts.erase(cluster.cuts.begin() + place);
    for (Cut& cut : cluster.cuts) cut.product.erase(cut.product.begin() + place);
    return true;
}

// The products of a cut's chances with those of the cluster's cuts, as far as they count: an amount
// moved in one cluster moves the mean by its part.
double Relaxation::product(const Cluster& cluster, const Cut& one, const Cut& other) const {
    double sum = 0;
    std::size_t k = 0;
    for (std::size_t l = 0; l < other.at.size(); ++l) {
        while (k < one.at.size() && one.at[k] < other.at[l]) ++k;
        if (k == one.at.size()) break;
        if (one.at[k] != other.at[l]) continue;
        sum += one.chance[k] * other.chance[l] * own_[cluster.flat[one.at[k]]];
    }
    return sum;
}

// What a cut is worth if the other clusters' weights stay and this cluster had none.
double Relaxation::base_value(const Cluster& cluster, const Cut& cut) const {
    double sum = cut.constant;
    for (std::size_t k = 0; k < cut.at.size(); ++k) {
        const Index place = cut.at[k];
        const std::size_t flat = cluster.flat[place];
        const double others = total_sum_[flat] - cluster.sum[place];
        sum += cut.chance[k] * (cluster.centre[place] + step_ * others * cross_[flat]);
    }
    return sum;
}

// Numbers in all cuts of a cluster: what a look at them costs goes with these.
std::size_t Relaxation::cut_entries(const Cluster& cluster) {
    std::size_t entries = 0;
    for (const Cut& cut : cluster.cuts) entries += cut.at.size() + cut.product.size();
    return entries;
}

// Best weights of one cluster's cuts, those of the others being fixed: weight goes from the worst
// that has some to the best. Returns how much the dual gained; `values` are those of the cuts.
double Relaxation::balance_weights(Cluster& cluster, std::vector<double>& values) const {
    const std::size_t n = cluster.cuts.size();
    values.clear();
    for (const Cut& cut : cluster.cuts) {
        double value = base_value(cluster, cut);
        for (std::size_t l = 0; l < n; ++l) {
            value -= step_ * cluster.cuts[l].weight * cut.product[l];
        }
        values.push_back(value);
    }
    double moved = 0;
    for (std::size_t move = 0; move < kMovesPerCut * n; ++move) {
        std::size_t best = n;
        std::size_t worst = n;
        for (std::size_t k = 0; k < n; ++k) {
            if (best == n || values[k] > values[best]) best = k;
            if (cluster.cuts[k].weight > 0 && (worst == n || values[k] < values[worst])) worst = k;
        }
        const double difference = values[best] - values[worst];
        if (best == worst || difference <= 1e-13 * size_) break;
        Cut& to = cluster.cuts[best];
        Cut& from = cluster.cuts[worst];
        const double curvature = to.product[best] - 2 * to.product[worst] + from.product[worst];
        const double amount = curvature * step_ * from.weight > difference
                                  ? difference / (curvature * step_)
                                  : from.weight;
        from.weight -= amount;
        to.weight += amount;
        to.used = rounds_;
        for (std::size_t k = 0; k < n; ++k) {
            values[k] -= step_ * amount * (to.product[k] - from.product[k]);
        }
        moved += amount * difference;
    }
    return moved;
}

// Brings the sums in line with the weights.
void Relaxation::update_sums(Cluster& cluster) {
    for (const Cut& cut : cluster.cuts) {
        for (const Index place : cut.at) {
            total_sum_[cluster.flat[place]] -= cluster.sum[place];
            cluster.sum[place] = 0;
        }
    }
    for (const Cut& cut : cluster.cuts) {
        if (cut.weight <= 0) continue;
        for (std::size_t k = 0; k < cut.at.size(); ++k) {
            cluster.sum[cut.at[k]] += cut.weight * cut.chance[k];
        }
    }
    for (const Cut& cut : cluster.cuts) {
        for (const Index place : cut.at) mark_[cluster.flat[place]] = true;
    }
    for (const Cut& cut : cluster.cuts) {
        for (const Index place : cut.at) {
            const std::size_t flat = cluster.flat[place];
            if (!mark_[flat]) continue;
            mark_[flat] = false;
            total_sum_[flat] += cluster.sum[place];
        }
    }
}

// The bundle's own problem, through its dual: weights of cuts, one cluster after the other. Returns
// what the cuts promise at the new shares.
double Relaxation::master(Monitor& monitor) {
    std::vector<double> values;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        double moved = 0;
        for (Cluster& cluster : clusters_) {
            if (cluster.cuts.size() < 2) continue;
            const double mine = balance_weights(cluster, values);
            // All entries are looked at once to weigh the cuts, and four times to add them up.
            monitor.tick(cost::kCutEntry * (mine > 0 ? 5 : 1) * cut_entries(cluster));
            if (mine > 0) update_sums(cluster);
            moved += mine;
        }
        if (moved <= 1e-12 * size_) break;
    }
    double promised = 0;
    for (const Cluster& cluster : clusters_) {
        double most = -kInfinity;
        for (const Cut& cut : cluster.cuts) {
            double value = base_value(cluster, cut);
            for (std::size_t l = 0; l < cluster.cuts.size(); ++l) {
                value -= step_ * cluster.cuts[l].weight * cut.product[l];
            }
            most = std::max(most, value);
        }
        monitor.tick(cost::kCutEntry * cut_entries(cluster));
        promised += most;
    }
    return promised;
}

// Where the cuts would move a share: down where its cluster makes more use of it than others do,
// and a price where more is sold than bought.
double Relaxation::direction(const Cluster& cluster, std::size_t share) const {
    const std::size_t flat = cluster.flat[share];
    const double mine = cluster.sum[share];
    return own_[flat] * mine - cross_[flat] * (total_sum_[flat] - mine);
}

void Relaxation::make_trial(Monitor& monitor) {
    for (Cluster& cluster : clusters_) {
        monitor.tick(cost::kShare * cluster.centre.size());
        cluster.trial.resize(cluster.centre.size());
        for (std::size_t k = 0; k < cluster.centre.size(); ++k) {
            cluster.trial[k] = cluster.centre[k] - step_ * direction(cluster, k);
        }
    }
    balance();
}

bool Relaxation::step(double lower, Monitor& monitor) {
    if (settled_ || clusters_.size() < 2) {
        settled_ = true;
        return false;
    }
    try {
        return work_on(lower, monitor);
    } catch (...) {
        settled_ = true;  // cuts may be incomplete; the bound stands
        throw;
    }
}

bool Relaxation::work_on(double lower, Monitor& monitor) {
    ++rounds_;
    if (step_ == 0) {
        // As far as the gap is wide, at most.
        double norm = 0;
        for (const Cluster& cluster : clusters_) {
            for (std::size_t k = 0; k < cluster.sum.size(); ++k) {
                const double gap = direction(cluster, k);
                norm += gap * gap;
            }
        }
        const double width = std::isfinite(lower) ? centre_value_ - lower : 0.1 * size_;
        if (norm <= 0 || !(width > 0)) {
            settled_ = true;
            return false;
        }
        first_step_ = step_ = 0.5 * width / norm;
    }
    const double promised = master(monitor);
    const double expected = centre_value_ - promised;
    if (expected <= 1e-11 * size_) {
        settled_ = true;
        return false;
    }
    make_trial(monitor);
    if (!solve_all(monitor)) return false;
    double found = 0;
    for (const Cluster& cluster : clusters_) found += cluster.found;
    const double gained = centre_value_ - found;
    if (gained > 0) {
        const double before = upper_;
        accept();
        null_steps_ = 0;
        if (gained > 0.5 * expected) step_ *= 2;
        remember(monitor);
        return upper_ < before;
    }
    if (gained < -0.5 * expected) {
        step_ *= 0.5;
    } else if (++null_steps_ >= 6) {
        step_ *= 0.7;
        null_steps_ = 0;
    }
    step_ = std::max(step_, first_step_ / 1000);
    remember(monitor);
    return false;
}

bool Relaxation::grow(double round, std::size_t most_agents, Monitor& monitor) {
    std::vector<std::vector<AgentId>> groups = wider_groups(round, most_agents, monitor);
    if (groups.empty() || !monitor.fits(share_bytes(groups))) return false;
    if (!exchange_clusters(std::move(groups), monitor)) return false;
    // Cuts begin anew.
    cuts_memory_.set(0, "");
    settled_ = false;
    null_steps_ = 0;
    step_ = 0;
    try {
        accept();
        remember(monitor);
    } catch (...) {
        settled_ = true;
        throw;
    }
    return true;
}

// Other clusters, with the shares of those before, solved. False if a limit struck: then, and if
// anything is thrown, all is as it was.
bool Relaxation::exchange_clusters(std::vector<std::vector<AgentId>> groups, Monitor& monitor) {
    try {
        Exchange exchange(*this);
        set_clusters(std::move(groups));
        take_over(exchange.old());
        for (Cluster& cluster : clusters_) cluster.trial = cluster.centre;
        balance();
        if (!solve_all(monitor)) return false;
        exchange.settle();
        return true;
    } catch (const LimitReached&) {
        return false;
    }
}

std::vector<double> Relaxation::share_of_agent(std::size_t cluster, std::size_t member) const {
    const Cluster& mine = clusters_[cluster];
    const Block& block = blocks_[mine.blocks[member]];
    if (!block.shared()) return block.total;
    const auto from = mine.centre.begin() + static_cast<std::ptrdiff_t>(mine.begin[member]);
    return {from, from + static_cast<std::ptrdiff_t>(block.total.size())};
}

std::vector<const PairBlock*> Relaxation::pairs_of(std::size_t cluster) const {
    std::vector<const PairBlock*> found;
    const Cluster& mine = clusters_[cluster];
    for (std::size_t x = mine.agents.size(); x < mine.rewards; ++x) {
        found.push_back(&pairs_[mine.blocks[x] - model_.agents.size()]);
    }
    return found;
}

std::vector<double> Relaxation::share_of_pair(std::size_t cluster, std::size_t pair) const {
    return share_of_agent(cluster, clusters_[cluster].agents.size() + pair);
}

}  // namespace coreplan
