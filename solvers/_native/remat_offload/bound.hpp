// Lower bounds on OC_x(i, A, DF, DB) of POFO's Appendix B.1, from two programs with one state less.
//
// OC is nondecreasing in A, DF and DB, and grows by at most 1 per unit of DF and of DB. The first
// program forgets DB: values come back from the host for nothing, so that C has no idle time. The
// second forgets DF: values leave for nothing. Each is a curve, over DF or over DB, for every i, x
// and every slot of A. A is rounded down, which cannot raise OC, and so is what is added to it. In
// the second program C is replaced by R + (D - h_B)+: it is not below, because B^i ends the part
// in every schedule, and what exceeds the room beside B^i can only arrive after it.
//
// Only completions faster than a limit T count. Call a label useful if it has one. The curve that
// is stored for (i, x, a) is at most the completion of every useful label with floor(A / slot) >= a
// (a path whose kept sizes carry fractions reads entry a + k where its label is at a + k + 1):
//   entry     if before(i, x, a) + b >= T for a bound b on the rest, no useful label is at a, and
//             a copy of entry a + 1 is stored, never infinity by itself;
//   part      a part is skipped at a if before + its time + the stored bound on what follows >= T;
//             entries are monotone in a no longer by themselves, and so the curve becomes the least
//             of itself and that of a + 1;
//   cap       beyond the first D at which the bound of the grid before reaches T - before, no
//             label is useful. Before falls with a, and entry a serves labels at a + 1 too, so that
//             the cap of a is never below that of a + 1. A curve beyond its cap still is flat or
//             grows by 1 per unit, on which the bound of a label before it relies.
//
// The bound of the whole chain is that of the program that is stronger at the start. So a fine grid
// may fill that one alone: the other is read from the grid before, at an index that is not larger.
// R has a grid of its own. What is kept of the forward phase is rounded for each of many parts, and
// R only for what a part keeps itself, so that a coarser one costs the bound almost nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "remat_offload/curve_store.hpp"
#include "remat_offload/without_link.hpp"

namespace jettison {

enum class LinkPrograms { both, offload, prefetch };

class OffloadBound {
public:
    // `before` is the bound of another grid with a limit that is not smaller; null if there is
    // none. `programs` that are not filled are those of the grid before, which must remain then.
    OffloadBound(const OffloadContext& context, Recomputation recomputation,
                 const RotorTable& rotor, const OffloadBound* before, LinkPrograms programs,
                 std::int64_t limit)
        : context_(context),
          recomputation_(recomputation),
          rotor_(rotor),
          without_link_(std::in_place, context, recomputation, rotor),
          before_(before),
          limit_(limit),
          store_(context.budget),
          offload_caps_(context),
          prefetch_caps_(context),
          scratch_(context.budget) {
        if (programs != LinkPrograms::prefetch) offload_.emplace(context);
        if (programs != LinkPrograms::offload) prefetch_.emplace(context);
        for (std::int32_t i = context.chain.stages; i >= 1; --i) {
            for (std::int32_t x = 0; x <= (i > 1 ? 1 : 0); ++x) fill(i, x);
        }
        without_link_.reset();
        if (programs == LinkPrograms::both) before_ = nullptr;
        while (before_ != nullptr && (offload_ ? !before_->prefetch_ : !before_->offload_)) {
            before_ = before_->before_;
        }
    }

    // A lower bound on OC_x(i, a, df, db), if it leads to a completion before the limit.
    std::int64_t operator()(std::int32_t i, std::int32_t x, std::int64_t a, std::int64_t df,
                            std::int64_t db) const {
        const std::int64_t slots = a / context_.grid.slot;
        if (slots > context_.grid.slots) return never;
        const CurveView leaving = offload(i, x, slots);
        const CurveView coming = prefetch(i, x, slots);
        if (leaving.base >= never || coming.base >= never) return never;
        return std::max(leaving(df), coming(db));
    }
    std::int64_t limit() const { return limit_; }
    // The curves of one entry, over DF and over DB.
    CurveView offload(std::int32_t i, std::int32_t x, std::int64_t a) const {
        return offload_ ? CurveStore::view((*offload_)(i, x, a))
                        : before_->offload(i, x, index_before(a));
    }
    CurveView prefetch(std::int32_t i, std::int32_t x, std::int64_t a) const {
        return prefetch_ ? CurveStore::view((*prefetch_)(i, x, a))
                         : before_->prefetch(i, x, index_before(a));
    }

    // The bound that has the program that was not filled here; null if both were.
    const OffloadBound* other() const { return before_; }

    // The program that bounds the whole chain best.
    LinkPrograms stronger() const {
        return offload(1, 0, 0).base > prefetch(1, 0, 0).base ? LinkPrograms::offload
                                                              : LinkPrograms::prefetch;
    }

private:
    using Table = StateTable<const std::int64_t*>;

    struct State : OffloadState {
        using OffloadState::OffloadState;
        std::int64_t before = 0;  // the least time of a path to here
        std::int64_t limit = 0;   // of the curve's argument
    };

    std::int64_t index_before(std::int64_t a) const {
        return a * context_.grid.slot / before_->context_.grid.slot;
    }

    void fill(std::int32_t i, std::int32_t x) {
        std::int64_t offload_cap = 0, prefetch_cap = 0;
        for (std::int64_t a = context_.grid.slots; a >= 0; --a) {
            if (a % 64 == 0) context_.poll();
            State state(context_, i, x, a);
            if (state.av < context_.chain.backward_need[at(i)]) continue;
            state.before = without_link_->before(i, x, a);
            const std::int64_t left = limit_ - state.before;
            std::int64_t& offload_own = offload_caps_(i, x, a);
            std::int64_t& prefetch_own = prefetch_caps_(i, x, a);
            if (without_link_->after(i, x, a) < left) set_caps(state, left);
            if (offload_own > 0 && prefetch_own > 0) {
                offload_cap = std::max(offload_cap, offload_own);
                prefetch_cap = std::max(prefetch_cap, prefetch_own);
            } else {
                offload_own = prefetch_own = 0;
            }
            if (offload_) {
                const bool useful = offload_own > 0;
                state.limit = offload_cap;
                store(*offload_, state, useful, [&] { offloading(state); });
                if (useful && CurveStore::view((*offload_)(i, x, a)).base >= left) {
                    offload_own = prefetch_own = 0;
                }
            }
            if (prefetch_) {
                state.limit = prefetch_cap;
                store(*prefetch_, state, prefetch_own > 0, [&] { prefetching(state); });
            }
        }
    }

    // Stores the curve that `make` sets best_ to, or a copy of the entry above.
    template <typename Make>
    void store(Table& table, const State& state, bool useful, const Make& make) {
        const std::int64_t* const above =
            state.a == context_.grid.slots ? nullptr : table(state.i, state.x, state.a + 1);
        const std::int64_t*& place = table(state.i, state.x, state.a);
        if (!useful) {
            place = above;
            return;
        }
        skipped_ = false;
        make();
        keep_least(CurveStore::view(above), state.limit);
        scratch_.count(best_, next_, found_, one_, other_);
        place = store_.add(best_.view());
    }

    // Sets the arguments from which on no label at the entry is useful, by the grid before.
    void set_caps(const State& state, std::int64_t left) {
        std::int64_t& leaving = offload_caps_(state.i, state.x, state.a);
        std::int64_t& coming = prefetch_caps_(state.i, state.x, state.a);
        // No state asks for more than what fits beside A; where that is nothing it asks for 0.
        leaving = coming = state.left + 1;
        if (before_ == nullptr) return;
        const std::int64_t there = index_before(state.a);
        leaving = std::min({leaving, before_->offload_caps_(state.i, state.x, there),
                            before_->offload(state.i, state.x, there).first_reaching(left)});
        coming = std::min({coming, before_->prefetch_caps_(state.i, state.x, there),
                             before_->prefetch(state.i, state.x, there).first_reaching(left)});
    }

    // Where parts were skipped, the entry above may be lower.
    void keep_least(const CurveView& above, std::int64_t limit) {
        if (!skipped_ || above.base >= never) return;
        if (!best_.is_finite()) {
            best_.delay(above, 0, 0, never, limit);
            return;
        }
        one_.least(best_.view(), above, limit);
        std::swap(best_, one_);
    }

    // The lower of two successors: the input is offloaded (curve `one_`) or kept (`other_`).
    void either(bool offloaded, bool kept, std::int64_t limit) {
        if (offloaded && kept) {
            next_.least(one_.view(), other_.view(), limit);
        } else {
            std::swap(next_, offloaded ? one_ : other_);
        }
    }

    // The successors in the first program, over DF from the start of a part of `time` ticks on.
    bool after_offload(const State& state, std::int32_t i, std::int32_t x, std::int64_t time) {
        const CurveView offloaded = CurveStore::view((*offload_)(i, x, state.a));
        const CurveView kept =
            state.kept <= context_.grid.slots
                ? CurveStore::view((*offload_)(i, x, state.kept))
                : CurveView{};
        if (offloaded.base < never) {
            if (state.input > time) {
                one_.shift(offloaded, state.input - time, state.limit);
            } else {
                one_.delay(offloaded, 0, time - state.input, never, state.limit);
            }
        }
        if (kept.base < never) other_.delay(kept, 0, time, never, state.limit);
        if (offloaded.base >= never && kept.base >= never) return false;
        either(offloaded.base < never, kept.base < never, state.limit);
        return true;
    }

    // The successors in the second program, over DB at the end of the part.
    bool after_prefetch(const State& state, std::int32_t i, std::int32_t x) {
        const CurveView offloaded = CurveStore::view((*prefetch_)(i, x, state.a));
        const CurveView kept =
            state.kept <= context_.grid.slots
                ? CurveStore::view((*prefetch_)(i, x, state.kept))
                : CurveView{};
        if (offloaded.base < never) one_.shift(offloaded, state.input, state.limit);
        if (kept.base < never) other_.shift(kept, 0, state.limit);
        if (offloaded.base >= never && kept.base >= never) return false;
        either(offloaded.base < never, kept.base < never, state.limit);
        return true;
    }

    void take_lower(Curve& found, std::int64_t limit) {
        if (best_.is_finite()) {
            one_.least(best_.view(), found.view(), limit);
            std::swap(best_, one_);
        } else {
            std::swap(best_, found);
        }
    }

    // Whether nothing that is at least `bound`, and grows by 1 per unit from `room` on, is lower.
    bool beats(std::int64_t bound, std::int64_t room, std::int64_t limit) const {
        return best_.is_finite() && best_.view()(std::min(room, limit)) <= bound;
    }

    static std::int64_t least_of(const Table& table, std::int32_t i, std::int32_t x,
                                 std::int64_t a) {
        return CurveStore::view(table(i, x, a)).base;
    }

    // Whether a part with this bound, what follows included, leads to no useful label.
    bool is_useless(const State& state, std::int64_t bound) {
        if (bound >= never) return true;
        const bool useless = state.before + bound >= limit_;
        skipped_ = skipped_ || useless;
        return useless;
    }

    bool fits_all(const State& state) const {
        const OffloadChain& chain = context_.chain;
        return chain.saving(state.i) <= state.av;
    }

    // Sets best_ to the curve of the first program.
    void offloading(const State& state) {
        const OffloadChain& chain = context_.chain;
        const std::int32_t i = state.i;
        const std::int32_t n = chain.stages;
        best_.start(never, 0);
        if (fits_all(state)) {
            const std::int64_t room = state.av - chain.saving(i);
            const std::int64_t own = chain.forward[at(i)] + chain.backward[at(i)];
            if (i == n) {
                best_.delay(all_of_it(), own, chain.forward[at(i)], room, state.limit);
            } else if (!is_useless(state, own + least_of(*offload_, i + 1, 1, state.a)) &&
                       after_offload(state, i + 1, 1, chain.forward[at(i)])) {
                best_.delay(next_.view(), own, 0, room, state.limit);
            }
        }
        if (recomputation_ == Recomputation::forbidden) return;
        const std::int64_t m = rotor_.index(state.av);
        for (std::int32_t j = i; j < n; ++j) {
            if (context_.runs.most(i, j) > state.av) break;
            const std::int64_t room = state.av - context_.runs.early(i, j);
            const std::int64_t own = context_.runs.time(i, j) + rotor_.time(i, j, m);
            const std::int64_t bound = own + least_of(*offload_, j + 1, 0, state.a);
            if (is_useless(state, bound) || beats(bound, room, state.limit)) continue;
            if (!after_offload(state, j + 1, 0, context_.runs.time(i, j))) continue;
            found_.delay(next_.view(), own, 0, room, state.limit);
            take_lower(found_, state.limit);
        }
    }

    // Sets best_ to the curve of the second program.
    void prefetching(const State& state) {
        const OffloadChain& chain = context_.chain;
        const std::int32_t i = state.i;
        const std::int32_t n = chain.stages;
        const std::int64_t room = state.av - chain.backward_need[at(i)];
        best_.start(never, 0);
        if (fits_all(state)) {
            const std::int64_t own = chain.forward[at(i)] + chain.backward[at(i)];
            if (i == n) {
                best_.delay(all_of_it(), own, chain.backward[at(i)], room, state.limit);
            } else if (!is_useless(state, own + least_of(*prefetch_, i + 1, 1, state.a)) &&
                       after_prefetch(state, i + 1, 1)) {
                best_.delay(next_.view(), own, chain.backward[at(i)], room, state.limit);
            }
        }
        if (recomputation_ == Recomputation::forbidden) return;
        const std::int64_t m = rotor_.index(state.av);
        for (std::int32_t j = i; j < n; ++j) {
            if (context_.runs.most(i, j) > state.av) break;
            const std::int64_t run = context_.runs.time(i, j);
            const std::int64_t part = rotor_.time(i, j, m);
            const std::int64_t bound = run + part + least_of(*prefetch_, j + 1, 0, state.a);
            if (is_useless(state, bound) || beats(bound, room, state.limit)) continue;
            if (!after_prefetch(state, j + 1, 0)) continue;
            found_.after({part, &room, 1}, next_.view(), run, state.limit);
            take_lower(found_, state.limit);
        }
    }

    // d ticks for d units: the curve after the loss.
    static CurveView all_of_it() {
        static constexpr std::int64_t from_the_start[] = {0};
        return {0, from_the_start, 1};
    }

    OffloadContext context_;
    Recomputation recomputation_;
    const RotorTable& rotor_;
    std::optional<WithoutLink> without_link_;  // while it is filled
    const OffloadBound* before_;
    std::int64_t limit_;
    CurveStore store_;
    // Null where nothing fits, or nothing useful is at the entry or above it.
    std::optional<Table> offload_, prefetch_;
    // Of each entry alone; 0 where no label is useful.
    StateTable<std::int64_t> offload_caps_;
    StateTable<std::int64_t> prefetch_caps_;
    Curve best_, next_, found_, one_, other_;
    ScratchClaim scratch_;
    bool skipped_ = false;
};

}  // namespace jettison
