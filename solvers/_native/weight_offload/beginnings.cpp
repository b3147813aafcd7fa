#include <cstddef>

#include "weight_offload/sweep.hpp"

namespace jettison {
namespace {

class Beginnings {
public:
    Beginnings(const OffloadCycle& cycle, std::size_t most) : cycle_(cycle), most_(most) {
        room_ = cycle.memory_bytes - cycle.working_bytes[0];
        for (std::int32_t layer = 0; layer < cycle.layers; ++layer) {
            bool forward_next = false;
            for (std::int32_t k = 2 * cycle.layers - 1; k >= 0; --k) {
                const auto place = static_cast<std::size_t>(k);
                if (cycle.layer[place] == layer) forward_next = cycle.backward[place] == 0;
            }
            forward_next_.push_back(forward_next);
        }
    }

    std::vector<Beginning> all() {
        const std::int32_t first = cycle_.layer[0];
        extend(0, {}, room_ - cycle_.weight_bytes[static_cast<std::size_t>(first)]);
        if (found_.size() > most_) found_.clear();
        return std::move(found_);
    }

private:
    // The weights of the first operation are subtracted from the free memory beforehand.
    void extend(std::int32_t layer, Beginning state, std::int64_t room) {
        if (room < 0 || found_.size() > most_) return;
        if (layer == cycle_.layers) {
            found_.push_back(state);
            return;
        }
        const std::uint32_t bit = std::uint32_t{1} << layer;
        const std::int64_t bytes = cycle_.weight_bytes[static_cast<std::size_t>(layer)];
        const bool runs_next = cycle_.layer[0] == layer;
        if (!runs_next) room -= bytes;
        Beginning copied = state;
        copied.hosted |= bit;
        if (bytes > 0 && !runs_next) extend(layer + 1, copied, room + bytes);
        copied.resident |= bit;
        extend(layer + 1, copied, room);
        if (bytes == 0) return;
        if (forward_next_[static_cast<std::size_t>(layer)]) {
            Beginning owing = copied;
            owing.owed |= bit;
            extend(layer + 1, owing, room);
        }
        if (copied.down == idle_link && !runs_next) {
            copied.down = layer;
            extend(layer + 1, copied, room);
        }
        state.resident |= bit;
        extend(layer + 1, state, room);
        if (state.up == idle_link && !(runs_next && cycle_.backward[0] != 0)) {
            state.up = layer;
            extend(layer + 1, state, room);
        }
    }

    const OffloadCycle& cycle_;
    std::size_t most_;
    std::int64_t room_;
    std::vector<bool> forward_next_;
    std::vector<Beginning> found_;
};

}  // namespace

std::vector<Beginning> cycle_beginnings(const OffloadCycle& cycle, std::size_t most) {
    return Beginnings(cycle, most).all();
}

}  // namespace jettison
