// Algorithm 2 of the paper on weight offloading: start times of all actions, for every cut.
#pragma once

#include <functional>
#include <optional>

#include "weight_offload/timeline.hpp"

namespace jettison {

struct CutPeriod {
    std::int64_t period;
    std::int32_t cut;
};

// The actions of a step in the order of Algorithm 2. The first `cut` prefetches come before B_L.
Actions order_actions(const WeightChain& chain, const Absences& absences, Discount discount,
                      std::int32_t cut);

// The cut with the least period, the first one on ties; nothing if none is possible.
std::optional<CutPeriod> best_cut(const WeightChain& chain, const Absences& absences,
                                  Discount discount, const std::function<void()>& poll);

}  // namespace jettison
