// Exact solution of the part of the persistent program that a pruned grid has left.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "remat_chain/pruned_grid.hpp"
#include "remat_chain/recurrence.hpp"
#include "remat_chain/step_function.hpp"

namespace jettison {

// The time of a sub-problem never grows with the memory, so that it is a step function. It is built
// from those of its parts, for the memory sizes and the choices that the grid has left. A corner is
// dropped if its time plus the least outside bound of the sizes up to the next corner reaches the
// best time known: no faster tree has it. Above its sizes a function has its last time, which is
// attained there, too. Every value is therefore the time of some tree, and that of the root is the
// optimum if the optimum is faster than the best time known.
class ExactProgram {
public:
    using Poll = std::function<void()>;  // may throw to stop

    struct Limits {
        std::int64_t corners_visited;
        std::int64_t corners_kept;
    };

    ExactProgram(const Recurrence& recurrence, const PrunedGrid& grid, std::int64_t best_ns);

    // Returns whether the program was solved within the limits.
    bool solve(const Limits& limits, const Poll& poll);

    // After `solve`: the time of a tree of a sub-problem in this memory, or infinite_ns.
    std::int64_t time_ns(const SubProblem& sub, std::int64_t memory_bytes) const;

    std::int64_t corners_visited() const { return visited_; }
    std::int64_t corners_kept() const { return kept_; }

private:
    void build(const SubProblem& sub);
    void add(const SubProblem& sub, const PrunedGrid::Choice& choice, Window window);
    void keep(const SubProblem& sub, std::int64_t last_byte);

    const Recurrence& recurrence_;
    const PrunedGrid& grid_;
    std::int64_t best_ns_;
    std::vector<StepFunction> functions_;  // by cell
    StepFunction envelope_, sum_, room_;   // of the sub-problem at hand
    std::int64_t visited_ = 0;
    std::int64_t kept_ = 0;
};

}  // namespace jettison
