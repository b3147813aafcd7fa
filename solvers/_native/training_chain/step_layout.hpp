// Layout of a step of a training chain: what operations need, what leaves and comes back.
//
// Operations have positions 0 to n - 1; position p + n is that of the next step. A tensor has uses
// at positions, and is on the host in some of the gaps between two uses. It is in memory from the
// trigger of its prefetch on: the position of the next use, or some operations earlier, as far as
// all operations between fit beside it. What leaves in the background is not counted here: an
// operation waits for it (step_timing.hpp).
#pragma once

#include <cstdint>
#include <vector>

namespace jettison {

enum class TrainingOperation : std::int32_t { forward, forward_all, backward, update };
enum class TrainingTensor : std::int32_t { saved, output, weights, gradient, states };
constexpr std::int32_t training_tensors = 5;
enum class UpdatePlace : std::int32_t { at_once, late, host };

// By stage, the first stage first; sizes and transfers of tensors in the order of TrainingTensor.
struct TrainingStage {
    std::int64_t forward_ns, backward_ns, update_ns, host_update_ns;
    std::int64_t size_bytes[training_tensors], transfer_ns[training_tensors];
    std::int64_t output_gradient_bytes;  // of its own output
    std::int64_t left_bytes;             // gradient of its input, 0 for the first stage
    std::int64_t made_bytes;             // what of that its backward operation adds
    // Of a forward operation that saves nothing, of one that saves, and of the backward operation.
    std::int64_t forward_overhead_bytes, saving_overhead_bytes, backward_overhead_bytes;
    bool is_trained;
};

struct TrainingSteps {
    std::vector<TrainingStage> stages;
    std::int64_t input_bytes = 0, memory_bytes = 0;
};

struct StageChoices {
    UpdatePlace update;
    bool away_between, away_after, states_away, sends_saved, sends_output;
};

struct OrderedOperation {
    TrainingOperation kind;
    std::int32_t stage;  // from 0
};

struct StepPlan {
    std::vector<OrderedOperation> order;
    std::vector<StageChoices> choices;
    std::int32_t weights_ahead = 0, activations_ahead = 0;
    // Whether what is needed first goes to the host first, or is updated there first.
    bool sends_by_need = false, updates_by_need = false;
    // Whether a prefetch passes others whose copies on the host are not complete.
    bool fetches_what_is_there = false;
};

// A production of an activation, or weights, states or a gradient; uses ascend, and the first is
// that of the operation that makes it, if one does.
struct HeldTensor {
    TrainingTensor name;
    std::int32_t stage;
    std::int64_t size_bytes;
    std::vector<std::int32_t> uses, freed_at;
    bool ends_by_itself = false;

    bool is_activation() const { return name <= TrainingTensor::output; }
};

// `need` is in this step, `trigger` may be in the one before.
struct FetchedTensor {
    std::int32_t held, trigger, need;
};

struct PlacedOperation {
    TrainingOperation kind;
    std::int32_t stage;
    std::int64_t duration_ns;
    // Memory taken at its start beside what is there, and how much of that is in use by its end.
    std::int64_t takes_bytes = 0, leaves_bytes = 0;
    std::vector<std::int32_t> fetches, waits, sends, frees;
};

class StepLayout {
public:
    StepLayout(const TrainingSteps& steps, const StepPlan& plan);

    // Whether every operation fits when all that leaves has left.
    bool fits() const;

    std::vector<PlacedOperation> operations;
    std::vector<HeldTensor> helds;
    std::vector<FetchedTensor> fetches;  // by ascending trigger
    std::int64_t used_bytes = 0;         // before the first operation of a step
    std::vector<std::int32_t> weights;   // by stage, -1 for one that is not trained

    // The position at which a tensor that is sent after an operation is needed again; of a
    // gradient, at which its weights are.
    std::int64_t needed_after(std::int32_t held, std::int64_t position) const;

    bool sends_by_need() const { return plan_.sends_by_need; }
    bool updates_by_need() const { return plan_.updates_by_need; }
    bool fetches_what_is_there() const { return plan_.fetches_what_is_there; }

    bool is_host_update(std::int32_t stage) const {
        return plan_.choices[stage].update == UpdatePlace::host;
    }

private:
    struct Interval {
        std::int32_t start, end;
        std::int64_t size_bytes;
    };

    void place();
    void place_backward(std::int32_t position, std::int32_t stage,
                        const std::vector<std::int32_t>& latest,
                        const std::vector<std::int32_t>& latest_saved);
    void add_gradients_of_outputs();
    void let_leave(std::int32_t number);
    void let_activation_leave(std::int32_t number);
    void let_gradient_leave(std::int32_t number);
    void let_states_leave(std::int32_t number);
    void let_weights_leave(std::int32_t number);
    void free_at(std::int32_t position, std::int32_t number);
    // Brings a tensor for a use, from which it stays to the end of another one.
    void await(std::int32_t number, std::int32_t need, std::int32_t end);
    void add_needs();
    void fetch_ahead();
    std::int32_t gone_before(const FetchedTensor& fetch) const;

    std::int32_t count() const { return static_cast<std::int32_t>(operations.size()); }

    const TrainingSteps& steps_;
    const StepPlan& plan_;
    // Where a tensor is in memory; the end is in this step.
    std::vector<Interval> intervals_;
    std::vector<std::int64_t> needs_bytes_;
    std::int64_t constant_bytes_;
};

}  // namespace jettison
