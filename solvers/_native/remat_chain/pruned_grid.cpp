#include "remat_chain/pruned_grid.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "remat_chain/grid/table.hpp"
#include "remat_chain/relax_rows.hpp"
#include "remat_chain/rounded_chain.hpp"

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
      times_(recurrence.chain().forward_ns, recurrence.chain().backward_ns, unit_ns),
      cells_(recurrence.cells()),
      choices_(index(recurrence.stages()) + 1) {}

void PrunedGrid::bound_all(const Poll& poll) {
    const auto slots = static_cast<std::int32_t>(slots_.count);
    // The rows, and later the outside bounds; at first the table from which rows are copied.
    check_memory(2 * static_cast<std::int64_t>(cells_.size()) * (slots + 1) *
                 std::int64_t{sizeof(std::int32_t)});
    recurrence_.for_each_sub_problem([&](const SubProblem& sub) {
        Cell& cell = cell_of(sub);
        cell.first = static_cast<std::int32_t>(slots_.rounded_up(recurrence_.least(sub)));
        cell.last = slots;
    });
    const SlottedChain chain = rounded_chain(recurrence_.chain(), slots_, unit_ns_);
    PersistentTable<std::int32_t> table(chain, slots);
    table.fill(poll);
    lay_out();
    for (std::int32_t t = 1; t <= recurrence_.stages(); ++t) {
        recurrence_.for_each_above(t, [&](const SubProblem& sub) {
            const Cell& cell = cell_of(sub);
            if (cell.first > cell.last) return;
            std::int32_t* out = row(inside_, cell, cell.first);
            for (std::int64_t slot = cell.first; slot <= cell.last; ++slot) {
                *out++ = capped(table.time(sub, slot));
            }
        });
        poll();
    }
    const std::int64_t stages = recurrence_.stages();
    const std::int64_t sums = recurrence_.chain().kinds == 1 ? 1 : 8;
    operations_ += sums * stages * stages * stages / 6 * slots;
}

void PrunedGrid::refine(const Poll& poll) {
    assert(can_refine() && pruned_);
    slots_.count *= 2;
    for (Cell& cell : cells_) {
        cell.first = std::max(2 * cell.first - 1, 0);
        cell.last *= 2;
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
        recurrence_.for_each_above(t, [&](const SubProblem& sub) { bound(sub); });
        poll();
    }
}

bool PrunedGrid::can_refine() const {
    std::int64_t values = 0;
    for (const Cell& cell : cells_) {
        values += 2 * std::max(cell.last - cell.first + 1, 0);
    }
    const std::int64_t row_bytes = 2 * values * std::int64_t{sizeof(std::int32_t)};
    return 2 * slots_.count <= most_slots &&
           row_bytes + choice_bytes_ + static_cast<std::int64_t>(cells_.size() * sizeof(Cell)) <=
               most_bytes_;
}

// The inside bounds of a sub-problem from those of its parts.
void PrunedGrid::bound(const SubProblem& sub) {
    const Cell& cell = cell_of(sub);
    if (cell.first > cell.last) return;
    std::int32_t* out = row(inside_, cell, 0);
    if (sub.s == sub.t) {
        const std::int64_t from =
            std::max<std::int64_t>(cell.first, slots_.rounded_up(recurrence_.need_all(sub)));
        for (std::int64_t slot = from; slot <= cell.last; ++slot) out[slot] = own_units(sub);
    } else {
        for_each_choice(sub, [&](const Choice& choice) {
            const Parts open = parts(sub, choice);
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
        for (std::int64_t slot = std::max<std::int64_t>(cell.first, first_plenty(sub));
             slot <= cell.last; ++slot) {
            out[slot] = own_units(sub);
        }
    }
    for (std::int64_t slot = cell.first + 1; slot <= cell.last; ++slot) {
        out[slot] = std::min(out[slot], out[slot - 1]);
    }
}

void PrunedGrid::prune(std::int64_t best_ns, const Poll& poll) {
    // A time below the best one is below this many units when its parts are rounded down.
    const auto limit = static_cast<std::int32_t>(
        std::min<std::int64_t>((best_ns - 1) / unit_ns_ + 1, largest_finite));
    check_memory(static_cast<std::int64_t>(inside_.size() * sizeof(std::int32_t)));
    outside_.assign(inside_.size(), row_infinity);
    const Cell& root = cell_of(recurrence_.root());
    if (root.first <= root.last) *row(outside_, root, root.last) = 0;
    std::vector<Choice> open;
    open_work_ = 0;
    for (std::int32_t t = recurrence_.stages(); t >= 1; --t) {
        std::vector<Choice> kept;
        recurrence_.for_each_below(t, [&](const SubProblem& sub) {
            Cell& cell = cell_of(sub);
            open.clear();
            if (narrow(cell, limit) && sub.s < t) {
                for_each_choice(sub, [&](const Choice& choice) { open.push_back(choice); });
            }
            cell.choices = kept.size();
            for (const Choice& choice : open) prune_choice(sub, choice, limit, kept);
            cell.choice_count = kept.size() - cell.choices;
        });
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
bool PrunedGrid::narrow(Cell& cell, std::int32_t limit) {
    if (cell.first > cell.last) return false;
    const std::int32_t* inside = row(inside_, cell, 0);
    std::int32_t* outside = row(outside_, cell, 0);
    std::int32_t first = cell.last + 1;
    std::int32_t last = cell.first - 1;
    for (std::int32_t slot = cell.first; slot <= cell.last; ++slot) {
        if (inside[slot] + outside[slot] < limit) {
            first = std::min(first, slot);
            last = slot;
        } else {
            outside[slot] = row_infinity;
        }
    }
    if (first > last) {
        cell.first = 1;
        cell.last = 0;
        return false;
    }
    cell.values += index(first - cell.first);
    cell.first = first;
    cell.last = last;
    return true;
}

void PrunedGrid::prune_choice(const SubProblem& sub, const Choice& choice, std::int32_t limit,
                              std::vector<Choice>& kept) {
    const Parts open = parts(sub, choice);
    std::int64_t from = open.from;
    std::int64_t to = std::min(open.to, first_plenty(sub) - 1);
    if (from > to) return;
    operations_ += to - from + 1;
    const std::int32_t* outside = row(outside_, cell_of(sub), 0);
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

    // Bounds handed on from dropped slots in between reach the limit at their target as well, so
    // that these slots need no special treatment.
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

PrunedGrid::Parts PrunedGrid::parts(const SubProblem& sub, const Choice& choice) const {
    const Cell& cell = cell_of(sub);
    const Recurrence::Rule rule = recurrence_.open(sub, choice.choice);
    Parts found;
    found.right = &cell_of(rule.right);
    found.width = slots_.rounded_down(rule.width);
    found.from = std::max({cell.first, choice.first,
                           static_cast<std::int32_t>(slots_.rounded_up(rule.need))});
    found.to = std::min(cell.last, choice.last);
    if (rule.has_left) {
        found.left = &cell_of(rule.left);
        found.from = std::max(found.from, std::int64_t{found.left->first});
        found.to = std::min(found.to, std::int64_t{found.left->last});
    }
    const std::int64_t time = Recurrence::time(times_, sub, choice.choice);
    found.time = static_cast<std::int32_t>(std::min<std::int64_t>(time, largest_finite));
    if (found.right->first > found.right->last) {
        found.to = found.from - 1;
    } else {
        found.from = std::max(found.from, found.right->first + found.width);
        found.to = std::min(found.to, found.right->last + found.width);
    }
    return found;
}

std::int64_t PrunedGrid::inside_ns(const SubProblem& sub, std::int64_t memory_bytes,
                                   std::int64_t handicap) const {
    const Cell& cell = cell_of(sub);
    const std::int64_t slot = slots_.rounded_up(memory_bytes);
    if (cell.first > cell.last || slot < cell.first) return infinite_ns;
    const std::int32_t* inside = inside_.data() + cell.values;
    const std::int64_t last = std::min<std::int64_t>(slot, cell.last) - cell.first;
    std::int64_t at = std::clamp<std::int64_t>(slot - handicap - cell.first, 0, last);
    while (at < last && inside[at] >= row_infinity) ++at;
    return inside[at] < row_infinity ? inside[at] * unit_ns_ : infinite_ns;
}

std::int64_t PrunedGrid::outside_ns(const SubProblem& sub, std::int64_t from_bytes,
                                    std::int64_t to_bytes) const {
    const Cell& cell = cell_of(sub);
    const auto from = std::max<std::int64_t>(slots_.rounded_up(from_bytes), cell.first);
    const auto to = std::min<std::int64_t>(slots_.rounded_up(to_bytes), cell.last);
    std::int32_t least = row_infinity;
    for (std::int64_t slot = from; slot <= to; ++slot) {
        least = std::min(least, outside_[cell.values + index(slot - cell.first)]);
    }
    return least < row_infinity ? least * unit_ns_ : infinite_ns;
}

std::int64_t PrunedGrid::first_byte(const SubProblem& sub) const {
    return slots_.first_byte(cell_of(sub).first);
}

std::int64_t PrunedGrid::last_byte(const SubProblem& sub) const {
    return slots_.last_byte(cell_of(sub).last);
}

std::int64_t PrunedGrid::bytes() const {
    return static_cast<std::int64_t>((inside_.size() + outside_.size()) * sizeof(std::int32_t) +
                                     cells_.size() * sizeof(Cell)) +
           choice_bytes_;
}

std::int32_t PrunedGrid::own_units(const SubProblem& sub) const {
    return capped(times_.own(sub));
}

// The first slot in which every size suffices to save all stages of a sub-problem.
std::int64_t PrunedGrid::first_plenty(const SubProblem& sub) const {
    const std::int64_t plenty = recurrence_.plenty(sub);
    return plenty == 0 ? 0 : slots_.rounded_up(plenty) + 1;
}

// Places the rows one after the other and fills them with infinity.
void PrunedGrid::lay_out() {
    std::size_t end = 0;
    for (Cell& cell : cells_) {
        cell.values = end;
        if (cell.first <= cell.last) end += index(cell.last - cell.first + 1);
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
