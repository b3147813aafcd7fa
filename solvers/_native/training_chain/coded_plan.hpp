// Plans of steps from the codes of their stages' choices (solvers/training_chain/plan_codes.py).
#pragma once

#include <cstdint>
#include <vector>

#include "training_chain/step_layout.hpp"

namespace jettison {

// Way to have an activation again.
enum class ActivationWay : std::int32_t { kept, sent, again };

// Choices of one stage. Its code is a number with mixed digits, the first one the most significant.
struct CodedChoice {
    ActivationWay saved, output;
    bool away_between, away_after;
    UpdatePlace update;
    bool states_away;

    static constexpr std::int32_t codes = 3 * 3 * 2 * 2 * 3 * 2;
    static CodedChoice of(std::int32_t code);
};

// The plan whose operations run in the order that follows from the choices, without depths.
//
// First come all first forward operations. A stage whose activations are not there when its
// backward operation comes is computed again, from the last stage before it that has an output on;
// all of these save what they need. The last stage is not computed again. Time: O(stages).
StepPlan coded_plan(const TrainingSteps& steps, const std::vector<CodedChoice>& choices);

}  // namespace jettison
