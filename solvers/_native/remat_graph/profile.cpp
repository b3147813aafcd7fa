#include "remat_graph/profile.hpp"

#include <algorithm>

#include "core/vector_unit.hpp"

namespace jettison {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

std::ptrdiff_t offset(std::size_t place) { return static_cast<std::ptrdiff_t>(place); }

// The excess over the limit, rounded up to a multiple of the unit, in units.
JETTISON_INLINE std::int64_t units_above(std::int64_t bytes, std::int64_t limit, int unit_bits) {
    const std::int64_t above = bytes > limit ? bytes - limit : 0;
    const auto rounded_up = static_cast<std::uint64_t>(above) + (std::uint64_t{1} << unit_bits) - 1;
    return static_cast<std::int64_t>(rounded_up >> unit_bits);
}

struct Raised {
    std::int64_t most;    // The largest amount before.
    std::int64_t excess;  // What the sum of the amounts above the limit grows by, in units.
};

namespace rows {

// Adds `bytes` to each.
JETTISON_INLINE Raised raise(std::int64_t* used, std::size_t count, std::int64_t bytes,
                             std::int64_t limit, int unit_bits) {
    Raised raised{used[0], 0};
    for (std::size_t k = 0; k < count; ++k) {
        const std::int64_t before = used[k];
        used[k] += bytes;
        raised.most = before > raised.most ? before : raised.most;
        raised.excess +=
            units_above(used[k], limit, unit_bits) - units_above(before, limit, unit_bits);
    }
    return raised;
}

JETTISON_INLINE void add(std::int64_t* amounts, std::size_t count, std::int64_t bytes) {
    for (std::size_t k = 0; k < count; ++k) amounts[k] += bytes;
}

JETTISON_INLINE std::int64_t largest(const std::int64_t* used, std::size_t count) {
    std::int64_t most = used[0];
    for (std::size_t k = 0; k < count; ++k) most = used[k] > most ? used[k] : most;
    return most;
}

// By how much the sum of excesses falls if each amount is lowered by a number of bytes.
JETTISON_INLINE std::int64_t sum_relieved(const std::int64_t* used, std::size_t count,
                                          std::int64_t bytes, std::int64_t limit, int unit_bits) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < count; ++k) {
        sum += units_above(used[k], limit, unit_bits) -
               units_above(used[k] - bytes, limit, unit_bits);
    }
    return sum;
}

// The index of the first amount above the limit; `count` if there is none.
JETTISON_INLINE std::size_t first_above(const std::int64_t* used, std::size_t count,
                                        std::int64_t limit) {
    constexpr std::size_t step = 16;
    std::size_t k = 0;
    for (; k + step <= count; k += step) {
        std::int64_t most = used[k];
        for (std::size_t j = k; j < k + step; ++j) most = used[j] > most ? used[j] : most;
        if (most > limit) break;
    }
    while (k < count && used[k] <= limit) ++k;
    return k;
}

}  // namespace rows

constexpr auto raise = vectorized<rows::raise>;
constexpr auto add = vectorized<rows::add>;
constexpr auto largest = vectorized<rows::largest>;
constexpr auto sum_relieved = vectorized<rows::sum_relieved>;
constexpr auto first_above = vectorized<rows::first_above>;

}  // namespace

RematProfile::RematProfile(const std::vector<std::int64_t>& used_bytes, std::int64_t limit_bytes,
                           int unit_bits)
    : limit_bytes_(limit_bytes),
      unit_bits_(unit_bits),
      computations_(used_bytes.size()),
      blocks_(used_bytes.size()),
      is_crowded_((used_bytes.size() + 63) / 64, 0),
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
        for (const std::int64_t used_bytes : blocks_[stage].used_bytes) {
            excess_ += excess_of(used_bytes + noted_bytes_[stage]);
        }
    }
}

std::int64_t RematProfile::excess_of(std::int64_t bytes) const {
    return units_above(bytes, limit_bytes_, unit_bits_);
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
    std::size_t stage = at(stage_of(from));
    std::size_t place = place_of(from);
    while (true) {
        if (peak_bytes_[stage] > limit_bytes_) {
            const Block& block = blocks_[stage];
            place += first_above(block.used_bytes.data() + place, block.nodes.size() - place,
                                 limit_bytes_ - noted_bytes_[stage]);
            if (place < block.nodes.size()) {
                return moment(static_cast<std::int32_t>(stage), block.nodes[place]);
            }
        }
        ++stage;
        stage += first_above(peak_bytes_.data() + stage, blocks_.size() - stage, limit_bytes_);
        if (stage == blocks_.size()) stage = 0;
        place = 0;
    }
}

std::int64_t RematProfile::relief(Moment from, Moment to, std::int64_t bytes) const {
    if (from >= to || excess_ == 0) return 0;
    const std::size_t first = at(stage_of(from));
    const std::size_t last = at(stage_of(to));
    if (first == last) return relief_of_stage(first, place_of(from), place_of(to), bytes);
    std::int64_t sum =
        relief_of_stage(first, place_of(from), blocks_[first].nodes.size(), bytes) +
        relief_of_stage(last, 0, place_of(to), bytes) +
        sum_relieved(peak_bytes_.data() + first + 1, last - first - 1, bytes, limit_bytes_,
                     unit_bits_);
    visit_crowded(first + 1, last, [&](std::size_t stage) {
        const std::int64_t peak = peak_bytes_[stage];
        if (peak <= limit_bytes_) return;
        sum += relief_of_stage(stage, 0, blocks_[stage].nodes.size(), bytes) - excess_of(peak) +
               excess_of(peak - bytes);
    });
    return sum;
}

std::int64_t RematProfile::relief_of_stage(std::size_t stage, std::size_t from, std::size_t to,
                                           std::int64_t bytes) const {
    if (peak_bytes_[stage] <= limit_bytes_) return 0;
    return sum_relieved(blocks_[stage].used_bytes.data() + from, to - from, bytes,
                        limit_bytes_ - noted_bytes_[stage], unit_bits_);
}

template <typename Visit>
void RematProfile::visit_crowded(std::size_t from, std::size_t to, Visit visit) const {
    if (from >= to) return;
    for (std::size_t word = from / 64; word <= (to - 1) / 64; ++word) {
        std::uint64_t crowded = is_crowded_[word];
        if (word == from / 64) crowded &= ~std::uint64_t{0} << (from % 64);
        if (word == (to - 1) / 64) crowded &= ~std::uint64_t{0} >> (63 - (to - 1) % 64);
        for (; crowded != 0; crowded &= crowded - 1) {
            visit(64 * word + static_cast<std::size_t>(__builtin_ctzll(crowded)));
        }
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
    is_crowded_[stage / 64] |= std::uint64_t{1} << (stage % 64);
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
    if (block.nodes.size() == 1) is_crowded_[stage / 64] &= ~(std::uint64_t{1} << (stage % 64));
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
    const Raised raised = raise(blocks_[stage].used_bytes.data() + from, to - from, bytes,
                                limit_bytes_ - noted_bytes_[stage], unit_bits_);
    excess_ += raised.excess;
    const std::int64_t most = raised.most + noted_bytes_[stage];
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
    const Raised raised =
        raise(peak_bytes_.data() + from, to - from, bytes, limit_bytes_, unit_bits_);
    add(noted_bytes_.data() + from, to - from, bytes);
    if (raised.most + std::max<std::int64_t>(bytes, 0) <= limit_bytes_) return;
    excess_ += raised.excess;
    visit_crowded(from, to, [&](std::size_t stage) { change_others(stage, bytes); });
}

void RematProfile::change_others(std::size_t stage, std::int64_t bytes) {
    const std::int64_t peak = peak_bytes_[stage];
    if (std::max(peak, peak - bytes) <= limit_bytes_) return;
    const Block& block = blocks_[stage];
    excess_ += sum_relieved(block.used_bytes.data(), block.nodes.size(), bytes,
                            limit_bytes_ - noted_bytes_[stage], unit_bits_) -
               excess_of(peak) + excess_of(peak - bytes);
}

}  // namespace jettison
