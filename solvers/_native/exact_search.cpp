#include "exact_search.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>

#include "least_memory.hpp"
#include "persistent_table.hpp"

namespace jettison {
namespace {

using Table = PersistentTable<std::int32_t>;

constexpr std::int64_t infinity = infinite<std::int64_t>;

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

std::int64_t quotient(std::int64_t value, std::int64_t factor, std::int64_t divisor, bool up) {
    // Bytes times slots can need more than 64 bits.
    __extension__ using wide = __int128;
    const wide product = static_cast<wide>(value) * factor;
    return static_cast<std::int64_t>((product + (up ? divisor - 1 : 0)) / divisor);
}

// Thrown by `poll` inside the tables, where there is nothing to keep.
struct Stopped {};

class Search {
public:
    Search(const ExactChain& chain, const ExactLimits& limits, const std::function<bool()>& poll)
        : chain_(chain),
          limits_(limits),
          poll_(poll),
          unit_ns_(limits.known_time_ns / (infinite<std::int32_t> - 1) + 1),
          low_chain_(slotted(false)),
          high_chain_(slotted(true)),
          low_(low_chain_, limits.slots),
          high_(high_chain_, limits.slots),
          needs_(persistent_needs(
              {chain.stages, chain.input_bytes, chain.saved_bytes, chain.forward_all_need,
               chain.forward_none_need},
              [] {})),
          prefix_(index(chain.stages) + 1, 0),
          known_(index(chain.stages) * (index(chain.stages) + 1) / 2) {
        for (std::int32_t s = 1; s <= chain.stages; ++s) {
            prefix_[index(s)] = prefix_[index(s - 1)] + chain.forward_ns[index(s - 1)];
        }
    }

    ExactAnswer run() {
        ExactAnswer answer;
        answer.time_ns = limits_.known_time_ns;
        const std::int32_t n = chain_.stages;
        const std::int64_t m = limits_.available_bytes;
        try {
            low_.fill([this] { if (!poll_()) throw Stopped(); });
            high_.fill([this] { if (!poll_()) throw Stopped(); });
        } catch (const Stopped&) {
            return answer;
        }
        Interval root = bracket(1, n, m);
        root.high = std::min(root.high, limits_.known_time_ns);
        // The question is asked in steps, "is there one faster than this?", so that an early stop
        // leaves a better bound than the grid's. What one step learned serves the next.
        while (root.low < root.high && !stopped_) {
            const std::int64_t step = std::max<std::int64_t>((root.high - root.low) / 8, 1);
            const Interval found = solve(1, n, m, root.low + step);
            if (stopped_) {
                root.high = std::min(root.high, bracket(1, n, m).high);
                break;
            }
            root.low = std::max(root.low, std::min(found.low, root.high));
            root.high = std::min(root.high, found.high);
        }
        answer.lower_bound_ns = std::min(root.low, root.high);
        answer.states = states_;
        answer.complete = root.low >= root.high;
        if (root.high < limits_.known_time_ns) {
            answer.time_ns = root.high;
            answer.steps = backtrack();
        }
        return answer;
    }

private:
    struct Interval {
        std::int64_t low, high;
    };

    struct Choice {
        std::int64_t low;
        std::int32_t split;  // s for F_all
    };

    std::size_t cell(std::int32_t s, std::int32_t t) const {
        return index(t) * (index(t) - 1) / 2 + index(s - 1);
    }
    std::size_t pair(std::int32_t s, std::int32_t t) const {
        return index(s - 1) * index(chain_.stages) + index(t - 1);
    }
    std::int64_t input(std::int32_t s) const { return chain_.input_bytes[index(s - 1)]; }
    std::int64_t saved(std::int32_t s) const { return chain_.saved_bytes[index(s - 1)]; }
    std::int64_t own(std::int32_t s) const {
        return chain_.forward_ns[index(s - 1)] + chain_.backward_ns[index(s - 1)];
    }
    // Time of the forward run s..split-1.
    std::int64_t run_ns(std::int32_t s, std::int32_t split) const {
        return prefix_[index(split - 1)] - prefix_[index(s - 1)];
    }

    SlottedChain slotted(bool up) const {
        SlottedChain grid;
        grid.stages = chain_.stages;
        const auto slots = [&](const std::vector<std::int64_t>& sizes, bool round_up) {
            std::vector<std::int32_t> found;
            found.reserve(sizes.size());
            for (const std::int64_t size : sizes) {
                found.push_back(size > limits_.available_bytes
                                    ? limits_.slots + 1
                                    : static_cast<std::int32_t>(quotient(
                                          size, limits_.slots, limits_.available_bytes, round_up)));
            }
            return found;
        };
        const auto units = [&](const std::vector<std::int64_t>& times) {
            std::vector<std::int64_t> found;
            found.reserve(times.size());
            for (const std::int64_t time : times) found.push_back(quotient(time, 1, unit_ns_, up));
            return found;
        };
        grid.forward_ns = units(chain_.forward_ns);
        grid.backward_ns = units(chain_.backward_ns);
        grid.input_slots = slots(chain_.input_bytes, up);
        grid.saved_slots = slots(chain_.saved_bytes, up);
        // A whole number of slots that holds a threshold holds it rounded up, in both grids.
        grid.forward_all_need = slots(chain_.forward_all_need, true);
        grid.forward_none_need = slots(chain_.forward_none_need, true);
        return grid;
    }

    // What is known of C(s,t,m) without expanding anything.
    Interval bracket(std::int32_t s, std::int32_t t, std::int64_t m) const {
        if (m < needs_.need[pair(s, t)]) return {infinity, infinity};
        const std::int64_t up = quotient(m, limits_.slots, limits_.available_bytes, true);
        const std::int64_t down = quotient(m, limits_.slots, limits_.available_bytes, false);
        const std::int64_t floor = low_.time(s, t, up);
        const std::int64_t ceiling = high_.time(s, t, down);
        // A floor that saturated is at least the known time: not infeasible, but of no interest.
        Interval found{floor < infinity ? floor * unit_ns_ : limits_.known_time_ns,
                       ceiling < infinity ? ceiling * unit_ns_ : infinity};
        const auto& entries = known_[cell(s, t)];
        auto more = entries.lower_bound(m);
        if (more != entries.end()) {
            found.low = std::max(found.low, more->second.low);
            if (more->first == m) found.high = std::min(found.high, more->second.high);
        }
        if (more != entries.begin()) {
            found.high = std::min(found.high, std::prev(more)->second.high);
        }
        return found;
    }

    // Returns an interval around C(s,t,m) that is a point, or lies at or above `limit`.
    Interval solve(std::int32_t s, std::int32_t t, std::int64_t m, std::int64_t limit) {
        const Interval before = bracket(s, t, m);
        if (stopped_ || before.low >= limit || before.low >= before.high) return before;
        ++states_;
        if ((states_ & 255) == 0 && !poll_()) stopped_ = true;
        if (states_ >= limits_.most_states) stopped_ = true;

        std::int64_t best = before.high;
        std::vector<Choice> choices;
        if (m >= chain_.forward_all_need[pair(s, t)]) {
            if (s == t) {
                best = std::min(best, own(s));
            } else {
                const Interval rest = bracket(s + 1, t, m - saved(s));
                if (rest.low < infinity) choices.push_back({own(s) + rest.low, s});
                if (rest.high < infinity) best = std::min(best, own(s) + rest.high);
            }
        }
        if (s < t && m >= chain_.forward_none_need[pair(s, t)]) {
            for (std::int32_t split = s + 1; split <= t; ++split) {
                const Interval right = bracket(split, t, m - input(split));
                if (right.low >= infinity) continue;
                const Interval left = bracket(s, split - 1, m);
                if (left.low >= infinity) continue;
                choices.push_back({run_ns(s, split) + right.low + left.low, split});
                if (right.high < infinity && left.high < infinity) {
                    best = std::min(best, run_ns(s, split) + right.high + left.high);
                }
            }
        }
        std::sort(choices.begin(), choices.end(),
                  [](const Choice& x, const Choice& y) { return x.low < y.low; });
        std::int64_t low = infinity;
        for (const Choice& choice : choices) {
            const std::int64_t cut = std::min(best, limit);
            // The choices are sorted: none that follows can be below this one.
            if (choice.low >= cut || best <= before.low || stopped_) {
                low = std::min(low, choice.low);
                break;
            }
            const Interval found = follow(choice.split, s, t, m, cut);
            best = std::min(best, found.high);
            low = std::min(low, found.low);
        }
        const Interval after{std::max(before.low, std::min(low, best)), best};
        known_[cell(s, t)][m] = after;
        return after;
    }

    // One choice: exact, or at or above `cut`.
    Interval follow(std::int32_t split, std::int32_t s, std::int32_t t, std::int64_t m,
                    std::int64_t cut) {
        if (split == s) {
            const Interval rest = solve(s + 1, t, m - saved(s), cut - own(s));
            return sum(own(s), rest, {0, 0});
        }
        const std::int64_t run = run_ns(s, split);
        Interval left = bracket(s, split - 1, m);
        const Interval right = solve(split, t, m - input(split), cut - run - left.low);
        if (run + right.low + left.low < cut) {
            left = solve(s, split - 1, m, cut - run - right.low);
        }
        return sum(run, right, left);
    }

    static Interval sum(std::int64_t time, const Interval& one, const Interval& other) {
        const bool bounded = one.high < infinity && other.high < infinity;
        const bool feasible = one.low < infinity && other.low < infinity;
        return {feasible ? time + one.low + other.low : infinity,
                bounded ? time + one.high + other.high : infinity};
    }

    // Upper bounds come with a choice that attains them: from the grid rounded up or from an
    // expansion in no more memory, whose parts have upper bounds that are at least as good here.
    std::vector<Step> backtrack() const {
        struct Task {
            std::int32_t s, t;  // t == 0 stands for "emit the backward of s"
            std::int64_t m;
        };
        std::vector<Step> steps;
        std::vector<Task> tasks{{1, chain_.stages, limits_.available_bytes}};
        while (!tasks.empty()) {
            const auto [s, t, m] = tasks.back();
            tasks.pop_back();
            if (t == 0) {
                steps.push_back({Operation::backward, s});
                continue;
            }
            const std::int32_t split = best_choice(s, t, m);
            if (split == s) {
                steps.push_back({Operation::forward_all, s});
                tasks.push_back({s, 0, 0});
                if (s < t) tasks.push_back({s + 1, t, m - saved(s)});
                continue;
            }
            steps.push_back({Operation::forward_checkpoint, s});
            for (std::int32_t k = s + 1; k < split; ++k) {
                steps.push_back({Operation::forward_none, k});
            }
            tasks.push_back({s, split - 1, m});
            tasks.push_back({split, t, m - input(split)});
        }
        return steps;
    }

    std::int32_t best_choice(std::int32_t s, std::int32_t t, std::int64_t m) const {
        std::int64_t best = infinity;
        std::int32_t chosen = s;
        if (m >= chain_.forward_all_need[pair(s, t)]) {
            const std::int64_t rest = s == t ? 0 : bracket(s + 1, t, m - saved(s)).high;
            if (rest < infinity) best = own(s) + rest;
        }
        if (s < t && m >= chain_.forward_none_need[pair(s, t)]) {
            for (std::int32_t split = s + 1; split <= t; ++split) {
                const Interval found = sum(run_ns(s, split), bracket(split, t, m - input(split)),
                                           bracket(s, split - 1, m));
                if (found.high < best) {
                    best = found.high;
                    chosen = split;
                }
            }
        }
        assert(best < infinity);
        return chosen;
    }

    const ExactChain& chain_;
    const ExactLimits& limits_;
    const std::function<bool()>& poll_;
    std::int64_t unit_ns_;
    SlottedChain low_chain_, high_chain_;
    Table low_, high_;
    PersistentNeeds needs_;
    std::vector<std::int64_t> prefix_;
    std::vector<std::map<std::int64_t, Interval>> known_;
    std::int64_t states_ = 0;
    bool stopped_ = false;
};

}  // namespace

ExactAnswer search_exactly(const ExactChain& chain, const ExactLimits& limits,
                           const std::function<bool()>& poll) {
    return Search(chain, limits, poll).run();
}

}  // namespace jettison
