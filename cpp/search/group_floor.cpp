#include "search/group_floor.hpp"

#include <algorithm>
#include <limits>

namespace coreplan {

namespace {

constexpr double kMostListBytes = 256e6;

}  // namespace

class BaseFloor::BaseEye final : public GroupFloor::Eye {
public:
    explicit BaseEye(const BaseFloor& floor)
        : floor_(floor),
          lookup_(floor.outlooks_),
          sum_(floor.outlooks_),
          lists_(floor.outlooks_.model().agents.size()),
          hidden_(lists_.size()) {}

    double lower(const Shape& shape, Index layer, std::span<const Status> where) override {
        return find(shape, layer, where).first;
    }

    double usual(const Shape& shape, Index layer, std::span<const Status> where) override {
        return value_of(*floor_.bases_[0], shape, layer, where);
    }

    void act(const Shape& shape, Index layer, std::span<const Status> where,
             std::vector<Index>& actions) override {
        const Base& base = *floor_.bases_[find(shape, layer, where).second];
        actions.clear();
        for (std::size_t m = 0; m < where.size(); ++m) {
            actions.push_back(base.agents[at(shape.agents[m])]->action[at(where[m].class_id())]);
        }
    }

private:
    std::pair<double, std::size_t> find(const Shape& shape, Index layer,
                                        std::span<const Status> where) {
        std::pair<double, std::size_t> best{-std::numeric_limits<double>::infinity(), 0};
        for (std::size_t b = 0; b < floor_.bases_.size(); ++b) {
            const double value = value_of(*floor_.bases_[b], shape, layer, where);
            if (value > best.first) best = {value, b};
        }
        return best;
    }

    double value_of(const Base& base, const Shape& shape, Index layer,
                    std::span<const Status> where) {
        const auto& bonds = static_cast<const Bonds&>(*shape.lower);
        double value = 0;
        bool revealed = true;
        for (std::size_t m = 0; m < where.size(); ++m) {
            const std::size_t i = at(shape.agents[m]);
            const AgentOutlook& outlook = *base.agents[i];
            if (where[m].revealed()) {
                value += outlook.value(where[m].class_id());
                lists_[i] = outlook.list(where[m].class_id());
                hidden_[i] = {0, 0};
                continue;
            }
            revealed = false;
            const CompiledAgent& agent = floor_.outlooks_.model().agents[i];
            const std::size_t after = at(where[m].after_id());
            hidden_[i] = {agent.outcome_begin[after], agent.outcome_begin[after + 1]};
            for (Index o = hidden_[i].first; o < hidden_[i].second; ++o) {
                value += agent.outcome_probability[o] * outlook.value(agent.outcome_next[o]);
            }
        }
        for (const Index b : bonds.inside) {
            value += revealed ? lookup_.expected(b, lists_) : expected(base, b, 0);
        }
        for (const auto& [aggregate, members] : bonds.sums) {
            // Agents outside of the group add nothing as long as one inside can. Lists of
            // after-states begin one layer before.
            sum_.begin(aggregate, layer);
            for (const auto& [member, place] : members) {
                const AgentOutlook& outlook = *base.agents[at(shape.agents[place])];
                sum_.add(member, where[place].revealed() ? outlook.list(where[place].class_id())
                                                         : outlook.list(where[place].after_id()));
            }
            value += sum_.expected();
        }
        return value;
    }

    // What a bond is expected to bring, over the outcomes of its members from `m` on.
    double expected(const Base& base, Index bond, std::size_t m) {
        const std::vector<Index>& members = floor_.outlooks_.bonds()[bond].agents;
        while (m < members.size() && hidden_[members[m]].second == 0) ++m;
        if (m == members.size()) return lookup_.expected(bond, lists_);
        const std::size_t i = members[m];
        const CompiledAgent& agent = floor_.outlooks_.model().agents[i];
        double sum = 0;
        for (Index o = hidden_[i].first; o < hidden_[i].second; ++o) {
            lists_[i] = base.agents[i]->list(agent.outcome_next[o]);
            sum += agent.outcome_probability[o] * expected(base, bond, m + 1);
        }
        return sum;
    }

    const BaseFloor& floor_;
    Lookup lookup_;
    SumLookup sum_;
    // Per agent: its list, or outcomes that are not revealed.
    std::vector<Index> lists_;
    std::vector<std::pair<Index, Index>> hidden_;
};

BaseFloor::BaseFloor(const CompiledModel& model, std::span<const LocalPolicy> policies,
                     Monitor& monitor)
    : outlooks_(model, kMostListBytes, monitor) {
    for (const LocalPolicy& policy : policies) {
        auto base = outlooks_.add(policy);
        if (base != nullptr) bases_.push_back(std::move(base));
    }
    if (bases_.empty()) throw LimitReached(Stop::memory_limit, "no room for a policy's outlook");
}

void BaseFloor::prepare(Shape& shape) {
    auto notes = std::make_unique<Bonds>();
    for (std::size_t b = 0; b < outlooks_.bonds().size(); ++b) {
        const auto inside = [&](Index agent) {
            return std::ranges::binary_search(shape.agents, as<AgentId>(agent));
        };
        if (std::ranges::all_of(outlooks_.bonds()[b].agents, inside)) {
            notes->inside.push_back(static_cast<Index>(b));
        }
    }
    for (const Index e : shape.sums) {
        auto& sum = notes->sums.emplace_back(e, std::vector<std::pair<Index, Index>>{});
        const auto& members = outlooks_.model().aggregates[e].members;
        for (std::size_t m = 0; m < members.size(); ++m) {
            const auto found = std::ranges::lower_bound(shape.agents, members[m].agent);
            if (found == shape.agents.end() || *found != members[m].agent) continue;
            sum.second.emplace_back(static_cast<Index>(m),
                                    static_cast<Index>(found - shape.agents.begin()));
        }
    }
    shape.lower = std::move(notes);
}

std::unique_ptr<GroupFloor::Eye> BaseFloor::eye() const { return std::make_unique<BaseEye>(*this); }

}  // namespace coreplan
