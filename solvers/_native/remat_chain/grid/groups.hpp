// Groups of stages of a chain, taken as one stage each.
#pragma once

#include <cstdint>

#include "remat_chain/persistent_program.hpp"

namespace jettison {

// The chain with so many stages at a time taken as one, without drops. A schedule of it is one of
// the chain: each group is run through, or each of its stages is saved. The thresholds say so.
SlottedChain in_groups(const SlottedChain& chain, std::int32_t length);

}  // namespace jettison
