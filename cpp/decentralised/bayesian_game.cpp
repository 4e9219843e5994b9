#include "decentralised/bayesian_game.hpp"

#include <algorithm>
#include <utility>

namespace coreplan {

namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

}  // namespace

GameSolver::GameSolver(BayesianGame game) : game_(std::move(game)) {
    const std::size_t n = game_.agent_count();
    stride_.assign(n, 1);
    for (std::size_t i = n - 1; i-- > 0;) stride_[i] = stride_[i + 1] * game_.move_count(i + 1);
    const auto add = [&](std::size_t agent) {
        for (std::size_t k = 0; k < game_.type_count(agent); ++k) {
            if (game_.move_begin[agent][k + 1] - game_.move_begin[agent][k] > 1) {
                slots_.push_back({static_cast<Index>(agent), static_cast<Index>(k)});
            }
        }
    };
    for (std::size_t i = 0; i + 1 < n; ++i) add(i);
    std::ranges::stable_sort(slots_, [&](const Slot& one, const Slot& other) {
        return game_.chance[one.agent][one.type] > game_.chance[other.agent][other.type];
    });
    add(n - 1);
    for (std::size_t i = 0; i < n; ++i) fixed_.emplace_back(game_.type_count(i), kFree);
    solution_ = fixed_;
    type_.resize(n);
    first_.resize(n);
    last_.resize(n);
    move_.resize(n);
    row_.resize(game_.move_count(n - 1));
    partials_.push_back({0, kFree});
    open_.push_back({std::numeric_limits<double>::infinity(), 0, 0});
}

bool GameSolver::worse(const Open& one, const Open& other) {
    if (one.bound != other.bound) return one.bound < other.bound;
    if (one.depth != other.depth) return one.depth < other.depth;
    return one.partial > other.partial;
}

double GameSolver::bound() const { return open_.empty() ? kNothing : open_.front().bound; }

double GameSolver::bytes() const noexcept {
    return static_cast<double>(game_.payoff.capacity() * sizeof(double) +
                               partials_.capacity() * sizeof(Partial) +
                               open_.capacity() * sizeof(Open)) +
           1024;
}

// Writes down what a partial solution fixes.
void GameSolver::fix(const Open& open) {
    for (auto& types : fixed_) std::ranges::fill(types, kFree);
    Index partial = open.partial;
    for (Index depth = open.depth; depth-- > 0; partial = partials_[partial].parent) {
        fixed_[slots_[depth].agent][slots_[depth].type] = partials_[partial].action;
    }
}

// Adds, for every move of the last agent, the best that each joint type of the others can do: those
// joint types that have the slot's type, with this action, or those that do not. False if stopped.
bool GameSolver::add_rows(const Slot& slot, Index action, std::vector<double>& sums, bool with_slot,
                          Monitor& monitor) {
    const std::size_t others = game_.agent_count() - 1;
    const std::size_t width = game_.move_count(others);
    std::fill_n(type_.begin(), others, std::size_t{0});
    if (with_slot) type_[slot.agent] = slot.type;
    for (;;) {
        if (with_slot || slot.agent == others || type_[slot.agent] != slot.type) {
            std::size_t offset = 0;
            for (std::size_t i = 0; i < others; ++i) {
                const auto& begin = game_.move_begin[i];
                const Index known = with_slot && i == slot.agent ? action : fixed_[i][type_[i]];
                first_[i] = begin[type_[i]] + (known == kFree ? 0 : known);
                last_[i] = known == kFree ? begin[type_[i] + 1] : first_[i] + 1;
                move_[i] = first_[i];
                offset += first_[i] * stride_[i];
            }
            const double* payoff = game_.payoff.data() + offset;
            std::copy_n(payoff, width, row_.begin());
            for (std::size_t i = others; i-- > 0;) {
                // Count up the moves that are free, the last agent's fastest.
                if (++move_[i] == last_[i]) {
                    payoff -= (last_[i] - 1 - first_[i]) * stride_[i];
                    move_[i] = first_[i];
                    continue;
                }
                payoff += stride_[i];
                for (std::size_t m = 0; m < width; ++m) row_[m] = std::max(row_[m], payoff[m]);
                if (monitor.tick(width)) return false;
                i = others;
            }
            for (std::size_t m = 0; m < width; ++m) sums[m] += row_[m];
            if (monitor.tick(width)) return false;
        }
        std::size_t i = others;
        for (;;) {
            if (i == 0) return true;
            --i;
            if (with_slot && i == slot.agent) continue;
            if (++type_[i] < game_.type_count(i)) break;
            type_[i] = 0;
        }
    }
}

// The last agent's best actions, where they are not fixed.
double GameSolver::best_answers(const std::vector<double>& sums) const {
    const std::size_t last = game_.agent_count() - 1;
    const auto& begin = game_.move_begin[last];
    double total = 0;
    for (std::size_t k = 0; k < game_.type_count(last); ++k) {
        const Index known = fixed_[last][k];
        double best = known == kFree ? sums[begin[k]] : sums[begin[k] + known];
        if (known == kFree) {
            for (Index m = begin[k] + 1; m < begin[k + 1]; ++m) best = std::max(best, sums[m]);
        }
        total += best;
    }
    return total;
}

// Fills `bounds_` for the actions of the next slot, or with the one value if there is none.
bool GameSolver::find_bounds(Index depth, Monitor& monitor) {
    const std::size_t last = game_.agent_count() - 1;
    const std::size_t width = game_.move_count(last);
    const bool whole = depth == slots_.size();
    const Slot slot = whole ? Slot{static_cast<Index>(last), 0} : slots_[depth];
    base_.assign(width, 0.0);
    if (!add_rows(slot, 0, base_, false, monitor)) return false;
    bounds_.clear();
    if (whole) {
        bounds_.push_back(best_answers(base_));
        return true;
    }
    const auto& begin = game_.move_begin[slot.agent];
    for (Index a = 0; a < begin[slot.type + 1] - begin[slot.type]; ++a) {
        if (slot.agent == last) {
            fixed_[last][slot.type] = a;
            bounds_.push_back(best_answers(base_));
            continue;
        }
        sums_ = base_;
        if (!add_rows(slot, a, sums_, true, monitor)) return false;
        bounds_.push_back(best_answers(sums_));
    }
    return true;
}

GameSolver::Step GameSolver::next(double floor, Monitor& monitor) {
    while (!open_.empty()) {
        const Open top = open_.front();
        if (top.bound <= floor) {
            left_out_ = std::max(left_out_, top.bound);
            open_.clear();
            break;
        }
        fix(top);
        const bool whole = top.depth == slots_.size();
        // Without any choice there is one solution, whose value is not known yet.
        const bool valued = top.depth > 0;
        if (!whole || !valued) {
            if (!find_bounds(top.depth, monitor)) return Step::stopped;
        }
        std::ranges::pop_heap(open_, worse);
        open_.pop_back();
        if (whole) {
            solution_ = fixed_;
            for (auto& types : solution_) std::ranges::replace(types, kFree, Index{0});
            value_ = valued ? top.bound : bounds_[0];
            if (value_ > floor) return Step::found;
            left_out_ = std::max(left_out_, value_);
            break;
        }
        for (Index a = 0; a < bounds_.size(); ++a) {
            // What is relaxed only shrinks; what is above is rounding.
            const double bound = std::min(bounds_[a], top.bound);
            if (bound <= floor) {
                left_out_ = std::max(left_out_, bound);
                continue;
            }
            open_.push_back({bound, top.depth + 1, static_cast<Index>(partials_.size())});
            partials_.push_back({top.partial, a});
            std::ranges::push_heap(open_, worse);
        }
    }
    return Step::exhausted;
}

}  // namespace coreplan
