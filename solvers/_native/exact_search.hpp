// The persistent program in exact bytes and nanoseconds, by a search between two grids.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "persistent_program.hpp"

namespace jettison {

struct ExactChain {
    std::int32_t stages = 0;
    std::vector<std::int64_t> forward_ns;         // [stages]
    std::vector<std::int64_t> backward_ns;        // [stages]
    std::vector<std::int64_t> input_bytes;        // [stages]
    std::vector<std::int64_t> saved_bytes;        // [stages]
    std::vector<std::int64_t> forward_all_need;   // [stages * stages]
    std::vector<std::int64_t> forward_none_need;  // [stages * stages]
};

struct ExactLimits {
    std::int64_t available_bytes = 0;  // the input excluded
    std::int64_t known_time_ns = 0;    // of some schedule that fits: only faster ones are sought
    std::int32_t slots = 1;            // of the two grids that guide the search
    std::int64_t most_states = 0;      // the search stops there
};

struct ExactAnswer {
    std::int64_t lower_bound_ns = 0;  // no persistent schedule is faster
    std::int64_t time_ns = 0;         // of `steps`, or the known time if there are none
    std::vector<Step> steps;          // a schedule faster than the known one, if one was found
    std::int64_t states = 0;          // sub-chains and memory sizes that were expanded
    bool complete = false;            // whether the two times meet
};

// The recurrence is evaluated from the top, at the exact memory sizes that are reached, and only
// where it can still matter. For a sub-chain s..t and a memory of m bytes the grid rounded down
// gives a lower bound and the grid rounded up an upper bound on C(s,t,m); so does what is known
// of the same sub-chain in more, or less, memory, because C never grows with m. A choice is
// followed only if its lower bound is below the best upper bound at hand; its parts are asked only
// for times that would improve on it. Times in the grids are counted in units, so that they fit
// 32 bits, rounded in the same direction as the sizes; every sum here is in nanoseconds.
//
// `poll` may return false to stop early: the answer then is the bracket reached so far.
ExactAnswer search_exactly(const ExactChain& chain, const ExactLimits& limits,
                           const std::function<bool()>& poll);

}  // namespace jettison
