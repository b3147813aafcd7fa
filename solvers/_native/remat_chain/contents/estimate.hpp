// Lower bound on the recomputation that some contents of the memory still require.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "remat_chain/contents/content.hpp"

namespace jettison {

// Tables over (c, j, X): at least so much time goes into forwards of the stages between c and j
// that save nothing, if nothing is held between them and the stages up to c hold X bytes of what is
// saved. The docstring of solvers/remat_chain/contents_search.py has the recurrence and the proof.
class ContentsEstimate {
public:
    // Times from `below_ns` on count as infinite: only faster schedules are searched for.
    // O(N^4 P) time in theory, of which little is left to do; O(N^2 P) memory.
    // Where `poll` returns false, the rest of the tables stays zero.
    ContentsEstimate(const ContentsChain& chain, std::int64_t memory_bytes, std::int64_t below_ns,
                     const std::function<bool()>& poll);

    // The lower bound, or beyond_all where no schedule continues from these contents; O(N).
    template <typename Contents>
    std::int64_t operator()(const Contents& now) const {
        const std::int32_t gradient = now.gradient();
        std::int64_t left_ns = 0;
        std::int64_t saved_below = 0;  // of all stages below k
        std::int32_t from = 0;         // the largest stage below k that is held
        std::size_t slot = 0;
        Held before = Held::whole;
        for (std::int32_t k = 1; k <= gradient; ++k) {
            const Held how = now.held(k);
            const std::int64_t available =
                how == Held::whole ? beside_backward_[index(k)] : beside_either_[index(k)];
            const std::int64_t input = before == Held::whole ? 0 : chain_.held_bytes[index(k - 1)];
            if (saved_below + input > available) return beyond_all;
            before = how;
            if (how == Held::nothing && k < gradient) continue;
            if (how != Held::whole) {
                left_ns += wide_[place(from, k) + slot];
            } else {
                std::int64_t again = closed_[place(from, k) + slot];
                if (k > from + 1) again = std::max(again, wide_[place(from, k - 1) + slot]);
                left_ns += again;
                saved_below += chain_.saved_bytes[index(k - 1)];
                slot = std::min(index(saved_below / unit_bytes_), slots_ - 1);
            }
            if (left_ns >= below_ns_) return beyond_all;
            from = k;
        }
        return left_ns;
    }

private:
    using Steps = std::vector<std::pair<std::int64_t, std::int64_t>>;  // (bytes, time)

    std::size_t place(std::int32_t c, std::int32_t j) const {
        return (index(c) * (index(chain_.stages) + 1) + index(j)) * slots_;
    }
    std::vector<Steps> knapsacks_from(std::int32_t c) const;
    std::int64_t bound(std::int32_t c, std::int32_t j, std::int64_t available, std::size_t slot,
                       const std::vector<Steps>& knapsacks) const;

    const ContentsChain& chain_;
    std::int64_t below_ns_;
    std::vector<std::int64_t> forward_;          // of the first stages together
    std::vector<std::int64_t> saved_;            // of the first stages together
    std::vector<std::int64_t> beside_backward_;  // [stages + 1], bytes left for the stages below
    std::vector<std::int64_t> beside_either_;    // the same where F_all is still to come
    std::int64_t unit_bytes_ = 1;                // of a slot of X
    std::size_t slots_;
    std::vector<std::int64_t> open_;    // stage j not saved
    std::vector<std::int64_t> wide_;    // the largest of open_ over the stages up to j
    std::vector<std::int64_t> closed_;  // stage j saved
};

}  // namespace jettison
