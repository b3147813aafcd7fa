#include "remat_chain/relax_rows.hpp"

#include <algorithm>

#include "core/vector_clones.hpp"

namespace jettison {

JETTISON_CLONES
void relax_row(std::int32_t* out, const std::int32_t* one, std::int32_t time, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::min(out[i], one[i] + time);
}

JETTISON_CLONES
void relax_row(std::int32_t* out, const std::int32_t* one, const std::int32_t* other,
               std::int32_t time, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::min(out[i], one[i] + other[i] + time);
}

JETTISON_CLONES
std::int32_t least_sum(const std::int32_t* one, const std::int32_t* other, std::size_t count) {
    std::int32_t least = row_infinity;
    for (std::size_t i = 0; i < count; ++i) least = std::min(least, one[i] + other[i]);
    return least;
}

JETTISON_CLONES
std::int32_t least_sum(const std::int32_t* one, const std::int32_t* other,
                       const std::int32_t* third, std::size_t count) {
    std::int32_t least = row_infinity;
    for (std::size_t i = 0; i < count; ++i) {
        least = std::min(least, one[i] + other[i] + third[i]);
    }
    return least;
}

}  // namespace jettison
