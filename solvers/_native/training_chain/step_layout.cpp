#include "training_chain/step_layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace jettison {

StepLayout::StepLayout(const TrainingSteps& steps, const StepPlan& plan)
    : steps_(steps), plan_(plan), constant_bytes_(steps.input_bytes) {
    place();
    for (std::int32_t number = 0; number < static_cast<std::int32_t>(helds.size()); ++number) {
        let_leave(number);
    }
    add_gradients_of_outputs();
    add_needs();
    fetch_ahead();
}

bool StepLayout::fits() const {
    return *std::max_element(needs_bytes_.begin(), needs_bytes_.end()) <= steps_.memory_bytes;
}

void StepLayout::place() {
    const std::size_t stages = steps_.stages.size();
    std::vector<std::int32_t> latest(stages, -1), latest_saved(stages, -1);
    // Weights, gradient and states of each stage, in the order of their first uses.
    using Uses = std::pair<TrainingTensor, std::vector<std::int32_t>>;
    std::vector<std::vector<Uses>> uses_of(stages);
    const auto use = [&](TrainingTensor name, std::int32_t stage, std::int32_t position) {
        for (auto& [known, uses] : uses_of[stage]) {
            if (known == name) {
                uses.push_back(position);
                return;
            }
        }
        uses_of[stage].push_back({name, {position}});
    };
    operations.reserve(plan_.order.size());
    std::int32_t position = -1;
    for (const auto& [kind, number] : plan_.order) {
        ++position;
        const TrainingStage& stage = steps_.stages[number];
        use(TrainingTensor::weights, number, position);
        if (kind == TrainingOperation::update) {
            operations.push_back({kind, number, stage.update_ns, 0, 0, {}, {}, {}, {}});
            use(TrainingTensor::states, number, position);
            use(TrainingTensor::gradient, number, position);
            continue;
        }
        if (number > 0) helds[latest[number - 1]].uses.push_back(position);
        if (kind == TrainingOperation::backward) {
            place_backward(position, number, latest, latest_saved);
            use(TrainingTensor::gradient, number, position);
            continue;
        }
        const bool is_all = kind == TrainingOperation::forward_all;
        const auto name = is_all ? TrainingTensor::saved : TrainingTensor::output;
        const std::int64_t size = stage.size_bytes[static_cast<int>(name)];
        const std::int64_t overhead =
            is_all ? stage.saving_overhead_bytes : stage.forward_overhead_bytes;
        operations.push_back({kind, number, stage.forward_ns, size + overhead, size, {}, {}, {},
                              {}});
        latest[number] = static_cast<std::int32_t>(helds.size());
        if (is_all) latest_saved[number] = latest[number];
        helds.push_back({name, number, size, {position}, {}, false});
    }
    weights.assign(stages, -1);
    for (std::size_t number = 0; number < stages; ++number) {
        const TrainingStage& stage = steps_.stages[number];
        if (!stage.is_trained) continue;
        for (auto& [name, uses] : uses_of[number]) {
            if (name == TrainingTensor::weights) {
                weights[number] = static_cast<std::int32_t>(helds.size());
            }
            helds.push_back({name, static_cast<std::int32_t>(number),
                             stage.size_bytes[static_cast<int>(name)], std::move(uses), {},
                             name == TrainingTensor::gradient});
        }
    }
}

void StepLayout::place_backward(std::int32_t position, std::int32_t number,
                                const std::vector<std::int32_t>& latest,
                                const std::vector<std::int32_t>& latest_saved) {
    const TrainingStage& stage = steps_.stages[number];
    const std::int64_t left = stage.left_bytes, made = stage.made_bytes;
    const std::int64_t working = made + std::max(stage.backward_overhead_bytes, left - made);
    const std::int64_t gradient = stage.size_bytes[static_cast<int>(TrainingTensor::gradient)];
    operations.push_back({TrainingOperation::backward, number, stage.backward_ns,
                          working + gradient, left + (stage.is_trained ? gradient : 0), {}, {},
                          {}, {}});
    HeldTensor& saved = helds[latest_saved[number]];
    saved.uses.push_back(position);
    saved.ends_by_itself = true;
    if (number > 0 && helds[latest[number - 1]].name == TrainingTensor::output) {
        helds[latest[number - 1]].ends_by_itself = true;
    }
}

void StepLayout::add_gradients_of_outputs() {
    std::vector<std::int32_t> backward(steps_.stages.size(), -1);
    for (std::int32_t position = 0; position < count(); ++position) {
        if (operations[position].kind == TrainingOperation::backward) {
            backward[operations[position].stage] = position;
        }
    }
    for (std::size_t number = 0; number + 1 < steps_.stages.size(); ++number) {
        const std::int64_t size = steps_.stages[number].output_gradient_bytes;
        operations[backward[number]].leaves_bytes -= size;
        if (size) intervals_.push_back({backward[number + 1] + 1, backward[number], size});
    }
}

void StepLayout::let_leave(std::int32_t number) {
    switch (helds[number].name) {
        case TrainingTensor::gradient: return let_gradient_leave(number);
        case TrainingTensor::weights: return let_weights_leave(number);
        case TrainingTensor::states: return let_states_leave(number);
        default: return let_activation_leave(number);
    }
}

void StepLayout::free_at(std::int32_t position, std::int32_t number) {
    operations[position].frees.push_back(number);
    helds[number].freed_at.push_back(position);
}

void StepLayout::await(std::int32_t number, std::int32_t need, std::int32_t end) {
    fetches.push_back({number, need, need});
    intervals_.push_back({need, end, helds[number].size_bytes});
}

void StepLayout::let_activation_leave(std::int32_t number) {
    const HeldTensor& held = helds[number];
    const StageChoices& choice = plan_.choices[held.stage];
    const bool is_sent =
        held.name == TrainingTensor::saved ? choice.sends_saved : choice.sends_output;
    const auto& uses = held.uses;
    // The longest gap, the first of several.
    std::int32_t from = 0, to = 0;
    for (std::size_t place = 0; place + 1 < uses.size(); ++place) {
        if (place == 0 || uses[place + 1] - uses[place] > to - from) {
            from = uses[place];
            to = uses[place + 1];
        }
    }
    if (is_sent && held.size_bytes && to - from > 1) {
        operations[uses.front()].sends.push_back(number);
        free_at(from, number);
        // The operation that makes it takes its memory by itself.
        intervals_.push_back({uses.front() + 1, from, held.size_bytes});
        await(number, to, uses.back());
    } else {
        intervals_.push_back({uses.front() + 1, uses.back(), held.size_bytes});
    }
    free_at(uses.back(), number);
}

void StepLayout::let_gradient_leave(std::int32_t number) {
    const HeldTensor& held = helds[number];
    const auto at = [&](TrainingOperation kind) {
        return *std::find_if(held.uses.begin(), held.uses.end(), [&](std::int32_t place) {
            return operations[place].kind == kind;
        });
    };
    const std::int32_t backward = at(TrainingOperation::backward);
    if (is_host_update(held.stage)) {
        operations[backward].sends.push_back(number);
        return;
    }
    const std::int32_t update = at(TrainingOperation::update);
    free_at(update, number);
    std::int32_t start = backward + 1;
    if (update < backward) {
        start -= count();
        used_bytes += held.size_bytes;
    }
    intervals_.push_back({start, update, held.size_bytes});
}

void StepLayout::let_states_leave(std::int32_t number) {
    const HeldTensor& held = helds[number];
    const std::int32_t update = held.uses.front();
    if (!plan_.choices[held.stage].states_away || count() < 2 || !held.size_bytes) {
        constant_bytes_ += held.size_bytes;
        return;
    }
    operations[update].waits.push_back(number);
    operations[update].sends.push_back(number);
    free_at(update, number);
    await(number, update, update);
}

void StepLayout::let_weights_leave(std::int32_t number) {
    const StageChoices& choice = plan_.choices[helds[number].stage];
    const std::vector<std::int32_t> uses = helds[number].uses;
    const std::int64_t size = helds[number].size_bytes;
    const bool is_host = choice.update == UpdatePlace::host;
    std::vector<std::pair<std::int32_t, std::int32_t>> gaps;
    for (std::size_t use = 0; use < uses.size(); ++use) {
        const std::int32_t place = uses[use];
        const std::int32_t after =
            use + 1 < uses.size() ? uses[use + 1] : uses.front() + count();
        const TrainingOperation kind = operations[place].kind;
        const bool is_after =
            kind == TrainingOperation::backward ||
            (kind == TrainingOperation::update && choice.update == UpdatePlace::at_once);
        const bool leaves = is_after ? choice.away_after : choice.away_between;
        const bool is_empty = !size || after - place < 2;
        if ((is_host && is_after) || (leaves && !is_empty)) gaps.emplace_back(place, after);
    }
    // The first use in a step waits for the update on the host, which the prefetch does where there
    // is anything to bring.
    if (is_host) operations[uses.front()].waits.push_back(number);
    for (const std::int32_t place : uses) {
        if (operations[place].kind != TrainingOperation::update) continue;
        operations[place].waits.push_back(number);
        if (!gaps.empty()) operations[place].sends.push_back(number);
    }
    if (gaps.empty()) {
        constant_bytes_ += size;
        return;
    }
    for (const auto& [place, after] : gaps) {
        free_at(place, number);
        // The start of the next gap from this use on, this step's or the next one's.
        std::int32_t end = 2 * count();
        for (const auto& [start, unused] : gaps) {
            (void)unused;
            for (const std::int32_t at : {start, start + count()}) {
                if (at >= after) end = std::min(end, at);
            }
        }
        const std::int32_t shift = after >= count() ? count() : 0;
        await(number, after - shift, end - shift);
    }
}

void StepLayout::add_needs() {
    const std::int32_t n = count();
    needs_bytes_.assign(n, constant_bytes_);
    for (std::int32_t position = 0; position < n; ++position) {
        needs_bytes_[position] += operations[position].takes_bytes;
    }
    // By differences over the step before, this one and the next.
    std::vector<std::int64_t> rises(3 * static_cast<std::size_t>(n) + 1, 0);
    for (const Interval& interval : intervals_) {
        if (interval.start > interval.end) continue;
        rises[interval.start + n] += interval.size_bytes;
        rises[interval.end + 1 + n] -= interval.size_bytes;
    }
    std::int64_t sum = 0;
    for (std::int32_t place = 0; place < 3 * n; ++place) {
        sum += rises[place];
        needs_bytes_[place % n] += sum;
    }
}

void StepLayout::fetch_ahead() {
    const std::int32_t n = count();
    used_bytes += constant_bytes_;
    for (const Interval& interval : intervals_) {
        if (interval.start < n && n <= interval.end) used_bytes += interval.size_bytes;
    }
    std::stable_sort(fetches.begin(), fetches.end(),
                     [](const auto& one, const auto& two) { return one.need < two.need; });
    for (FetchedTensor& fetch : fetches) {
        const HeldTensor& held = helds[fetch.held];
        const std::int32_t ahead =
            held.is_activation() ? plan_.activations_ahead : plan_.weights_ahead;
        const std::int32_t first = std::max(gone_before(fetch) + 1, fetch.need - ahead);
        while (fetch.trigger > first) {
            std::int64_t& need_bytes = needs_bytes_[(fetch.trigger - 1 + n) % n];
            if (need_bytes + held.size_bytes > steps_.memory_bytes) break;
            need_bytes += held.size_bytes;
            --fetch.trigger;
        }
        if (fetch.trigger < 0) used_bytes += held.size_bytes;
    }
    std::stable_sort(fetches.begin(), fetches.end(), [](const auto& one, const auto& two) {
        return std::pair(one.trigger, one.need) < std::pair(two.trigger, two.need);
    });
    for (std::size_t place = 0; place < fetches.size(); ++place) {
        operations[fetches[place].need].fetches.push_back(static_cast<std::int32_t>(place));
    }
}

std::int32_t StepLayout::gone_before(const FetchedTensor& fetch) const {
    std::int32_t before = -1, last = 0;
    for (const std::int32_t place : helds[fetch.held].freed_at) {
        if (place < fetch.need) before = std::max(before, place);
        last = std::max(last, place);
    }
    return before >= 0 ? before : last - count();
}

std::int64_t StepLayout::needed_after(std::int32_t number, std::int64_t position) const {
    const HeldTensor& held = helds[number];
    const std::int64_t own = position % count();
    std::int64_t need = own + count();
    if (held.name == TrainingTensor::gradient) {
        need = helds[weights[held.stage]].uses.front() + count();
    } else {
        for (const FetchedTensor& fetch : fetches) {
            if (fetch.held != number) continue;
            need = std::min<std::int64_t>(need, fetch.need + (fetch.need > own ? 0 : count()));
        }
    }
    return position - own + need;
}

}  // namespace jettison
