// The dynamic program of RR-9302 (optimal memory-persistent schedules) over memory slots, and the
// same with drops.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace jettison {

// The operations of Table 1 and the drop, in the order that the Python side uses.
enum class Operation : std::int8_t {
    forward_all,
    forward_checkpoint,
    forward_none,
    backward,
    drop
};

struct Step {
    Operation operation;
    std::int32_t stage;  // counted from 1
};

// A chain whose memory is counted in slots. The caller chooses the rounding: thresholds and sizes
// rounded up give feasible schedules, sizes rounded down give lower bounds.
// The tables of first parts that are kept. One: no drops. Two: C_0 and C_1 of `Recurrence`, where
// E_p, which begins with F_all then, is computed as it is read. Four: E_0 and E_1 as well.
enum class Tables : std::int8_t { one, two, four };

struct SlottedChain {
    std::int32_t stages = 0;
    Tables tables = Tables::one;
    std::vector<std::int64_t> forward_ns;         // [stages], stage s at index s - 1
    std::vector<std::int64_t> backward_ns;        // [stages]
    std::vector<std::int32_t> input_slots;        // [stages], a^{s-1} at index s - 1
    std::vector<std::int32_t> saved_slots;        // [stages], a-bar^s at index s - 1
    // One matrix, [stages * stages], (s, t) at s-1, t-1; with drops one of each kind.
    std::vector<std::int32_t> forward_all_need;
    std::vector<std::int32_t> forward_none_need;
};

struct Solution {
    std::int64_t time_ns = 0;
    std::vector<Step> steps;  // empty where only the time was wanted
};

enum class Wanted { times, schedules };

// Returns, for each budget in slots (the input excluded), the fastest persistent schedule that
// fits, or nothing if there is none. `poll` is called now and then, by the calling thread only, and
// may throw to stop. The answers do not depend on the number of threads.
// Time O(N^3 S) for the largest budget S, memory 2 N^2 S bytes per table, or twice that where a
// time and a forward pass do not fit 30 bits. Further budgets only cost their backtracking.
std::vector<std::optional<Solution>> solve_persistent(const SlottedChain& chain,
                                                      const std::vector<std::int32_t>& budgets,
                                                      Wanted wanted,
                                                      const std::function<void()>& poll,
                                                      std::int32_t threads);

}  // namespace jettison
