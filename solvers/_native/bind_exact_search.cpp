#include "binding.hpp"
#include "exact_search.hpp"

namespace jettison::binding {
namespace {

// Lower bound, time, sequence (empty if none is faster than the known one), states, complete.
std::tuple<std::int64_t, std::int64_t, Sequence, std::int64_t, bool> persistent_optimum(
    const Vector<std::int64_t>& forward_ns, const Vector<std::int64_t>& backward_ns,
    const Vector<std::int64_t>& input_bytes, const Vector<std::int64_t>& saved_bytes,
    const Matrix<std::int64_t>& forward_all_need, const Matrix<std::int64_t>& forward_none_need,
    std::int64_t available_bytes, std::int64_t known_time_ns, std::int32_t slots,
    std::int64_t most_states, std::optional<double> time_limit_s) {
    const std::size_t n = forward_ns.size();
    if (n == 0 || slots < 1 || available_bytes < 1) {
        throw std::invalid_argument("an empty chain, no slots or no memory");
    }
    ExactChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.backward_ns = copy_amounts(backward_ns, n, "backward_ns");
    chain.input_bytes = copy_amounts(input_bytes, n, "input_bytes");
    chain.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    ExactAnswer answer;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        const auto poll = [&watch] {
            try {
                watch();
            } catch (const Watch::TimeIsUp&) {
                return false;
            }
            return true;
        };
        answer = search_exactly(
            chain, {available_bytes, known_time_ns, slots, most_states}, poll);
    }
    return {answer.lower_bound_ns, answer.time_ns, to_sequence(answer.steps), answer.states,
            answer.complete};
}

}  // namespace

void bind_exact_search(nb::module_& m) {
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("persistent_optimum", &persistent_optimum, nb::arg("forward_ns").noconvert(),
          nb::arg("backward_ns").noconvert(), nb::arg("input_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("forward_all_need").noconvert(),
          nb::arg("forward_none_need").noconvert(), nb::arg("available_bytes"),
          nb::arg("known_time_ns"), nb::arg("slots"), nb::arg("most_states"),
          nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
