// C(i, j, A, D) of POFO's Appendix B.3: the least time to run F^i..F^j, B^j..B^i in the backward
// phase while D units of lower values arrive, exactly or between two grids.
//
// With av = M - A, h_B = av - M_B(i), h_F = av - a^j - (a-bar^i + o_f^i), and all of these >= 0,
// the recurrence has the closed form
//   all:  u_f + u_b + (D - h_B)+ + max(C(i+1, j, A + a-bar^i, D1), D1 - h_F),
//         D1 = (min(D, h_B) - u_b)+,
//   ck k: P(i, k) + max(c1 + C(k+1, j, A + a^k, (D - c1)+), D - h_k),   c1 = C(i, k, A, D),
//         h_k = av - a^j - max_l (F0(l) - P(l+1, k)),
// the least over i <= k < j. In D it is nondecreasing, and by induction on j - i it grows by at
// most 1 per unit: in `all`, (D - h_B)+ and min(D, h_B) share the growth; in `ck`, what c1 grows by
// is taken from D - c1. It is nondecreasing in A: where h_B shrinks, the idle time grows by as
// much as min(D, h_B) shrinks.
//
// Grids. The table holds values at multiples of a slot of av and of D. Between two multiples
// d0 <= D <= d1,
//   max(C(d0), C(d1) - (d1 - D)) <= C(D) <= min(C(d1), C(d0) + (D - d0)).
// The lower grid rounds av up and takes the left side, the upper grid rounds av down and takes the
// right side. `all` is nondecreasing in its inner value, and so is `ck` in c1 and c2 together,
// because a c1 that is too small by e makes D - c1 too large by e, which costs at most e. So, by
// induction, the lower grid is below C and the upper grid above.
#pragma once

#include <cstdint>
#include <functional>
#include <new>
#include <vector>

#include "offload_chain.hpp"

namespace jettison {

enum class Rounding { lower, upper };

// The memory that all tables together may take.
class Budget {
public:
    explicit Budget(std::int64_t bytes) : left_(bytes) {}
    void take(std::size_t bytes) {
        left_ -= static_cast<std::int64_t>(bytes);
        if (left_ < 0) throw std::bad_alloc();
    }
    void give(std::size_t bytes) { left_ += static_cast<std::int64_t>(bytes); }

private:
    std::int64_t left_;
};

struct OffloadContext {
    const OffloadChain& chain;
    const ForwardRuns& runs;
    std::int32_t slots;
    std::int64_t slot;  // units; chain.memory = slots * slot
    Budget& budget;
    const std::function<void()>& poll;
};

// R(i, j, m) = C(i, j, M - m slots, 0) on one of the grids: rotor's table.
class RotorTable {
public:
    RotorTable(const OffloadContext& context, Rounding rounding)
        : width_(context.slots + 1), output_(at(context.chain.stages) + 1) {
        const OffloadChain& chain = context.chain;
        const std::int32_t n = chain.stages;
        std::vector<std::int32_t> saved(at(n) + 1);
        for (std::int32_t i = 0; i <= n; ++i) {
            output_[at(i)] = to_slots(chain.output[at(i)], context.slot, rounding);
            saved[at(i)] = to_slots(chain.saved[at(i)], context.slot, rounding);
        }
        const std::size_t cells = at(n) * at(n + 1) / 2;
        context.budget.take(cells * at(width_) * sizeof(std::int64_t));
        values_.assign(cells * at(width_), never);
        for (std::int32_t j = 1; j <= n; ++j) {
            context.poll();
            const std::int64_t gradient = chain.output[at(j)];
            for (std::int32_t i = j; i >= 1; --i) {
                std::int64_t* const best = values_.data() + cell(i, j) * at(width_);
                const std::int64_t need =
                    std::max(gradient + chain.saved[at(i)] + chain.forward_overhead[at(i)],
                             chain.backward_need[at(i)]);
                const std::int64_t own = chain.forward[at(i)] + chain.backward[at(i)];
                const std::int64_t first = (need + context.slot - 1) / context.slot;
                for (std::int64_t m = std::max<std::int64_t>(first, i < j ? saved[at(i)] : 0);
                     m < width_; ++m) {
                    best[m] = own + (i < j ? time(i + 1, j, m - saved[at(i)]) : 0);
                }
                for (std::int32_t k = i; k < j; ++k) {
                    const std::int64_t run = context.runs.time(i, k);
                    const std::int64_t held = output_[at(k)];
                    const std::int64_t passing = gradient + context.runs.most(i, k);
                    const std::int64_t start = std::max<std::int64_t>(
                        (passing + context.slot - 1) / context.slot, held);
                    if (start >= width_) break;
                    const std::int64_t* const lower = row(i, k);
                    const std::int64_t* const upper = row(k + 1, j) - held;
                    for (std::int64_t m = start; m < width_; ++m) {
                        best[m] = std::min(best[m], run + lower[m] + upper[m]);
                    }
                }
                for (std::int64_t m = 0; m < width_; ++m) best[m] = std::min(best[m], never);
            }
        }
    }

    std::int64_t time(std::int32_t i, std::int32_t j, std::int64_t m) const {
        return m < 0 ? never : row(i, j)[m];
    }
    const std::int64_t* row(std::int32_t i, std::int32_t j) const {
        return values_.data() + cell(i, j) * at(width_);
    }
    // Slots that a^k takes.
    std::int32_t output(std::int32_t k) const { return output_[at(k)]; }

    static std::size_t cell(std::int32_t i, std::int32_t j) {
        return at(j) * at(j - 1) / 2 + at(i - 1);
    }
    static std::int32_t to_slots(std::int64_t size, std::int64_t slot, Rounding rounding) {
        const std::int64_t slots = rounding == Rounding::upper ? (size + slot - 1) / slot : size / slot;
        return static_cast<std::int32_t>(std::min<std::int64_t>(slots, 1 << 30));
    }

private:
    std::int32_t width_;
    std::vector<std::int32_t> output_;
    std::vector<std::int64_t> values_;
};

// The recurrence at one state. `Table` says how the values of smaller sub-chains are found:
//   value(i, j, av, D), rotor() and rotor_slots(av).
template <typename Table>
class BackwardRecurrence {
public:
    struct Choice {
        std::int64_t time = never;
        std::int32_t last = 0;  // k of `ck k`, or 0 for `all`
    };

    // The fastest choice; `all` on ties, then the shortest run.
    Choice best(std::int32_t i, std::int32_t j, std::int64_t av, std::int64_t d) {
        const OffloadChain& chain = context_.chain;
        const RotorTable& rotor = table().rotor();
        const std::int64_t m = table().rotor_slots(av);
        const std::int64_t idle_room = av - chain.backward_need[at(i)];
        Choice found;
        if (idle_room < 0 || rotor.time(i, j, m) >= never) return found;
        found.time = all(i, j, av, d);
        // B^i comes last whatever is chosen, so that this much idle time is certain.
        const std::int64_t idle = positive(d - idle_room);
        const std::int64_t passing_room = av - chain.output[at(j)];
        std::int64_t least = found.time;
        std::int32_t promising = 0;
        std::int32_t last = i;
        for (; last < j; ++last) {
            if (context_.runs.most(i, last) > passing_room) break;
            const std::int64_t bound = ck_bound(rotor, i, j, last, m, passing_room, d, idle);
            if (bound < least) {
                least = bound;
                promising = last;
            }
        }
        if (promising == 0) return found;
        const std::int64_t first_time = ck(i, j, promising, av, d);
        if (first_time < found.time) found = {first_time, promising};
        if (found.time <= least) return found;
        for (std::int32_t k = i; k < last; ++k) {
            if (k == promising) continue;
            if (ck_bound(rotor, i, j, k, m, passing_room, d, idle) >= found.time) continue;
            const std::int64_t time = ck(i, j, k, av, d);
            if (time < found.time) found = {time, k};
        }
        return found;
    }

    const OffloadContext& context() const { return context_; }

protected:
    explicit BackwardRecurrence(const OffloadContext& context) : context_(context) {}

private:
    Table& table() { return static_cast<Table&>(*this); }

    std::int64_t ck_bound(const RotorTable& rotor, std::int32_t i, std::int32_t j, std::int32_t k,
                          std::int64_t m, std::int64_t passing_room, std::int64_t d,
                          std::int64_t idle) const {
        const std::int64_t parts =
            rotor.time(i, k, m) + rotor.time(k + 1, j, m - rotor.output(k)) + idle;
        const std::int64_t late = d - (passing_room - context_.runs.late(i, k));
        return std::min(context_.runs.time(i, k) + std::max(parts, late), never);
    }

    std::int64_t all(std::int32_t i, std::int32_t j, std::int64_t av, std::int64_t d) {
        const OffloadChain& chain = context_.chain;
        const std::int64_t forward_room =
            av - chain.output[at(j)] - chain.saved[at(i)] - chain.forward_overhead[at(i)];
        const std::int64_t backward_room = av - chain.backward_need[at(i)];
        if (forward_room < 0 || backward_room < 0) return never;
        const std::int64_t left = positive(std::min(d, backward_room) - chain.backward[at(i)]);
        const std::int64_t inner =
            i < j ? table().value(i + 1, j, av - chain.saved[at(i)], left) : 0;
        if (inner >= never) return never;
        return chain.forward[at(i)] + chain.backward[at(i)] + positive(d - backward_room) +
               std::max(inner, left - forward_room);
    }

    std::int64_t ck(std::int32_t i, std::int32_t j, std::int32_t k, std::int64_t av,
                    std::int64_t d) {
        const OffloadChain& chain = context_.chain;
        const std::int64_t lower = table().value(i, k, av, d);
        if (lower >= never) return never;
        const std::int64_t upper =
            table().value(k + 1, j, av - chain.output[at(k)], positive(d - lower));
        if (upper >= never) return never;
        const std::int64_t room = av - chain.output[at(j)] - context_.runs.late(i, k);
        return context_.runs.time(i, k) + std::max(lower + upper, d - room);
    }

    OffloadContext context_;
};

// One of the two grids; rows over D are made where they are first needed.
template <Rounding rounding>
class GridBackward : public BackwardRecurrence<GridBackward<rounding>> {
    using Base = BackwardRecurrence<GridBackward<rounding>>;

public:
    explicit GridBackward(const OffloadContext& context)
        : Base(context), rotor_(context, rounding), slot_(context.slot) {
        const std::size_t rows = at(context.chain.stages) * at(context.chain.stages + 1) / 2 *
                                 at(context.slots + 1);
        context.budget.take(rows * sizeof(std::int64_t*));
        rows_.assign(rows, nullptr);
    }

    std::int64_t value(std::int32_t i, std::int32_t j, std::int64_t av, std::int64_t d) {
        if (av < 0) return never;
        return value_at(i, j, rotor_slots(av), d / slot_, d % slot_);
    }

    // The same for d = whole * slot + rest and av rounded to m slots.
    std::int64_t value_at(std::int32_t i, std::int32_t j, std::int64_t m, std::int64_t whole,
                          std::int64_t rest) {
        const std::int64_t before = grid_value(i, j, m, whole);
        if (rest == 0 || before >= never) return before;
        const std::int64_t after = grid_value(i, j, m, whole + 1);
        if constexpr (rounding == Rounding::lower) {
            return std::max(before, after - (slot_ - rest));
        } else {
            return std::min(after, before + rest);
        }
    }

    const RotorTable& rotor() const { return rotor_; }
    std::int64_t rotor_slots(std::int64_t av) const {
        return rounding == Rounding::lower ? (av + slot_ - 1) / slot_ : av / slot_;
    }
    std::int64_t states() const { return states_; }

private:
    static constexpr std::int64_t unknown = -1;

    std::int64_t grid_value(std::int32_t i, std::int32_t j, std::int64_t m, std::int64_t d) {
        const std::int64_t rotor_time = rotor_.time(i, j, m);
        if (d == 0 || rotor_time >= never) return rotor_time;
        // No state within the memory asks for more than m + 1 slots; the bounds go on from there.
        if (d > m + 1) {
            const std::int64_t end = grid_value(i, j, m, m + 1);
            return rounding == Rounding::lower ? end : end + (d - m - 1) * slot_;
        }
        std::int64_t*& row =
            rows_[RotorTable::cell(i, j) * at(this->context().slots + 1) + at(m)];
        if (row == nullptr) row = new_row(at(m + 1));
        std::int64_t& known = row[at(d - 1)];
        if (known != unknown) return known;
        if (++states_ % 1024 == 0) this->context().poll();
        const std::int64_t found = this->best(i, j, m * slot_, d * slot_).time;
        known = found;
        return found;
    }

    std::int64_t* new_row(std::size_t size) {
        if (blocks_.empty() || used_ + size > block_size) {
            const std::size_t made = std::max(block_size, size);
            this->context().budget.take(made * sizeof(std::int64_t));
            blocks_.emplace_back(made, unknown);
            used_ = 0;
        }
        std::int64_t* const row = blocks_.back().data() + used_;
        used_ += size;
        return row;
    }

    static constexpr std::size_t block_size = std::size_t{1} << 16;
    RotorTable rotor_;
    std::int64_t slot_;
    std::vector<std::int64_t*> rows_;
    std::vector<std::vector<std::int64_t>> blocks_;
    std::size_t used_ = 0;
    std::int64_t states_ = 0;
};

// Exact values at the states that are reached, in a flat hash map.
class ExactBackward : public BackwardRecurrence<ExactBackward> {
public:
    ExactBackward(const OffloadContext& context, const RotorTable& lower)
        : BackwardRecurrence(context), rotor_(lower) {
        resize(1 << 12);
    }

    std::int64_t value(std::int32_t i, std::int32_t j, std::int64_t av, std::int64_t d) {
        if (av < 0) return never;
        const std::int32_t chain_cell = static_cast<std::int32_t>(RotorTable::cell(i, j));
        const std::size_t known = find(chain_cell, av, d);
        if (entries_[known].cell >= 0) return entries_[known].time;
        const std::int64_t time = best(i, j, av, d).time;
        insert({av, d, time, chain_cell});
        return time;
    }

    const RotorTable& rotor() const { return rotor_; }
    std::int64_t rotor_slots(std::int64_t av) const {
        return (av + context().slot - 1) / context().slot;
    }
    std::int64_t states() const { return static_cast<std::int64_t>(used_); }

private:
    struct Entry {
        std::int64_t av, d, time;
        std::int32_t cell = -1;
    };

    std::size_t find(std::int32_t chain_cell, std::int64_t av, std::int64_t d) const {
        std::uint64_t hash = static_cast<std::uint64_t>(av) * 0x9E3779B97F4A7C15U;
        hash = (hash ^ (hash >> 29)) + static_cast<std::uint64_t>(d);
        hash = (hash * 0xBF58476D1CE4E5B9U) + static_cast<std::uint64_t>(chain_cell);
        hash = (hash ^ (hash >> 32)) * 0x94D049BB133111EBU;
        std::size_t place = static_cast<std::size_t>(hash >> 16) & (entries_.size() - 1);
        while (entries_[place].cell >= 0 &&
               (entries_[place].cell != chain_cell || entries_[place].av != av ||
                entries_[place].d != d)) {
            place = (place + 1) & (entries_.size() - 1);
        }
        return place;
    }

    void insert(const Entry& entry) {
        if (++used_ % 1024 == 0) context().poll();
        if (4 * used_ > 3 * entries_.size()) resize(2 * entries_.size());
        entries_[find(entry.cell, entry.av, entry.d)] = entry;
    }

    void resize(std::size_t size) {
        context().budget.take(size * sizeof(Entry));
        std::vector<Entry> old(size);
        old.swap(entries_);
        for (const Entry& entry : old) {
            if (entry.cell >= 0) entries_[find(entry.cell, entry.av, entry.d)] = entry;
        }
        context().budget.give(old.size() * sizeof(Entry));
    }

    const RotorTable& rotor_;
    std::vector<Entry> entries_;
    std::size_t used_ = 0;
};

}  // namespace jettison
