// C(i, j, A, D) of POFO's Appendix B.3: the least time to run F^i..F^j, B^j..B^i in the backward
// phase while D units of lower values arrive, exactly or between two grids.
//
// With av = M - A, h_B = av - M_B(i), h_F = av - delta^j - (a-bar^i + o_f-bar^i), and all of these
// >= 0, the recurrence has the closed form
//   all:  u_f + u_b + (D - h_B)+ + max(C(i+1, j, A + a-bar^i, D1), D1 - h_F),
//         D1 = (min(D, h_B) - u_b)+,
//   ck k: P(i, k) + max(c1 + C(k+1, j, A + a^k, (D - c1)+), D - h_k),   c1 = C(i, k, A, D),
//         h_k = av - delta^j - max_l (F0(l) - P(l+1, k)),
// the least over i <= k < j. In D it is nondecreasing, and by induction on j - i it grows by at
// most 1 per unit: in `all`, (D - h_B)+ and min(D, h_B) share the growth; in `ck`, what c1 grows by
// is taken from D - c1. It is nondecreasing in A: where h_B shrinks, the idle time grows by as
// much as min(D, h_B) shrinks.
//
// So C is a curve over D (curve.hpp), computed for all D at once: only av is ever rounded.
//
// Grids. The lower grid holds curves at multiples of a slot of av and rounds av up, the upper grid
// rounds it down. `all` is nondecreasing in its inner value, and `ck` in c1 and c2 together,
// because a c1 that is too small by e makes D - c1 too large by e, which costs at most e. So, by
// induction, the lower grid is below C and the upper grid above. Curves of many breaks are
// simplified on the side that the grid is on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "remat_offload/curve_store.hpp"
#include "remat_offload/rotor.hpp"

namespace jettison {

// The recurrence. `Table` provides the curves of smaller sub-chains:
//   curve(i, j, av), rotor(), rotor_slots(av), and how one is simplified before it is kept.
template <typename Table>
class BackwardRecurrence {
public:
    struct Choice {
        std::int64_t time = never;
        std::int32_t last = 0;  // k of `ck k`, or 0 for `all`
    };

    // The fastest choice for one D; `all` on ties, then the shortest run.
    Choice choice(std::int32_t i, std::int32_t j, std::int64_t av, std::int64_t d) {
        const OffloadChain& chain = context_.chain;
        Choice best;
        const std::int64_t forward_room = room_for_all(i, j, av);
        const std::int64_t backward_room = av - chain.backward_need[at(i)];
        if (forward_room >= 0 && backward_room >= 0) {
            const std::int64_t left =
                positive(std::min(d, backward_room) - chain.backward[at(i)]);
            const std::int64_t inner =
                i < j ? table().curve(i + 1, j, av - chain.saved[at(i)])(left) : 0;
            best.time = chain.forward[at(i)] + chain.backward[at(i)] + positive(d - backward_room) +
                        std::max(inner, left - forward_room);
        }
        const Splits splits(*this, i, j, av);
        for (std::int32_t k = i; k < splits.end; ++k) {
            const std::int64_t room = splits.room(k);
            const std::int64_t bound = splits.bound(k) + positive(d - splits.flat_until(k));
            if (bound >= best.time) continue;
            const CurveView lower = table().curve(i, k, av);
            if (lower.base >= never) continue;
            const CurveView upper = table().curve(k + 1, j, av - chain.output[at(k)]);
            if (upper.base >= never) continue;
            const std::int64_t first = lower(d);
            const std::int64_t time =
                context_.runs.time(i, k) +
                std::max(first + upper(positive(d - first)), d - room);
            if (time < best.time) best = {time, k};
        }
        return best;
    }

    const OffloadContext& context() const { return context_; }

protected:
    explicit BackwardRecurrence(const OffloadContext& context)
        : context_(context), store_(context.budget) {}

    // Computes the curve of one state and stores it.
    const std::int64_t* make(std::int32_t i, std::int32_t j, std::int64_t av) {
        if (++states_ % 1024 == 0) context_.poll();
        if (depth_ == scratch_.size()) scratch_.emplace_back(context_.budget);
        Scratch& scratch = scratch_[depth_];
        const Deeper deeper(depth_);
        compute(scratch, i, j, av);
        const CurveView made = table().simplified(scratch.best.view(), scratch.other, av);
        scratch.claim.count(scratch.best, scratch.other, scratch.found);
        return store_.add(made);
    }

    std::int64_t states() const { return states_; }

private:
    struct Scratch {
        explicit Scratch(Budget& budget) : claim(budget) {}
        Curve best, other, found;
        ScratchClaim claim;
    };

    // One level of the recursion more, until it is left, by an exception too.
    class Deeper {
    public:
        explicit Deeper(std::size_t& depth) : depth_(depth) { ++depth_; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;
        ~Deeper() { --depth_; }

    private:
        std::size_t& depth_;
    };

    // Bounds on the choices `ck k` that need none of their curves.
    struct Splits {
        Splits(BackwardRecurrence& recurrence, std::int32_t first, std::int32_t last,
               std::int64_t available)
            : context(recurrence.context_),
              rotor(recurrence.table().rotor()),
              i(first),
              j(last),
              av(available),
              m(recurrence.table().rotor_slots(available)),
              passing_room(available - context.chain.gradient[at(last)]) {
            // Needs grow with k.
            while (end < j && context.runs.most(i, end) <= passing_room) ++end;
        }
        std::int64_t parts(std::int32_t k) const {
            return rotor.time(i, k, m) + upper_part(k);
        }
        std::int64_t upper_part(std::int32_t k) const {
            return rotor.time(k + 1, j, m - rotor.output(k));
        }
        // h_k
        std::int64_t room(std::int32_t k) const { return passing_room - context.runs.late(i, k); }
        // The curve is not below this, and grows by 1 per unit from flat_until on: B^i comes last
        // whatever is chosen, so that (D - h_B)+ is idle time.
        std::int64_t bound(std::int32_t k) const {
            return std::min(context.runs.time(i, k) + parts(k), never);
        }
        std::int64_t flat_until(std::int32_t k) const {
            return std::min(av - context.chain.backward_need[at(i)], parts(k) + room(k));
        }

        const OffloadContext& context;
        const RotorTable& rotor;
        std::int32_t i, j;
        std::int64_t av, m, passing_room;
        std::int32_t end = i;
    };

    Table& table() { return static_cast<Table&>(*this); }

    std::int64_t room_for_all(std::int32_t i, std::int32_t j, std::int64_t av) const {
        const OffloadChain& chain = context_.chain;
        return av - chain.gradient[at(j)] - chain.saving(i);
    }

    void compute(Scratch& scratch, std::int32_t i, std::int32_t j, std::int64_t av) {
        const OffloadChain& chain = context_.chain;
        Curve& best = scratch.best;
        best.start(never, 0);
        const std::int64_t backward_room = av - chain.backward_need[at(i)];
        const Splits splits(*this, i, j, av);
        if (backward_room < 0 || splits.rotor.time(i, j, splits.m) >= never) return;
        // No state needs more than what fits beside A; on a grid, av can be a slot too small.
        const std::int64_t limit = av + context_.grid.slot;
        const std::int64_t forward_room = room_for_all(i, j, av);
        if (forward_room >= 0) {
            const CurveView inner =
                i < j ? table().curve(i + 1, j, av - chain.saved[at(i)]) : CurveView{0, nullptr, 0};
            if (inner.base < never) {
                scratch.other.above_line(inner, forward_room, limit);
                best.delay(scratch.other.view(), chain.forward[at(i)] + chain.backward[at(i)],
                           chain.backward[at(i)], backward_room, limit);
            }
        }
        // The split that is best without transfers goes first: it rules out most of the others.
        std::int32_t promising = 0;
        std::int64_t least = never;
        for (std::int32_t k = i; k < splits.end; ++k) {
            const std::int64_t bound = splits.bound(k);
            if (bound < least) {
                least = bound;
                promising = k;
            }
        }
        if (promising == 0) return;
        split(scratch, splits, promising, limit);
        for (std::int32_t k = i; k < splits.end; ++k) {
            if (k != promising) split(scratch, splits, k, limit);
        }
    }

    // Lowers the best curve to that of `ck k` where that is lower.
    void split(Scratch& scratch, const Splits& splits, std::int32_t k, std::int64_t limit) {
        const std::int64_t bound = splits.bound(k);
        if (bound >= never) return;
        const std::int64_t flat_until = std::min(splits.flat_until(k), limit);
        if (scratch.best.is_finite() && scratch.best.view()(flat_until) <= bound) return;
        const CurveView lower = table().curve(splits.i, k, splits.av);
        if (lower.base >= never) return;
        const std::int64_t run = context_.runs.time(splits.i, k);
        // A bound on the split from its lower part alone, with an upper part that costs nothing.
        CurveView least = lower;
        least.base += run + splits.upper_part(k);
        if (scratch.best.is_finite() && !is_below(least, scratch.best.view(), limit)) return;
        const CurveView upper =
            table().curve(k + 1, splits.j, splits.av - context_.chain.output[at(k)]);
        if (upper.base >= never) return;
        scratch.other.after(lower, upper, run, limit);
        scratch.found.above_line(scratch.other.view(), splits.room(k) - run, limit);
        if (scratch.best.is_finite()) {
            if (!is_below(scratch.found.view(), scratch.best.view(), limit)) return;
            scratch.other.least(scratch.best.view(), scratch.found.view(), limit);
            std::swap(scratch.best, scratch.other);
        } else {
            std::swap(scratch.best, scratch.found);
        }
    }

    OffloadContext context_;
    CurveStore store_;
    std::deque<Scratch> scratch_;
    std::size_t depth_ = 0;
    std::int64_t states_ = 0;
};

// One of the two grids; curves are made where they are first needed.
template <Rounding rounding>
class GridBackward : public BackwardRecurrence<GridBackward<rounding>> {
    using Base = BackwardRecurrence<GridBackward<rounding>>;

public:
    // `rotor` is rotor's table on the same grid, rounded as this one is.
    GridBackward(const OffloadContext& context, const RotorTable& rotor)
        : Base(context),
          rotor_(rotor),
          claim_(context.budget) {
        const std::size_t cells = at(context.chain.stages) * at(context.chain.stages + 1) / 2;
        claim_.take(cells * sizeof(curves_[0]));
        curves_.resize(cells);
    }

    CurveView curve(std::int32_t i, std::int32_t j, std::int64_t av) {
        if (av < 0) return {};
        const std::int64_t m = rotor_slots(av);
        if (m < 0) return {};
        const std::size_t cell = RotorTable::cell(i, j);
        if (curves_[cell].empty()) {
            const std::size_t width = at(this->context().grid.slots + 1);
            claim_.take(width * sizeof(std::int64_t*));
            curves_[cell].assign(width, nullptr);
        }
        if (curves_[cell][at(m)] == nullptr) {
            curves_[cell][at(m)] = this->make(i, j, this->context().grid.memory(m));
        }
        return CurveStore::view(curves_[cell][at(m)]);
    }

    const RotorTable& rotor() const { return rotor_; }
    std::int64_t rotor_slots(std::int64_t av) const {
        const OffloadGrid& grid = this->context().grid;
        return rounding == Rounding::lower ? grid.rounded_up(av) : grid.rounded_down(av);
    }
    using Base::states;

    // Curves of many breaks lose some of them, on the side that the grid is on.
    CurveView simplified(CurveView f, Curve& into, std::int64_t av) const {
        const std::int64_t limit = av + this->context().grid.slot;
        const std::int64_t memory = this->context().chain.memory;
        if (f.count < 16) return f;
        if constexpr (rounding == Rounding::lower) {
            into.simplify_below(f, memory / 64, limit);
        } else {
            into.simplify_above(f, memory / 128, limit);
        }
        return into.view();
    }

private:
    const RotorTable& rotor_;
    Claim claim_;
    // For each sub-chain, one curve for each index; made where it is first needed.
    std::vector<std::vector<const std::int64_t*>> curves_;
};

// Exact curves at the values of av that are reached, in a flat hash map.
class ExactBackward : public BackwardRecurrence<ExactBackward> {
public:
    ExactBackward(const OffloadContext& context, const RotorTable& lower)
        : BackwardRecurrence(context), rotor_(lower), claim_(context.budget) {
        resize(1 << 12);
    }

    CurveView curve(std::int32_t i, std::int32_t j, std::int64_t av) {
        if (av < 0) return {};
        const std::int64_t sub_chain = static_cast<std::int64_t>(RotorTable::cell(i, j));
        const Entry& known = entries_[find(sub_chain, av)];
        if (known.curve != nullptr) return CurveStore::view(known.curve);
        const std::int64_t* const made = make(i, j, av);
        if (4 * ++used_ > 3 * entries_.size()) resize(2 * entries_.size());
        entries_[find(sub_chain, av)] = {sub_chain, av, made};
        return CurveStore::view(made);
    }

    const RotorTable& rotor() const { return rotor_; }
    std::int64_t rotor_slots(std::int64_t av) const {
        return context().grid.rounded_up(av);
    }
    using BackwardRecurrence::states;
    CurveView simplified(CurveView f, Curve&, std::int64_t) const { return f; }

private:
    struct Entry {
        std::int64_t sub_chain, av;
        const std::int64_t* curve = nullptr;
    };

    std::size_t find(std::int64_t sub_chain, std::int64_t av) const {
        std::uint64_t hash = static_cast<std::uint64_t>(av) * 0x9E3779B97F4A7C15U;
        hash = ((hash ^ (hash >> 29)) + static_cast<std::uint64_t>(sub_chain)) *
               0xBF58476D1CE4E5B9U;
        std::size_t place = static_cast<std::size_t>(hash >> 20) & (entries_.size() - 1);
        while (entries_[place].curve != nullptr &&
               (entries_[place].sub_chain != sub_chain || entries_[place].av != av)) {
            place = (place + 1) & (entries_.size() - 1);
        }
        return place;
    }

    void resize(std::size_t size) {
        claim_.take(size * sizeof(Entry));
        std::vector<Entry> old(size);
        old.swap(entries_);
        for (const Entry& entry : old) {
            if (entry.curve != nullptr) entries_[find(entry.sub_chain, entry.av)] = entry;
        }
        claim_.give(old.size() * sizeof(Entry));
    }

    const RotorTable& rotor_;
    Claim claim_;
    std::vector<Entry> entries_;
    std::size_t used_ = 0;
};

}  // namespace jettison
