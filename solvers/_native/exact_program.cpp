#include "exact_program.hpp"

#include <algorithm>
#include <cstddef>

namespace jettison {

ExactProgram::ExactProgram(const Recurrence& recurrence, const PrunedGrid& grid,
                           std::int64_t best_ns)
    : recurrence_(recurrence), grid_(grid), best_ns_(best_ns), functions_(recurrence.cells()) {}

bool ExactProgram::solve(const Limits& limits, const Poll& poll) {
    for (std::int32_t t = 1; t <= recurrence_.stages(); ++t) {
        for (std::int32_t s = t; s >= 1; --s) {
            build(s, t);
            if (visited_ > limits.corners_visited || kept_ > limits.corners_kept) return false;
            poll();
        }
    }
    return true;
}

std::int64_t ExactProgram::time_ns(std::int32_t s, std::int32_t t,
                                   std::int64_t memory_bytes) const {
    return value_at(functions_[Recurrence::cell(s, t)], memory_bytes);
}

void ExactProgram::build(std::int32_t s, std::int32_t t) {
    const Window window{grid_.first_byte(s, t), grid_.last_byte(s, t)};
    if (window.first_bytes > window.last_bytes) return;
    envelope_.clear();
    const std::int64_t plenty = recurrence_.plenty(s, t);
    if (s < t) {
        // No choice is better than saving everything, from where that fits.
        const Window open{window.first_bytes, std::min(window.last_bytes, plenty - 1)};
        grid_.for_each_choice(
            s, t, [&](const PrunedGrid::Choice& choice) { add(s, t, choice, open); });
    }
    if (plenty <= window.last_bytes) {
        sum_.assign(1, {std::max(plenty, window.first_bytes), recurrence_.own(s, t)});
        take_minimum(envelope_, sum_, room_);
    }
    keep(s, t, window.last_bytes);
}

void ExactProgram::add(std::int32_t s, std::int32_t t, const PrunedGrid::Choice& choice,
                       Window window) {
    window.first_bytes = std::max(window.first_bytes, grid_.slots().first_byte(choice.first));
    window.last_bytes = std::min(window.last_bytes, grid_.slots().last_byte(choice.last));
    sum_.clear();
    if (choice.choice == s) {
        window.first_bytes = std::max(window.first_bytes, recurrence_.need_all(s, t));
        append_shifted(sum_, functions_[Recurrence::cell(s + 1, t)], recurrence_.saved(s),
                       recurrence_.own(s), window);
    } else {
        const std::int32_t split = choice.choice;
        window.first_bytes = std::max(window.first_bytes, recurrence_.need_none(s, t));
        append_sum(sum_, functions_[Recurrence::cell(split, t)], recurrence_.input(split),
                   functions_[Recurrence::cell(s, split - 1)], recurrence_.run_ns(s, split),
                   window);
    }
    if (sum_.empty()) return;
    visited_ += static_cast<std::int64_t>(sum_.size() + envelope_.size());
    take_minimum(envelope_, sum_, room_);
}

void ExactProgram::keep(std::int32_t s, std::int32_t t, std::int64_t last_byte) {
    StepFunction& function = functions_[Recurrence::cell(s, t)];
    room_.clear();
    for (std::size_t k = 0; k < envelope_.size(); ++k) {
        const std::int64_t last =
            k + 1 < envelope_.size() ? envelope_[k + 1].memory_bytes - 1 : last_byte;
        const std::int64_t outside = grid_.outside_ns(s, t, envelope_[k].memory_bytes, last);
        if (outside + envelope_[k].time_ns < best_ns_) room_.push_back(envelope_[k]);
    }
    function.assign(room_.begin(), room_.end());
    kept_ += static_cast<std::int64_t>(function.size());
}

}  // namespace jettison
