#include "weight_offload/timeline.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace jettison {
namespace {

// Most orders repeat after two or three steps.
constexpr int most_steps = 12;

std::int64_t first_bytes(const WeightChain& chain, const Absences& absences) {
    std::int64_t used = chain.resting_bytes.back();
    for (std::size_t layer = 0; layer < absences.size(); ++layer) {
        if (!(absences[layer] & after_forward)) used += chain.weight_bytes[layer];
    }
    return used;
}

// Deletions at a moment free memory for events that start at the same moment.
bool comes_before(const std::pair<std::int64_t, Event>& one,
                  const std::pair<std::int64_t, Event>& other) {
    return std::make_tuple(one.second.start, one.first, one.second.kind != EventKind::remove) <
           std::make_tuple(other.second.start, other.first,
                           other.second.kind != EventKind::remove);
}

}  // namespace

WeightTimeline::WeightTimeline(const WeightChain& chain, const Absences& absences,
                               Discount discount)
    : chain_(chain),
      absences_(absences),
      discount_(discount),
      memory_(first_bytes(chain, absences), chain.memory_bytes),
      resting_bytes_(chain.resting_bytes.back()) {
    weights_.resize(absences.size());
    for (std::size_t layer = 0; layer < absences.size(); ++layer) {
        weights_[layer].is_present = !(absences[layer] & after_forward);
    }
}

bool WeightTimeline::take(const Action& action) {
    switch (action.kind) {
        case ActionKind::compute:
            return compute(action.index);
        case ActionKind::prefetch:
            return prefetch(action.index);
        case ActionKind::upload:
            return upload(action.index);
        case ActionKind::fill:
            fill();
            return true;
    }
    return false;
}

bool WeightTimeline::compute(std::int32_t operation) {
    const auto at = static_cast<std::size_t>(operation);
    const std::int32_t layer = chain_.layer_of(operation);
    const bool is_backward = chain_.is_backward(operation);
    Weights& weights = weights_[static_cast<std::size_t>(layer)];
    if (!weights.is_present || weights.is_leaving) return false;
    std::int64_t from = std::max(processor_free_, weights.arrived);
    if (is_backward) from = std::max(from, weights.uploaded);
    const std::int64_t during = chain_.working_bytes[at] - resting_bytes_;
    const std::int64_t after = chain_.resting_bytes[at] - resting_bytes_;
    const std::int64_t duration = chain_.duration[at];
    const auto start = memory_.first_fit(from, duration, during, after);
    if (!start) return false;
    memory_.add(*start, during);
    memory_.add(*start + duration, after - during);
    events_.push_back(
        {*start, is_backward ? EventKind::backward : EventKind::forward, layer});
    processor_free_ = weights.last_used = *start + duration;
    resting_bytes_ = chain_.resting_bytes[at];
    const std::uint8_t absence = absences_[static_cast<std::size_t>(layer)];
    if (is_backward) {
        weights.is_hosted = false;
        weights.is_leaving = absence & after_backward;
        if (absence == after_forward) waiting_.push_back(layer);
    } else {
        const auto place = std::find(waiting_.begin(), waiting_.end(), layer);
        if (place != waiting_.end()) waiting_.erase(place);
        weights.is_leaving = absence & after_forward;
        const bool is_absent_twice = absence == (after_forward | after_backward);
        if (discount_ == Discount::not_used && is_absent_twice) weights.is_hosted = false;
        if (weights.is_leaving && weights.is_hosted) {
            remove(layer, std::max(processor_free_, weights.uploaded));
        }
    }
    return true;
}

bool WeightTimeline::prefetch(std::int32_t layer) {
    Weights& weights = weights_[static_cast<std::size_t>(layer)];
    if (weights.is_present) return false;
    const std::int64_t bytes = chain_.weight_bytes[static_cast<std::size_t>(layer)];
    const auto start =
        memory_.first_fit(std::max(prefetches_free_, weights.removed), 0, bytes, bytes);
    if (!start) return false;
    memory_.add(*start, bytes);
    events_.push_back({*start, EventKind::prefetch, layer});
    prefetches_free_ = *start + chain_.transfer[static_cast<std::size_t>(layer)];
    weights.arrived = prefetches_free_;
    weights.is_present = true;
    return true;
}

bool WeightTimeline::upload(std::int32_t layer) {
    Weights& weights = weights_[static_cast<std::size_t>(layer)];
    // Uploaded before, in idle time of the link.
    if (weights.is_hosted) return true;
    const std::int64_t start = std::max(uploads_free_, weights.last_used);
    events_.push_back({start, EventKind::upload, layer});
    uploads_free_ = weights.uploaded =
        start + chain_.transfer[static_cast<std::size_t>(layer)];
    weights.is_hosted = true;
    if (weights.is_leaving) remove(layer, weights.uploaded);
    return true;
}

void WeightTimeline::fill() {
    while (!waiting_.empty()) {
        // The smallest; among equal ones the first that was changed.
        const auto smallest = std::min_element(
            waiting_.begin(), waiting_.end(), [this](std::int32_t one, std::int32_t other) {
                return chain_.weight_bytes[static_cast<std::size_t>(one)] <
                       chain_.weight_bytes[static_cast<std::size_t>(other)];
            });
        const auto layer = static_cast<std::size_t>(*smallest);
        if (processor_free_ - uploads_free_ <= chain_.transfer[layer]) return;
        upload(*smallest);
        waiting_.erase(smallest);
    }
}

void WeightTimeline::remove(std::int32_t layer, std::int64_t time) {
    Weights& weights = weights_[static_cast<std::size_t>(layer)];
    memory_.add(time, -chain_.weight_bytes[static_cast<std::size_t>(layer)]);
    events_.push_back({time, EventKind::remove, layer});
    weights.is_present = weights.is_leaving = false;
    weights.removed = time;
}

bool WeightTimeline::is_as_at_first() const {
    for (std::size_t layer = 0; layer < weights_.size(); ++layer) {
        const bool was_present = !(absences_[layer] & after_forward);
        if (weights_[layer].is_present != was_present || weights_[layer].is_leaving) return false;
    }
    return true;
}

namespace {

// The steps of a timeline as they are added: where the events of each begin, and when B_L starts.
class Steps {
public:
    Steps(const WeightChain& chain, const WeightTimeline& timeline)
        : chain_(chain), events_(timeline.events()) {}

    // Everything that has happened since the last call is a step.
    void end_step() {
        const std::size_t from = firsts_.back();
        firsts_.push_back(events_.size());
        const auto first = std::find_if(
            events_.begin() + static_cast<std::ptrdiff_t>(from), events_.end(),
            [&](const Event& event) {
                return event.kind == EventKind::backward && event.layer == chain_.layers - 1;
            });
        origins_.push_back(first->start);
    }

    // Whether the last two steps differ by a shift only.
    bool is_repeated() const {
        if (origins_.size() < 2) return false;
        const std::size_t end = firsts_.back(), now = firsts_[firsts_.size() - 2];
        const std::size_t length = end - now;
        if (now - firsts_[firsts_.size() - 3] != length) return false;
        for (std::size_t place = now; place < end; ++place) {
            const Event& one = events_[place - length];
            const Event& other = events_[place];
            if (one.start + last_period() != other.start || one.kind != other.kind ||
                one.layer != other.layer) {
                return false;
            }
        }
        return true;
    }

    std::int64_t last_period() const {
        return origins_.back() - origins_[origins_.size() - 2];
    }
    std::int64_t last_origin() const { return origins_.back(); }
    std::size_t last() const { return origins_.size() - 1; }

    // The events of a step from `origin` on, those beyond the period at its other end. Time is cut
    // off to nanoseconds before it is wrapped: their parts only say what comes first.
    WeightCycleTimes wrap(std::size_t step, std::int64_t origin, std::int64_t period) const {
        const std::int64_t ticks = chain_.ticks_per_ns;
        WeightCycleTimes times{(origin + period) / ticks - origin / ticks, {}};
        std::vector<std::pair<std::int64_t, Event>> wrapped;
        for (std::size_t place = firsts_[step]; place < firsts_[step + 1]; ++place) {
            Event event = events_[place];
            std::int64_t since = event.start - origin;
            event.start = event.start / ticks - origin / ticks;
            for (; since < 0; since += period) event.start += times.period_ns;
            for (; since >= period && period > 0; since -= period) {
                event.start -= times.period_ns;
            }
            wrapped.emplace_back(since, event);
        }
        std::stable_sort(wrapped.begin(), wrapped.end(), comes_before);
        for (const auto& [since, event] : wrapped) times.events.push_back(event);
        return times;
    }

private:
    const WeightChain& chain_;
    const std::vector<Event>& events_;
    std::vector<std::size_t> firsts_{0};
    std::vector<std::int64_t> origins_;
};

}  // namespace

std::optional<std::int64_t> find_period(const WeightChain& chain, const Absences& absences,
                                        Discount discount, const Actions& actions,
                                        WeightCycleTimes* times) {
    WeightTimeline timeline(chain, absences, discount);
    Steps steps(chain, timeline);
    std::optional<std::int64_t> barrier;
    for (int step = 0; step < most_steps; ++step) {
        for (const Action& action : actions) {
            if (!timeline.take(action)) return std::nullopt;
        }
        steps.end_step();
        if (step == 0 && timeline.is_as_at_first()) barrier = timeline.end_of_all();
        if (!steps.is_repeated()) continue;
        const std::int64_t period = steps.last_period();
        if (times) *times = steps.wrap(steps.last(), steps.last_origin(), period);
        return period;
    }
    if (times && barrier) *times = steps.wrap(0, 0, *barrier);
    return barrier;
}

}  // namespace jettison
