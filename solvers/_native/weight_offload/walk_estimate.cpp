#include "weight_offload/walk_estimate.hpp"

#include <algorithm>

namespace jettison {
namespace {

__extension__ typedef __int128 Wide;

}  // namespace

WalkEstimate::WalkEstimate(const OffloadCycle& cycle) : cycle_(cycle) {
    const std::uint32_t sets = bit(cycle_.layers);
    size_.resize(sets);
    for (std::uint32_t set = 1; set < sets; ++set) {
        std::int32_t low = 0;
        while ((set >> low & 1) == 0) ++low;
        size_[set] = size_[set & (set - 1)] + cycle_.weight_bytes[at(low)];
    }
}

std::int64_t WalkEstimate::transfer_ns(std::int64_t bytes) const {
    const Wide ticks = static_cast<Wide>(bytes) * 1000000000;
    return static_cast<std::int64_t>((ticks + cycle_.bytes_per_s - 1) / cycle_.bytes_per_s);
}

std::int64_t WalkEstimate::end_ns(const Place& place, const Times& times) const {
    const std::int32_t operations = 2 * cycle_.layers;
    std::int64_t now = times.operation;
    std::int64_t arrives = times.down;
    std::uint32_t brought = place.resident;
    // Used from now on, last by a forward: these can leave as they are.
    std::uint32_t forwarded = 0;
    if (place.running && cycle_.backward[at(place.started - 1)] == 0) {
        forwarded |= bit(cycle_.layer[at(place.started - 1)]);
    }
    const std::int64_t up_bytes =
        place.up == idle_link ? 0 : cycle_.weight_bytes[at(place.up)];
    for (std::int32_t k = place.started; k < operations; ++k) {
        const std::int32_t layer = cycle_.layer[at(k)];
        const std::uint32_t one = bit(layer);
        if ((brought & one) == 0) {
            brought |= one;
            arrives += cycle_.transfer_ns[at(layer)];
            now = std::max(now, arrives);
        } else if (place.down == layer) {
            now = std::max(now, times.down);
        }
        const std::int64_t leave = size_[place.resident | one] + cycle_.working_bytes[at(k)] -
                                   cycle_.memory_bytes -
                                   size_[place.resident & place.hosted & forwarded & ~one];
        if (leave > 0) {
            const std::int64_t rest = std::max<std::int64_t>(leave - up_bytes, 0);
            now = std::max(now, times.up + (rest > 0 ? transfer_ns(rest) : 0));
        }
        if (cycle_.backward[at(k)] != 0) {
            if (place.up == layer) now = std::max(now, times.up);
            forwarded &= ~one;
        } else {
            forwarded |= one;
        }
        now += cycle_.duration_ns[at(k)];
    }
    return now;
}

}  // namespace jettison
