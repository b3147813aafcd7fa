// Grid of memory slots over the part of a persistent program that may contain a faster schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "remat_chain/recurrence.hpp"
#include "remat_chain/slots.hpp"

namespace jettison {

// Memory sizes are taken together in slots; see `Slots`. A solution of the recurrence is a tree of
// sub-problems with memory sizes, and its time is the sum of what its choices add. For a
// sub-problem x and a slot q two bounds hold for every tree that has x with a size in that slot:
//
//   inside(x,q)    is at most the time of the tree below x,
//   outside(x,q)   is at most the time of all the rest of the tree.
//
// With times rounded down to units, and w = the width of a choice rounded down to slots,
//
//   inside(x,q)  = min over its choices of  time + inside(right, q - w) + inside(left, q)
//
// where a choice is open if a size of the slot meets its threshold: a size in slot q, less b bytes,
// lies in slot q - w(b) or q - w(b) - 1, and inside never grows with q. From the root, whose size
// is known, a choice of x in slot q hands on
//
//   to left in q                       outside(x,q) + time + inside(right, q - w),
//   to right in q - w and q - w - 1    outside(x,q) + time + inside(left, q),
//
// and the least that a sub-problem is handed is its outside bound. `prune` drops
//
//   (1) x in slot q, if outside + inside reaches the best time known: every tree that has it
//       takes at least that long;
//   (2) a choice in slot q, if outside(x,q) plus what the choice adds plus the inside bounds of
//       its parts does, for the same reason;
//   (3) all choices of x in a slot whose every size holds all that the stages save: there, each
//       stage takes its own times, and no choice is better.
//
// Slots are dropped from both ends of a sub-problem, or of a choice: what is kept is a range. A
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

    // Times are counted in units of `unit_ns`. This and the other functions throw std::bad_alloc
    // when the rows would need more than `most_bytes`.
    PrunedGrid(const Recurrence& recurrence, std::int32_t slots, std::int64_t unit_ns,
               std::int64_t most_bytes);

    // The inside bounds of everything: O(N^3 slots) time.
    void bound_all(const Poll& poll);
    // Halves the slots and computes inside bounds of what is left.
    void refine(const Poll& poll);
    bool can_refine() const;

    // Computes outside bounds and drops by them; `best_ns` is the time of some schedule.
    void prune(std::int64_t best_ns, const Poll& poll);

    const Slots& slots() const { return slots_; }
    // A bound on the time of a sub-problem, taken `handicap` slots below m if possible; infinite_ns
    // where nothing is left. With a handicap it is no bound and serves only as a guide.
    std::int64_t inside_ns(const SubProblem& sub, std::int64_t memory_bytes,
                           std::int64_t handicap) const;
    // After `prune`: a bound on the time outside of a sub-problem, over the slots of these sizes.
    std::int64_t outside_ns(const SubProblem& sub, std::int64_t from_bytes,
                            std::int64_t to_bytes) const;
    // The first and the last size that is left, in bytes; the first is larger if none is.
    std::int64_t first_byte(const SubProblem& sub) const;
    std::int64_t last_byte(const SubProblem& sub) const;

    // Calls `visit(choice)` for each choice that is left, s < t.
    template <typename Visit>
    void for_each_choice(const SubProblem& sub, const Visit& visit) const {
        const Cell& cell = cell_of(sub);
        if (!pruned_) {
            recurrence_.for_each_choice(sub, [&](std::int32_t choice) {
                visit(Choice{choice, cell.first, cell.last});
            });
            return;
        }
        const auto& row = choices_[index(sub.t)];
        for (std::size_t k = 0; k < cell.choice_count; ++k) visit(row[cell.choices + k]);
    }

    std::int64_t bytes() const;
    std::int64_t states() const { return states_; }          // inside bounds computed so far
    std::int64_t operations() const { return operations_; }  // sums taken so far
    std::int64_t open_work() const { return open_work_; }    // slots of all choices that are left

private:
    struct Cell {
        std::int32_t first = 1, last = 0;  // slots that are left
        std::size_t values = 0;            // where the row of `first` begins
        std::size_t choices = 0;
        std::size_t choice_count = 0;
    };

    // Parts of one choice, and the slots in which all of it is there.
    struct Parts {
        const Cell* right = nullptr;
        const Cell* left = nullptr;  // none for the choice s
        std::int64_t width = 0;          // slots that the right part has less
        std::int32_t time = 0;
        std::int64_t from = 0, to = -1;
    };

    static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
    Cell& cell_of(const SubProblem& sub) { return cells_[recurrence_.cell(sub)]; }
    const Cell& cell_of(const SubProblem& sub) const { return cells_[recurrence_.cell(sub)]; }
    static std::int32_t* row(std::vector<std::int32_t>& values, const Cell& cell,
                             std::int64_t slot) {
        return values.data() + static_cast<std::ptrdiff_t>(cell.values) + (slot - cell.first);
    }
    std::int32_t own_units(const SubProblem& sub) const;
    std::int64_t first_plenty(const SubProblem& sub) const;
    void lay_out();
    void bound(const SubProblem& sub);
    bool narrow(Cell& cell, std::int32_t limit);
    Parts parts(const SubProblem& sub, const Choice& choice) const;
    void prune_choice(const SubProblem& sub, const Choice& choice, std::int32_t limit,
                      std::vector<Choice>& kept);
    void check_memory(std::int64_t more_bytes) const;

    const Recurrence& recurrence_;
    Slots slots_;
    std::int64_t unit_ns_;
    std::int64_t most_bytes_;
    StageTimes times_;  // in units
    std::vector<Cell> cells_;
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
