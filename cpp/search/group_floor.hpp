// Lower bounds of groups, from policies whose value is known by lookups.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "policies/outlook.hpp"
#include "search/shapes.hpp"

namespace coreplan {

class GroupFloor {
public:
    virtual ~GroupFloor() = default;
    // As in GroupBound: fills in `shape.lower`.
    virtual void prepare(Shape& shape) = 0;

    // What one thread asks through.
    class Eye {
    public:
        virtual ~Eye() = default;
        // Some policy earns at least that from there on; constants are not counted.
        virtual double lower(const Shape& shape, Index layer, std::span<const Status> where) = 0;
        // What the default earns, which is one policy for ever.
        virtual double usual(const Shape& shape, Index layer, std::span<const Status> where) = 0;
        // What the policy of `lower` does in a joint state, as positions among each agent's
        // actions. Whoever does so and asks again at the next stage earns no less than what was
        // said.
        virtual void act(const Shape& shape, Index layer, std::span<const Status> where,
                         std::vector<Index>& actions) = 0;
    };
    [[nodiscard]] virtual std::unique_ptr<Eye> eye() const = 0;
};

// The best of several bases: policies of which every agent looks at its own class only.
class BaseFloor final : public GroupFloor {
public:
    // Takes the policies that fit into memory; there has to be one at least.
    BaseFloor(const CompiledModel& model, std::span<const LocalPolicy> policies, Monitor& monitor);

    void prepare(Shape& shape) override;
    [[nodiscard]] std::unique_ptr<Eye> eye() const override;
    // The memory that what one thread asks through takes.
    [[nodiscard]] double eye_bytes() const { return Lookup::bytes(outlooks_); }
    [[nodiscard]] std::size_t bases() const noexcept { return bases_.size(); }

private:
    struct Bonds final : ShapeNotes {
        std::vector<Index> inside;
        // Aggregates, with (member, place in the group) for each agent of the group in them.
        std::vector<std::pair<Index, std::vector<std::pair<Index, Index>>>> sums;
    };
    class BaseEye;

    Outlooks outlooks_;
    std::vector<std::shared_ptr<const Base>> bases_;
};

}  // namespace coreplan
