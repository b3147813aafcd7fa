// The forward phase of POFO as a search over labels, stage by stage.
//
// A label of (i, x) is a way to run the parts before stage i: the memory A it keeps, what DF is
// still to leave and what DB must be back, and the ticks so far. With av = M - A - I, where I is
// the input of i, and the rooms h_B = av - M_B(i), h_F = av - a-bar^i - o_f^i, Appendix B.1 reads
//   all:  u_f + u_b + (DF - h_F)+ + (DB - h_B)+, then (i+1, 1) with
//         DF' = (min(DF, h_F) - u_f)+,  DB' = (min(DB, h_B) - u_b)+,
//   ck j: P(i, j) + (DF - h)+ + c, then (j+1, 0), c = C(i, j, A + I, DB),
//         h = av - max_k (F0(k) - P(i, k-1)),  DF' = (min(DF, h) - P(i, j))+,  DB' = (DB - c)+,
// and either the input stays, A' = A + I, or it is offloaded: I is added to DB', and to DF' inside
// the positive part. After N, DF' + DB' ticks pass.
//
// What comes after a label costs at most 1 tick more per unit of DF and of DB, so a label dominates
// another one of the same (i, x) if its A is no larger and its lead in time is at least its excess
// in DF plus that in DB. Labels that cannot beat the limit by the bound of bound.hpp are dropped,
// and so are the least promising where too many are left; the least bound of those that might have
// beaten the limit is kept, so that the search always proves a lower bound.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "remat_offload/bound.hpp"

namespace jettison {

struct Label {
    std::int64_t a, df, db;   // units
    std::int64_t time;        // ticks
    std::int64_t bound;       // ticks; no completion is faster
    std::int64_t moved;       // units offloaded so far
    std::int32_t parent;      // among the expanded labels; -1 at the start
    std::int32_t first, last; // the part that led here: stages, last = 0 for `all`
    bool offloaded;           // its input
};

// Labels whose memory is counted, that of both copies while it grows included.
class Labels {
public:
    explicit Labels(Budget& budget) : claim_(budget) {}

    std::vector<Label>& items() { return items_; }
    const Label& operator[](std::int32_t k) const { return items_[at(k)]; }
    std::size_t size() const { return items_.size(); }

    void add(const Label& label) {
        if (items_.size() == items_.capacity()) {
            const std::size_t before = items_.capacity();
            const std::size_t capacity = std::max<std::size_t>(2 * before, 16);
            claim_.take(capacity * sizeof(Label));
            items_.reserve(capacity);
            claim_.give(before * sizeof(Label));
        }
        items_.push_back(label);
    }

    void free() {
        const std::size_t before = items_.capacity();
        std::vector<Label>().swap(items_);
        claim_.give(before * sizeof(Label));
    }

private:
    Claim claim_;
    std::vector<Label> items_;
};

// One part of the forward phase.
struct Part {
    std::int32_t first, last;  // last = 0 for `all`
    bool input_saved, offloaded;
};

struct SearchResult {
    std::int64_t time = never;  // of the best label that was completed
    // Least bound of all that was dropped and of all that was completed; the limit at most.
    std::int64_t floor = never;
    bool is_complete = true;  // nothing was dropped that might have beaten the best
    std::vector<Part> parts;
    std::int64_t labels = 0;
};

template <typename Table>
class OffloadSearch {
public:
    OffloadSearch(const OffloadContext& context, Recomputation recomputation, Table& table,
                  const OffloadBound& bound)
        : context_(context),
          recomputation_(recomputation),
          table_(table),
          bound_(bound),
          expanded_(context.budget) {}

    // Only completions faster than `limit` count; at most `most` labels are kept per stage.
    SearchResult run(std::int64_t limit, std::size_t most) {
        const std::int32_t n = context_.chain.stages;
        limit_ = limit;
        most_ = most;
        result_ = {};
        expanded_.free();
        pending_.clear();
        for (std::int32_t k = 0; k < 2 * n; ++k) pending_.emplace_back(context_.budget);
        best_.time = never;
        add(1, 0, {0, 0, 0, 0, 0, 0, -1, 0, 0, false});
        for (std::int32_t i = 1; i <= n; ++i) {
            for (std::int32_t x = 0; x <= 1; ++x) {
                Labels& labels = pending_[place(i, x)];
                drop_dominated(labels.items());
                keep_most(labels.items(), most_);
                for (const Label& label : labels.items()) {
                    if (++result_.labels % 64 == 0) context_.poll();
                    expanded_.add(label);
                    expand(i, x, label);
                }
                labels.free();
            }
        }
        result_.time = best_.time;
        result_.is_complete = result_.floor >= std::min(best_.time, limit);
        result_.floor = std::min({result_.floor, best_.time, limit});
        if (best_.time < never) result_.parts = path();
        return std::move(result_);
    }

private:
    static std::size_t place(std::int32_t i, std::int32_t x) { return at(i - 1) * 2 + at(x); }

    void expand(std::int32_t i, std::int32_t x, const Label& label) {
        const OffloadChain& chain = context_.chain;
        const std::int32_t n = chain.stages;
        const std::int32_t parent = static_cast<std::int32_t>(expanded_.size()) - 1;
        const std::int64_t input = x == 1 ? chain.saved[at(i - 1)] : chain.output[at(i - 1)];
        const std::int64_t av = chain.memory - label.a - input;
        const std::int64_t backward_room = av - chain.backward_need[at(i)];
        if (backward_room < 0) return;
        const std::int64_t forward_room = av - chain.saving(i);
        if (forward_room >= 0) {
            const std::int64_t time = label.time + chain.forward[at(i)] + chain.backward[at(i)] +
                                      positive(label.df - forward_room) +
                                      positive(label.db - backward_room);
            const std::int64_t df = std::min(label.df, forward_room) - chain.forward[at(i)];
            const std::int64_t db =
                positive(std::min(label.db, backward_room) - chain.backward[at(i)]);
            if (i == n) {
                complete(label, parent, i, time + positive(df) + db);
            } else {
                branch(i + 1, 1, label, parent, i, 0, input, time, df, db);
            }
        }
        if (recomputation_ == Recomputation::forbidden) return;
        for (std::int32_t j = i; j < n; ++j) {
            if (context_.runs.most(i, j) > av) break;
            const std::int64_t room = av - context_.runs.early(i, j);
            const std::int64_t run = context_.runs.time(i, j);
            const std::int64_t early = label.time + run + positive(label.df - room);
            // A cheap test: without idle time, and with nothing left to move.
            const std::int64_t least = early +
                                       table_.rotor().time(i, j, table_.rotor_slots(av)) +
                                       positive(label.db - backward_room);
            if (least >= never || least + bound_(j + 1, 0, label.a, 0, 0) >= limit_) continue;
            const CurveView curve = table_.curve(i, j, av);
            if (curve.base >= never) continue;
            const std::int64_t part = curve(label.db);
            branch(j + 1, 0, label, parent, i, j, input, early + part,
                   std::min(label.df, room) - run, positive(label.db - part));
        }
    }

    // Adds two labels: the input kept, and offloaded. `df` is negative if the link was idle.
    void branch(std::int32_t i, std::int32_t x, const Label& label, std::int32_t parent,
                std::int32_t first, std::int32_t last, std::int64_t input, std::int64_t time,
                std::int64_t df, std::int64_t db) {
        add(i, x, {label.a + input, positive(df), db, time, 0, label.moved, parent, first, last,
                   false});
        if (input == 0) return;
        add(i, x, {label.a, positive(df + input), db + input, time, 0, label.moved + input, parent,
                   first, last, true});
    }

    void add(std::int32_t i, std::int32_t x, Label label) {
        const std::int64_t rest = bound_(i, x, label.a, label.df, label.db);
        if (rest >= never) return;
        label.bound = label.time + rest;
        if (label.bound >= limit_) return;
        Labels& labels = pending_[place(i, x)];
        if (labels.size() >= 8 * most_) keep_most(labels.items(), 4 * most_);
        labels.add(label);
    }

    void complete(const Label& label, std::int32_t parent, std::int32_t i, std::int64_t time) {
        if (time >= limit_ || time > best_.time) return;
        if (time == best_.time && label.moved >= best_.moved) return;
        best_ = label;
        best_.time = time;
        best_.parent = parent;
        best_.first = i;
        best_.last = 0;
        best_.offloaded = false;
    }

    // Drops all but the most promising.
    void keep_most(std::vector<Label>& labels, std::size_t most) {
        if (labels.size() <= most) return;
        const auto middle = labels.begin() + static_cast<std::ptrdiff_t>(most);
        std::nth_element(labels.begin(), middle, labels.end(),
                         [](const Label& one, const Label& other) {
                             return std::pair(one.bound, one.moved) <
                                    std::pair(other.bound, other.moved);
                         });
        // The first of the dropped has the least bound.
        result_.floor = std::min(result_.floor, middle->bound);
        labels.erase(middle, labels.end());
    }

    void drop_dominated(std::vector<Label>& labels) const {
        // The sort has a buffer of its own.
        Claim buffer(context_.budget);
        buffer.take((labels.size() + 1) / 2 * sizeof(Label));
        std::stable_sort(labels.begin(), labels.end(), [](const Label& one, const Label& other) {
            return std::pair(one.time, one.moved) < std::pair(other.time, other.moved);
        });
        auto kept = labels.begin();
        for (const Label& label : labels) {
            const bool dominated =
                std::any_of(labels.begin(), kept, [&label](const Label& other) {
                    const std::int64_t behind = other.time + positive(other.df - label.df) +
                                                positive(other.db - label.db);
                    return other.a <= label.a &&
                           (behind < label.time ||
                            (behind == label.time && other.moved <= label.moved));
                });
            if (!dominated) *kept++ = label;
        }
        labels.erase(kept, labels.end());
    }

    std::vector<Part> path() const {
        std::vector<Part> parts;
        Label label = best_;
        for (;;) {
            const bool is_start = label.parent < 0;
            if (is_start) break;
            const Label& before = expanded_[label.parent];
            const bool saved = before.parent >= 0 && before.last == 0;
            parts.push_back({label.first, label.last, saved, label.offloaded});
            label = before;
        }
        std::reverse(parts.begin(), parts.end());
        return parts;
    }

    OffloadContext context_;
    Recomputation recomputation_;
    Table& table_;
    const OffloadBound& bound_;
    std::int64_t limit_ = never;
    std::size_t most_ = 1;
    SearchResult result_;
    Label best_{};
    Labels expanded_;
    std::deque<Labels> pending_;
};

}  // namespace jettison
