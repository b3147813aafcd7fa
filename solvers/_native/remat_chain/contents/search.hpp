// Search over memory contents for the fastest schedule of a chain, or for that of least memory.
// All schedules are searched: any value may be dropped at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "remat_chain/contents/content.hpp"
#include "remat_chain/persistent_program.hpp"

namespace jettison {

enum class SearchEnd { complete, states, memory, poll };

struct ContentsAnswer {
    std::int64_t lower_bound = 0;  // of every schedule, or of every one that was sought
    std::int64_t value = 0;        // of `steps`, or beyond_all if there are none
    std::vector<Step> steps;
    std::int64_t states = 0;
    SearchEnd end = SearchEnd::complete;
};

// Finds the fastest schedule that fits in `memory_bytes` and recomputes for less than `below_ns`.
// If there is none, the lower bound is `below_ns`. The search ends early beyond `most_states`,
// where memory runs out, and where `poll` returns false.
ContentsAnswer fastest_contents(const ContentsChain& chain, std::int64_t memory_bytes,
                                std::int64_t below_ns, std::int64_t most_states,
                                const std::function<bool()>& poll);

// Finds the schedule of least peak, whatever its time, if that is below `below_bytes`.
ContentsAnswer smallest_contents(const ContentsChain& chain, std::int64_t below_bytes,
                                 std::int64_t most_states, const std::function<bool()>& poll);

}  // namespace jettison
