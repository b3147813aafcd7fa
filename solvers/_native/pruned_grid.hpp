// A grid over the part of the persistent program that can still hold a faster schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "recurrence.hpp"
#include "slots.hpp"

namespace jettison {

// Memory sizes are taken together in slots; see `Slots`. A solution of the recurrence is a tree of
// sub-chains with memory sizes, and its time is the sum of what its choices add. For a sub-chain
// s..t and a slot q two bounds hold for every tree that has s..t with a size in that slot:
//
//   inside(s,t,q)    is at most the time of the tree below s..t,
//   outside(s,t,q)   is at most the time of all the rest of the tree.
//
// With times rounded down to units and w = size rounded down to slots,
//
//   inside(s,t,q)  = min( own(s) + inside(s+1, t, q - w(saved)),
//                         min_k run(s,k) + inside(k, t, q - w(input)) + inside(s, k-1, q) )
//
// where a choice is open if a size of the slot meets its threshold: a size in slot q, less x bytes,
// lies in slot q - w(x) or q - w(x) - 1, and inside never grows with q. From the root, whose size
// is known, a choice k of s..t in slot q hands on
//
//   to s..k-1 in q                  outside(s,t,q) + run(s,k) + inside(k, t, q - w),
//   to k..t in q - w and q - w - 1  outside(s,t,q) + run(s,k) + inside(s, k-1, q),
//
// and the least that a sub-chain is handed is its outside bound. `prune` drops
//
//   (1) s..t in slot q, if outside + inside reaches the best time known: every tree that has it
//       takes at least that long;
//   (2) a choice in slot q, if outside(s,t,q) plus what the choice adds plus the inside bounds of
//       its parts does, for the same reason;
//   (3) all choices of s..t in a slot whose every size holds all that the stages save: there, each
//       stage takes its own times, and no choice is better.
//
// Slots are dropped from both ends of a sub-chain, or of a choice: what is kept is a range. A
// choice that is kept in slot q keeps its parts in slots q and q - w, by the same sum. Every tree
// that is faster than the best time known is kept whole, down to where (3) ends it, so that a finer
// grid needs to look at what is left only. There, inside bounds are for the trees that are left:
// that of the root bounds the optimum until it reaches the best time known, which then is the
// optimum.
class PrunedGrid {
public:
    using Poll = std::function<void()>;  // may throw to stop; the grid is of no use after that

    // A choice, in the slots where it is kept.
    struct Choice {
        std::int32_t choice;
        std::int32_t first, last;
    };

    // Times are counted in units of `unit_ns`. Throws std::bad_alloc when what is kept would need
    // more than `most_bytes`, here and in all that follows.
    PrunedGrid(const Recurrence& recurrence, std::int32_t slots, std::int64_t unit_ns,
               std::int64_t most_bytes);

    // The inside bounds of everything: O(N^3 slots) time.
    void bound_all(const Poll& poll);
    // Halves the slots and bounds what is left.
    void refine(const Poll& poll);
    bool can_refine() const;

    // The outside bounds, and what they drop; `best_ns` is the time of some schedule.
    void prune(std::int64_t best_ns, const Poll& poll);

    const Slots& slots() const { return slots_; }
    // A bound on C(s,t,m), `handicap` slots below m where there are so many; infinite_ns where
    // nothing is left. The bounds of a handicap are none: they only guide.
    std::int64_t inside_ns(std::int32_t s, std::int32_t t, std::int64_t memory_bytes,
                           std::int64_t handicap) const;
    // After `prune`: a bound on the time outside of s..t, over the slots of these sizes.
    std::int64_t outside_ns(std::int32_t s, std::int32_t t, std::int64_t from_bytes,
                            std::int64_t to_bytes) const;
    // The first and the last size of s..t that is left, in bytes; the first is larger if none is.
    std::int64_t first_byte(std::int32_t s, std::int32_t t) const;
    std::int64_t last_byte(std::int32_t s, std::int32_t t) const;

    // After `prune`: calls `visit(choice)` for each choice of s..t that is left, s < t.
    template <typename Visit>
    void for_each_choice(std::int32_t s, std::int32_t t, const Visit& visit) const {
        const SubChain& part = sub_chain(s, t);
        const auto& row = choices_[index(t)];
        for (std::size_t k = 0; k < part.choice_count; ++k) visit(row[part.choices + k]);
    }

    std::int64_t bytes() const;
    std::int64_t states() const { return states_; }          // inside bounds computed so far
    std::int64_t operations() const { return operations_; }  // sums taken so far
    std::int64_t open_work() const { return open_work_; }    // slots of all choices that are left

private:
    struct SubChain {
        std::int32_t first = 1, last = 0;  // slots that are left
        std::size_t values = 0;            // where the row of `first` begins
        std::size_t choices = 0;
        std::size_t choice_count = 0;
    };

    // Parts of one choice, and the slots in which all of it is there.
    struct Parts {
        const SubChain* right = nullptr;
        const SubChain* left = nullptr;  // none for the choice s
        std::int64_t width = 0;          // slots that the right part has less
        std::int32_t time = 0;
        std::int64_t from = 0, to = -1;
    };

    static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
    SubChain& sub_chain(std::int32_t s, std::int32_t t) { return cells_[Recurrence::cell(s, t)]; }
    const SubChain& sub_chain(std::int32_t s, std::int32_t t) const {
        return cells_[Recurrence::cell(s, t)];
    }
    static std::int32_t* row(std::vector<std::int32_t>& values, const SubChain& part,
                             std::int64_t slot) {
        return values.data() + static_cast<std::ptrdiff_t>(part.values) + (slot - part.first);
    }
    std::int32_t own_units(std::int32_t s, std::int32_t t) const;
    std::int64_t first_plenty(std::int32_t s, std::int32_t t) const;
    void lay_out();
    void bound(std::int32_t s, std::int32_t t);
    bool narrow(SubChain& part, std::int32_t limit);
    Parts parts(std::int32_t s, std::int32_t t, const Choice& choice) const;
    void prune_choice(std::int32_t s, std::int32_t t, const Choice& choice, std::int32_t limit,
                      std::vector<Choice>& kept);
    void check_memory(std::int64_t more_bytes) const;

    const Recurrence& recurrence_;
    Slots slots_;
    std::int64_t unit_ns_;
    std::int64_t most_bytes_;
    std::vector<std::int64_t> forward_;  // prefix sums in units
    std::vector<std::int64_t> own_;
    std::vector<SubChain> cells_;
    std::vector<std::vector<Choice>> choices_;  // by t
    std::vector<std::int32_t> inside_;
    std::vector<std::int32_t> outside_;
    std::int64_t states_ = 0;
    std::int64_t operations_ = 0;
    std::int64_t open_work_ = 0;
    std::int64_t choice_bytes_ = 0;
    bool pruned_ = false;
};

}  // namespace jettison
