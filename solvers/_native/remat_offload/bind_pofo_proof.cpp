#include "core/binding.hpp"
#include "remat_offload/pofo_proof.hpp"

namespace jettison::binding {
namespace {

// The lines of the proof, ticks that are missing, whether it grew too large, points and states
// among them that the bounds do not cover.
std::tuple<nb::bytes, std::int64_t, bool, std::int64_t, std::int64_t> prove_pofo(
    const Vector<std::int64_t>& forward, const Vector<std::int64_t>& backward,
    const Vector<std::int64_t>& output, const Vector<std::int64_t>& gradient,
    const Vector<std::int64_t>& saved, const Vector<std::int64_t>& forward_overhead,
    const Vector<std::int64_t>& backward_need, std::int64_t memory, std::int64_t slot,
    std::int64_t goal, bool link_counts, std::int64_t most_points, std::int64_t most_bytes,
    std::optional<double> time_limit_s) {
    const std::size_t size = forward.size();
    if (size < 2 || size > 30000) throw std::invalid_argument("no stage, or too many");
    if (memory < 0 || slot < 1 || goal < 0 || goal >= never) {
        throw std::invalid_argument("memory, slot or goal: out of range");
    }
    OffloadChain chain;
    chain.stages = static_cast<std::int32_t>(size - 1);
    chain.forward = copy_amounts(forward, size, "forward");
    chain.backward = copy_amounts(backward, size, "backward");
    chain.output = copy_amounts(output, size, "output");
    chain.gradient = copy_amounts(gradient, size, "gradient");
    chain.saved = copy_amounts(saved, size, "saved");
    chain.forward_overhead = copy_amounts(forward_overhead, size, "forward_overhead");
    chain.backward_need = copy_amounts(backward_need, size, "backward_need");
    chain.memory = memory;
    OffloadProof proof;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        proof = prove_offload(chain, {goal, slot, link_counts, most_points, most_bytes},
                              std::ref(watch));
    }
    return {nb::bytes(proof.lines.data(), proof.lines.size()), proof.missing, proof.is_too_large,
            proof.points, proof.searched};
}

}  // namespace

void bind_pofo_proof(nb::module_& m) {
    m.def("prove_pofo", &prove_pofo, nb::arg("forward").noconvert(),
          nb::arg("backward").noconvert(), nb::arg("output").noconvert(),
          nb::arg("gradient").noconvert(), nb::arg("saved").noconvert(),
          nb::arg("forward_overhead").noconvert(), nb::arg("backward_need").noconvert(),
          nb::arg("memory"), nb::arg("slot"), nb::arg("goal"), nb::arg("link_counts"),
          nb::arg("most_points"), nb::arg("most_bytes"), nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
