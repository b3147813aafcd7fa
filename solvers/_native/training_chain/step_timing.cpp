#include "training_chain/step_timing.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace jettison {
namespace {

constexpr std::int32_t most_steps = 12;
constexpr std::int64_t unknown_ns = -1;

class Timing {
public:
    Timing(const TrainingSteps& steps, const StepLayout& layout)
        : steps_(steps),
          layout_(layout),
          used_bytes_(layout.used_bytes),
          copied_ns_(layout.helds.size(), 0),
          gone_ns_(layout.helds.size(), 0),
          leaving_ns_(layout.helds.size(), unknown_ns) {}

    TimedStep run() {
        const auto& fetches = layout_.fetches;
        const auto count = static_cast<std::int64_t>(layout_.operations.size());
        order_fetches();
        for (auto& arrivals : arrivals_) arrivals.assign(fetches.size(), unknown_ns);
        // The prefetches that the first step begins with are there.
        for (std::size_t number = 0; number < fetches.size(); ++number) {
            if (fetches[number].trigger < 0) arrivals_[0][number] = 0;
        }
        std::int64_t position = 0;
        std::size_t next_fetch = 0;
        while (true) {
            const auto step = static_cast<std::int32_t>(position / count);
            const auto own = static_cast<std::int32_t>(position % count);
            const PlacedOperation& operation = layout_.operations[own];
            std::int64_t at_ns = ready(operation, arrivals_[step]);
            if (at_ns != unknown_ns) at_ns = when_free(at_ns, operation.takes_bytes);
            for (; !block_.empty(); ++next_fetch) {
                const auto block = static_cast<std::int64_t>(next_fetch / block_.size());
                const Waiting& waiting = block_[next_fetch % block_.size()];
                const std::int64_t trigger = waiting.position + block * count;
                if (trigger > position) break;
                to_fetch_.push_back({trigger, block + waiting.later, waiting.number});
            }
            const std::size_t place = next_to_fetch();
            std::int64_t fetch_ns = unknown_ns;
            if (place < to_fetch_.size()) {
                const std::int32_t held = fetches[to_fetch_[place].number].held;
                fetch_ns = when_free(there_from(to_fetch_[place]), layout_.helds[held].size_bytes);
            }
            const bool is_fetch =
                fetch_ns != unknown_ns && (at_ns == unknown_ns || fetch_ns <= at_ns);
            if (decide(is_fetch ? fetch_ns : at_ns)) continue;
            if (is_fetch) {
                const Triggered next = to_fetch_[place];
                to_fetch_.erase(to_fetch_.begin() + static_cast<std::ptrdiff_t>(place));
                arrivals_[next.step][next.number] = fetch(fetch_ns, fetches[next.number].held);
                continue;
            }
            if (at_ns == unknown_ns) return {};
            pass(at_ns);
            if (own == 0) {
                marks_.push_back(events_.size());
                if (repeats(step, at_ns)) return step_before(step, at_ns);
                if (step == most_steps) return {};
            }
            begins_.push_back(at_ns);
            run_operation(at_ns, position);
            ++position;
        }
    }

private:
    // A prefetch in the order of their triggers, of those whose triggers are in one step: its
    // position in that step, whether it is for the step after that, and its number.
    struct Waiting {
        std::int32_t position, later, number;
    };

    // A prefetch whose trigger has been passed, in a step.
    struct Triggered {
        std::int64_t trigger, step;
        std::int32_t number;
    };

    // What waits for the link to the host, or for the host: since when, the position by which it
    // is needed, its place in the order of arrival, and the tensor.
    struct Queued {
        std::int64_t ready_ns, need;
        std::int32_t place, held;
    };

    struct Coming {
        std::int64_t time_ns, freed_bytes;
        TimedKind kind;
        std::int32_t stage, tensor;
    };

    void order_fetches() {
        const auto count = static_cast<std::int32_t>(layout_.operations.size());
        const auto& fetches = layout_.fetches;
        for (std::size_t number = 0; number < fetches.size(); ++number) {
            const std::int32_t trigger = fetches[number].trigger;
            const bool is_later = trigger < 0;
            block_.push_back({is_later ? trigger + count : trigger, is_later,
                              static_cast<std::int32_t>(number)});
        }
        std::sort(block_.begin(), block_.end(), [](const Waiting& one, const Waiting& two) {
            const std::array<std::int32_t, 3> first{one.position, one.later, one.number};
            const std::array<std::int32_t, 3> second{two.position, two.later, two.number};
            return first < second;
        });
    }

    // The place of the prefetch that is next: the first that has been triggered or, where those
    // wait whose copies are not complete, the first of those that can start earliest. Past the end
    // where there is none.
    std::size_t next_to_fetch() const {
        std::size_t found = to_fetch_.size();
        std::int64_t found_ns = unknown_ns;
        for (std::size_t place = 0; place < to_fetch_.size(); ++place) {
            const std::int64_t there_ns = there_from(to_fetch_[place]);
            if (there_ns != unknown_ns && (found_ns == unknown_ns || there_ns < found_ns)) {
                found = place;
                found_ns = there_ns;
            }
            const bool is_first_free = found_ns != unknown_ns && found_ns <= least_fetch_ns();
            if (!layout_.fetches_what_is_there() || is_first_free) break;
        }
        return found;
    }

    std::int64_t least_fetch_ns() const { return std::max(from_host_ns_, now_ns_); }

    // When a prefetch could start if it had the memory, if that is known.
    std::int64_t there_from(const Triggered& item) const {
        const std::int32_t number = layout_.fetches[item.number].held;
        if (copied_ns_[number] == unknown_ns || gone_ns_[number] == unknown_ns) return unknown_ns;
        const std::int64_t since_ns = item.trigger > 0 ? begins_[item.trigger - 1] : 0;
        return std::max({since_ns, least_fetch_ns(), copied_ns_[number], gone_ns_[number]});
    }

    // When all that an operation reads is there, if that is known.
    std::int64_t ready(const PlacedOperation& operation,
                       const std::vector<std::int64_t>& arrivals) const {
        std::int64_t ready_ns = std::max(device_ns_, now_ns_);
        for (const std::int32_t number : operation.fetches) {
            if (arrivals[number] == unknown_ns) return unknown_ns;
            ready_ns = std::max(ready_ns, arrivals[number]);
        }
        for (const std::int32_t number : operation.waits) {
            if (copied_ns_[number] == unknown_ns) return unknown_ns;
            ready_ns = std::max(ready_ns, copied_ns_[number]);
        }
        return ready_ns;
    }

    // The earliest time from which so much memory is free, if one is known.
    std::int64_t when_free(std::int64_t since_ns, std::int64_t size_bytes) const {
        std::int64_t over = used_bytes_ + size_bytes - steps_.memory_bytes;
        std::int64_t when_ns = since_ns;
        for (std::size_t place = first_; place < coming_.size(); ++place) {
            const Coming& item = coming_[place];
            if (item.time_ns > since_ns) {
                if (over <= 0) break;
                when_ns = item.time_ns;
            }
            over -= item.freed_bytes;
        }
        return over <= 0 ? when_ns : unknown_ns;
    }

    // Lets everything happen that happens by itself until now.
    void pass(std::int64_t now_ns) {
        now_ns_ = now_ns;
        while (first_ < coming_.size() && coming_[first_].time_ns <= now_ns) {
            const Coming& item = coming_[first_++];
            used_bytes_ -= item.freed_bytes;
            if (item.kind != TimedKind::none) {
                events_.push_back({item.time_ns, item.kind, item.stage, item.tensor});
            }
        }
        if (first_ > 64) {
            coming_.erase(coming_.begin(), coming_.begin() + static_cast<std::ptrdiff_t>(first_));
            first_ = 0;
        }
    }

    void come(Coming item) {
        const auto place =
            std::upper_bound(coming_.begin() + static_cast<std::ptrdiff_t>(first_), coming_.end(),
                             item, [](const Coming& one, const Coming& two) {
                                 return one.time_ns < two.time_ns;
                             });
        coming_.insert(place, item);
    }

    std::int64_t transfer_ns(const HeldTensor& held) const {
        return steps_.stages[held.stage].transfer_ns[static_cast<int>(held.name)];
    }

    std::int64_t fetch(std::int64_t now_ns, std::int32_t number) {
        pass(now_ns);
        const HeldTensor& held = layout_.helds[number];
        used_bytes_ += held.size_bytes;
        const std::int64_t end_ns = now_ns + transfer_ns(held);
        if (held.size_bytes) {
            const auto tensor = static_cast<std::int32_t>(held.name);
            events_.push_back({now_ns, TimedKind::prefetch, held.stage, tensor});
            from_host_ns_ = end_ns;
        }
        return end_ns;
    }

    void run_operation(std::int64_t now_ns, std::int64_t position) {
        const auto own = static_cast<std::int32_t>(
            position % static_cast<std::int64_t>(layout_.operations.size()));
        const PlacedOperation& operation = layout_.operations[own];
        const auto kind = static_cast<TimedKind>(operation.kind);
        events_.push_back({now_ns, kind, operation.stage, -1});
        used_bytes_ += operation.takes_bytes;
        const std::int64_t end_ns = device_ns_ = now_ns + operation.duration_ns;
        const std::int64_t freed_bytes = operation.takes_bytes - operation.leaves_bytes;
        come({end_ns, freed_bytes, TimedKind::none, 0, -1});
        for (const std::int32_t number : operation.sends) send(end_ns, number, position);
        for (const std::int32_t number : operation.frees) {
            const HeldTensor& held = layout_.helds[number];
            const bool is_last = own == held.uses.back();
            const bool is_silent = (held.ends_by_itself && is_last) || !held.size_bytes ||
                                   held.name == TrainingTensor::gradient;
            if (is_copy_needed(number) && !(held.is_activation() && is_last)) {
                if (copied_ns_[number] == unknown_ns) {
                    gone_ns_[number] = unknown_ns;
                    leaving_ns_[number] = end_ns;
                    continue;
                }
                leave(std::max(end_ns, copied_ns_[number]), number, is_silent);
            } else {
                leave(end_ns, number, is_silent);
            }
        }
    }

    void leave(std::int64_t time_ns, std::int32_t number, bool is_silent) {
        const HeldTensor& held = layout_.helds[number];
        gone_ns_[number] = time_ns;
        come({time_ns, held.size_bytes, is_silent ? TimedKind::none : TimedKind::drop, held.stage,
              static_cast<std::int32_t>(held.name)});
    }

    // Whether the host has to have a copy of what leaves.
    bool is_copy_needed(std::int32_t number) const {
        const HeldTensor& held = layout_.helds[number];
        if (held.is_activation()) return true;
        return held.name != TrainingTensor::gradient && !layout_.is_host_update(held.stage);
    }

    // Puts a tensor in the queue of the link to the host.
    void send(std::int64_t end_ns, std::int32_t number, std::int64_t position) {
        const HeldTensor& held = layout_.helds[number];
        if (is_updated_with(held)) copied_ns_[layout_.weights[held.stage]] = unknown_ns;
        if (!held.size_bytes) {
            arrive(end_ns, number, layout_.needed_after(number, position));
            return;
        }
        copied_ns_[number] = unknown_ns;
        to_send_.push_back({end_ns, layout_.needed_after(number, position), numbered_++, number});
    }

    bool is_updated_with(const HeldTensor& held) const {
        return held.name == TrainingTensor::gradient && layout_.is_host_update(held.stage);
    }

    // Lets the host have a copy; of a gradient, puts the update into the queue of the host.
    void arrive(std::int64_t done_ns, std::int32_t number, std::int64_t need) {
        const HeldTensor& held = layout_.helds[number];
        copied_ns_[number] = done_ns;
        if (leaving_ns_[number] != unknown_ns) {
            leave(std::max(leaving_ns_[number], done_ns), number, !held.size_bytes);
            leaving_ns_[number] = unknown_ns;
        }
        if (is_updated_with(held)) {
            const auto kind = held.size_bytes ? TimedKind::drop : TimedKind::none;
            come({done_ns, held.size_bytes, kind, held.stage,
                  static_cast<std::int32_t>(held.name)});
            to_update_.push_back({done_ns, need, numbered_++, number});
        }
    }

    // Starts the next transfer to the host or update there, if none of the operations and
    // prefetches starts before; tells if it did.
    bool decide(std::int64_t before_ns) {
        const std::int64_t send_ns = next_from(to_send_, to_host_ns_);
        const std::int64_t update_ns = next_from(to_update_, host_ns_);
        const bool is_send =
            send_ns != unknown_ns && (update_ns == unknown_ns || send_ns <= update_ns);
        const std::int64_t start_ns = is_send ? send_ns : update_ns;
        if (start_ns == unknown_ns || (before_ns != unknown_ns && start_ns > before_ns)) {
            return false;
        }
        const Queued next = is_send ? taken(to_send_, start_ns, layout_.sends_by_need())
                                    : taken(to_update_, start_ns, layout_.updates_by_need());
        const HeldTensor& held = layout_.helds[next.held];
        if (is_send) {
            const auto tensor = static_cast<std::int32_t>(held.name);
            come({start_ns, 0, TimedKind::offload, held.stage, tensor});
            to_host_ns_ = start_ns + transfer_ns(held);
            arrive(to_host_ns_, next.held, next.need);
        } else {
            come({start_ns, 0, TimedKind::host_update, held.stage, -1});
            host_ns_ = start_ns + steps_.stages[held.stage].host_update_ns;
            // The host has had the only copy of the weights that counts since the backward
            // operation.
            copied_ns_[layout_.weights[held.stage]] = host_ns_;
        }
        return true;
    }

    static std::int64_t next_from(const std::vector<Queued>& queue, std::int64_t since_ns) {
        std::int64_t first_ns = unknown_ns;
        for (const Queued& item : queue) {
            if (first_ns == unknown_ns || item.ready_ns < first_ns) first_ns = item.ready_ns;
        }
        return first_ns == unknown_ns ? unknown_ns : std::max(first_ns, since_ns);
    }

    // Takes the item that came first of those that wait at a time, or that is needed first.
    static Queued taken(std::vector<Queued>& queue, std::int64_t at_ns, bool by_need) {
        const auto rank = [by_need](const Queued& item) {
            return std::pair(by_need ? item.need : 0, item.place);
        };
        auto best = queue.end();
        for (auto item = queue.begin(); item != queue.end(); ++item) {
            if (item->ready_ns > at_ns) continue;
            if (best == queue.end() || rank(*item) < rank(*best)) best = item;
        }
        const Queued found = *best;
        queue.erase(best);
        return found;
    }

    // Tells if the step that ends now is like the one before.
    bool repeats(std::int32_t step, std::int64_t now_ns) const {
        if (step < 2) return false;
        const std::size_t count = layout_.operations.size();
        const std::int64_t last_ns = begins_[(step - 1) * count];
        const std::int64_t before_ns = begins_[(step - 2) * count];
        if (now_ns - last_ns != last_ns - before_ns) return false;
        const std::size_t first = marks_[step - 2], middle = marks_[step - 1];
        if (middle - first != marks_[step] - middle) return false;
        for (std::size_t place = first; place < middle; ++place) {
            const TimedEvent& one = events_[place];
            const TimedEvent& two = events_[place + (middle - first)];
            if (one.time_ns - before_ns != two.time_ns - last_ns || one.kind != two.kind ||
                one.stage != two.stage || one.tensor != two.tensor) {
                return false;
            }
        }
        return true;
    }

    TimedStep step_before(std::int32_t step, std::int64_t now_ns) const {
        const std::int64_t last_ns = begins_[(step - 1) * layout_.operations.size()];
        TimedStep found;
        found.period_ns = now_ns - last_ns;
        for (std::size_t place = marks_[step - 1]; place < marks_[step]; ++place) {
            found.events.push_back(events_[place]);
            found.events.back().time_ns -= last_ns;
        }
        return found;
    }

    const TrainingSteps& steps_;
    const StepLayout& layout_;
    std::int64_t used_bytes_;
    std::int64_t now_ns_ = 0, device_ns_ = 0, to_host_ns_ = 0, from_host_ns_ = 0, host_ns_ = 0;
    // By tensor: when its copy on the host is complete, when it has left memory, and since when it
    // only waits for its copy; unknown while its transfer has not begun.
    std::vector<std::int64_t> copied_ns_, gone_ns_, leaving_ns_;
    std::vector<Queued> to_send_, to_update_;
    std::vector<Triggered> to_fetch_;
    std::int32_t numbered_ = 0;
    // What happens by itself, by time; those before `first_` have.
    std::vector<Coming> coming_;
    std::size_t first_ = 0;
    std::vector<TimedEvent> events_;
    std::vector<Waiting> block_;
    // By step: when prefetches for it arrive.
    std::array<std::vector<std::int64_t>, most_steps + 2> arrivals_;
    // Starts of all operations, and by step the number of events before it.
    std::vector<std::int64_t> begins_;
    std::vector<std::size_t> marks_;
};

}  // namespace

std::int64_t busiest_ns(const TrainingSteps& steps, const StepLayout& layout) {
    std::int64_t device_ns = 0, host_ns = 0, from_host_ns = 0, to_host_ns = 0;
    const auto transfer_ns = [&](std::int32_t number) {
        const HeldTensor& held = layout.helds[number];
        const bool is_moved = held.size_bytes > 0;
        const auto& times_ns = steps.stages[held.stage].transfer_ns;
        return is_moved ? times_ns[static_cast<int>(held.name)] : 0;
    };
    for (const PlacedOperation& operation : layout.operations) {
        device_ns += operation.duration_ns;
        for (const std::int32_t number : operation.sends) {
            to_host_ns += transfer_ns(number);
            const HeldTensor& held = layout.helds[number];
            if (held.name == TrainingTensor::gradient && layout.is_host_update(held.stage)) {
                host_ns += steps.stages[held.stage].host_update_ns;
            }
        }
    }
    for (const FetchedTensor& fetch : layout.fetches) from_host_ns += transfer_ns(fetch.held);
    return std::max({device_ns, host_ns, from_host_ns, to_host_ns});
}

TimedStep time_step(const TrainingSteps& steps, const StepLayout& layout) {
    if (!layout.fits()) return {};
    return Timing(steps, layout).run();
}

}  // namespace jettison
