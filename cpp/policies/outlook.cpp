#include "policies/outlook.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "bounds/sums.hpp"

namespace coreplan {

namespace {

using Word = SequencePool::Word;

constexpr std::size_t kFirstPiece = 1U << 6U;  // words
constexpr std::size_t kDoublings = 8;
constexpr std::uint64_t kFree = ~std::uint64_t{0};
constexpr Index kNoList = ~Index{0};

Word when(std::size_t layer, std::size_t signal) { return (Word{layer} << 32U) | signal; }
std::size_t layer_of(Word word) { return static_cast<std::size_t>(word >> 32U); }
std::size_t signal_of(Word word) { return static_cast<std::size_t>(word & 0xffff'ffffU); }

// Adds `weight` times the second list to the first; `into` is overwritten.
void add_weighted(std::span<const Word> first, std::span<const Word> second, double weight,
                  std::vector<Word>& into) {
    into.clear();
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < first.size() || j < second.size()) {
        if (j == second.size() || (i < first.size() && first[i] < second[j])) {
            into.push_back(first[i]);
            into.push_back(first[i + 1]);
            i += 2;
            continue;
        }
        double chance = weight * std::bit_cast<double>(second[j + 1]);
        into.push_back(second[j]);
        if (i < first.size() && first[i] == second[j]) {
            chance += std::bit_cast<double>(first[i + 1]);
            i += 2;
        }
        into.push_back(std::bit_cast<Word>(chance));
        j += 2;
    }
}

// The chance that a list has for a layer and signal.
double chance_in(std::span<const Word> list, Word key) {
    std::size_t low = 0;
    std::size_t high = list.size() / 2;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (list[2 * middle] < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (2 * low == list.size() || list[2 * low] != key) return 0;
    return std::bit_cast<double>(list[2 * low + 1]);
}

}  // namespace

Outlooks::Outlooks(const CompiledModel& model, double most_bytes, Monitor& monitor)
    : model_(model),
      monitor_(monitor),
      most_bytes_(most_bytes),
      memory_(monitor),
      signals_(signal_counts(model)),
      heard_(model.agents.size()),
      bonds_of_(model.agents.size()),
      sums_of_(model.agents.size()),
      lists_(model.agents.size()),
      known_(model.agents.size()) {
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        heard_[i].assign(model.layer_count() * signals_[i], 0);
        lists_[i].origins.intern({});
        lists_[i].add({}, {});
    }
    for (const CompiledInteraction& interaction : model.interactions) {
        for (const auto& [stage, value] : interaction.values) {
            for (const InteractionMember& member : interaction.members) {
                const std::size_t i = at(member.agent);
                heard_[i][(stage - model.first_stage) * signals_[i] + at(member.signal)] = 1;
            }
        }
    }
    for (std::size_t e = 0; e < model.aggregates.size(); ++e) {
        const CompiledAggregate& aggregate = model.aggregates[e];
        for (std::size_t m = 0; m < aggregate.members.size(); ++m) {
            const AggregateMember& member = aggregate.members[m];
            const std::size_t i = at(member.agent);
            if (aggregate.layers.empty()) continue;
            sums_of_[i].emplace_back(static_cast<Index>(e), static_cast<Index>(m));
            for (const Index layer : aggregate.layers) {
                for (const auto& [signal, units] : member.units) {
                    heard_[i][layer * signals_[i] + at(signal)] = 1;
                }
            }
        }
    }
    make_bonds();
}

void Outlooks::Lists::add(std::span<const Word> first, std::span<const Word> second) {
    const std::size_t size = first.size() + second.size();
    if (size > left_) {
        const std::size_t words =
            std::max(size, kFirstPiece << std::min(pieces_.size(), kDoublings));
        pieces_.push_back(std::make_unique_for_overwrite<Word[]>(words));
        free_ = pieces_.back().get();
        left_ = words;
    }
    const std::span list(free_, size);
    std::ranges::copy(second, std::ranges::copy(first, list.begin()).out);
    lists_.push_back(list);
    free_ += size;
    left_ -= size;
}

void Outlooks::make_bonds() {
    std::map<std::vector<Index>, std::size_t> bond_of;
    const std::size_t layers = model_.layer_count();
    for (std::size_t e = 0; e < model_.interactions.size(); ++e) {
        const CompiledInteraction& interaction = model_.interactions[e];
        if (interaction.values.empty()) continue;
        std::vector<Index> agents;
        for (const InteractionMember& member : interaction.members) {
            agents.push_back(static_cast<Index>(at(member.agent)));
        }
        std::ranges::sort(agents);
        const auto [found, is_new] = bond_of.try_emplace(agents, bonds_.size());
        if (is_new) {
            for (const Index i : agents) bonds_of_[i].push_back(static_cast<Index>(bonds_.size()));
            bonds_.emplace_back().agents = agents;
        }
        Bond& bond = bonds_[found->second];
        bond.interactions.push_back(static_cast<Index>(e));
        bond.gains = bond.gains || std::ranges::any_of(interaction.values, [](const auto& each) {
                         return each.second > 0;
                     });
        if (agents.size() != 2) continue;
        const auto signal_of_agent = [&](Index i) {
            return at(std::ranges::find(interaction.members, AgentId{i}, &InteractionMember::agent)
                          ->signal);
        };
        const std::size_t row = signal_of_agent(agents[0]);
        const std::size_t column = signal_of_agent(agents[1]);
        const std::size_t width = signals_[agents[1]];
        if (bond.matrix_of_layer.empty()) bond.matrix_of_layer.assign(layers, Bond::kNone);
        for (const auto& [stage, value] : interaction.values) {
            std::size_t& begin = bond.matrix_of_layer[stage - model_.first_stage];
            if (begin == Bond::kNone) {
                const std::size_t size = signals_[agents[0]] * width;
                const double bytes = static_cast<double>(size) * sizeof(double);
                memory_.take(bytes, "the tables of interactions");
                bytes_ += bytes;
                begin = bond.matrix.size();
                bond.matrix.resize(begin + size, 0.0);
            }
            bond.matrix[begin + row * width + column] += value;
        }
    }
}

std::shared_ptr<const Base> Outlooks::add(const LocalPolicy& policy) {
    return add(policy, static_cast<const Standing*>(nullptr));
}

std::shared_ptr<const Base> Outlooks::add(const LocalPolicy& policy, const Standing& from) {
    return add(policy, &from);
}

std::shared_ptr<const Base> Outlooks::add(const LocalPolicy& policy, const Standing* from) {
    auto base = std::make_shared<Base>();
    base->from = from == nullptr ? 0 : from->layer;
    try {
        for (std::size_t i = 0; i < model_.agents.size(); ++i) {
            auto outlook = look(i, policy.action[i], base->from,
                                from == nullptr ? std::nullopt : std::optional(from->classes[i]));
            if (outlook == nullptr) return nullptr;
            base->agents.push_back(std::move(outlook));
        }
    } catch (const LimitReached& limit) {
        if (limit.stop != Stop::memory_limit || monitor_.stop() != Stop::none) throw;
        return nullptr;
    }
    return base;
}

// Forward over the classes that the policy can get to.
void Outlooks::mark_reached(const CompiledAgent& agent, AgentOutlook& outlook, ClassId start,
                            std::size_t layers) {
    const Index first = outlook.first_class;
    auto& marks = outlook.marks;
    marks.assign(agent.class_count() - first, AgentOutlook::kUnknown);
    marks[at(start) - first] = AgentOutlook::kDeviated;
    for (Index c = first; c < agent.layer_begin[layers]; ++c) {
        const char mark = marks[c - first];
        if (mark == AgentOutlook::kUnknown) continue;
        const Index usual = agent.action_begin[c] + outlook.action[c];
        for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
            if (a != usual && mark != AgentOutlook::kDeviated) continue;
            const char passed_on = a == usual ? mark : static_cast<char>(AgentOutlook::kFollowed);
            const std::size_t k = at(agent.action_after[a]);
            for (Index o = agent.outcome_begin[k]; o < agent.outcome_begin[k + 1]; ++o) {
                char& next = marks[at(agent.outcome_next[o]) - first];
                next = std::max(next, passed_on);
            }
        }
    }
}

// Makes the list of one agent from the signals that it gives now and the lists of its outcomes.
class Outlooks::ListMaker {
public:
    ListMaker(Outlooks& all, std::size_t agent)
        : agent_(all.model_.agents[agent]),
          lists_(all.lists_[agent]),
          signals_(all.signals_[agent]),
          heard_(all.heard_[agent]),
          bytes_(all.bytes_) {}

    // Now the agent has given this label.
    void begin(std::size_t layer, std::size_t label) {
        list_signals(layer, label);
        origin_.clear();
        if (!now_.empty()) origin_.push_back(when(layer, label));
    }
    // One of the outcomes.
    void add(Index list, double chance) {
        if (list == 0) return;
        origin_.push_back(list);
        origin_.push_back(std::bit_cast<Word>(chance));
    }
    // The list that has this origin, made if there is none.
    Index finish(std::size_t& work) {
        work += 4 * origin_.size();
        if (origin_.empty()) return 0;
        // What is certain to follow is all there is.
        if (now_.empty() && origin_.size() == 2 && std::bit_cast<double>(origin_[1]) == 1) {
            return static_cast<Index>(origin_[0]);
        }
        const auto [id, is_new] = lists_.origins.intern(origin_);
        if (is_new) add_list(work);
        return id;
    }

private:
    // The signals that are given now and that somebody listens to.
    void list_signals(std::size_t layer, std::size_t label) {
        now_.clear();
        made_.clear();
        for (Index f = agent_.label_begin[label]; f < agent_.label_begin[label + 1]; ++f) {
            const Factor& factor = agent_.label_factor[f];
            if (at(factor.signal) >= signals_ ||
                heard_[layer * signals_ + at(factor.signal)] == 0) {
                continue;
            }
            made_.emplace_back(when(layer, at(factor.signal)), factor.chance);
        }
        std::ranges::sort(made_);
        for (const auto& [key, chance] : made_) {
            now_.push_back(key);
            now_.push_back(std::bit_cast<Word>(chance));
        }
    }

    void add_list(std::size_t& work) {
        sum_.clear();
        for (std::size_t w = now_.empty() ? 0 : 1; w < origin_.size(); w += 2) {
            add_weighted(sum_, lists_[static_cast<Index>(origin_[w])],
                         std::bit_cast<double>(origin_[w + 1]), wider_);
            std::swap(sum_, wider_);
            work += 2 * sum_.size();
        }
        // What happens now comes before all that happens later.
        lists_.add(now_, sum_);
        bytes_ +=
            static_cast<double>((origin_.size() + now_.size() + sum_.size() + 5) * sizeof(Word));
    }

    const CompiledAgent& agent_;
    Lists& lists_;
    std::size_t signals_;
    const std::vector<char>& heard_;
    double& bytes_;  // of all lists
    std::vector<std::pair<Word, double>> made_;
    std::vector<Word> now_;     // what is given now
    std::vector<Word> origin_;  // what a list is made of
    std::vector<Word> sum_;
    std::vector<Word> wider_;
};

// Looks ahead for one agent that follows a policy, from the last layer back.
class Outlooks::Lookout {
public:
    Lookout(Outlooks& all, std::size_t agent, AgentOutlook& outlook)
        : agent_(all.model_.agents[agent]),
          outlook_(outlook),
          maker_(all, agent),
          monitor_(all.monitor_) {}

    void look_at_layer(std::size_t layer) {
        for (Index c = agent_.layer_begin[layer]; c < agent_.layer_begin[layer + 1]; ++c) {
            const char mark = outlook_.mark(ClassId{c});
            if (mark == AgentOutlook::kUnknown) continue;
            const Index usual = agent_.action_begin[c] + outlook_.action[c];
            for (Index a = agent_.action_begin[c]; a < agent_.action_begin[c + 1]; ++a) {
                if (a != usual && mark != AgentOutlook::kDeviated) continue;
                const auto k = static_cast<Index>(at(agent_.action_after[a]));
                if (outlook_.after_list[k - outlook_.first_after] == kNoList) look_after(layer, k);
            }
            const std::size_t k = at(agent_.action_after[usual]) - outlook_.first_after;
            const std::size_t here = c - outlook_.first_class;
            outlook_.class_value[here] = agent_.action_reward[usual] + outlook_.after_value[k];
            outlook_.class_list[here] = outlook_.after_list[k];
        }
        monitor_.tick_or_throw(agent_.layer_begin[layer + 1] - agent_.layer_begin[layer] + 1U);
    }

private:
    // After an action, its outcome not known yet.
    void look_after(std::size_t layer, Index k) {
        maker_.begin(layer, at(agent_.after_label[k]));
        double value = 0;
        for (Index o = agent_.outcome_begin[k]; o < agent_.outcome_begin[k + 1]; ++o) {
            const std::size_t next = at(agent_.outcome_next[o]) - outlook_.first_class;
            value += agent_.outcome_probability[o] * outlook_.class_value[next];
            maker_.add(outlook_.class_list[next], agent_.outcome_probability[o]);
        }
        std::size_t work = 8;
        outlook_.after_list[k - outlook_.first_after] = maker_.finish(work);
        outlook_.after_value[k - outlook_.first_after] = value;
        monitor_.tick_or_throw(work);
    }

    const CompiledAgent& agent_;
    AgentOutlook& outlook_;
    ListMaker maker_;
    Monitor& monitor_;
};

Index Outlooks::combine(std::size_t agent, std::size_t layer, std::size_t label,
                        std::span<const std::pair<Index, double>> next) {
    ListMaker maker(*this, agent);
    maker.begin(layer, label);
    for (const auto& [list, chance] : next) maker.add(list, chance);
    std::size_t work = 8;
    const Index list = maker.finish(work);
    monitor_.tick_or_throw(work);
    if (bytes_ > memory_.bytes()) memory_.set(bytes_, "the lists of what agents will do");
    return list;
}

// What is known of an agent that acts like this, at least from a layer on; null if there is
// nothing.
std::shared_ptr<const AgentOutlook> Outlooks::find(std::size_t i, const std::vector<Index>& action,
                                                   Index from) {
    const auto begin = static_cast<std::ptrdiff_t>(model_.agents[i].layer_begin[from]);
    std::erase_if(known_[i], [](const auto& known) { return known.expired(); });
    for (const auto& weak : known_[i]) {
        auto known = weak.lock();
        if (known->from <= from &&
            std::equal(action.begin() + begin, action.end(), known->action.begin() + begin)) {
            return known;
        }
    }
    return nullptr;
}

// Nothing is known yet.
std::shared_ptr<AgentOutlook> Outlooks::begin(std::size_t i, const std::vector<Index>& action,
                                              Index from) {
    const CompiledAgent& agent = model_.agents[i];
    Reservation memory(monitor_);
    memory.take(static_cast<double>(agent.class_count() * (sizeof(double) + 2 * sizeof(Index)) +
                                    agent.after_label.size() * (sizeof(double) + sizeof(Index))),
                "what is expected of an agent");
    const std::shared_ptr<AgentOutlook> outlook = counted(std::move(memory), AgentOutlook{});
    outlook->action = action;
    outlook->from = from;
    outlook->first_class = agent.layer_begin[from];
    outlook->first_after = agent.after_layer_begin[from];
    outlook->class_value.assign(agent.class_count() - outlook->first_class, 0.0);
    outlook->class_list.assign(agent.class_count() - outlook->first_class, 0);
    outlook->after_value.assign(agent.after_label.size() - outlook->first_after, 0.0);
    outlook->after_list.assign(agent.after_label.size() - outlook->first_after, kNoList);
    return outlook;
}

std::shared_ptr<const AgentOutlook> Outlooks::look(std::size_t i, const std::vector<Index>& action,
                                                   Index from, std::optional<ClassId> start) {
    // Most bases differ in a few agents only.
    if (auto known = find(i, action, from)) return known;
    const std::shared_ptr<AgentOutlook> outlook = begin(i, action, from);
    if (start) mark_reached(model_.agents[i], *outlook, *start, model_.layer_count());
    Lookout lookout(*this, i, *outlook);
    for (std::size_t layer = model_.layer_count(); layer-- > from;) {
        if (bytes_ > most_bytes_) return nullptr;
        if (bytes_ > memory_.bytes()) memory_.set(bytes_, "the lists of what agents will do");
        lookout.look_at_layer(layer);
    }
    if (!start) known_[i].push_back(outlook);
    return outlook;
}

double Outlooks::expected(const Bond& bond, std::span<const Index> lists) const {
    double total = 0;
    if (bond.agents.size() == 2) {
        const auto first = lists_[bond.agents[0]][lists[0]];
        const auto second = lists_[bond.agents[1]][lists[1]];
        const std::size_t width = signals_[bond.agents[1]];
        std::size_t i = 0;
        std::size_t j = 0;
        while (i < first.size() && j < second.size()) {
            const std::size_t layer = layer_of(first[i]);
            const std::size_t other = layer_of(second[j]);
            if (layer < other) {
                i += 2;
            } else if (other < layer) {
                j += 2;
            } else {
                const std::size_t begin = bond.matrix_of_layer[layer];
                std::size_t end = j;
                while (end < second.size() && layer_of(second[end]) == layer) end += 2;
                for (; i < first.size() && layer_of(first[i]) == layer; i += 2) {
                    if (begin == Bond::kNone) continue;
                    const double* row = bond.matrix.data() + begin + signal_of(first[i]) * width;
                    const double chance = std::bit_cast<double>(first[i + 1]);
                    for (std::size_t k = j; k < end; k += 2) {
                        total += row[signal_of(second[k])] * chance *
                                 std::bit_cast<double>(second[k + 1]);
                    }
                }
                j = end;
            }
        }
        return total;
    }
    for (const Index e : bond.interactions) {
        const CompiledInteraction& interaction = model_.interactions[e];
        bool possible = true;
        for (const Index list : lists) possible = possible && list != 0;
        if (!possible) return 0;
        for (const auto& [stage, value] : interaction.values) {
            double product = value;
            for (const InteractionMember& member : interaction.members) {
                const auto where =
                    std::ranges::find(bond.agents, static_cast<Index>(at(member.agent)));
                const Index list = lists[static_cast<std::size_t>(where - bond.agents.begin())];
                product *= chance_in(lists_[at(member.agent)][list],
                                     when(stage - model_.first_stage, at(member.signal)));
                if (product == 0) break;
            }
            total += product;
        }
    }
    return total;
}

void SumLookup::begin(Index aggregate, Index from) {
    aggregate_ = &outlooks_.model().aggregates[aggregate];
    from_ = from;
    sums_.resize(std::max(sums_.size(), aggregate_->layers.size()));
    for (std::size_t l = 0; l < aggregate_->layers.size(); ++l) sums_[l].assign(1, 1.0);
    work_ += aggregate_->layers.size();
}

// Calls visit(l) for every layer at which a member may add something, with the amounts in
// `amounts_`; `l` is the position among the aggregate's layers.
template <class Visit>
void SumLookup::for_each_layer(std::size_t m, Index number, const Visit& visit) {
    const AggregateMember& member = aggregate_->members[m];
    const auto list = outlooks_.lists_[at(member.agent)][number];
    std::size_t l = 0;
    for (std::size_t w = 0; w < list.size();) {
        const std::size_t layer = layer_of(list[w]);
        amounts_.clear();
        for (; w < list.size() && layer_of(list[w]) == layer; w += 2) {
            const SignalId signal = as<SignalId>(signal_of(list[w]));
            const auto found = std::ranges::lower_bound(member.units, signal, {},
                                                        &std::pair<SignalId, Index>::first);
            if (found == member.units.end() || found->first != signal) continue;
            amounts_.emplace_back(found->second, std::bit_cast<double>(list[w + 1]));
        }
        while (l < aggregate_->layers.size() && aggregate_->layers[l] < layer) ++l;
        if (l == aggregate_->layers.size()) break;
        if (amounts_.empty() || layer < from_ || aggregate_->layers[l] != layer) continue;
        visit(l);
    }
    work_ += list.size();
}

void SumLookup::add(std::size_t member, Index list) {
    if (list == 0) return;
    for_each_layer(member, list, [&](std::size_t l) {
        add_amounts(sums_[l], amounts_);
        work_ += sums_[l].size() * (1 + amounts_.size());
    });
}

double SumLookup::expected() {
    double total = 0;
    for (std::size_t l = 0; l < aggregate_->layers.size(); ++l) {
        if (sums_[l].size() == 1) continue;  // nothing is earned for a sum of 0
        total += expected_value(aggregate_->table(aggregate_->layers[l]), sums_[l]);
        work_ += sums_[l].size();
    }
    return total;
}

double SumLookup::gain(std::size_t member, Index list) {
    if (list == 0) return 0;
    double total = 0;
    for_each_layer(member, list, [&](std::size_t l) {
        const std::span<const double> table = aggregate_->table(aggregate_->layers[l]);
        const double without = expected_value(table, sums_[l]);
        for (const auto& [units, chance] : amounts_) {
            total += chance * (expected_value(table, sums_[l], units) - without);
        }
        work_ += sums_[l].size() * (1 + amounts_.size());
    });
    return total;
}

Lookup::Lookup(const Outlooks& outlooks, unsigned bits)
    : outlooks_(outlooks),
      bits_(bits),
      sum_(outlooks),
      slots_(outlooks.bonds().size() << bits, Slot{kFree, 0.0}),
      lists_(outlooks.model().agents.size()) {}

double Lookup::bytes(const Outlooks& outlooks, unsigned bits) {
    return static_cast<double>(outlooks.bonds().size() << bits) * sizeof(Slot);
}

void Lookup::clear() { std::ranges::fill(slots_, Slot{kFree, 0.0}); }

Lookup::Slot& Lookup::slot(Index bond, std::uint64_t key) {
    std::uint64_t hash = key * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29U;
    return slots_[(std::size_t{bond} << bits_) + ((hash * 0xbf58476d1ce4e5b9ULL) >> (64U - bits_))];
}

double Lookup::expected(Index b, const std::vector<Index>& list_of_agent) {
    const Bond& bond = outlooks_.bonds()[b];
    if (bond.agents.size() == 2) {
        const Index pair[2] = {list_of_agent[bond.agents[0]], list_of_agent[bond.agents[1]]};
        if (pair[0] == 0 || pair[1] == 0) return 0;
        const std::uint64_t key = (std::uint64_t{pair[0]} << 32U) | pair[1];
        Slot& known = slot(b, key);
        if (known.key != key) known = {key, outlooks_.expected(bond, pair)};
        return known.value;
    }
    Index small[8];
    const std::size_t size = bond.agents.size();
    if (size <= 8) {
        const std::size_t bits = 64 / size;
        bool packs = true;  // into a key
        std::uint64_t key = 0;
        for (std::size_t m = 0; m < size; ++m) {
            small[m] = list_of_agent[bond.agents[m]];
            if (small[m] == 0) return 0;
            packs = packs && std::uint64_t{small[m]} >> bits == 0;
            key = (key << bits) | small[m];
        }
        if (!packs || key == kFree) return outlooks_.expected(bond, {small, size});
        Slot& known = slot(b, key);
        if (known.key != key) known = {key, outlooks_.expected(bond, {small, size})};
        return known.value;
    }
    std::vector<Index> lists;
    for (const Index i : bond.agents) lists.push_back(list_of_agent[i]);
    return outlooks_.expected(bond, lists);
}

double Lookup::sum_over_bonds() {
    double total = 0;
    for (Index b = 0; b < outlooks_.bonds().size(); ++b) total += expected(b, lists_);
    for (Index e = 0; e < outlooks_.model().aggregates.size(); ++e) {
        total += expected_sum(e, lists_);
    }
    return total;
}

double Lookup::expected_sum(Index aggregate, const std::vector<Index>& list_of_agent) {
    sum_.begin(aggregate);
    const auto& members = outlooks_.model().aggregates[aggregate].members;
    for (std::size_t m = 0; m < members.size(); ++m) {
        sum_.add(m, list_of_agent[at(members[m].agent)]);
    }
    return sum_.expected();
}

double Lookup::value(const Base& base, std::span<const ClassId> classes) {
    double total = 0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        total += base.agents[i]->value(classes[i]);
        lists_[i] = base.agents[i]->list(classes[i]);
    }
    return total + sum_over_bonds();
}

double Lookup::value(const Base& base, std::span<const Index> actions) {
    double total = 0;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        const CompiledAgent& agent = outlooks_.model().agents[i];
        const AfterId after = agent.action_after[actions[i]];
        total += agent.action_reward[actions[i]] + base.agents[i]->value(after);
        lists_[i] = base.agents[i]->list(after);
    }
    return total + sum_over_bonds();
}

}  // namespace coreplan
