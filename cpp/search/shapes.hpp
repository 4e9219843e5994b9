// Sets of agents that form a group at some time, with what is known about each set.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/kernel.hpp"
#include "engine/team_model.hpp"
#include "search/couplings.hpp"

namespace coreplan {

// Where an agent stands at a layer: in a class of it or, if the outcome of its last action is not
// revealed yet, in an after-state of the layer before.
class Status {
public:
    Status() = default;
    explicit Status(ClassId c) : code_(static_cast<Index>(at(c))) {}
    explicit Status(AfterId k) : code_(static_cast<Index>(at(k)) | kHidden) {}
    [[nodiscard]] bool revealed() const noexcept { return (code_ & kHidden) == 0; }
    [[nodiscard]] ClassId class_id() const noexcept { return ClassId{code_}; }
    [[nodiscard]] AfterId after_id() const noexcept { return AfterId{code_ & ~kHidden}; }
    [[nodiscard]] Index code() const noexcept { return code_; }
    friend bool operator==(Status, Status) = default;

private:
    static constexpr Index kHidden = 0x8000'0000U;
    Index code_ = 0;
};

// Values of all joint states of a team, layer by layer, the last agent's class counting fastest.
struct ValueTable {
    std::vector<std::uint64_t> layer_begin;  // per layer before the horizon
    std::vector<double> values;
    std::vector<float> rough;  // instead, where memory is short: rounded up

    [[nodiscard]] double at(std::uint64_t place) const {
        return rough.empty() ? values[place] : static_cast<double>(rough[place]);
    }
    // Takes half the memory from now on.
    void round_up();
};

// Memory that is shared out, on several threads.
class Room {
public:
    explicit Room(double bytes) : left_(bytes) {}
    // False if there is not so much left.
    bool take(double bytes) {
        if (left_.fetch_sub(bytes) >= bytes) return true;
        left_.fetch_add(bytes);
        return false;
    }
    void give_back(double bytes) { left_.fetch_add(bytes); }
    [[nodiscard]] double left() const { return left_.load(); }

private:
    std::atomic<double> left_;
};

// What a bound, or whoever else, keeps of a shape.
struct ShapeNotes {
    virtual ~ShapeNotes() = default;
};

struct Shape {
    std::vector<AgentId> agents;  // ascending
    struct BondAt {
        std::size_t bond;           // of the couplings
        std::vector<Index> places;  // positions of its agents in the group
    };
    std::vector<BondAt> bonds;  // all of whose agents are in the group
    struct PairAt {
        const PairBlock* block;
        Index first;  // positions
        Index second;
    };
    std::vector<PairAt> pairs;
    std::vector<Index> wide;            // interactions of three and more members
    std::vector<Index> sums;            // aggregates of some of its agents
    std::vector<Index> places;          // all positions: 0, 1, ...
    std::vector<Index> ties;            // per position: bonds that it is in
    double cells = 0;                   // joint states of all layers
    double table_work = 0;              // to work out what it earns at best
    std::uint64_t look_work = 0;        // to look up both bounds of a joint state
    std::unique_ptr<ShapeNotes> upper;  // notes of the upper bound
    std::unique_ptr<ShapeNotes> lower;  // notes of the lower bound

    // What the group earns at best from any joint state on, where that has been worked out.
    std::atomic<const ValueTable*> exact{nullptr};
    std::atomic<bool> refused{false};    // there is no room for it
    std::atomic<std::uint64_t> work{0};  // that joint actions of its joint states took

    [[nodiscard]] std::size_t size() const noexcept { return agents.size(); }
};

class Shapes {
public:
    // `prepare` is called for every new shape before anybody gets to see it; it may throw.
    using Prepare = std::function<void(Shape& shape, Monitor& monitor)>;
    // Throws if what is needed of agents and pairs does not fit into memory. The monitor has to
    // outlive it.
    Shapes(const CompiledModel& model, const Couplings& couplings, Room& room, Monitor& monitor);
    void set_prepare(Prepare prepare) { prepare_ = std::move(prepare); }

    [[nodiscard]] const CompiledModel& model() const noexcept { return model_; }
    [[nodiscard]] Room& room() const noexcept { return room_; }
    [[nodiscard]] const AgentModes& modes(AgentId agent) const { return modes_[at(agent)]; }
    [[nodiscard]] const Couplings& couplings() const noexcept { return couplings_; }

    // The shape of some agents (ascending); made when first asked for. Safe on several threads.
    Shape& get(std::span<const AgentId> agents, Monitor& monitor);
    // All that there are, in no particular order.
    [[nodiscard]] std::vector<Shape*> all() const;

    // Which of a group's agents belong together, given a list of each: per position the number of
    // its part. Returns how many parts there are.
    Index split(const Shape& shape, std::span<const Index> lists,
                std::vector<Index>& part_of) const;

    // The value of a group's own table.
    [[nodiscard]] double look_up(const ValueTable& table, const Shape& shape, Index layer,
                                 std::span<const Status> where) const {
        return look_up(table, layer, shape.agents, shape.places, where);
    }
    // The table's value where these agents stand, expected over outcomes that are not revealed.
    // `places` are the positions of the table's agents among them.
    [[nodiscard]] double look_up(const ValueTable& table, Index layer,
                                 std::span<const AgentId> agents, std::span<const Index> places,
                                 std::span<const Status> where) const;

    // The group by itself, ready for the kernel.
    [[nodiscard]] Team team_of(const Shape& shape) const;
    // Works out what the group earns at best; false if there is no room, or a limit strikes.
    bool solve(Shape& shape, unsigned threads, Monitor& monitor);

    // Hands over all tables; nothing may be asked any more.
    std::vector<ValueTable> take_tables();

    // What a group gets from interactions and aggregates at once, if its agents go to these
    // after-states.
    [[nodiscard]] double interactions(const Shape& shape, Index layer,
                                      std::span<const AfterId> afters) const;

private:
    const CompiledModel& model_;
    const Couplings& couplings_;
    Room& room_;
    Reservation memory_;
    std::vector<AgentModes> modes_;
    std::vector<PairBlock> blocks_;
    mutable std::mutex mutex_;
    std::unordered_map<std::size_t, std::vector<std::unique_ptr<Shape>>> known_;
    Prepare prepare_;
    std::mutex solving_;
    std::vector<std::unique_ptr<ValueTable>> tables_;
};

// What the joint actions of a team are worth in a joint state: rewards now, the table's values
// afterwards. The last agent's action counts fastest.
std::vector<double> action_values(const CompiledModel& model, const Team& team,
                                  const ValueTable& table, Index layer,
                                  std::span<const ClassId> classes);

// The value of a pair of after-states in a block; `first` and `second` are the model's numbers.
double pair_value(const PairBlock& block, const double* value, AfterId first,
                  Index second_in_layer);

}  // namespace coreplan
