// The exact value of a profile from any joint state, by lookups.
//
// Under a profile agents are independent, from any joint state on. So what an agent contributes is
// known by itself: its own value to go, and how likely it makes each signal at each later layer.
// The latter is a sparse list per class and after-state. Lists are hash-consed per agent, over all
// bases, so that a joint value is a sum over few distinct combinations of lists.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bounds/independent.hpp"
#include "model/compiled_model.hpp"
#include "policies/standing.hpp"
#include "support/reservation.hpp"
#include "support/sequence_pool.hpp"

namespace coreplan {

// One agent under a policy of its own class, from some layer on.
struct AgentOutlook {
    std::vector<Index> action;  // the policy
    Index from = 0;             // the first layer that is known
    // From the first class or after-state of that layer on:
    std::vector<double> class_value;  // own value to go
    std::vector<double> after_value;  // the same, expected over outcomes
    std::vector<Index> class_list;    // numbers of lists
    std::vector<Index> after_list;
    // If it is made for a state: what is known of a class. Empty if all is.
    enum Mark : char { kUnknown, kFollowed, kDeviated };
    std::vector<char> marks;
    Index first_class = 0;
    Index first_after = 0;

    // Following the policy from the class on is known; with kDeviated, after any action as well.
    [[nodiscard]] char mark(ClassId c) const {
        return marks.empty() ? static_cast<char>(kDeviated) : marks[at(c) - first_class];
    }
    [[nodiscard]] double value(ClassId c) const { return class_value[at(c) - first_class]; }
    [[nodiscard]] double value(AfterId k) const { return after_value[at(k) - first_after]; }
    [[nodiscard]] Index list(ClassId c) const { return class_list[at(c) - first_class]; }
    [[nodiscard]] Index list(AfterId k) const { return after_list[at(k) - first_after]; }
};

// A base: a profile with what is expected of every agent.
struct Base {
    Index from = 0;  // it can be followed from this layer on
    std::vector<std::shared_ptr<const AgentOutlook>> agents;

    // What is known of a joint state: the least that is known of its classes.
    [[nodiscard]] char mark(Index layer, std::span<const ClassId> classes) const {
        if (layer < from) return AgentOutlook::kUnknown;
        char least = AgentOutlook::kDeviated;
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const char mark = agents[i]->mark(classes[i]);
            if (mark == AgentOutlook::kUnknown) return mark;
            least = std::min(least, mark);
        }
        return least;
    }
};

// All interactions among exactly these agents.
struct Bond {
    std::vector<Index> agents;  // ascending
    // Two agents: per layer the begin of a matrix (signals of the first x of the second), or none.
    static constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<std::size_t> matrix_of_layer;
    std::vector<double> matrix;
    // More agents: the interactions themselves.
    std::vector<Index> interactions;
    bool gains = false;  // some of them earn
};

class Outlooks {
public:
    // The lists take `most_bytes` at most.
    Outlooks(const CompiledModel& model, double most_bytes, Monitor& monitor);
    Outlooks(const Outlooks&) = delete;
    Outlooks& operator=(const Outlooks&) = delete;

    // What is expected of a policy; null if there is no room for its lists.
    std::shared_ptr<const Base> add(const LocalPolicy& policy);
    // The same only for what can be reached from a joint state by following the policy, and after
    // one action of each agent that is not the policy's.
    std::shared_ptr<const Base> add(const LocalPolicy& policy, const Standing& from);

    // The list of an agent that gives a label at a layer, and goes on as one of these lists says,
    // with these chances. Agents that act jointly have lists of their own.
    Index combine(std::size_t agent, std::size_t layer, std::size_t label,
                  std::span<const std::pair<Index, double>> next);

    [[nodiscard]] const CompiledModel& model() const noexcept { return model_; }
    [[nodiscard]] const std::vector<Bond>& bonds() const noexcept { return bonds_; }
    // Per agent: its bonds.
    [[nodiscard]] const std::vector<Index>& bonds_of(std::size_t agent) const {
        return bonds_of_[agent];
    }
    // What a bond's agents are expected to get from their interactions, given one list each.
    [[nodiscard]] double expected(const Bond& bond, std::span<const Index> lists) const;
    // Per agent: the aggregates that it is a member of, with its position among the members.
    [[nodiscard]] const std::vector<std::pair<Index, Index>>& sums_of(std::size_t agent) const {
        return sums_of_[agent];
    }
    [[nodiscard]] double bytes() const noexcept { return bytes_; }

private:
    friend class SumLookup;
    class ListMaker;
    class Lookout;

    std::shared_ptr<const AgentOutlook> look(std::size_t i, const std::vector<Index>& action,
                                             Index from, std::optional<ClassId> start);
    std::shared_ptr<const AgentOutlook> find(std::size_t i, const std::vector<Index>& action,
                                             Index from);
    std::shared_ptr<AgentOutlook> begin(std::size_t i, const std::vector<Index>& action,
                                        Index from);
    static void mark_reached(const CompiledAgent& agent, AgentOutlook& outlook, ClassId start,
                             std::size_t layers);
    std::shared_ptr<const Base> add(const LocalPolicy& policy, const Standing* from);

    // The distinct lists of one agent. An entry is two words: layer and signal, then the bits of
    // the chance. Lists are told apart by what they are made of: signals now, lists of outcomes.
    class Lists {
    public:
        SequencePool origins;

        [[nodiscard]] std::span<const SequencePool::Word> operator[](Index list) const {
            return lists_[list];
        }
        // One more, of two parts.
        void add(std::span<const SequencePool::Word> first,
                 std::span<const SequencePool::Word> second);

    private:
        // In pieces that stay where they are: to copy them all would take as much memory again.
        std::vector<std::unique_ptr<SequencePool::Word[]>> pieces_;
        std::size_t left_ = 0;  // words in the last piece
        SequencePool::Word* free_ = nullptr;
        std::vector<std::span<const SequencePool::Word>> lists_;
    };
    void make_bonds();

    const CompiledModel& model_;
    Monitor& monitor_;
    double most_bytes_;
    double bytes_ = 0;
    Reservation memory_;  // of them, as far as they are counted
    std::vector<std::size_t> signals_;
    std::vector<std::vector<char>> heard_;  // per agent, [layer * signals + signal]
    std::vector<Bond> bonds_;
    std::vector<std::vector<Index>> bonds_of_;
    std::vector<std::vector<std::pair<Index, Index>>> sums_of_;
    std::vector<Lists> lists_;
    std::vector<std::vector<std::weak_ptr<const AgentOutlook>>> known_;
};

// What an aggregate is expected to bring if its members act apart, as their lists say. For one
// thread.
class SumLookup {
public:
    explicit SumLookup(const Outlooks& outlooks) : outlooks_(outlooks) {}

    // Nobody adds anything yet. Layers before `from` are left out.
    void begin(Index aggregate, Index from = 0);
    // One more member acts as a list says.
    void add(std::size_t member, Index list);
    [[nodiscard]] double expected();
    // How much one more member would change that.
    [[nodiscard]] double gain(std::size_t member, Index list);

    // Numbers that were looked at, since the last call.
    std::uint64_t take_work() { return std::exchange(work_, 0); }

private:
    template <class Visit>
    void for_each_layer(std::size_t member, Index list, const Visit& visit);

    const Outlooks& outlooks_;
    const CompiledAggregate* aggregate_ = nullptr;
    Index from_ = 0;
    std::vector<std::vector<double>> sums_;  // per layer at which it counts: chances of sums
    std::vector<std::pair<Index, double>> amounts_;
    std::uint64_t work_ = 0;
};

// Sums over bonds and aggregates for one thread: remembers the expected interactions of few agents.
class Lookup {
public:
    // It remembers 2^bits sums per bond.
    static constexpr unsigned kBits = 14;
    explicit Lookup(const Outlooks& outlooks, unsigned bits = kBits);

    double expected(Index bond, const std::vector<Index>& list_of_agent);

    // The value of following the base from a joint state on; constants are not counted.
    double value(const Base& base, std::span<const ClassId> classes);
    // The same when the agents take these actions (numbers within the agent) first.
    double value(const Base& base, std::span<const Index> actions);

    // What an aggregate is expected to bring.
    double expected_sum(Index aggregate, const std::vector<Index>& list_of_agent);

    // Forgets everything: the lists may have changed.
    void clear();

    // Of aggregates, since the last call: what is not remembered takes work each time.
    std::uint64_t take_work() { return sum_.take_work(); }

    [[nodiscard]] static double bytes(const Outlooks& outlooks, unsigned bits = kBits);

private:
    struct Slot {
        std::uint64_t key;  // the lists side by side
        double value;
    };
    Slot& slot(Index bond, std::uint64_t key);

    double sum_over_bonds();

    const Outlooks& outlooks_;
    unsigned bits_;
    SumLookup sum_;
    std::vector<Slot> slots_;
    std::vector<Index> lists_;
};

}  // namespace coreplan
