#include "remat_profile.hpp"

#include <algorithm>

#include "vector_clones.hpp"

namespace jettison {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

std::ptrdiff_t offset(std::size_t place) { return static_cast<std::ptrdiff_t>(place); }

// Adds `bytes` to each of both and returns the largest peak, before or after.
JETTISON_CLONES
std::int64_t raise(std::int64_t* noted, std::int64_t* peaks, std::size_t count,
                   std::int64_t bytes) {
    std::int64_t most = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const std::int64_t before = peaks[k];
        const std::int64_t after = before + bytes;
        const std::int64_t larger = after > before ? after : before;
        most = larger > most ? larger : most;
        peaks[k] = after;
        noted[k] += bytes;
    }
    return most;
}

// Adds `bytes` to each and returns the largest one before.
JETTISON_CLONES
std::int64_t raise(std::int64_t* used, std::size_t count, std::int64_t bytes) {
    std::int64_t most = used[0];
    for (std::size_t k = 0; k < count; ++k) {
        most = used[k] > most ? used[k] : most;
        used[k] += bytes;
    }
    return most;
}

JETTISON_CLONES
std::int64_t largest(const std::int64_t* used, std::size_t count) {
    std::int64_t most = used[0];
    for (std::size_t k = 0; k < count; ++k) most = used[k] > most ? used[k] : most;
    return most;
}

JETTISON_CLONES
std::int64_t sum_above(const std::int64_t* used, std::size_t count, std::int64_t limit) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const std::int64_t above = used[k] - limit;
        sum += above > 0 ? above : 0;
    }
    return sum;
}

}  // namespace

RematProfile::RematProfile(const std::vector<std::int64_t>& used_bytes, std::int64_t limit_bytes,
                           int unit_bits)
    : limit_bytes_(limit_bytes),
      unit_bits_(unit_bits),
      computations_(used_bytes.size()),
      blocks_(used_bytes.size()),
      noted_bytes_(used_bytes.size(), 0),
      peak_bytes_(used_bytes) {
    for (std::size_t stage = 0; stage < used_bytes.size(); ++stage) {
        blocks_[stage].nodes.push_back(static_cast<std::int32_t>(stage));
        blocks_[stage].used_bytes.push_back(used_bytes[stage]);
        excess_ += excess_of(used_bytes[stage]);
    }
}

void RematProfile::set_limit_bytes(std::int64_t limit_bytes) {
    limit_bytes_ = limit_bytes;
    excess_ = 0;
    for (std::size_t stage = 0; stage < blocks_.size(); ++stage) {
        if (peak_bytes_[stage] <= limit_bytes_) continue;
        excess_ += excess_of_stage(stage, 0, blocks_[stage].nodes.size());
    }
}

std::int64_t RematProfile::excess_of(std::int64_t bytes) const {
    return bytes > limit_bytes_ ? ((bytes - limit_bytes_ - 1) >> unit_bits_) + 1 : 0;
}

std::int64_t RematProfile::excess_of_stage(std::size_t stage, std::size_t from,
                                           std::size_t to) const {
    const std::int64_t* used = blocks_[stage].used_bytes.data();
    if (unit_bits_ == 0) {
        return sum_above(used + from, to - from, limit_bytes_ - noted_bytes_[stage]);
    }
    std::int64_t sum = 0;
    for (std::size_t k = from; k < to; ++k) sum += excess_of(used[k] + noted_bytes_[stage]);
    return sum;
}

std::int64_t RematProfile::peak_bytes() const {
    return *std::max_element(peak_bytes_.begin(), peak_bytes_.end());
}

std::vector<std::int32_t> RematProfile::sequence() const {
    std::vector<std::int32_t> nodes;
    nodes.reserve(computations_);
    for (const Block& block : blocks_) {
        nodes.insert(nodes.end(), block.nodes.begin(), block.nodes.end());
    }
    return nodes;
}

std::size_t RematProfile::place_of(Moment when) const {
    const auto& nodes = blocks_[at(stage_of(when))].nodes;
    return static_cast<std::size_t>(std::lower_bound(nodes.begin(), nodes.end(), node_of(when)) -
                                    nodes.begin());
}

std::int32_t RematProfile::node_from(Moment when) const {
    return blocks_[at(stage_of(when))].nodes[place_of(when)];
}

std::int64_t RematProfile::used_bytes_from(Moment when) const {
    const std::size_t stage = at(stage_of(when));
    return blocks_[stage].used_bytes[place_of(when)] + noted_bytes_[stage];
}

Moment RematProfile::above_limit(Moment from) const {
    const std::size_t first = at(stage_of(from));
    std::size_t place = place_of(from);
    for (std::size_t stage = first;; stage = stage + 1 < blocks_.size() ? stage + 1 : 0) {
        if (peak_bytes_[stage] > limit_bytes_) {
            const Block& block = blocks_[stage];
            const std::int64_t limit = limit_bytes_ - noted_bytes_[stage];
            for (; place < block.nodes.size(); ++place) {
                if (block.used_bytes[place] > limit) {
                    return moment(static_cast<std::int32_t>(stage), block.nodes[place]);
                }
            }
        }
        place = 0;
    }
}

void RematProfile::insert(Moment when, std::int64_t used_bytes) {
    const std::size_t stage = at(stage_of(when));
    const std::size_t place = place_of(when);
    Block& block = blocks_[stage];
    block.nodes.insert(block.nodes.begin() + offset(place), node_of(when));
    block.used_bytes.insert(block.used_bytes.begin() + offset(place),
                            used_bytes - noted_bytes_[stage]);
    peak_bytes_[stage] = std::max(peak_bytes_[stage], used_bytes);
    excess_ += excess_of(used_bytes);
    ++computations_;
}

void RematProfile::erase(Moment when) {
    const std::size_t stage = at(stage_of(when));
    const std::size_t place = place_of(when);
    Block& block = blocks_[stage];
    const std::int64_t used_bytes = block.used_bytes[place] + noted_bytes_[stage];
    excess_ -= excess_of(used_bytes);
    block.nodes.erase(block.nodes.begin() + offset(place));
    block.used_bytes.erase(block.used_bytes.begin() + offset(place));
    if (used_bytes == peak_bytes_[stage]) find_peak(stage);
    --computations_;
}

void RematProfile::change(Moment from, Moment to, std::int64_t bytes) {
    if (from >= to) return;
    const std::size_t first = at(stage_of(from));
    const std::size_t last = at(stage_of(to));
    if (first == last) {
        change_part(first, place_of(from), place_of(to), bytes);
        return;
    }
    change_part(first, place_of(from), blocks_[first].nodes.size(), bytes);
    change_stages(first + 1, last, bytes);
    change_part(last, 0, place_of(to), bytes);
}

void RematProfile::change_part(std::size_t stage, std::size_t from, std::size_t to,
                               std::int64_t bytes) {
    if (from >= to) return;
    Block& block = blocks_[stage];
    const bool is_near = peak_bytes_[stage] + std::max<std::int64_t>(bytes, 0) > limit_bytes_;
    if (is_near) excess_ -= excess_of_stage(stage, from, to);
    const std::int64_t most =
        raise(block.used_bytes.data() + from, to - from, bytes) + noted_bytes_[stage];
    if (is_near) excess_ += excess_of_stage(stage, from, to);
    if (bytes >= 0) {
        peak_bytes_[stage] = std::max(peak_bytes_[stage], most + bytes);
    } else if (most == peak_bytes_[stage]) {
        find_peak(stage);
    }
}

void RematProfile::find_peak(std::size_t stage) {
    const Block& block = blocks_[stage];
    peak_bytes_[stage] =
        largest(block.used_bytes.data(), block.used_bytes.size()) + noted_bytes_[stage];
}

void RematProfile::change_stages(std::size_t from, std::size_t to, std::int64_t bytes) {
    if (from >= to) return;
    const std::int64_t most =
        raise(noted_bytes_.data() + from, peak_bytes_.data() + from, to - from, bytes);
    if (most <= limit_bytes_) return;
    for (std::size_t stage = from; stage < to; ++stage) {
        const std::int64_t peak = peak_bytes_[stage];
        if (std::max(peak, peak - bytes) <= limit_bytes_) continue;
        const std::size_t count = blocks_[stage].nodes.size();
        if (count == 1) {
            excess_ += excess_of(peak) - excess_of(peak - bytes);
            continue;
        }
        excess_ += excess_of_stage(stage, 0, count);
        noted_bytes_[stage] -= bytes;
        excess_ -= excess_of_stage(stage, 0, count);
        noted_bytes_[stage] += bytes;
    }
}

}  // namespace jettison
