#include "model/agent_builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace coreplan {

namespace {

using Word = SequencePool::Word;

Word bits(double value) {
    return std::bit_cast<Word>(value + 0.0);  // -0.0 and 0.0 are one value
}

// Lists of actions and outcomes are short as a rule, and one comes for every choice: those of up to
// so many items are sorted in place.
constexpr std::size_t kShort = 24;

void sort_pairs(std::vector<Word>& words) {
    const std::size_t count = words.size() / 2;
    if (count <= kShort) {
        for (std::size_t k = 1; k < count; ++k) {
            for (std::size_t l = k; l > 0; --l) {
                Word* one = words.data() + 2 * (l - 1);
                if (one[0] < one[2] || (one[0] == one[2] && one[1] <= one[3])) break;
                std::swap(one[0], one[2]);
                std::swap(one[1], one[3]);
            }
        }
        return;
    }
    std::vector<std::pair<Word, Word>> pairs;
    pairs.reserve(count);
    for (std::size_t k = 0; k < count; ++k) pairs.emplace_back(words[2 * k], words[2 * k + 1]);
    std::ranges::sort(pairs);
    for (std::size_t k = 0; k < count; ++k) {
        words[2 * k] = pairs[k].first;
        words[2 * k + 1] = pairs[k].second;
    }
}

// By class; stable.
void sort_outcomes(std::vector<std::pair<Index, double>>& outcomes) {
    if (outcomes.size() > kShort) {
        std::ranges::stable_sort(outcomes, {}, &std::pair<Index, double>::first);
        return;
    }
    for (std::size_t k = 1; k < outcomes.size(); ++k) {
        for (std::size_t l = k; l > 0 && outcomes[l].first < outcomes[l - 1].first; --l) {
            std::swap(outcomes[l], outcomes[l - 1]);
        }
    }
}

}  // namespace

Word AgentBuilder::cell_of(double reward) const {
    return bits(grid_ > 0 ? std::round(reward / grid_) : reward);
}

AgentBuilder::AgentBuilder(Index layers, bool merge, double grid)
    : merge_(merge), grid_(grid), deviation_(layers + 1, 0.0), layers_(layers + 1) {
    agent_.label_begin.assign(1, 0);
}

double AgentBuilder::deviation() const {
    return std::accumulate(deviation_.begin(), deviation_.end(), 0.0);
}

void AgentBuilder::begin_layer(Index layer) {
    layer_ = layer;
    after_pool_.clear();
    class_pool_.clear();
    signatures_.clear();
}

void AgentBuilder::add_choice(double reward, std::span<const Factor> factors,
                              std::vector<std::pair<Index, double>>& outcomes, Index tag) {
    // Outcomes that lead to the same class become one; stable, so sums have a fixed order.
    sort_outcomes(outcomes);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < outcomes.size(); ++k) {
        if (merge_ && kept > 0 && outcomes[kept - 1].first == outcomes[k].first) {
            outcomes[kept - 1].second += outcomes[k].second;
        } else {
            outcomes[kept++] = outcomes[k];
        }
    }
    outcomes.resize(kept);
    const Index label = intern_label(factors);
    signatures_.push_back({reward + 0.0, cell_of(reward), intern_after(label, outcomes), tag});
}

Index AgentBuilder::end_node() {
    Layer& now = layers_[layer_];
    const Index id = merge_ ? merged_class(now) : own_class(now);
    now.class_of.push_back(id);
    signatures_.clear();
    return id;
}

Index AgentBuilder::intern_label(std::span<const Factor> factors) {
    words_.clear();
    for (const Factor& factor : factors) {
        words_.push_back(at(factor.signal));
        words_.push_back(bits(factor.chance));
    }
    const auto [id, is_new] = label_pool_.intern(words_);
    if (is_new) {
        agent_.label_factor.insert(agent_.label_factor.end(), factors.begin(), factors.end());
        agent_.label_begin.push_back(static_cast<Index>(agent_.label_factor.size()));
    }
    return id;
}

Index AgentBuilder::intern_after(Index label,
                                 const std::vector<std::pair<Index, double>>& outcomes) {
    words_.assign(1, label);
    for (const auto& [next, p] : outcomes) {
        words_.push_back(next);
        words_.push_back(bits(p));
    }
    const auto [id, is_new] = after_pool_.intern(words_);
    if (is_new) {
        Layer& now = layers_[layer_];
        now.after_label.push_back(LabelId{label});
        for (const auto& [next, p] : outcomes) {
            now.outcome_next.push_back(next);
            now.outcome_probability.push_back(p);
        }
        now.outcome_begin.push_back(static_cast<Index>(now.outcome_next.size()));
    }
    return id;
}

Index AgentBuilder::own_class(Layer& now) {
    for (const Signature& signature : signatures_) {
        now.action_reward.push_back(signature.reward);
        now.action_cell.push_back(signature.cell);
        now.action_after.push_back(signature.after);
        now.node_tag.push_back(signature.tag);
    }
    now.action_begin.push_back(static_cast<Index>(now.action_reward.size()));
    return now.class_count() - 1;
}

// The class that has the same set of actions; a new one keeps the order of its first node.
Index AgentBuilder::merged_class(Layer& now) {
    double& deviation = deviation_[layer_];
    std::size_t kept = 0;
    for (std::size_t k = 0; k < signatures_.size(); ++k) {
        const auto first = signatures_.begin();
        const auto end = first + static_cast<std::ptrdiff_t>(kept);
        const auto twin =
            std::find_if(first, end, [&](const Signature& s) { return s.same(signatures_[k]); });
        if (twin == end) {
            signatures_[kept++] = signatures_[k];
        } else {
            deviation = std::max(deviation, std::abs(twin->reward - signatures_[k].reward));
        }
    }
    signatures_.resize(kept);
    words_.clear();
    for (const Signature& signature : signatures_) {
        words_.push_back(signature.cell);
        words_.push_back(signature.after);
    }
    sort_pairs(words_);
    const auto [id, is_new] = class_pool_.intern(words_);
    if (is_new) {
        for (const Signature& signature : signatures_) {
            now.action_reward.push_back(signature.reward);
            now.action_cell.push_back(signature.cell);
            now.action_after.push_back(signature.after);
        }
        now.action_begin.push_back(static_cast<Index>(now.action_reward.size()));
    }
    for (Index a = now.action_begin[id]; a < now.action_begin[id + 1]; ++a) {
        const Signature wanted{now.action_reward[a], now.action_cell[a], now.action_after[a], 0};
        const auto found =
            std::ranges::find_if(signatures_, [&](const Signature& s) { return s.same(wanted); });
        now.node_tag.push_back(found->tag);
        deviation = std::max(deviation, std::abs(found->reward - wanted.reward));
    }
    return id;
}

// Classes in the order of how many actions they have, most first, which suits the tensor kernel.
// Without merging they stay in the order of their nodes.
std::vector<Index> AgentBuilder::class_order(const Layer& layer) const {
    std::vector<Index> order(layer.class_count());
    std::iota(order.begin(), order.end(), Index{0});
    if (merge_) {
        const auto& begin = layer.action_begin;
        std::ranges::stable_sort(order, [&](Index a, Index b) {
            return begin[a + 1] - begin[a] > begin[b + 1] - begin[b];
        });
    }
    return order;
}

CompiledAgent AgentBuilder::finish() {
    std::vector<std::vector<Index>> orders;
    std::vector<std::vector<Index>> places;  // the other way round
    for (const Layer& layer : layers_) {
        const auto& order = orders.emplace_back(class_order(layer));
        auto& place = places.emplace_back(order.size());
        for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = static_cast<Index>(k);
    }
    agent_.layer_begin.assign(1, 0);
    agent_.after_layer_begin.assign(1, 0);
    agent_.action_begin.assign(1, 0);
    agent_.outcome_begin.assign(1, 0);
    agent_.node_choice_begin.assign(1, 0);
    for (std::size_t t = 0; t < layers_.size(); ++t) {
        Layer& layer = layers_[t];
        const Index class_base = agent_.layer_begin.back();
        const Index next_base = class_base + layer.class_count();
        const auto after_base = static_cast<Index>(agent_.after_label.size());
        const auto outcome_base = static_cast<Index>(agent_.outcome_next.size());
        for (const Index c : orders[t]) {
            for (Index a = layer.action_begin[c]; a < layer.action_begin[c + 1]; ++a) {
                agent_.action_reward.push_back(layer.action_reward[a]);
                agent_.action_after.push_back(AfterId{after_base + layer.action_after[a]});
            }
            agent_.action_begin.push_back(static_cast<Index>(agent_.action_reward.size()));
        }
        for (std::size_t k = 0; k < layer.after_label.size(); ++k) {
            agent_.after_label.push_back(layer.after_label[k]);
            agent_.outcome_begin.push_back(outcome_base + layer.outcome_begin[k + 1]);
            double mass = 0;
            for (Index o = layer.outcome_begin[k]; o < layer.outcome_begin[k + 1]; ++o) {
                mass += layer.outcome_probability[o];
                agent_.outcome_next.push_back(
                    ClassId{next_base + places[t + 1][layer.outcome_next[o]]});
                agent_.outcome_probability.push_back(layer.outcome_probability[o]);
            }
            agent_.after_mass.push_back(mass);
        }
        std::size_t tag = 0;
        for (const Index id : layer.class_of) {
            agent_.node_class.push_back(ClassId{class_base + places[t][id]});
            const Index actions = layer.action_begin[id + 1] - layer.action_begin[id];
            for (Index a = 0; a < actions; ++a) {
                agent_.node_choice.push_back(ChoiceId{layer.node_tag[tag++]});
            }
            agent_.node_choice_begin.push_back(static_cast<Index>(agent_.node_choice.size()));
        }
        agent_.layer_begin.push_back(next_base);
        agent_.after_layer_begin.push_back(static_cast<Index>(agent_.after_label.size()));
        layer = Layer{};
    }
    return std::move(agent_);
}

}  // namespace coreplan
