#include "remat_chain/step_function.hpp"

#include <algorithm>
#include <cstddef>

#include "remat_chain/recurrence.hpp"

namespace jettison {
namespace {

// The first corner above this memory.
std::size_t first_above(const StepFunction& function, std::int64_t memory_bytes) {
    const auto found = std::upper_bound(
        function.begin(), function.end(), memory_bytes,
        [](std::int64_t memory, const Corner& corner) { return memory < corner.memory_bytes; });
    return static_cast<std::size_t>(found - function.begin());
}

}  // namespace

std::int64_t value_at(const StepFunction& function, std::int64_t memory_bytes) {
    const std::size_t above = first_above(function, memory_bytes);
    return above == 0 ? infinite_ns : function[above - 1].time_ns;
}

void append_shifted(StepFunction& out, const StepFunction& right, std::int64_t size,
                    std::int64_t time_ns, const Window& window) {
    if (right.empty()) return;
    const std::int64_t first = std::max(window.first_bytes, right.front().memory_bytes + size);
    if (first > window.last_bytes) return;
    std::size_t next = first_above(right, first - size);
    out.push_back({first, time_ns + right[next - 1].time_ns});
    for (; next < right.size() && right[next].memory_bytes + size <= window.last_bytes; ++next) {
        out.push_back({right[next].memory_bytes + size, time_ns + right[next].time_ns});
    }
}

void append_sum(StepFunction& out, const StepFunction& right, std::int64_t size,
                const StepFunction& left, std::int64_t time_ns, const Window& window) {
    if (right.empty() || left.empty()) return;
    const std::int64_t first = std::max({window.first_bytes, right.front().memory_bytes + size,
                                         left.front().memory_bytes});
    if (first > window.last_bytes) return;
    std::size_t next_right = first_above(right, first - size);
    std::size_t next_left = first_above(left, first);
    std::int64_t memory = first;
    while (memory <= window.last_bytes) {
        out.push_back(
            {memory, time_ns + right[next_right - 1].time_ns + left[next_left - 1].time_ns});
        const std::int64_t at_right = next_right < right.size()
                                          ? right[next_right].memory_bytes + size
                                          : window.last_bytes + 1;
        const std::int64_t at_left =
            next_left < left.size() ? left[next_left].memory_bytes : window.last_bytes + 1;
        memory = std::min(at_right, at_left);
        if (at_right == memory) ++next_right;
        if (at_left == memory) ++next_left;
    }
}

void take_minimum(StepFunction& envelope, const StepFunction& other, StepFunction& room) {
    room.clear();
    auto one = envelope.cbegin();
    auto two = other.cbegin();
    std::int64_t best = infinite_ns;
    while (one != envelope.cend() || two != other.cend()) {
        const bool takes_one =
            two == other.cend() ||
            (one != envelope.cend() && one->memory_bytes <= two->memory_bytes);
        const Corner& corner = takes_one ? *one++ : *two++;
        if (corner.time_ns >= best) continue;
        best = corner.time_ns;
        if (!room.empty() && room.back().memory_bytes == corner.memory_bytes) {
            room.back() = corner;
        } else {
            room.push_back(corner);
        }
    }
    envelope.swap(room);
}

}  // namespace jettison
