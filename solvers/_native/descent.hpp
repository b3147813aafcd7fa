// A schedule from estimates: from the root down, the choice that seems to be the fastest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "persistent_program.hpp"
#include "recurrence.hpp"

namespace jettison {

// Memory is counted in bytes and each part gets no less than its least, so that whatever the
// estimates are, what comes out fits. Where they are the times of trees, as those of
// `ExactProgram`, it is no slower than the one of the root. `estimate(s, t, m)` is asked for s..t
// in less than plenty of memory; infinite_ns stands for "not known to be possible". Returns
// nothing if no choice is left, or the memory is less than the least. O(N) per operation.
template <typename Estimate>
std::optional<Solution> descend(const Recurrence& recurrence, const Estimate& estimate,
                                const std::function<void()>& poll) {
    struct Task {
        std::int32_t s, t;  // t == 0 stands for "emit the backward of s"
        std::int64_t m;
    };
    const auto expected = [&](std::int32_t s, std::int32_t t, std::int64_t m) {
        if (m < recurrence.least(s, t)) return infinite_ns;
        if (m >= recurrence.plenty(s, t)) return recurrence.own(s, t);
        return estimate(s, t, m);
    };
    const auto best_choice = [&](std::int32_t s, std::int32_t t, std::int64_t m) {
        std::int64_t best = infinite_ns;
        std::int32_t chosen = 0;
        if (m >= recurrence.need_all(s, t)) {
            best = s == t ? recurrence.own(s)
                          : recurrence.own(s) + expected(s + 1, t, m - recurrence.saved(s));
            if (best < infinite_ns) chosen = s;
        }
        if (m < recurrence.need_none(s, t)) return chosen;
        for (std::int32_t k = s + 1; k <= t; ++k) {
            const std::int64_t right = expected(k, t, m - recurrence.input(k));
            if (right >= infinite_ns) continue;
            const std::int64_t time =
                recurrence.run_ns(s, k) + right + expected(s, k - 1, m);
            if (time < std::min(best, infinite_ns)) {
                best = time;
                chosen = k;
            }
        }
        return chosen;
    };
    Solution solution;
    std::vector<Task> tasks{{1, recurrence.stages(), recurrence.available_bytes()}};
    if (tasks.back().m < recurrence.least(1, recurrence.stages())) return std::nullopt;
    while (!tasks.empty()) {
        const auto [s, t, m] = tasks.back();
        tasks.pop_back();
        if (t == 0) {
            solution.steps.push_back({Operation::backward, s});
            continue;
        }
        poll();
        const std::int32_t choice =
            m >= recurrence.plenty(s, t) ? s : best_choice(s, t, m);
        if (choice == 0) return std::nullopt;
        if (choice == s) {
            solution.time_ns += recurrence.own(s);
            solution.steps.push_back({Operation::forward_all, s});
            tasks.push_back({s, 0, 0});
            if (s < t) tasks.push_back({s + 1, t, m - recurrence.saved(s)});
            continue;
        }
        solution.time_ns += recurrence.run_ns(s, choice);
        solution.steps.push_back({Operation::forward_checkpoint, s});
        for (std::int32_t k = s + 1; k < choice; ++k) {
            solution.steps.push_back({Operation::forward_none, k});
        }
        tasks.push_back({s, choice - 1, m});
        tasks.push_back({choice, t, m - recurrence.input(choice)});
    }
    return solution;
}

}  // namespace jettison
