#include "persistent_program.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <utility>

#include "least_memory.hpp"
#include "persistent_table.hpp"

namespace jettison {
namespace {

constexpr std::int64_t none = infinite<std::int64_t>;

std::size_t index(std::int32_t value) { return static_cast<std::size_t>(value); }

// The choices are found again from the values, which costs O(N) per operation emitted and saves a
// second table.
template <typename Time>
class Backtracking {
public:
    Backtracking(const SlottedChain& chain, const PersistentTable<Time>& table)
        : chain_(chain), table_(table), prefix_(index(chain.stages) + 1, 0) {
        for (std::int32_t s = 1; s <= chain.stages; ++s) {
            prefix_[index(s)] = prefix_[index(s - 1)] + chain.forward_ns[index(s - 1)];
        }
    }

    std::vector<Step> run(std::int32_t budget) const {
        struct Task {
            std::int32_t s, t;  // t == 0 stands for "emit the backward of s"
            std::int64_t m;
        };
        std::vector<Step> steps;
        std::vector<Task> tasks{{1, chain_.stages, budget}};
        while (!tasks.empty()) {
            const auto [s, t, m] = tasks.back();
            tasks.pop_back();
            if (t == 0) {
                steps.push_back({Operation::backward, s});
                continue;
            }
            const std::int64_t target = table_.time(s, t, m);
            assert(target < none);
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
    std::size_t pair(std::int32_t s, std::int32_t t) const {
        return index(s - 1) * index(chain_.stages) + index(t - 1);
    }

    std::int64_t saving_time(std::int32_t s, std::int32_t t, std::int64_t m) const {
        if (m < chain_.forward_all_need[pair(s, t)]) return none;
        const std::int64_t own = chain_.forward_ns[index(s - 1)] + chain_.backward_ns[index(s - 1)];
        if (s == t) return own;
        const std::int64_t rest = table_.time(s + 1, t, m - chain_.saved_slots[index(s - 1)]);
        return rest >= none ? none : own + rest;
    }

    std::int64_t split_time(std::int32_t s, std::int32_t split, std::int32_t t,
                            std::int64_t m) const {
        if (m < chain_.forward_none_need[pair(s, t)]) return none;
        const std::int64_t right = table_.time(split, t, m - chain_.input_slots[index(split - 1)]);
        const std::int64_t left = table_.time(s, split - 1, m);
        if (right >= none || left >= none) return none;
        return prefix_[index(split - 1)] - prefix_[index(s - 1)] + right + left;
    }

    const SlottedChain& chain_;
    const PersistentTable<Time>& table_;
    std::vector<std::int64_t> prefix_;
};

template <typename Time>
std::vector<std::optional<Solution>> solve(const SlottedChain& chain,
                                           const std::vector<std::int32_t>& budgets,
                                           Wanted wanted, const std::function<void()>& poll,
                                           std::int32_t threads) {
    PersistentTable<Time> table(chain, *std::max_element(budgets.begin(), budgets.end()));
    table.fill(poll, threads);
    const Backtracking<Time> backtracking(chain, table);
    std::vector<std::optional<Solution>> solutions;
    for (const std::int32_t budget : budgets) {
        const std::int64_t time_ns = table.time(1, chain.stages, budget);
        solutions.emplace_back();
        if (time_ns >= none) continue;
        solutions.back().emplace();
        solutions.back()->time_ns = time_ns;
        if (wanted == Wanted::schedules) solutions.back()->steps = backtracking.run(budget);
    }
    return solutions;
}

// In how many slots there is a schedule at all.
std::int64_t least_slots(const SlottedChain& chain, const std::function<void()>& poll) {
    const auto widened = [](const std::vector<std::int32_t>& sizes) {
        return std::vector<std::int64_t>(sizes.begin(), sizes.end());
    };
    const PersistentNeeds needs = persistent_needs(
        {chain.stages, widened(chain.input_slots), widened(chain.saved_slots),
         widened(chain.forward_all_need), widened(chain.forward_none_need)},
        poll);
    return needs.need[index(chain.stages - 1)];
}

}  // namespace

// A table of 32 bits takes half the memory and half the time. Sums that it cannot hold count as
// infeasible there. On the way to a schedule of time T no entry exceeds T, because
// E(s',t) <= E(s,t) for every part, and no sum exceeds T plus a forward pass. So an answer of that
// table is the fastest if it leaves room for a forward pass, and "none" is true where the memory
// does not suffice for any. What is left in doubt is asked again in 64 bits.
std::vector<std::optional<Solution>> solve_persistent(const SlottedChain& chain,
                                                      const std::vector<std::int32_t>& budgets,
                                                      Wanted wanted,
                                                      const std::function<void()>& poll,
                                                      std::int32_t threads) {
    const auto sum = [](const std::vector<std::int64_t>& times) {
        return std::accumulate(times.begin(), times.end(), std::int64_t{0});
    };
    const std::int64_t forward_ns = sum(chain.forward_ns);
    const std::int64_t longest_ns = infinite<std::int32_t> - 1 - forward_ns;
    if (forward_ns + sum(chain.backward_ns) > longest_ns) {
        return solve<std::int64_t>(chain, budgets, wanted, poll, threads);
    }
    auto solutions = solve<std::int32_t>(chain, budgets, wanted, poll, threads);
    std::optional<std::int64_t> least;
    std::vector<std::size_t> doubtful;
    std::vector<std::int32_t> doubtful_budgets;
    for (std::size_t k = 0; k < budgets.size(); ++k) {
        if (solutions[k]) {
            if (solutions[k]->time_ns <= longest_ns) continue;
        } else {
            if (!least) least = least_slots(chain, poll);
            if (budgets[k] < *least) continue;
        }
        doubtful.push_back(k);
        doubtful_budgets.push_back(budgets[k]);
    }
    if (doubtful.empty()) return solutions;
    auto exact = solve<std::int64_t>(chain, doubtful_budgets, wanted, poll, threads);
    for (std::size_t k = 0; k < doubtful.size(); ++k) solutions[doubtful[k]] = std::move(exact[k]);
    return solutions;
}

}  // namespace jettison
