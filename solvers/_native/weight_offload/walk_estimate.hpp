#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weight_offload/sweep.hpp"

namespace jettison {

inline std::size_t at(std::int32_t value) { return static_cast<std::size_t>(value); }
// The layer as a set; of an operation without weights, the empty set.
inline std::uint32_t bit(std::int32_t layer) {
    return layer == no_layer ? 0 : std::uint32_t{1} << layer;
}

// Contents of a label, without times.
struct Place {
    std::int32_t started = 0;
    bool running = false;
    std::int32_t up = idle_link;
    std::int32_t down = idle_link;
    std::uint32_t resident = 0;
    std::uint32_t hosted = 0;
    std::uint32_t owed = 0;

    // 16 bits each for the three sets; 6 and 1 bits, and 9 bits for both transfers together.
    std::uint64_t word() const {
        return contents() | static_cast<std::uint64_t>(started) |
               static_cast<std::uint64_t>(running) << 6;
    }
    std::uint64_t contents() const {
        constexpr std::int32_t lanes = most_offloaded_layers + 1;
        const std::int32_t upward = up == idle_link ? most_offloaded_layers : up;
        const std::int32_t downward = down == idle_link ? most_offloaded_layers : down;
        return static_cast<std::uint64_t>(upward * lanes + downward) << 7 |
               static_cast<std::uint64_t>(resident) << 16 |
               static_cast<std::uint64_t>(hosted) << 32 | static_cast<std::uint64_t>(owed) << 48;
    }
};

// The present time, and the ends of the operation and the transfers; the present where idle.
struct Times {
    std::int64_t now = 0;
    std::int64_t operation = 0;
    std::int64_t up = 0;
    std::int64_t down = 0;

    bool operator==(const Times& other) const {
        return now == other.now && operation == other.operation && up == other.up &&
               down == other.down;
    }
    bool no_later_than(const Times& other) const {
        return now <= other.now && operation <= other.operation && up <= other.up &&
               down <= other.down;
    }
};

// Least times from the start of every operation to the end of a walk; the last entry is 0.
using Tails = std::vector<std::int64_t>;

// Lower bounds on the end of a walk: see "Estimate" in the Python module.
class WalkEstimate {
public:
    WalkEstimate(const OffloadCycle& cycle, std::int64_t period_ns);

    // Tails of walks that end in a state, of which the statuses of the layers `known` are given.
    Tails tails(const Beginning& end, std::uint32_t known) const;

    // Tails that hold whatever the last state is.
    const Tails& least_tails() const { return least_tails_; }

    // A bound on the end, or period_ns + 1 where only that is known. Of the layers beyond `known`
    // nothing is assumed.
    std::int64_t end_ns(const Place& place, const Times& times, const Tails& tails,
                        std::uint32_t known) const;

    std::uint32_t all() const { return static_cast<std::uint32_t>(size_.size() - 1); }

    // The next operation of a layer, forward or backward, from the one of this number on; the
    // number of operations if there is none before the end.
    std::int32_t next_use(std::int32_t started, std::int32_t layer) const;
    bool next_use_is_forward(std::int32_t started, std::int32_t layer) const;
    std::int32_t backward(std::int32_t layer) const { return backward_[at(layer)]; }

    // Layers whose backward comes next, so soon that they cannot leave before it if they are
    // resident; and the period from which on a layer can.
    std::uint32_t kept_until_backward() const;
    std::int64_t back_at_backward_ns(std::int32_t layer) const {
        return cycle_.transfer_ns[at(layer)] + least_tails_[at(backward_[at(layer)])];
    }

    // Of the weights of a set of layers.
    std::int64_t size_bytes(std::uint32_t layers) const { return size_[layers]; }

private:
    std::int64_t transfer_ns(std::int64_t bytes) const;

    const OffloadCycle& cycle_;
    std::int64_t period_ns_;
    bool is_exact_ = true;                // whether all transfers take a whole number of ns
    std::vector<std::int64_t> size_;      // of every set of layers
    std::vector<std::int32_t> forward_;   // operation of every layer
    std::vector<std::int32_t> backward_;
    Tails least_tails_;
};

}  // namespace jettison
