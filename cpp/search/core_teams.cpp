#include "search/core_teams.hpp"

namespace coreplan {

CoreTeams::Shape& CoreTeams::shape_of(const std::vector<Index>& agents) {
    const auto [place, is_new] = known_.try_emplace(agents, static_cast<Index>(shapes_.size()));
    if (!is_new) return shapes_[place->second];
    memory_.take(static_cast<double>(agent_count_ + 4 * agents.size()) * sizeof(Index) +
                     (1U << kRecentBits) * 16.0,
                 "the sets of agents that can still interact");
    Shape& shape = shapes_.emplace_back();
    shape.number = place->second;
    shape.agents = agents;
    shape.position.assign(agent_count_, kNone);
    std::uint64_t weight = 1;
    bool fits = true;
    for (Index k = 0; k < agents.size(); ++k) {
        shape.position[agents[k]] = k;
        shape.weight.push_back(weight);
        shape.lists.push_back(independence_.runs(agents[k]).list_of.data());
        const std::uint64_t lists = independence_.runs(agents[k]).list_count();
        fits = fits && weight < (std::uint64_t{1} << 63U) / (lists + 1);
        if (fits) weight *= lists;
    }
    if (!fits) shape.weight.clear();
    shape.recent.resize(1U << kRecentBits);
    return shape;
}

const CoreTeams::Split& CoreTeams::look_up(Shape& shape, std::uint64_t code,
                                           std::span<const Index> nodes) {
    const auto place = shape.splits.find(code);
    if (place != shape.splits.end()) return *place->second;
    const Split& found = find(shape, nodes);
    memory_.take(64, "which agents can still interact");
    shape.splits.emplace(code, &found);
    return found;
}

const CoreTeams::Split& CoreTeams::find(const Shape& shape, std::span<const Index> nodes) {
    const std::vector<Index>& agents = shape.agents;
    const auto& groups = independence_.groups(agents, nodes);
    const auto [place, is_new] = made_.try_emplace({shape.number, &groups});
    if (!is_new) return place->second;
    for (const auto& positions : groups.positions) {
        std::vector<Index> members;
        for (const Index k : positions) members.push_back(agents[k]);
        place->second.parts.push_back({&shape_of(members), positions});
    }
    return place->second;
}

}  // namespace coreplan
