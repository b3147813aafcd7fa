// Timing of a step: everything starts as soon as it can, period after period until one repeats.
//
// Operations of the device keep their order. Each direction of the link carries one tensor after
// the other: to the host in the order in which they may leave, from the host by ascending trigger
// (step_layout.hpp). A prefetch starts when its trigger is the next operation, its copy on the host
// is complete and its memory is free; an operation when what it reads is there and its memory is
// free. Of the next operation and the next prefetch, the one that can start earlier does, a
// prefetch on ties. Time: proportional to the operations and transfers of the steps that are timed,
// times the number of events that are to come at a moment.
#pragma once

#include <cstdint>
#include <vector>

#include "training_chain/step_layout.hpp"

namespace jettison {

// The first four are the operations of the device, as in TrainingOperation.
enum class TimedKind : std::int32_t {
    forward,
    forward_all,
    backward,
    update,
    prefetch,
    offload,
    drop,
    host_update,
    none,
};

struct TimedEvent {
    std::int64_t time_ns;
    TimedKind kind;
    std::int32_t stage, tensor;  // the tensor is -1 where there is none
};

struct TimedStep {
    static constexpr std::int64_t no_period_ns = -1;
    std::int64_t period_ns = no_period_ns;  // where no two steps in a row are equal
    std::vector<TimedEvent> events;
};

TimedStep time_step(const TrainingSteps& steps, const StepLayout& layout);

// The time for which the busiest of the device, the host and both directions of the link works in
// every step: no period is shorter.
std::int64_t busiest_ns(const TrainingSteps& steps, const StepLayout& layout);

}  // namespace jettison
