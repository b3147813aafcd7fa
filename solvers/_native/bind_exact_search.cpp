#include "binding.hpp"
#include "exact_search.hpp"

namespace jettison::binding {
namespace {

void make(ExactSearch* place, const Vector<std::int64_t>& forward_ns,
          const Vector<std::int64_t>& backward_ns, const Vector<std::int64_t>& input_bytes,
          const Vector<std::int64_t>& saved_bytes, const Matrix<std::int64_t>& forward_all_need,
          const Matrix<std::int64_t>& forward_none_need, std::int64_t available_bytes,
          std::int64_t known_time_ns, std::int32_t first_slots, std::int64_t most_slots,
          std::int64_t most_bytes) {
    const std::size_t n = forward_ns.size();
    if (n == 0 || first_slots < 1 || available_bytes < 1 || known_time_ns < 0) {
        throw std::invalid_argument("an empty chain, no slots, no memory or a negative time");
    }
    ExactChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.backward_ns = copy_amounts(backward_ns, n, "backward_ns");
    chain.input_bytes = copy_amounts(input_bytes, n, "input_bytes");
    chain.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    new (place) ExactSearch(std::move(chain), available_bytes, known_time_ns,
                            {first_slots, most_slots, most_bytes});
}

void refine(ExactSearch& search, std::optional<double> time_limit_s) {
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    search.refine(std::ref(watch));
}

}  // namespace

void bind_exact_search(nb::module_& m) {
    nb::class_<ExactSearch>(m, "PersistentSearch")
        // No conversions: one that does not fit its type would wrap around in silence.
        .def("__init__", &make, nb::arg("forward_ns").noconvert(),
             nb::arg("backward_ns").noconvert(), nb::arg("input_bytes").noconvert(),
             nb::arg("saved_bytes").noconvert(), nb::arg("forward_all_need").noconvert(),
             nb::arg("forward_none_need").noconvert(), nb::arg("available_bytes"),
             nb::arg("known_time_ns"), nb::arg("first_slots"),
             nb::arg("most_slots"), nb::arg("most_bytes"))
        .def("refine", &refine, nb::arg("time_limit_s") = nb::none())
        .def_prop_ro("lower_bound_ns", &ExactSearch::lower_bound_ns)
        .def_prop_ro("time_ns", &ExactSearch::time_ns)
        .def_prop_ro("sequence",
                     [](const ExactSearch& search) { return to_sequence(search.steps()); })
        .def_prop_ro("is_complete", &ExactSearch::complete)
        .def_prop_ro("slots", &ExactSearch::slots)
        .def_prop_ro("states", &ExactSearch::states);
}

}  // namespace jettison::binding
