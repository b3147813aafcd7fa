// Innermost loops of the persistent program, written so that compilers vectorize them.
#include "remat_chain/grid/cell.hpp"

#include <algorithm>

#include "core/vector_unit.hpp"

namespace jettison {
namespace {

// Unlike std::min it takes values, which keeps them in registers.
template <typename Time>
JETTISON_INLINE Time smaller(Time x, Time y) {
    return x < y ? x : y;
}

// How many entries of the chunk at m are below a threshold.
JETTISON_INLINE std::int64_t below(std::int64_t threshold, std::int64_t m) {
    return std::clamp<std::int64_t>(threshold - m, 0, chunk);
}

// The chunk at m - distance of a row; entries before the beginning of the row are infinite.
template <typename Time>
JETTISON_INLINE const Time* chunk_before(const Time* row, std::int64_t chunks, std::int64_t m,
                                         std::int64_t distance) {
    return row + std::clamp(m - distance, -chunk, chunks * chunk);
}

// The block with the first part of a split, its place there, and the split after the block.
template <typename Time>
JETTISON_INLINE const Time* block_of(const Splits<Time>& list, std::int64_t split) {
    return list.left.blocks[(split + list.left.offset) / block];
}
template <typename Time>
JETTISON_INLINE std::int64_t place_in_block(const Splits<Time>& list, std::int64_t split) {
    return (split + list.left.offset) % block;
}
template <typename Time>
JETTISON_INLINE std::int64_t end_of_block(const Splits<Time>& list, std::int64_t split) {
    return std::min(split - place_in_block(list, split) + block, list.count);
}

// ends[c]: the best sum of all splits at the end of chunk c of the group. Keeps that of each block.
template <typename Time>
JETTISON_INLINE void sum_samples(const Cell<Time>& cell, std::int64_t group, Time* ends) {
    Time* block_least = cell.block_least;
    Time least[chunk];
    for (int c = 0; c < chunk; ++c) least[c] = infinite<Time>;
    for (const Splits<Time>& list : cell.lists) {
        const Time* right = list.right.samples + group;
        std::int64_t last = 0;
        for (std::int64_t first = 0; first < list.count; first = last) {
            last = end_of_block(list, first);
            const Time* left = block_of(list, first) + cell.chunks * block * chunk +
                               place_in_block(list, first) * cell.sample_stride + group;
            Time here[chunk];
            for (int c = 0; c < chunk; ++c) here[c] = infinite<Time>;
            for (std::int64_t split = first; split < last; ++split) {
                for (int c = 0; c < chunk; ++c) {
                    here[c] = smaller<Time>(here[c], right[c] + left[c]);
                }
                right += cell.sample_stride;
                left += cell.sample_stride;
            }
            for (int c = 0; c < chunk; ++c) block_least[c] = here[c];
            for (int c = 0; c < chunk; ++c) least[c] = smaller(least[c], here[c]);
            block_least += chunk;
        }
    }
    for (int c = 0; c < chunk; ++c) ends[c] = least[c];
}

// The chunk at m where the first operation is a checkpoint; no sum there exceeds `limit`, and those
// from `infinity` on count as infinite.
template <typename Time>
JETTISON_INLINE void relax_splits(const Cell<Time>& cell, std::int64_t m, const Time* block_least,
                                  Time limit, Time infinity, Time* out) {
    Time best[chunk];
    for (int j = 0; j < chunk; ++j) best[j] = limit;
    for (const Splits<Time>& list : cell.lists) {
        const Time* right = list.right.values + m / chunk * list.right.stride;
        std::int64_t last = 0;
        for (std::int64_t first = 0; first < list.count; first = last, block_least += chunk) {
            last = end_of_block(list, first);
            // The first of the best sums is the largest.
            if (*block_least >= best[0]) continue;
            const Time* left = block_of(list, first) + m * block +
                               (place_in_block(list, first) - first) * chunk;
            for (std::int64_t split = first; split < last; ++split) {
                const Time* x = right + split * chunk;
                const Time* y = left + split * chunk;
                for (int j = 0; j < chunk; ++j) best[j] = smaller<Time>(best[j], x[j] + y[j]);
            }
        }
    }
    const Time prefix = cell.prefix;
    for (int j = 0; j < chunk; ++j) {
        out[j] = best[j] >= infinity ? infinite<Time> : best[j] - prefix;
    }
}

// The chunk at m where the first operation is F_all.
template <typename Time>
JETTISON_INLINE void relax_all(const Cell<Time>& cell, std::int64_t m, Time* out) {
    const Time* after = chunk_before(cell.after_all, cell.chunks, m, cell.saved_slots);
    const Time backward = cell.backward;
    Time saving[chunk];
    for (int j = 0; j < chunk; ++j) saving[j] = after[j] + backward;
    std::fill(saving, saving + below(cell.all_need, m), infinite<Time>);
    const Time infinity = cell.limit;
    for (int j = 0; j < chunk; ++j) {
        const Time least = smaller(out[j], saving[j]);
        out[j] = least >= infinity ? infinite<Time> : least;
    }
}

template <typename Time>
JETTISON_INLINE void compute_row(const Cell<Time>& cell) {
    // Two infinities add without overflow: so do a limit and a prefix.
    const Time infinity = smaller<Time>(cell.limit + cell.prefix, infinite<Time>);
    Time limit = infinity;
    for (std::int64_t group = 0; group * chunk < cell.saturation; group += chunk) {
        Time ends[chunk];
        sum_samples(cell, group, ends);
        const std::int64_t chunks = std::min(cell.chunks - group, chunk);
        for (std::int64_t c = 0; c < chunks; ++c) {
            const std::int64_t m = (group + c) * chunk;
            Time* out = cell.row + m;
            const std::int64_t infeasible = below(cell.none_need, m);
            if (infeasible < chunk) {
                relax_splits(cell, m, cell.block_least + c, limit, infinity, out);
                limit = smaller(limit, ends[c]);
            }
            std::fill(out, out + infeasible, infinite<Time>);
            if (below(cell.all_need, m) < chunk) {
                relax_all(cell, m, out);
                limit = smaller<Time>(limit, out[chunk - 1] + cell.prefix);
            }
        }
    }
    Time* end = cell.row + cell.chunks * chunk;
    std::fill(cell.row + cell.saturation, end, cell.saturated);
    std::fill(end, end + chunk, end[-1]);
}

template <typename Time>
JETTISON_INLINE void publish(const Cell<Time>& cell) {
    for (std::int64_t c = 0; c < cell.chunks; ++c) {
        const Time* shifted =
            chunk_before<Time>(cell.row, cell.chunks, c * chunk, cell.input_slots);
        std::copy(shifted, shifted + chunk, cell.as_right.values + c * cell.as_right.stride);
        cell.as_right.samples[c] = shifted[chunk - 1];
    }
    std::fill(cell.as_right.samples + cell.chunks, cell.as_right.samples + cell.sample_stride,
              infinite<Time>);
    if (cell.as_left.values == nullptr) return;
    for (std::int64_t c = 0; c < cell.chunks; ++c) {
        const Time* row = cell.row + c * chunk;
        std::copy(row, row + chunk, cell.as_left.values + c * cell.as_left.stride);
        cell.as_left.samples[c] = row[chunk - 1];
    }
    std::fill(cell.as_left.samples + cell.chunks, cell.as_left.samples + cell.sample_stride,
              infinite<Time>);
}

template <typename Time>
JETTISON_INLINE bool fill(const Cell<Time>& cell) {
    compute_row(cell);
    const bool is_finite = cell.row[cell.chunks * chunk - 1] < infinite<Time>;
    if (is_finite || cell.stores_infinite) publish(cell);
    return is_finite;
}

}  // namespace

bool fill_cell(const Cell<std::int32_t>& cell) { return vectorized<fill<std::int32_t>>(cell); }
bool fill_cell(const Cell<std::int64_t>& cell) { return vectorized<fill<std::int64_t>>(cell); }

}  // namespace jettison
