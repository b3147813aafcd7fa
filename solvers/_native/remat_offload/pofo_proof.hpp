// Proof that no schedule of POFO's class beats a time: states of Appendix B's recurrences with a
// least cost each, which anybody can check one by one (certificates/remat_offload/pofo_bellman.py).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "remat_offload/linked_chain.hpp"

namespace jettison {

// What is to be proved, and with how much effort.
struct ProofTask {
    std::int64_t goal = 0;    // ticks that every schedule takes beyond all operations once
    std::int64_t slot = 1;    // units; of the grid of the bounds
    bool link_counts = true;  // false: moving takes no time, for the claim that nothing fits
    std::int64_t most_points = 0;  // of the proof
    std::int64_t most_bytes = 0;   // of all tables; std::bad_alloc beyond
};

struct OffloadProof {
    // Ticks that are missing: some schedule takes so much less than the goal. 0 if it is proved.
    std::int64_t missing = 0;
    bool is_too_large = false;  // it has more points than allowed, and was not completed
    std::int64_t points = 0;
    std::int64_t searched = 0;  // states among them that the bounds do not cover
    std::string lines;          // of the certificate; empty unless the goal is proved
};

// `poll` may throw to stop; called now and then.
OffloadProof prove_offload(const OffloadChain& chain, const ProofTask& task,
                           const std::function<void()>& poll);

}  // namespace jettison
