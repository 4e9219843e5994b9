// The clusters of a bound and their shares, for whoever has them.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "engine/team_model.hpp"

namespace coreplan::bindings {

template <class T>
void bind_shares(nb::class_<T>& bound) {
    bound
        .def_prop_ro("clusters",
                     [](const T& self) {
                         std::vector<std::vector<Index>> clusters;
                         for (std::size_t c = 0; c < self.cluster_count(); ++c) {
                             auto& plain = clusters.emplace_back();
                             for (const AgentId agent : self.agents_of(c)) {
                                 plain.push_back(static_cast<Index>(at(agent)));
                             }
                         }
                         return clusters;
                     })
        .def(
            "share_of_agent",
            [](const T& self, std::size_t cluster, std::size_t member) {
                return to_numpy(self.share_of_agent(cluster, member));
            },
            nb::arg("cluster"), nb::arg("member"))
        .def(
            "pairs_of",
            [](const T& self, std::size_t cluster) {
                std::vector<std::pair<Index, Index>> pairs;
                for (const PairBlock* block : self.pairs_of(cluster)) {
                    pairs.emplace_back(static_cast<Index>(at(block->first)),
                                       static_cast<Index>(at(block->second)));
                }
                return pairs;
            },
            nb::arg("cluster"))
        // Rows are after-states of the pair's first agent, all layers; columns those of the second,
        // within the layer.
        .def(
            "pair_rows",
            [](const T& self, std::size_t cluster, std::size_t pair) {
                return to_numpy(self.pairs_of(cluster).at(pair)->row_begin);
            },
            nb::arg("cluster"), nb::arg("pair"))
        .def(
            "pair_columns",
            [](const T& self, std::size_t cluster, std::size_t pair) {
                return to_numpy(self.pairs_of(cluster).at(pair)->column);
            },
            nb::arg("cluster"), nb::arg("pair"))
        .def(
            "share_of_pair",
            [](const T& self, std::size_t cluster, std::size_t pair) {
                return to_numpy(self.share_of_pair(cluster, pair));
            },
            nb::arg("cluster"), nb::arg("pair"))
        // The interactions of three and more agents that a cluster answers for.
        .def(
            "wide_of", [](const T& self, std::size_t cluster) { return self.wide_of(cluster); },
            nb::arg("cluster"))
        // Per aggregate: its number in the description, the layers at which it counts, and the
        // price of a unit at each of them.
        .def_prop_ro("prices", [](const T& self) {
            std::vector<std::tuple<Index, std::vector<Index>, std::vector<double>>> prices;
            for (std::size_t e = 0; e < self.model().aggregates.size(); ++e) {
                const CompiledAggregate& aggregate = self.model().aggregates[e];
                prices.emplace_back(aggregate.number, aggregate.layers, self.prices(e));
            }
            return prices;
        });
}

}  // namespace coreplan::bindings
