// The recurrence of the persistent program in exact bytes and nanoseconds, and its two extremes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "least_memory.hpp"

namespace jettison {

struct ExactChain {
    std::int32_t stages = 0;
    std::vector<std::int64_t> forward_ns;         // [stages], stage s at index s - 1
    std::vector<std::int64_t> backward_ns;        // [stages]
    std::vector<std::int64_t> input_bytes;        // [stages], a^{s-1} at index s - 1
    std::vector<std::int64_t> saved_bytes;        // [stages], a-bar^s at index s - 1
    std::vector<std::int64_t> forward_all_need;   // [stages * stages], m_all(s, t) at s-1, t-1
    std::vector<std::int64_t> forward_none_need;  // [stages * stages], m_nul(s, t)
};

// Two infinities still add without overflow.
constexpr std::int64_t infinite_ns = std::numeric_limits<std::int64_t>::max() / 4;

// What C(s,t,m) is made of. Stages count from 1; memory is that beside the input of s.
//   C(s,t,m) = own(s) + C(s+1, t, m - saved(s))                       if m >= need_all(s,t)
//            = run_ns(s,k) + C(k, t, m - input(k)) + C(s, k-1, m)     if m >= need_none(s,t)
// The first is called the choice s, the others the choices k = s+1..t.
class Recurrence {
public:
    Recurrence(ExactChain chain, std::int64_t available_bytes)
        : chain_(std::move(chain)),
          available_bytes_(available_bytes),
          forward_(index(chain_.stages) + 1, 0),
          own_(index(chain_.stages) + 1, 0),
          least_(persistent_needs({chain_.stages, chain_.input_bytes, chain_.saved_bytes,
                                   chain_.forward_all_need, chain_.forward_none_need},
                                  [] {})
                     .need),
          plenty_(cells(), 0) {
        for (std::int32_t s = 1; s <= chain_.stages; ++s) {
            const std::int64_t forward = chain_.forward_ns[index(s - 1)];
            forward_[index(s)] = forward_[index(s - 1)] + forward;
            own_[index(s)] = own_[index(s - 1)] + forward + chain_.backward_ns[index(s - 1)];
        }
        for (std::int32_t t = 1; t <= chain_.stages; ++t) {
            for (std::int32_t s = t; s >= 1; --s) {
                std::int64_t bytes = need_all(s, t);
                if (s < t) bytes = std::max(bytes, saved(s) + plenty_[cell(s + 1, t)]);
                plenty_[cell(s, t)] = std::min(bytes, available_bytes + 1);
            }
        }
    }

    std::int32_t stages() const { return chain_.stages; }
    std::int64_t available_bytes() const { return available_bytes_; }
    const ExactChain& chain() const { return chain_; }

    // Sub-chains s..t are numbered so that those with the same t are neighbours.
    std::size_t cells() const { return index(chain_.stages) * (index(chain_.stages) + 1) / 2; }
    static std::size_t cell(std::int32_t s, std::int32_t t) {
        return index(t) * (index(t) - 1) / 2 + index(s - 1);
    }

    std::int64_t input(std::int32_t s) const { return chain_.input_bytes[index(s - 1)]; }
    std::int64_t saved(std::int32_t s) const { return chain_.saved_bytes[index(s - 1)]; }
    std::int64_t need_all(std::int32_t s, std::int32_t t) const {
        return chain_.forward_all_need[pair(s, t)];
    }
    std::int64_t need_none(std::int32_t s, std::int32_t t) const {
        return chain_.forward_none_need[pair(s, t)];
    }

    // C(s,t,m) is finite from the one on, and no more than each stage's own times from the other
    // on, where all can be saved; amounts above the available memory are only known to be so.
    std::int64_t least(std::int32_t s, std::int32_t t) const { return least_[pair(s, t)]; }
    std::int64_t plenty(std::int32_t s, std::int32_t t) const { return plenty_[cell(s, t)]; }

    std::int64_t own(std::int32_t s) const { return own(s, s); }
    std::int64_t own(std::int32_t s, std::int32_t t) const {
        return own_[index(t)] - own_[index(s - 1)];
    }
    std::int64_t run_ns(std::int32_t s, std::int32_t split) const {
        return forward_[index(split - 1)] - forward_[index(s - 1)];
    }

private:
    static std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }
    std::size_t pair(std::int32_t s, std::int32_t t) const {
        return index(s - 1) * index(chain_.stages) + index(t - 1);
    }

    ExactChain chain_;
    std::int64_t available_bytes_;
    std::vector<std::int64_t> forward_;  // prefix sums of the forward times
    std::vector<std::int64_t> own_;      // and of the forward and backward times
    std::vector<std::int64_t> least_;
    std::vector<std::int64_t> plenty_;
};

}  // namespace jettison
