#include "bounds/sums.hpp"

#include <algorithm>

namespace coreplan {

Amounts amounts_of(const AggregateMember& member, std::span<const double> chance,
                   std::size_t layers, std::size_t layer, double mass) {
    Amounts amounts;
    for (const auto& [signal, units] : member.units) {
        const double here = chance[at(signal) * layers + layer];
        if (here != 0) amounts.emplace_back(units, here / mass);
    }
    return amounts;
}

void add_amounts(std::vector<double>& sums, const Amounts& amounts) {
    if (amounts.empty()) return;
    double nothing = 1;
    Index most = 0;
    for (const auto& [units, chance] : amounts) {
        nothing -= chance;
        most = std::max(most, units);
    }
    nothing = std::max(0.0, nothing);  // rounding
    const std::size_t before = sums.size();
    sums.resize(before + most, 0.0);
    // From the top, so that what is read has not been written yet.
    for (std::size_t k = sums.size(); k-- > 0;) {
        double total = k < before ? sums[k] * nothing : 0.0;
        for (const auto& [units, chance] : amounts) {
            if (k >= units && k - units < before) total += sums[k - units] * chance;
        }
        sums[k] = total;
    }
}

double expected_value(std::span<const double> values, std::span<const double> sums,
                      std::size_t more) {
    double total = 0;
    for (std::size_t k = 0; k < sums.size(); ++k) total += sums[k] * values[k + more];
    return total;
}

}  // namespace coreplan
