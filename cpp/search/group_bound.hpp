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
// agent in the group; of one that is cut, the agents that remain, with that cluster's shares.
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

    // The clusters and the shares that it took.
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
    // Some agents of a cluster, with its shares.
    struct Remnant {
        Team team;
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
    const Remnant& remnant(std::size_t cluster, std::span<const AgentId> agents, Monitor& monitor);

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
    std::vector<std::vector<std::unique_ptr<Remnant>>> remnants_;  // per cluster
};

}  // namespace coreplan
