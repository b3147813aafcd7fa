#include "remat_chain/cuts/chain_cuts.hpp"

#include <algorithm>
#include <utility>

namespace jettison {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

std::vector<std::int64_t> prefix_sums(const std::vector<std::int64_t>& values) {
    std::vector<std::int64_t> sums(1, 0);
    for (std::size_t k = 1; k < values.size(); ++k) sums.push_back(sums.back() + values[k]);
    return sums;
}

// At most so many steps, and nowhere larger: a group of steps becomes one, its least memory with
// its least time.
KnapsackSteps merged(KnapsackSteps steps, std::size_t most_steps) {
    if (steps.time_ns.size() <= most_steps) return steps;
    const std::int64_t longest_ns = steps.time_ns.front();
    const std::int64_t width_ns =
        (longest_ns - steps.time_ns.back()) / static_cast<std::int64_t>(most_steps) + 1;
    KnapsackSteps found;
    std::int64_t last_group = -1;
    for (std::size_t k = 0; k < steps.time_ns.size(); ++k) {
        const std::int64_t group = (longest_ns - steps.time_ns[k]) / width_ns;
        if (group == last_group) {
            found.time_ns.back() = steps.time_ns[k];
            continue;
        }
        found.size_bytes.push_back(steps.size_bytes[k]);
        found.time_ns.push_back(steps.time_ns[k]);
        last_group = group;
    }
    return found;
}

}  // namespace

ChainCuts::ChainCuts(CutChain chain, std::size_t most_steps)
    : chain_(std::move(chain)),
      most_steps_(most_steps),
      forward_ns_(prefix_sums(chain_.forward_ns)),
      saved_bytes_(prefix_sums(chain_.saved_bytes)),
      knapsack_{{0}, {0}},
      held_{{{0}, {0}}} {
    for (std::size_t k = 1; k < chain_.available_bytes.size(); ++k) {
        most_bytes_ = std::max(most_bytes_, chain_.available_bytes[k]);
    }
}

std::optional<std::int64_t> ChainCuts::rerun_ns(std::int32_t stage,
                                                const std::vector<std::int64_t>& below_ns,
                                                const Poll& poll) {
    const std::int64_t available = chain_.available_bytes[index(stage)];
    if (saved_bytes_[index(stage - 1)] <= available) return 0;
    extend(stage - 2, poll);
    std::optional<std::int64_t> best_ns;
    for (std::int32_t top = stage - 1; top > 0; --top) {
        std::int64_t left =
            available - (saved_bytes_[index(stage - 1)] - saved_bytes_[index(top)]);
        if (left < 0) break;
        if (top == stage - 1) left -= chain_.output_bytes[index(top)];
        const std::int64_t later_ns = below_ns[index(top)];
        poll();
        for (std::int32_t held = top - 1; held >= 0; --held) {
            const std::int64_t path_ns = forward_ns_[index(top)] - forward_ns_[index(held)];
            if (best_ns && path_ns + later_ns >= *best_ns) break;
            const KnapsackSteps& steps = held_[index(held)];
            const auto after =
                std::upper_bound(steps.size_bytes.begin(), steps.size_bytes.end(), left);
            if (after == steps.size_bytes.begin()) continue;
            const std::int64_t time_ns =
                steps.time_ns[index(after - steps.size_bytes.begin() - 1)];
            const std::int64_t found_ns = path_ns + std::max(time_ns, later_ns);
            best_ns = best_ns ? std::min(*best_ns, found_ns) : found_ns;
        }
    }
    return best_ns;
}

// Computes H up to a stage.
void ChainCuts::extend(std::int32_t last, const Poll& poll) {
    for (auto stage = static_cast<std::int32_t>(held_.size()); stage <= last; ++stage) {
        poll();
        const std::size_t k = index(stage);
        held_.push_back(better_of(knapsack_, chain_.saved_bytes[k], 0, chain_.output_bytes[k],
                                  chain_.forward_ns[k]));
        knapsack_ = better_of(knapsack_, chain_.saved_bytes[k], 0, 0, chain_.forward_ns[k]);
    }
}

// The minimum of a function after one decision and after another one.
KnapsackSteps ChainCuts::better_of(const KnapsackSteps& steps, std::int64_t one_bytes,
                                   std::int64_t one_ns, std::int64_t other_bytes,
                                   std::int64_t other_ns) const {
    const std::size_t count = steps.size_bytes.size();
    KnapsackSteps found;
    std::size_t one = 0, other = 0;
    while (one < count || other < count) {
        const auto pair_of = [&](std::size_t at, std::int64_t bytes, std::int64_t ns) {
            return std::pair(steps.size_bytes[at] + bytes, steps.time_ns[at] + ns);
        };
        const bool takes_one = other == count ||
                               (one < count && pair_of(one, one_bytes, one_ns) <=
                                                   pair_of(other, other_bytes, other_ns));
        const auto [bytes, ns] = takes_one ? pair_of(one++, one_bytes, one_ns)
                                           : pair_of(other++, other_bytes, other_ns);
        if (bytes > most_bytes_) break;
        if (!found.time_ns.empty() && ns >= found.time_ns.back()) continue;
        found.size_bytes.push_back(bytes);
        found.time_ns.push_back(ns);
    }
    return merged(std::move(found), most_steps_);
}

}  // namespace jettison
