#include "remat_chain/persistent_program.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <utility>

#include "remat_chain/descent.hpp"
#include "remat_chain/grid/groups.hpp"
#include "remat_chain/grid/table.hpp"
#include "remat_chain/recurrence.hpp"

namespace jettison {
namespace {

constexpr std::int64_t none = infinite<std::int64_t>;

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

// The same chain with slots in place of bytes, and the input counted in what E needs.
ExactChain widened(const SlottedChain& chain) {
    const auto wide = [](const std::vector<std::int32_t>& sizes) {
        return std::vector<std::int64_t>(sizes.begin(), sizes.end());
    };
    ExactChain found{chain.stages,
                     chain.tables == Tables::one ? 1 : 4,
                     chain.forward_ns,
                     chain.backward_ns,
                     wide(chain.input_slots),
                     wide(chain.saved_slots),
                     wide(chain.forward_all_need),
                     wide(chain.forward_none_need)};
    const std::size_t row = index(chain.stages);
    for (const Kind kind : {Kind::dropping, Kind::dropping_saved}) {
        if (found.kinds == 1) break;
        for (std::size_t s = 0; s < row; ++s) {
            for (std::size_t t = 0; t < row; ++t) {
                const std::size_t at = (index(static_cast<int>(kind)) * row + s) * row + t;
                found.forward_all_need[at] += found.input_bytes[s];
                found.forward_none_need[at] += found.input_bytes[s];
            }
        }
    }
    return found;
}

// The choices are found again from the values, which costs O(N) per operation emitted and saves a
// second table.
template <typename Time>
Solution backtracked(const Grammar& grammar, Tables tables, const PersistentTable<Time>& table,
                     std::int32_t budget) {
    const auto attained = [&](const SubProblem& sub, std::int64_t m) {
        // Where E is not kept, it begins with F_all.
        if (sub.s == sub.t || (drops_input(sub.kind) && tables == Tables::two)) return sub.s;
        const std::int64_t target = table.time(sub, m);
        assert(target < none);
        std::int32_t chosen = 0;
        grammar.for_each_choice(sub, [&](std::int32_t choice) {
            if (chosen != 0) return;
            const Grammar::Rule rule = grammar.open(sub, choice);
            if (m < rule.need) return;
            const std::int64_t right = table.time(rule.right, m - rule.width);
            const std::int64_t left = rule.has_left ? table.time(rule.left, m) : 0;
            if (right >= none || left >= none) return;
            const std::int64_t time = Grammar::time(grammar.times(), sub, choice) + right + left;
            if (time == target) chosen = choice;
        });
        assert(chosen != 0);
        return chosen;
    };
    return *emit(grammar, budget, attained, [] {});
}

// A time that no budget exceeds, by a program of groups, which costs little; none if that knows no
// schedule for some budget.
template <typename Time>
std::int64_t limit_ns(const SlottedChain& chain, const std::vector<std::int32_t>& budgets,
                      const std::function<void()>& poll, std::int32_t threads) {
    constexpr std::int32_t length = 4;
    if (chain.stages < 2 * length) return infinite<std::int64_t>;
    const SlottedChain groups = in_groups(chain, length);
    PersistentTable<Time> table(groups, *std::max_element(budgets.begin(), budgets.end()));
    table.fill(poll, threads);
    std::int64_t largest = 0;
    for (const std::int32_t budget : budgets) {
        largest = std::max(largest, table.time({Kind::whole, 1, groups.stages}, budget));
    }
    return largest;
}

template <typename Time>
std::vector<std::optional<Solution>> solve(const SlottedChain& chain,
                                           const std::vector<std::int32_t>& budgets,
                                           Wanted wanted, const std::function<void()>& poll,
                                           std::int32_t threads) {
    PersistentTable<Time> table(chain, *std::max_element(budgets.begin(), budgets.end()),
                                limit_ns<Time>(chain, budgets, poll, threads));
    table.fill(poll, threads);
    const Grammar grammar(widened(chain));
    std::vector<std::optional<Solution>> solutions;
    for (const std::int32_t budget : budgets) {
        const std::int64_t time_ns = table.time(grammar.root(), budget);
        solutions.emplace_back();
        if (time_ns >= none) continue;
        if (wanted == Wanted::schedules) {
            solutions.back() = backtracked(grammar, chain.tables, table, budget);
        } else {
            solutions.back().emplace();
        }
        solutions.back()->time_ns = time_ns;
    }
    return solutions;
}

// The least number of slots with a schedule. Without tables of E slightly more may be needed: such
// budgets are solved again.
std::int64_t least_slots(const SlottedChain& chain, const std::function<void()>& poll) {
    const Recurrence recurrence(widened(chain), infinite_ns, poll);
    return recurrence.least(recurrence.root());
}

}  // namespace

// A table of 32 bits takes half the memory and half the time. Sums that it cannot hold count as
// infeasible there. On the way to a schedule of time T no entry exceeds T, because the entry of a
// part is no more than that of the whole, and no sum exceeds T plus a forward pass. So an answer of
// that table is the fastest if a forward pass can be added to it in 32 bits, and "none" is right
// where the memory is too small for any schedule. Other budgets are solved again in 64 bits.
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
