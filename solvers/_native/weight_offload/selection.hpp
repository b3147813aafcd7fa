// Algorithm 1 of the paper on weight offloading: the greedy selection of absences.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace jettison {

// A layer, from 0, and the d of the paper: 1 for absent between F and B, 0 for between B and F.
using Choice = std::pair<std::int32_t, std::int32_t>;

// The choices in the order in which they are made; nothing where all of them do not suffice.
// `excess_bytes` is of each operation of the cycle. O(c L^2) for c choices, mostly far less.
std::optional<std::vector<Choice>> select_choices(const std::vector<std::int64_t>& excess_bytes,
                                                  const std::vector<std::int64_t>& weight_bytes,
                                                  const std::function<void()>& poll);

}  // namespace jettison
