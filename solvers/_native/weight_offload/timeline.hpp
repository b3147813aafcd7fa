// Cyclic step of computations and transfers of weights, each started as soon as the order allows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weight_offload/memory_profile.hpp"

namespace jettison {

// Operations in the order of the cycle, B_L, ..., B_1, F_1, ..., F_L. Times are in ticks: so many
// to a nanosecond that every operation without a duration can take one of its own, and no sum of
// them makes a nanosecond. Thus no two of them happen at one moment.
struct WeightChain {
    std::int32_t layers;
    std::int64_t memory_bytes;
    std::int64_t ticks_per_ns;
    std::vector<std::int64_t> duration;       // of each operation, in ticks
    std::vector<std::int64_t> working_bytes;  // of each operation
    std::vector<std::int64_t> resting_bytes;  // of each operation
    std::vector<std::int64_t> weight_bytes;   // of each layer
    std::vector<std::int64_t> transfer;       // of each layer, in ticks

    std::int32_t layer_of(std::int32_t operation) const {
        return operation < layers ? layers - 1 - operation : operation - layers;
    }
    bool is_backward(std::int32_t operation) const { return operation < layers; }
};

// When the weights of a layer are absent, as bits: the d of the paper's choices (k, d).
inline constexpr std::uint8_t after_backward = 1;  // d = 0
inline constexpr std::uint8_t after_forward = 2;   // d = 1
using Absences = std::vector<std::uint8_t>;

enum class Discount { used, not_used };

enum class ActionKind : std::uint8_t { compute, prefetch, upload, fill };

// Computes an operation, or moves the weights of a layer. A fill is part of Algorithm 2: uploads of
// weights that wait, in the time that the link has left until the last operation ends.
struct Action {
    ActionKind kind;
    std::int32_t index;
};
using Actions = std::vector<Action>;

enum class EventKind : std::uint8_t { backward, forward, prefetch, upload, remove };

struct Event {
    std::int64_t start;
    EventKind kind;
    std::int32_t layer;
};

class WeightTimeline {
public:
    // Starts with the weights absent that are so between F and B.
    WeightTimeline(const WeightChain& chain, const Absences& absences, Discount discount);

    // Takes the next action in the order of the list; false where it is impossible: memory never
    // suffices, or weights are not where the action needs them.
    bool take(const Action& action);

    std::int64_t end_of_all() const {
        return std::max({processor_free_, uploads_free_, prefetches_free_});
    }
    const std::vector<Event>& events() const { return events_; }
    // Whether all weights are where they were at the beginning.
    bool is_as_at_first() const;

private:
    bool compute(std::int32_t operation);
    bool prefetch(std::int32_t layer);
    bool upload(std::int32_t layer);
    void fill();
    void remove(std::int32_t layer, std::int64_t time);

    struct Weights {
        bool is_present;
        bool is_hosted = true;    // the upload of the newest version has its place
        bool is_leaving = false;  // is deleted when it is hosted
        std::int64_t arrived = 0;
        std::int64_t removed = 0;
        std::int64_t uploaded = 0;
        std::int64_t last_used = 0;
    };

    const WeightChain& chain_;
    const Absences& absences_;
    Discount discount_;
    MemoryProfile memory_;
    std::vector<Weights> weights_;
    std::vector<std::int32_t> waiting_;  // for an upload before they are deleted
    std::vector<Event> events_;
    std::int64_t resting_bytes_;
    std::int64_t processor_free_ = 0;
    std::int64_t uploads_free_ = 0;
    std::int64_t prefetches_free_ = 0;
};

// A period, and its events by time, in nanoseconds. The first operation starts at 0.
struct WeightCycleTimes {
    std::int64_t period_ns;
    std::vector<Event> events;
};

// Runs the actions again and again until a step is like the one before; nothing where an action is
// not possible. Where no step is like the one before, the first is taken, and everything waits for
// its end; nothing if it leaves weights elsewhere than it found them.
std::optional<std::int64_t> find_period(const WeightChain& chain, const Absences& absences,
                                        Discount discount, const Actions& actions,
                                        WeightCycleTimes* times);

}  // namespace jettison
