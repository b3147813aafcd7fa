#include "training_chain/coded_plan.hpp"

namespace jettison {

CodedChoice CodedChoice::of(std::int32_t code) {
    const auto digit = [&code](std::int32_t base) {
        const std::int32_t found = code % base;
        code /= base;
        return found;
    };
    CodedChoice choice{};
    choice.states_away = digit(2) != 0;
    choice.update = static_cast<UpdatePlace>(digit(3));
    choice.away_after = digit(2) != 0;
    choice.away_between = digit(2) != 0;
    choice.output = static_cast<ActivationWay>(digit(3));
    choice.saved = static_cast<ActivationWay>(digit(3));
    return choice;
}

StepPlan coded_plan(const TrainingSteps& steps, const std::vector<CodedChoice>& choices) {
    const auto count = static_cast<std::int32_t>(choices.size());
    const auto updates_at = [&](std::int32_t stage, UpdatePlace place) {
        return steps.stages[stage].is_trained && choices[stage].update == place;
    };
    StepPlan plan;
    plan.order.reserve(4 * choices.size());
    plan.choices.reserve(choices.size());
    std::vector<bool> there(choices.size());
    for (std::int32_t stage = 0; stage < count; ++stage) {
        const CodedChoice& choice = choices[stage];
        const bool is_again = choice.saved == ActivationWay::again;
        there[stage] = !is_again;
        plan.choices.push_back({choice.update, choice.away_between, choice.away_after,
                                choice.states_away, choice.saved == ActivationWay::sent,
                                is_again && choice.output == ActivationWay::sent});
        if (updates_at(stage, UpdatePlace::late)) {
            plan.order.push_back({TrainingOperation::update, stage});
        }
        plan.order.push_back(
            {is_again ? TrainingOperation::forward : TrainingOperation::forward_all, stage});
    }
    for (std::int32_t stage = count - 1; stage >= 0; --stage) {
        if (!there[stage]) {
            std::int32_t first = stage;
            while (first > 0 && !there[first - 1] &&
                   choices[first - 1].output == ActivationWay::again) {
                --first;
            }
            for (std::int32_t again = first; again <= stage; ++again) {
                plan.order.push_back({TrainingOperation::forward_all, again});
                there[again] = true;
            }
        }
        plan.order.push_back({TrainingOperation::backward, stage});
        if (updates_at(stage, UpdatePlace::at_once)) {
            plan.order.push_back({TrainingOperation::update, stage});
        }
    }
    return plan;
}

}  // namespace jettison
