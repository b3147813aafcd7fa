// Sweep over all steps with offloaded weights within a period, from many beginnings at once. The
// Python module solvers/weight_offload/exact/method.py documents the mathematics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace jettison {

// A set of layers is a bit mask, part of the machine word that describes a state.
constexpr std::int32_t most_offloaded_layers = 16;
constexpr std::int32_t most_cycle_operations = 62;

constexpr std::int32_t no_layer = -1;

// The operations from the one at which the cycle is cut, and the link. Only layers with weights
// have a number; operations of the others have `no_layer`.
struct OffloadCycle {
    std::int32_t layers = 0;                 // at most most_offloaded_layers
    std::int32_t operations = 0;             // 1 to most_cycle_operations
    std::vector<std::int32_t> layer;         // [operations], from 0, or no_layer
    std::vector<std::int32_t> backward;      // [operations], 1 or 0
    std::vector<std::int64_t> duration_ns;   // [operations]
    std::vector<std::int64_t> working_bytes;  // [operations]
    std::vector<std::int64_t> resting_bytes;  // [operations]
    std::vector<std::int64_t> weight_bytes;   // [layers]
    std::vector<std::int64_t> transfer_ns;    // [layers]
    std::int64_t memory_bytes = 0;
    std::int64_t bytes_per_s = 1;
};

constexpr std::int32_t idle_link = 31;

// A state right before the first operation starts, and what is left of the transfers.
struct Beginning {
    std::uint32_t resident = 0;
    std::uint32_t hosted = 0;  // the host has the newest copy
    std::uint32_t owed = 0;    // uploaded, and not deleted since
    std::int32_t up = idle_link;
    std::int32_t down = idle_link;
    std::int64_t up_ns = 0;
    std::int64_t down_ns = 0;
};

struct BeginningsAnswer {
    bool complete = false;
    std::vector<Beginning> found;
    std::int64_t next_ns = 0;  // no step from a state that was cut off is shorter
};

// The states right before the first operation with an idle link that a step within `period_ns` may
// have; not complete if there are more than `most`, or `poll` has returned false.
BeginningsAnswer cycle_beginnings(const OffloadCycle& cycle, std::int64_t period_ns,
                                  std::size_t most, const std::function<bool()>& poll);

enum class CycleStart : std::int32_t { operation, prefetch, upload, deletion };

struct TimedAction {
    CycleStart kind;
    std::int32_t layer;
    std::int64_t start_ns;
};

// A beginning from which a walk came back with more time left of the transfers.
struct Raised {
    std::int32_t beginning;
    std::int64_t up_ns;
    std::int64_t down_ns;
};

struct SweepAnswer {
    bool complete = false;  // whether the sweep came to its end, or to a closed walk
    std::int64_t period_ns = -1;
    std::vector<TimedAction> actions;  // of the closed walk, if there is one
    std::vector<Raised> raised;
    std::int64_t next_ns = 0;  // no walk that was cut off is shorter
    std::int64_t labels = 0;
};

// Searches for a walk that closes within `period_ns`, and stops at the first one. `most_labels`
// bounds memory: about 200 bytes each, and 1 GiB for sets of beginnings. Of the labels with the
// same operations started and the same weights resident the first `most_alike` are kept; when more
// are met, the sweep is not complete. `poll` returns false to stop.
SweepAnswer sweep_cycle(const OffloadCycle& cycle, const std::vector<Beginning>& beginnings,
                        std::int64_t period_ns, std::int64_t most_labels,
                        std::int64_t most_alike, const std::function<bool()>& poll);

}  // namespace jettison
