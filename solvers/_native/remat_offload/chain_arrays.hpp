// Chain with a link to the host, read from arrays of Python.
#pragma once

#include <stdexcept>

#include "core/binding.hpp"
#include "remat_offload/linked_chain.hpp"

namespace jettison::binding {

// Throws std::invalid_argument where a size is not that of the others, or an amount is negative.
inline OffloadChain offload_chain(
    const Vector<std::int64_t>& forward, const Vector<std::int64_t>& backward,
    const Vector<std::int64_t>& output, const Vector<std::int64_t>& gradient,
    const Vector<std::int64_t>& saved, const Vector<std::int64_t>& saving_overhead,
    const Vector<std::int64_t>& forward_overhead, const Vector<std::int64_t>& backward_need,
    std::int64_t memory) {
    const std::size_t size = forward.size();
    if (size < 2 || size > 30000) throw std::invalid_argument("no stage, or too many");
    OffloadChain chain;
    chain.stages = static_cast<std::int32_t>(size - 1);
    chain.forward = copy_amounts(forward, size, "forward");
    chain.backward = copy_amounts(backward, size, "backward");
    chain.output = copy_amounts(output, size, "output");
    chain.gradient = copy_amounts(gradient, size, "gradient");
    chain.saved = copy_amounts(saved, size, "saved");
    chain.saving_overhead = copy_amounts(saving_overhead, size, "saving_overhead");
    chain.forward_overhead = copy_amounts(forward_overhead, size, "forward_overhead");
    chain.backward_need = copy_amounts(backward_need, size, "backward_need");
    chain.memory = memory;
    return chain;
}

}  // namespace jettison::binding
