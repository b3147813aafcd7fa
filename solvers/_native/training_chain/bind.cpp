#include <limits>
#include <memory>

#include "core/binding.hpp"
#include "training_chain/coded_plan.hpp"
#include "training_chain/step_layout.hpp"
#include "training_chain/step_timing.hpp"

namespace jettison::binding {
namespace {



// The rows of `sizes` and `transfers` are tensors in the order of TrainingTensor, those of `times`
// forward, backward, update and host update; `others` are output gradient, left, made, forward and
// backward overhead, and whether a stage is trained. Columns are stages.
TrainingSteps* training_steps(const Matrix<std::int64_t>& times,
                              const Matrix<std::int64_t>& sizes,
                              const Matrix<std::int64_t>& transfers,
                              const Matrix<std::int64_t>& others, std::int64_t input_bytes,
                              std::int64_t memory_bytes) {
    const std::size_t n = times.shape(1);
    const auto check = [n](const Matrix<std::int64_t>& matrix, std::size_t rows,
                           const char* name) {
        if (matrix.shape(0) != rows || matrix.shape(1) != n) {
            throw std::invalid_argument(std::string(name) + ": wrong shape");
        }
        const auto* end = matrix.data() + rows * n;
        if (std::any_of(matrix.data(), end, [](std::int64_t amount) { return amount < 0; })) {
            throw std::invalid_argument(std::string(name) + ": negative");
        }
    };
    if (n == 0) throw std::invalid_argument("an empty chain");
    check(times, 4, "times");
    check(sizes, training_tensors, "sizes");
    check(transfers, training_tensors, "transfers");
    check(others, 7, "others");
    auto steps = std::make_unique<TrainingSteps>();
    steps->input_bytes = input_bytes;
    steps->memory_bytes = memory_bytes;
    for (std::size_t stage = 0; stage < n; ++stage) {
        const auto of = [stage, n](const Matrix<std::int64_t>& matrix, std::size_t row) {
            return matrix.data()[row * n + stage];
        };
        TrainingStage made{};
        made.forward_ns = of(times, 0);
        made.backward_ns = of(times, 1);
        made.update_ns = of(times, 2);
        made.host_update_ns = of(times, 3);
        for (std::size_t tensor = 0; tensor < training_tensors; ++tensor) {
            made.size_bytes[tensor] = of(sizes, tensor);
            made.transfer_ns[tensor] = of(transfers, tensor);
        }
        made.output_gradient_bytes = of(others, 0);
        made.left_bytes = of(others, 1);
        made.made_bytes = of(others, 2);
        made.forward_overhead_bytes = of(others, 3);
        made.saving_overhead_bytes = of(others, 4);
        made.backward_overhead_bytes = of(others, 5);
        made.is_trained = of(others, 6) != 0;
        steps->stages.push_back(made);
    }
    return steps.release();
}

// A step that the layout can be made of: each stage runs forward, saving all at least once, before
// its one backward operation; what an operation reads was made before.
void check_order(const TrainingSteps& steps, const StepPlan& plan) {
    const std::size_t n = steps.stages.size();
    std::vector<bool> made(n, false), saved(n, false), done(n, false);
    std::vector<int> updates(n, 0);
    for (const auto& [kind, stage] : plan.order) {
        if (stage < 0 || static_cast<std::size_t>(stage) >= n) {
            throw std::invalid_argument("a stage that there is not");
        }
        if (kind == TrainingOperation::update) {
            if (++updates[stage] > 1 || !steps.stages[stage].is_trained) {
                throw std::invalid_argument("an update too many");
            }
            continue;
        }
        if (stage > 0 && !made[stage - 1]) throw std::invalid_argument("an input is missing");
        if (kind == TrainingOperation::backward) {
            const bool is_next = static_cast<std::size_t>(stage) + 1 == n || done[stage + 1];
            if (!saved[stage] || done[stage] || !is_next) {
                throw std::invalid_argument("a backward operation too early or too often");
            }
            done[stage] = true;
            continue;
        }
        made[stage] = true;
        if (kind == TrainingOperation::forward_all) saved[stage] = true;
    }
    for (std::size_t stage = 0; stage < n; ++stage) {
        const bool by_device = plan.choices[stage].update != UpdatePlace::host;
        const int expected = steps.stages[stage].is_trained && by_device;
        if (!done[stage] || updates[stage] != expected) {
            throw std::invalid_argument("an operation is missing");
        }
    }
}

StepPlan plan_of(const TrainingSteps& steps, const std::vector<std::pair<int, int>>& order,
                 const std::vector<std::tuple<int, bool, bool, bool, bool, bool>>& choices,
                 std::int32_t weights_ahead, std::int32_t activations_ahead, bool sends_by_need,
                 bool updates_by_need, bool fetches_what_is_there) {
    StepPlan plan;
    plan.weights_ahead = weights_ahead;
    plan.activations_ahead = activations_ahead;
    plan.sends_by_need = sends_by_need;
    plan.updates_by_need = updates_by_need;
    plan.fetches_what_is_there = fetches_what_is_there;
    for (const auto& [kind, stage] : order) {
        if (kind < 0 || kind > static_cast<int>(TrainingOperation::update)) {
            throw std::invalid_argument("a kind of operation that there is not");
        }
        plan.order.push_back({static_cast<TrainingOperation>(kind), stage});
    }
    if (choices.size() != steps.stages.size()) {
        throw std::invalid_argument("choices: wrong length");
    }
    for (const auto& [place, between, after, states, saved, output] : choices) {
        if (place < 0 || place > static_cast<int>(UpdatePlace::host)) {
            throw std::invalid_argument("a place of updates that there is not");
        }
        plan.choices.push_back(
            {static_cast<UpdatePlace>(place), between, after, states, saved, output});
    }
    check_order(steps, plan);
    return plan;
}

// The code of a stage is a byte.
StepPlan plan_of_codes(const TrainingSteps& steps, const nb::bytes& codes,
                       std::int32_t weights_ahead, std::int32_t activations_ahead,
                       bool sends_by_need, bool updates_by_need, bool fetches_what_is_there) {
    if (codes.size() != steps.stages.size()) throw std::invalid_argument("codes: wrong length");
    std::vector<CodedChoice> choices;
    choices.reserve(codes.size());
    for (std::size_t stage = 0; stage < codes.size(); ++stage) {
        const std::int32_t code = static_cast<unsigned char>(codes.c_str()[stage]);
        if (code >= CodedChoice::codes) throw std::invalid_argument("a code that there is not");
        choices.push_back(CodedChoice::of(code));
    }
    if (choices.back().saved == ActivationWay::again) {
        throw std::invalid_argument("the last stage is not computed again");
    }
    StepPlan plan = coded_plan(steps, choices);
    plan.weights_ahead = weights_ahead;
    plan.activations_ahead = activations_ahead;
    plan.sends_by_need = sends_by_need;
    plan.updates_by_need = updates_by_need;
    plan.fetches_what_is_there = fetches_what_is_there;
    return plan;
}

}  // namespace

void bind_training_chain(nb::module_& m) {
    nb::class_<StepPlan>(m, "TrainingStepPlan");
    nb::class_<TrainingSteps>(m, "TrainingSteps")
        .def(nb::new_(&training_steps), nb::arg("times").noconvert(),
             nb::arg("sizes").noconvert(), nb::arg("transfers").noconvert(),
             nb::arg("others").noconvert(), nb::arg("input_bytes"), nb::arg("memory_bytes"))
        .def("plan", &plan_of, nb::arg("order"), nb::arg("choices"), nb::arg("weights_ahead"),
             nb::arg("activations_ahead"), nb::arg("sends_by_need"), nb::arg("updates_by_need"),
             nb::arg("fetches_what_is_there"))
        .def("plan_of_codes", &plan_of_codes, nb::arg("codes"), nb::arg("weights_ahead"),
             nb::arg("activations_ahead"), nb::arg("sends_by_need"), nb::arg("updates_by_need"),
             nb::arg("fetches_what_is_there"))
        // The period, or -1 where the plan does not fit, no two steps in a row are equal, or one
        // resource is busy for longer than the most that is asked for.
        .def("period_ns",
             [](const TrainingSteps& steps, const StepPlan& plan, std::int64_t most_ns) {
                 const StepLayout layout(steps, plan);
                 const bool is_slow = busiest_ns(steps, layout) > most_ns;
                 return is_slow ? TimedStep{}.period_ns : time_step(steps, layout).period_ns;
             },
             nb::arg("plan"), nb::arg("most_ns") = std::numeric_limits<std::int64_t>::max())
        // Time, kind, stage from 0 and tensor, -1 for none.
        .def("events", [](const TrainingSteps& steps, const StepPlan& plan) {
            std::vector<std::tuple<std::int64_t, int, std::int32_t, std::int32_t>> found;
            for (const auto& event : time_step(steps, StepLayout(steps, plan)).events) {
                found.emplace_back(event.time_ns, static_cast<int>(event.kind), event.stage,
                                   event.tensor);
            }
            return found;
        });
}

}  // namespace jettison::binding
