// An upper bound on the value of a large team, from small teams that are solved exactly.
//
// Clusters are small teams. An agent's own reward, per action, is divided over the clusters that it
// is in; the reward of a pair of agents, per pair of after-states, over the clusters that contain
// both. Under any joint policy an agent (or a pair) does the same things equally often in all of
// them, so the clusters' expected rewards add up to the team's, and no cluster can get more than
// its own optimum: the sum of optima is an upper bound, however rewards are divided. How they are
// divided is optimised by a proximal bundle method: the solution of a cluster gives the chances of
// what its best policy does, and with them a lower bound on its optimum, linear in the shares.
//
// An aggregate belongs to one cluster, its owner; what other members add to the sum has a price per
// unit and layer (engine/sum_prices). No joint policy can get more, whatever the prices are; they
// are optimised with the shares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "engine/kernel.hpp"
#include "engine/occupancy.hpp"
#include "engine/sum_prices.hpp"
#include "engine/team_model.hpp"
#include "support/partners.hpp"
#include "support/reservation.hpp"
#include "support/work_list.hpp"

namespace coreplan {

struct RelaxationOptions {
    unsigned threads = 1;
    std::size_t most_cuts = 24;  // that a cluster remembers
};

class Relaxation {
public:
    // Starts with a cluster for every pair and every wider interaction. What does not fit into
    // memory is bounded more coarsely: others match as well as they can. The monitor has to outlive
    // it: what is reserved is given back.
    Relaxation(const CompiledModel& model, const RelaxationOptions& options, Monitor& monitor);

    // The work of its first bound, at most about.
    [[nodiscard]] static double first_work(const CompiledModel& model);

    // One round: a new division of rewards, all clusters solved. `lower` is the value of some
    // policy, or minus infinity. True if the bound got better. False also if a limit struck: then
    // the bound is what it was. So it is if anything is thrown.
    bool step(double lower, Monitor& monitor);

    // Larger clusters, those of which the bound needs most, as far as a round then takes at most
    // about `round` of work and memory allows, and no larger than `most_agents`. The bound does not
    // get worse. False if nothing changed.
    bool grow(double round, std::size_t most_agents, Monitor& monitor);

    // No joint policy has a higher value; constants are not counted. Includes `error`.
    [[nodiscard]] double upper() const noexcept { return upper_; }
    // What the shares and prices at hand prove: the same up to rounding.
    [[nodiscard]] double proven() const noexcept { return centre_value_ + error_; }
    // What rounding can do to it.
    [[nodiscard]] double error() const noexcept { return error_; }
    // Roundings that one number of a table goes through at one stage, at most.
    [[nodiscard]] double operations() const noexcept { return operations_; }
    // The most that shares above zero can add up to, over all clusters.
    [[nodiscard]] double gained() const noexcept { return gained_; }
    // Whether further rounds are of no use.
    [[nodiscard]] bool settled() const noexcept { return settled_; }
    // Interactions that are bounded coarsely.
    [[nodiscard]] std::size_t coarse() const noexcept { return coarse_; }
    [[nodiscard]] std::uint64_t rounds() const noexcept { return rounds_; }
    [[nodiscard]] std::uint64_t cells() const noexcept { return cells_; }

    [[nodiscard]] const CompiledModel& model() const noexcept { return model_; }
    [[nodiscard]] std::size_t cluster_count() const noexcept { return clusters_.size(); }
    [[nodiscard]] const std::vector<AgentId>& agents_of(std::size_t cluster) const {
        return clusters_[cluster].agents;
    }
    // A cluster's share of an agent's own rewards, by action.
    [[nodiscard]] std::vector<double> share_of_agent(std::size_t cluster, std::size_t member) const;
    // The pairs of a cluster, and its shares of their rewards, by position in the block.
    [[nodiscard]] std::vector<const PairBlock*> pairs_of(std::size_t cluster) const;
    [[nodiscard]] std::vector<double> share_of_pair(std::size_t cluster, std::size_t pair) const;
    // The price of a unit of an aggregate, per layer at which it counts: 0 if one cluster has all
    // of its members.
    [[nodiscard]] std::vector<double> prices(std::size_t aggregate) const;
    // The wide interactions that a cluster answers for.
    [[nodiscard]] const std::vector<Index>& wide_of(std::size_t cluster) const {
        return clusters_[cluster].wide;
    }

private:
    // A reward that may be shared: of an agent or of a pair. Or the prices of an aggregate, per
    // layer at which it counts; they are the same for all their clusters, and add up to nothing.
    struct Block {
        std::vector<double> total;
        std::vector<std::size_t> clusters;  // that contain it
        std::size_t offset = 0;             // into the flat arrays of shared blocks
        [[nodiscard]] bool shared() const noexcept { return clusters.size() > 1; }
    };
    // What one policy of a cluster does: its value is `constant` + Σ chance · share.
    struct Cut {
        std::vector<Index> at;
        std::vector<double> chance;
        std::vector<double> product;  // with every cut of the cluster
        double constant = 0;
        double weight = 0;
        bool centre = false;
        std::uint64_t used = 0;  // the last round in which it had a weight

        [[nodiscard]] double bytes() const {
            return static_cast<double>(sizeof(Cut) + at.size() * sizeof(Index) +
                                       (chance.size() + product.capacity()) * sizeof(double));
        }
    };
    // An aggregate of the owner, with what the sum of its own agents is worth to it.
    struct Owned {
        Index aggregate;
        std::size_t block;  // position in the cluster's blocks; their number if nobody is outside
        std::size_t width;  // sums of its agents, from 0
        std::vector<double> values;  // per layer and sum, at the trial; none if nobody is outside
        std::vector<Index> bought;   // and how many units of others suit it best
    };
    // An aggregate of another owner, and the members whose units are paid here.
    struct Paid {
        Index aggregate;
        std::size_t block;
        std::vector<std::size_t> members;  // positions in the aggregate
    };
    struct Cluster {
        std::vector<AgentId> agents;
        std::vector<std::size_t> blocks;  // of the agents, of the pairs, then prices
        std::size_t rewards = 0;          // blocks of agents and pairs
        std::vector<Owned> owned;
        std::vector<Paid> paid;
        std::vector<std::size_t> begin;  // per block: its shares in the arrays below, if shared
        std::vector<Index> wide;
        std::vector<std::size_t> flat;  // per share: its place in the flat arrays
        std::vector<double> centre;     // shares
        std::vector<double> trial;
        std::vector<double> sum;  // X: the mean of the cuts' chances
        std::vector<Cut> cuts;
        double value = 0;  // at the centre
        double found = 0;  // at the trial
        Cut fresh;
        // Whether it has something that cannot be divided.
        [[nodiscard]] bool whole() const noexcept { return !owned.empty() || !wide.empty(); }
    };
    struct Worker {
        TeamSolution solution;
        KernelBuffers buffers;
        Occupancy occupancy;
        OccupancyBuffers forward;
        std::vector<std::vector<double>> rewards;  // own ones with what is paid for units
    };

    // How the clusters are laid out, apart from what they hold.
    struct Layout {
        std::vector<Cluster> clusters;
        std::vector<std::vector<std::size_t>> clusters_of;  // per block
        std::vector<std::size_t> offset;                    // per block
        std::vector<std::size_t> owner;
        std::vector<double> total_sum;
        std::vector<double> own;
        std::vector<double> cross;
        std::vector<bool> mark;
    };

    // Other clusters, none at first; those before come back unless it is settled.
    class Exchange {
    public:
        explicit Exchange(Relaxation& relaxation);
        ~Exchange();
        Exchange(const Exchange&) = delete;
        Exchange& operator=(const Exchange&) = delete;
        [[nodiscard]] const Layout& old() const noexcept { return old_; }
        void settle();

    private:
        Relaxation& relaxation_;
        double bytes_;  // of the old shares
        Layout old_;
        bool settled_ = false;
    };
    class SumOwners;
    // A cluster that could be formed.
    struct Candidate {
        double worth;
        double work;  // of a round
        std::vector<AgentId> agents;
    };

    static constexpr double kPartOfMemory = 0.5;  // that it takes at most: others need some, too

    void make_blocks(Monitor& monitor);
    void make_sums(Monitor& monitor);
    void place_sums();
    void place_sum(std::size_t g);
    void value_owned(Cluster& cluster, Monitor& monitor) const;
    void pay_members(const Cluster& cluster, Team& team, Worker& worker) const;
    void count_units(const Cluster& cluster, const Team& team, const Worker& worker,
                     std::vector<double>& units, std::size_t block) const;
    void limit_prices(std::size_t block, double* prices) const;
    void take_over_prices(const Layout& old);
    void add_units(Cluster& cluster, std::size_t g, std::size_t member, double part,
                   const double* price);
    [[nodiscard]] static std::size_t block_in(const Cluster& cluster, std::size_t block) {
        return static_cast<std::size_t>(std::ranges::find(cluster.blocks, block) -
                                        cluster.blocks.begin());
    }
    [[nodiscard]] double most_priced(const Cluster& cluster) const;
    [[nodiscard]] double sum_bytes(const std::vector<std::vector<AgentId>>& groups) const;
    [[nodiscard]] bool is_price(std::size_t block) const noexcept {
        return block >= model_.agents.size() + pairs_.size();
    }
    [[nodiscard]] std::size_t block_of_sum(std::size_t g) const noexcept {
        return model_.agents.size() + pairs_.size() + g;
    }
    std::vector<std::vector<AgentId>> first_groups(Monitor& monitor);
    void add_coarse(const CompiledInteraction& interaction);
    void set_clusters(std::vector<std::vector<AgentId>> groups);
    void place_wide();
    void swap_layout(Layout& other) noexcept;
    void take_over(const Layout& old);
    void inherit(Cluster& heir, const Cluster& each, const Layout& old, double part);
    [[nodiscard]] std::vector<std::size_t> around(const std::vector<AgentId>& agents) const;
    bool exchange_clusters(std::vector<std::vector<AgentId>> groups, Monitor& monitor);
    [[nodiscard]] std::set<std::vector<AgentId>> extended_clusters(std::size_t most_agents) const;
    [[nodiscard]] double growth_strain() const;
    [[nodiscard]] bool has_room(double bytes, const Monitor& monitor) const;
    [[nodiscard]] std::vector<Candidate> candidates(std::size_t most_agents,
                                                    Monitor& monitor) const;
    [[nodiscard]] std::vector<std::vector<AgentId>> wider_groups(double budget,
                                                                 std::size_t most_agents,
                                                                 Monitor& monitor) const;
    [[nodiscard]] std::vector<std::vector<AgentId>> arranged(
        std::vector<std::vector<AgentId>> larger) const;
    void share_equally();
    bool solve_all(Monitor& monitor);
    void solve_cluster(Cluster& cluster, Worker& worker, Monitor& monitor) const;
    static void put_found(const Cluster& cluster, Parcel& parcel);
    static void take_found(Cluster& cluster, Parcel& parcel);
    [[nodiscard]] Team team_of(const Cluster& cluster) const;
    [[nodiscard]] double direction(const Cluster& cluster, std::size_t share) const;
    void accept();
    void remember(Monitor& monitor);
    double master(Monitor& monitor);
    [[nodiscard]] double product(const Cluster& cluster, const Cut& one, const Cut& other) const;
    [[nodiscard]] double base_value(const Cluster& cluster, const Cut& cut) const;
    double balance_weights(Cluster& cluster, std::vector<double>& values) const;
    void update_sums(Cluster& cluster);
    void add_cut(Cluster& cluster, Monitor& monitor) const;
    [[nodiscard]] static std::size_t cut_entries(const Cluster& cluster);
    void make_trial(Monitor& monitor);
    void balance();
    void measure();
    [[nodiscard]] double gained(const Cluster& cluster) const;
    [[nodiscard]] double operations(const Cluster& cluster) const;
    bool forget(Cluster& cluster);
    bool work_on(double lower, Monitor& monitor);
    [[nodiscard]] double bytes_of(const std::vector<AgentId>& agents) const;
    [[nodiscard]] double entries_of(const std::vector<AgentId>& agents) const;
    [[nodiscard]] double share_bytes(const std::vector<std::vector<AgentId>>& groups) const;
    [[nodiscard]] double all_bytes() const noexcept {
        return model_memory_.bytes() + tables_memory_.bytes() + shares_memory_.bytes() +
               cuts_memory_.bytes();
    }
    [[nodiscard]] std::size_t block_of_pair(AgentId first, AgentId second) const;

    const CompiledModel& model_;
    RelaxationOptions options_;
    WorkList work_;
    std::vector<AgentModes> modes_;
    std::vector<PairBlock> pairs_;
    std::vector<std::vector<std::size_t>> linked_;  // per agent: its pairs
    std::vector<Index> wide_;                       // interactions with a cluster of their own
    std::vector<SumMembers> sums_;                  // per aggregate
    std::vector<Block> blocks_;                     // agents, pairs, then aggregates
    std::vector<AgentId> everyone_;
    std::vector<Cluster> clusters_;
    std::vector<std::size_t> owner_;  // per aggregate: its cluster
    std::vector<Worker> workers_;
    std::vector<double> total_sum_;  // flat: Σ over clusters of X
    // Flat: how much of a cluster's own chance, and of the others', is in a step.
    std::vector<double> own_;
    std::vector<double> cross_;
    std::vector<bool> mark_;     // flat, all false between calls
    Reservation model_memory_;   // modes, pairs and blocks
    Reservation tables_memory_;  // of the workers
    Reservation shares_memory_;  // clusters, without their cuts
    Reservation cuts_memory_;
    double upper_ = 0;
    double centre_value_ = 0;
    double error_ = 0;
    std::vector<double> outcomes_;  // per agent: the most of one law
    double interactions_ = 0;       // the most that can happen at one layer
    double strain_ = 1;             // work of the last round, of what the kernel alone would take
    double own_gained_ = 0;  // the most that rewards above zero can add up to, nothing shared
    double mass_error_ = 0;  // where laws do not sum to 1
    double operations_ = 0;
    double gained_ = 0;  // the same of the clusters' shares at the centre
    double size_ = 0;    // of the numbers that the clusters' values come from
    double step_ = 0;
    double first_step_ = 0;
    int null_steps_ = 0;
    bool settled_ = false;
    std::size_t coarse_ = 0;
    std::uint64_t rounds_ = 0;
    std::uint64_t cells_ = 0;
};

}  // namespace coreplan
