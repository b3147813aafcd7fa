// The table of the persistent program: where its values lie, and in which order it is filled.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "buffer.hpp"
#include "persistent_cell.hpp"
#include "persistent_program.hpp"

namespace jettison {

// The table holds E(s,t)[m] = C(s,t,m) + P[s-1] with P the prefix sums of the forward times. The
// forward run s..s'-1 of a split then costs nothing to add:
//   C(s,t,m) = min P[s'-1] - P[s-1] + C(s',t,m-a) + C(s,s'-1,m)
//   E(s,t)   = min E(s',t)[m-a] + E(s,s'-1)[m] - P[s-1].
// Values that reach `infinite` saturate there.
//
// All E(s,.) of one s lie side by side: they are the first parts of splits. The second parts, all
// E(.,t) of one t, shifted by their inputs, are only kept in a Column while that t is filled.
template <typename Time>
class PersistentTable {
public:
    PersistentTable(const SlottedChain& chain, std::int32_t slots)
        : chain_(chain),
          stages_(chain.stages),
          slots_(slots),
          chunks_(units_in(std::int64_t{slots} + 1, chunk)),
          sample_stride_(units_in(chunks_, chunk) * chunk),
          prefix_(index(stages_) + 1, 0),
          own_(index(stages_) + 1, 0),
          values_(cells() * chunks_ * chunk),
          samples_(cells() * sample_stride_) {
        for (std::int64_t s = 1; s <= stages_; ++s) {
            const std::int64_t forward_ns = chain.forward_ns[index(s - 1)];
            prefix_[index(s)] = prefix_[index(s - 1)] + forward_ns;
            own_[index(s)] = own_[index(s - 1)] + forward_ns + chain.backward_ns[index(s - 1)];
        }
    }

    // Worker k takes the strips k, k + threads, ...; each follows the strip before it down the
    // stages. `poll` is called by this thread only; it may throw to stop all of them.
    void fill(const std::function<void()>& poll, std::int32_t threads = 1) {
        Progress progress(strips(), stages_ + 1);
        const std::int64_t workers = std::min<std::int64_t>(threads, strips());
        std::vector<std::vector<Column>> columns(index(workers));
        for (auto& of_worker : columns) {
            for (std::int64_t k = 0; k < strip; ++k) of_worker.emplace_back(*this);
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

    // C(s,t,m), or int64 infinity where it is infeasible or does not fit the type.
    std::int64_t time(std::int64_t s, std::int64_t t, std::int64_t m) const {
        if (m < 0) return infinite<std::int64_t>;
        m = std::min(m, slots_);
        const Parts<Time> row = parts_from(s);
        const Time value = row.values[m / chunk * row.stride + (t - s) * chunk + m % chunk];
        if (value >= infinite<Time>) return infinite<std::int64_t>;
        return static_cast<std::int64_t>(value) - prefix_[index(s - 1)];
    }

private:
    // So many t are filled side by side: what they read of one s is read once, and what they keep
    // stays in cache while s descends.
    static constexpr std::int64_t strip = 4;

    struct Column {
        explicit Column(const PersistentTable& table)
            : values(table.stages_ * table.chunks_ * chunk),
              samples(table.stages_ * table.sample_stride_),
              block_least(units_in(table.stages_, block) * chunk),
              rows{Buffer<Time>((table.chunks_ + 1) * chunk),
                   Buffer<Time>((table.chunks_ + 1) * chunk)} {
            for (const Buffer<Time>& row : rows) {
                std::fill(row.data(), row.data() + chunk, infinite<Time>);
            }
        }
        Buffer<Time> values, samples, block_least;
        Buffer<Time> rows[2];         // E(s,t) of the last two s, behind a chunk of infinities
        std::int64_t saturation = 0;  // of the last s
    };

    // A strip needs of the strips before it what they hold of its s.
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
    std::int64_t cells() const { return stages_ * (stages_ + 1) / 2; }
    std::int64_t strips() const { return units_in(stages_, strip); }
    std::size_t pair(std::int64_t s, std::int64_t t) const {
        return index((s - 1) * stages_ + t - 1);
    }

    // E(s,s), E(s,s+1), ..., E(s,N).
    Parts<Time> parts_from(std::int64_t s) const {
        const std::int64_t before = (s - 1) * (2 * stages_ - s + 2) / 2;
        return {values_.data() + before * chunks_ * chunk, (stages_ - s + 1) * chunk,
                samples_.data() + before * sample_stride_};
    }

    template <typename Poll>
    void fill_strips(std::int64_t first, std::int64_t step, std::vector<Column>& columns,
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
                    fill_next(columns[index(t - first_t)], s, t);
                }
                progress.lowest[index(number)] = s;
            }
        }
    }

    // The cell above those that the column holds: t itself first, then ever smaller s.
    void fill_next(Column& column, std::int64_t s, std::int64_t t) const {
        const std::size_t stage = index(s - 1);
        const std::int64_t saved_slots = chain_.saved_slots[stage];
        const std::int64_t all_need = chain_.forward_all_need[pair(s, t)];
        const std::int64_t size = chunks_ * chunk;
        // What follows can be saved as well, from its saturation on.
        const std::int64_t rest = s < t ? saved_slots + column.saturation : 0;
        column.saturation = std::clamp<std::int64_t>(std::max(all_need, rest), 0, size);

        Cell<Time> cell{};
        cell.splits = t - s;
        cell.chunks = chunks_;
        cell.sample_stride = sample_stride_;
        cell.left = parts_from(s);
        cell.right = {column.values.data() + s * chunk, t * chunk,
                      column.samples.data() + s * sample_stride_};
        cell.input_slots = chain_.input_slots[stage];
        cell.prefix = saturating(prefix_[stage]);
        cell.none_need = s < t ? chain_.forward_none_need[pair(s, t)] : size;
        cell.after_all = column.rows[(s + 1) % 2].data() + chunk;
        cell.saved_slots = saved_slots;
        cell.backward = saturating(chain_.backward_ns[stage]);
        cell.all_need = s < t ? all_need : size;
        cell.saturation = column.saturation;
        cell.saturated = saturating(own_[index(t)] - own_[stage] + prefix_[stage]);
        cell.row = column.rows[s % 2].data() + chunk;
        cell.block_least = column.block_least.data();
        fill_cell(cell);
    }

    const SlottedChain& chain_;
    std::int64_t stages_;
    std::int64_t slots_;
    std::int64_t chunks_;
    std::int64_t sample_stride_;
    std::vector<std::int64_t> prefix_;
    std::vector<std::int64_t> own_;  // prefix sums of forward and backward times
    Buffer<Time> values_;
    Buffer<Time> samples_;
};

}  // namespace jettison
