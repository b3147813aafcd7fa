#include "remat_chain/exact_program.hpp"

#include <algorithm>
#include <cstddef>

namespace jettison {

ExactProgram::ExactProgram(const Recurrence& recurrence, const PrunedGrid& grid,
                           std::int64_t best_ns)
    : recurrence_(recurrence), grid_(grid), best_ns_(best_ns), functions_(recurrence.cells()) {}

bool ExactProgram::solve(const Limits& limits, const Poll& poll) {
    for (std::int32_t t = 1; t <= recurrence_.stages(); ++t) {
        bool fits = true;
        recurrence_.for_each_above(t, [&](const SubProblem& sub) {
            if (!fits) return;
            build(sub);
            fits = visited_ <= limits.corners_visited && kept_ <= limits.corners_kept;
            poll();
        });
        if (!fits) return false;
    }
    return true;
}

std::int64_t ExactProgram::time_ns(const SubProblem& sub, std::int64_t memory_bytes) const {
    return value_at(functions_[recurrence_.cell(sub)], memory_bytes);
}

void ExactProgram::build(const SubProblem& sub) {
    const Window window{grid_.first_byte(sub), grid_.last_byte(sub)};
    if (window.first_bytes > window.last_bytes) return;
    envelope_.clear();
    const std::int64_t plenty = recurrence_.plenty(sub);
    if (sub.s < sub.t) {
        // Where everything can be saved, no choice is better.
        const Window open{window.first_bytes, std::min(window.last_bytes, plenty - 1)};
        grid_.for_each_choice(
            sub, [&](const PrunedGrid::Choice& choice) { add(sub, choice, open); });
    }
    if (plenty <= window.last_bytes) {
        sum_.assign(1, {std::max(plenty, window.first_bytes), recurrence_.times().own(sub)});
        take_minimum(envelope_, sum_, room_);
    }
    keep(sub, window.last_bytes);
}

void ExactProgram::add(const SubProblem& sub, const PrunedGrid::Choice& choice, Window window) {
    const Recurrence::Rule rule = recurrence_.open(sub, choice.choice);
    window.first_bytes =
        std::max({window.first_bytes, grid_.slots().first_byte(choice.first), rule.need});
    window.last_bytes = std::min(window.last_bytes, grid_.slots().last_byte(choice.last));
    sum_.clear();
    const StepFunction& right = functions_[recurrence_.cell(rule.right)];
    const std::int64_t time_ns = Recurrence::time(recurrence_.times(), sub, choice.choice);
    if (rule.has_left) {
        const StepFunction& left = functions_[recurrence_.cell(rule.left)];
        append_sum(sum_, right, rule.width, left, time_ns, window);
    } else {
        append_shifted(sum_, right, rule.width, time_ns, window);
    }
    if (sum_.empty()) return;
    visited_ += static_cast<std::int64_t>(sum_.size() + envelope_.size());
    take_minimum(envelope_, sum_, room_);
}

void ExactProgram::keep(const SubProblem& sub, std::int64_t last_byte) {
    StepFunction& function = functions_[recurrence_.cell(sub)];
    room_.clear();
    for (std::size_t k = 0; k < envelope_.size(); ++k) {
        const std::int64_t last =
            k + 1 < envelope_.size() ? envelope_[k + 1].memory_bytes - 1 : last_byte;
        const std::int64_t outside = grid_.outside_ns(sub, envelope_[k].memory_bytes, last);
        if (outside + envelope_[k].time_ns < best_ns_) room_.push_back(envelope_[k]);
    }
    function.assign(room_.begin(), room_.end());
    kept_ += static_cast<std::int64_t>(function.size());
}

}  // namespace jettison
