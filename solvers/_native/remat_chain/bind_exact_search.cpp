#include "core/binding.hpp"
#include "remat_chain/descent.hpp"
#include "remat_chain/exact_search.hpp"

namespace jettison::binding {
namespace {

// Thresholds are a matrix of C, or four of C_0, E_0, C_1 and E_1.
template <typename Needs>
constexpr std::int32_t kinds_of = 4;
template <>
constexpr std::int32_t kinds_of<Matrix<std::int64_t>> = 1;

template <typename Needs>
ExactChain exact_chain(const Vector<std::int64_t>& forward_ns,
                       const Vector<std::int64_t>& backward_ns,
                       const Vector<std::int64_t>& input_bytes,
                       const Vector<std::int64_t>& saved_bytes, const Needs& forward_all_need,
                       const Needs& forward_none_need) {
    const std::size_t n = forward_ns.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    ExactChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.kinds = kinds_of<Needs>;
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.backward_ns = copy_amounts(backward_ns, n, "backward_ns");
    chain.input_bytes = copy_amounts(input_bytes, n, "input_bytes");
    chain.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    return chain;
}

template <typename Needs>
void make(ExactSearch* place, const Vector<std::int64_t>& forward_ns,
          const Vector<std::int64_t>& backward_ns, const Vector<std::int64_t>& input_bytes,
          const Vector<std::int64_t>& saved_bytes, const Needs& forward_all_need,
          const Needs& forward_none_need, std::int64_t available_bytes,
          std::int64_t known_time_ns, std::int32_t first_slots, std::int64_t most_slots,
          std::int64_t most_bytes) {
    if (first_slots < 1 || available_bytes < 1 || known_time_ns < 0) {
        throw std::invalid_argument("no slots, no memory or a negative time");
    }
    new (place) ExactSearch(exact_chain(forward_ns, backward_ns, input_bytes, saved_bytes,
                                        forward_all_need, forward_none_need),
                            available_bytes, known_time_ns,
                            {first_slots, most_slots, most_bytes});
}

// The least memory of the four tables, the input excluded, and a schedule that attains it.
std::pair<std::int64_t, Sequence> least_memory_with_drops(
    const Vector<std::int64_t>& forward_ns, const Vector<std::int64_t>& backward_ns,
    const Vector<std::int64_t>& input_bytes, const Vector<std::int64_t>& saved_bytes,
    const Matrices<std::int64_t>& forward_all_need,
    const Matrices<std::int64_t>& forward_none_need) {
    ExactChain chain = exact_chain(forward_ns, backward_ns, input_bytes, saved_bytes,
                                   forward_all_need, forward_none_need);
    nb::gil_scoped_release unlocked;
    Watch watch(std::nullopt);
    const Recurrence recurrence(std::move(chain), infinite_ns, std::ref(watch));
    const std::int64_t least = recurrence.least(recurrence.root());
    const std::optional<Solution> found = descend(
        recurrence, least,
        [&](const SubProblem& sub, std::int64_t) { return recurrence.times().own(sub); },
        std::ref(watch));
    return {least, to_sequence(found->steps)};
}

void refine(ExactSearch& search, std::optional<double> time_limit_s) {
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    search.refine(std::ref(watch));
}

template <typename Needs>
void define_make(nb::class_<ExactSearch>& search) {
    // No conversions: one that does not fit its type would wrap around in silence.
    search.def("__init__", &make<Needs>, nb::arg("forward_ns").noconvert(),
               nb::arg("backward_ns").noconvert(), nb::arg("input_bytes").noconvert(),
               nb::arg("saved_bytes").noconvert(), nb::arg("forward_all_need").noconvert(),
               nb::arg("forward_none_need").noconvert(), nb::arg("available_bytes"),
               nb::arg("known_time_ns"), nb::arg("first_slots"), nb::arg("most_slots"),
               nb::arg("most_bytes"));
}

}  // namespace

void bind_exact_search(nb::module_& m) {
    nb::class_<ExactSearch> search(m, "PersistentSearch");
    define_make<Matrix<std::int64_t>>(search);
    define_make<Matrices<std::int64_t>>(search);
    search
        .def("refine", &refine, nb::arg("time_limit_s") = nb::none())
        .def_prop_ro("lower_bound_ns", &ExactSearch::lower_bound_ns)
        .def_prop_ro("time_ns", &ExactSearch::time_ns)
        .def_prop_ro("sequence",
                     [](const ExactSearch& search) { return to_sequence(search.steps()); })
        .def_prop_ro("is_complete", &ExactSearch::complete)
        .def_prop_ro("slots", &ExactSearch::slots)
        .def_prop_ro("states", &ExactSearch::states);
    m.def("least_memory_with_drops", &least_memory_with_drops, nb::arg("forward_ns").noconvert(),
          nb::arg("backward_ns").noconvert(), nb::arg("input_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("forward_all_need").noconvert(),
          nb::arg("forward_none_need").noconvert());
}

}  // namespace jettison::binding
