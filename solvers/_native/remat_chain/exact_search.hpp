// Exact search for the persistent optimum, from coarse grids to fine ones.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "remat_chain/persistent_program.hpp"
#include "remat_chain/pruned_grid.hpp"
#include "remat_chain/recurrence.hpp"

namespace jettison {

struct SearchLimits {
    std::int32_t first_slots = 1;  // of the first grid
    std::int64_t most_slots = 1;   // finer grids are not tried
    std::int64_t most_bytes = 0;   // for the tables of the search
};

// A bracket around the persistent optimum that each call of `refine` narrows:
//
//   1. bound the sub-chains in the slots of a grid that are left, from inside (`PrunedGrid`); the
//      bound of the whole chain is a lower bound;
//   2. look for a faster schedule, guided by these bounds (`descend`);
//   3. drop slots and choices that no faster schedule has (`PrunedGrid`);
//   4. when little is left, solve that in exact bytes (`ExactProgram`), which ends the search.
//
// The grids decide how much work there is, never the result. A call that is left by an exception
// keeps the bracket that it has reached; the next one starts again from the first grid.
class ExactSearch {
public:
    using Poll = std::function<void()>;  // may throw to stop

    // `known_time_ns` is the time of some schedule that fits: only faster ones are searched for.
    ExactSearch(ExactChain chain, std::int64_t available_bytes, std::int64_t known_time_ns,
                const SearchLimits& limits);

    // Throws std::bad_alloc if the limits allow neither the next grid nor the exact solution of the
    // rest.
    void refine(const Poll& poll);

    std::int64_t lower_bound_ns() const { return lower_bound_ns_; }
    std::int64_t time_ns() const { return time_ns_; }
    const std::vector<Step>& steps() const { return steps_; }  // none: the known schedule is best
    bool complete() const { return lower_bound_ns_ >= time_ns_; }

    // Of the finest grid, and inside bounds and corners computed so far.
    std::int64_t slots() const { return slots_; }
    std::int64_t states() const { return states_; }

private:
    bool can_refine(const PrunedGrid& grid) const;
    void improve(const PrunedGrid& grid, const Poll& poll);
    void finish(const PrunedGrid& grid, const Poll& poll);
    template <typename Estimate>
    void try_schedule(const Estimate& estimate, const Poll& poll);

    Recurrence recurrence_;
    SearchLimits limits_;
    std::int64_t unit_ns_;
    std::unique_ptr<PrunedGrid> grid_;
    std::int64_t lower_bound_ns_ = 0;
    std::int64_t time_ns_;
    std::vector<Step> steps_;
    std::int64_t slots_ = 0;
    std::int64_t states_ = 0;
    std::int64_t last_open_work_ = 0;
};

}  // namespace jettison
