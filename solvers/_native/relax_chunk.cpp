// The innermost loops of the persistent program: min-plus over one chunk of memory sizes.
#include "persistent_table.hpp"

namespace jettison {
namespace {

template <typename Time>
inline __attribute__((always_inline)) void relax(Time* const* out, const Time* const* const* right,
                                                 const Time* const* const* left, int splits) {
    constexpr int width = chunk_width<Time>;
    Time best[4][width];
    for (int cell = 0; cell < 4; ++cell) {
        for (int j = 0; j < width; ++j) best[cell][j] = out[cell][j];
    }
    for (int k = 0; k < splits; ++k) {
        const Time* right_0 = right[0][k];
        const Time* right_1 = right[1][k];
        const Time* left_0 = left[0][k];
        const Time* left_1 = left[1][k];
        for (int j = 0; j < width; ++j) {
            const Time sum_00 = right_0[j] + left_0[j];
            const Time sum_01 = right_1[j] + left_0[j];
            const Time sum_10 = right_0[j] + left_1[j];
            const Time sum_11 = right_1[j] + left_1[j];
            best[0][j] = sum_00 < best[0][j] ? sum_00 : best[0][j];
            best[1][j] = sum_01 < best[1][j] ? sum_01 : best[1][j];
            best[2][j] = sum_10 < best[2][j] ? sum_10 : best[2][j];
            best[3][j] = sum_11 < best[3][j] ? sum_11 : best[3][j];
        }
    }
    // Two cells of the block may be one and the same, so the minimum is taken again.
    for (int cell = 0; cell < 4; ++cell) {
        for (int j = 0; j < width; ++j) out[cell][j] = std::min(out[cell][j], best[cell][j]);
    }
}

}  // namespace

JETTISON_CLONES
void relax_chunk(std::int32_t* const* out, const std::int32_t* const* const* right,
                 const std::int32_t* const* const* left, int splits) {
    relax(out, right, left, splits);
}

JETTISON_CLONES
void relax_chunk(std::int64_t* const* out, const std::int64_t* const* const* right,
                 const std::int64_t* const* const* left, int splits) {
    relax(out, right, left, splits);
}

}  // namespace jettison
