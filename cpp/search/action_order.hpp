// Joint actions one by one, the most promising first, without enumerating their product.
//
// What a joint action promises is a sum of terms, each of which looks at few agents. Agents are
// decided one after the other, best first; what the undecided ones can still add is bounded by
// eliminating them one by one (exact if tables stay small, else by taking terms apart, which only
// makes the bound looser). Ties go to whoever has decided more, so plateaus do not have to be
// searched as a whole.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "support/ids.hpp"
#include "support/monitor.hpp"

namespace coreplan {

// A table over the choices of some agents; the last one's choice counts fastest.
struct ActionTerm {
    std::vector<Index> agents;  // positions in the group, ascending
    std::vector<double> value;
};

class ActionOrder {
public:
    virtual ~ActionOrder() = default;
    // A bound on all joint actions that have not come yet; minus infinity if none are left.
    [[nodiscard]] virtual double next_bound() const = 0;
    // The next joint action, as positions among each agent's actions. Its own value is at most
    // what `next_bound` said. False if none are left, a limit struck, or it gives up.
    virtual bool next(std::vector<Index>& actions, Monitor& monitor) = 0;
    // Of what it remembers, about.
    [[nodiscard]] virtual std::size_t bytes() const = 0;
};

// All joint actions, worked out at once: for groups with few of them.
class EnumeratedActions final : public ActionOrder {
public:
    EnumeratedActions(std::span<const Index> choices, std::span<const ActionTerm> terms);

    [[nodiscard]] double next_bound() const override;
    bool next(std::vector<Index>& actions, Monitor& monitor) override;
    [[nodiscard]] std::size_t bytes() const override;

private:
    struct Joint {
        double value;
        Index code;
        friend bool operator<(const Joint& one, const Joint& other) {
            return one.value != other.value ? one.value < other.value : one.code > other.code;
        }
    };
    std::vector<Index> choices_;
    std::vector<Joint> heap_;
};

class BestFirstActions final : public ActionOrder {
public:
    // `choices` has the number of actions of every agent of the group. It gives up when it would
    // have to remember more than `most_nodes` partial joint actions.
    BestFirstActions(std::span<const Index> choices, std::span<const ActionTerm> terms,
                     std::size_t most_nodes = ~std::size_t{0});

    [[nodiscard]] double next_bound() const override;
    bool next(std::vector<Index>& actions, Monitor& monitor) override;
    [[nodiscard]] std::size_t bytes() const override;

private:
    // A table over places in the order of decision, ascending; the last one counts fastest.
    struct Factor {
        std::vector<Index> places;
        std::vector<double> value;
    };
    struct Node {
        double bound;  // of all completions
        Index parent;
        Index depth;   // agents that are decided
        Index choice;  // of the last one
    };
    struct Later {
        const std::vector<Node>* nodes;
        bool operator()(Index a, Index b) const;
    };

    void add(const ActionTerm& term, const std::vector<Index>& place_of);
    void eliminate(std::size_t place);
    [[nodiscard]] double look_up(const Factor& factor) const;
    bool advance(Monitor& monitor);

    std::vector<Index> choices_;  // per agent of the group
    std::size_t most_nodes_;
    std::vector<Index> order_;  // agents with a choice, as they are decided
    // Per place: tables that are complete with it (terms, and bounds from later places), and what
    // was made of them by eliminating it.
    std::vector<std::vector<Factor>> bucket_;
    std::vector<std::vector<Factor>> message_;
    std::vector<Node> nodes_;
    std::vector<Index> heap_;    // best first
    std::vector<Index> digits_;  // per place, of the node in work
};

// Whichever is better for so many.
std::unique_ptr<ActionOrder> order_actions(std::span<const Index> choices,
                                           std::span<const ActionTerm> terms);

}  // namespace coreplan
