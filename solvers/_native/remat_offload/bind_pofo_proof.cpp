#include "core/binding.hpp"
#include "remat_offload/chain_arrays.hpp"
#include "remat_offload/pofo_proof.hpp"

namespace jettison::binding {
namespace {

// The lines of the proof, ticks that are missing, whether it grew too large, points and states
// among them that the bounds do not cover.
std::tuple<nb::bytes, std::int64_t, bool, std::int64_t, std::int64_t> prove_pofo(
    const Vector<std::int64_t>& forward, const Vector<std::int64_t>& backward,
    const Vector<std::int64_t>& output, const Vector<std::int64_t>& gradient,
    const Vector<std::int64_t>& saved, const Vector<std::int64_t>& saving_overhead,
    const Vector<std::int64_t>& forward_overhead, const Vector<std::int64_t>& backward_need,
    std::int64_t memory, std::int64_t slot,
    std::int64_t goal, bool link_counts, std::int64_t most_points, std::int64_t most_bytes,
    std::optional<double> time_limit_s) {
    if (memory < 0 || slot < 1 || goal < 0 || goal >= never) {
        throw std::invalid_argument("memory, slot or goal: out of range");
    }
    const OffloadChain chain = offload_chain(forward, backward, output, gradient, saved,
                                             saving_overhead, forward_overhead, backward_need,
                                             memory);
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
          nb::arg("saving_overhead").noconvert(), nb::arg("forward_overhead").noconvert(),
          nb::arg("backward_need").noconvert(),
          nb::arg("memory"), nb::arg("slot"), nb::arg("goal"), nb::arg("link_counts"),
          nb::arg("most_points"), nb::arg("most_bytes"), nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
