#include "remat_chain/relax_rows.hpp"

#include <algorithm>

#include "core/vector_unit.hpp"

namespace jettison {
namespace {

JETTISON_INLINE void relax_one(std::int32_t* out, const std::int32_t* one, std::int32_t time,
                               std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::min(out[i], one[i] + time);
}

JETTISON_INLINE void relax_two(std::int32_t* out, const std::int32_t* one,
                               const std::int32_t* other, std::int32_t time, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::min(out[i], one[i] + other[i] + time);
}

JETTISON_INLINE std::int32_t least_of_two(const std::int32_t* one, const std::int32_t* other,
                                          std::size_t count) {
    std::int32_t least = row_infinity;
    for (std::size_t i = 0; i < count; ++i) least = std::min(least, one[i] + other[i]);
    return least;
}

JETTISON_INLINE std::int32_t least_of_three(const std::int32_t* one, const std::int32_t* other,
                                            const std::int32_t* third, std::size_t count) {
    std::int32_t least = row_infinity;
    for (std::size_t i = 0; i < count; ++i) {
        least = std::min(least, one[i] + other[i] + third[i]);
    }
    return least;
}

}  // namespace

void relax_row(std::int32_t* out, const std::int32_t* one, std::int32_t time, std::size_t count) {
    vectorized<relax_one>(out, one, time, count);
}

void relax_row(std::int32_t* out, const std::int32_t* one, const std::int32_t* other,
               std::int32_t time, std::size_t count) {
    vectorized<relax_two>(out, one, other, time, count);
}

std::int32_t least_sum(const std::int32_t* one, const std::int32_t* other, std::size_t count) {
    return vectorized<least_of_two>(one, other, count);
}

std::int32_t least_sum(const std::int32_t* one, const std::int32_t* other,
                       const std::int32_t* third, std::size_t count) {
    return vectorized<least_of_three>(one, other, third, count);
}

}  // namespace jettison
