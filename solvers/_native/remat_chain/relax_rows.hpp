// Innermost loops of the pruned grids: sums and minima of rows of times.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jettison {

// Times are capped here, so that the sum of three and of a time below `largest_finite` fits.
constexpr std::int32_t row_infinity = (1 << 29) - 1;
constexpr std::int32_t largest_finite = 1 << 28;

// out[i] = min(out[i], one[i] + time)
void relax_row(std::int32_t* out, const std::int32_t* one, std::int32_t time, std::size_t count);

// out[i] = min(out[i], one[i] + other[i] + time)
void relax_row(std::int32_t* out, const std::int32_t* one, const std::int32_t* other,
               std::int32_t time, std::size_t count);

// min over i of one[i] + other[i], or of three; row_infinity if there is nothing.
std::int32_t least_sum(const std::int32_t* one, const std::int32_t* other, std::size_t count);
std::int32_t least_sum(const std::int32_t* one, const std::int32_t* other,
                       const std::int32_t* third, std::size_t count);

}  // namespace jettison
