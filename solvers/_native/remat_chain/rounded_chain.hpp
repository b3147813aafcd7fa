// A chain with its sizes rounded down to slots, and its times to units.
#pragma once

#include <cstdint>
#include <vector>

#include "remat_chain/persistent_program.hpp"
#include "remat_chain/recurrence.hpp"
#include "remat_chain/slots.hpp"

namespace jettison {

// What is subtracted is rounded down. Thresholds are rounded up, to the first slot that holds a
// size which meets them. The program of this chain bounds C(s,t,m) from below, in units, for every
// size m of a slot.
inline SlottedChain rounded_chain(const ExactChain& exact, const Slots& slots,
                                  std::int64_t unit_ns) {
    const auto rounded = [](const std::vector<std::int64_t>& amounts, const auto& round) {
        std::vector<std::int32_t> found;
        found.reserve(amounts.size());
        for (const std::int64_t amount : amounts) {
            found.push_back(static_cast<std::int32_t>(round(amount)));
        }
        return found;
    };
    const auto down = [&](std::int64_t size) { return slots.rounded_down(size); };
    const auto up = [&](std::int64_t size) { return slots.rounded_up(size); };
    SlottedChain chain;
    chain.stages = exact.stages;
    if (exact.kinds > 1) chain.tables = Tables::four;
    for (const std::int64_t time_ns : exact.forward_ns) {
        chain.forward_ns.push_back(time_ns / unit_ns);
    }
    for (const std::int64_t time_ns : exact.backward_ns) {
        chain.backward_ns.push_back(time_ns / unit_ns);
    }
    chain.input_slots = rounded(exact.input_bytes, down);
    chain.saved_slots = rounded(exact.saved_bytes, down);
    chain.forward_all_need = rounded(exact.forward_all_need, up);
    chain.forward_none_need = rounded(exact.forward_none_need, up);
    // The tables of E do not count the input.
    const auto row = static_cast<std::size_t>(exact.stages);
    for (std::size_t at = 0; at < chain.forward_all_need.size(); ++at) {
        if (!drops_input(static_cast<Kind>(at / row / row))) continue;
        const std::int32_t input = chain.input_slots[at / row % row];
        chain.forward_all_need[at] -= input;
        chain.forward_none_need[at] -= input;
    }
    return chain;
}

}  // namespace jettison
