// Sets of agents that the published search looks at, and how they fall apart.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "crg/independence.hpp"
#include "support/reservation.hpp"

namespace coreplan {

class CoreTeams {
public:
    static constexpr Index kNone = 0xffff'ffffU;

    CoreTeams(Independence& independence, std::size_t agent_count, Monitor& monitor)
        : independence_(independence), agent_count_(agent_count), memory_(monitor) {}

    struct Shape;
    struct Part {
        Shape* shape;
        std::vector<Index> positions;  // into the agents of the shape that fell apart
    };
    struct Split {
        std::vector<Part> parts;
    };
    struct Shape {
        Index number;
        std::vector<Index> agents;
        std::vector<Index> position;  // per agent of the problem; kNone if not in the shape
        // Splits by what the agents can still take part in, as one number (weights of the agents'
        // lists); none if there are too many lists for that.
        std::vector<std::uint64_t> weight;
        std::vector<const Index*> lists;  // per agent: the list of each node
        std::unordered_map<std::uint64_t, const Split*> splits;
        // Those that were asked for last, by the low digits of a hash.
        std::vector<std::pair<std::uint64_t, const Split*>> recent;
    };

    // Shapes stay where they are.
    Shape& shape_of(const std::vector<Index>& agents);

    // The groups of a shape's agents that can still interact, given their nodes.
    const Split& split(Shape& shape, std::span<const Index> nodes) {
        if (shape.weight.empty()) return find(shape, nodes);
        std::uint64_t code = 0;
        for (std::size_t k = 0; k < nodes.size(); ++k) {
            code += shape.weight[k] * shape.lists[k][nodes[k]];
        }
        auto& recent = shape.recent[(code * 0x9e37'79b9'7f4a'7c15U) >> (64U - kRecentBits)];
        if (recent.second == nullptr || recent.first != code) {
            recent = {code, &look_up(shape, code, nodes)};
        }
        return *recent.second;
    }

private:
    static constexpr unsigned kRecentBits = 8;

    const Split& look_up(Shape& shape, std::uint64_t code, std::span<const Index> nodes);
    const Split& find(const Shape& shape, std::span<const Index> nodes);

    Independence& independence_;
    std::size_t agent_count_;
    Reservation memory_;
    std::deque<Shape> shapes_;
    std::map<std::vector<Index>, Index> known_;
    // Per shape and answer; the answers stay where they are.
    std::map<std::pair<Index, const Independence::Groups*>, Split> made_;
};

}  // namespace coreplan
