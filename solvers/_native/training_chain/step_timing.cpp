#include "training_chain/step_timing.hpp"

#include <algorithm>
#include <array>

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
          gone_ns_(layout.helds.size(), 0) {}

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
            if (!block_.empty()) {
                const auto block = static_cast<std::int64_t>(next_fetch / block_.size());
                const Waiting& waiting = block_[next_fetch % block_.size()];
                const std::int64_t trigger = waiting.position + block * count;
                if (trigger <= position) {
                    const std::int32_t held = fetches[waiting.number].held;
                    const std::int64_t fetch_ns = fetch_from(held, trigger);
                    if (fetch_ns != unknown_ns && (at_ns == unknown_ns || fetch_ns <= at_ns)) {
                        const std::int64_t of_step = block + waiting.later;
                        ++next_fetch;
                        arrivals_[of_step][waiting.number] = fetch(fetch_ns, held);
                        starts_[of_step].push_back(fetch_ns);
                        continue;
                    }
                }
            }
            if (at_ns == unknown_ns) return {};
            pass(at_ns);
            if (own == 0) {
                marks_.push_back(events_.size());
                if (repeats(step, at_ns)) return step_before(step, at_ns);
                if (step == most_steps) return {};
            }
            begins_.push_back(at_ns);
            starts_[step].push_back(at_ns);
            run_operation(at_ns, own, step);
            ++position;
        }
    }

private:
    // A prefetch in the order of their triggers, of those whose triggers are in one step: its
    // position in that step, whether it is for the step after that, and its number.
    struct Waiting {
        std::int32_t position, later, number;
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

    std::int64_t fetch_from(std::int32_t number, std::int64_t trigger) const {
        std::int64_t since_ns = trigger > 0 ? begins_[trigger - 1] : 0;
        since_ns = std::max({since_ns, from_host_ns_, copied_ns_[number]});
        since_ns = std::max({since_ns, gone_ns_[number], now_ns_});
        return when_free(since_ns, layout_.helds[number].size_bytes);
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

    void run_operation(std::int64_t now_ns, std::int32_t own, std::int32_t step) {
        const PlacedOperation& operation = layout_.operations[own];
        const auto kind = static_cast<TimedKind>(operation.kind);
        events_.push_back({now_ns, kind, operation.stage, -1});
        used_bytes_ += operation.takes_bytes;
        const std::int64_t end_ns = device_ns_ = now_ns + operation.duration_ns;
        const std::int64_t freed_bytes = operation.takes_bytes - operation.leaves_bytes;
        come({end_ns, freed_bytes, TimedKind::none, 0, -1});
        for (const std::int32_t number : operation.sends) send(end_ns, number, step);
        for (const std::int32_t number : operation.frees) {
            const HeldTensor& held = layout_.helds[number];
            const bool is_last = own == held.uses.back();
            const std::int64_t time_ns = held.is_activation() && is_last
                                             ? end_ns
                                             : std::max(end_ns, left_from(number));
            gone_ns_[number] = time_ns;
            const bool is_silent = (held.ends_by_itself && is_last) || !held.size_bytes ||
                                   held.name == TrainingTensor::gradient;
            come({time_ns, held.size_bytes, is_silent ? TimedKind::none : TimedKind::drop,
                  held.stage, static_cast<std::int32_t>(held.name)});
        }
    }

    // When the host has a copy of what leaves, or needs none any more.
    std::int64_t left_from(std::int32_t number) const {
        const HeldTensor& held = layout_.helds[number];
        const bool is_old =
            layout_.is_host_update(held.stage) || held.name == TrainingTensor::gradient;
        return is_old && !held.is_activation() ? 0 : copied_ns_[number];
    }

    void send(std::int64_t end_ns, std::int32_t number, std::int32_t step) {
        const HeldTensor& held = layout_.helds[number];
        const auto tensor = static_cast<std::int32_t>(held.name);
        std::int64_t done_ns = end_ns;
        if (held.size_bytes) {
            const std::int64_t start_ns = std::max(to_host_ns_, end_ns);
            done_ns = to_host_ns_ = start_ns + transfer_ns(held);
            come({start_ns, 0, TimedKind::offload, held.stage, tensor});
            starts_[step].push_back(start_ns);
        }
        copied_ns_[number] = done_ns;
        if (held.name == TrainingTensor::gradient && layout_.is_host_update(held.stage)) {
            const auto kind = held.size_bytes ? TimedKind::drop : TimedKind::none;
            come({done_ns, held.size_bytes, kind, held.stage, tensor});
            const std::int64_t start_ns = std::max(host_ns_, done_ns);
            host_ns_ = start_ns + steps_.stages[held.stage].host_update_ns;
            come({start_ns, 0, TimedKind::host_update, held.stage, -1});
            starts_[step].push_back(start_ns);
            // The host has had the only copy of the weights that counts since the backward
            // operation.
            copied_ns_[layout_.weights[held.stage]] = host_ns_;
        }
    }

    // Tells if the step that ends now is like the one before.
    bool repeats(std::int32_t step, std::int64_t now_ns) const {
        if (step < 2) return false;
        const std::size_t count = layout_.operations.size();
        const std::int64_t last_ns = begins_[(step - 1) * count];
        const std::int64_t before_ns = begins_[(step - 2) * count];
        if (now_ns - last_ns != last_ns - before_ns) return false;
        std::vector<std::int64_t> last = starts_[step - 1], before = starts_[step - 2];
        if (last.size() != before.size()) return false;
        std::sort(last.begin(), last.end());
        std::sort(before.begin(), before.end());
        for (std::size_t place = 0; place < last.size(); ++place) {
            if (last[place] - last_ns != before[place] - before_ns) return false;
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
    // By tensor: when its copy on the host is complete, and when it has left memory.
    std::vector<std::int64_t> copied_ns_, gone_ns_;
    // What happens by itself, by time; those before `first_` have.
    std::vector<Coming> coming_;
    std::size_t first_ = 0;
    std::vector<TimedEvent> events_;
    std::vector<Waiting> block_;
    // By step: when prefetches for it arrive; starts of its operations and transfers.
    std::array<std::vector<std::int64_t>, most_steps + 2> arrivals_, starts_;
    // Starts of all operations, and by step the number of events before it.
    std::vector<std::int64_t> begins_;
    std::vector<std::size_t> marks_;
};

}  // namespace

TimedStep time_step(const TrainingSteps& steps, const StepLayout& layout) {
    if (!layout.fits()) return {};
    return Timing(steps, layout).run();
}

}  // namespace jettison
