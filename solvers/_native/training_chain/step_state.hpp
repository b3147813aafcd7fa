// States of a training step between two moments, and what can start in them.
//
// A state is what is on the device, what the host has a valid copy of, which updates are due, the
// next backward operation, and what is under way with the time that it has left. Tensors are bits,
// five for each stage in the order of TrainingTensor; those of no bytes have none, but for
// activations, which have to be made all the same. What the host updates is fixed. Everything
// starts at a moment at which something ends: what starts later can start then, since memory and
// what is there change at ends and starts only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "training_chain/step_layout.hpp"

namespace jettison {

constexpr std::int32_t most_searched_stages = 6;

struct StepState {
    static constexpr std::uint8_t none = 255;

    std::uint32_t device = 0, host = 0;
    std::uint8_t due = 0;   // stages without the update of their last gradient
    std::uint8_t next = 0;  // stages whose backward operations are to come in this step
    std::uint8_t operation = none, operand = 0;  // a TrainingOperation, and its stage
    std::uint8_t to_host = none, from_host = none, host_update = none;  // tensors, a stage
    std::uint8_t unused = 0;
    // What is left of the operation, both transfers, and the update of the host.
    std::uint32_t left[4] = {0, 0, 0, 0};

    bool operator==(const StepState& other) const;
    std::uint64_t hash() const;
};

class StepMoves {
public:
    // Durations are divided by their greatest common divisor; one above 2^31 is refused.
    StepMoves(const TrainingSteps& steps, std::uint32_t updated_by_host);

    std::int64_t unit_ns() const { return unit_ns_; }
    std::int32_t num_stages() const { return static_cast<std::int32_t>(stages_.size()); }

    // States of a step that begins with some of the weights and states on the device, and with no
    // update due: those that fit.
    std::vector<StepState> beginnings() const;

    // Calls back with every state in which something has started, or not, at this moment.
    using Started = std::function<void(const StepState&)>;
    void start(const StepState& state, const Started& started) const;

    struct Ended {
        StepState state;
        std::uint32_t duration = 0;
        bool is_possible = false, ends_step = false;
        std::uint32_t dropped = 0;  // by itself: what the host changes, and has of it
    };
    // Goes on to the next end.
    Ended advance(const StepState& state) const;

    // Lower bound on the time to the end of the step.
    std::int64_t least_left(const StepState& state) const;

    static std::uint32_t bit(std::int32_t stage, TrainingTensor tensor) {
        return 1u << (stage * training_tensors + static_cast<std::int32_t>(tensor));
    }

private:
    using Operation = TrainingOperation;
    using Tensor = TrainingTensor;

    bool is_by_host(std::int32_t stage) const { return by_host_ >> stage & 1u; }
    std::int64_t size(std::int32_t stage, Tensor tensor) const {
        return stages_[stage].size_bytes[static_cast<std::int32_t>(tensor)];
    }
    bool has(std::uint32_t tensors, std::int32_t stage, Tensor tensor) const {
        return !size(stage, tensor) || (tensors & bit(stage, tensor));
    }
    std::int64_t size_of(std::uint32_t tensors) const;
    std::int64_t used(const StepState& state) const;
    std::uint32_t reserved(const StepState& state) const;
    bool is_useful(const StepState& state, std::int32_t tensor) const;
    void start_host_update(StepState state, const Started& started) const;
    void start_offload(StepState state, const Started& started) const;
    void start_operation(StepState state, const Started& started) const;
    void start_prefetch(StepState state, const Started& started) const;
    void forwards(const StepState& state, std::int32_t stage, const Started& chosen) const;
    // Calls back with the least sets of tensors dropped that let a state fit.
    void with_drops(const StepState& state, const Started& fits) const;
    void drop_more(StepState state, std::uint32_t choices, std::int64_t over,
                   std::int64_t least_dropped, const Started& fits) const;
    bool end_operation(StepState& state, Ended& ended) const;
    bool end_backward(StepState& state, Ended& ended) const;

    std::vector<TrainingStage> stages_;  // durations in units
    std::vector<std::int64_t> sizes_;    // by tensor
    std::vector<std::uint32_t> transfers_;
    std::int64_t input_bytes_, memory_bytes_, unit_ns_ = 1;
    std::uint32_t by_host_;
};

}  // namespace jettison
