#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weight_offload/sweep.hpp"

namespace jettison {

inline std::size_t at(std::int32_t value) { return static_cast<std::size_t>(value); }
inline std::uint32_t bit(std::int32_t layer) { return std::uint32_t{1} << layer; }

// Contents of a label, without times.
struct Place {
    std::int32_t started = 0;
    bool running = false;
    std::int32_t up = idle_link;
    std::int32_t down = idle_link;
    std::uint32_t resident = 0;
    std::uint32_t hosted = 0;
    std::uint32_t owed = 0;

    // 16 bits each for the three sets; 5, 1, 5 and 5 bits for the rest.
    std::uint64_t word() const {
        return contents() | static_cast<std::uint64_t>(started) |
               static_cast<std::uint64_t>(running) << 5;
    }
    std::uint64_t contents() const {
        return static_cast<std::uint64_t>(up) << 6 | static_cast<std::uint64_t>(down) << 11 |
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

// A lower bound on the end of a walk: see "Estimate" in the Python module.
class WalkEstimate {
public:
    explicit WalkEstimate(const OffloadCycle& cycle);

    std::int64_t end_ns(const Place& place, const Times& times) const;

    // Of the weights of a set of layers.
    std::int64_t size_bytes(std::uint32_t layers) const { return size_[layers]; }

private:
    std::int64_t transfer_ns(std::int64_t bytes) const;

    const OffloadCycle& cycle_;
    std::vector<std::int64_t> size_;  // of every set of layers
};

}  // namespace jettison
