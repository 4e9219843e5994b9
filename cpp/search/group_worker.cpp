#include "search/group_worker.hpp"

#include <map>
#include <thread>
#include <utility>

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTableWorth = 1.0;  // work on a group, per work of its table, that is worth one
constexpr double kFewOutcomes = 32;  // combinations that are revealed all at once
constexpr std::size_t kLevelBits = 12;
constexpr int kMostStale = 4;  // looks at groups that others work on

}  // namespace

void GroupSearch::Worker::grow_slots() {
    slots_.assign(std::max<std::size_t>(256, 4 * slots_.size()), 0);
    used_slots_.clear();
    for (std::size_t level = 0; level < levels_.size(); ++level) {
        for (std::size_t k = 0; k < levels_[level].size(); ++k) {
            const Partial& each = levels_[level][k];
            std::size_t s = hash_of(*each.shape, where_of(each)) & (slots_.size() - 1);
            while (slots_[s] != 0) s = (s + 1) & (slots_.size() - 1);
            slots_[s] = ((k << kLevelBits) | level) + 1;
            used_slots_.push_back(s);
        }
    }
}

// Remembers agents who stand somewhere; those who are there already become likelier.
void GroupSearch::Worker::put(Shape& shape, std::span<const Status> where, double weight) {
    if (4 * used_slots_.size() >= slots_.size()) grow_slots();
    std::size_t s = hash_of(shape, where) & (slots_.size() - 1);
    for (; slots_[s] != 0; s = (s + 1) & (slots_.size() - 1)) {
        const std::size_t code = slots_[s] - 1;
        Partial& each = levels_[code & ((1U << kLevelBits) - 1)][code >> kLevelBits];
        if (each.shape == &shape && std::ranges::equal(where_of(each), where)) {
            each.weight += weight;
            return;
        }
    }
    const std::size_t level = hidden_count(where);
    if (levels_.size() <= level) levels_.resize(level + 1);
    slots_[s] = ((levels_[level].size() << kLevelBits) | level) + 1;
    used_slots_.push_back(s);
    levels_[level].push_back({&shape, pool_.size(), weight});
    pool_.insert(pool_.end(), where.begin(), where.end());
}

// Takes apart those who cannot interact any more, and counts those whose value is known. Calls
// `meet(shape, where)` for every other group.
template <class Meet>
void GroupSearch::Worker::part(Shape& shape, Index layer, std::span<const Status> where,
                               double weight, const Way& way, const Meet& meet) {
    const auto take = [&](Shape& mine, std::span<const Status> own) {
        const ValueTable* exact = mine.exact.load(std::memory_order_acquire);
        if (exact == nullptr || way.follower != nullptr) {
            meet(mine, own);
        } else {
            way.joint.add(weight * shapes_.look_up(*exact, mine, layer, own));
        }
    };
    Index parts = 1;
    if (search_.options_.split) {
        lists_.clear();
        for (std::size_t m = 0; m < where.size(); ++m) {
            const AgentId agent = shape.agents[m];
            lists_.push_back(where[m].revealed()
                                 ? search_.couplings_.list(agent, where[m].class_id())
                                 : search_.couplings_.list(agent, where[m].after_id()));
        }
        parts = shapes_.split(shape, lists_, part_of_);
    }
    if (parts == 1) {
        take(shape, where);
        return;
    }
    std::vector<AgentId> agents;
    std::vector<Status> own;
    for (Index p = 0; p < parts; ++p) {
        agents.clear();
        own.clear();
        for (std::size_t m = 0; m < where.size(); ++m) {
            if (part_of_[m] != p) continue;
            agents.push_back(shape.agents[m]);
            own.push_back(where[m]);
        }
        take(shapes_.get(agents, way.monitor), own);
    }
}

// The same for outcomes in work: they are put with the others.
void GroupSearch::Worker::part_and_put(Shape& shape, Index layer, std::span<const Status> where,
                                       double weight, const Way& way) {
    part(shape, layer, where, weight, way,
         [&](Shape& mine, std::span<const Status> own) { put(mine, own, weight); });
}

// Combinations of outcomes that are not revealed.
double GroupSearch::Worker::outcomes(const Shape& shape, std::span<const Status> where) const {
    double count = 1;
    for (std::size_t m = 0; m < where.size(); ++m) {
        if (where[m].revealed()) continue;
        const auto& begin = model_.agents[at(shape.agents[m])].outcome_begin;
        const std::size_t after = at(where[m].after_id());
        count *= begin[after + 1] - begin[after];
    }
    return count;
}

// Reveals the outcome of the agent that most others are tied to.
void GroupSearch::Worker::reveal(const Partial& from, Index layer, const Way& way) {
    const auto before = where_of(from);
    std::vector<Status> where(before.begin(), before.end());
    std::size_t who = where.size();
    for (std::size_t m = 0; m < where.size(); ++m) {
        if (where[m].revealed()) continue;
        if (who == where.size() || from.shape->ties[m] > from.shape->ties[who]) who = m;
    }
    const CompiledAgent& agent = model_.agents[at(from.shape->agents[who])];
    const std::size_t after = at(where[who].after_id());
    for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1]; ++o) {
        where[who] = Status(agent.outcome_next[o]);
        part_and_put(*from.shape, layer, where, from.weight * agent.outcome_probability[o], way);
    }
}

// Reveals what is hidden as far as that is little, and hands over what is reached.
void GroupSearch::Worker::spread(Index layer, const Way& way) {
    for (std::size_t hidden = levels_.size(); hidden-- > 0;) {
        for (std::size_t k = 0; k < levels_[hidden].size(); ++k) {
            const Partial from = levels_[hidden][k];
            if (way.monitor.tick(cost::kArrival + cost::kArrivalAgent * from.shape->size()) ||
                way.monitor.stop() != Stop::none || (search_.full_ && way.follower == nullptr)) {
                break;
            }
            hand_over(from, hidden, layer, way);
        }
    }
    clear_outcomes();
}

// The same for one group, of which so many outcomes are hidden.
void GroupSearch::Worker::hand_over(const Partial& from, std::size_t hidden, Index layer,
                                    const Way& way) {
    const auto where = where_of(from);
    if (hidden > 0 && outcomes(*from.shape, where) <= kFewOutcomes) {
        reveal(from, layer, way);
    } else if (hidden > 0 && way.follower != nullptr) {
        const auto value = way.follower->value_hidden(*from.shape, layer, where, from.weight);
        if (value) way.joint.add(from.weight * *value);
        else reveal(from, layer, way);
    } else {
        arrive(*from.shape, layer, where, from.weight, way);
    }
}

void GroupSearch::Worker::clear_outcomes() {
    for (auto& level : levels_) level.clear();
    pool_.clear();
    for (const std::size_t s : used_slots_) slots_[s] = 0;
    used_slots_.clear();
}

// Makes a joint action ready: in the order in which they are taken over, which is the same for any
// number of threads, records get numbers, and sums go by these. Going on where there is one way on
// may have led to the same record twice.
void GroupSearch::Worker::settle(JointAction& joint) {
    auto& children = joint.children;
    {
        const std::lock_guard lock(search_.numbering_);
        for (const Child& each : children) search_.table_->number(*each.record);
    }
    join(children);
    joint.add_up();
    search_.note_terms(joint.terms);
}

void GroupSearch::Worker::join(std::vector<Child>& children) {
    if (children.size() < 2) return;
    std::ranges::stable_sort(children, {}, [](const Child& each) { return each.record->number; });
    std::size_t kept = 0;
    for (std::size_t k = 1; k < children.size(); ++k) {
        if (children[k].record == children[kept].record) {
            children[kept].weight += children[k].weight;
        } else {
            children[++kept] = children[k];
        }
    }
    children.resize(kept + 1);
    children.shrink_to_fit();
}

void GroupSearch::Worker::enter(Shape& shape, Index layer, std::span<const Status> where,
                                double weight, const Way& way) {
    clear_outcomes();  // a limit may have struck the last time
    part_and_put(shape, layer, where, weight, way);
    spread(layer, way);
}

void GroupSearch::Worker::lead(Shape& shape, Index layer, std::span<const Status> where,
                               const Way& way) {
    double reward = 0;
    double mass = 1;  // of agents with one outcome: 1, up to what the input says
    std::vector<AfterId> afters;
    std::vector<Status> next;
    for (std::size_t m = 0; m < where.size(); ++m) {
        const CompiledAgent& agent = model_.agents[at(shape.agents[m])];
        const Index action = agent.action_begin[at(where[m].class_id())] + way.joint.actions[m];
        const AfterId after = agent.action_after[action];
        const Index o = agent.outcome_begin[at(after)];
        reward += agent.action_reward[action];
        afters.push_back(after);
        if (agent.outcome_begin[at(after) + 1] == o + 1) {
            next.emplace_back(agent.outcome_next[o]);
            mass *= agent.outcome_probability[o];
        } else {
            next.emplace_back(after);
        }
    }
    reward += shapes_.interactions(shape, layer, afters);
    way.joint.add(reward);
    if (layer + 1 < model_.layer_count()) enter(shape, layer + 1, next, mass, way);
}

// Whether there is one way on for all; if so, what it brings and where it leads.
bool GroupSearch::Worker::go_on(Shape& shape, Index layer, std::span<const Status> where,
                                double& reward, std::vector<Status>& next) const {
    reward = 0;
    next.clear();
    std::vector<AfterId> afters;
    for (std::size_t m = 0; m < where.size(); ++m) {
        if (!where[m].revealed()) return false;
        const CompiledAgent& agent = model_.agents[at(shape.agents[m])];
        const std::size_t c = at(where[m].class_id());
        const Index a = agent.action_begin[c];
        const std::size_t after = at(agent.action_after[a]);
        const Index o = agent.outcome_begin[after];
        if (agent.action_begin[c + 1] != a + 1 || agent.outcome_begin[after + 1] != o + 1)
            return false;
        reward += agent.action_reward[a];
        afters.push_back(as<AfterId>(after));
        next.emplace_back(agent.outcome_next[o]);
    }
    reward += shapes_.interactions(shape, layer, afters);
    return true;
}

void GroupSearch::Worker::add_record(Shape& shape, Index layer, std::span<const Status> where,
                                     double weight, const Way& way) {
    Record* record = search_.table_->find(shape, where);
    if (record == nullptr) {
        const double lower = floor_of(shape, layer, where);
        const double upper = std::max(above_->upper(shape, layer, where), lower);
        if (upper - lower <= rounding_of(lower, upper)) {
            way.monitor.tick(shape.look_work);
            way.joint.add(weight * lower, weight * upper);
            return;
        }
        if (!search_.room_.take(record_bytes(shape))) {
            search_.full_ = true;
            return;
        }
        const auto made = search_.table_->insert(shape, layer, where, lower, upper);
        record = made.first;
        // Another thread may have been first: what is counted must not depend on that.
        if (made.second) {
            search_.records_.fetch_add(1, std::memory_order_relaxed);
            way.monitor.tick(cost::kRecord + shape.look_work);
        } else {
            search_.room_.give_back(record_bytes(shape));
        }
    }
    way.joint.lead_to(record, weight);
}

// A group that is reached: goes on while there is one way on, then makes it a child.
void GroupSearch::Worker::arrive(Shape& shape, Index layer, std::span<const Status> where,
                                 double weight, const Way& way) {
    if (way.follower != nullptr) {
        way.follower->meet(shape, layer, where, weight);
        return;
    }
    struct Place {
        Shape* shape;
        Index layer;
        std::vector<Status> where;
    };
    double reward = 0;
    std::vector<Status> next;
    std::vector<Place> left{{&shape, layer, {where.begin(), where.end()}}};
    while (!left.empty()) {
        const Place here = std::move(left.back());
        left.pop_back();
        if (!skips() || !go_on(*here.shape, here.layer, here.where, reward, next)) {
            add_record(*here.shape, here.layer, here.where, weight, way);
            continue;
        }
        way.joint.add(weight * reward);
        if (here.layer + 1 == model_.layer_count()) continue;
        part(*here.shape, here.layer + 1, next, weight, way,
             [&](Shape& mine, std::span<const Status> own) {
                 left.push_back({&mine, here.layer + 1, {own.begin(), own.end()}});
             });
    }
}

void GroupSearch::Worker::begin(Record& record, Monitor& monitor) {
    auto body = std::make_unique<Body>();
    double bytes = sizeof(Body);
    if (hidden_count(record.where()) > 0) {
        // Reveal one outcome at least.
        JointAction joint;
        clear_outcomes();
        pool_.assign(record.where().begin(), record.where().end());
        const Way way{joint, monitor};
        reveal({record.shape, 0, 1.0}, record.layer, way);
        spread(record.layer, way);
        if (monitor.stop() != Stop::none || search_.full_) return;  // it may not be whole
        bytes += joint.bytes();
        body->joint_actions.push_back(std::move(joint));
    }
    if (!search_.room_.take(bytes)) search_.full_ = true;
    record.body = std::move(body);
    if (hidden_count(record.where()) == 0) order_actions_of(record, monitor);
    search_.expanded_.fetch_add(1, std::memory_order_relaxed);
}

// Makes a record ready to be looked into; false if a limit struck.
bool GroupSearch::Worker::open(Record& record, Monitor& monitor) {
    const bool fresh = record.body == nullptr;
    if (!prepare(record, monitor)) return false;
    if (fresh && !record.body->joint_actions.empty()) settle(record.body->joint_actions.front());
    return true;
}

// The same, but joint actions are not settled yet.
bool GroupSearch::Worker::prepare(Record& record, Monitor& monitor) {
    if (record.body == nullptr) begin(record, monitor);
    if (record.body == nullptr) return false;
    if (record.body->stale) order_actions_of(record, monitor);
    return true;
}

void GroupSearch::Worker::order_actions_of(Record& record, Monitor& monitor) {
    std::vector<Index> choices;
    std::vector<ClassId> classes;
    for (std::size_t m = 0; m < record.shape->size(); ++m) {
        const CompiledAgent& agent = model_.agents[at(record.shape->agents[m])];
        const std::size_t c = at(record.where()[m].class_id());
        choices.push_back(agent.action_begin[c + 1] - agent.action_begin[c]);
        classes.push_back(as<ClassId>(c));
    }
    above_->terms(*record.shape, record.layer, classes, terms_);
    Body& body = *record.body;
    body.order = order_actions(choices, terms_);
    body.stale = false;
    monitor.tick(cost::kOrderByte * body.order->bytes());
    const auto bytes = static_cast<double>(body.order->bytes());
    if (bytes > body.order_bytes) {
        if (!search_.room_.take(bytes - body.order_bytes)) search_.full_ = true;
        body.order_bytes = bytes;
    }
}

// Builds the next joint action; false if there is none, or a limit struck.
bool GroupSearch::Worker::add_action(Record& record, Monitor& monitor) {
    JointAction joint;
    if (!next_action(record, joint, monitor)) return false;
    return joint.actions.empty() || build(record, std::move(joint), monitor);
}

// The next joint action, without any if it is there already; false if there is none, or a limit
// struck.
bool GroupSearch::Worker::next_action(Record& record, JointAction& joint, Monitor& monitor) {
    const auto known = [&](const JointAction& each) { return each.actions == joint.actions; };
    if (!record.body->order->next(joint.actions, monitor)) return false;
    // What a policy does, or what came before the bound changed, may be there already.
    if (std::ranges::any_of(record.body->joint_actions, known)) joint.actions.clear();
    return true;
}

// Finds out where a joint action leads, and keeps it.
bool GroupSearch::Worker::build(Record& record, JointAction joint, Monitor& monitor) {
    // If a limit strikes, it may not be whole, and it must not get lost.
    const bool stale = std::exchange(record.body->stale, true);
    lead(*record.shape, record.layer, record.where(), {joint, monitor});
    if (monitor.stop() != Stop::none || search_.full_) return false;
    record.body->stale = stale;
    keep(record, std::move(joint), monitor);
    return true;
}

void GroupSearch::Worker::keep(Record& record, JointAction joint, Monitor& monitor) {
    // Not all that was counted meanwhile is the group's own: shapes may have been new.
    const std::uint64_t work = cost::kAction + joint.terms * (cost::kArrival + cost::kRecord);
    monitor.tick(cost::kAction);
    settle(joint);
    if (!search_.room_.take(joint.bytes())) search_.full_ = true;
    record.body->joint_actions.push_back(std::move(joint));
    search_.actions_.fetch_add(1, std::memory_order_relaxed);
    record.shape->work.fetch_add(work, std::memory_order_relaxed);
}

// Bounds of the other joint actions may be out of date, which is safe.
GroupSearch::Worker::Top GroupSearch::Worker::find_top(Record& record) {
    Body& body = *record.body;
    for (;;) {
        Top top{kNoAction, -kInfinity};
        for (std::size_t k = 0; k < body.joint_actions.size(); ++k) {
            if (top.action == kNoAction ||
                body.joint_actions[k].upper > body.joint_actions[top.action].upper) {
                if (top.action != kNoAction) top.second = body.joint_actions[top.action].upper;
                top.action = k;
            } else {
                top.second = std::max(top.second, body.joint_actions[k].upper);
            }
        }
        if (top.action == kNoAction) return top;
        JointAction& joint = body.joint_actions[top.action];
        const double before = joint.upper;
        joint.add_up();
        record.raise_lower(top.action);
        if (joint.upper >= std::min(before, top.second)) return top;
    }
}

// Brings the upper bound up to date; returns the bound of joint actions that have not come yet.
double GroupSearch::Worker::update(Record& record, const Top& top) {
    Body& body = *record.body;
    if (body.stale) return kInfinity;
    const double rest = body.order == nullptr ? -kInfinity : body.order->next_bound();
    const double best = top.action == kNoAction ? -kInfinity : body.joint_actions[top.action].upper;
    const double upper =
        std::min(record.upper.load(std::memory_order_relaxed), std::max(best, rest));
    record.upper.store(std::max(upper, record.lower.load(std::memory_order_relaxed)),
                       std::memory_order_relaxed);
    return rest;
}

// The most promising joint action, built if it is not there yet; none if a limit struck.
std::size_t GroupSearch::Worker::promising(Record& record, Monitor& monitor) {
    Top top = find_top(record);
    const double best =
        top.action == kNoAction ? -kInfinity : record.body->joint_actions[top.action].upper;
    if (update(record, top) <= best) return top.action;
    if (!add_action(record, monitor)) return kNoAction;
    return find_top(record).action;  // another one, if it does not keep its promise
}

// The joint action that the lower bound comes from, built if it is a policy's; none if a limit
// struck.
std::size_t GroupSearch::Worker::known_best(Record& record, Monitor& monitor) {
    Body& body = *record.body;
    if (body.best != kNoAction) return body.best;
    if (body.order == nullptr) return 0;
    JointAction joint;
    below_->act(*record.shape, record.layer, record.where(), joint.actions);
    for (std::size_t k = 0; k < body.joint_actions.size(); ++k) {
        if (body.joint_actions[k].actions == joint.actions) return k;
    }
    return build(record, std::move(joint), monitor) ? body.joint_actions.size() - 1 : kNoAction;
}

void GroupSearch::Worker::sweep(std::span<const Child> from, Follow follow, std::uint64_t number,
                                double least, std::uint64_t end, Monitor& monitor) {
    end_ = end;
    // In the order of time; what is hidden is revealed first.
    const std::size_t most = model_.agents.size();
    std::map<std::size_t, std::vector<Record*>> ahead;
    const auto reach = [&](Record& record, double weight) {
        if (record.swept != number) {
            record.swept = number;
            record.reach = 0;
            ahead[record.layer * (most + 1) + (most - hidden_count(record.where()))].push_back(
                &record);
        }
        record.reach += weight;
    };
    for (const Child& each : from) reach(*each.record, each.weight);
    std::vector<std::pair<Record*, std::size_t>> passed;
    while (!ahead.empty() && !stopping(monitor)) {
        const auto records = std::move(ahead.begin()->second);
        ahead.erase(ahead.begin());
        for (Record* record : records) {
            if (record->reach * record->open() <= least) continue;
            if (stopping(monitor)) break;
            if (const ValueTable* exact = record->shape->exact.load(std::memory_order_acquire)) {
                record->close(
                    shapes_.look_up(*exact, *record->shape, record->layer, record->where()));
                continue;
            }
            if (!open(*record, monitor)) break;
            const std::size_t action = follow == Follow::promise ? promising(*record, monitor)
                                                                 : known_best(*record, monitor);
            if (action == kNoAction) break;
            passed.emplace_back(record, action);
            for (const Child& child : record->body->joint_actions[action].children) {
                reach(*child.record, record->reach * child.weight);
            }
        }
    }
    for (std::size_t k = passed.size(); k-- > 0;) {
        Record& record = *passed[k].first;
        record.body->joint_actions[passed[k].second].add_up();
        record.raise_lower(passed[k].second);
        update(record, find_top(record));
    }
}

// One look at a record: null if it is done with, else the group to work on next.
GroupSearch::Record* GroupSearch::Worker::visit(const Frame& frame, Frame& child, Monitor& monitor,
                                                Job* later) {
    Record& record = *frame.record;
    if (const ValueTable* exact = record.shape->exact.load(std::memory_order_acquire)) {
        record.close(shapes_.look_up(*exact, *record.shape, record.layer, record.where()));
        return nullptr;
    }
    if (later != nullptr && (record.body == nullptr || record.body->stale)) {
        later->record = &record;
        return nullptr;
    }
    if (!open(record, monitor)) return nullptr;
    Body& body = *record.body;
    for (int stale = 0;;) {
        const Top top = find_top(record);
        const double rest = update(record, top);
        monitor.tick(cost::kVisitAction * body.joint_actions.size());
        const double best =
            top.action == kNoAction ? -kInfinity : body.joint_actions[top.action].upper;
        const double lower = record.lower.load(std::memory_order_relaxed);
        const double upper = record.upper.load(std::memory_order_relaxed);
        if (record.open() <= rounding_of(lower, upper)) record.settle();
        if (record.open() <= frame.tolerance || upper <= frame.floor) return nullptr;
        if (stopping(monitor)) return nullptr;
        if (rest > best) {
            if (later == nullptr) {
                if (!add_action(record, monitor)) return nullptr;
                continue;
            }
            JointAction joint;
            if (!next_action(record, joint, monitor)) return nullptr;
            if (joint.actions.empty()) continue;
            later->record = &record;
            later->builds = true;
            later->joint = std::move(joint);
            return nullptr;
        }
        const JointAction& joint = body.joint_actions[top.action];
        branches_.clear();
        monitor.tick(cost::kVisitChild * joint.children.size());
        double gaps = joint.fixed_upper - joint.fixed_lower;
        double settled = gaps;
        double rounding = rounding_of(joint.fixed_lower, joint.fixed_upper);
        for (const Child& each : joint.children) {
            const double open = each.record->open();
            branches_.push_back(
                {each.weight, open, each.record->visitors.load(std::memory_order_relaxed)});
            gaps += each.weight * std::max(0.0, each.record->gap());
            rounding += each.weight * rounding_of(each.record->lower, each.record->upper);
            settled += each.weight * each.record->settled.load(std::memory_order_relaxed);
        }
        // Other threads may have closed groups since they were added up.
        if (joint.upper - joint.lower > gaps + rounding && ++stale < kMostStale) continue;
        record.settled.store(std::min(settled, upper - lower), std::memory_order_relaxed);
        if (record.open() <= rounding) record.settle();
        if (record.open() <= frame.tolerance) return nullptr;
        const auto choice = search_.order_.choose(
            {record.open(), frame.tolerance,
             best - std::max({top.second, rest, frame.floor, lower}), branches_});
        if (choice.branch == branches_.size()) {
            // Nothing is left to be gained below: what remains is rounding.
            record.settle();
            return nullptr;
        }
        Record* next = joint.children[choice.branch].record;
        child = {next, choice.tolerance, next->upper.load(std::memory_order_relaxed) - choice.drop};
        return next;
    }
}

void GroupSearch::Worker::work(Record& record, double tolerance, double floor, std::uint64_t end,
                               Monitor& monitor) {
    end_ = end;
    stack_.clear();
    stack_.push_back({&record, tolerance, floor});
    record.visitors.fetch_add(1);
    const auto leave = [&] {
        for (const Frame& each : stack_) each.record->visitors.fetch_sub(1);
        stack_.clear();
    };
    while (!stack_.empty()) {
        const Frame frame = stack_.back();
        Record& here = *frame.record;
        while (here.busy.test_and_set(std::memory_order_acquire)) {
            // Somebody else is at it, perhaps for long.
            if (stopping(monitor)) {
                leave();
                return;
            }
            std::this_thread::yield();
        }
        Frame child{};
        Record* next = nullptr;
        try {
            next = visit(frame, child, monitor, nullptr);
        } catch (...) {
            here.busy.clear(std::memory_order_release);
            leave();
            throw;
        }
        here.busy.clear(std::memory_order_release);
        if (next == nullptr || stopping(monitor)) {
            here.visitors.fetch_sub(1);
            stack_.pop_back();
            continue;
        }
        solve_if_worth(*next->shape, 1, monitor);
        next->visitors.fetch_add(1);
        stack_.push_back(child);
    }
}

// A group that much work goes into is worth a table.
void GroupSearch::Worker::solve_if_worth(Shape& shape, unsigned threads, Monitor& monitor) {
    if (search_.options_.tables && shape.exact.load() == nullptr && !shape.refused.load() &&
        static_cast<double>(shape.work.load(std::memory_order_relaxed)) >
            kTableWorth * shape.table_work) {
        shapes_.solve(shape, threads, monitor);
    }
}

GroupSearch::Worker::Pause GroupSearch::Worker::go(Walk& walk, std::uint64_t end,
                                                   Monitor& monitor) {
    end_ = end;
    while (!walk.stack.empty()) {
        const Frame frame = walk.stack.back();
        if (frame.record->busy.test()) return Pause::waits;
        Frame child{};
        walk.job = Job{};
        Record* next = visit(frame, child, monitor, &walk.job);
        const bool stops = stopping(monitor);
        if (walk.job.record != nullptr && !stops) {
            frame.record->busy.test_and_set();
            return Pause::job;
        }
        // An action that is not going to be built must not get lost.
        if (walk.job.builds) frame.record->body->stale = true;
        walk.job = Job{};
        if (next == nullptr || stops) {
            frame.record->visitors.fetch_sub(1);
            walk.stack.pop_back();
            continue;
        }
        solve_if_worth(*next->shape, search_.options_.threads, monitor);
        next->visitors.fetch_add(1);
        walk.stack.push_back(child);
    }
    return Pause::done;
}

void GroupSearch::Worker::work_on(Job& job, Monitor& monitor) {
    Record& record = *job.record;
    try {
        if (!job.builds) {
            job.fresh = record.body == nullptr;
            job.done = prepare(record, monitor);
            return;
        }
        // If a limit strikes, it may not be whole, and it must not get lost.
        job.stale = std::exchange(record.body->stale, true);
        lead(*record.shape, record.layer, record.where(), {job.joint, monitor});
        job.done = monitor.stop() == Stop::none && !search_.full_;
    } catch (const LimitReached& limit) {
        if (limit.stop == Stop::memory_limit) search_.full_ = true;
    }
}

void GroupSearch::Worker::take_over(Job& job, Monitor& monitor) {
    Record& record = *job.record;
    if (job.done && job.builds) {
        record.body->stale = job.stale;
        keep(record, std::move(job.joint), monitor);
    } else if (record.body != nullptr && job.fresh && !record.body->joint_actions.empty()) {
        settle(record.body->joint_actions.front());
    }
    record.busy.clear();
    job = Job{};
}

void GroupSearch::Worker::begin_walk(Walk& walk, Record& record, double tolerance) {
    walk.stack.push_back({&record, tolerance, -kInfinity});
    record.visitors.fetch_add(1);
}

void GroupSearch::Worker::leave(Walk& walk) {
    for (const Frame& each : walk.stack) each.record->visitors.fetch_sub(1);
    walk.stack.clear();
    if (walk.job.record != nullptr) walk.job.record->busy.clear();
    walk.job = Job{};
}

}  // namespace coreplan
