#include "weight_offload/walk_estimate.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace jettison {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

WalkEstimate::WalkEstimate(const OffloadCycle& cycle, std::int64_t period_ns)
    : cycle_(cycle), period_ns_(period_ns) {
    const std::uint32_t sets = bit(cycle_.layers);
    size_.resize(sets);
    for (std::uint32_t set = 1; set < sets; ++set) {
        std::int32_t low = 0;
        while ((set >> low & 1) == 0) ++low;
        size_[set] = size_[set & (set - 1)] + cycle_.weight_bytes[at(low)];
    }
    forward_.assign(at(cycle_.layers), 0);
    backward_.assign(at(cycle_.layers), 0);
    for (std::int32_t k = 0; k < cycle_.operations; ++k) {
        const std::int32_t layer = cycle_.layer[at(k)];
        if (layer == no_layer) continue;
        (cycle_.backward[at(k)] != 0 ? backward_ : forward_)[at(layer)] = k;
    }
    for (const std::int64_t bytes : cycle_.weight_bytes) {
        const Wide ticks = static_cast<Wide>(bytes) * 1000000000;
        if (ticks % cycle_.bytes_per_s != 0) is_exact_ = false;
    }
    least_tails_ = tails({}, 0);
}

std::int64_t WalkEstimate::transfer_ns(std::int64_t bytes) const {
    const Wide ticks = static_cast<Wide>(bytes) * 1000000000;
    return static_cast<std::int64_t>((ticks + cycle_.bytes_per_s - 1) / cycle_.bytes_per_s);
}

std::int32_t WalkEstimate::next_use(std::int32_t started, std::int32_t layer) const {
    std::int32_t next = cycle_.operations;
    for (const std::int32_t k : {forward_[at(layer)], backward_[at(layer)]}) {
        if (k >= started) next = std::min(next, k);
    }
    return next;
}

bool WalkEstimate::next_use_is_forward(std::int32_t started, std::int32_t layer) const {
    const std::int32_t all = cycle_.operations;
    return (forward_[at(layer)] - started + 2 * all) % all <
           (backward_[at(layer)] - started + 2 * all) % all;
}

Tails WalkEstimate::tails(const Beginning& end, std::uint32_t known) const {
    Tails tails(at(cycle_.operations + 1), 0);
    // Resident at the end or used since: in memory at an operation, or prefetched after it.
    std::uint32_t since = end.resident & known;
    if (end.down != idle_link) since &= ~bit(end.down);
    const std::uint32_t uploaded = end.hosted & known;
    std::int64_t now = 0;
    std::int64_t uploads_ns = 0;
    for (std::int32_t k = cycle_.operations - 1; k >= 0; --k) {
        const std::int32_t layer = cycle_.layer[at(k)];
        const std::uint32_t one = bit(layer);
        since |= one;
        const std::int64_t came =
            size_[since] + cycle_.working_bytes[at(k)] - cycle_.memory_bytes;
        if (came > 0) now = std::max(now, transfer_ns(came));
        if (cycle_.backward[at(k)] != 0 && (uploaded & one) != 0) {
            uploads_ns += cycle_.transfer_ns[at(layer)];
            now = std::max(now, uploads_ns);
        }
        now += cycle_.duration_ns[at(k)];
        tails[at(k)] = now;
    }
    return tails;
}

std::int64_t WalkEstimate::end_ns(const Place& place, const Times& times, const Tails& tails,
                                  std::uint32_t known) const {
    // Downloads of absent weights that are first used after an operation start by this time.
    std::array<std::int64_t, most_cycle_operations + 1> needed_ns{};
    const std::uint32_t absent = known & ~place.resident;
    std::int64_t waste_ns = 0;
    for (std::int32_t layer = 0; layer < cycle_.layers; ++layer) {
        if ((absent & bit(layer)) == 0) continue;
        needed_ns[at(next_use(place.started, layer))] += cycle_.transfer_ns[at(layer)];
        if (!is_exact_) ++waste_ns;
    }
    std::array<std::int64_t, most_cycle_operations + 1> latest_ns;
    std::int64_t latest = never;
    for (std::int32_t k = cycle_.operations - 1; k >= place.started; --k) {
        latest_ns[at(k)] = latest;
        if (needed_ns[at(k)] > 0) {
            latest = std::min(latest, period_ns_ - tails[at(k)]) - needed_ns[at(k)];
        }
    }
    std::int64_t end = times.operation;
    std::int64_t now = times.operation;
    std::int64_t arrives = times.down;
    // In memory now or used since: still there, or deleted.
    std::uint32_t since = place.resident & known;
    std::uint32_t hosted = place.hosted | ~known;
    // Used since, last by a forward.
    std::uint32_t forwarded = 0;
    if (place.running && cycle_.backward[at(place.started - 1)] == 0) {
        forwarded |= bit(cycle_.layer[at(place.started - 1)]);
    }
    std::int64_t up_bytes = 0;
    if (place.up != idle_link) {
        up_bytes = cycle_.weight_bytes[at(place.up)];
    } else if (known != all()) {
        for (std::int32_t layer = 0; layer < cycle_.layers; ++layer) {
            if ((known & bit(layer)) == 0) {
                up_bytes = std::max(up_bytes, cycle_.weight_bytes[at(layer)]);
            }
        }
    }
    for (std::int32_t k = place.started; k < cycle_.operations; ++k) {
        const std::int32_t layer = cycle_.layer[at(k)];
        const std::uint32_t one = bit(layer);
        if (needed_ns[at(k)] > 0) {
            arrives += needed_ns[at(k)];
            now = std::max(now, arrives);
        } else if (layer != no_layer && place.down == layer) {
            now = std::max(now, times.down);
        }
        since |= one;
        const std::int64_t leave = size_[since] + cycle_.working_bytes[at(k)] -
                                   cycle_.memory_bytes - size_[since & hosted & forwarded & ~one];
        if (leave > 0) {
            const std::int64_t rest = std::max<std::int64_t>(leave - up_bytes, 0);
            const std::int64_t left = times.up + (rest > 0 ? transfer_ns(rest) : 0);
            // What arrives from then on takes the memory that is freed at the same rate.
            if (rest > 0 && left > latest_ns[at(k)] + waste_ns) return period_ns_ + 1;
            now = std::max(now, left);
        }
        if (cycle_.backward[at(k)] != 0) {
            if (place.up != idle_link && place.up == layer) now = std::max(now, times.up);
            forwarded &= ~one;
            hosted &= ~one;
        } else {
            forwarded |= one;
        }
        end = std::max(end, now + tails[at(k)]);
        now += cycle_.duration_ns[at(k)];
    }
    return std::max(end, now);
}

std::uint32_t WalkEstimate::kept_until_backward() const {
    std::uint32_t kept = 0;
    for (std::int32_t layer = 0; layer < cycle_.layers; ++layer) {
        if (!next_use_is_forward(0, layer) && back_at_backward_ns(layer) > period_ns_) {
            kept |= bit(layer);
        }
    }
    return kept;
}

}  // namespace jettison
