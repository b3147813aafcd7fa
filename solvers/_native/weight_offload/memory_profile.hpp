// Memory in use over time while a schedule is being built: a step function of the time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace jettison {

class MemoryProfile {
public:
    // What is in use before anything happens, and the limit.
    MemoryProfile(std::int64_t used_bytes, std::int64_t limit_bytes)
        : limit_bytes_(limit_bytes), levels_{{earliest_time, used_bytes}} {}

    // Adds bytes from `time` on; negative where memory is freed.
    void add(std::int64_t time, std::int64_t bytes) {
        if (bytes == 0) return;
        std::size_t place = levels_.size();
        while (levels_[place - 1].from > time) levels_[--place].used_bytes += bytes;
        if (levels_[place - 1].from == time) {
            levels_[place - 1].used_bytes += bytes;
        } else {
            const std::int64_t before = levels_[place - 1].used_bytes;
            levels_.insert(levels_.begin() + static_cast<std::ptrdiff_t>(place),
                           {time, before + bytes});
        }
    }

    // The first time, `from` or later, at which `during` more bytes fit for `duration`, and then
    // `after` more, at most `during`, for ever; nothing if there is none.
    std::optional<std::int64_t> first_fit(std::int64_t from, std::int64_t duration,
                                          std::int64_t during, std::int64_t after) const {
        std::size_t place = levels_.size();
        while (place > 0 && levels_[place - 1].used_bytes + after <= limit_bytes_) {
            --place;
            if (levels_[place].from <= from) break;
        }
        if (place == levels_.size()) return std::nullopt;
        std::int64_t start = std::max(from, levels_[place].from);
        while (place > 0 && levels_[place].from > start) --place;
        for (; place < levels_.size() && levels_[place].from < start + duration; ++place) {
            if (levels_[place].used_bytes + during <= limit_bytes_) continue;
            if (place + 1 == levels_.size()) return std::nullopt;
            start = levels_[place + 1].from;
        }
        return start;
    }

private:
    struct Level {
        std::int64_t from;
        std::int64_t used_bytes;
    };

    static constexpr std::int64_t earliest_time = std::numeric_limits<std::int64_t>::min() / 2;
    std::int64_t limit_bytes_;
    std::vector<Level> levels_;
};

}  // namespace jettison
