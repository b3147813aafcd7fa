#include "remat_chain/grid/groups.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

namespace jettison {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

// More slots than a budget has are all the same.
std::int32_t capped_slots(std::int64_t slots) {
    return static_cast<std::int32_t>(
        std::min<std::int64_t>(slots, std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

SlottedChain in_groups(const SlottedChain& chain, std::int32_t length) {
    const std::int32_t groups = (chain.stages + length - 1) / length;
    const auto first = [&](std::int32_t group) { return group * length; };
    const auto end = [&](std::int32_t group) {
        return std::min((group + 1) * length, chain.stages);
    };
    SlottedChain found;
    found.stages = groups;
    for (std::int32_t s = 0; s < groups; ++s) {
        const auto sum = [&](const auto& values) {
            return std::accumulate(values.begin() + first(s), values.begin() + end(s),
                                   std::int64_t{0});
        };
        found.forward_ns.push_back(sum(chain.forward_ns));
        found.backward_ns.push_back(sum(chain.backward_ns));
        found.input_slots.push_back(chain.input_slots[index(first(s))]);
        found.saved_slots.push_back(capped_slots(sum(chain.saved_slots)));
        for (std::int32_t t = 0; t < groups; ++t) {
            const auto at = [&](std::int32_t stage) {
                return index(stage) * index(chain.stages) + index(end(t) - 1);
            };
            std::int64_t saved = 0, need = 0;
            for (std::int32_t stage = first(s); stage < end(s); ++stage) {
                need = std::max(need, saved + chain.forward_all_need[at(stage)]);
                saved += chain.saved_slots[index(stage)];
            }
            found.forward_all_need.push_back(capped_slots(need));
            found.forward_none_need.push_back(chain.forward_none_need[at(first(s))]);
        }
    }
    return found;
}

}  // namespace jettison
