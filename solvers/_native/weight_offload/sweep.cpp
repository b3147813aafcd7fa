#include "weight_offload/sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "weight_offload/origin_sets.hpp"
#include "weight_offload/tails_of_sets.hpp"
#include "weight_offload/walk_estimate.hpp"

namespace jettison {
namespace {

constexpr std::int64_t polled_every = 4096;
constexpr std::size_t most_set_bytes = std::size_t{1} << 30;
constexpr std::int32_t no_label = -1;

// How a label was reached: the event that started, then the weights that were deleted.
struct Arrival {
    std::int32_t from = no_label;
    OriginSets::Id origins = OriginSets::empty;
    CycleStart kind = CycleStart::operation;
    std::int32_t layer = idle_link;  // none started: time went by
    std::uint32_t deleted = 0;
    std::int32_t other = no_label;  // another arrival at the same label
};

struct Label {
    Place place;
    Times times;
    OriginSets::Id origins;
    std::int32_t arrival;
};

class Sweep {
public:
    Sweep(const OffloadCycle& cycle, const std::vector<Beginning>& beginnings,
          std::int64_t period_ns)
        : cycle_(cycle),
          beginnings_(beginnings),
          period_ns_(period_ns),
          operations_(cycle.operations),
          estimate_(cycle, period_ns),
          sets_(beginnings.size()),
          tails_(estimate_, beginnings, sets_),
          kept_(estimate_.kept_until_backward()) {
        for (std::int32_t layer = 0; layer < cycle_.layers; ++layer) {
            const std::uint32_t one = bit(layer);
            not_stale_.push_back(sets_.where(beginnings.size(), [&](std::size_t k) {
                const Beginning& b = beginnings_[k];
                return ((b.hosted | kept_) & one) != 0 || b.up == layer;
            }));
            not_absent_.push_back(sets_.where(beginnings.size(), [&](std::size_t k) {
                return (beginnings_[k].resident & one) != 0;
            }));
        }
        answer_.next_ns = std::numeric_limits<std::int64_t>::max();
    }

    SweepAnswer run(std::int64_t most_labels, std::int64_t most_alike,
                    const std::function<bool()>& poll) {
        answer_.complete = true;
        for (std::size_t k = 0; k < beginnings_.size(); ++k) begin(k);
        while (!waiting_.empty()) {
            if (++popped_ % polled_every == 0) {
                if (static_cast<std::int64_t>(labels_.size()) > most_labels ||
                    sets_.size_bytes() + tails_.size_bytes() > most_set_bytes || !poll()) {
                    answer_.complete = false;
                    break;
                }
            }
            const std::int32_t id = std::get<3>(waiting_.top());
            waiting_.pop();
            if (!keep(id)) continue;
            if (closes(id)) break;
            const Place& place = labels_[at(id)].place;
            const std::uint64_t alike = static_cast<std::uint64_t>(place.resident) << 6 |
                                        static_cast<std::uint64_t>(place.started);
            if (++alike_[alike] > most_alike) {
                answer_.complete = false;
                continue;
            }
            expand(id);
        }
        answer_.labels = static_cast<std::int64_t>(labels_.size());
        return std::move(answer_);
    }

private:
    void begin(std::size_t number) {
        const Beginning& given = beginnings_[number];
        Place place;
        place.up = given.up;
        place.down = given.down;
        place.resident = given.resident;
        place.hosted = given.hosted;
        place.owed = given.owed;
        classes_[last_contents(place)].push_back(static_cast<std::int32_t>(number));
        Times times;
        if (given.up != idle_link) times.up = given.up_ns;
        if (given.down != idle_link) times.down = given.down_ns;
        Arrival arrival;
        arrival.origins = sets_.single(number);
        end_what_is_over(place, times, arrival);
    }

    // Ends transfers and operations that last until now, with every choice of deletions allowed.
    void end_what_is_over(Place place, const Times& times, Arrival arrival) {
        std::uint32_t may = 0;
        std::uint32_t must = 0;
        if (place.running && times.operation <= times.now) {
            place.running = false;
            leave_after_operation(place, may, must);
        }
        if (place.up != idle_link && times.up <= times.now) {
            const std::int32_t layer = place.up;
            place.up = idle_link;
            place.hosted |= bit(layer);
            const bool in_use = place.running && cycle_.layer[at(place.started - 1)] == layer;
            if (in_use || estimate_.next_use_is_forward(place.started, layer)) {
                place.owed |= bit(layer);
                if (!in_use) may |= bit(layer);
            } else {
                must |= bit(layer);
            }
        }
        if (place.down != idle_link && times.down <= times.now) place.down = idle_link;
        push_deletions(place, times, arrival, may, must);
    }

    // Deletions that the end of the last operation allows, and those that would be useless to omit.
    void leave_after_operation(const Place& place, std::uint32_t& may, std::uint32_t& must) const {
        const std::uint32_t one = bit(cycle_.layer[at(place.started - 1)]);
        if ((place.hosted & one) == 0) return;
        if ((place.owed & one) != 0) {
            must |= one;
        } else {
            may |= one;
        }
    }

    void push_deletions(const Place& place, const Times& times, Arrival arrival, std::uint32_t may,
                        std::uint32_t must) {
        may &= ~must;
        // All subsets of `may`, the whole of it first.
        for (std::uint32_t chosen = may;; chosen = (chosen - 1) & may) {
            Place after = place;
            const std::uint32_t deleted = chosen | must;
            after.resident &= ~deleted;
            after.owed &= ~deleted;
            arrival.deleted = deleted;
            push(after, times, arrival);
            if (chosen == 0) break;
        }
    }

    void push(const Place& place, Times times, Arrival arrival) {
        if (arrival.origins == OriginSets::empty) return;
        if (!place.running) times.operation = times.now;
        if (place.up == idle_link) times.up = times.now;
        if (place.down == idle_link) times.down = times.now;
        const std::int64_t least_ns =
            estimate_.end_ns(place, times, tails_.least(arrival.origins), estimate_.all());
        if (least_ns > period_ns_) {
            answer_.next_ns = std::min(answer_.next_ns, least_ns);
            return;
        }
        std::vector<std::int32_t>& alike = known_[place.word()];
        for (const std::int32_t id : alike) {
            Label& label = labels_[at(id)];
            if (label.times == times) {
                const OriginSets::Id both = sets_.unite(label.origins, arrival.origins);
                if (both == label.origins) return;
                label.origins = both;
                arrival.other = label.arrival;
                label.arrival = static_cast<std::int32_t>(arrivals_.size());
                arrivals_.push_back(arrival);
                return;
            }
        }
        for (const std::int32_t id : alike) {
            const Label& label = labels_[at(id)];
            if (label.times.no_later_than(times)) {
                arrival.origins = sets_.subtract(arrival.origins, label.origins);
                if (arrival.origins == OriginSets::empty) return;
            }
        }
        const auto id = static_cast<std::int32_t>(labels_.size());
        alike.push_back(id);
        labels_.push_back(
            {place, times, arrival.origins, static_cast<std::int32_t>(arrivals_.size())});
        arrivals_.push_back(arrival);
        const std::int32_t busy = (place.up != idle_link) + (place.down != idle_link);
        waiting_.emplace(times.now, place.started, busy, id);
    }

    // Leaves out beginnings for which another label serves as well.
    bool keep(std::int32_t id) {
        Label& label = labels_[at(id)];
        for (const std::int32_t other_id : known_[label.place.word()]) {
            const Label& other = labels_[at(other_id)];
            if (other_id == id || !other.times.no_later_than(label.times)) continue;
            label.origins = sets_.subtract(label.origins, other.origins);
            if (label.origins == OriginSets::empty) return false;
        }
        return true;
    }

    void expand(std::int32_t id) {
        // A copy, since the vector grows.
        const Label label = labels_[at(id)];
        start_operation(label, id);
        if (label.place.up == idle_link) start_uploads(label, id);
        if (label.place.down == idle_link) start_prefetches(label, id);
        std::int64_t next = std::numeric_limits<std::int64_t>::max();
        if (label.place.running) next = std::min(next, label.times.operation);
        if (label.place.up != idle_link) next = std::min(next, label.times.up);
        if (label.place.down != idle_link) next = std::min(next, label.times.down);
        if (next == std::numeric_limits<std::int64_t>::max()) return;
        Times times = label.times;
        times.now = next;
        Arrival arrival;
        arrival.from = id;
        arrival.origins = label.origins;
        end_what_is_over(label.place, times, arrival);
    }

    void start_operation(const Label& label, std::int32_t id) {
        Place place = label.place;
        if (place.running || place.started == operations_) return;
        const std::size_t k = at(place.started);
        const std::int32_t layer = cycle_.layer[k];
        const std::uint32_t one = bit(layer);
        if ((place.resident & one) != one || (place.down == layer && one != 0)) return;
        const std::int64_t used_bytes =
            estimate_.size_bytes(place.resident) + cycle_.working_bytes[k];
        if (used_bytes > cycle_.memory_bytes) return;
        if (cycle_.backward[k] != 0) {
            // An upload without a deletion before the next backward is useless.
            if (place.up == layer || (place.owed & one) != 0) return;
            place.hosted &= ~one;
        }
        ++place.started;
        Times times = label.times;
        times.operation = times.now + cycle_.duration_ns[k];
        Arrival arrival;
        arrival.from = id;
        arrival.origins = label.origins;
        arrival.layer = layer;
        if (cycle_.duration_ns[k] > 0) {
            place.running = true;
            push(place, times, arrival);
            return;
        }
        std::uint32_t may = 0;
        std::uint32_t must = 0;
        leave_after_operation(place, may, must);
        push_deletions(place, times, arrival, may, must);
    }

    void start_uploads(const Label& label, std::int32_t id) {
        const Place& now = label.place;
        for (std::int32_t layer = 0; layer < cycle_.layers; ++layer) {
            const std::uint32_t one = bit(layer);
            if ((now.resident & one) == 0 || (now.hosted & one) != 0) continue;
            if (now.running && cycle_.layer[at(now.started - 1)] == layer &&
                cycle_.backward[at(now.started - 1)] != 0) {
                continue;
            }
            Place place = now;
            place.up = layer;
            Times times = label.times;
            times.up = times.now + cycle_.transfer_ns[at(layer)];
            const Tails& tails = tails_.least(label.origins);
            if (is_useless_before_backward(layer, now.started, times.up, tails)) continue;
            Arrival arrival;
            arrival.from = id;
            arrival.kind = CycleStart::upload;
            arrival.layer = layer;
            arrival.origins = label.origins;
            if (estimate_.backward(layer) < now.started) {
                arrival.origins = sets_.intersect(arrival.origins, not_stale_[at(layer)]);
            }
            push(place, times, arrival);
        }
    }

    void start_prefetches(const Label& label, std::int32_t id) {
        const Place& now = label.place;
        const std::size_t last = at((now.started + operations_ - 1) % operations_);
        const std::int64_t other_bytes =
            now.running ? cycle_.working_bytes[last] : cycle_.resting_bytes[last];
        const std::int64_t room =
            cycle_.memory_bytes - other_bytes - estimate_.size_bytes(now.resident);
        std::uint32_t seen = 0;
        for (std::int32_t step = 0; step < operations_; ++step) {
            const std::int32_t k = (now.started + step) % operations_;
            const std::int32_t layer = cycle_.layer[at(k)];
            const std::uint32_t one = bit(layer);
            if (((now.resident | seen) & one) == one) continue;
            const std::int64_t bytes = cycle_.weight_bytes[at(layer)];
            bool is_first = true;
            for (std::int32_t other = 0; other < cycle_.layers; ++other) {
                if ((seen & bit(other)) != 0 && cycle_.weight_bytes[at(other)] == bytes) {
                    is_first = false;
                }
            }
            seen |= one;
            if (!is_first || bytes > room) continue;
            Place place = now;
            place.down = layer;
            place.resident |= one;
            Times times = label.times;
            times.down = times.now + cycle_.transfer_ns[at(layer)];
            Arrival arrival;
            arrival.from = id;
            arrival.kind = CycleStart::prefetch;
            arrival.layer = layer;
            arrival.origins = label.origins;
            if (now.started + step >= operations_) {
                arrival.origins = sets_.intersect(arrival.origins, not_absent_[at(layer)]);
            }
            push(place, times, arrival);
        }
    }

    // Whether an upload that ends then is followed by no deletion before the next backward, which
    // comes in this walk: the weights could not be back in time.
    bool is_useless_before_backward(std::int32_t layer, std::int32_t started, std::int64_t ended_ns,
                                    const Tails& tails) {
        const std::int32_t k = estimate_.backward(layer);
        if (k < started) return false;
        const std::int64_t useful_ns = ended_ns + cycle_.transfer_ns[at(layer)] + tails[at(k)];
        if (useful_ns <= period_ns_) return false;
        answer_.next_ns = std::min(answer_.next_ns, useful_ns);
        return true;
    }

    // Whether the host has a copy does not matter to a layer that cannot leave before its backward.
    std::uint64_t last_contents(Place place) const {
        place.started = 0;
        place.running = false;
        place.hosted &= ~(kept_ & place.resident);
        return place.contents();
    }

    bool closes(std::int32_t id) {
        const Label& label = labels_[at(id)];
        if (label.place.running || label.place.started != operations_) return false;
        const auto same = classes_.find(last_contents(label.place));
        if (same == classes_.end()) return false;
        for (const std::int32_t number : same->second) {
            const Beginning& origin = beginnings_[at(number)];
            if (!sets_.contains(label.origins, at(number))) continue;
            std::int64_t closed_ns = label.times.now;
            std::int64_t up_ns = 0;
            std::int64_t down_ns = 0;
            if (origin.up != idle_link) {
                closed_ns = std::max(closed_ns, label.times.up - origin.up_ns);
                up_ns = std::max<std::int64_t>(label.times.up - period_ns_, 0);
            }
            if (origin.down != idle_link) {
                closed_ns = std::max(closed_ns, label.times.down - origin.down_ns);
                down_ns = std::max<std::int64_t>(label.times.down - period_ns_, 0);
            }
            if (closed_ns <= period_ns_) {
                answer_.period_ns = closed_ns;
                trace(id, at(number));
                return true;
            }
            answer_.raised.push_back({number, std::max(up_ns, origin.up_ns),
                                      std::max(down_ns, origin.down_ns)});
        }
        return false;
    }

    void trace(std::int32_t id, std::size_t number) {
        std::vector<TimedAction>& actions = answer_.actions;
        while (id != no_label) {
            const Label& label = labels_[at(id)];
            std::int32_t place = label.arrival;
            while (!sets_.contains(arrivals_[at(place)].origins, number)) {
                place = arrivals_[at(place)].other;
            }
            const Arrival& arrival = arrivals_[at(place)];
            for (std::int32_t layer = 0; layer < cycle_.layers; ++layer) {
                if ((arrival.deleted & bit(layer)) != 0) {
                    actions.push_back({CycleStart::deletion, layer, label.times.now});
                }
            }
            if (arrival.layer != idle_link) {
                actions.push_back({arrival.kind, arrival.layer, label.times.now});
            }
            id = arrival.from;
        }
        std::reverse(actions.begin(), actions.end());
    }

    using Waiting = std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t>;

    const OffloadCycle& cycle_;
    const std::vector<Beginning>& beginnings_;
    std::int64_t period_ns_;
    std::int32_t operations_;
    WalkEstimate estimate_;
    OriginSets sets_;
    TailsOfSets tails_;
    std::uint32_t kept_;  // layers that are in memory from the beginning to their backward
    std::vector<OriginSets::Id> not_stale_;
    std::vector<OriginSets::Id> not_absent_;
    std::unordered_map<std::uint64_t, std::vector<std::int32_t>> classes_;
    std::unordered_map<std::uint64_t, std::vector<std::int32_t>> known_;
    std::unordered_map<std::uint64_t, std::int64_t> alike_;
    std::vector<Label> labels_;
    std::vector<Arrival> arrivals_;
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
    std::int64_t popped_ = 0;
    SweepAnswer answer_;
};

}  // namespace

SweepAnswer sweep_cycle(const OffloadCycle& cycle, const std::vector<Beginning>& beginnings,
                        std::int64_t period_ns, std::int64_t most_labels,
                        std::int64_t most_alike, const std::function<bool()>& poll) {
    return Sweep(cycle, beginnings, period_ns).run(most_labels, most_alike, poll);
}

}  // namespace jettison
