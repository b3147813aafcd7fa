#include "core/binding.hpp"
#include "remat_chain/least_memory.hpp"

namespace jettison::binding {
namespace {

std::pair<std::int64_t, Sequence> least_memory(const Vector<std::int64_t>& input_bytes,
                                               const Vector<std::int64_t>& saved_bytes,
                                               const Matrix<std::int64_t>& forward_all_need,
                                               const Matrix<std::int64_t>& forward_none_need) {
    const std::size_t n = input_bytes.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    ByteChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.input_bytes = copy_amounts(input_bytes, n, "input_bytes");
    chain.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    LeastMemory found;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(std::nullopt);
        found = find_least_memory(chain, std::ref(watch));
    }
    return {found.memory_bytes, to_sequence(found.steps)};
}

}  // namespace

void bind_least_memory(nb::module_& m) {
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("least_memory", &least_memory, nb::arg("input_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("forward_all_need").noconvert(),
          nb::arg("forward_none_need").noconvert());
}

}  // namespace jettison::binding
