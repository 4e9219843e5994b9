// Upper bounds of groups: what guides the search, and what it prunes by.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/relaxation.hpp"
#include "search/action_order.hpp"
#include "search/shapes.hpp"

namespace coreplan {

class GroupBound {
public:
    virtual ~GroupBound() = default;
    // Called once for every shape, one after the other, before anything is asked about it: fills
    // in `shape.upper`.
    virtual void prepare(Shape& shape, Monitor& monitor) = 0;

    // What one thread asks through.
    class Eye {
    public:
        virtual ~Eye() = default;
        // No joint policy earns more from there on; constants are not counted.
        virtual double upper(const Shape& shape, Index layer, std::span<const Status> where) = 0;
        // Terms that add up to a bound on every joint action's value in a joint state.
        virtual void terms(const Shape& shape, Index layer, std::span<const ClassId> classes,
                           std::vector<ActionTerm>& terms) = 0;
    };
    [[nodiscard]] virtual std::unique_ptr<Eye> eye() const = 0;
};

// The tables of a relaxation's clusters. A group's bound is the sum over every cluster that has an
// agent in the group; of one that is cut, the agents that remain, with that cluster's shares. An
// aggregate is owned, and its units are paid, as if the group were all there is: the others add
// nothing while the group can add.
class RelaxationBound final : public GroupBound {
public:
    // Takes the shares as they are now. Where memory is short, tables are rounded up. Throws if
    // they do not fit into memory all the same.
    RelaxationBound(const Relaxation& relaxation, const Shapes& shapes, unsigned threads,
                    Monitor& monitor);
    RelaxationBound(const RelaxationBound&) = delete;
    RelaxationBound& operator=(const RelaxationBound&) = delete;

    void prepare(Shape& shape, Monitor& monitor) override;
    [[nodiscard]] std::unique_ptr<Eye> eye() const override;

    // Tables, and agents in them, that a look at a shape's bound goes through.
    [[nodiscard]] static std::uint64_t look_ups(const Shape& shape) {
        std::uint64_t count = 0;
        for (const Part& part : parts_of(shape)) count += 2 + part.places.size();
        return count;
    }
    // Hands over all tables; nothing may be asked any more.
    std::vector<ValueTable> take_tables();

    // The clusters, the shares and the prices that it took.
    [[nodiscard]] const CompiledModel& model() const noexcept { return model_; }
    [[nodiscard]] const std::vector<double>& prices(std::size_t aggregate) const {
        return prices_[aggregate];
    }
    [[nodiscard]] std::size_t cluster_count() const noexcept { return clusters_.size(); }
    [[nodiscard]] const std::vector<AgentId>& agents_of(std::size_t cluster) const {
        return clusters_[cluster].agents;
    }
    [[nodiscard]] const std::vector<double>& share_of_agent(std::size_t cluster,
                                                            std::size_t member) const {
        return clusters_[cluster].shares[member];
    }
    [[nodiscard]] std::vector<const PairBlock*> pairs_of(std::size_t cluster) const;
    [[nodiscard]] const std::vector<double>& share_of_pair(std::size_t cluster,
                                                           std::size_t pair) const {
        return clusters_[cluster].pairs[pair].value;
    }
    [[nodiscard]] const std::vector<Index>& wide_of(std::size_t cluster) const {
        return clusters_[cluster].wide;
    }

    // The memory that the tables of whole clusters take, at least.
    [[nodiscard]] static double bytes(const Relaxation& relaxation, const CompiledModel& model);

private:
    struct SharedPair {
        const PairBlock* block;
        std::vector<double> value;
    };
    struct Cluster {
        std::vector<AgentId> agents;
        std::vector<std::vector<double>> shares;  // per agent, by action
        std::vector<SharedPair> pairs;
        std::vector<Index> wide;
    };
    // What a cluster has to do with an aggregate, for a group: it owns it, and buys units of the
    // given members; or these are its own and paid.
    struct Role {
        Index aggregate;
        bool owns;
        std::vector<std::size_t> members;
        friend bool operator==(const Role&, const Role&) = default;
    };
    // Some agents of a cluster, with its shares.
    struct Remnant {
        std::vector<Role> roles;
        Team team;
        std::vector<std::vector<double>> rewards;  // of agents that are paid
        std::vector<std::vector<double>> worth;    // of sums, where units are bought
        ValueTable table;
    };
    struct Part {
        const Remnant* remnant;
        std::vector<Index> places;  // of its agents in the group
    };
    class TableEye;
    struct Parts final : ShapeNotes {
        std::vector<Part> parts;
    };
    static const std::vector<Part>& parts_of(const Shape& shape) {
        return static_cast<const Parts&>(*shape.upper).parts;
    }

    void take(double bytes);
    [[nodiscard]] std::vector<std::vector<Role>> roles_in(
        const std::vector<AgentId>& group, const std::vector<std::vector<AgentId>>& common) const;
    const Remnant& remnant(std::size_t cluster, std::span<const AgentId> agents,
                           std::vector<Role> roles, Monitor& monitor);
    void add_sums(std::size_t cluster, Remnant& remnant);

    const CompiledModel& model_;
    const Shapes& shapes_;
    unsigned threads_;
    // Bytes of the room, which go back to it also if the constructor throws.
    struct Taken {
        explicit Taken(Room& from) : room(from) {}
        Taken(const Taken&) = delete;
        Taken& operator=(const Taken&) = delete;
        ~Taken() { room.give_back(bytes); }
        void add(double more) noexcept { bytes += more; }
        Room& room;
        double bytes = 0;
    };
    Taken taken_;
    double eye_bytes_ = 0;
    bool rough_;
    std::vector<Cluster> clusters_;
    std::vector<SumMembers> sums_;             // per aggregate
    std::vector<std::vector<double>> prices_;  // per aggregate and layer at which it counts
    std::vector<std::vector<std::unique_ptr<Remnant>>> remnants_;  // per cluster
};

}  // namespace coreplan
