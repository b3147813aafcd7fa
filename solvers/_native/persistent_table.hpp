// The table of the persistent program, filled in cache tiles with a min-plus kernel.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "persistent_program.hpp"

namespace jettison {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
// Picks the widest vector unit when the program starts, instead of building for one machine.
#define JETTISON_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define JETTISON_CLONES
#endif

// Memory sizes are worked on in chunks whose sums stay in registers over a run of splits.
template <typename Time>
constexpr int chunk_width = 128 / sizeof(Time);

// Two infinities still add without overflow.
template <typename Time>
constexpr Time infinite = std::numeric_limits<Time>::max() / 2;

// For a 2 x 2 block of cells and one chunk: out[i][j] = min over the splits of right[j] + left[i].
void relax_chunk(std::int32_t* const* out, const std::int32_t* const* const* right,
                 const std::int32_t* const* const* left, int splits);
void relax_chunk(std::int64_t* const* out, const std::int64_t* const* const* right,
                 const std::int64_t* const* const* left, int splits);

// The table holds E(s,t)[m] = C(s,t,m) + P[s-1] with P the prefix sums of the forward times. The
// forward run s..s'-1 of a split then costs nothing to add:
//   C(s,t,m) = min P[s'-1] - P[s-1] + C(s',t,m-a) + C(s,s'-1,m)
//   E(s,t)   = min E(s',t)[m-a] + E(s,s'-1)[m] - P[s-1].
// Values that reach `infinite` saturate there. A cell is computed between its first feasible
// memory and the memory in which all of it can be saved; above that it costs its own times.
template <typename Time>
class PersistentTable {
public:
    PersistentTable(const SlottedChain& chain, std::int32_t slots)
        : chain_(chain),
          slots_(slots),
          stride_((index(slots) / width + 1) * width),
          prefix_(index(chain.stages) + 1, 0),
          own_(index(chain.stages) + 1, 0),
          first_(cells(), slots + 1),
          values_(cells() * stride_, infinite<Time>) {
        for (std::int32_t s = 1; s <= chain.stages; ++s) {
            prefix_[index(s)] = prefix_[index(s - 1)] + chain.forward_ns[index(s - 1)];
            own_[index(s)] =
                own_[index(s - 1)] + chain.forward_ns[index(s - 1)] + chain.backward_ns[index(s - 1)];
        }
        saturated_ = saturation();
    }

    // `poll` may throw to stop.
    void fill(const std::function<void()>& poll) {
        const std::int32_t n = chain_.stages;
        for (std::int32_t before_t = 0; before_t < n; before_t += tile) {
            const std::int32_t last_t = std::min(n, before_t + tile);
            for (std::int32_t before_s = before_t; before_s >= 0; before_s -= tile) {
                const std::int32_t last_s = std::min(n, before_s + tile);
                // Splits between the tiles of s and of t read finished cells only.
                relax_far(before_s + 1, last_s, before_t + 1, last_t, last_s + 1, before_t);
                for (std::int32_t t = before_t + 1; t <= last_t; ++t) {
                    for (std::int32_t s = std::min(last_s, t); s > before_s; --s) {
                        finish(s, t, last_s + 1, before_t);
                    }
                }
                poll();
            }
        }
    }

    // C(s,t,m), or int64 infinity where it is infeasible or does not fit the type.
    std::int64_t time(std::int32_t s, std::int32_t t, std::int64_t m) const {
        if (m < first_[cell(s, t)]) return infinite<std::int64_t>;
        const Time value = row(s, t)[std::min<std::int64_t>(m, slots_)];
        if (value >= infinite<Time>) return infinite<std::int64_t>;
        return static_cast<std::int64_t>(value) - prefix_[index(s - 1)];
    }

private:
    static constexpr std::int32_t tile = 16;
    static constexpr std::int32_t block = 16;  // splits whose rows are read together
    static constexpr int width = chunk_width<Time>;

    static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
    std::size_t cells() const { return index(chain_.stages) * (index(chain_.stages) + 1) / 2; }
    std::size_t cell(std::int32_t s, std::int32_t t) const {
        return index(t) * (index(t) - 1) / 2 + index(s - 1);
    }
    Time* row(std::int32_t s, std::int32_t t) { return values_.data() + cell(s, t) * stride_; }
    const Time* row(std::int32_t s, std::int32_t t) const {
        return values_.data() + cell(s, t) * stride_;
    }
    std::int32_t input(std::int32_t s) const { return chain_.input_slots[index(s - 1)]; }
    std::int32_t saved(std::int32_t s) const { return chain_.saved_slots[index(s - 1)]; }
    std::size_t pair(std::int32_t s, std::int32_t t) const {
        return index(s - 1) * index(chain_.stages) + index(t - 1);
    }

    // The least memory in which every stage of s..t can be saved, per cell.
    std::vector<std::int32_t> saturation() const {
        std::vector<std::int32_t> found(cells(), 0);
        for (std::int32_t t = 1; t <= chain_.stages; ++t) {
            for (std::int32_t s = t; s >= 1; --s) {
                std::int64_t need = chain_.forward_all_need[pair(s, t)];
                if (s < t) need = std::max(need, std::int64_t{saved(s)} + found[cell(s + 1, t)]);
                found[cell(s, t)] = static_cast<std::int32_t>(std::min<std::int64_t>(need, slots_ + 1));
            }
        }
        return found;
    }

    // First memory at which a split has two feasible parts.
    std::int64_t start_of(std::int32_t s, std::int32_t split, std::int32_t t) const {
        return std::max<std::int64_t>(std::int64_t{first_[cell(split, t)]} + input(split),
                                      first_[cell(s, split - 1)]);
    }

    void relax_far(std::int32_t first_s, std::int32_t last_s, std::int32_t first_t,
                   std::int32_t last_t, std::int32_t first_split, std::int32_t last_split) {
        for (std::int32_t from = first_split; from <= last_split; from += block) {
            const std::int32_t to = std::min(last_split, from + block - 1);
            for (std::int32_t t = first_t; t <= last_t; t += 2) {
                for (std::int32_t s = first_s; s <= last_s; s += 2) {
                    relax_cells(s, std::min(s + 1, last_s), t, std::min(t + 1, last_t), from, to);
                }
            }
        }
    }

    // One run of splits for the cells {s, other_s} x {t, other_t}; the two may coincide.
    void relax_cells(std::int32_t s, std::int32_t other_s, std::int32_t t, std::int32_t other_t,
                     std::int32_t from, std::int32_t to) {
        Time* const rows[4] = {row(s, t), row(s, other_t), row(other_s, t), row(other_s, other_t)};
        const std::int32_t end =
            std::min(slots_ + 1, std::max({saturated_[cell(s, t)], saturated_[cell(s, other_t)],
                                           saturated_[cell(other_s, t)],
                                           saturated_[cell(other_s, other_t)]}));
        std::int64_t starts[block];
        std::int64_t least = end;
        for (std::int32_t split = from; split <= to; ++split) {
            // The vector path needs every row inside its bounds and feasible in all four cells.
            starts[split - from] = std::max({start_of(s, split, t), start_of(s, split, other_t),
                                             start_of(other_s, split, t),
                                             start_of(other_s, split, other_t)});
            least = std::min({least, start_of(s, split, t), start_of(s, split, other_t),
                              start_of(other_s, split, t), start_of(other_s, split, other_t)});
        }
        const Time* right_rows[2][block];
        const Time* left_rows[2][block];
        for (std::int32_t at = static_cast<std::int32_t>(least / width) * width; at < end;
             at += width) {
            int active = 0;
            for (std::int32_t split = from; split <= to; ++split) {
                if (starts[split - from] <= at) {
                    right_rows[0][active] = row(split, t) + (at - input(split));
                    right_rows[1][active] = row(split, other_t) + (at - input(split));
                    left_rows[0][active] = row(s, split - 1) + at;
                    left_rows[1][active] = row(other_s, split - 1) + at;
                    ++active;
                    continue;
                }
                const std::int32_t stop = std::min(at + width, slots_ + 1);
                relax_from(rows[0], s, split, t, at, stop);
                relax_from(rows[1], s, split, other_t, at, stop);
                relax_from(rows[2], other_s, split, t, at, stop);
                relax_from(rows[3], other_s, split, other_t, at, stop);
            }
            if (active == 0) continue;
            Time* const out[4] = {rows[0] + at, rows[1] + at, rows[2] + at, rows[3] + at};
            const Time* const* right[2] = {right_rows[0], right_rows[1]};
            const Time* const* left[2] = {left_rows[0], left_rows[1]};
            relax_chunk(out, right, left, active);
        }
    }

    void relax_from(Time* out, std::int32_t s, std::int32_t split, std::int32_t t, std::int32_t from,
                    std::int32_t stop) const {
        const auto start =
            static_cast<std::int32_t>(std::max<std::int64_t>(from, start_of(s, split, t)));
        const Time* right = row(split, t);
        const Time* left = row(s, split - 1);
        const std::int32_t size = input(split);
        for (std::int32_t m = start; m < stop; ++m) {
            out[m] = std::min<Time>(out[m], right[m - size] + left[m]);
        }
    }

    // The splits that were not far, the prefix, the thresholds, and F_all.
    void finish(std::int32_t s, std::int32_t t, std::int32_t first_far, std::int32_t last_far) {
        Time* out = row(s, t);
        const std::int32_t end = std::min(slots_ + 1, saturated_[cell(s, t)]);
        for (std::int32_t split = s + 1; split <= t; ++split) {
            if (split >= first_far && split <= last_far) continue;
            relax_from(out, s, split, t, 0, end);
        }
        const auto prefix = static_cast<Time>(std::min<std::int64_t>(
            prefix_[index(s - 1)], infinite<Time>));
        const std::int32_t none = s < t ? chain_.forward_none_need[pair(s, t)] : slots_ + 1;
        for (std::int32_t m = 0; m < end; ++m) {
            out[m] = m < none || out[m] >= infinite<Time> ? infinite<Time> : out[m] - prefix;
        }
        if (s < t) {
            const std::int32_t size = saved(s);
            const std::int64_t from = std::max<std::int64_t>(
                chain_.forward_all_need[pair(s, t)], std::int64_t{size} + first_[cell(s + 1, t)]);
            const Time* rest = row(s + 1, t);
            // F_all adds u_f and u_b; the prefix of the rest already holds u_f.
            const std::int64_t backward = chain_.backward_ns[index(s - 1)];
            for (std::int64_t m = from; m < end; ++m) {
                const std::int64_t saving = rest[m - size] + backward;
                if (saving < out[m]) out[m] = static_cast<Time>(saving);
            }
        }
        const std::int64_t all =
            own_[index(t)] - own_[index(s - 1)] + prefix_[index(s - 1)];
        std::fill(out + end, out + slots_ + 1,
                  static_cast<Time>(std::min<std::int64_t>(all, infinite<Time>)));
        const Time* feasible = std::find_if(
            out, out + slots_ + 1, [](Time value) { return value < infinite<Time>; });
        first_[cell(s, t)] = static_cast<std::int32_t>(feasible - out);
    }

    const SlottedChain& chain_;
    std::int32_t slots_;
    std::size_t stride_;
    std::vector<std::int64_t> prefix_;
    std::vector<std::int64_t> own_;          // prefix sums of forward and backward times
    std::vector<std::int32_t> first_;        // smallest feasible memory of each cell, or slots + 1
    std::vector<std::int32_t> saturated_;
    std::vector<Time> values_;
};

}  // namespace jettison
