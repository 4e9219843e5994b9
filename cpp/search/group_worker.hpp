// What one thread of the search does; for the search's own files only.
#pragma once

#include <optional>

#include "search/group_records.hpp"

namespace coreplan {

// What one thread needs.
class GroupSearch::Worker {
public:
    explicit Worker(GroupSearch& search)
        : search_(search),
          model_(search.model_),
          shapes_(search.shapes_),
          above_(search.bound_->eye()),
          below_(search.floor_.eye()) {}

    // Works on a record until its bounds are near enough, its upper bound has come down far enough,
    // or it is time to stop.
    void work(Record& record, double tolerance, double floor, std::uint64_t end, Monitor& monitor);

    // Follows the most promising actions from some records wherever they are likely to lead, and
    // brings the bounds up to date from the end back. Or follows the best policy that is known.
    enum class Follow { promise, policy };
    void sweep(std::span<const Child> from, Follow follow, std::uint64_t number, double least,
               std::uint64_t end, Monitor& monitor);

    // Is told of groups that are reached, for which records are made otherwise.
    class Follower {
    public:
        virtual ~Follower() = default;
        // A group, all outcomes revealed, also one whose value is known.
        virtual void meet(Shape& shape, Index layer, std::span<const Status> where,
                          double weight) = 0;
        // Many outcomes are hidden: nothing if they are to be revealed, else the group's value.
        virtual std::optional<double> value_hidden(Shape& shape, Index layer,
                                                   std::span<const Status> where,
                                                   double weight) = 0;
    };
    // Whatever finds out where a joint action leads: what it adds to, counts by and tells.
    struct Way {
        JointAction& joint;
        Monitor& monitor;
        Follower* follower = nullptr;
    };
    // Where everybody is at first.
    void start(const Way& way) {
        const std::vector<Status> where(model_.agents.size(), Status(ClassId{0}));
        enter(shapes_.get(model_.everyone(), way.monitor), 0, where, 1.0, way);
    }
    // What a joint action brings in a joint state, and where it leads.
    void lead(Shape& shape, Index layer, std::span<const Status> where, const Way& way);
    // Makes a joint action ready, after all that it leads to is known.
    void settle(JointAction& joint);

    // What some policy earns from there on.
    [[nodiscard]] double floor_of(const Shape& shape, Index layer, std::span<const Status> where) {
        return search_.options_.floors ? below_->lower(shape, layer, where) : search_.lowest_;
    }
    // Whether the search goes on from there without a record, for there is one way on.
    [[nodiscard]] bool passes(Shape& shape, Index layer, std::span<const Status> where) const {
        double reward = 0;
        std::vector<Status> next;
        return skips() && go_on(shape, layer, where, reward, next);
    }
    [[nodiscard]] GroupFloor::Eye& eye() { return *below_; }
    [[nodiscard]] GroupBound::Eye& above() { return *above_; }
    // The bound has changed.
    void look_again() { above_ = search_.bound_->eye(); }

    // In rounds: lines of search go on, one after the other, until each needs something that takes
    // long. That is done for all of them on any threads, and taken over in their order. So what
    // comes out does not depend on the number of threads.
    struct Frame {
        Record* record;
        double tolerance;
        double floor;
    };
    // What takes long: to open a record, or to build a joint action.
    struct Job {
        Record* record = nullptr;
        bool builds = false;
        JointAction joint{};
        bool stale = false;  // what the body's mark was
        bool fresh = false;  // the record had no body
        bool done = false;   // no limit struck
    };
    // A line of search: where it stands, and what it waits for.
    struct Walk {
        std::vector<Frame> stack;
        Job job;
    };
    enum class Pause { job, waits, done };
    static void begin_walk(Walk& walk, Record& record, double tolerance);
    // Goes on until there is a job, another line has one at the same record, or it is done with.
    Pause go(Walk& walk, std::uint64_t end, Monitor& monitor);
    // On any thread.
    void work_on(Job& job, Monitor& monitor);
    // On one thread.
    void take_over(Job& job, Monitor& monitor);
    static void leave(Walk& walk);

private:
    // Agents of which some outcomes are not revealed yet, and how likely that is.
    struct Partial {
        Shape* shape;
        std::size_t begin;  // into `pool_`
        double weight;
    };

    struct Top {
        std::size_t action;  // the most promising one, its bounds up to date
        double second;       // no other one promises more
    };

    // What takes long is put off if there is somewhere to put it.
    Record* visit(const Frame& frame, Frame& child, Monitor& monitor, Job* later);
    static Top find_top(Record& record);
    std::size_t promising(Record& record, Monitor& monitor);
    std::size_t known_best(Record& record, Monitor& monitor);
    static double update(Record& record, const Top& top);
    [[nodiscard]] bool skips() const { return search_.options_.skip && model_.unit_mass; }
    bool open(Record& record, Monitor& monitor);
    bool prepare(Record& record, Monitor& monitor);
    void solve_if_worth(Shape& shape, unsigned threads, Monitor& monitor);
    void begin(Record& record, Monitor& monitor);
    void order_actions_of(Record& record, Monitor& monitor);
    void clear_outcomes();
    bool add_action(Record& record, Monitor& monitor);
    bool next_action(Record& record, JointAction& joint, Monitor& monitor);
    void keep(Record& record, JointAction joint, Monitor& monitor);
    bool build(Record& record, JointAction joint, Monitor& monitor);

    template <class Meet>
    void part(Shape& shape, Index layer, std::span<const Status> where, double weight,
              const Way& way, const Meet& meet);
    void part_and_put(Shape& shape, Index layer, std::span<const Status> where, double weight,
                      const Way& way);
    void put(Shape& shape, std::span<const Status> where, double weight);
    void grow_slots();
    void reveal(const Partial& from, Index layer, const Way& way);
    void spread(Index layer, const Way& way);
    void hand_over(const Partial& from, std::size_t hidden, Index layer, const Way& way);
    // Agents who stand somewhere, all of their interactions ahead: adds them to a joint action.
    void enter(Shape& shape, Index layer, std::span<const Status> where, double weight,
               const Way& way);
    void arrive(Shape& shape, Index layer, std::span<const Status> where, double weight,
                const Way& way);
    void add_record(Shape& shape, Index layer, std::span<const Status> where, double weight,
                    const Way& way);
    bool go_on(Shape& shape, Index layer, std::span<const Status> where, double& reward,
               std::vector<Status>& next) const;
    [[nodiscard]] double outcomes(const Shape& shape, std::span<const Status> where) const;
    static void join(std::vector<Child>& children);

    [[nodiscard]] std::span<const Status> where_of(const Partial& partial) const {
        return std::span(pool_).subspan(partial.begin, partial.shape->size());
    }
    [[nodiscard]] bool stopping(Monitor& monitor) const {
        return monitor.stop() != Stop::none || monitor.tick(cost::kVisit) || search_.full_ ||
               monitor.work() >= end_;
    }

    GroupSearch& search_;
    const CompiledModel& model_;
    Shapes& shapes_;
    std::unique_ptr<GroupBound::Eye> above_;
    std::unique_ptr<GroupFloor::Eye> below_;
    std::vector<ActionTerm> terms_;
    std::vector<Frame> stack_;
    std::vector<SearchOrder::Branch> branches_;
    std::uint64_t end_ = 0;

    // Of the outcomes in work.
    std::vector<std::vector<Partial>> levels_;  // by how many are not revealed
    std::vector<Status> pool_;
    std::vector<std::size_t> slots_;  // 1 + position and level of a partial, or 0
    std::vector<std::size_t> used_slots_;
    std::vector<Index> part_of_;
    std::vector<Index> lists_;
};

}  // namespace coreplan
