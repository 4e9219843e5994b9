#include "model/compiled_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "support/sequence_pool.hpp"

namespace coreplan {

namespace {

using Word = SequencePool::Word;

// Rounding in sums of a few probabilities stays far below this; what formats allow is 1e-9.
constexpr double kUnitMassTolerance = 1e-13;

Word bits(double value) {
    return std::bit_cast<Word>(value + 0.0);  // -0.0 and 0.0 are one value
}

// Per agent and layer: which signals some arc matches.
std::vector<std::vector<bool>> signals_seen(const LocalGraph& graph, const AgentRewards& rewards,
                                            Index layers) {
    std::vector<std::vector<bool>> seen(layers, std::vector<bool>(rewards.signal_count(), false));
    for (Index layer = 0; layer < layers; ++layer) {
        const Index first = graph.choice_begin[graph.layer_begin[layer]];
        const Index last = graph.choice_begin[graph.layer_begin[layer + 1]];
        for (Index arc = graph.arc_begin[first]; arc < graph.arc_begin[last]; ++arc) {
            const std::size_t transition = at(graph.arc_base[arc]);
            for (Index k = rewards.transition_signal_begin[transition];
                 k < rewards.transition_signal_begin[transition + 1]; ++k) {
                seen[layer][at(rewards.transition_signal[k])] = true;
            }
        }
    }
    return seen;
}

// Keeps interactions only at stages at which all their members can match.
void compile_interactions(const LocalGraphs& graphs, CompiledModel& model, Monitor& monitor) {
    const Index layers = model.layer_count();
    double signals = 0;
    for (const AgentRewards& agent : graphs.rewards.agents) {
        signals += static_cast<double>(agent.signal_count());
    }
    monitor.reserve(layers * (signals / 8 + 64.0 * static_cast<double>(graphs.agents.size() + 2)),
                    "the stages of one agent");
    std::vector<std::vector<std::vector<bool>>> seen;
    for (std::size_t i = 0; i < graphs.agents.size(); ++i) {
        seen.push_back(signals_seen(graphs.agents[i], graphs.rewards.agents[i], layers));
    }
    model.interactions_at.resize(layers);
    model.values_at.resize(layers);
    for (const Interaction& interaction : graphs.rewards.interactions) {
        CompiledInteraction compiled{interaction.members, {}};
        for (Index layer = 0; layer < layers; ++layer) {
            const Index stage = model.first_stage + layer;
            const double value = interaction.value.at_stage(stage);
            const bool can_happen =
                value != 0 && std::ranges::all_of(compiled.members, [&](const auto& member) {
                    return seen[at(member.agent)][layer][at(member.signal)];
                });
            monitor.tick_or_throw(4);
            if (!can_happen) continue;
            model.interactions_at[layer].push_back(static_cast<Index>(model.interactions.size()));
            model.values_at[layer].push_back(value);
            compiled.values.emplace_back(stage, value);
            monitor.reserve(32, "the interactions");
        }
        if (!compiled.values.empty()) model.interactions.push_back(std::move(compiled));
    }
    for (Index layer = 0; layer < layers; ++layer) {
        model.constant_at.push_back(graphs.rewards.constant.at_stage(model.first_stage + layer));
    }
}

class AgentCompiler {
public:
    AgentCompiler(const CompiledModel& model, const LocalGraph& graph, const AgentRewards& rewards,
                  AgentId id, bool merge, Monitor& monitor)
        : model_(model), graph_(graph), rewards_(rewards), id_(id), merge_(merge), monitor_(monitor) {}

    CompiledAgent run() {
        const double choices = static_cast<double>(graph_.choice_base.size());
        const double nodes = static_cast<double>(graph_.node_count());
        const double arcs = static_cast<double>(graph_.arc_next.size());
        monitor_.reserve(nodes * 12 + choices * 28 + arcs * 12, "the compiled states of one agent");
        agent_.node_class.resize(graph_.node_count());
        agent_.node_choice_begin.assign(graph_.node_count() + 1, 0);
        live_.assign(rewards_.signal_count(), false);
        chance_.assign(rewards_.signal_count(), 0.0);
        agent_.label_begin.assign(1, 0);

        // Backwards, since merging looks at merged next nodes; turned round at the end.
        const Index layers = model_.layer_count();
        layers_.resize(layers + 1);
        merge_last_layer(layers);
        for (Index layer = layers; layer-- > 0;) merge_layer(layer);
        join_layers();
        return std::move(agent_);
    }

private:
    // The classes of one layer with numbers of their own.
    struct Layer {
        std::vector<Index> action_begin{0};
        std::vector<double> action_reward;
        std::vector<Index> action_after;
        std::vector<LabelId> after_label;
        std::vector<Index> outcome_begin{0};
        std::vector<Index> outcome_next;
        std::vector<double> outcome_probability;
        std::vector<Index> class_of;       // per node of the layer
        std::vector<ChoiceId> node_choice;  // per node of the layer, as many as its class has
        [[nodiscard]] Index class_count() const {
            return static_cast<Index>(action_begin.size()) - 1;
        }
    };

    void merge_last_layer(Index layer) {
        const Index nodes = graph_.layer_begin[layer + 1] - graph_.layer_begin[layer];
        Layer& last = layers_[layer];
        const Index classes = merge_ ? 1 : nodes;
        last.action_begin.assign(classes + 1, 0);
        for (Index k = 0; k < nodes; ++k) last.class_of.push_back(merge_ ? 0 : k);
    }

    void merge_layer(Index layer) {
        find_live_signals(layer);
        after_pool_.clear();
        class_pool_.clear();
        Layer& now = layers_[layer];
        for (Index node = graph_.layer_begin[layer]; node < graph_.layer_begin[layer + 1]; ++node) {
            signatures_.clear();
            for (Index c = graph_.choice_begin[node]; c < graph_.choice_begin[node + 1]; ++c) {
                signatures_.push_back(sign(layer, c));
            }
            now.class_of.push_back(merge_ ? merged_class(now) : own_class(now));
        }
    }

    struct Signature {
        double reward;
        Index after;
        ChoiceId choice;
        [[nodiscard]] bool same(const Signature& other) const {
            return after == other.after && bits(reward) == bits(other.reward);
        }
    };

    // A node of its own class, with all its actions.
    Index own_class(Layer& now) {
        for (const Signature& signature : signatures_) {
            add_action(now, signature);
            now.node_choice.push_back(signature.choice);
        }
        now.action_begin.push_back(static_cast<Index>(now.action_reward.size()));
        return now.class_count() - 1;
    }

    // The class that has the same set of actions; a new one keeps the order of its first node.
    Index merged_class(Layer& now) {
        std::size_t kept = 0;
        for (std::size_t k = 0; k < signatures_.size(); ++k) {
            const auto first = signatures_.begin();
            const auto end = first + static_cast<std::ptrdiff_t>(kept);
            if (std::none_of(first, end, [&](const Signature& s) { return s.same(signatures_[k]); })) {
                signatures_[kept++] = signatures_[k];
            }
        }
        signatures_.resize(kept);
        words_.clear();
        for (const Signature& signature : signatures_) {
            words_.push_back(bits(signature.reward));
            words_.push_back(signature.after);
        }
        sort_pairs(words_);
        const auto [id, is_new] = class_pool_.intern(words_);
        if (is_new) {
            for (const Signature& signature : signatures_) add_action(now, signature);
            now.action_begin.push_back(static_cast<Index>(now.action_reward.size()));
        }
        for (Index a = now.action_begin[id]; a < now.action_begin[id + 1]; ++a) {
            const Signature wanted{now.action_reward[a], now.action_after[a], ChoiceId{0}};
            const auto found = std::ranges::find_if(
                signatures_, [&](const Signature& s) { return s.same(wanted); });
            now.node_choice.push_back(found->choice);
        }
        return id;
    }

    static void add_action(Layer& now, const Signature& signature) {
        now.action_reward.push_back(signature.reward);
        now.action_after.push_back(signature.after);
    }

    static void sort_pairs(std::vector<Word>& words) {
        struct Pair {
            Word first, second;
            auto operator<=>(const Pair&) const = default;
        };
        static_assert(sizeof(Pair) == 2 * sizeof(Word));
        std::vector<Pair> pairs;
        pairs.reserve(words.size() / 2);
        for (std::size_t k = 0; k < words.size(); k += 2) pairs.push_back({words[k], words[k + 1]});
        std::ranges::sort(pairs);
        for (std::size_t k = 0; k < pairs.size(); ++k) {
            words[2 * k] = pairs[k].first;
            words[2 * k + 1] = pairs[k].second;
        }
    }

    // The signals that some interaction looks at in this layer.
    void find_live_signals(Index layer) {
        live_.assign(live_.size(), false);
        for (const Index e : model_.interactions_at[layer]) {
            for (const InteractionMember& member : model_.interactions[e].members) {
                if (member.agent == id_) live_[at(member.signal)] = true;
            }
        }
    }

    Signature sign(Index layer, Index choice) {
        double reward = 0;
        touched_.clear();
        outcomes_.clear();
        const Layer& next = layers_[layer + 1];
        const Index next_begin = graph_.layer_begin[layer + 1];
        for (Index arc = graph_.arc_begin[choice]; arc < graph_.arc_begin[choice + 1]; ++arc) {
            const double p = graph_.arc_probability[arc];
            reward += p * graph_.arc_reward[arc];
            outcomes_.emplace_back(next.class_of[at(graph_.arc_next[arc]) - next_begin], p);
            const std::size_t transition = at(graph_.arc_base[arc]);
            for (Index k = rewards_.transition_signal_begin[transition];
                 k < rewards_.transition_signal_begin[transition + 1]; ++k) {
                const std::size_t signal = at(rewards_.transition_signal[k]);
                if (!live_[signal]) continue;
                if (chance_[signal] == 0) touched_.push_back(static_cast<Index>(signal));
                chance_[signal] += p;
            }
        }
        monitor_.tick_or_throw(16 * (1 + outcomes_.size()));
        return {reward + 0.0, intern_after(layer, intern_label()), graph_.choice_base[choice]};
    }

    Index intern_label() {
        std::ranges::sort(touched_);
        words_.clear();
        for (const Index signal : touched_) {
            words_.push_back(signal);
            words_.push_back(bits(chance_[signal]));
        }
        const auto [id, is_new] = label_pool_.intern(words_);
        if (is_new) {
            for (const Index signal : touched_) {
                agent_.label_factor.push_back({SignalId{signal}, chance_[signal]});
            }
            agent_.label_begin.push_back(static_cast<Index>(agent_.label_factor.size()));
        }
        for (const Index signal : touched_) chance_[signal] = 0;
        return id;
    }

    Index intern_after(Index layer, Index label) {
        // Outcomes that lead to the same class become one; stable, so sums have a fixed order.
        std::ranges::stable_sort(outcomes_, {}, &std::pair<Index, double>::first);
        std::size_t kept = 0;
        for (std::size_t k = 0; k < outcomes_.size(); ++k) {
            if (merge_ && kept > 0 && outcomes_[kept - 1].first == outcomes_[k].first) {
                outcomes_[kept - 1].second += outcomes_[k].second;
            } else {
                outcomes_[kept++] = outcomes_[k];
            }
        }
        outcomes_.resize(kept);
        words_.assign(1, label);
        for (const auto& [next, p] : outcomes_) {
            words_.push_back(next);
            words_.push_back(bits(p));
        }
        const auto [id, is_new] = after_pool_.intern(words_);
        if (is_new) {
            Layer& now = layers_[layer];
            now.after_label.push_back(LabelId{label});
            for (const auto& [next, p] : outcomes_) {
                now.outcome_next.push_back(next);
                now.outcome_probability.push_back(p);
            }
            now.outcome_begin.push_back(static_cast<Index>(now.outcome_next.size()));
        }
        return id;
    }

    void join_layers() {
        agent_.layer_begin.assign(1, 0);
        agent_.after_layer_begin.assign(1, 0);
        agent_.action_begin.assign(1, 0);
        agent_.outcome_begin.assign(1, 0);
        std::size_t node = 0;
        for (std::size_t l = 0; l < layers_.size(); ++l) {
            Layer& layer = layers_[l];
            const Index class_base = agent_.layer_begin.back();
            const Index next_base = class_base + layer.class_count();
            const auto after_base = static_cast<Index>(agent_.after_label.size());
            const auto action_base = static_cast<Index>(agent_.action_reward.size());
            const auto outcome_base = static_cast<Index>(agent_.outcome_next.size());
            for (std::size_t c = 1; c < layer.action_begin.size(); ++c) {
                agent_.action_begin.push_back(action_base + layer.action_begin[c]);
            }
            for (std::size_t a = 0; a < layer.action_reward.size(); ++a) {
                agent_.action_reward.push_back(layer.action_reward[a]);
                agent_.action_after.push_back(AfterId{after_base + layer.action_after[a]});
            }
            for (std::size_t k = 0; k < layer.after_label.size(); ++k) {
                agent_.after_label.push_back(layer.after_label[k]);
                agent_.outcome_begin.push_back(outcome_base + layer.outcome_begin[k + 1]);
                double mass = 0;
                for (Index o = layer.outcome_begin[k]; o < layer.outcome_begin[k + 1]; ++o) {
                    mass += layer.outcome_probability[o];
                    agent_.outcome_next.push_back(ClassId{next_base + layer.outcome_next[o]});
                    agent_.outcome_probability.push_back(layer.outcome_probability[o]);
                }
                agent_.after_mass.push_back(mass);
            }
            std::size_t choice = 0;
            for (const Index id : layer.class_of) {
                agent_.node_class[node] = ClassId{class_base + id};
                const Index actions = layer.action_begin[id + 1] - layer.action_begin[id];
                for (Index a = 0; a < actions; ++a) {
                    agent_.node_choice.push_back(layer.node_choice[choice++]);
                }
                agent_.node_choice_begin[++node] = static_cast<Index>(agent_.node_choice.size());
            }
            agent_.layer_begin.push_back(next_base);
            agent_.after_layer_begin.push_back(static_cast<Index>(agent_.after_label.size()));
            layer = Layer{};
        }
    }

    const CompiledModel& model_;
    const LocalGraph& graph_;
    const AgentRewards& rewards_;
    AgentId id_;
    bool merge_;
    Monitor& monitor_;

    CompiledAgent agent_;
    std::vector<Layer> layers_;
    SequencePool label_pool_, after_pool_, class_pool_;
    std::vector<bool> live_;
    std::vector<double> chance_;
    std::vector<Index> touched_;
    std::vector<std::pair<Index, double>> outcomes_;
    std::vector<Signature> signatures_;
    std::vector<Word> words_;
};

}  // namespace

CompiledModel compile(const LocalGraphs& graphs, bool merge, Monitor& monitor) {
    CompiledModel model;
    model.first_stage = graphs.first_stage;
    model.horizon = graphs.horizon;
    compile_interactions(graphs, model, monitor);
    for (std::size_t i = 0; i < graphs.agents.size(); ++i) {
        model.agents.push_back(AgentCompiler(model, graphs.agents[i], graphs.rewards.agents[i],
                                             as<AgentId>(i), merge, monitor)
                                   .run());
        model.unit_mass =
            model.unit_mass && std::ranges::all_of(model.agents.back().after_mass, [](double mass) {
                return std::abs(mass - 1) <= kUnitMassTolerance;
            });
    }
    return model;
}

}  // namespace coreplan
