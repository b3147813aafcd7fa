#include "core/binding.hpp"
#include "remat_chain/cuts/chain_cuts.hpp"

namespace jettison::binding {
namespace {

void make(ChainCuts* cuts, const Vector<std::int64_t>& available_bytes,
          const Vector<std::int64_t>& forward_ns, const Vector<std::int64_t>& output_bytes,
          const Vector<std::int64_t>& saved_bytes, std::int64_t most_steps) {
    if (most_steps < 1) throw std::invalid_argument("most_steps: below 1");
    const std::size_t n = forward_ns.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    // Stages are counted from 1.
    const auto shifted = [](std::vector<std::int64_t> amounts) {
        amounts.insert(amounts.begin(), 0);
        return amounts;
    };
    new (cuts) ChainCuts({shifted(copy(available_bytes, n, "available_bytes")),
                          shifted(copy_amounts(forward_ns, n, "forward_ns")),
                          shifted(copy_amounts(output_bytes, n, "output_bytes")),
                          shifted(copy_amounts(saved_bytes, n, "saved_bytes"))},
                         static_cast<std::size_t>(most_steps));
}

std::optional<std::int64_t> rerun_ns(ChainCuts& cuts, std::int32_t stage,
                                     const std::vector<std::int64_t>& below_ns,
                                     std::optional<double> time_limit_s) {
    if (stage < 1 || stage > cuts.stages()) throw std::invalid_argument("stage: out of range");
    if (below_ns.size() < static_cast<std::size_t>(stage)) {
        throw std::invalid_argument("below_ns: too short");
    }
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    return cuts.rerun_ns(stage, below_ns, std::ref(watch));
}

}  // namespace

void bind_chain_cuts(nb::module_& m) {
    // No conversions: one that does not fit its type would wrap around in silence.
    nb::class_<ChainCuts>(m, "ChainCuts")
        .def("__init__", &make, nb::arg("available_bytes").noconvert(),
             nb::arg("forward_ns").noconvert(), nb::arg("output_bytes").noconvert(),
             nb::arg("saved_bytes").noconvert(), nb::arg("most_steps"))
        .def("rerun_ns", &rerun_ns, nb::arg("stage"), nb::arg("below_ns"),
             nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
