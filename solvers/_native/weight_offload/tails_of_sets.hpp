// Least tails of the walks that end where one of a set of beginnings begins.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "weight_offload/origin_sets.hpp"
#include "weight_offload/sweep.hpp"
#include "weight_offload/walk_estimate.hpp"

namespace jettison {

// Tails of a set are made when they are first asked for. A reference is good until the next call.
class TailsOfSets {
public:
    TailsOfSets(const WalkEstimate& estimate, const std::vector<Beginning>& beginnings,
                const OriginSets& sets)
        : sets_(sets) {
        for (const Beginning& one : beginnings) {
            of_beginning_.push_back(estimate.tails(one, estimate.all()));
        }
    }

    const Tails& least(OriginSets::Id origins) {
        const auto place = static_cast<std::size_t>(origins);
        if (place >= of_set_.size()) of_set_.resize(place + 1);
        Tails& least = of_set_[place];
        if (!least.empty()) return least;
        for (std::size_t number = 0; number < of_beginning_.size(); ++number) {
            if (!sets_.contains(origins, number)) continue;
            const Tails& own = of_beginning_[number];
            if (least.empty()) least = own;
            for (std::size_t k = 0; k < own.size(); ++k) least[k] = std::min(least[k], own[k]);
        }
        return least;
    }

    std::size_t size_bytes() const {
        const std::size_t each = of_beginning_.empty() ? 0 : of_beginning_.front().size();
        return of_set_.size() * (sizeof(Tails) + each * sizeof(std::int64_t));
    }

private:
    const OriginSets& sets_;
    std::vector<Tails> of_beginning_;
    std::vector<Tails> of_set_;  // by the number of the set; empty where not asked for
};

}  // namespace jettison
