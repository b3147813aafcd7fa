// Chain with a link to the host, in units such that the link moves one unit of size per tick.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace jettison {

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;

inline std::size_t at(std::int64_t value) { return static_cast<std::size_t>(value); }
inline std::int64_t positive(std::int64_t value) { return std::max<std::int64_t>(value, 0); }

// All arrays have one entry per stage 0..N; stage 0 stands for the input of the chain.
struct OffloadChain {
    std::int32_t stages = 0;
    std::vector<std::int64_t> forward;           // u_f^k in ticks
    std::vector<std::int64_t> backward;          // u_b^k in ticks
    std::vector<std::int64_t> output;            // a^k in units
    std::vector<std::int64_t> gradient;          // delta^k in units
    std::vector<std::int64_t> saved;             // a-bar^k in units
    std::vector<std::int64_t> saving_overhead;   // o_f-bar^k, where F^k saves, in units
    std::vector<std::int64_t> forward_overhead;  // o_f^k, where it does not, in units
    std::vector<std::int64_t> backward_need;     // M_B(k): all that B^k needs beside its input
    std::int64_t memory = 0;

    // What F_all^k takes beside its input as it runs.
    std::int64_t saving(std::int32_t k) const { return saved[at(k)] + saving_overhead[at(k)]; }
};

// Memory that runs of forward operations need beside the input of the run, without the gradient.
class ForwardRuns {
public:
    explicit ForwardRuns(const OffloadChain& chain)
        : stages_(chain.stages),
          prefix_(at(chain.stages) + 1, 0),
          most_(at(chain.stages + 1) * at(chain.stages + 1), 0),
          early_(most_),
          late_(most_) {
        for (std::int32_t i = 1; i <= stages_; ++i) {
            prefix_[at(i)] = prefix_[at(i - 1)] + chain.forward[at(i)];
        }
        for (std::int32_t i = 1; i <= stages_; ++i) {
            const std::int64_t first = chain.output[at(i)] + chain.forward_overhead[at(i)];
            most_[cell(i, i)] = early_[cell(i, i)] = late_[cell(i, i)] = first;
            for (std::int32_t j = i + 1; j <= stages_; ++j) {
                const std::int64_t need = chain.output[at(j - 1)] + chain.output[at(j)] +
                                          chain.forward_overhead[at(j)];
                most_[cell(i, j)] = std::max(most_[cell(i, j - 1)], need);
                early_[cell(i, j)] = std::max(early_[cell(i, j - 1)], need - time(i, j - 1));
                late_[cell(i, j)] = std::max(late_[cell(i, j - 1)] - chain.forward[at(j)], need);
            }
        }
    }

    // What the tables of a chain take.
    static std::size_t bytes(const OffloadChain& chain) {
        return 3 * at(chain.stages + 1) * at(chain.stages + 1) * sizeof(std::int64_t);
    }

    // Ticks of F^i..F^j; none for j = i - 1.
    std::int64_t time(std::int32_t i, std::int32_t j) const {
        return prefix_[at(j)] - prefix_[at(i - 1)];
    }
    // max_k F0(k) over i <= k <= j.
    std::int64_t most(std::int32_t i, std::int32_t j) const { return most_[cell(i, j)]; }
    // max_k F0(k) - (ticks from the start of F^i to the start of F^k): memory grows as time goes.
    std::int64_t early(std::int32_t i, std::int32_t j) const { return early_[cell(i, j)]; }
    // max_k F0(k) - (ticks from the end of F^k to the end of F^j): memory shrinks as time goes.
    std::int64_t late(std::int32_t i, std::int32_t j) const { return late_[cell(i, j)]; }

private:
    std::size_t cell(std::int32_t i, std::int32_t j) const {
        return at(i) * at(stages_ + 1) + at(j);
    }

    std::int32_t stages_;
    std::vector<std::int64_t> prefix_;
    std::vector<std::int64_t> most_;
    std::vector<std::int64_t> early_;
    std::vector<std::int64_t> late_;
};

}  // namespace jettison
