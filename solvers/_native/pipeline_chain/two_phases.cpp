#include "pipeline_chain/two_phases.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "core/vector_unit.hpp"

namespace jettison {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

JETTISON_INLINE void relax_one(std::int64_t* out, const std::int64_t* one, std::int64_t time,
                               std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::min(out[i], one[i] + time);
}

JETTISON_INLINE void relax_two(std::int64_t* out, const std::int64_t* one,
                               const std::int64_t* other, std::int64_t time, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::min(out[i], one[i] + other[i] + time);
}

// Improves out[m] by time + one[m - taken] (+ other[m]) for m from `need` to `most`.
void relax(std::int64_t* out, const std::int64_t* one, std::int32_t taken,
           const std::int64_t* other, std::int64_t time, std::int32_t need, std::int32_t most) {
    const std::int32_t from = std::max(need, taken);
    if (from > most) return;
    const std::size_t count = index(most - from + 1);
    if (other == nullptr) {
        vectorized<relax_one>(out + from, one + (from - taken), time, count);
    } else {
        vectorized<relax_two>(out + from, one + (from - taken), other + from, time, count);
    }
}

}  // namespace

PhaseTable::PhaseTable(PhasedChain chain) : chain_(std::move(chain)) {
    const std::int32_t n = chain_.stages;
    const auto devices = static_cast<std::int32_t>(chain_.in_flight.size());
    for (const std::int32_t room : chain_.room) slots_ = std::max(slots_, room);
    reach_.assign(index(n), 0);
    std::int32_t reach = -1;
    for (std::int32_t s = 0; s < n; ++s) {
        for (std::int32_t device = 0; device < devices; ++device) {
            for (std::int32_t t = n - 1; t >= std::max(s, reach + 1); --t) {
                if (chain_.room[place(device, s, t)] >= 0) reach = t;
            }
        }
        reach_[index(s)] = std::max(reach, s);
    }
    forward_sum_ns_.assign(index(n) + 1, 0);
    for (std::int32_t s = 0; s < n; ++s) {
        forward_sum_ns_[index(s) + 1] = forward_sum_ns_[index(s)] + chain_.forward_ns[index(s)];
    }
    std::size_t rows = 0;
    for (std::int32_t s = 0; s < n; ++s) {
        row_of_.push_back(rows);
        rows += index(reach_[index(s)] - s + 1);
    }
    row_of_.push_back(rows);
    times_ns_.assign(chain_.room.size(), none_ns);
    kept_.assign(chain_.room.size(), 0);
}

std::int64_t PhaseTable::table_entries() const {
    return static_cast<std::int64_t>(row_of_.back()) * (slots_ + 1);
}

std::size_t PhaseTable::span(std::int32_t first, std::int32_t last) const {
    return index(first) * index(chain_.stages) + index(last);
}

std::size_t PhaseTable::place(std::int32_t device, std::int32_t first, std::int32_t last) const {
    return index(device) * index(chain_.stages) * index(chain_.stages) + span(first, last);
}

const std::int64_t* PhaseTable::again(std::int32_t first, std::int32_t last) const {
    return again_.data() + (row_of_[index(first)] + index(last - first)) * index(slots_ + 1);
}

// C(s, t, .) of rotor, for the parts of a chain that a device may have.
void PhaseTable::fill_again(const std::function<void()>& poll) {
    again_.assign(index(table_entries()), none_ns);
    for (std::int32_t t = 0; t < chain_.stages; ++t) {
        for (std::int32_t s = t; s >= 0 && reach_[index(s)] >= t; --s) {
            poll();
            std::int64_t* out = again_.data() + (again(s, t) - again_.data());
            const std::int64_t own_ns = chain_.forward_ns[index(s)] + chain_.backward_ns[index(s)];
            const std::int32_t all = chain_.forward_all_need[span(s, t)];
            if (s == t) {
                for (std::int32_t m = all; m <= slots_; ++m) out[m] = own_ns;
                continue;
            }
            relax(out, again(s + 1, t), chain_.saved_slots[index(s)], nullptr, own_ns, all, slots_);
            const std::int32_t none = chain_.forward_none_need[span(s, t)];
            for (std::int32_t q = s + 1; q <= t; ++q) {
                const std::int64_t pass_ns = forward_sum_ns_[index(q)] - forward_sum_ns_[index(s)];
                relax(out, again(q, t), chain_.input_slots[index(q)], again(s, q - 1), pass_ns,
                      none, slots_);
            }
        }
    }
}

void PhaseTable::fill_rows(std::int32_t first, std::int32_t last, std::int32_t least_left,
                           std::int32_t most, std::vector<Row>& rows) const {
    // Beyond the last stage: nothing is left to do, with at least so much memory left.
    rows[index(last - first + 1)].assign(index(most) + 1, none_ns);
    for (std::int32_t m = least_left; m <= most; ++m) rows[index(last - first + 1)][index(m)] = 0;
    for (std::int32_t i = last; i >= first; --i) {
        Row& row = rows[index(i - first)];
        row.assign(index(most) + 1, none_ns);
        const std::int64_t own_ns = chain_.forward_ns[index(i)] + chain_.backward_ns[index(i)];
        relax(row.data(), rows[index(i - first + 1)].data(), chain_.saved_slots[index(i)], nullptr,
              own_ns, chain_.saving_need[index(i)], most);
        for (std::int32_t j = i + 1; j <= last + 1; ++j) {
            const std::int64_t pass_ns = forward_sum_ns_[index(j)] - forward_sum_ns_[index(i)];
            const std::int32_t taken = j <= last ? chain_.input_slots[index(j)] : 0;
            relax(row.data(), rows[index(j - first)].data(), taken, again(i, j - 1), pass_ns,
                  chain_.passing_need[span(i, j - 1)], most);
        }
    }
}

void PhaseTable::fill(const std::function<void()>& poll) {
    fill_again(poll);
    const auto devices = static_cast<std::int32_t>(chain_.in_flight.size());
    std::vector<Row> rows;
    for (std::int32_t t = 0; t < chain_.stages; ++t) {
        // What is asked of the parts that end here, by the memory that must be left.
        std::vector<std::vector<Asked>> asked(index(slots_) + 1);
        for (std::int32_t s = t; s >= 0 && reach_[index(s)] >= t; --s) {
            for (std::int32_t device = 0; device < devices; ++device) {
                const std::size_t at = place(device, s, t);
                const std::int32_t room = chain_.room[at];
                const std::int32_t flying = chain_.in_flight[index(device)];
                if (room < 0) continue;
                // The more is kept, the less memory. Once nothing need be left, more kept is worse.
                for (std::int32_t kept = 0;; ++kept) {
                    const std::int32_t left = std::max(0, room - flying * kept);
                    const std::int32_t memory = room - (flying - 1) * kept;
                    if (memory < 0) break;
                    if (flying > 1 || left == 0) {
                        asked[index(left)].push_back({at, s, memory, kept});
                    } else {
                        kept = room - 1;  // with one in flight nothing need be left at once
                    }
                    if (left == 0) break;
                }
            }
        }
        for (std::int32_t left = 0; left <= slots_; ++left) {
            const auto& here = asked[index(left)];
            if (here.empty()) continue;
            poll();
            std::int32_t first = t, most = left;
            for (const Asked& item : here) {
                first = std::min(first, item.first);
                most = std::max(most, item.memory);
            }
            if (rows.size() < index(t - first) + 2) rows.resize(index(t - first) + 2);
            fill_rows(first, t, left, most, rows);
            for (const Asked& item : here) {
                const std::int64_t time_ns = rows[index(item.first - first)][index(item.memory)];
                if (time_ns >= times_ns_[item.at]) continue;
                times_ns_[item.at] = time_ns;
                kept_[item.at] = item.kept;
            }
        }
    }
}

void PhaseTable::emit_again(std::int32_t first, std::int32_t last, std::int32_t memory,
                            std::vector<Step>& steps) const {
    const std::int64_t own_ns = chain_.forward_ns[index(first)] + chain_.backward_ns[index(first)];
    const std::int64_t target_ns = again(first, last)[memory];
    assert(target_ns < none_ns);
    const std::int32_t saved = chain_.saved_slots[index(first)];
    const bool saves = first == last ||
                       (memory >= std::max(saved, chain_.forward_all_need[span(first, last)]) &&
                        own_ns + again(first + 1, last)[memory - saved] == target_ns);
    if (saves) {
        steps.push_back({Operation::forward_all, first + 1});
        if (first < last) emit_again(first + 1, last, memory - saved, steps);
        steps.push_back({Operation::backward, first + 1});
        return;
    }
    for (std::int32_t q = first + 1; q <= last; ++q) {
        const std::int32_t taken = chain_.input_slots[index(q)];
        const std::int64_t pass_ns = forward_sum_ns_[index(q)] - forward_sum_ns_[index(first)];
        if (memory < taken ||
            pass_ns + again(q, last)[memory - taken] + again(first, q - 1)[memory] != target_ns) {
            continue;
        }
        for (std::int32_t k = first; k < q; ++k) {
            const auto how = k == first ? Operation::forward_checkpoint : Operation::forward_none;
            steps.push_back({how, k + 1});
        }
        emit_again(q, last, memory - taken, steps);
        emit_again(first, q - 1, memory, steps);
        return;
    }
    throw std::logic_error("no choice attains the time of the table");
}

void PhaseTable::within(std::int32_t first, std::int32_t last, std::int32_t most,
                        std::int64_t* out) const {
    check(first, last, most);
    const std::size_t row = index(most) + 1;
    std::vector<Row> rows(index(last - first) + 2);
    for (std::int32_t left = 0; left <= most; ++left) {
        fill_rows(first, last, left, most, rows);
        for (std::int32_t i = first; i <= last; ++i) {
            const Row& own = rows[index(i - first)];
            std::copy(own.begin(), own.end(), out + (index(i - first) * row + index(left)) * row);
        }
    }
}

void PhaseTable::check(std::int32_t first, std::int32_t last, std::int32_t memory) const {
    if (first < 0 || last < first || last >= chain_.stages || reach_[index(first)] < last ||
        memory < 0 || memory > slots_) {
        throw std::invalid_argument("stages or memory beyond the table");
    }
}

TwoPhases PhaseTable::sequence(std::int32_t device, std::int32_t first, std::int32_t last) const {
    const std::size_t at = place(device, first, last);
    if (times_ns_[at] >= none_ns) throw std::invalid_argument("nothing fits");
    const std::int32_t flying = chain_.in_flight[index(device)];
    const std::int32_t left = std::max(0, chain_.room[at] - flying * kept_[at]);
    return sequence_within(first, last, left, chain_.room[at] - (flying - 1) * kept_[at]);
}

TwoPhases PhaseTable::sequence_within(std::int32_t first, std::int32_t last, std::int32_t left,
                                      std::int32_t memory) const {
    check(first, last, memory);
    if (left < 0 || left > memory) throw std::invalid_argument("more is left than there is");
    std::vector<Row> rows(index(last - first) + 2);
    fill_rows(first, last, left, memory, rows);
    if (rows[0][index(memory)] >= none_ns) throw std::invalid_argument("nothing fits");
    // The backward phase undoes the forward phase, the last piece first.
    struct Piece {
        std::int32_t first, following, memory;
        bool saves;
    };
    std::vector<Piece> pieces;
    for (std::int32_t i = first; i <= last;) {
        const std::int64_t target_ns = rows[index(i - first)][index(memory)];
        const std::int64_t own_ns = chain_.forward_ns[index(i)] + chain_.backward_ns[index(i)];
        const std::int32_t saved = chain_.saved_slots[index(i)];
        if (memory >= std::max(saved, chain_.saving_need[index(i)]) &&
            own_ns + rows[index(i - first + 1)][index(memory - saved)] == target_ns) {
            pieces.push_back({i, i + 1, memory, true});
            memory -= saved;
            ++i;
            continue;
        }
        std::int32_t following = 0, kept = 0;
        for (std::int32_t j = i + 1; j <= last + 1 && following == 0; ++j) {
            const std::int32_t taken = j <= last ? chain_.input_slots[index(j)] : 0;
            const std::int64_t pass_ns = forward_sum_ns_[index(j)] - forward_sum_ns_[index(i)];
            if (memory < std::max(taken, chain_.passing_need[span(i, j - 1)])) continue;
            const std::int64_t rest_ns = rows[index(j - first)][index(memory - taken)];
            if (pass_ns + again(i, j - 1)[memory] + rest_ns != target_ns) continue;
            following = j;
            kept = taken;
        }
        if (following == 0) throw std::logic_error("no piece attains the time of the table");
        pieces.push_back({i, following, memory, false});
        memory -= kept;
        i = following;
    }
    TwoPhases found;
    for (const Piece& piece : pieces) {
        for (std::int32_t k = piece.first; k < piece.following; ++k) {
            const auto how = piece.saves          ? Operation::forward_all
                             : k == piece.first   ? Operation::forward_checkpoint
                                                  : Operation::forward_none;
            found.forward.push_back({how, k + 1});
        }
    }
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
        if (piece->saves) {
            found.backward.push_back({Operation::backward, piece->first + 1});
        } else {
            emit_again(piece->first, piece->following - 1, piece->memory, found.backward);
        }
    }
    return found;
}

}  // namespace jettison
