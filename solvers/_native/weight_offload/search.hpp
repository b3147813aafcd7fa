// Local search over absences of weights and the order of transfers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "weight_offload/scheduler.hpp"

namespace jettison {

// Plan: the absences, and the actions of a step without fills, with uploads where they happen.
struct WeightPlan {
    Absences absences;
    Actions actions;
};

// The plan of Algorithm 2 for these absences and this cut; nothing if it is not possible.
std::optional<WeightPlan> explicit_plan(const WeightChain& chain, const Absences& absences,
                                        std::int32_t cut);

// Changes a plan at random: moves a transfer in the order, or makes, drops or swaps choices. A new
// plan is accepted if it is slower than the current one by no more than a random part of a
// threshold, which falls to nothing over a round of changes (threshold accepting: Dueck and Scheuer
// 1990). Every round starts from the best plan.
class WeightSearch {
public:
    // The plan has to be possible.
    WeightSearch(const WeightChain& chain, WeightPlan plan, std::uint64_t seed);

    // Tries a number of changes, or fewer if the best plan meets `floor`, in ticks.
    void run(std::int64_t changes, std::int64_t floor, const std::function<void()>& poll);

    std::int64_t best_period() const { return best_period_; }
    const WeightPlan& best() const { return best_; }
    // How many changes have been tried, and how many of them since the best plan was found.
    std::int64_t tried() const { return tried_; }
    std::int64_t tried_in_vain() const { return tried_ - tried_at_best_; }

private:
    std::int64_t below(std::int64_t number);
    bool change(WeightPlan& plan);
    bool move_transfer(WeightPlan& plan);
    void choose(WeightPlan& plan, std::int32_t layer, std::uint8_t absence);
    void drop(WeightPlan& plan, std::int32_t layer, std::uint8_t absence);
    std::int32_t random_layer(const WeightPlan& plan, std::uint8_t absence, bool is_chosen);

    const WeightChain& chain_;
    std::mt19937_64 random_;
    std::vector<std::int32_t> movable_;  // layers with weights
    WeightPlan current_;
    std::int64_t current_period_;
    WeightPlan best_;
    std::int64_t best_period_;
    std::int64_t threshold_ = 0;
    std::int64_t tried_ = 0;
    std::int64_t tried_at_best_ = 0;
};

}  // namespace jettison
