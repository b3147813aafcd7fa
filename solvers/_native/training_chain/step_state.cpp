#include "training_chain/step_state.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace jettison {
namespace {

constexpr std::uint32_t activations_of_stage = 3u;

}  // namespace

bool StepState::operator==(const StepState& other) const {
    return std::memcmp(this, &other, sizeof *this) == 0;
}

std::uint64_t StepState::hash() const {
    static_assert(sizeof(StepState) == 32, "a state has no padding");
    std::uint64_t words[4], found = 0;
    std::memcpy(words, this, sizeof words);
    for (const std::uint64_t word : words) {
        found = (found ^ word) * 0x9E3779B97F4A7C15u;
        found ^= found >> 29;
    }
    return found;
}

StepMoves::StepMoves(const TrainingSteps& steps, std::uint32_t updated_by_host)
    : stages_(steps.stages),
      input_bytes_(steps.input_bytes),
      memory_bytes_(steps.memory_bytes),
      by_host_(updated_by_host) {
    if (stages_.size() > most_searched_stages) throw std::invalid_argument("too many stages");
    std::int64_t unit = 0;
    for (const auto& stage : stages_) {
        unit = std::gcd(unit, std::gcd(stage.forward_ns, stage.backward_ns));
        unit = std::gcd(unit, std::gcd(stage.update_ns, stage.host_update_ns));
        for (const std::int64_t transfer : stage.transfer_ns) unit = std::gcd(unit, transfer);
    }
    unit_ns_ = std::max<std::int64_t>(unit, 1);
    const auto in_units = [this](std::int64_t& duration) {
        duration /= unit_ns_;
        if (duration > std::numeric_limits<std::int32_t>::max()) {
            throw std::invalid_argument("a duration is too long");
        }
    };
    for (auto& stage : stages_) {
        for (auto* duration :
             {&stage.forward_ns, &stage.backward_ns, &stage.update_ns, &stage.host_update_ns}) {
            in_units(*duration);
        }
        for (std::int32_t tensor = 0; tensor < training_tensors; ++tensor) {
            in_units(stage.transfer_ns[tensor]);
            sizes_.push_back(stage.size_bytes[tensor]);
            transfers_.push_back(static_cast<std::uint32_t>(stage.transfer_ns[tensor]));
        }
    }
}

std::vector<StepState> StepMoves::beginnings() const {
    std::vector<std::uint32_t> movable;
    StepState first;
    first.next = static_cast<std::uint8_t>(num_stages());
    for (std::int32_t stage = 0; stage < num_stages(); ++stage) {
        for (const Tensor tensor : {Tensor::weights, Tensor::states}) {
            if (!size(stage, tensor)) continue;
            first.host |= bit(stage, tensor);
            // States of what the host updates never move.
            if (tensor == Tensor::weights || !is_by_host(stage)) {
                movable.push_back(bit(stage, tensor));
            }
        }
    }
    std::vector<StepState> found;
    for (std::uint32_t chosen = 0; chosen < 1u << movable.size(); ++chosen) {
        StepState state = first;
        for (std::size_t place = 0; place < movable.size(); ++place) {
            if (chosen >> place & 1u) state.device |= movable[place];
        }
        if (used(state) <= memory_bytes_) found.push_back(state);
    }
    return found;
}

std::int64_t StepMoves::size_of(std::uint32_t tensors) const {
    std::int64_t total = 0;
    for (std::size_t tensor = 0; tensors; ++tensor, tensors >>= 1) {
        if (tensors & 1u) total += sizes_[tensor];
    }
    return total;
}

std::int64_t StepMoves::used(const StepState& state) const {
    std::int64_t total = input_bytes_ + size_of(state.device);
    if (state.from_host != StepState::none) total += sizes_[state.from_host];
    // The gradient of the output of the next stage to run back.
    if (state.next && state.next < num_stages()) {
        total += stages_[state.next - 1].output_gradient_bytes;
    }
    if (state.operation == StepState::none) return total;
    const auto& stage = stages_[state.operand];
    switch (static_cast<Operation>(state.operation)) {
        case Operation::forward:
            return total + size(state.operand, Tensor::output) + stage.forward_overhead_bytes;
        case Operation::forward_all:
            return total + size(state.operand, Tensor::saved) + stage.saving_overhead_bytes;
        case Operation::backward:
            return total + size(state.operand, Tensor::gradient) + stage.made_bytes +
                   std::max(stage.backward_overhead_bytes, stage.left_bytes - stage.made_bytes);
        case Operation::update: return total;
    }
    return total;
}

// What may not be dropped now, but for the input of an operation that is there twice.
std::uint32_t StepMoves::reserved(const StepState& state) const {
    std::uint32_t found = 0;
    if (state.to_host != StepState::none) found |= 1u << state.to_host;
    if (state.operation == StepState::none) return found;
    const std::int32_t stage = state.operand;
    found |= bit(stage, Tensor::weights);
    if (static_cast<Operation>(state.operation) == Operation::update) {
        return found | bit(stage, Tensor::states) | bit(stage, Tensor::gradient);
    }
    if (static_cast<Operation>(state.operation) == Operation::backward) {
        found |= bit(stage, Tensor::saved);
    }
    if (stage > 0) {
        const std::uint32_t input = activations_of_stage << (stage - 1) * training_tensors;
        const std::uint32_t there = state.device & input;
        if (there != input) found |= there;
    }
    return found;
}

// Whether an activation can be read after a transfer that starts now; other tensors can.
bool StepMoves::is_useful(const StepState& state, std::int32_t tensor) const {
    const std::int32_t stage = tensor / training_tensors;
    const auto name = static_cast<Tensor>(tensor % training_tensors);
    const bool runs_back = state.operation == static_cast<std::uint8_t>(Operation::backward);
    const std::int32_t open = state.next - (runs_back ? 1 : 0);
    if (name == Tensor::saved) return stage < open;
    if (name == Tensor::output) return stage + 1 < open;
    return true;
}

void StepMoves::start(const StepState& state, const Started& started) const {
    start_host_update(state, started);
}

void StepMoves::start_host_update(StepState state, const Started& started) const {
    const std::uint32_t on_host = state.due & by_host_;
    if (state.host_update == StepState::none && on_host) {
        for (std::int32_t stage = 0; stage < num_stages(); ++stage) {
            if (!(on_host >> stage & 1u) || !has(state.host, stage, Tensor::gradient)) continue;
            StepState chosen = state;
            chosen.host_update = static_cast<std::uint8_t>(stage);
            chosen.left[3] = static_cast<std::uint32_t>(stages_[stage].host_update_ns);
            start_offload(chosen, started);
            // No other stage will ever want the processor: there is no reason to wait.
            if (by_host_ == 1u << stage) return;
        }
    }
    start_offload(state, started);
}

void StepMoves::start_offload(StepState state, const Started& started) const {
    start_operation(state, started);
    if (state.to_host != StepState::none) return;
    const bool updates = state.operation == static_cast<std::uint8_t>(Operation::update);
    for (std::int32_t tensor = 0; tensor < num_stages() * training_tensors; ++tensor) {
        if (!(state.device >> tensor & 1u) || (state.host >> tensor & 1u) || !sizes_[tensor]) {
            continue;
        }
        const std::int32_t stage = tensor / training_tensors;
        const bool is_activation = tensor % training_tensors <= 1;
        if (!is_useful(state, tensor)) continue;
        if (updates && state.operand == stage && !is_activation) continue;
        StepState chosen = state;
        chosen.to_host = static_cast<std::uint8_t>(tensor);
        chosen.left[1] = transfers_[tensor];
        start_operation(chosen, started);
    }
}

void StepMoves::start_operation(StepState state, const Started& started) const {
    start_prefetch(state, started);
    if (state.operation != StepState::none) return;
    const auto go_on = [&](const StepState& chosen) {
        with_drops(chosen, [&](const StepState& fits) { start_prefetch(fits, started); });
    };
    for (std::int32_t stage = 0; stage < num_stages(); ++stage) {
        if (!(state.due >> stage & 1u)) {
            forwards(state, stage, go_on);
            continue;
        }
        const bool is_there = has(state.device, stage, Tensor::weights) &&
                              has(state.device, stage, Tensor::states) &&
                              has(state.device, stage, Tensor::gradient);
        const bool leaves = state.to_host != StepState::none &&
                            state.to_host / training_tensors == stage &&
                            state.to_host % training_tensors > 1;
        if (is_by_host(stage) || !is_there || leaves) continue;
        StepState chosen = state;
        chosen.operation = static_cast<std::uint8_t>(Operation::update);
        chosen.operand = static_cast<std::uint8_t>(stage);
        chosen.left[0] = static_cast<std::uint32_t>(stages_[stage].update_ns);
        go_on(chosen);
    }
}

void StepMoves::forwards(const StepState& state, std::int32_t stage, const Started& chosen) const {
    if (stage >= state.next || !has(state.device, stage, Tensor::weights)) return;
    if (stage > 0) {
        const std::uint32_t input = activations_of_stage << (stage - 1) * training_tensors;
        if (!(state.device & input)) return;
    }
    StepState made = state;
    made.operand = static_cast<std::uint8_t>(stage);
    made.left[0] = static_cast<std::uint32_t>(stages_[stage].forward_ns);
    for (const auto& [operation, tensor] :
         {std::pair(Operation::forward, Tensor::output),
          std::pair(Operation::forward_all, Tensor::saved)}) {
        const std::int32_t number =
            stage * training_tensors + static_cast<std::int32_t>(tensor);
        if ((state.device >> number & 1u) || state.from_host == number) continue;
        made.operation = static_cast<std::uint8_t>(operation);
        chosen(made);
    }
    if (stage + 1 == state.next && (state.device & bit(stage, Tensor::saved))) {
        made.operation = static_cast<std::uint8_t>(Operation::backward);
        made.left[0] = static_cast<std::uint32_t>(stages_[stage].backward_ns);
        chosen(made);
    }
}

void StepMoves::start_prefetch(StepState state, const Started& started) const {
    started(state);
    if (state.from_host != StepState::none) return;
    std::uint32_t made = 0;
    if (state.operation == static_cast<std::uint8_t>(Operation::forward)) {
        made = bit(state.operand, Tensor::output);
    } else if (state.operation == static_cast<std::uint8_t>(Operation::forward_all)) {
        made = bit(state.operand, Tensor::saved);
    }
    const std::uint32_t away = state.host & ~state.device & ~made;
    for (std::int32_t tensor = 0; tensor < num_stages() * training_tensors; ++tensor) {
        const std::int32_t stage = tensor / training_tensors;
        if (!(away >> tensor & 1u) || !is_useful(state, tensor)) continue;
        // What the host updates: weights once they are changed, nothing else.
        const auto name = static_cast<Tensor>(tensor % training_tensors);
        const bool is_changed = name == Tensor::weights && !(state.due >> stage & 1u);
        if (is_by_host(stage) && name >= Tensor::weights && !is_changed) continue;
        StepState chosen = state;
        chosen.from_host = static_cast<std::uint8_t>(tensor);
        chosen.left[2] = transfers_[tensor];
        with_drops(chosen, started);
    }
}

void StepMoves::with_drops(const StepState& state, const Started& fits) const {
    const std::int64_t over = used(state) - memory_bytes_;
    if (over <= 0) {
        fits(state);
        return;
    }
    std::uint32_t droppable = 0;
    for (std::int32_t tensor = 0; tensor < num_stages() * training_tensors; ++tensor) {
        const bool may_go = tensor % training_tensors <= 1 || (state.host >> tensor & 1u);
        if (may_go && sizes_[tensor]) droppable |= 1u << tensor;
    }
    droppable &= state.device & ~reserved(state);
    if (size_of(droppable) < over) return;
    drop_more(state, droppable, over, std::numeric_limits<std::int64_t>::max(), fits);
}

// Every set is met once, in the order of its tensors; one from which a tensor may stay is no least
// one.
void StepMoves::drop_more(StepState state, std::uint32_t choices, std::int64_t over,
                          std::int64_t least_dropped, const Started& fits) const {
    for (std::int32_t tensor = 0; choices; ++tensor) {
        const std::uint32_t one = 1u << tensor;
        if (!(choices & one)) continue;
        choices &= ~one;
        // The first of two copies of an input may have been dropped by now.
        if (reserved(state) & one) continue;
        StepState less = state;
        less.device &= ~one;
        const std::int64_t still = over - sizes_[tensor];
        const std::int64_t least = std::min(least_dropped, sizes_[tensor]);
        if (still > 0) {
            drop_more(less, choices, still, least, fits);
        } else if (still + least > 0) {
            fits(less);
        }
    }
}

StepMoves::Ended StepMoves::advance(const StepState& state) const {
    Ended ended;
    const bool runs[4] = {state.operation != StepState::none, state.to_host != StepState::none,
                          state.from_host != StepState::none,
                          state.host_update != StepState::none};
    std::uint32_t duration = std::numeric_limits<std::uint32_t>::max();
    for (int lane = 0; lane < 4; ++lane) {
        if (runs[lane]) duration = std::min(duration, state.left[lane]);
    }
    if (!(runs[0] || runs[1] || runs[2] || runs[3])) return ended;
    StepState next = state;
    for (int lane = 0; lane < 4; ++lane) {
        if (runs[lane]) next.left[lane] -= duration;
    }
    if (runs[1] && !next.left[1]) {
        next.host |= 1u << next.to_host;
        const std::int32_t stage = next.to_host / training_tensors;
        const auto name = static_cast<Tensor>(next.to_host % training_tensors);
        // A gradient that the host has is of no use on the device.
        if (name == Tensor::gradient && is_by_host(stage)) {
            ended.dropped |= bit(stage, name);
            next.device &= ~bit(stage, name);
        }
        next.to_host = StepState::none;
    }
    if (runs[2] && !next.left[2]) {
        next.device |= 1u << next.from_host;
        next.from_host = StepState::none;
    }
    if (runs[3] && !next.left[3]) {
        next.due = static_cast<std::uint8_t>(next.due & ~(1u << next.host_update));
        next.host &= ~bit(next.host_update, Tensor::gradient);
        next.host_update = StepState::none;
    }
    if (runs[0] && !next.left[0] && !end_operation(next, ended)) return ended;
    ended.state = next;
    ended.duration = duration;
    ended.is_possible = true;
    return ended;
}

bool StepMoves::end_operation(StepState& state, Ended& ended) const {
    const std::int32_t stage = state.operand;
    switch (static_cast<Operation>(state.operation)) {
        case Operation::forward: state.device |= bit(stage, Tensor::output); break;
        case Operation::forward_all: state.device |= bit(stage, Tensor::saved); break;
        case Operation::update:
            state.due = static_cast<std::uint8_t>(state.due & ~(1u << stage));
            state.host &= ~(bit(stage, Tensor::weights) | bit(stage, Tensor::states) |
                            bit(stage, Tensor::gradient));
            state.device &= ~bit(stage, Tensor::gradient);
            break;
        case Operation::backward:
            if (!end_backward(state, ended)) return false;
            break;
    }
    state.operation = StepState::none;
    state.operand = 0;
    return true;
}

// False where a transfer under way is of what ends now.
bool StepMoves::end_backward(StepState& state, Ended& ended) const {
    const std::int32_t stage = state.operand;
    std::uint32_t gone = bit(stage, Tensor::saved) | bit(stage, Tensor::output);
    if (stage > 0) gone |= bit(stage - 1, Tensor::output);
    if (stage == 0) {
        for (std::int32_t other = 0; other < num_stages(); ++other) {
            gone |= activations_of_stage << other * training_tensors;
        }
    }
    for (const std::uint8_t moving : {state.to_host, state.from_host}) {
        if (moving != StepState::none && (gone >> moving & 1u)) return false;
    }
    state.device &= ~gone;
    state.host &= ~gone;
    if (stages_[stage].is_trained) {
        state.due = static_cast<std::uint8_t>(state.due | 1u << stage);
        if (size(stage, Tensor::gradient)) state.device |= bit(stage, Tensor::gradient);
        // What the host changes from now on can come back to the same place.
        if (is_by_host(stage)) {
            ended.dropped |= state.device & bit(stage, Tensor::weights);
            state.device &= ~bit(stage, Tensor::weights);
        }
    }
    state.next = static_cast<std::uint8_t>(stage);
    if (stage == 0) {
        state.next = static_cast<std::uint8_t>(num_stages());
        ended.ends_step = true;
    }
    return true;
}

// What the device has to do before the step ends: the rest of what it does, backward operations,
// forward operations of which nothing is there, and updates of the step before.
std::int64_t StepMoves::least_left(const StepState& state) const {
    std::int64_t total = state.operation == StepState::none ? 0 : state.left[0];
    const bool runs_back = state.operation == static_cast<std::uint8_t>(Operation::backward);
    const bool saves = state.operation == static_cast<std::uint8_t>(Operation::forward_all);
    const bool updates = state.operation == static_cast<std::uint8_t>(Operation::update);
    const std::int32_t open = state.next - (runs_back ? 1 : 0);
    for (std::int32_t stage = 0; stage < open; ++stage) {
        const auto& given = stages_[stage];
        total += given.backward_ns;
        const std::uint32_t saved = bit(stage, Tensor::saved);
        const bool is_made = saves && state.operand == stage;
        if (!((state.device | state.host) & saved) && !is_made) total += given.forward_ns;
        const bool is_due = (state.due & ~by_host_) >> stage & 1u;
        if (is_due && !(updates && state.operand == stage)) total += given.update_ns;
    }
    return total;
}

}  // namespace jettison
