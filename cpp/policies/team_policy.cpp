#include "policies/team_policy.hpp"

#include <algorithm>
#include <span>

namespace coreplan {

std::vector<Index> TeamPolicy::act(const CompiledModel& model, Index layer,
                                   const std::vector<ClassId>& classes) const {
    std::vector<Index> actions;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        actions.push_back(otherwise.action[i][at(classes[i])]);
    }
    std::vector<Index> row;
    for (const Cluster& cluster : clusters) {
        const JointTable& table = cluster.table;
        const std::size_t k = cluster.agents.size();
        row.clear();
        for (const AgentId who : cluster.agents) {
            row.push_back(static_cast<Index>(at(classes[at(who)])) -
                          model.agents[at(who)].layer_begin[layer]);
        }
        const auto range = std::ranges::equal_range(table.layer, layer);
        auto low = static_cast<std::size_t>(range.begin() - table.layer.begin());
        const auto end = static_cast<std::size_t>(range.end() - table.layer.begin());
        std::size_t high = end;
        const auto stored = [&](std::size_t e) {
            return std::span(table.classes).subspan(e * k, k);
        };
        while (low < high) {
            const std::size_t middle = (low + high) / 2;
            if (std::ranges::lexicographical_compare(stored(middle), row)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low == end || !std::ranges::equal(stored(low), row)) continue;
        for (std::size_t m = 0; m < k; ++m) {
            actions[at(cluster.agents[m])] = table.actions[low * k + m];
        }
    }
    return actions;
}

}  // namespace coreplan
