// The Python face of the kernels: arrays in, plain numbers and short sequences out.
#include <nanobind/stl/string.h>

#include "core/binding.hpp"
#include "core/vector_unit.hpp"

namespace nb = nanobind;
using namespace jettison::binding;

NB_MODULE(_kernels, m) {
    m.doc() = "Native kernels; the modules that call them document the mathematics.";
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const Watch::TimeIsUp& stopped) {
            PyErr_SetString(PyExc_TimeoutError, stopped.what());
        }
    });
    // For tests and benchmarks: the answers are the same.
    m.def("vector_units", &jettison::vector_units);
    m.def("vector_unit", [] { return jettison::name_of(jettison::vector_unit); });
    m.def("choose_vector_unit", &jettison::choose_vector_unit, nb::arg("name"));
    bind_persistent_program(m);
    bind_chain_cuts(m);
    bind_exact_search(m);
    bind_least_memory(m);
    bind_linked_moments(m);
    bind_contents_search(m);
    bind_offload_cut(m);
    bind_pipeline_chain(m);
    bind_pofo_program(m);
    bind_pofo_proof(m);
    bind_remat_anneal(m);
    bind_joint_anneal(m);
    bind_sharding(m);
    bind_sharding_messages(m);
    bind_training_chain(m);
    bind_period_search(m);
    bind_weight_offload(m);
    bind_weight_sweep(m);
}
