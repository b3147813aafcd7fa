// Lower bounds on OC_x(i, A, DF, DB) of POFO's Appendix B.1, from two programs with one state less.
//
// OC is nondecreasing in A, DF and DB, and grows by at most 1 per unit of DF and of DB. The first
// program forgets DB: values come back from the host for nothing, so that C has no idle time. The
// second forgets DF: values leave for nothing. Each is a curve, over DF or over DB, for every i, x
// and every slot of A. A is rounded down, which cannot raise OC, and so is what is added to it.
#pragma once

#include <cstdint>
#include <vector>

#include "remat_offload/backward.hpp"

namespace jettison {

enum class Recomputation { allowed, forbidden };

class OffloadBound {
public:
    using Lower = GridBackward<Rounding::lower>;

    OffloadBound(const OffloadContext& context, Recomputation recomputation, Lower& lower)
        : context_(context), recomputation_(recomputation), lower_(lower), store_(context.budget) {
        const std::size_t size = at(context.chain.stages) * 2 * at(context.slots + 1);
        context.budget.take(2 * size * sizeof(CurveView));
        offload_.assign(size, {});
        prefetch_.assign(size, {});
        for (std::int32_t i = context.chain.stages; i >= 1; --i) {
            for (std::int32_t x = 0; x <= (i > 1 ? 1 : 0); ++x) {
                context.poll();
                fill(i, x);
            }
        }
    }

    // A lower bound on OC_x(i, a, df, db).
    std::int64_t operator()(std::int32_t i, std::int32_t x, std::int64_t a, std::int64_t df,
                            std::int64_t db) const {
        const std::int64_t slots = a / context_.slot;
        if (slots > context_.slots) return never;
        const CurveView& offload = offload_[place(i, x, slots)];
        if (offload.base >= never) return never;
        return std::max(offload(df), prefetch_[place(i, x, slots)](db));
    }

private:
    using Table = std::vector<CurveView>;

    std::size_t place(std::int32_t i, std::int32_t x, std::int64_t a) const {
        return (at(i - 1) * 2 + at(x)) * at(context_.slots + 1) + at(a);
    }

    // One state: the memory beside the input, and A before and after the input is kept, in slots.
    struct State {
        std::int32_t i;
        std::int64_t a, kept, av, input, limit;
    };

    void fill(std::int32_t i, std::int32_t x) {
        const OffloadChain& chain = context_.chain;
        const std::int64_t input = x == 1 ? chain.saved[at(i - 1)] : chain.output[at(i - 1)];
        for (std::int64_t a = 0; a <= context_.slots; ++a) {
            const std::int64_t left = chain.memory - a * context_.slot;
            const State state{i, a, a + input / context_.slot, left - input, input, left};
            if (state.av < chain.backward_need[at(i)]) continue;
            offloading(state);
            offload_[place(i, x, a)] = CurveStore::view(store_.add(best_.view()));
            prefetching(state);
            prefetch_[place(i, x, a)] = CurveStore::view(store_.add(best_.view()));
        }
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
        const CurveView offloaded = offload_[place(i, x, state.a)];
        const CurveView kept = state.kept <= context_.slots ? offload_[place(i, x, state.kept)]
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
        const CurveView offloaded = prefetch_[place(i, x, state.a)];
        const CurveView kept = state.kept <= context_.slots ? prefetch_[place(i, x, state.kept)]
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

    bool fits_all(const State& state) const {
        const OffloadChain& chain = context_.chain;
        return chain.saved[at(state.i)] + chain.forward_overhead[at(state.i)] <= state.av;
    }

    // Sets best_ to the curve of the first program.
    void offloading(const State& state) {
        const OffloadChain& chain = context_.chain;
        const std::int32_t i = state.i;
        const std::int32_t n = chain.stages;
        best_.start(never, 0);
        if (fits_all(state)) {
            const std::int64_t room =
                state.av - chain.saved[at(i)] - chain.forward_overhead[at(i)];
            const std::int64_t own = chain.forward[at(i)] + chain.backward[at(i)];
            if (i == n) {
                best_.delay(all_of_it(), own, chain.forward[at(i)], room, state.limit);
            } else if (after_offload(state, i + 1, 1, chain.forward[at(i)])) {
                best_.delay(next_.view(), own, 0, room, state.limit);
            }
        }
        if (recomputation_ == Recomputation::forbidden) return;
        const std::int64_t m = lower_.rotor_slots(state.av);
        for (std::int32_t j = i; j < n; ++j) {
            if (context_.runs.most(i, j) > state.av) break;
            const std::int64_t room = state.av - context_.runs.early(i, j);
            const std::int64_t own = context_.runs.time(i, j) + lower_.rotor().time(i, j, m);
            const std::int64_t bound = own + offload_[place(j + 1, 0, state.a)].base;
            if (bound >= never || beats(bound, room, state.limit)) continue;
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
            } else if (after_prefetch(state, i + 1, 1)) {
                best_.delay(next_.view(), own, chain.backward[at(i)], room, state.limit);
            }
        }
        if (recomputation_ == Recomputation::forbidden) return;
        const std::int64_t m = lower_.rotor_slots(state.av);
        for (std::int32_t j = i; j < n; ++j) {
            if (context_.runs.most(i, j) > state.av) break;
            const std::int64_t run = context_.runs.time(i, j);
            const std::int64_t bound = run + lower_.rotor().time(i, j, m) +
                                       prefetch_[place(j + 1, 0, state.a)].base;
            if (bound >= never || beats(bound, room, state.limit)) continue;
            const CurveView part = lower_.curve(i, j, state.av);
            if (part.base >= never || !after_prefetch(state, j + 1, 0)) continue;
            found_.after(part, next_.view(), run, state.limit);
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
    Lower& lower_;
    CurveStore store_;
    Table offload_;
    Table prefetch_;
    Curve best_, next_, found_, one_, other_;
};

}  // namespace jettison
