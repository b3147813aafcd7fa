// Fastest two-phase sequences of consecutive stages with several micro-batches in flight, on slots.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "remat_chain/persistent_program.hpp"

namespace jettison {

// A chain whose memory is counted in slots, with what the devices have for its parts. Stages are
// counted from 0 here; matrices are [stages * stages], by first and last stage.
struct PhasedChain {
    std::int32_t stages = 0;
    std::vector<std::int64_t> forward_ns;
    std::vector<std::int64_t> backward_ns;
    std::vector<std::int32_t> input_slots;
    std::vector<std::int32_t> saved_slots;
    std::vector<std::int32_t> forward_all_need;   // rotor's thresholds, with the gradient of t
    std::vector<std::int32_t> forward_none_need;
    std::vector<std::int32_t> saving_need;        // [stages], both operations of a saved stage
    std::vector<std::int32_t> passing_need;       // a forward that keeps only its first input
    std::vector<std::int32_t> in_flight;          // [devices]
    // [devices * stages * stages]: the memory of a device beside what it holds all the time and the
    // inputs in flight; negative where the device is not to have these stages.
    std::vector<std::int32_t> room;
};

// Operations of a micro-batch on a device.
struct TwoPhases {
    std::vector<Step> forward;
    std::vector<Step> backward;
};

// The program of `solvers/pipeline_chain/device_times.py`, which has the recurrence.
class PhaseTable {
public:
    static constexpr std::int64_t none_ns = std::int64_t{1} << 61;

    explicit PhaseTable(PhasedChain chain);

    // Time O(N L^2 S^2) for parts of at most L stages and S slots, memory N L S entries. `poll` is
    // called now and then and may throw to stop.
    void fill(const std::function<void()>& poll);

    // [devices * stages * stages]: the least time of a micro-batch, or `none_ns`.
    const std::vector<std::int64_t>& times_ns() const { return times_ns_; }

    // The sequence that takes it; there must be one.
    TwoPhases sequence(std::int32_t device, std::int32_t first, std::int32_t last) const;

    // The least times W_d(i, m) of the stages i to `last`, for i from `first` on and d, m from 0 to
    // `most`, into [last - first + 1][most + 1][most + 1].
    void within(std::int32_t first, std::int32_t last, std::int32_t most, std::int64_t* out) const;

    // The sequence that takes W_d(first, m) with d = `left` and m = `memory`; there must be one.
    TwoPhases sequence_within(std::int32_t first, std::int32_t last, std::int32_t left,
                              std::int32_t memory) const;

    std::int64_t table_entries() const;

private:
    struct Asked {
        std::size_t at;      // in `times_ns_`
        std::int32_t first;
        std::int32_t memory;
        std::int32_t kept;
    };
    using Row = std::vector<std::int64_t>;

    std::size_t span(std::int32_t first, std::int32_t last) const;
    std::size_t place(std::int32_t device, std::int32_t first, std::int32_t last) const;
    const std::int64_t* again(std::int32_t first, std::int32_t last) const;
    void check(std::int32_t first, std::int32_t last, std::int32_t memory) const;
    void fill_again(const std::function<void()>& poll);
    // The rows W_d(i, .) of the parts that end with `last`, from `last` + 1 down to `first`.
    void fill_rows(std::int32_t first, std::int32_t last, std::int32_t least_left,
                   std::int32_t most, std::vector<Row>& rows) const;
    void emit_again(std::int32_t first, std::int32_t last, std::int32_t memory,
                    std::vector<Step>& steps) const;

    PhasedChain chain_;
    std::int32_t slots_ = 0;
    std::vector<std::int32_t> reach_;  // [stages]: the last stage of a part that holds this one
    std::vector<std::int64_t> forward_sum_ns_;
    std::vector<std::size_t> row_of_;
    std::vector<std::int64_t> again_;
    std::vector<std::int64_t> times_ns_;
    std::vector<std::int32_t> kept_;
};

}  // namespace jettison
