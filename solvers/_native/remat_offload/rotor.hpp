// Common parts of POFO's tables, and rotor's table: the backward phase without transfers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <new>
#include <vector>

#include "remat_offload/linked_chain.hpp"

namespace jettison {

enum class Rounding { lower, upper };

// The memory that all tables together may take.
class Budget {
public:
    explicit Budget(std::int64_t bytes) : left_(bytes) {}
    void take(std::size_t bytes) {
        if (static_cast<std::int64_t>(bytes) > left_) throw std::bad_alloc();
        left_ -= static_cast<std::int64_t>(bytes);
    }
    void give(std::size_t bytes) { left_ += static_cast<std::int64_t>(bytes); }

private:
    std::int64_t left_;
};

// What one table takes of the budget, and gives back when it is gone.
class Claim {
public:
    explicit Claim(Budget& budget) : budget_(budget) {}
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() { budget_.give(taken_); }

    void take(std::size_t bytes) {
        budget_.take(bytes);
        taken_ += bytes;
    }
    void give(std::size_t bytes) {
        budget_.give(bytes);
        taken_ -= bytes;
    }

private:
    Budget& budget_;
    std::size_t taken_ = 0;
};

// Grid of the memory beside what is kept: index m stands for offset + m slots, where the offset is
// what the slots leave of the memory. If all kept values are multiples of the slot, every state
// that is reached lies on the grid, and neither side of it rounds anything.
struct OffloadGrid {
    OffloadGrid(std::int64_t memory, std::int64_t units_of_a_slot)
        : slot(units_of_a_slot), offset(memory % slot), slots(memory / slot) {}

    std::int64_t memory(std::int64_t m) const { return offset + m * slot; }
    // The least index that stands for at least `units`, and the largest that stands for at most
    // them, which is -1 where they are less than the offset.
    std::int64_t rounded_up(std::int64_t units) const {
        return units <= offset ? 0 : (units - offset + slot - 1) / slot;
    }
    std::int64_t rounded_down(std::int64_t units) const {
        return units < offset ? -1 : (units - offset) / slot;
    }

    std::int64_t slot;    // units
    std::int64_t offset;  // units
    std::int64_t slots;
};

struct OffloadContext {
    const OffloadChain& chain;
    const ForwardRuns& runs;
    OffloadGrid grid;
    Budget& budget;
    const std::function<void()>& poll;
};

// R(i, j, m) = C(i, j, M - m, 0), m an index of one of the grids: rotor's table.
class RotorTable {
public:
    RotorTable(const OffloadContext& context, Rounding rounding)
        : claim_(context.budget),
          grid_(context.grid),
          rounding_(rounding),
          width_(context.grid.slots + 1),
          output_(at(context.chain.stages) + 1) {
        const OffloadChain& chain = context.chain;
        const std::int32_t n = chain.stages;
        std::vector<std::int32_t> saved(at(n) + 1);
        for (std::int32_t i = 0; i <= n; ++i) {
            output_[at(i)] = to_slots(chain.output[at(i)], context.grid.slot, rounding);
            saved[at(i)] = to_slots(chain.saved[at(i)], context.grid.slot, rounding);
        }
        const std::size_t cells = at(n) * at(n + 1) / 2;
        claim_.take(cells * at(width_) * sizeof(std::int64_t));
        values_.assign(cells * at(width_), never);
        for (std::int32_t j = 1; j <= n; ++j) {
            context.poll();
            const std::int64_t gradient = chain.gradient[at(j)];
            for (std::int32_t i = j; i >= 1; --i) {
                std::int64_t* const best = values_.data() + cell(i, j) * at(width_);
                const std::int64_t need =
                    std::max(gradient + chain.saving(i), chain.backward_need[at(i)]);
                const std::int64_t own = chain.forward[at(i)] + chain.backward[at(i)];
                const std::int64_t first = context.grid.rounded_up(need);
                for (std::int64_t m = std::max<std::int64_t>(first, i < j ? saved[at(i)] : 0);
                     m < width_; ++m) {
                    best[m] = own + (i < j ? time(i + 1, j, m - saved[at(i)]) : 0);
                }
                for (std::int32_t k = i; k < j; ++k) {
                    const std::int64_t run = context.runs.time(i, k);
                    const std::int64_t held = output_[at(k)];
                    const std::int64_t passing = gradient + context.runs.most(i, k);
                    const std::int64_t start =
                        std::max<std::int64_t>(context.grid.rounded_up(passing), held);
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
    // The index at which so much memory is looked up; negative where it is below the grid.
    std::int64_t index(std::int64_t av) const {
        return rounding_ == Rounding::lower ? grid_.rounded_up(av) : grid_.rounded_down(av);
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
        const std::int64_t slots =
            (rounding == Rounding::upper ? size + slot - 1 : size) / slot;
        return static_cast<std::int32_t>(std::min<std::int64_t>(slots, 1 << 30));
    }

private:
    Claim claim_;
    OffloadGrid grid_;
    Rounding rounding_;
    std::int64_t width_;
    std::vector<std::int32_t> output_;
    std::vector<std::int64_t> values_;
};

}  // namespace jettison
