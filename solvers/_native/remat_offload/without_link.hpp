// Least time before and after each state of the forward phase, as if transfers took no time.
//
// Both are sums over the parts of a path, with rotor's times on the lower grid and kept sizes
// rounded down to slots: no path of POFO's class is faster. The states are those of bound.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "remat_offload/rotor.hpp"

namespace jettison {

enum class Recomputation { allowed, forbidden };

// One value for each (i, x, a): the next stage, whether its input is a-bar, and A in slots.
template <typename Value>
class StateTable {
public:
    explicit StateTable(const OffloadContext& context)
        : claim_(context.budget), width_(at(context.grid.slots + 1)) {
        const std::size_t size = at(context.chain.stages) * 2 * width_;
        claim_.take(size * sizeof(Value));
        values_.resize(size);
    }

    Value& operator()(std::int32_t i, std::int32_t x, std::int64_t a) {
        return values_[(at(i - 1) * 2 + at(x)) * width_ + at(a)];
    }
    const Value& operator()(std::int32_t i, std::int32_t x, std::int64_t a) const {
        return values_[(at(i - 1) * 2 + at(x)) * width_ + at(a)];
    }

private:
    Claim claim_;
    std::size_t width_;
    std::vector<Value> values_;
};

// One state: the memory beside its input, and A before and after the input is kept, in slots.
struct OffloadState {
    OffloadState(const OffloadContext& context, std::int32_t stage, std::int32_t input_saved,
                 std::int64_t slots)
        : i(stage),
          x(input_saved),
          a(slots),
          input(x == 1 ? context.chain.saved[at(stage - 1)] : context.chain.output[at(stage - 1)]),
          kept(slots + input / context.grid.slot),
          left(context.grid.memory(context.grid.slots - slots)),
          av(left - input) {}

    std::int32_t i, x;
    std::int64_t a, input, kept, left, av;
};

class WithoutLink {
public:
    WithoutLink(const OffloadContext& context, Recomputation recomputation, const RotorTable& lower)
        : context_(context),
          recomputation_(recomputation),
          rotor_(lower),
          before_(context),
          after_(context) {
        const std::int32_t n = context.chain.stages;
        fill_before(n);
        for (std::int32_t i = n; i >= 1; --i) {
            context.poll();
            for (std::int32_t x = 0; x <= 1; ++x) fill_after(i, x, n);
        }
    }

    // The least time of a path from the start to (i, x) that keeps at most a slots.
    std::int64_t before(std::int32_t i, std::int32_t x, std::int64_t a) const {
        return before_(i, x, a);
    }
    // The least time from (i, x) with a slots kept to the end.
    std::int64_t after(std::int32_t i, std::int32_t x, std::int64_t a) const {
        return after_(i, x, a);
    }

private:
    // Calls step(j, x, time) for each part from the state to (j, x); j = n + 1 is the end.
    template <typename Step>
    void for_each_part(const OffloadState& state, std::int32_t n, const Step& step) const {
        const OffloadChain& chain = context_.chain;
        const std::int32_t i = state.i;
        if (state.av < chain.backward_need[at(i)]) return;
        if (chain.saving(i) <= state.av) {
            step(i + 1, 1, chain.forward[at(i)] + chain.backward[at(i)]);
        }
        if (recomputation_ == Recomputation::forbidden) return;
        const std::int64_t m = rotor_.index(state.av);
        for (std::int32_t j = i; j < n && context_.runs.most(i, j) <= state.av; ++j) {
            const std::int64_t part = rotor_.time(i, j, m);
            if (part < never) step(j + 1, 0, context_.runs.time(i, j) + part);
        }
    }

    void fill_before(std::int32_t n) {
        const std::int64_t slots = context_.grid.slots;
        for (std::int32_t i = 1; i <= n; ++i) {
            for (std::int32_t x = 0; x <= 1; ++x) {
                for (std::int64_t a = 0; a <= slots; ++a) before_(i, x, a) = never;
            }
        }
        before_(1, 0, 0) = 0;
        for (std::int32_t i = 1; i <= n; ++i) {
            context_.poll();
            for (std::int32_t x = 0; x <= 1; ++x) {
                for (std::int64_t a = 0; a <= slots; ++a) {
                    std::int64_t& time = before_(i, x, a);
                    if (a > 0) time = std::min(time, before_(i, x, a - 1));
                    if (time >= never) continue;
                    const OffloadState state(context_, i, x, a);
                    for_each_part(state, n, [&](std::int32_t j, std::int32_t kind,
                                                std::int64_t part) {
                        if (j > n) return;
                        std::int64_t& offloaded = before_(j, kind, a);
                        offloaded = std::min(offloaded, time + part);
                        if (state.kept > slots) return;
                        std::int64_t& kept = before_(j, kind, state.kept);
                        kept = std::min(kept, time + part);
                    });
                }
            }
        }
    }

    void fill_after(std::int32_t i, std::int32_t x, std::int32_t n) {
        for (std::int64_t a = 0; a <= context_.grid.slots; ++a) {
            const OffloadState state(context_, i, x, a);
            std::int64_t least = never;
            // What is offloaded leaves no less room than what is kept.
            for_each_part(state, n, [&](std::int32_t j, std::int32_t kind, std::int64_t part) {
                least = std::min(least, j > n ? part : part + after_(j, kind, a));
            });
            after_(i, x, a) = std::min(least, never);
        }
    }

    OffloadContext context_;
    Recomputation recomputation_;
    const RotorTable& rotor_;
    StateTable<std::int64_t> before_;
    StateTable<std::int64_t> after_;
};

}  // namespace jettison
