// Recurrence of the persistent program in exact bytes and nanoseconds, with and without drops.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace jettison {

// The kinds of sub-problems of the stages s..t, with their input and the gradient of t in memory.
// With p = 1 the saved tensors of t are in memory, too, so that F_all^t need not run.
//   whole     C_p: the backwards of t..s. The input is there throughout and is not counted.
//   dropping  E_p: the backwards of t..s+1. F_all^s runs on the way, and its input, which is
//             counted, is dropped right after it: what s saves and the gradient of s are left.
// Without drops there is only C_0. A larger kind reads no smaller one of the same s and t.
enum class Kind : std::int8_t { whole, dropping, whole_saved, dropping_saved };

constexpr bool drops_input(Kind kind) { return static_cast<int>(kind) % 2 == 1; }
constexpr bool is_saved(Kind kind) { return static_cast<int>(kind) / 2 == 1; }
constexpr Kind kind_of(bool drops, bool saved) {
    return static_cast<Kind>((saved ? 2 : 0) + (drops ? 1 : 0));
}

struct SubProblem {
    Kind kind;
    std::int32_t s, t;
};

// One or four kinds; matrices are [kinds][stages * stages], (s, t) at s-1, t-1.
struct ExactChain {
    std::int32_t stages = 0;
    std::int32_t kinds = 1;
    std::vector<std::int64_t> forward_ns;         // [stages], stage s at index s - 1
    std::vector<std::int64_t> backward_ns;        // [stages]
    std::vector<std::int64_t> input_bytes;        // [stages], a^{s-1} at index s - 1
    std::vector<std::int64_t> saved_bytes;        // [stages], a-bar^s at index s - 1
    std::vector<std::int64_t> forward_all_need;   // to begin with F_all^s, or to end where s = t
    std::vector<std::int64_t> forward_none_need;  // to begin with F_ck^s
};

// Two infinities still add without overflow.
constexpr std::int64_t infinite_ns = std::numeric_limits<std::int64_t>::max() / 4;

// Sums of times, in units of so many nanoseconds, each time rounded down.
class StageTimes {
public:
    StageTimes(const std::vector<std::int64_t>& forward_ns,
               const std::vector<std::int64_t>& backward_ns, std::int64_t unit_ns)
        : forward_(1, 0), own_(1, 0) {
        for (std::size_t k = 0; k < forward_ns.size(); ++k) {
            const std::int64_t forward = forward_ns[k] / unit_ns;
            forward_.push_back(forward_.back() + forward);
            own_.push_back(own_.back() + forward + backward_ns[k] / unit_ns);
        }
    }

    std::int64_t forward(std::int32_t s) const { return run(s, s + 1); }
    // The forwards of s..split-1.
    std::int64_t run(std::int32_t s, std::int32_t split) const {
        return forward_[index(split - 1)] - forward_[index(s - 1)];
    }
    std::int64_t own(std::int32_t s, std::int32_t t) const {
        return own_[index(t)] - own_[index(s - 1)];
    }
    // The sum of one run of each operation that a sub-problem needs.
    std::int64_t own(const SubProblem& sub) const {
        std::int64_t time = own(sub.s, sub.t);
        if (drops_input(sub.kind)) time -= own(sub.s, sub.s) - forward(sub.s);
        if (is_saved(sub.kind)) time -= forward(sub.t);
        return time;
    }

private:
    static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

    std::vector<std::int64_t> forward_;  // prefix sums of the forward times
    std::vector<std::int64_t> own_;      // and of the forward and backward times
};

// The choices of a sub-problem. Stages count from 1. With i = input(s) where the input is
// counted (E), and 0 where it is not (C), the choices of s < t are
//
//   s    F_all^s    own(s) + C_p(s+1, t, m - saved(s))   for C, if m >= need_all
//                   forward(s) + C_p(s+1, t, m - saved(s))   for E
//   k    split      run(s,k) + C_p(k, t, m - i - input(k)) + X_0(s, k-1, m)   if m >= need_none
//   -k   drop       run(s,k) + E_p(k, t, m - i)            + X_1(s, k, m)     if m >= need_none
//
// where X is the kind at hand, C or E, s < k <= t, and -k is there with drops only, without -t for
// p = 1. What s = t takes is its own time, from need_all on. Source: RR-9302, Theorem 1, for C_0
// without drops; the rest is derived in drop_search.py.
class Grammar {
public:
    // A choice of a sub-problem, opened. `right` has `width` bytes less, `left` has as many.
    struct Rule {
        SubProblem right;
        SubProblem left;
        bool has_left;
        std::int64_t need;
        std::int64_t width;
    };

    explicit Grammar(ExactChain chain)
        : chain_(std::move(chain)), times_(chain_.forward_ns, chain_.backward_ns, 1) {}

    std::int32_t stages() const { return chain_.stages; }
    const ExactChain& chain() const { return chain_; }
    const StageTimes& times() const { return times_; }
    SubProblem root() const { return {Kind::whole, 1, chain_.stages}; }

    // Sub-problems are numbered so that those with the same t are neighbours.
    std::size_t cells() const {
        return index(chain_.kinds) * index(chain_.stages) * (index(chain_.stages) + 1) / 2;
    }
    std::size_t cell(const SubProblem& sub) const {
        return index(chain_.kinds) * (index(sub.t) * (index(sub.t) - 1) / 2 + index(sub.s - 1)) +
               index(static_cast<int>(sub.kind));
    }

    // All sub-problems, each after its parts.
    template <typename Visit>
    void for_each_sub_problem(const Visit& visit) const {
        for (std::int32_t t = 1; t <= chain_.stages; ++t) for_each_above(t, visit);
    }
    // Those that end with t.
    template <typename Visit>
    void for_each_above(std::int32_t t, const Visit& visit) const {
        for (std::int32_t s = t; s >= 1; --s) {
            for (int kind = chain_.kinds - 1; kind >= 0; --kind) {
                visit(SubProblem{static_cast<Kind>(kind), s, t});
            }
        }
    }
    // The same in the opposite order, each before its parts.
    template <typename Visit>
    void for_each_below(std::int32_t t, const Visit& visit) const {
        for (std::int32_t s = 1; s <= t; ++s) {
            for (int kind = 0; kind < chain_.kinds; ++kind) {
                visit(SubProblem{static_cast<Kind>(kind), s, t});
            }
        }
    }

    // F_all first, then splits, then drops: among equals, the first one is taken.
    template <typename Visit>
    void for_each_choice(const SubProblem& sub, const Visit& visit) const {
        if (sub.s == sub.t) return;
        for (std::int32_t k = sub.s; k <= sub.t; ++k) visit(k);
        if (chain_.kinds == 1) return;
        const std::int32_t last = is_saved(sub.kind) ? sub.t - 1 : sub.t;
        for (std::int32_t k = sub.s + 1; k <= last; ++k) visit(-k);
    }

    Rule open(const SubProblem& sub, std::int32_t choice) const {
        const bool drops = drops_input(sub.kind);
        const bool saved = is_saved(sub.kind);
        const std::int64_t counted = drops ? input(sub.s) : 0;
        if (choice == sub.s) {
            return {{kind_of(false, saved), sub.s + 1, sub.t}, sub, false, need_all(sub),
                    this->saved(sub.s)};
        }
        if (choice > 0) {
            return {{kind_of(false, saved), choice, sub.t},
                    {kind_of(drops, false), sub.s, choice - 1},
                    true,
                    need_none(sub),
                    counted + input(choice)};
        }
        return {{kind_of(true, saved), -choice, sub.t},
                {kind_of(drops, true), sub.s, -choice},
                true,
                need_none(sub),
                counted};
    }
    // What a choice adds to the times of its parts.
    static std::int64_t time(const StageTimes& times, const SubProblem& sub, std::int32_t choice) {
        if (choice != sub.s) return times.run(sub.s, std::abs(choice));
        return drops_input(sub.kind) ? times.forward(sub.s) : times.own(sub.s, sub.s);
    }

    std::int64_t need_all(const SubProblem& sub) const { return chain_.forward_all_need[at(sub)]; }

protected:
    static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

private:
    std::size_t at(const SubProblem& sub) const {
        const std::size_t row = index(static_cast<int>(sub.kind)) * index(chain_.stages);
        return (row + index(sub.s - 1)) * index(chain_.stages) + index(sub.t - 1);
    }
    std::int64_t need_none(const SubProblem& sub) const {
        return chain_.forward_none_need[at(sub)];
    }
    std::int64_t input(std::int32_t s) const { return chain_.input_bytes[index(s - 1)]; }
    std::int64_t saved(std::int32_t s) const { return chain_.saved_bytes[index(s - 1)]; }

    ExactChain chain_;
    StageTimes times_;
};

// The same, with two memories of each sub-problem: its least memory, and plenty of memory.
class Recurrence : public Grammar {
public:
    Recurrence(ExactChain chain, std::int64_t available_bytes, const std::function<void()>& poll)
        : Grammar(std::move(chain)),
          available_bytes_(available_bytes),
          least_(cells(), 0),
          plenty_(cells(), 0) {
        for_each_sub_problem([&](const SubProblem& sub) {
            std::int64_t plenty = need_all(sub);
            std::int64_t least = need_all(sub);
            for_each_choice(sub, [&](std::int32_t choice) {
                const Rule rule = open(sub, choice);
                std::int64_t need = std::max(rule.need, rule.width + this->least(rule.right));
                if (rule.has_left) need = std::max(need, this->least(rule.left));
                if (choice == sub.s) {
                    least = need;
                    plenty = std::max(plenty, rule.width + this->plenty(rule.right));
                } else {
                    least = std::min(least, need);
                }
            });
            least_[cell(sub)] = least;
            plenty_[cell(sub)] = std::min(plenty, available_bytes_ + 1);
            poll();
        });
    }

    std::int64_t available_bytes() const { return available_bytes_; }

    // From the least memory on the time is finite; from plenty on all stages can be saved, and the
    // time is the sum of their own times. Amounts above the available memory are not exact.
    std::int64_t least(const SubProblem& sub) const { return least_[cell(sub)]; }
    std::int64_t plenty(const SubProblem& sub) const { return plenty_[cell(sub)]; }

private:
    std::int64_t available_bytes_;
    std::vector<std::int64_t> least_;
    std::vector<std::int64_t> plenty_;
};

}  // namespace jettison
