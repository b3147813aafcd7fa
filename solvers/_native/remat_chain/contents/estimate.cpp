#include "remat_chain/contents/estimate.hpp"

#include <algorithm>
#include <utility>

namespace jettison {
namespace {

// Limits on slots of memory, for one and for all pairs of stages: 8 bytes each in three tables.
constexpr std::int64_t most_slots = 256;
constexpr std::int64_t most_entries = std::int64_t{1} << 22;
constexpr std::size_t most_steps = 400;

using Steps = std::vector<std::pair<std::int64_t, std::int64_t>>;

Steps shifted(const Steps& steps, std::int64_t bytes, std::int64_t ns) {
    Steps moved = steps;
    for (auto& step : moved) {
        step.first += bytes;
        step.second += ns;
    }
    return moved;
}

// The minimum of two step functions up to some bytes; where there are too many steps, neighbours
// become one that is at least as good as each, which only lowers the function.
Steps least_of(const Steps& one, const Steps& other, std::int64_t most_bytes) {
    Steps all;
    std::merge(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(all));
    Steps kept;
    for (const auto& step : all) {
        if (step.first > most_bytes) break;
        if (kept.empty() || step.second < kept.back().second) {
            // Among steps at the same bytes the merge puts the fastest first.
            kept.push_back(step);
        }
    }
    if (kept.size() <= most_steps) return kept;
    const std::int64_t width =
        (kept.front().second - kept.back().second) / static_cast<std::int64_t>(most_steps) + 1;
    Steps coarse;
    std::int64_t last_group = -1;
    for (const auto& step : kept) {
        const std::int64_t group = (kept.front().second - step.second) / width;
        if (group == last_group) {
            coarse.back().second = step.second;
        } else {
            coarse.push_back(step);
            last_group = group;
        }
    }
    return coarse;
}

std::int64_t value_at(const Steps& steps, std::int64_t bytes) {
    const auto after = std::upper_bound(
        steps.begin(), steps.end(), bytes,
        [](std::int64_t wanted, const auto& step) { return wanted < step.first; });
    return after == steps.begin() ? beyond_all : std::prev(after)->second;
}

}  // namespace

ContentsEstimate::ContentsEstimate(const ContentsChain& chain, std::int64_t memory_bytes,
                                   std::int64_t below_ns, const std::function<bool()>& poll)
    : chain_(chain),
      below_ns_(below_ns),
      forward_{0},
      saved_{0},
      beside_backward_{0},
      beside_either_{0} {
    const std::int32_t n = chain.stages;
    std::int64_t most_bytes = 0;
    for (std::int32_t k = 1; k <= n; ++k) {
        const std::int64_t saved = chain.saved_bytes[index(k - 1)];
        forward_.push_back(forward_.back() + chain.forward_ns[index(k - 1)]);
        saved_.push_back(saved_.back() + saved);
        const std::int64_t left = memory_bytes - chain.held_bytes[0] - saved;
        beside_backward_.push_back(left - chain.gradient_bytes[index(k)] -
                                   chain.backward_bytes[index(k - 1)]);
        beside_either_.push_back(
            std::min(beside_backward_.back(), left - chain.saving_bytes[index(k - 1)]));
        most_bytes = std::max(most_bytes, beside_backward_.back());
    }
    most_bytes = std::min(most_bytes, saved_.back());
    const std::int64_t pairs = (std::int64_t{n} + 1) * (n + 1);
    unit_bytes_ = most_bytes / std::min(most_slots, most_entries / pairs) + 1;
    slots_ = index(most_bytes / unit_bytes_ + 1);
    const std::size_t size = (index(n) + 1) * (index(n) + 1) * slots_;
    open_.assign(size, 0);
    wide_.assign(size, 0);
    closed_.assign(size, 0);
    // Entries that are not reached in time stay zero, which is a lower bound as well.
    for (std::int32_t c = n - 1; c >= 0 && poll(); --c) {
        const std::vector<Steps> knapsacks = knapsacks_from(c);
        for (std::int32_t j = c + 1; j <= n; ++j) {
            for (std::size_t slot = 0; slot < slots_; ++slot) {
                const std::size_t at = place(c, j) + slot;
                open_[at] = bound(c, j, beside_either_[index(j)], slot, knapsacks);
                closed_[at] = beside_either_[index(j)] == beside_backward_[index(j)]
                                  ? open_[at]
                                  : bound(c, j, beside_backward_[index(j)], slot, knapsacks);
                wide_[at] = j == c + 1 ? open_[at]
                                       : std::max(open_[at], wide_[place(c, j - 1) + slot]);
            }
        }
    }
}

// For each stage d above c, the least time of those stages c + 1, ..., d that are not saved, if d
// is held, as a function of the bytes of all that is held of them.
std::vector<Steps> ContentsEstimate::knapsacks_from(std::int32_t c) const {
    const std::int64_t most_bytes =
        *std::max_element(beside_backward_.begin(), beside_backward_.end());
    std::vector<Steps> held(index(chain_.stages) + 1);
    Steps any = {{0, 0}};
    held[index(c)] = any;
    for (std::int32_t d = c + 1; d <= chain_.stages; ++d) {
        const std::int64_t forward_ns = chain_.forward_ns[index(d - 1)];
        const Steps saved = shifted(any, chain_.saved_bytes[index(d - 1)], 0);
        held[index(d)] =
            least_of(saved, shifted(any, chain_.held_bytes[index(d)], forward_ns), most_bytes);
        any = least_of(saved, shifted(any, 0, forward_ns), most_bytes);
    }
    return held;
}

std::int64_t ContentsEstimate::bound(std::int32_t c, std::int32_t j, std::int64_t available,
                                     std::size_t slot, const std::vector<Steps>& knapsacks) const {
    available -= static_cast<std::int64_t>(slot) * unit_bytes_;
    if (available < 0) return beyond_all;
    const std::int64_t all_between = saved_[index(j - 1)] - saved_[index(c)];
    if (all_between <= available) return 0;
    std::int64_t best = below_ns_;
    for (std::int32_t top = j - 1; top > c; --top) {
        std::int64_t left = available - (saved_[index(j - 1)] - saved_[index(top)]);
        if (left < 0) break;
        if (top == j - 1) left -= chain_.held_bytes[index(top)];
        if (left < 0) continue;
        for (std::int32_t from = top - 1; from >= c; --from) {
            const std::int64_t path = forward_[index(top)] - forward_[index(from)];
            if (path >= best) break;
            const std::int64_t again = open_[place(from, top) + slot];
            if (path + again >= best) continue;
            const std::int64_t below = value_at(knapsacks[index(from)], left);
            best = std::min(best, path + again + below);
        }
    }
    return best >= below_ns_ ? beyond_all : best;
}

}  // namespace jettison
