#include "pruned_grid.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "persistent_table.hpp"
#include "relax_rows.hpp"
#include "rounded_chain.hpp"

namespace jettison {
namespace {

// Finer grids would not fit the types of the rows.
constexpr std::int64_t most_slots = std::int64_t{1} << 28;

std::int32_t capped(std::int64_t time) {
    return static_cast<std::int32_t>(std::min<std::int64_t>(time, row_infinity));
}

}  // namespace

PrunedGrid::PrunedGrid(const Recurrence& recurrence, std::int32_t slots, std::int64_t unit_ns,
                       std::int64_t most_bytes)
    : recurrence_(recurrence),
      slots_{recurrence.available_bytes(), slots},
      unit_ns_(unit_ns),
      most_bytes_(most_bytes),
      forward_(1, 0),
      own_(1, 0),
      cells_(recurrence.cells()),
      choices_(index(recurrence.stages()) + 1) {
    for (std::int32_t s = 1; s <= recurrence.stages(); ++s) {
        const std::int64_t forward = recurrence.chain().forward_ns[index(s - 1)] / unit_ns;
        const std::int64_t backward = recurrence.chain().backward_ns[index(s - 1)] / unit_ns;
        forward_.push_back(forward_.back() + forward);
        own_.push_back(own_.back() + forward + backward);
    }
}

void PrunedGrid::bound_all(const Poll& poll) {
    const auto slots = static_cast<std::int32_t>(slots_.count);
    const std::int64_t table_bytes =
        static_cast<std::int64_t>(cells_.size()) * (slots + 1) * std::int64_t{sizeof(std::int32_t)};
    // The table and the rows that are copied from it, and later inside and outside bounds.
    check_memory(2 * table_bytes);
    const SlottedChain chain = rounded_chain(recurrence_.chain(), slots_, unit_ns_);
    PersistentTable<std::int32_t> table(chain, slots);
    table.fill(poll);
    for (std::int32_t t = 1; t <= recurrence_.stages(); ++t) {
        for (std::int32_t s = 1; s <= t; ++s) {
            SubChain& part = sub_chain(s, t);
            part.first = static_cast<std::int32_t>(slots_.rounded_up(recurrence_.least(s, t)));
            part.last = slots;
        }
    }
    lay_out();
    for (std::int32_t t = 1; t <= recurrence_.stages(); ++t) {
        for (std::int32_t s = 1; s <= t; ++s) {
            const SubChain& part = sub_chain(s, t);
            if (part.first > part.last) continue;
            std::int32_t* out = row(inside_, part, part.first);
            for (std::int64_t slot = part.first; slot <= part.last; ++slot) {
                *out++ = capped(table.time(s, t, slot));
            }
        }
        poll();
    }
    const std::int64_t stages = recurrence_.stages();
    operations_ += stages * stages * stages / 6 * slots;
}

void PrunedGrid::refine(const Poll& poll) {
    assert(can_refine() && pruned_);
    slots_.count *= 2;
    for (SubChain& part : cells_) {
        part.first = std::max(2 * part.first - 1, 0);
        part.last *= 2;
    }
    for (auto& choices : choices_) {
        for (Choice& choice : choices) {
            choice.first = std::max(2 * choice.first - 1, 0);
            choice.last *= 2;
        }
    }
    std::vector<std::int32_t>().swap(outside_);
    lay_out();
    for (std::int32_t t = 1; t <= recurrence_.stages(); ++t) {
        for (std::int32_t s = t; s >= 1; --s) bound(s, t);
        poll();
    }
}

bool PrunedGrid::can_refine() const {
    std::int64_t values = 0;
    for (const SubChain& part : cells_) {
        values += 2 * std::max(part.last - part.first + 1, 0);
    }
    const std::int64_t row_bytes = 2 * values * std::int64_t{sizeof(std::int32_t)};
    return 2 * slots_.count <= most_slots &&
           row_bytes + choice_bytes_ + static_cast<std::int64_t>(cells_.size() * sizeof(SubChain)) <=
               most_bytes_;
}

// The inside bounds of s..t from those of its parts.
void PrunedGrid::bound(std::int32_t s, std::int32_t t) {
    const SubChain& part = sub_chain(s, t);
    if (part.first > part.last) return;
    std::int32_t* out = row(inside_, part, 0);
    if (s == t) {
        const std::int64_t from = std::max<std::int64_t>(
            part.first, slots_.rounded_up(recurrence_.need_all(s, s)));
        for (std::int64_t slot = from; slot <= part.last; ++slot) out[slot] = own_units(s, s);
    } else {
        for_each_choice(s, t, [&](const Choice& choice) {
            const Parts open = parts(s, t, choice);
            if (open.from > open.to) return;
            const auto count = index(open.to - open.from + 1);
            operations_ += open.to - open.from + 1;
            const std::int32_t* right = row(inside_, *open.right, open.from - open.width);
            if (open.left == nullptr) {
                relax_row(out + open.from, right, open.time, count);
            } else {
                relax_row(out + open.from, right, row(inside_, *open.left, open.from), open.time,
                          count);
            }
        });
        for (std::int64_t slot = std::max<std::int64_t>(part.first, first_plenty(s, t));
             slot <= part.last; ++slot) {
            out[slot] = own_units(s, t);
        }
    }
    for (std::int64_t slot = part.first + 1; slot <= part.last; ++slot) {
        out[slot] = std::min(out[slot], out[slot - 1]);
    }
}

void PrunedGrid::prune(std::int64_t best_ns, const Poll& poll) {
    const std::int32_t stages = recurrence_.stages();
    // A time below the best one is below this many units when its parts are rounded down.
    const auto limit = static_cast<std::int32_t>(
        std::min<std::int64_t>((best_ns - 1) / unit_ns_ + 1, largest_finite));
    check_memory(static_cast<std::int64_t>(inside_.size() * sizeof(std::int32_t)));
    outside_.assign(inside_.size(), row_infinity);
    SubChain& root = sub_chain(1, stages);
    if (root.first <= root.last) *row(outside_, root, root.last) = 0;
    std::vector<Choice> open;
    open_work_ = 0;
    for (std::int32_t t = stages; t >= 1; --t) {
        std::vector<Choice> kept;
        for (std::int32_t s = 1; s <= t; ++s) {
            SubChain& part = sub_chain(s, t);
            open.clear();
            if (narrow(part, limit) && s < t) {
                if (pruned_) {
                    for_each_choice(s, t, [&](const Choice& choice) { open.push_back(choice); });
                } else {
                    for (std::int32_t k = s; k <= t; ++k) open.push_back({k, part.first, part.last});
                }
            }
            part.choices = kept.size();
            for (const Choice& choice : open) prune_choice(s, t, choice, limit, kept);
            part.choice_count = kept.size() - part.choices;
        }
        kept.shrink_to_fit();
        choice_bytes_ += static_cast<std::int64_t>((kept.size() - choices_[index(t)].size()) *
                                                   sizeof(Choice));
        choices_[index(t)] = std::move(kept);
        check_memory(0);
        poll();
    }
    pruned_ = true;
}

// Drops slots from both ends by rule (1); returns whether any is left.
bool PrunedGrid::narrow(SubChain& part, std::int32_t limit) {
    if (part.first > part.last) return false;
    const std::int32_t* inside = row(inside_, part, 0);
    std::int32_t* outside = row(outside_, part, 0);
    std::int32_t first = part.last + 1;
    std::int32_t last = part.first - 1;
    for (std::int32_t slot = part.first; slot <= part.last; ++slot) {
        if (inside[slot] + outside[slot] < limit) {
            first = std::min(first, slot);
            last = slot;
        } else {
            outside[slot] = row_infinity;
        }
    }
    if (first > last) {
        part.first = 1;
        part.last = 0;
        return false;
    }
    part.values += index(first - part.first);
    part.first = first;
    part.last = last;
    return true;
}

void PrunedGrid::prune_choice(std::int32_t s, std::int32_t t, const Choice& choice,
                              std::int32_t limit, std::vector<Choice>& kept) {
    const SubChain& part = sub_chain(s, t);
    const Parts open = parts(s, t, choice);
    std::int64_t from = open.from;
    std::int64_t to = std::min(open.to, first_plenty(s, t) - 1);
    if (from > to) return;
    operations_ += to - from + 1;
    const std::int32_t* outside = row(outside_, part, 0);
    const std::int32_t* right = row(inside_, *open.right, -open.width);
    const std::int32_t* left = open.left == nullptr ? nullptr : row(inside_, *open.left, 0);
    const auto total = [&](std::int64_t slot) {
        return outside[slot] + right[slot] + (left == nullptr ? 0 : left[slot]);
    };
    const std::int32_t least =
        left == nullptr
            ? least_sum(outside + from, right + from, index(to - from + 1))
            : least_sum(outside + from, right + from, left + from, index(to - from + 1));
    if (least >= limit - open.time) return;
    while (total(from) >= limit - open.time) ++from;
    while (total(to) >= limit - open.time) --to;
    kept.push_back({choice.choice, static_cast<std::int32_t>(from), static_cast<std::int32_t>(to)});
    open_work_ += to - from + 1;

    // What is handed on from slots in between that are dropped reaches the limit as well where it
    // arrives, so that they need not be told apart.
    const auto hand_on = [&](std::int32_t* out, const std::int32_t* sibling, std::int64_t first,
                             std::int64_t last) {
        if (first > last) return;
        const auto count = index(last - first + 1);
        if (sibling == nullptr) {
            relax_row(out + first, outside + first, open.time, count);
        } else {
            relax_row(out + first, outside + first, sibling + first, open.time, count);
        }
    };
    const std::int64_t width = open.width;
    hand_on(row(outside_, *open.right, -width), left, from, to);
    hand_on(row(outside_, *open.right, -width - 1), left,
            std::max(from, open.right->first + width + 1), to);
    if (left != nullptr) hand_on(row(outside_, *open.left, 0), right, from, to);
}

PrunedGrid::Parts PrunedGrid::parts(std::int32_t s, std::int32_t t, const Choice& choice) const {
    const SubChain& part = sub_chain(s, t);
    Parts found;
    std::int64_t time;
    found.from = std::max(part.first, choice.first);
    found.to = std::min(part.last, choice.last);
    if (choice.choice == s) {
        found.right = &sub_chain(s + 1, t);
        found.width = slots_.rounded_down(recurrence_.saved(s));
        found.from = std::max(found.from, slots_.rounded_up(recurrence_.need_all(s, t)));
        time = own_[index(s)] - own_[index(s - 1)];
    } else {
        found.right = &sub_chain(choice.choice, t);
        found.left = &sub_chain(s, choice.choice - 1);
        found.width = slots_.rounded_down(recurrence_.input(choice.choice));
        found.from = std::max({found.from, slots_.rounded_up(recurrence_.need_none(s, t)),
                               std::int64_t{found.left->first}});
        found.to = std::min(found.to, std::int64_t{found.left->last});
        time = forward_[index(choice.choice - 1)] - forward_[index(s - 1)];
    }
    found.time = static_cast<std::int32_t>(std::min<std::int64_t>(time, largest_finite));
    if (found.right->first > found.right->last) {
        found.to = found.from - 1;
    } else {
        found.from = std::max(found.from, found.right->first + found.width);
        found.to = std::min(found.to, found.right->last + found.width);
    }
    return found;
}

std::int64_t PrunedGrid::inside_ns(std::int32_t s, std::int32_t t, std::int64_t memory_bytes,
                                   std::int64_t handicap) const {
    const SubChain& part = sub_chain(s, t);
    const std::int64_t slot = slots_.rounded_up(memory_bytes);
    if (part.first > part.last || slot < part.first) return infinite_ns;
    const std::int32_t* inside = inside_.data() + part.values;
    const std::int64_t last = std::min<std::int64_t>(slot, part.last) - part.first;
    std::int64_t at = std::clamp<std::int64_t>(slot - handicap - part.first, 0, last);
    while (at < last && inside[at] >= row_infinity) ++at;
    return inside[at] < row_infinity ? inside[at] * unit_ns_ : infinite_ns;
}

std::int64_t PrunedGrid::outside_ns(std::int32_t s, std::int32_t t, std::int64_t from_bytes,
                                    std::int64_t to_bytes) const {
    const SubChain& part = sub_chain(s, t);
    const auto from = std::max<std::int64_t>(slots_.rounded_up(from_bytes), part.first);
    const auto to = std::min<std::int64_t>(slots_.rounded_up(to_bytes), part.last);
    std::int32_t least = row_infinity;
    for (std::int64_t slot = from; slot <= to; ++slot) {
        least = std::min(least, outside_[part.values + index(slot - part.first)]);
    }
    return least < row_infinity ? least * unit_ns_ : infinite_ns;
}

std::int64_t PrunedGrid::first_byte(std::int32_t s, std::int32_t t) const {
    return slots_.first_byte(sub_chain(s, t).first);
}

std::int64_t PrunedGrid::last_byte(std::int32_t s, std::int32_t t) const {
    return slots_.last_byte(sub_chain(s, t).last);
}

std::int64_t PrunedGrid::bytes() const {
    return static_cast<std::int64_t>((inside_.size() + outside_.size()) * sizeof(std::int32_t) +
                                     cells_.size() * sizeof(SubChain)) +
           choice_bytes_;
}

std::int32_t PrunedGrid::own_units(std::int32_t s, std::int32_t t) const {
    return capped(own_[index(t)] - own_[index(s - 1)]);
}

// The first slot whose every size is plenty for s..t.
std::int64_t PrunedGrid::first_plenty(std::int32_t s, std::int32_t t) const {
    const std::int64_t plenty = recurrence_.plenty(s, t);
    return plenty == 0 ? 0 : slots_.rounded_up(plenty) + 1;
}

// Places the rows one after the other and fills them with infinity.
void PrunedGrid::lay_out() {
    std::size_t end = 0;
    for (SubChain& part : cells_) {
        part.values = end;
        if (part.first <= part.last) end += index(part.last - part.first + 1);
    }
    states_ += static_cast<std::int64_t>(end);
    std::vector<std::int32_t>().swap(inside_);
    check_memory(static_cast<std::int64_t>(end * sizeof(std::int32_t)));
    inside_.assign(end, row_infinity);
}

void PrunedGrid::check_memory(std::int64_t more_bytes) const {
    if (bytes() + more_bytes > most_bytes_) throw std::bad_alloc();
}

}  // namespace jettison
