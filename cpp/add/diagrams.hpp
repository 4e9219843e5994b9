// Algebraic decision diagrams: functions from boolean variables to numbers, as directed graphs in
// which equal parts are stored once.
//
// A node tests one variable and has two children, low (false) and high (true); variables are tested
// in ascending order on every path. A terminal holds a number. No node has equal children and no
// two nodes are alike, so a function has exactly one diagram: two functions are equal if and only
// if their diagrams have the same root. Numbers are equal if their bits are, except that -0.0 is
// stored as 0.0. Only finite numbers are stored; everything else is an overflow_error.
//
// Operations recurse over variables, never deeper than there are variables. They look at the
// monitor: when a limit strikes they throw LimitReached and leave every diagram as it was.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "support/ids.hpp"
#include "support/large_array.hpp"
#include "support/reservation.hpp"

namespace coreplan {

class Diagrams;

enum class DiagramNode : Index {};  // a node; valid as long as a Diagram holds it

// A function. It keeps its nodes alive, and must not outlive the Diagrams that made it.
class Diagram {
public:
    Diagram() = default;
    Diagram(const Diagram& other);
    Diagram(Diagram&& other) noexcept;
    Diagram& operator=(Diagram other) noexcept;
    ~Diagram();

    // Whether both are the same function.
    friend bool operator==(const Diagram& one, const Diagram& other) {
        return one.root() == other.root();
    }
    [[nodiscard]] DiagramNode root() const;

private:
    friend class Diagrams;
    Diagram(Diagrams* owner, Index slot) : owner_(owner), slot_(slot) {}

    Diagrams* owner_ = nullptr;
    Index slot_ = 0;
};

class Diagrams {
public:
    // The deepest recursion; keeps operations well within a thread's stack.
    static constexpr Index kMostVariables = 8192;

    // Variables are 0 .. variables - 1; what is smaller is tested first.
    Diagrams(Index variables, Monitor& monitor);
    Diagrams(const Diagrams&) = delete;
    Diagrams& operator=(const Diagrams&) = delete;

    // -- building. Variables have to be ascending, and above all that the parts test ------------

    Diagram constant(double value);
    Diagram decide(Index variable, const Diagram& low, const Diagram& high);

    // Row k where the variables, the first one first, are the bits of k. There may be fewer than
    // 2^variables rows, at least one: a variable is then not tested where only one of its values
    // leads to rows, so the numbers without a row share the values of others.
    Diagram table(std::span<const Index> variables, std::span<const Diagram> rows);

    // As `table`, where only some numbers, given ascending, have a row.
    Diagram table(std::span<const Index> variables,
                  std::span<const std::pair<std::uint64_t, Diagram>> rows);

    // As `table`, from (number, value) with ascending numbers; 0 elsewhere.
    Diagram sparse(std::span<const Index> variables,
                   std::span<const std::pair<std::uint64_t, double>> entries);

    // 1 where all variables have the given values, else 0.
    Diagram literals(std::span<const std::pair<Index, bool>> values);
    // 1 where all variables are true: how sets of variables are handed over.
    Diagram cube(std::span<const Index> variables);

    // -- point by point ------------------------------------------------------------------------

    Diagram plus(const Diagram& f, const Diagram& g);
    Diagram minus(const Diagram& f, const Diagram& g);
    Diagram times(const Diagram& f, const Diagram& g);
    Diagram max(const Diagram& f, const Diagram& g);
    Diagram min(const Diagram& f, const Diagram& g);
    // 1 where both have the same value, else 0.
    Diagram equal(const Diagram& f, const Diagram& g);

    // -- over variables ------------------------------------------------------------------------

    // The function where some variables have fixed values, given by `literals`.
    Diagram restrict(const Diagram& f, const Diagram& literals);
    // Sum, or maximum, over all values of the cube's variables.
    Diagram sum_out(const Diagram& f, const Diagram& cube);
    Diagram max_out(const Diagram& f, const Diagram& cube);
    // Σ f·g and max (f + g) over the cube's variables, without the diagram of f·g or f + g.
    Diagram sum_of_products(const Diagram& f, const Diagram& g, const Diagram& cube);
    Diagram max_of_sums(const Diagram& f, const Diagram& g, const Diagram& cube);
    // Variable v becomes to[v]; on the variables that f tests this has to keep their order.
    Diagram rename(const Diagram& f, std::span<const Index> to);

    // -- looking -------------------------------------------------------------------------------

    [[nodiscard]] double evaluate(const Diagram& f, const std::vector<bool>& values) const;
    // Nodes of a function, terminals included.
    [[nodiscard]] std::size_t node_count(const Diagram& f) const;
    // Paths from the root to terminals.
    [[nodiscard]] double path_count(const Diagram& f) const;

    [[nodiscard]] bool is_terminal(DiagramNode node) const {
        return nodes_[at(node)].level == kTerminal;
    }
    [[nodiscard]] double value(DiagramNode terminal) const { return nodes_[at(terminal)].number(); }
    [[nodiscard]] bool tests(DiagramNode node, Index variable) const {
        return nodes_[at(node)].level == variable;
    }
    // What is left of a node's function when a variable has a value, if no variable before that one
    // is tested.
    [[nodiscard]] DiagramNode cofactor(DiagramNode node, Index variable, bool value) const {
        const Node& here = nodes_[at(node)];
        if (here.level != variable) return node;
        return DiagramNode{value ? here.high : here.low};
    }

    // -- memory --------------------------------------------------------------------------------

    // Frees the nodes that no Diagram needs. Operations do this themselves when it is worth it.
    void collect();

    [[nodiscard]] std::size_t nodes_in_use() const noexcept { return in_use_; }
    [[nodiscard]] std::size_t peak_nodes() const noexcept { return peak_; }
    [[nodiscard]] std::uint64_t collections() const noexcept { return collections_; }

private:
    friend class Diagram;

    static constexpr std::uint16_t kTerminal = 0xFFFF;
    static constexpr std::uint16_t kFree = 0xFFFE;
    static constexpr Index kNone = 0xFFFF'FFFF;
    static constexpr Index kZero = 0;  // the nodes of the numbers 0 and 1
    static constexpr Index kOne = 1;

    // Sixteen bytes. A terminal's number is in the place of the children.
    struct Node {
        Index low, high;
        Index next;  // in the same bucket, or the next free node
        std::uint16_t level;
        mutable std::uint16_t mark;

        [[nodiscard]] double number() const;
    };
    struct Remembered {
        Index f, g, what;  // `what`: the operation and its third operand
        Index result;
    };
    struct Sizes;
    enum class Operation : Index;
    struct Plus;
    struct Minus;
    struct Times;
    struct Max;
    struct Min;
    struct Equal;
    struct SumOfProducts;
    struct MaxOfSums;

    Diagram hold(Index node);
    Index slot_for(Index node);
    [[nodiscard]] Index node_of(const Diagram& f) const;
    [[nodiscard]] Index checked(Index variable, Index child) const;

    Index terminal(double value);
    Index make(Index level, Index low, Index high);
    Index find_or_add(std::uint16_t level, Index low, Index high);
    Index build(std::span<const Index> variables, std::span<const Diagram> rows);
    Index build_some(std::span<const Index> variables,
                     std::span<const std::pair<std::uint64_t, Diagram>> rows, std::uint64_t first);
    Index build_sparse(std::span<const Index> variables,
                       std::span<const std::pair<std::uint64_t, double>> entries,
                       std::uint64_t first);

    template <class Op>
    Index apply(Index f, Index g);
    template <class Fold>
    Index fold(Index f, Index g, Index cube);
    Index restrict_to(Index f, Index literals);
    Index rename_to(Index f);
    // Runs an operation; once more after a collection if it ran out of memory.
    template <class Call>
    Diagram run(const Call& call);

    [[nodiscard]] std::size_t slot_of(Index f, Index g, Index what) const;
    [[nodiscard]] Index recall(Index f, Index g, Index what) const;
    void remember(Index f, Index g, Index what, Index result);
    void step();

    void grow();
    void resize(std::size_t capacity);
    void link_all();
    void mark(Index node) const;
    void unmark(Index node) const;

    Index variables_;
    Monitor& monitor_;
    Reservation memory_;

    LargeArray<Node> nodes_;
    std::size_t used_ = 0;    // nodes ever made; those behind are untouched
    std::size_t in_use_ = 0;  // of these, not free
    std::size_t peak_ = 0;
    std::size_t at_last_collection_ = 0;
    Index free_ = kNone;
    LargeArray<Index> buckets_;     // a power of two
    LargeArray<Remembered> cache_;  // likewise; what is older is overwritten
    std::uint64_t collections_ = 0;

    std::vector<Index> roots_;  // per slot: a node held by a Diagram
    std::vector<Index> free_slots_;

    std::vector<Index> renaming_;  // the last one
    Index renamings_ = 0;
};

}  // namespace coreplan
