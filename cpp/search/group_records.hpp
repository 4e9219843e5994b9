// The search's records and the table that they are found in; for the search's own files only.
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <mutex>

#include "search/group_search.hpp"
#include "support/hashing.hpp"

namespace coreplan {

constexpr Index kNoAction = ~Index{0};
constexpr Index kNoNumber = ~Index{0};
constexpr double kEqual = 1e-14;  // of their size: a difference that is rounding

// Differences of numbers of this size that are no more than rounding.
inline double rounding_of(double one, double other) {
    return kEqual * std::max(std::abs(one), std::abs(other));
}

inline std::size_t hash_of(const Shape& shape, std::span<const Status> where) {
    std::size_t hash = reinterpret_cast<std::uintptr_t>(&shape) * kHashSeed;
    for (const Status each : where) hash = hash_on(hash, each.code());
    return hash;
}

// How many outcomes are not revealed.
inline std::size_t hidden_count(std::span<const Status> where) {
    return static_cast<std::size_t>(
        std::ranges::count_if(where, [](Status each) { return !each.revealed(); }));
}

struct GroupSearch::Child {
    Record* record;
    double weight;
};

// A joint action and where it leads.
struct GroupSearch::JointAction {
    [[nodiscard]] double bytes() const {
        return static_cast<double>(sizeof(JointAction) + children.capacity() * sizeof(Child) +
                                   actions.capacity() * sizeof(Index));
    }

    std::vector<Index> actions;
    std::vector<Child> children;
    double fixed_lower = 0;  // rewards, and groups that are known
    double fixed_upper = 0;
    double lower = 0;  // as last added up
    double upper = 0;
    std::uint64_t terms = 0;  // that were added up

    // Something is known for certain.
    void add(double value) { add(value, value); }
    void add(double least, double most) {
        fixed_lower += least;
        fixed_upper += most;
        ++terms;
    }
    void lead_to(Record* record, double weight) {
        children.push_back({record, weight});
        ++terms;
    }
    [[nodiscard]] double total_lower() const;
    [[nodiscard]] double total_upper() const;
    void add_up() {
        lower = total_lower();
        upper = total_upper();
    }
};

// What can be done in a joint state; where outcomes are not revealed, one waits for them.
struct GroupSearch::Body {
    std::unique_ptr<ActionOrder> order;
    double order_bytes = 0;
    bool stale = false;  // the order goes by a bound that has changed, or an action is missing
    std::vector<JointAction> joint_actions;
    std::size_t best = kNoAction;  // the one that the lower bound comes from; none: a policy's
};

struct GroupSearch::Record {
    Shape* shape = nullptr;
    Status* first = nullptr;
    Index layer = 0;
    Index number = kNoNumber;  // in the order in which they were taken up
    std::atomic<double> lower{0};
    std::atomic<double> upper{0};
    std::atomic<double> settled{0};  // of the gap: rounding, which no work can close
    std::atomic<unsigned> visitors{0};
    std::atomic_flag busy;
    std::unique_ptr<Body> body;
    bool forgotten = false;   // it is not in the table any more
    std::uint64_t swept = 0;  // the last sweep that came by
    double reach = 0;         // how likely it is then

    [[nodiscard]] std::span<const Status> where() const { return {first, shape->size()}; }
    [[nodiscard]] double gap() const {
        return upper.load(std::memory_order_relaxed) - lower.load(std::memory_order_relaxed);
    }
    // What work can still close of the gap.
    [[nodiscard]] double open() const {
        return std::max(0.0, gap() - settled.load(std::memory_order_relaxed));
    }
    // What is left of the gap is rounding.
    void settle() { settled.store(gap(), std::memory_order_relaxed); }
    void close(double value) {
        lower.store(value, std::memory_order_relaxed);
        upper.store(value, std::memory_order_relaxed);
    }
    // Takes a joint action's lower bound, as last added up, if it is better.
    void raise_lower(std::size_t action) {
        const double value = body->joint_actions[action].lower;
        if (value <= lower.load(std::memory_order_relaxed)) return;
        lower.store(value, std::memory_order_relaxed);
        body->best = action;
    }
};

inline double GroupSearch::JointAction::total_lower() const {
    double total = fixed_lower;
    for (const Child& child : children) {
        total += child.weight * child.record->lower.load(std::memory_order_relaxed);
    }
    return total;
}

inline double GroupSearch::JointAction::total_upper() const {
    double total = fixed_upper;
    for (const Child& child : children) {
        total += child.weight * child.record->upper.load(std::memory_order_relaxed);
    }
    return total;
}

inline double GroupSearch::record_bytes(const Shape& shape) {
    return 1.5 * (sizeof(Record) + 2 * sizeof(Record*)) +
           static_cast<double>(shape.size() * sizeof(Status));
}

// All records, on several threads.
class GroupSearch::Records {
    static constexpr std::size_t kShards = 64;

public:
    Record* find(const Shape& shape, std::span<const Status> where) {
        const std::size_t hash = hash_of(shape, where);
        Shard& shard = shards_[hash % kShards];
        const std::lock_guard lock(shard.guard);
        return *slot_of(shard, hash, shape, where);
    }

    // The record, made if there is none; and whether it is new.
    std::pair<Record*, bool> insert(Shape& shape, Index layer, std::span<const Status> where,
                                    double lower, double upper) {
        const std::size_t hash = hash_of(shape, where);
        Shard& shard = shards_[hash % kShards];
        const std::lock_guard lock(shard.guard);
        Record** slot = slot_of(shard, hash, shape, where);
        if (*slot != nullptr) return {*slot, false};
        Record& record = take_unused(shard, where.size());
        std::ranges::copy(where, record.first);
        record.shape = &shape;
        record.layer = layer;
        record.number = kNoNumber;
        record.lower = lower;
        record.upper = upper;
        *slot = &record;
        if (2 * shard.records.size() > shard.slots.size()) rehash(shard, 2 * shard.slots.size());
        return {&record, true};
    }

    // Gives a record its number, if it has none. Not on several threads.
    void number(Record& record) {
        if (record.number == kNoNumber) record.number = count_++;
    }

    // Forgets records that are not to be kept; their memory is used again.
    template <class Keep>
    void forget(const Keep& keep) {
        for (Shard& shard : shards_) {
            for (Record& record : shard.records) {
                if (record.forgotten || keep(record)) continue;
                record.forgotten = true;
                record.body.reset();
                shard.unused.push_back(&record);
            }
            rehash(shard, shard.slots.size());
        }
    }

    template <class Visit>
    void for_each(const Visit& visit) {
        for (Shard& shard : shards_) {
            for (Record& record : shard.records) {
                if (!record.forgotten) visit(record);
            }
        }
    }

private:
    struct Shard {
        std::mutex guard;
        std::deque<Record> records;
        std::vector<Record*> unused;
        std::vector<Record*> slots = std::vector<Record*>(64, nullptr);
        std::vector<std::unique_ptr<Status[]>> chunks;
        Status* next = nullptr;
        std::size_t room = 0;
    };

    // A record with room for so many agents, perhaps one that was forgotten.
    static Record& take_unused(Shard& shard, std::size_t agents) {
        if (!shard.unused.empty() && shard.unused.back()->shape->size() >= agents) {
            Record& record = *shard.unused.back();
            shard.unused.pop_back();
            record.forgotten = false;
            return record;
        }
        if (shard.room < agents) {
            shard.room = std::max<std::size_t>(4096, agents);
            shard.chunks.push_back(std::make_unique<Status[]>(shard.room));
            shard.next = shard.chunks.back().get();
        }
        Record& record = shard.records.emplace_back();
        record.first = shard.next;
        shard.next += agents;
        shard.room -= agents;
        return record;
    }

    static Record** slot_of(Shard& shard, std::size_t hash, const Shape& shape,
                            std::span<const Status> where) {
        std::size_t k = (hash / kShards) & (shard.slots.size() - 1);
        while (shard.slots[k] != nullptr && (shard.slots[k]->shape != &shape ||
                                             !std::ranges::equal(shard.slots[k]->where(), where))) {
            k = (k + 1) & (shard.slots.size() - 1);
        }
        return &shard.slots[k];
    }

    static void rehash(Shard& shard, std::size_t size) {
        shard.slots.assign(size, nullptr);
        for (Record& record : shard.records) {
            if (record.forgotten) continue;
            std::size_t k =
                (hash_of(*record.shape, record.where()) / kShards) & (shard.slots.size() - 1);
            while (shard.slots[k] != nullptr) k = (k + 1) & (shard.slots.size() - 1);
            shard.slots[k] = &record;
        }
    }

    Shard shards_[kShards];
    Index count_ = 0;
};

}  // namespace coreplan
