// Lower bounds on OC_x(i, A, DF, DB) of POFO's Appendix B.1, from two programs with one state less.
//
// OC is nondecreasing in A, DF and DB. The first program forgets DB: values come back from the host
// for nothing, so that C has no idle time. The second forgets DF: values leave for nothing. Each
// has a table over i, x, slots of A and slots of DF (or DB). A is rounded down, which OC cannot
// exceed; DF and DB are interpolated as in the lower grid of the backward phase, because OC too
// grows by at most 1 per unit of DF or DB.
#pragma once

#include <cstdint>
#include <vector>

#include "offload_backward.hpp"

namespace jettison {

enum class Recomputation { allowed, forbidden };

class OffloadBound {
public:
    using Lower = GridBackward<Rounding::lower>;

    OffloadBound(const OffloadContext& context, Recomputation recomputation, Lower& lower)
        : context_(context), recomputation_(recomputation), lower_(lower) {
        const std::size_t size = at(context.chain.stages) * 2 * row_start(context.slots + 1);
        context.budget.take(2 * size * sizeof(std::int64_t));
        offload_.assign(size, never);
        prefetch_.assign(size, never);
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
        return std::max(interpolated(offload_, i, x, slots, df),
                        interpolated(prefetch_, i, x, slots, db));
    }

private:
    using Table = std::vector<std::int64_t>;

    // Row a holds d = 0..S - a + 1: more would not fit beside A.
    std::size_t row_start(std::int64_t a) const {
        return at(a) * at(context_.slots + 2) - at(a) * at(a - 1) / 2;
    }
    std::size_t place(std::int32_t i, std::int32_t x, std::int64_t a) const {
        return (at(i - 1) * 2 + at(x)) * row_start(context_.slots + 1) + row_start(a);
    }

    std::int64_t interpolated(const Table& table, std::int32_t i, std::int32_t x, std::int64_t a,
                              std::int64_t d) const {
        const std::int64_t slot = context_.slot;
        const std::int64_t* const row = table.data() + place(i, x, a);
        const std::int64_t last = context_.slots - a + 1;
        const std::int64_t whole = d / slot;
        if (whole >= last) return row[last];
        const std::int64_t rest = d - whole * slot;
        if (rest == 0) return row[whole];
        const std::int64_t after = row[whole + 1];
        return after >= never ? after : std::max(row[whole], after - (slot - rest));
    }

    void fill(std::int32_t i, std::int32_t x) {
        const OffloadChain& chain = context_.chain;
        const std::int64_t input = x == 1 ? chain.saved[at(i - 1)] : chain.output[at(i - 1)];
        for (std::int64_t a = 0; a <= context_.slots; ++a) {
            const std::int64_t av = chain.memory - a * context_.slot - input;
            if (av < chain.backward_need[at(i)]) continue;
            const std::int64_t kept = a + input / context_.slot;
            for (std::int64_t d = 0; d <= context_.slots - a + 1; ++d) {
                offload_[place(i, x, a) + at(d)] = offloading(i, a, kept, av, input, d);
                prefetch_[place(i, x, a) + at(d)] = prefetching(i, a, kept, av, input, d);
            }
        }
    }

    std::int64_t either(const Table& table, std::int32_t i, std::int32_t x, std::int64_t a,
                        std::int64_t kept, std::int64_t d_offloaded, std::int64_t d_kept) const {
        const std::int64_t offloaded = interpolated(table, i, x, a, d_offloaded);
        if (kept > context_.slots) return offloaded;
        return std::min(offloaded, interpolated(table, i, x, kept, d_kept));
    }

    bool fits_all(std::int32_t i, std::int64_t av) const {
        const OffloadChain& chain = context_.chain;
        return chain.saved[at(i)] + chain.forward_overhead[at(i)] <= av;
    }

    std::int64_t offloading(std::int32_t i, std::int64_t a, std::int64_t kept, std::int64_t av,
                            std::int64_t input, std::int64_t slots) const {
        const OffloadChain& chain = context_.chain;
        const std::int32_t n = chain.stages;
        const std::int64_t d = slots * context_.slot;
        std::int64_t best = never;
        if (fits_all(i, av)) {
            const std::int64_t room = av - chain.saved[at(i)] - chain.forward_overhead[at(i)];
            const std::int64_t own =
                chain.forward[at(i)] + chain.backward[at(i)] + positive(d - room);
            const std::int64_t left = std::min(d, room) - chain.forward[at(i)];
            best = own + (i == n ? positive(left)
                                 : either(offload_, i + 1, 1, a, kept, positive(left + input),
                                          positive(left)));
        }
        if (recomputation_ == Recomputation::forbidden) return std::min(best, never);
        const std::int64_t m = lower_.rotor_slots(av);
        for (std::int32_t j = i; j < n; ++j) {
            if (context_.runs.most(i, j) > av) break;
            const std::int64_t room = av - context_.runs.early(i, j);
            const std::int64_t run = context_.runs.time(i, j);
            const std::int64_t own = run + positive(d - room) + lower_.rotor().time(i, j, m);
            if (own + offload_[place(j + 1, 0, a)] >= best) continue;
            const std::int64_t left = std::min(d, room) - run;
            best = std::min(best, own + either(offload_, j + 1, 0, a, kept, positive(left + input),
                                               positive(left)));
        }
        return std::min(best, never);
    }

    std::int64_t prefetching(std::int32_t i, std::int64_t a, std::int64_t kept, std::int64_t av,
                             std::int64_t input, std::int64_t slots) {
        const OffloadChain& chain = context_.chain;
        const std::int32_t n = chain.stages;
        const std::int64_t d = slots * context_.slot;
        const std::int64_t room = av - chain.backward_need[at(i)];
        const std::int64_t idle = positive(d - room);
        std::int64_t best = never;
        if (fits_all(i, av)) {
            const std::int64_t own = chain.forward[at(i)] + chain.backward[at(i)] + idle;
            const std::int64_t left = positive(std::min(d, room) - chain.backward[at(i)]);
            best = own + (i == n ? left
                                 : either(prefetch_, i + 1, 1, a, kept, left + input, left));
        }
        if (recomputation_ == Recomputation::forbidden) return std::min(best, never);
        const std::int64_t m = lower_.rotor_slots(av);
        for (std::int32_t j = i; j < n; ++j) {
            if (context_.runs.most(i, j) > av) break;
            const std::int64_t run = context_.runs.time(i, j);
            const std::int64_t least = run + lower_.rotor().time(i, j, m) + idle;
            if (least + prefetch_[place(j + 1, 0, a)] >= best) continue;
            const std::int64_t part = lower_.value_at(i, j, m, slots, 0);
            if (part >= never) continue;
            const std::int64_t left = positive(d - part);
            best = std::min(best, run + part + either(prefetch_, j + 1, 0, a, kept, left + input,
                                                      left));
        }
        return std::min(best, never);
    }

    OffloadContext context_;
    Recomputation recomputation_;
    Lower& lower_;
    Table offload_;
    Table prefetch_;
};

}  // namespace jettison
