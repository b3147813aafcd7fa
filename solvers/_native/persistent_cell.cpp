// The innermost loops of the persistent program, written so that each is a run of vectors.
#include "persistent_cell.hpp"

#include <algorithm>

#include "vector_clones.hpp"

namespace jettison {
namespace {

// Unlike std::min it takes values, which keeps them in registers.
template <typename Time>
JETTISON_INLINE Time smaller(Time x, Time y) {
    return x < y ? x : y;
}

// How many numbers of slots of the chunk at m lie below a threshold.
JETTISON_INLINE std::int64_t below(std::int64_t threshold, std::int64_t m) {
    return std::clamp<std::int64_t>(threshold - m, 0, chunk);
}

// The chunk of a row at m - distance; what begins before the row is infinite.
template <typename Time>
JETTISON_INLINE const Time* chunk_before(const Time* row, std::int64_t m, std::int64_t distance) {
    return row + std::max(m - distance, -chunk);
}

// ends[c]: the best sum of all splits at the end of chunk c of the group. Keeps that of each block.
template <typename Time>
JETTISON_INLINE void sum_samples(const Cell<Time>& cell, std::int64_t group, Time* ends) {
    const Time* right = cell.right.samples + group;
    const Time* left = cell.left.samples + group;
    Time* block_least = cell.block_least;
    Time least[chunk];
    for (int c = 0; c < chunk; ++c) least[c] = infinite<Time>;
    for (std::int64_t first = 0; first < cell.splits; first += block) {
        const std::int64_t last = std::min(first + block, cell.splits);
        Time here[chunk];
        for (int c = 0; c < chunk; ++c) here[c] = infinite<Time>;
        for (std::int64_t split = first; split < last; ++split) {
            for (int c = 0; c < chunk; ++c) here[c] = smaller<Time>(here[c], right[c] + left[c]);
            right += cell.sample_stride;
            left += cell.sample_stride;
        }
        for (int c = 0; c < chunk; ++c) block_least[c] = here[c];
        for (int c = 0; c < chunk; ++c) least[c] = smaller(least[c], here[c]);
        block_least += chunk;
    }
    for (int c = 0; c < chunk; ++c) ends[c] = least[c];
}

// The chunk at m where the first operation is a checkpoint; no sum there exceeds `limit`.
template <typename Time>
JETTISON_INLINE void relax_splits(const Cell<Time>& cell, std::int64_t m, const Time* block_least,
                                  Time limit, Time* out) {
    const Time* right = cell.right.values + m / chunk * cell.right.stride;
    const Time* left = cell.left.values + m / chunk * cell.left.stride;
    Time best[chunk];
    for (int j = 0; j < chunk; ++j) best[j] = limit;
    for (std::int64_t first = 0; first < cell.splits; first += block) {
        // The first of the best sums is the largest.
        if (block_least[first / block * chunk] >= best[0]) continue;
        const std::int64_t last = std::min(first + block, cell.splits);
        for (std::int64_t split = first; split < last; ++split) {
            const Time* x = right + split * chunk;
            const Time* y = left + split * chunk;
            for (int j = 0; j < chunk; ++j) best[j] = smaller<Time>(best[j], x[j] + y[j]);
        }
    }
    const Time prefix = cell.prefix;
    for (int j = 0; j < chunk; ++j) {
        out[j] = best[j] >= infinite<Time> ? infinite<Time> : best[j] - prefix;
    }
}

// The chunk at m where the first operation is F_all.
template <typename Time>
JETTISON_INLINE void relax_all(const Cell<Time>& cell, std::int64_t m, Time* out) {
    const Time* after = chunk_before(cell.after_all, m, cell.saved_slots);
    const Time backward = cell.backward;
    Time saving[chunk];
    for (int j = 0; j < chunk; ++j) saving[j] = after[j] + backward;
    std::fill(saving, saving + below(cell.all_need, m), infinite<Time>);
    for (int j = 0; j < chunk; ++j) out[j] = smaller(out[j], saving[j]);
}

template <typename Time>
JETTISON_INLINE void compute_row(const Cell<Time>& cell) {
    Time limit = infinite<Time>;
    for (std::int64_t group = 0; group * chunk < cell.saturation; group += chunk) {
        Time ends[chunk];
        sum_samples(cell, group, ends);
        const std::int64_t chunks = std::min(cell.chunks - group, chunk);
        for (std::int64_t c = 0; c < chunks; ++c) {
            const std::int64_t m = (group + c) * chunk;
            Time* out = cell.row + m;
            const std::int64_t infeasible = below(cell.none_need, m);
            if (infeasible < chunk) {
                relax_splits(cell, m, cell.block_least + c, limit, out);
                limit = smaller(limit, ends[c]);
            }
            std::fill(out, out + infeasible, infinite<Time>);
            if (below(cell.all_need, m) < chunk) {
                relax_all(cell, m, out);
                limit = smaller<Time>(limit, out[chunk - 1] + cell.prefix);
            }
        }
    }
    std::fill(cell.row + cell.saturation, cell.row + cell.chunks * chunk, cell.saturated);
}

template <typename Time>
JETTISON_INLINE void publish(const Cell<Time>& cell) {
    Time* left = cell.left.values + cell.splits * chunk;
    Time* right = cell.right.values - chunk;
    Time* left_samples = cell.left.samples + cell.splits * cell.sample_stride;
    Time* right_samples = cell.right.samples - cell.sample_stride;
    for (std::int64_t c = 0; c < cell.chunks; ++c) {
        const Time* row = cell.row + c * chunk;
        const Time* shifted = chunk_before<Time>(cell.row, c * chunk, cell.input_slots);
        std::copy(row, row + chunk, left);
        std::copy(shifted, shifted + chunk, right);
        left_samples[c] = row[chunk - 1];
        right_samples[c] = shifted[chunk - 1];
        left += cell.left.stride;
        right += cell.right.stride;
    }
    std::fill(left_samples + cell.chunks, left_samples + cell.sample_stride, infinite<Time>);
    std::fill(right_samples + cell.chunks, right_samples + cell.sample_stride, infinite<Time>);
}

}  // namespace

JETTISON_CLONES
void fill_cell(const Cell<std::int32_t>& cell) {
    compute_row(cell);
    publish(cell);
}

JETTISON_CLONES
void fill_cell(const Cell<std::int64_t>& cell) {
    compute_row(cell);
    publish(cell);
}

}  // namespace jettison
