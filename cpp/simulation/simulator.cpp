#include "simulation/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "support/work_list.hpp"

namespace coreplan {

namespace {

constexpr double kRounding = 1e-15;  // masses this close to 1 are 1

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Means and scatters of two sets of runs, taken together.
Moments together(const Moments& one, double count, const Moments& other, double other_count) {
    const double all = count + other_count;
    const double apart = other.mean - one.mean;
    return {one.mean + apart * (other_count / all),
            one.squares + other.squares + apart * apart * (count * (other_count / all))};
}

Moments moments_of(const std::vector<double>& values) {
    Moments moments;
    for (const double each : values) moments.mean += each;
    moments.mean /= static_cast<double>(values.size());
    for (const double each : values) {
        moments.squares += (each - moments.mean) * (each - moments.mean);
    }
    return moments;
}

}  // namespace

std::size_t RewardTable::cell_count() const {
    if (kind == CellKind::all) return 2;
    std::size_t cells = 1;
    if (kind == CellKind::sum) {
        for (const Index each : class_count) cells += each - 1;
        return cells;
    }
    for (const Index each : class_count) cells *= each;
    return cells;
}

Simulator::Simulator(Index stages, std::size_t sums, std::vector<SimulatedAgent> agents,
                     std::vector<std::vector<AgentId>> parts, std::vector<RewardTable> tables,
                     std::array<std::uint64_t, 2> key, Monitor& monitor)
    : stages_(stages),
      sums_(sums),
      parts_(std::move(parts)),
      tables_(std::move(tables)),
      key_(key),
      monitor_(monitor),
      counts_memory_(monitor),
      blocks_memory_(monitor),
      decisions_(stages),
      moments_(sums) {
    for (SimulatedAgent& given : agents) add_agent(std::move(given));
    check_parts();
    for (const RewardTable& table : tables_) {
        check_table(table);
        counts_bytes_ += static_cast<double>(table.values.size()) * sizeof(std::uint64_t);
    }
    for (const Agent& agent : agents_) {
        counts_bytes_ += static_cast<double>(agent.event_count) * stages_ * sizeof(std::uint64_t);
    }
    counts_memory_.take(counts_bytes_, "counts of a simulation");
    counts_ = make_counts();
}

void Simulator::add_agent(SimulatedAgent given) {
    Agent& agent = agents_.emplace_back();
    const std::size_t outcomes = given.outcome_next.size();
    require(!given.outcome_begin.empty() && given.outcome_begin.back() == outcomes &&
                given.outcome_probability.size() == outcomes &&
                (given.outcome_event.empty() || given.outcome_event.size() == outcomes),
            "the arrays of an agent have different lengths");
    agent.start = given.start;
    agent.event_count = given.event_count;
    agent.upper.assign(outcomes, 0.0);
    for (std::size_t c = 0; c + 1 < given.outcome_begin.size(); ++c) {
        Law law{given.outcome_begin[c], given.outcome_begin[c + 1], 0.0};
        require(law.begin < law.end, "a choice has no outcome");
        Index likely = law.begin;  // the last outcome that can come about
        for (Index o = law.begin; o < law.end; ++o) {
            law.mass += given.outcome_probability[o];
            agent.upper[o] = law.mass;
            if (given.outcome_probability[o] > 0) likely = o;
        }
        for (Index o = law.begin; o < law.end; ++o) agent.upper[o] /= law.mass;
        // Rounding must not lead to what cannot come about, nor beyond the end.
        agent.upper[likely] = std::numeric_limits<double>::infinity();
        law.end = likely + 1;
        if (std::abs(law.mass - 1) <= kRounding) law.mass = 1;
        if (law.mass != 1) lossy_ = true;
        agent.laws.push_back(law);
    }
    for (const Index event : given.outcome_event) {
        require(event == kNoEvent || event < given.event_count, "an event has no place");
    }
    agent.next = std::move(given.outcome_next);
    agent.event = std::move(given.outcome_event);
}

void Simulator::check_parts() const {
    std::vector<bool> placed(agents_.size());
    for (const std::vector<AgentId>& part : parts_) {
        require(!part.empty(), "a part has no agents");
        for (const AgentId agent : part) {
            require(at(agent) < agents_.size() && !placed[at(agent)],
                    "an agent is in two parts, or there is no such agent");
            placed[at(agent)] = true;
        }
    }
    require(std::ranges::all_of(placed, [](bool each) { return each; }), "an agent is in no part");
}

void Simulator::check_table(const RewardTable& table) const {
    const std::size_t cells = table.cell_count();
    require(table.members.size() == table.classes.size() &&
                table.members.size() == table.class_count.size() && table.sum < sums_ &&
                !table.values.empty() && table.values.size() % cells == 0,
            "the parts of a table do not fit together");
    require(table.variant_at.empty() || table.variant_at.size() == stages_,
            "a table does not know all stages");
    for (const Index variant : table.variant_at) {
        require(variant == kNothing || variant < table.values.size() / cells,
                "a table has no such values");
    }
    for (std::size_t m = 0; m < table.members.size(); ++m) {
        require(at(table.members[m]) < agents_.size() &&
                    table.classes[m].size() == agents_[at(table.members[m])].next.size(),
                "a table does not know all outcomes");
        require(table.class_count[m] > 0, "a table has no classes");
        for (const Index each : table.classes[m]) {
            require(each < table.class_count[m], "a table has no such class");
        }
    }
}

Simulator::Counts Simulator::make_counts() const {
    Counts counts;
    for (const RewardTable& table : tables_) counts.cells.emplace_back(table.values.size());
    for (const Agent& agent : agents_) {
        counts.events.emplace_back(static_cast<std::size_t>(agent.event_count) * stages_);
    }
    return counts;
}

std::uint64_t Simulator::work_of_step() const noexcept {
    return kBlock * (10 * agents_.size() + 4 * tables_.size());
}

void Simulator::begin(std::size_t runs, std::size_t size) {
    require(size > 0 && runs_ % size == 0, "a smaller block must be the last one");
    blocks_.clear();
    blocks_memory_.give_back(blocks_memory_.bytes());
    const double each = static_cast<double>(sizeof(Index) * agents_.size() +
                                            sizeof(double) * (sums_ + 2) + sizeof(Random));
    blocks_memory_.take(each * static_cast<double>(runs), "runs of a simulation");
    for (std::size_t done = 0; done < runs; done += size) {
        Block& block = blocks_.emplace_back();
        block.first_run = runs_ + done;
        block.count = std::min(size, runs - done);
    }
    for (Scratch& scratch : scratch_) scratch.counts = make_counts();
}

void Simulator::begin_block(Block& block, std::size_t count) const {
    for (std::size_t run = 0; run < count; ++run) {
        const std::uint64_t number = Random(key_[1] ^ (block.first_run + run)).next();
        block.random.emplace_back(key_[0] + number);
    }
    if (lossy_) block.weight.assign(count, 1.0);
    for (const Agent& agent : agents_) block.state.emplace_back(count, agent.start);
    block.earned.assign(sums_, std::vector<double>(count, 0.0));
    block.unknown.resize(parts_.size());
}

bool Simulator::advance(unsigned threads) {
    const WorkList workers(threads);
    while (scratch_.size() < workers.threads()) {
        counts_memory_.take(counts_bytes_, "counts of a simulation");
        scratch_.emplace_back().counts = make_counts();
    }
    questions_.clear();
    std::vector<Block*> open;
    for (Block& block : blocks_) {
        if (block.stage < stages_) open.push_back(&block);
    }
    const bool all = workers.run(
        open.size(),
        [&](std::size_t piece, unsigned worker, Monitor& monitor) {
            Block& block = *open[piece];
            Scratch& scratch = scratch_[worker];
            if (block.state.empty()) begin_block(block, block.count);
            while (block.stage < stages_ && choose(block, scratch)) {
                move(block, scratch);
                earn(block, scratch);
                ++block.stage;
                if (monitor.tick(work_of_step())) return;
            }
            if (block.stage == stages_) finish(block);
        },
        monitor_);
    if (!all) return false;
    ask();
    if (!questions_.empty()) return false;
    add_up();
    return true;
}

// Looks up what the policy does; false if it has to be asked.
bool Simulator::choose(Block& block, Scratch& scratch) const {
    scratch.choice.resize(agents_.size());
    for (auto& each : scratch.choice) each.resize(block.count);
    bool known = true;
    std::vector<Index> state;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const std::vector<AgentId>& part = parts_[p];
        const std::size_t width = part.size();
        state.resize(width);
        const bool any = !decisions_[block.stage].empty();
        for (std::size_t run = 0; run < block.count; ++run) {
            for (std::size_t k = 0; k < width; ++k) state[k] = block.state[at(part[k])][run];
            const std::size_t row = any ? decisions_[block.stage][p].find(state) : Decisions::kNone;
            if (row == Decisions::kNone) {
                auto& unknown = block.unknown[p];
                unknown.insert(unknown.end(), state.begin(), state.end());
                known = false;
                continue;
            }
            const auto choices = decisions_[block.stage][p].choices(row, width);
            for (std::size_t k = 0; k < width; ++k) {
                scratch.choice[at(part[k])][run] = choices[k];
            }
        }
    }
    return known;
}

void Simulator::move(Block& block, Scratch& scratch) const {
    scratch.outcome.resize(agents_.size());
    for (std::size_t i = 0; i < agents_.size(); ++i) {
        const Agent& agent = agents_[i];
        const std::vector<Index>& choice = scratch.choice[i];
        std::vector<Index>& outcome = scratch.outcome[i];
        std::vector<Index>& state = block.state[i];
        outcome.resize(block.count);
        for (std::size_t run = 0; run < block.count; ++run) {
            const Law& law = agent.laws[choice[run]];
            Index drawn = law.begin;
            if (law.end - law.begin > 1) {
                const double number = block.random[run].unit();
                while (number >= agent.upper[drawn]) ++drawn;
            }
            outcome[run] = drawn;
            state[run] = agent.next[drawn];
            if (lossy_) block.weight[run] *= law.mass;
        }
        if (agent.event.empty()) continue;
        std::vector<std::uint64_t>& counts = scratch.counts.events[i];
        for (const Index each : outcome) {
            const Index event = agent.event[each];
            if (event != kNoEvent)
                ++counts[static_cast<std::size_t>(event) * stages_ + block.stage];
        }
    }
}

void Simulator::earn(Block& block, Scratch& scratch) const {
    std::vector<std::size_t> cell(block.count);
    for (std::size_t t = 0; t < tables_.size(); ++t) {
        const RewardTable& table = tables_[t];
        const Index variant = table.variant_at.empty() ? 0 : table.variant_at[block.stage];
        if (variant == kNothing) continue;
        std::ranges::fill(cell, table.kind == CellKind::all ? 1 : 0);
        for (std::size_t m = 0; m < table.members.size(); ++m) {
            const std::vector<Index>& outcome = scratch.outcome[at(table.members[m])];
            const std::vector<Index>& classes = table.classes[m];
            const std::size_t radix = table.kind == CellKind::sum ? 1 : table.class_count[m];
            if (table.kind == CellKind::all) {
                for (std::size_t run = 0; run < block.count; ++run) {
                    cell[run] &= classes[outcome[run]];
                }
            } else {
                for (std::size_t run = 0; run < block.count; ++run) {
                    cell[run] = cell[run] * radix + classes[outcome[run]];
                }
            }
        }
        const std::size_t first = variant * table.cell_count();
        const double* values = table.values.data() + first;
        std::uint64_t* counts = scratch.counts.cells[t].data() + first;
        std::vector<double>& earned = block.earned[table.sum];
        for (std::size_t run = 0; run < block.count; ++run) {
            ++counts[cell[run]];
            const double value = values[cell[run]];
            earned[run] += lossy_ ? block.weight[run] * value : value;
        }
    }
}

void Simulator::finish(Block& block) const {
    block.total.assign(block.count, 0.0);
    for (const std::vector<double>& earned : block.earned) {
        for (std::size_t run = 0; run < block.count; ++run) block.total[run] += earned[run];
        block.moments.push_back(moments_of(earned));
    }
    block.earned = {};
    block.state = {};
    block.random = {};
    block.weight = {};
}

// Collects the joint states that blocks wait for, each once.
void Simulator::ask() {
    std::map<std::pair<Index, std::size_t>, std::size_t> places;
    for (Block& block : blocks_) {
        if (block.stage == stages_) continue;
        std::vector<Decisions>& decisions = decisions_[block.stage];
        decisions.resize(parts_.size());
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const std::size_t width = parts_[p].size();
            const std::span<const Index> unknown(block.unknown[p]);
            for (std::size_t first = 0; first < unknown.size(); first += width) {
                const auto state = unknown.subspan(first, width);
                const std::size_t row = decisions[p].size();
                if (!decisions[p].add(state)) continue;
                const auto [place, is_new] =
                    places.try_emplace({block.stage, p}, questions_.size());
                if (is_new) questions_.push_back({block.stage, p, {}, row});
                auto& states = questions_[place->second].states;
                states.insert(states.end(), state.begin(), state.end());
            }
            block.unknown[p].clear();
        }
    }
}

void Simulator::answer(std::size_t question, const std::vector<Index>& choices) {
    const Question& asked = questions_.at(question);
    require(choices.size() == asked.states.size(), "an answer has another length");
    const std::vector<AgentId>& part = parts_[asked.part];
    Decisions& decisions = decisions_[asked.stage][asked.part];
    for (std::size_t k = 0; k < choices.size(); ++k) {
        require(choices[k] < agents_[at(part[k % part.size()])].laws.size(),
                "there is no such choice");
        decisions.choices(asked.first_row + k / part.size(), part.size())[k % part.size()] =
            choices[k];
    }
}

// Takes the runs that are through into account, in their order.
void Simulator::add_up() {
    for (const Block& block : blocks_) {
        for (std::size_t s = 0; s < sums_; ++s) {
            moments_[s] = together(moments_[s], static_cast<double>(runs_), block.moments[s],
                                   static_cast<double>(block.count));
        }
        runs_ += block.count;
    }
    const auto add = [](auto& to, const auto& from) {
        for (std::size_t k = 0; k < to.size(); ++k) {
            for (std::size_t c = 0; c < to[k].size(); ++c) to[k][c] += from[k][c];
        }
    };
    for (const Scratch& each : scratch_) {
        add(counts_.cells, each.counts.cells);
        add(counts_.events, each.counts.events);
    }
}

std::vector<double> Simulator::totals() const {
    std::vector<double> totals;
    for (const Block& block : blocks_) {
        totals.insert(totals.end(), block.total.begin(), block.total.end());
    }
    return totals;
}

double Simulator::decision_bytes() const {
    double bytes = 0;
    for (const auto& stage : decisions_) {
        for (const Decisions& each : stage) bytes += static_cast<double>(each.bytes());
    }
    return bytes;
}

void Simulator::forget() {
    for (auto& stage : decisions_) stage.clear();
}

}  // namespace coreplan
