#include "persistent_program.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace jettison {
namespace {

// Two infinities still add without overflow; real times stay below 2^60, which the instance checks.
constexpr std::int64_t infinity = std::int64_t{1} << 61;

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
// Picks the widest vector unit when the program starts, instead of building for one machine.
#define JETTISON_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define JETTISON_CLONES
#endif

// out[m] = min(out[m], right[m] + left[m]): one split of the recurrence for all memory sizes.
JETTISON_CLONES
void relax(std::int64_t* out, const std::int64_t* right, const std::int64_t* left,
           std::int32_t count) {
    for (std::int32_t m = 0; m < count; ++m) {
        const std::int64_t candidate = right[m] + left[m];
        out[m] = candidate < out[m] ? candidate : out[m];
    }
}

// The table holds E(s,t)[m] = C(s,t,m) + P[s-1] with P the prefix sums of the forward times. The
// forward run s..s'-1 of a split then costs nothing to add:
//   C(s,t,m) = min P[s'-1] - P[s-1] + C(s',t,m-a) + C(s,s'-1,m)
//   E(s,t)   = min E(s',t)[m-a] + E(s,s'-1)[m] - P[s-1].
class Table {
public:
    Table(const SlottedChain& chain, std::int32_t slots)
        : chain_(chain),
          slots_(slots),
          prefix_(static_cast<std::size_t>(chain.stages) + 1, 0),
          first_(cells(), slots + 1),
          values_(cells() * width(), infinity) {
        for (std::int32_t s = 1; s <= chain.stages; ++s) {
            prefix_[index(s)] = prefix_[index(s - 1)] + chain.forward_ns[index(s - 1)];
        }
    }

    void fill(const std::function<void()>& poll) {
        // C(s',t) with s' > s and C(s,s'-1) with s'-1 < t must be ready: t up, s down.
        for (std::int32_t t = 1; t <= chain_.stages; ++t) {
            for (std::int32_t s = t; s >= 1; --s) {
                compute(s, t);
                poll();
            }
        }
    }

    std::int64_t time(std::int32_t s, std::int32_t t, std::int32_t m) const {
        if (m < 0) return infinity;
        const std::int64_t value = row(s, t)[m];
        return value >= infinity ? infinity : value - prefix_[index(s - 1)];
    }

    // The choices are found again from the values, which costs O(N) per operation emitted and
    // saves a second table.
    std::vector<Step> backtrack() const {
        struct Task {
            std::int32_t s, t, m;  // t == 0 stands for "emit the backward of s"
        };
        std::vector<Step> steps;
        std::vector<Task> tasks{{1, chain_.stages, slots_}};
        while (!tasks.empty()) {
            const auto [s, t, m] = tasks.back();
            tasks.pop_back();
            if (t == 0) {
                steps.push_back({Operation::backward, s});
                continue;
            }
            const std::int64_t target = time(s, t, m);
            assert(target < infinity);
            if (saving_time(s, t, m) == target) {
                steps.push_back({Operation::forward_all, s});
                tasks.push_back({s, 0, 0});
                if (s < t) tasks.push_back({s + 1, t, m - chain_.saved_slots[index(s - 1)]});
                continue;
            }
            std::int32_t split = s + 1;
            while (split_time(s, split, t, m) != target) {
                ++split;
                assert(split <= t);
            }
            steps.push_back({Operation::forward_checkpoint, s});
            for (std::int32_t k = s + 1; k < split; ++k) {
                steps.push_back({Operation::forward_none, k});
            }
            tasks.push_back({s, split - 1, m});
            tasks.push_back({split, t, m - chain_.input_slots[index(split - 1)]});
        }
        return steps;
    }

private:
    static std::size_t index(std::int32_t value) { return static_cast<std::size_t>(value); }
    std::size_t width() const { return index(slots_) + 1; }
    std::size_t cells() const { return index(chain_.stages) * (index(chain_.stages) + 1) / 2; }
    std::size_t cell(std::int32_t s, std::int32_t t) const {
        return index(t) * (index(t) - 1) / 2 + index(s - 1);
    }
    std::int64_t* row(std::int32_t s, std::int32_t t) {
        return values_.data() + cell(s, t) * width();
    }
    const std::int64_t* row(std::int32_t s, std::int32_t t) const {
        return values_.data() + cell(s, t) * width();
    }
    std::int32_t need_all(std::int32_t s, std::int32_t t) const {
        return chain_.forward_all_need[index(s - 1) * index(chain_.stages) + index(t - 1)];
    }
    std::int32_t need_none(std::int32_t s, std::int32_t t) const {
        return chain_.forward_none_need[index(s - 1) * index(chain_.stages) + index(t - 1)];
    }

    std::int64_t saving_time(std::int32_t s, std::int32_t t, std::int32_t m) const {
        if (m < need_all(s, t)) return infinity;
        const std::int64_t own = chain_.forward_ns[index(s - 1)] + chain_.backward_ns[index(s - 1)];
        if (s == t) return own;
        const std::int64_t rest = time(s + 1, t, m - chain_.saved_slots[index(s - 1)]);
        return rest >= infinity ? infinity : own + rest;
    }

    std::int64_t split_time(std::int32_t s, std::int32_t split, std::int32_t t,
                            std::int32_t m) const {
        if (m < need_none(s, t)) return infinity;
        const std::int64_t right = time(split, t, m - chain_.input_slots[index(split - 1)]);
        const std::int64_t left = time(s, split - 1, m);
        if (right >= infinity || left >= infinity) return infinity;
        return prefix_[index(split - 1)] - prefix_[index(s - 1)] + right + left;
    }

    void compute(std::int32_t s, std::int32_t t) {
        std::int64_t* out = row(s, t);
        for (std::int32_t split = s + 1; split <= t; ++split) {
            const std::int32_t size = chain_.input_slots[index(split - 1)];
            const std::int64_t first_right = std::int64_t{first_[cell(split, t)]} + size;
            const std::int64_t from = std::max<std::int64_t>(
                {need_none(s, t), first_right, first_[cell(s, split - 1)]});
            if (from > slots_) continue;
            const auto start = static_cast<std::int32_t>(from);
            relax(out + start, row(split, t) + (start - size), row(s, split - 1) + start,
                  slots_ - start + 1);
        }
        for (std::int32_t m = 0; m <= slots_; ++m) {
            if (out[m] < infinity) out[m] -= prefix_[index(s - 1)];
        }
        for (std::int32_t m = std::max(need_all(s, t), 0); m <= slots_; ++m) {
            const std::int64_t saving = saving_time(s, t, m);
            if (saving < infinity) out[m] = std::min(out[m], saving + prefix_[index(s - 1)]);
        }
        const std::int64_t* feasible =
            std::find_if(out, out + width(), [](std::int64_t value) { return value < infinity; });
        first_[cell(s, t)] = static_cast<std::int32_t>(feasible - out);
    }

    const SlottedChain& chain_;
    std::int32_t slots_;
    std::vector<std::int64_t> prefix_;
    std::vector<std::int32_t> first_;  // smallest feasible memory of each cell, or slots + 1
    std::vector<std::int64_t> values_;
};

}  // namespace

std::optional<Solution> solve_persistent(const SlottedChain& chain, std::int32_t slots,
                                         const std::function<void()>& poll) {
    Table table(chain, slots);
    table.fill(poll);
    const std::int64_t time_ns = table.time(1, chain.stages, slots);
    if (time_ns >= infinity) return std::nullopt;
    return Solution{time_ns, table.backtrack()};
}

}  // namespace jettison
