// Nonincreasing step functions of the memory, as their corners.
#pragma once

#include <cstdint>
#include <vector>

namespace jettison {

// From this memory on, this time.
struct Corner {
    std::int64_t memory_bytes;
    std::int64_t time_ns;
};

// Corners by memory, each faster than the one before; infinite below the first.
using StepFunction = std::vector<Corner>;

std::int64_t value_at(const StepFunction& function, std::int64_t memory_bytes);

// The window of memory sizes over which a sum is taken, both ends included.
struct Window {
    std::int64_t first_bytes;
    std::int64_t last_bytes;
};

// Appends to `out` the corners of m -> time + right(m - size) over a window. Above its own window
// the right function keeps its last value, so that the sum is finite there, if perhaps too slow.
void append_shifted(StepFunction& out, const StepFunction& right, std::int64_t size,
                    std::int64_t time_ns, const Window& window);

// Appends the corners of m -> time + right(m - size) + left(m).
void append_sum(StepFunction& out, const StepFunction& right, std::int64_t size,
                const StepFunction& left, std::int64_t time_ns, const Window& window);

// Makes `envelope` the minimum of itself and of `other`; `room` is overwritten.
void take_minimum(StepFunction& envelope, const StepFunction& other, StepFunction& room);

}  // namespace jettison
