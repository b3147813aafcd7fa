#include <algorithm>
#include <cstddef>
#include <limits>

#include "weight_offload/sweep.hpp"
#include "weight_offload/walk_estimate.hpp"

namespace jettison {
namespace {

constexpr std::int64_t polled_every = 4096;

class Beginnings {
public:
    Beginnings(const OffloadCycle& cycle, std::int64_t period_ns, std::size_t most,
               const std::function<bool()>& poll)
        : cycle_(cycle),
          period_ns_(period_ns),
          most_(most),
          poll_(poll),
          estimate_(cycle, period_ns),
          kept_(estimate_.kept_until_backward()) {
        // In a longer period they could leave.
        answer_.next_ns = std::numeric_limits<std::int64_t>::max();
        for (std::int32_t layer = 0; layer < cycle.layers; ++layer) {
            if ((kept_ & bit(layer)) == 0) continue;
            answer_.next_ns = std::min(answer_.next_ns, estimate_.back_at_backward_ns(layer));
        }
        // Large weights first: they decide most.
        for (std::int32_t layer = 0; layer < cycle.layers; ++layer) order_.push_back(layer);
        std::stable_sort(order_.begin(), order_.end(), [&](std::int32_t one, std::int32_t other) {
            return cycle.weight_bytes[at(one)] > cycle.weight_bytes[at(other)];
        });
    }

    BeginningsAnswer all() {
        const std::int32_t first = cycle_.layer[0];
        std::int64_t room = cycle_.memory_bytes - cycle_.working_bytes[0];
        if (first != no_layer) room -= cycle_.weight_bytes[at(first)];
        extend(0, 0, {}, room);
        answer_.complete = !is_stopped_ && answer_.found.size() <= most_;
        if (!answer_.complete) answer_.found.clear();
        return std::move(answer_);
    }

private:
    // The weights of the first operation are subtracted from the free memory beforehand.
    void extend(std::size_t number, std::uint32_t known, const Beginning& state,
                std::int64_t room) {
        if (room < 0 || is_stopped_ || answer_.found.size() > most_) return;
        if (++extended_ % polled_every == 0 && !poll_()) is_stopped_ = true;
        if (is_too_long(state, known)) return;
        if (number == order_.size()) {
            answer_.found.push_back(state);
            return;
        }
        const std::int32_t layer = order_[number];
        const std::uint32_t one = bit(layer);
        const std::int64_t bytes = cycle_.weight_bytes[at(layer)];
        const bool runs_next = cycle_.layer[0] == layer;
        const std::int64_t left = runs_next ? room : room - bytes;
        const auto next = [&](const Beginning& after, std::int64_t room_after) {
            extend(number + 1, known | one, after, room_after);
        };
        Beginning copied = state;
        copied.hosted |= one;
        if (!runs_next) next(copied, room);
        copied.resident |= one;
        if (copied.down == idle_link && !runs_next) {
            Beginning arriving = copied;
            arriving.down = layer;
            next(arriving, left);
        }
        Beginning stale = state;
        stale.resident |= one;
        next(stale, left);
        // Of these it does not matter whether the host has a copy.
        if ((kept_ & one) != 0) return;
        next(copied, left);
        if (estimate_.next_use_is_forward(0, layer)) {
            Beginning owing = copied;
            owing.owed |= one;
            next(owing, left);
        }
        if (state.up == idle_link && !(runs_next && cycle_.backward[0] != 0)) {
            stale.up = layer;
            next(stale, left);
        }
    }

    bool is_too_long(const Beginning& state, std::uint32_t known) {
        Place place;
        place.up = state.up;
        place.down = state.down;
        place.resident = state.resident;
        place.hosted = state.hosted;
        place.owed = state.owed;
        const Tails tails = estimate_.tails(state, known);
        const std::int64_t least_ns = estimate_.end_ns(place, {}, tails, known);
        if (least_ns <= period_ns_) return false;
        answer_.next_ns = std::min(answer_.next_ns, least_ns);
        return true;
    }

    const OffloadCycle& cycle_;
    std::int64_t period_ns_;
    std::size_t most_;
    const std::function<bool()>& poll_;
    WalkEstimate estimate_;
    std::uint32_t kept_;
    std::vector<std::int32_t> order_;
    std::int64_t extended_ = 0;
    bool is_stopped_ = false;
    BeginningsAnswer answer_;
};

}  // namespace

BeginningsAnswer cycle_beginnings(const OffloadCycle& cycle, std::int64_t period_ns,
                                  std::size_t most, const std::function<bool()>& poll) {
    return Beginnings(cycle, period_ns, most, poll).all();
}

}  // namespace jettison
