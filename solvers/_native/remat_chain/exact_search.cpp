#include "remat_chain/exact_search.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "remat_chain/descent.hpp"
#include "remat_chain/exact_program.hpp"
#include "remat_chain/relax_rows.hpp"

namespace jettison {
namespace {

// Bounds at a memory lowered by some slots lead to schedules that do not run out of memory. The
// best number of slots cannot be known in advance: all of these are tried.
constexpr std::int64_t handicaps[] = {0, 1, 2, 3};

// A corner is visited about this many times for each slot that a choice has left (measured: 2 to
// 5), and takes about as long as this many sums of a row (measured: 5 to 10).
constexpr std::int64_t corners_per_slot = 3;
constexpr std::int64_t sums_per_corner = 8;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

}  // namespace

ExactSearch::ExactSearch(ExactChain chain, std::int64_t available_bytes,
                         std::int64_t known_time_ns, const SearchLimits& limits)
    : recurrence_(std::move(chain), available_bytes, [] {}),
      limits_(limits),
      unit_ns_(known_time_ns / largest_finite + 1),
      time_ns_(known_time_ns) {}

void ExactSearch::refine(const Poll& poll) {
    if (complete()) return;
    std::unique_ptr<PrunedGrid> grid = std::move(grid_);
    const std::int64_t states_before = grid == nullptr ? 0 : grid->states();
    if (grid == nullptr) {
        grid = std::make_unique<PrunedGrid>(recurrence_, limits_.first_slots, unit_ns_,
                                            limits_.most_bytes);
        grid->bound_all(poll);
        last_open_work_ = unlimited;
    } else {
        if (!can_refine(*grid)) throw std::bad_alloc();
        grid->refine(poll);
    }
    slots_ = grid->slots().count;
    states_ += grid->states() - states_before;
    const std::int64_t bound =
        grid->inside_ns(recurrence_.root(), recurrence_.available_bytes(), 0);
    lower_bound_ns_ = std::max(lower_bound_ns_, std::min(bound, time_ns_));
    improve(*grid, poll);
    if (complete()) return;
    grid->prune(time_ns_, poll);
    finish(*grid, poll);
    grid_ = std::move(grid);
}

bool ExactSearch::can_refine(const PrunedGrid& grid) const {
    return 2 * grid.slots().count <= limits_.most_slots && grid.can_refine();
}

void ExactSearch::improve(const PrunedGrid& grid, const Poll& poll) {
    for (const std::int64_t handicap : handicaps) {
        try_schedule(
            [&](const SubProblem& sub, std::int64_t m) {
                return grid.inside_ns(sub, m, handicap);
            },
            poll);
    }
}

// Solves the rest in exact bytes if that is cheap beside the grids, or if the grids drop nothing.
void ExactSearch::finish(const PrunedGrid& grid, const Poll& poll) {
    const std::int64_t open_work = grid.open_work();
    const bool is_finest = !can_refine(grid);
    const std::int64_t affordable = grid.operations() / sums_per_corner;
    // The grids are refined while each step drops a good part, which costs less than solving that
    // part exactly, until almost nothing is left.
    const bool is_small = corners_per_slot * open_work <= affordable / 8;
    const bool shrinks = open_work < last_open_work_ - last_open_work_ / 8;
    last_open_work_ = open_work;
    if (!is_finest && !is_small && shrinks) return;
    ExactProgram program(recurrence_, grid, time_ns_);
    const std::int64_t room =
        (limits_.most_bytes - grid.bytes()) / static_cast<std::int64_t>(sizeof(Corner));
    const bool solved = program.solve({is_finest ? unlimited : affordable, room}, poll);
    states_ += program.corners_kept();
    if (!solved) return;
    const std::int64_t optimum =
        program.time_ns(recurrence_.root(), recurrence_.available_bytes());
    lower_bound_ns_ = std::min(optimum, time_ns_);
    try_schedule(
        [&](const SubProblem& sub, std::int64_t m) { return program.time_ns(sub, m); }, poll);
}

template <typename Estimate>
void ExactSearch::try_schedule(const Estimate& estimate, const Poll& poll) {
    std::optional<Solution> found =
        descend(recurrence_, recurrence_.available_bytes(), estimate, poll);
    if (!found || found->time_ns >= time_ns_) return;
    time_ns_ = found->time_ns;
    steps_ = std::move(found->steps);
}

}  // namespace jettison
