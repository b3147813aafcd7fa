// The fastest schedule of a short chain, and the least memory of one, by search over everything
// that can be in memory. Nothing is assumed of the schedules.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "persistent_program.hpp"

namespace jettison {

// A state is one word: two bits per stage and the stage whose gradient is held.
constexpr std::int32_t most_stages = 29;

// Sums of all times and of all sizes stay below 2^60; `Chain` sees to it.
constexpr std::int64_t beyond_all = std::int64_t{1} << 61;

struct ContentsChain {
    std::int32_t stages = 0;                   // 1 to most_stages
    std::vector<std::int64_t> forward_ns;      // [stages]
    std::vector<std::int64_t> backward_ns;     // [stages]
    std::vector<std::int64_t> held_bytes;      // [stages + 1], of a^0, ..., a^N
    std::vector<std::int64_t> saved_bytes;     // [stages]
    std::vector<std::int64_t> forward_bytes;   // [stages], the overhead of a forward
    std::vector<std::int64_t> backward_bytes;  // [stages], overhead and output of a backward
    std::vector<std::int64_t> rerun_ns;        // [stages], a rerun bound each; zeros are valid
};

struct ContentsAnswer {
    std::int64_t lower_bound = 0;  // of every schedule, or of every one that was sought
    std::int64_t value = 0;        // of `steps`, or beyond_all if there are none
    std::vector<Step> steps;
    std::int64_t states = 0;
    bool complete = false;  // whether the search came to its end
};

// Searches a schedule that fits in `memory_bytes` and takes less than `below_ns`, the fastest of
// those. If there is none, the lower bound is `below_ns`.
ContentsAnswer fastest_contents(const ContentsChain& chain, std::int64_t memory_bytes,
                                std::int64_t below_ns, std::int64_t most_states,
                                const std::function<bool()>& poll);

// Searches a schedule with a peak below `below_bytes`, the least of those, with any time.
ContentsAnswer smallest_contents(const ContentsChain& chain, std::int64_t below_bytes,
                                 std::int64_t most_states, const std::function<bool()>& poll);

}  // namespace jettison
