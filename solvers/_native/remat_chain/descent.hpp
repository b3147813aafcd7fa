// Construction of schedules from the root down, by choices that attain the values of a table or
// that seem to be the fastest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#include "remat_chain/persistent_program.hpp"
#include "remat_chain/recurrence.hpp"

namespace jettison {

// The schedule in memory m whose sub-problems begin with the choice `choose(sub, m)`; nothing if
// that is 0 somewhere. The second part of a choice does not depend on the schedule of the first.
template <typename Choose>
std::optional<Solution> emit(const Grammar& grammar, std::int64_t available, const Choose& choose,
                             const std::function<void()>& poll) {
    struct Task {
        SubProblem sub;
        std::int64_t m;
        bool ends;  // stands for "emit the backward of s"
    };
    const StageTimes& times = grammar.times();
    Solution solution;
    const auto step = [&](Operation operation, std::int32_t stage) {
        solution.steps.push_back({operation, stage});
    };
    std::vector<Task> tasks{{grammar.root(), available, false}};
    while (!tasks.empty()) {
        const auto [sub, m, ends] = tasks.back();
        tasks.pop_back();
        if (ends) {
            step(Operation::backward, sub.s);
            continue;
        }
        poll();
        const std::int32_t choice = choose(sub, m);
        if (choice == 0) return std::nullopt;
        if (choice == sub.s) {
            const bool is_last = sub.s == sub.t;
            solution.time_ns += is_last ? times.own(sub) : Grammar::time(times, sub, choice);
            if (!is_last || !is_saved(sub.kind)) step(Operation::forward_all, sub.s);
            if (drops_input(sub.kind)) {
                step(Operation::drop, sub.s - 1);
            } else {
                tasks.push_back({sub, 0, true});
            }
            if (!is_last) {
                const Grammar::Rule rule = grammar.open(sub, choice);
                tasks.push_back({rule.right, m - rule.width, false});
            }
            continue;
        }
        const Grammar::Rule rule = grammar.open(sub, choice);
        solution.time_ns += Grammar::time(times, sub, choice);
        step(Operation::forward_checkpoint, sub.s);
        for (std::int32_t k = sub.s + 1; k < std::abs(choice); ++k) {
            step(Operation::forward_none, k);
        }
        tasks.push_back({rule.left, m, false});
        tasks.push_back({rule.right, m - rule.width, false});
    }
    return solution;
}

// Memory is counted in bytes and each part gets at least its least memory, so that the schedule
// fits whatever the estimates are. Where these are times of trees, as those of `ExactProgram`, the
// schedule is no slower than the tree of the root. `estimate(sub, m)` is asked for
// less than plenty of memory; infinite_ns stands for "not known to be possible". Returns
// nothing if no choice is left, or the memory is less than the least. O(N) per operation.
template <typename Estimate>
std::optional<Solution> descend(const Recurrence& recurrence, std::int64_t available,
                                const Estimate& estimate, const std::function<void()>& poll) {
    const StageTimes& times = recurrence.times();
    const auto expected = [&](const SubProblem& sub, std::int64_t m) {
        if (m < recurrence.least(sub)) return infinite_ns;
        if (m >= recurrence.plenty(sub)) return times.own(sub);
        return estimate(sub, m);
    };
    const auto best_choice = [&](const SubProblem& sub, std::int64_t m) {
        std::int64_t best = infinite_ns;
        std::int32_t chosen = 0;
        // From that memory on no choice is better; a sub-problem of one stage has no other.
        if (m >= recurrence.plenty(sub) || sub.s == sub.t) return sub.s;
        recurrence.for_each_choice(sub, [&](std::int32_t choice) {
            const Grammar::Rule rule = recurrence.open(sub, choice);
            if (m < rule.need) return;
            const std::int64_t right = expected(rule.right, m - rule.width);
            if (right >= infinite_ns) return;
            std::int64_t time = Grammar::time(times, sub, choice) + right;
            if (rule.has_left) time += expected(rule.left, m);
            if (time < best) {
                best = time;
                chosen = choice;
            }
        });
        return chosen;
    };
    if (available < recurrence.least(recurrence.root())) return std::nullopt;
    return emit(recurrence, available, best_choice, poll);
}

}  // namespace jettison
