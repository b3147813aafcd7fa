// Tables of a persistent program: the layout of their values, and the order of filling.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "core/buffer.hpp"
#include "remat_chain/grid/cell.hpp"
#include "remat_chain/persistent_program.hpp"
#include "remat_chain/recurrence.hpp"

namespace jettison {

// With P the prefix sums of the forward times, the tables hold X(s,t,m) + P[s-1] for each kind X of
// sub-problem. The forward run s..k-1 of a split then costs nothing to add:
//   X(s,t,m) = min P[k-1] - P[s-1] + Y(k,t,m-w) + Z(s,k-1,m)
// becomes, with the sums in place of X, Y and Z,
//   X(s,t)   = min Y(k,t)[m-w] + Z(s,k-1)[m] - P[s-1].
// Values that reach `infinite` saturate there.
//
// E counts its input. Its tables do not: at m they hold what E takes in m + input slots. Then C and
// E of one s and t both combine C(k,t) and E(k,t), shifted by the input of k, and C with C, E with
// E of the first parts. Above slots - input, E is not asked.
//
// First parts of one kind and one s lie side by side, in blocks. The second parts, all of one t,
// shifted by their inputs, are only kept in a Column while that t is filled.
//
// Where no schedule above a limit is asked for, most of the table can stay empty. The time of a
// schedule beyond one run of each operation, its excess, is the sum of the forward runs of its
// splits and drops. Those that made t the last stage of s..t, t < N, have run all stages s..t, or
// s..t-1 for p = 1, in which X(s,t) has no part. So X(s,t,m) is of no use where its own excess and
// that run reach the excess of the limit, and counts as infinite there. Less is never lost: parts
// of what is of use are of use, because a part's excess and run are no more than those of the
// whole. What is of use is not changed by what is not, and its choices are the same.
//
// Columns end where nothing is of use: at the first s whose run is too long, and without drops at
// the first C(s,t) that is of no use in any memory. For a tree of C(s-1,t,m) has in it, stage s-1
// taken out, a tree of C(s,t,m) with no more excess, if forward_none_need(s,t) does not grow with
// s.
template <typename Time>
class PersistentTable {
public:
    // Times of the root above `limit_ns` are infinite.
    PersistentTable(const SlottedChain& chain, std::int32_t slots,
                    std::int64_t limit_ns = infinite<std::int64_t>)
        : chain_(chain),
          kinds_(chain.tables == Tables::one ? 1 : 4),
          stages_(chain.stages),
          slots_(slots),
          chunks_(units_in(std::int64_t{slots} + 1, chunk)),
          sample_stride_(units_in(chunks_, chunk) * chunk),
          times_(chain.forward_ns, chain.backward_ns, 1),
          excess_limit_(limit_ns - times_.own(1, chain.stages) + 1),
          ends_early_(kinds_ == 1 && none_need_falls()),
          first_kept_(index(2 * (stages_ + 1)), 1),
          last_kept_(index(kinds_ * (stages_ + 1)), 0),
          blocks_(index(kinds_ * (stages_ + 1) * blocks_of_s()), nullptr),
          storage_(0),
          whole_(0) {
        std::int64_t blocks = 0;
        for (int kind = 0; kind < kinds_; ++kind) {
            if (!is_kept(static_cast<Kind>(kind))) continue;
            for (std::int64_t s = 1; s <= stages_; ++s) blocks += units_in(stages_ - s + 1, block);
        }
        // What is never taken into use is never mapped either.
        storage_ = Buffer<Time>(blocks * block_size());
        whole_ = Buffer<Time>(2 * stages_ * row_size());
    }

    // Worker k takes the strips k, k + threads, ...; each follows the strip before it down the
    // stages. `poll` is called by this thread only; it may throw to stop all of them.
    void fill(const std::function<void()>& poll, std::int32_t threads = 1) {
        Progress progress(strips(), stages_ + 1);
        const std::int64_t workers = std::min<std::int64_t>(threads, strips());
        std::vector<std::vector<Columns>> columns(index(workers));
        for (auto& of_worker : columns) {
            of_worker.resize(index(strip));
            for (Columns& of_t : of_worker) {
                for (int p = 0; p < (kinds_ == 1 ? 1 : 2); ++p) of_t.emplace_back(*this);
            }
        }
        std::vector<std::thread> others;
        const auto join = [&others] {
            for (std::thread& other : others) other.join();
        };
        try {
            for (std::int64_t worker = 1; worker < workers; ++worker) {
                others.emplace_back([&, worker] {
                    fill_strips(worker, workers, columns[index(worker)], progress, [] {});
                });
            }
            fill_strips(0, workers, columns[0], progress, poll);
        } catch (...) {
            progress.stopped = true;
            join();
            throw;
        }
        join();
    }

    // The time in so many slots, or int64 infinity where it is infeasible or does not fit the type.
    std::int64_t time(const SubProblem& sub, std::int64_t m) const {
        if (drops_input(sub.kind)) m -= chain_.input_slots[index(sub.s - 1)];
        if (m < 0) return infinite<std::int64_t>;
        m = std::min(m, slots_);
        if (!is_kept(sub.kind)) return time_of_all(sub, m);
        if (sub.s < first_kept(sub)) return infinite<std::int64_t>;
        const Parts<Time> row = left_part(sub.kind, sub.s, sub.t);
        const Time value = row.values[m / chunk * row.stride + m % chunk];
        if (value >= infinite<Time>) return infinite<std::int64_t>;
        return static_cast<std::int64_t>(value) - times_.run(1, sub.s);
    }

private:
    // Number of t that are filled side by side: their common parts are read once for each s, and
    // their columns stay in cache while s descends.
    static constexpr std::int64_t strip = 4;

    // The rows that cells of one t read, for p = 0 or p = 1.
    struct Column {
        explicit Column(const PersistentTable& table)
            : block_least((2 * units_in(table.stages_, block) + 1) * chunk) {
            for (int kind = 0; kind < std::min(table.kinds_, 2); ++kind) {
                values.emplace_back(table.stages_ * table.chunks_ * chunk);
                samples.emplace_back(table.stages_ * table.sample_stride_);
            }
            for (int k = 0; k < 3; ++k) {
                rows.emplace_back((table.chunks_ + 2) * chunk);
                std::fill(rows.back().data(), rows.back().data() + chunk, infinite<Time>);
            }
        }
        std::vector<Buffer<Time>> values, samples;  // of C, and of E with drops
        Buffer<Time> block_least;
        // Behind a chunk of infinities, with room for one more at the end: C of the last two s, E.
        std::vector<Buffer<Time>> rows;
        std::int64_t saturation = 0;  // of C of the last s
    };
    // For p = 0 and p = 1.
    using Columns = std::vector<Column>;

    // A strip reads rows of the strips before it with the same s.
    struct Progress {
        Progress(std::int64_t strips, std::int64_t none) : lowest(index(strips)), stopped(false) {
            for (auto& s : lowest) s = none;
        }
        std::vector<std::atomic<std::int64_t>> lowest;  // the last s that a strip has finished
        std::atomic<bool> stopped;
    };

    static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
    static std::int64_t units_in(std::int64_t count, std::int64_t unit) {
        return (count + unit - 1) / unit;
    }
    static Time saturating(std::int64_t time) {
        return static_cast<Time>(std::min<std::int64_t>(time, infinite<Time>));
    }
    std::int64_t strips() const { return units_in(stages_, strip); }
    std::size_t at(const SubProblem& sub) const {
        return index((static_cast<int>(sub.kind) * stages_ + sub.s - 1) * stages_ + sub.t - 1);
    }

    // Whether the thresholds of splits are those of a chain: no smaller s needs less.
    bool none_need_falls() const {
        for (std::int32_t t = 3; t <= stages_; ++t) {
            for (std::int32_t s = 2; s < t; ++s) {
                if (chain_.forward_none_need[at({Kind::whole, s, t})] >
                    chain_.forward_none_need[at({Kind::whole, s - 1, t})]) {
                    return false;
                }
            }
        }
        return true;
    }

    // What the choices that made t the last stage have added to the excess.
    std::int64_t excess_before(const SubProblem& sub) const {
        if (is_saved(sub.kind)) return times_.run(sub.s, sub.t);
        return sub.t < stages_ ? times_.run(sub.s, sub.t + 1) : 0;
    }
    // The first s of a column that is kept.
    std::int32_t& first_kept(const SubProblem& sub) {
        return first_kept_[index((is_saved(sub.kind) ? stages_ + 1 : 0) + sub.t)];
    }
    std::int32_t first_kept(const SubProblem& sub) const {
        return first_kept_[index((is_saved(sub.kind) ? stages_ + 1 : 0) + sub.t)];
    }
    // The last t whose row is kept as a first part of its kind and s; those before it are as well.
    std::int32_t& last_kept(Kind kind, std::int64_t s) {
        return last_kept_[index(static_cast<int>(kind) * (stages_ + 1) + s)];
    }

    bool is_kept(Kind kind) const {
        return !drops_input(kind) || chain_.tables == Tables::four;
    }

    std::int64_t row_size() const { return chunks_ * chunk + sample_stride_; }
    std::int64_t block_size() const { return block * row_size(); }
    std::int64_t blocks_of_s() const { return units_in(stages_, block); }
    // The blocks of first parts s..s, s..s+1, ... of one kind.
    std::size_t first_block(Kind kind, std::int64_t s) const {
        return index((static_cast<int>(kind) * (stages_ + 1) + s) * blocks_of_s());
    }
    // Whether a row is no first part of anything: it ends with the last stage, which is not saved.
    bool is_whole(Kind kind, std::int64_t t) const { return t == stages_ && !is_saved(kind); }
    // Where s..t of one kind lies as a first part, in a block in use, or by itself.
    Parts<Time> left_part(Kind kind, std::int64_t s, std::int64_t t) const {
        if (is_whole(kind, t)) {
            const std::int64_t row = (drops_input(kind) ? stages_ : 0) + s - 1;
            Time* values = whole_.data() + row * row_size();
            return {values, chunk, values + chunks_ * chunk};
        }
        Time* values = blocks_[first_block(kind, s) + index((t - s) / block)];
        const std::int64_t place = (t - s) % block;
        return {values + place * chunk, block * chunk,
                values + block * chunks_ * chunk + place * sample_stride_};
    }
    // The same, in a block that is taken into use if it is not yet.
    Parts<Time> new_left_part(Kind kind, std::int64_t s, std::int64_t t) {
        if (is_whole(kind, t)) return left_part(kind, s, t);
        Time*& values = blocks_[first_block(kind, s) + index((t - s) / block)];
        if (values == nullptr) values = storage_.data() + blocks_in_use_++ * block_size();
        return left_part(kind, s, t);
    }
    Blocks<Time> left_parts(Kind kind, std::int64_t s, std::int64_t first_t) const {
        return {blocks_.data() + first_block(kind, s), first_t - s};
    }
    // Where s..t lies as a second part; s+1..t lies behind it.
    Parts<Time> right_part(const Column& column, bool drops, std::int64_t s, std::int64_t t) const {
        const auto table = index(drops ? 1 : 0);
        return {column.values[table].data() + (s - 1) * chunk, t * chunk,
                column.samples[table].data() + (s - 1) * sample_stride_};
    }

    // E without a table, in m beside its input: F_all, and then C.
    std::int64_t time_of_all(const SubProblem& sub, std::int64_t m) const {
        if (m < chain_.forward_all_need[at(sub)]) return infinite<std::int64_t>;
        const std::int64_t forward = times_.forward(sub.s);
        if (sub.s == sub.t) return is_saved(sub.kind) ? infinite<std::int64_t> : forward;
        const std::int64_t rest =
            time({kind_of(false, is_saved(sub.kind)), sub.s + 1, sub.t}, m - freed_slots(sub));
        return rest >= infinite<std::int64_t> ? rest : forward + rest;
    }

    // The slots that F_all takes of the memory that a table counts.
    std::int64_t freed_slots(const SubProblem& sub) const {
        const std::size_t stage = index(sub.s - 1);
        const std::int64_t saved = chain_.saved_slots[stage];
        return drops_input(sub.kind) ? saved - chain_.input_slots[stage] : saved;
    }

    template <typename Poll>
    void fill_strips(std::int64_t first, std::int64_t step, std::vector<Columns>& columns,
                     Progress& progress, const Poll& poll) {
        for (std::int64_t number = first; number < strips(); number += step) {
            const std::int64_t first_t = number * strip + 1;
            const std::int64_t last_t = std::min(first_t + strip - 1, stages_);
            for (std::int64_t s = last_t; s >= 1; --s) {
                while (s < first_t && progress.lowest[index(number - 1)] > s) {
                    if (progress.stopped) return;
                    poll();
                    std::this_thread::yield();
                }
                if (progress.stopped) return;
                poll();
                for (std::int64_t t = std::max(s, first_t); t <= last_t; ++t) {
                    for (int kind = kinds_ - 1; kind >= 0; --kind) {
                        Columns& of_t = columns[index(t - first_t)];
                        fill_next(of_t[index(kind / 2)], {static_cast<Kind>(kind),
                                  static_cast<std::int32_t>(s), static_cast<std::int32_t>(t)});
                    }
                }
                progress.lowest[index(number)] = s;
            }
        }
    }

    // The cell above those that the column holds: t itself first, then ever smaller s. E comes
    // before C: what C of s takes is that of s+1 still.
    void fill_next(Column& column, const SubProblem& sub) {
        const auto [kind, s, t] = sub;
        if (s < first_kept(sub)) return;
        const std::int64_t excess = excess_limit_ - excess_before(sub);
        if (excess <= 0) {
            first_kept(sub) = s + 1;
            return;
        }
        const bool drops = drops_input(kind);
        const std::size_t stage = index(s - 1);
        const std::int64_t all_need = chain_.forward_all_need[at(sub)];
        const std::int64_t size = chunks_ * chunk;
        // From its saturation on, the following stages can be saved as well.
        const std::int64_t rest = s < t ? freed_slots(sub) + column.saturation : 0;
        const std::int64_t saturation =
            std::clamp<std::int64_t>(std::max(all_need, rest), 0, size);
        if (!drops) column.saturation = saturation;

        Cell<Time> cell{};
        cell.chunks = chunks_;
        cell.sample_stride = sample_stride_;
        if (s < t && is_kept(kind)) {
            const Kind left = kind_of(drops, false);
            cell.lists[0] = {splits(left, s, s, t - 1), left_parts(left, s, s),
                             right_part(column, false, s + 1, t)};
            if (kinds_ > 1 && is_kept(kind_of(drops, true))) {
                const Kind dropped = kind_of(drops, true);
                cell.lists[1] = {splits(dropped, s, s + 1, is_saved(kind) ? t - 1 : t),
                                 left_parts(dropped, s, s + 1),
                                 right_part(column, true, s + 1, t)};
            }
        }
        if (is_kept(kind)) cell.as_left = new_left_part(kind, s, t);
        cell.as_right = right_part(column, drops, s, t);
        cell.input_slots = chain_.input_slots[stage];
        cell.prefix = saturating(times_.run(1, s));
        cell.none_need = s < t ? chain_.forward_none_need[at(sub)] : size;
        cell.after_all = column.rows[index((s + 1) % 2)].data() + chunk;
        cell.saved_slots = freed_slots(sub);
        cell.backward = drops ? 0 : saturating(times_.own(s, s) - times_.forward(s));
        cell.all_need = s < t ? all_need : size;
        cell.saturation = saturation;
        cell.saturated = saturating(times_.own(sub) + times_.run(1, s));
        cell.limit = saturating(times_.own(sub) + times_.run(1, s) + excess);
        cell.stores_infinite = !ends_early_;
        cell.row = column.rows[drops ? 2 : index(s % 2)].data() + chunk;
        cell.block_least = column.block_least.data();
        if (!fill_cell(cell) && ends_early_) {
            first_kept(sub) = s + 1;
        } else if (is_kept(kind) && !is_whole(kind, t)) {
            keep_up_to(sub);
        }
    }

    // How many first parts of a kind are kept that begin with s and end with first..last.
    std::int64_t splits(Kind kind, std::int64_t s, std::int64_t first, std::int64_t last) {
        return std::max<std::int64_t>(std::min<std::int64_t>(last, last_kept(kind, s)) - first + 1,
                                      0);
    }

    // Notes that a row is kept as a first part, and fills those before it that are not.
    void keep_up_to(const SubProblem& sub) {
        std::int32_t& last = last_kept(sub.kind, sub.s);
        for (std::int64_t t = std::max(last + 1, sub.s); t < sub.t; ++t) {
            const Parts<Time> row = new_left_part(sub.kind, sub.s, t);
            for (std::int64_t c = 0; c < chunks_; ++c) {
                std::fill_n(row.values + c * row.stride, chunk, infinite<Time>);
            }
            std::fill_n(row.samples, sample_stride_, infinite<Time>);
        }
        last = sub.t;
    }

    const SlottedChain& chain_;
    int kinds_;
    std::int64_t stages_;
    std::int64_t slots_;
    std::int64_t chunks_;
    std::int64_t sample_stride_;
    StageTimes times_;
    std::int64_t excess_limit_;
    bool ends_early_;
    std::vector<std::int32_t> first_kept_;  // by p and t
    std::vector<std::int32_t> last_kept_;   // by kind and s
    std::vector<Time*> blocks_;             // by kind, s and t - s; null where not in use
    std::atomic<std::int64_t> blocks_in_use_{0};
    Buffer<Time> storage_;
    Buffer<Time> whole_;
};

}  // namespace jettison
