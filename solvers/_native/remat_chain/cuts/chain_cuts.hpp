// Cuts of a chain in one memory: what each backward forces to be computed again, before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace jettison {

// Step function from memory to least time: from `size_bytes[i]` on it is at most `time_ns[i]`.
struct KnapsackSteps {
    std::vector<std::int64_t> size_bytes;  // ascending
    std::vector<std::int64_t> time_ns;     // descending
};

// Stage k at index k, counted from 1; index 0 of what belongs to stages is not read.
struct CutChain {
    std::vector<std::int64_t> available_bytes;   // A_k, which may be negative
    std::vector<std::int64_t> forward_ns;
    std::vector<std::int64_t> output_bytes;
    std::vector<std::int64_t> saved_bytes;
};

// The enumeration in the docstring of solvers/remat_chain/cut_bound.py. A call that is left by an
// exception of `poll` can be repeated.
class ChainCuts {
public:
    using Poll = std::function<void()>;

    // Step functions of more than `most_steps` steps are replaced by lower ones.
    ChainCuts(CutChain chain, std::size_t most_steps);

    // W_l for l = `stage`, from W_0..W_{l-1}; nothing if stage l fits in no way.
    std::optional<std::int64_t> rerun_ns(std::int32_t stage,
                                         const std::vector<std::int64_t>& below_ns,
                                         const Poll& poll);

    std::int32_t stages() const { return static_cast<std::int32_t>(chain_.forward_ns.size()) - 1; }

private:
    void extend(std::int32_t last, const Poll& poll);
    KnapsackSteps better_of(const KnapsackSteps& steps, std::int64_t one_bytes, std::int64_t one_ns,
                            std::int64_t other_bytes, std::int64_t other_ns) const;

    CutChain chain_;
    std::size_t most_steps_;
    std::int64_t most_bytes_ = 0;
    std::vector<std::int64_t> forward_ns_;   // prefix sums
    std::vector<std::int64_t> saved_bytes_;  // prefix sums
    KnapsackSteps knapsack_;                 // over the stages met so far
    std::vector<KnapsackSteps> held_;        // H_c
};

}  // namespace jettison
