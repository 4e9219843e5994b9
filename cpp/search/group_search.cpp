#include "search/group_search.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "bounds/independent.hpp"
#include "bounds/rounding.hpp"
#include "search/group_worker.hpp"
#include "support/crew.hpp"
#include "support/process_memory.hpp"

namespace coreplan {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSmallTable = 2e4;               // joint states that are always worth a table
constexpr std::uint64_t kSweeps = 3;              // at the beginning
constexpr double kLeastPart = 1e-5;               // of the gap, that is worth a look in a sweep
constexpr std::uint64_t kQuicklyFreed = 50'000;   // records
constexpr double kEnoughFreed = 0.1;              // of all memory, so that it is worth going on
constexpr double kSecondsPerRecord = 2e-5;        // to forget one, at most about
constexpr std::uint64_t kPatience = 200'000'000;  // work that a sweep may always take

// Takes memory for what the search remembers, before anything of it is made.
double reserved(Reservation& memory, double bytes) {
    memory.take(bytes, "the search");
    return bytes;
}

}  // namespace

LargestContribution::Choice LargestContribution::choose(const Situation& situation) const {
    double open = 0;
    for (const Branch& branch : situation.branches) open += branch.gap > 0 ? branch.weight : 0;
    // If all gaps were as small as that, the record's would be small enough.
    const double fair = 0.9 * situation.tolerance / open;
    double most = 0;
    std::size_t chosen = situation.branches.size();
    for (std::size_t k = 0; k < situation.branches.size(); ++k) {
        const Branch& branch = situation.branches[k];
        const double contribution = branch.weight * branch.gap / (1 + branch.visitors);
        if (branch.gap <= fair || contribution <= most) continue;
        most = contribution;
        chosen = k;
    }
    if (chosen == situation.branches.size()) return {chosen, 0, 0};
    const Branch& branch = situation.branches[chosen];
    const double drop = std::max(situation.advantage, 0.1 * situation.gap) / branch.weight;
    return {chosen, std::max(fair, 0.25 * branch.gap), drop};
}

GroupSearch::GroupSearch(const CompiledModel& model, const Relaxation& relaxation,
                         std::span<const LocalPolicy> policies, const GroupSearchOptions& options,
                         Monitor& monitor)
    : model_(model),
      options_(options),
      memory_(monitor),
      room_(reserved(memory_, options.most_bytes)),
      couplings_(model, monitor),
      shapes_(model, couplings_, room_, monitor),
      bound_(std::make_unique<RelaxationBound>(relaxation, shapes_, options.threads, monitor)),
      floor_(model, policies, monitor),
      usual_(policies.front()),
      lowest_(-2 * std::max(reward_scale(model), 1e-300)),
      table_(std::make_unique<Records>()),
      root_(std::make_unique<JointAction>()) {
    go_by(relaxation);
    const double threads = std::max(1U, options_.threads);
    memory_.take(threads * floor_.eye_bytes(), "what the search's threads remember");
    shapes_.set_prepare([this](Shape& shape, Monitor& own) {
        if (bound_ != nullptr) bound_->prepare(shape, own);  // without one, policies only
        floor_.prepare(shape);
        shape.look_work = cost::kLookUp * (shape.size() + shape.bonds.size()) * floor_.bases();
        for (const Index e : shape.sums) {
            // Chances of sums are not remembered.
            shape.look_work += cost::kAmount * model_.aggregates[e].layers.size() * shape.size() *
                               shape.size() * floor_.bases();
        }
        if (bound_ != nullptr) shape.look_work += cost::kLookUp * RelaxationBound::look_ups(shape);
        if (shape.size() == 1 ||
            (options_.tables && (shape.size() == 2 || shape.cells <= kSmallTable))) {
            shapes_.solve(shape, 1, own);
        }
    });
    for (unsigned t = 0; t < std::max(1U, options_.threads); ++t) {
        workers_.push_back(std::make_unique<Worker>(*this));
    }
    workers_[0]->start({*root_, monitor});
    if (monitor.stop() != Stop::none || full_) {
        throw LimitReached(full_ ? Stop::memory_limit : monitor.stop(), "no room for a search");
    }
    workers_[0]->settle(*root_);
}

GroupSearch::~GroupSearch() {
    // Millions of small pieces of memory: giving them back would keep whoever waits for the answer.
    if (records_ < kQuicklyFreed || shares_one_heap()) return;
    struct Rest {
        std::unique_ptr<Records> records;
        std::vector<ValueTable> tables;
        std::vector<ValueTable> more{};
    };
    try {
        auto rest = std::make_shared<Rest>(std::move(table_), shapes_.take_tables());
        if (bound_ != nullptr) rest->more = bound_->take_tables();
        free_aside(std::move(rest));
    } catch (const std::bad_alloc&) {
        // It is done here after all.
    }
}

bool GroupSearch::run(std::uint64_t budget, double tolerance, Monitor& monitor) {
    try {
        return work(budget, tolerance, monitor);
    } catch (...) {
        full_ = true;
        throw;
    }
}

bool GroupSearch::work(std::uint64_t budget, double tolerance, Monitor& monitor) {
    const std::uint64_t end = monitor.work_after(budget);
    const auto nearly = [&] { return open() <= tolerance; };
    // Sweeps for good policies, each time twice as much has been done, ever closer looks.
    const std::uint64_t begin = monitor.work();
    while (!nearly() && !full_ && monitor.stop() == Stop::none &&
           (sweeps_ < kSweeps || actions_ > 2 * actions_at_sweep_)) {
        const double least =
            std::max(kLeastPart, std::pow(0.1, 2.0 + static_cast<double>(sweeps_)));
        const std::uint64_t patience = std::max(budget, kPatience + spent_);
        for (const auto follow : {Worker::Follow::promise, Worker::Follow::policy}) {
            try {
                workers_[0]->sweep(root_->children, follow, ++sweep_number_, least * open(),
                                   monitor.work_after(patience), monitor);
            } catch (const LimitReached& limit) {
                if (limit.stop == Stop::memory_limit) full_ = true;
            }
        }
        ++sweeps_;
        actions_at_sweep_ = actions_;
        if (monitor.work() >= end) break;
    }
    if (options_.deterministic) work_in_rounds(end, tolerance, monitor);
    else work_freely(end, tolerance, monitor);
    spent_ += monitor.work() - begin;
    // To forget takes a while, too.
    const bool in_time =
        monitor.seconds_left() > kSecondsPerRecord * static_cast<double>(records_.load());
    if (full_ && in_time && bound_ != nullptr && monitor.stop() == Stop::none && forget()) {
        full_ = false;
    }
    return nearly();
}

// Of the groups at the start, the one to work on next; null if nothing is left.
GroupSearch::Record* GroupSearch::widest_root() const {
    Record* most = nullptr;
    double gap = 0;
    for (const Child& child : root_->children) {
        const double each = child.record->open() / (1 + child.record->visitors.load());
        if (each > gap) {
            gap = each;
            most = child.record;
        }
    }
    return most;
}

// The same for any number of threads.
void GroupSearch::work_in_rounds(std::uint64_t end, double tolerance, Monitor& monitor) {
    const double small = 0.9 * tolerance / static_cast<double>(root_->children.size());
    std::vector<Worker::Walk> walks(std::max<std::size_t>(1, options_.most_lines));
    std::vector<Worker::Walk*> waiting;
    std::optional<Crew> crew;
    // Where memory can run out at any request, short rounds on threads are not worth the trouble.
    const bool on_threads = workers_.size() > 1 && !shares_one_heap();
    const auto leave = [&] {
        for (Worker::Walk& walk : walks) Worker::leave(walk);
    };
    const Crew::Job work = [&](std::size_t k, unsigned worker, Monitor& own) {
        workers_[worker]->work_on(waiting[k]->job, own);
    };
    try {
        while (!full_ && monitor.stop() == Stop::none && monitor.work() < end &&
               open() > tolerance) {
            // Few lines at first: many go where one would not have gone.
            const std::uint64_t lines = std::clamp<std::uint64_t>(
                actions_.load() / std::max<std::uint64_t>(1, options_.actions_per_line), 1,
                walks.size());
            waiting.clear();
            for (std::size_t k = 0; k < lines; ++k) {
                Worker::Walk& walk = walks[k];
                if (walk.stack.empty()) {
                    Record* from = widest_root();
                    if (from == nullptr) break;
                    Worker::begin_walk(walk, *from, small);
                }
                if (workers_[0]->go(walk, end, monitor) == Worker::Pause::job) {
                    waiting.push_back(&walk);
                }
            }
            monitor.tick(cost::kVisit);
            if (waiting.size() > 1 && on_threads) {
                if (!crew) crew.emplace(static_cast<unsigned>(workers_.size()), monitor);
                crew->run(waiting.size(), work);
            } else {
                for (std::size_t k = 0; k < waiting.size(); ++k) work(k, 0, monitor);
            }
            for (Worker::Walk* walk : waiting) workers_[0]->take_over(walk->job, monitor);
        }
    } catch (const LimitReached& limit) {
        if (limit.stop == Stop::memory_limit) full_ = true;
    } catch (...) {
        leave();
        throw;
    }
    leave();
}

// Threads go their own ways.
void GroupSearch::work_freely(std::uint64_t end, double tolerance, Monitor& monitor) {
    const std::uint64_t share = monitor.work_until(end) / workers_.size();
    const double small = 0.9 * tolerance / static_cast<double>(root_->children.size());
    std::atomic<bool> done{false};
    WorkList(static_cast<unsigned>(workers_.size()))
        .run(
            workers_.size(),
            [&](std::size_t, unsigned worker, Monitor& own) {
                const std::uint64_t own_end = own.work_after(share);
                while (!done && !full_ && own.stop() == Stop::none && own.work() < own_end) {
                    Record* most = widest_root();
                    if (most == nullptr || open() <= tolerance) break;
                    try {
                        workers_[worker]->work(*most, small, -kInfinity, own_end, own);
                    } catch (const LimitReached& limit) {
                        if (limit.stop == Stop::memory_limit) full_ = true;
                    }
                    own.look();
                }
                done = true;
            },
            monitor);
}

bool GroupSearch::adopt(const Relaxation& relaxation, Monitor& monitor) {
    // Both old and new tables at a time, or the new ones only. Without either, it cannot go on.
    if (RelaxationBound::bytes(relaxation, model_) > 0.5 * room_.left()) bound_.reset();
    try {
        auto fresh =
            std::make_unique<RelaxationBound>(relaxation, shapes_, options_.threads, monitor);
        std::vector<std::unique_ptr<ShapeNotes>> before;
        const std::vector<Shape*> shapes = shapes_.all();
        for (Shape* shape : shapes) {
            before.push_back(std::move(shape->upper));
            try {
                fresh->prepare(*shape, monitor);
            } catch (...) {
                for (std::size_t k = 0; k < before.size(); ++k)
                    shapes[k]->upper = std::move(before[k]);
                throw;
            }
        }
        bound_ = std::move(fresh);
    } catch (const LimitReached&) {
        if (bound_ == nullptr) full_ = true;
        return false;
    }
    go_by(relaxation);
    for (const auto& worker : workers_) worker->look_again();
    table_->for_each([&](Record& record) {
        if (record.body != nullptr && record.body->order != nullptr) record.body->stale = true;
        record.settled = 0;
        if (record.gap() <= 0) return;
        const double upper =
            std::max(workers_[0]->above().upper(*record.shape, record.layer, record.where()),
                     record.lower.load());
        if (upper < record.upper.load()) record.upper = upper;
    });
    return true;
}

// Makes room: keeps the policy in hand and the bounds of records that work went into, but forgets
// how they came about. False if that is of little use.
bool GroupSearch::forget() {
    // The policy in hand: records whose lower bounds it needs, each with the joint action it takes.
    std::unordered_set<const Record*> kept;
    std::unordered_set<const Record*> used;
    std::vector<Record*> left;
    const auto follow = [&](const JointAction& joint) {
        for (const Child& child : joint.children) {
            if (used.insert(child.record).second) left.push_back(child.record);
        }
    };
    follow(*root_);
    double freed = 0;
    while (!left.empty()) {
        Record& record = *left.back();
        left.pop_back();
        if (record.body == nullptr || record.body->best == kNoAction) continue;
        kept.insert(&record);
        follow(record.body->joint_actions[record.body->best]);
    }
    table_->for_each([&](Record& record) {
        if (record.body == nullptr) return;
        Body& body = *record.body;
        const bool keep = kept.contains(&record);
        for (std::size_t k = 0; k < body.joint_actions.size(); ++k) {
            if (!keep || k != body.best) freed += body.joint_actions[k].bytes();
        }
        freed += body.order_bytes;
        if (keep) {
            JointAction joint = std::move(body.joint_actions[body.best]);
            body.joint_actions.clear();
            body.joint_actions.push_back(std::move(joint));
            body.best = 0;
            body.stale = hidden_count(record.where()) == 0;
            body.order.reset();
            body.order_bytes = 0;
            return;
        }
        // Without its joint actions the lower bound has to stand by itself.
        if (body.best != kNoAction && record.shape->exact.load() == nullptr) {
            record.lower = workers_[0]->floor_of(*record.shape, record.layer, record.where());
        }
        freed += sizeof(Body);
        record.body.reset();
    });
    // Records that nobody refers to: first those that nobody looked into.
    const auto forget_all = [&](const auto& dispensable) {
        table_->forget([&](const Record& record) {
            if (used.contains(&record) || !dispensable(record)) return true;
            freed += record_bytes(*record.shape);
            return false;
        });
    };
    GroupBound::Eye& above = workers_[0]->above();
    forget_all([&](const Record& record) {
        return record.upper.load() >= above.upper(*record.shape, record.layer, record.where());
    });
    if (freed < kEnoughFreed * options_.most_bytes) forget_all([](const Record&) { return true; });
    room_.give_back(freed);
    return freed >= kEnoughFreed * options_.most_bytes;
}

double GroupSearch::lower() const { return root_->total_lower(); }

double GroupSearch::upper() const { return root_->total_upper() + error(); }

double GroupSearch::open() const {
    double total = 0;
    for (const Child& child : root_->children) total += child.weight * child.record->open();
    return total;
}

// What the rounding of a relaxation and of sums over its clusters can do.
void GroupSearch::go_by(const Relaxation& relaxation) {
    double operations = relaxation.operations() + static_cast<double>(relaxation.cluster_count()) +
                        2 * static_cast<double>(model_.agents.size());
    std::size_t interactions = 0;
    for (const auto& layer : model_.interactions_at) {
        interactions = std::max(interactions, layer.size());
    }
    for (const CompiledAggregate& aggregate : model_.aggregates) {
        interactions += 4 * aggregate.members.size();
    }
    operations += static_cast<double>(interactions);
    operations_ = std::max(operations_, operations);
    gained_ = std::max(gained_, relaxation.gained());
    error_ = std::max(error_, relaxation.error());
}

void GroupSearch::note_terms(std::uint64_t terms) {
    std::uint64_t before = most_terms_.load(std::memory_order_relaxed);
    while (before < terms && !most_terms_.compare_exchange_weak(before, terms)) {
    }
}

// As in bounds/rounding.hpp. Where the search ends, the tables of clusters take over; over all
// clusters, their sizes add up to twice what shares can gain and what is gained in all.
double GroupSearch::error() const {
    const double value = std::max(std::abs(root_->total_lower()), std::abs(root_->total_upper()));
    const double operations = operations_ + static_cast<double>(most_terms_.load());
    return error_ + rounding_error(operations, 2.0 * model_.layer_count(), 2 * gained_, value);
}

}  // namespace coreplan
