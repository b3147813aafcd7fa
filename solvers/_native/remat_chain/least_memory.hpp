// The least memory in which a persistent schedule exists, in exact bytes.
#pragma once

#include <functional>

#include "remat_chain/persistent_program.hpp"

namespace jettison {

// The same recurrence as solve_persistent with (min, max) in place of (min, +):
//   need(s,s) = m_all(s,s)
//   need(s,t) = min( max(m_all(s,t), abar[s] + need(s+1,t)),
//                    max(m_nul(s,t), min_{s'} max(a[s'-1] + need(s',t), need(s,s'-1))) ).
// Sizes are bytes here. Time O(N^3), memory O(N^2).
struct ByteChain {
    std::int32_t stages = 0;
    std::vector<std::int64_t> input_bytes;        // [stages]
    std::vector<std::int64_t> saved_bytes;        // [stages]
    std::vector<std::int64_t> forward_all_need;   // [stages * stages]
    std::vector<std::int64_t> forward_none_need;  // [stages * stages]
};

struct LeastMemory {
    std::int64_t memory_bytes = 0;  // the input excluded
    std::vector<Step> steps;
};

struct PersistentNeeds {
    std::vector<std::int64_t> need;    // [stages * stages], need(s,t) at s-1, t-1
    std::vector<std::int32_t> choice;  // the split s' that attains it, or s for F_all
};

PersistentNeeds persistent_needs(const ByteChain& chain, const std::function<void()>& poll);

LeastMemory find_least_memory(const ByteChain& chain, const std::function<void()>& poll);

}  // namespace jettison
