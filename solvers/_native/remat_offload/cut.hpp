// Test whether a cut of a chain with offloading allows a delay: a time of reruns after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace jettison {

// State of the decisions for the stages from some stage up to the cut.
struct CutState {
    std::int64_t device_bytes = 0;  // of tensors on the device; fluid: of all tensors
    std::int64_t link_ns = 0;       // of the copies of tensors on the host; fluid: 0
    std::int64_t rerun_ns = 0;      // of the forward operations after the cut
};

// A cut at stage l. The vectors have l entries, one for each of the stages 0..l-1, of which stage 0
// is the input of the chain.
struct OffloadCut {
    std::int64_t device_bytes = 0;           // beside the operation at the cut
    std::int64_t delay_ns = 0;               // the limit on the time of reruns
    std::vector<std::int64_t> plain_bytes;   // of a
    std::vector<std::int64_t> saved_bytes;   // of abar; for stage 0, of a
    std::vector<std::int64_t> forward_ns;    // of F; for stage 0, zero
    std::vector<std::int64_t> later_ns;      // the rerun bound of the stage
};

// The bytes of stages k..l-1 that can be anywhere, and those that F or B of stage k+1 can find.
struct FluidLink {
    std::vector<std::int64_t> held_bytes;
    std::vector<std::int64_t> input_bytes;
};

// The time of the copies of stages k..l-1 if they end before B of stage k, and before that of k+1.
struct AtOnceLink {
    std::int64_t slack_ns = 0;              // for a second run of F before the cut
    std::vector<std::int64_t> saved_ns;     // to copy abar
    std::vector<std::int64_t> plain_ns;     // to copy a
    std::vector<std::int64_t> late_ns;
    std::vector<std::int64_t> early_ns;
    std::vector<std::int64_t> path_ns;      // from the cut to B of the stage, at most
};

// Whether the reruns can take at most delay_ns. First a few promising states are tried; if they do
// not show it, all are, where states beyond most_states are merged: that can only allow more.
// Time O(l^2 P log P) for P states.
bool allows(const OffloadCut& cut, const FluidLink& link, std::size_t most_states,
            const std::function<void()>& poll);
bool allows(const OffloadCut& cut, const AtOnceLink& link, std::size_t most_states,
            const std::function<void()>& poll);

}  // namespace jettison
