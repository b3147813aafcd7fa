#include <memory>
#include <new>

#include "core/binding.hpp"
#include "pipeline_chain/cuts.hpp"
#include "pipeline_chain/two_phases.hpp"

namespace jettison::binding {
namespace {

template <typename T>
using Cube = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::vector<T> copy_cube(const Cube<T>& array, std::size_t devices, std::size_t stages,
                         const char* name) {
    if (array.shape(0) != devices || array.shape(1) != stages || array.shape(2) != stages) {
        throw std::invalid_argument(std::string(name) + ": wrong shape");
    }
    return {array.data(), array.data() + array.size()};
}

// The two phases, as pairs of an operation and a stage.
std::pair<Sequence, Sequence> sequence(const PhaseTable& table, std::int32_t device,
                                       std::int32_t first, std::int32_t last) {
    const TwoPhases found = table.sequence(device, first, last);
    return {to_sequence(found.forward), to_sequence(found.backward)};
}

std::pair<Sequence, Sequence> sequence_within(const PhaseTable& table, std::int32_t first,
                                              std::int32_t last, std::int32_t left,
                                              std::int32_t memory) {
    const TwoPhases found = table.sequence_within(first, last, left, memory);
    return {to_sequence(found.forward), to_sequence(found.backward)};
}

// Fills an array that the caller has made: it is large.
void within(const PhaseTable& table, std::int32_t first, std::int32_t last,
            nb::ndarray<std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu> out) {
    if (last < first || out.shape(1) < 1 || out.shape(1) != out.shape(2) ||
        out.shape(0) != static_cast<std::size_t>(last - first) + 1) {
        throw std::invalid_argument("out: wrong shape");
    }
    std::int64_t* data = out.data();
    const auto most = static_cast<std::int32_t>(out.shape(1)) - 1;
    nb::gil_scoped_release unlocked;
    table.within(first, last, most, data);
}

using Slots = Vector<std::int32_t>;
using Needs = Matrix<std::int32_t>;

PhaseTable* phase_table(const Vector<std::int64_t>& forward_ns,
                        const Vector<std::int64_t>& backward_ns, const Slots& input_slots,
                        const Slots& saved_slots, const Needs& forward_all_need,
                        const Needs& forward_none_need, const Slots& saving_need,
                        const Needs& passing_need, const Slots& in_flight,
                        const Cube<std::int32_t>& room, std::int64_t most_entries,
                        std::optional<double> time_limit_s) {
    const std::size_t n = forward_ns.size(), devices = in_flight.size();
    if (n == 0 || devices == 0) throw std::invalid_argument("an empty chain or pipeline");
    PhasedChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.backward_ns = copy_amounts(backward_ns, n, "backward_ns");
    chain.input_slots = copy_amounts(input_slots, n, "input_slots");
    chain.saved_slots = copy_amounts(saved_slots, n, "saved_slots");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    chain.saving_need = copy_amounts(saving_need, n, "saving_need");
    chain.passing_need = copy(passing_need, n, "passing_need");
    chain.in_flight = copy_amounts(in_flight, devices, "in_flight");
    for (const std::int32_t flying : chain.in_flight) {
        if (flying < 1) throw std::invalid_argument("in_flight: not positive");
    }
    chain.room = copy_cube(room, devices, n, "room");
    auto table = std::make_unique<PhaseTable>(std::move(chain));
    if (table->table_entries() > most_entries) throw std::bad_alloc();
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        table->fill(std::ref(watch));
    }
    return table.release();
}

std::tuple<std::int64_t, std::vector<std::int32_t>, std::int64_t> step_bound(
    const Cube<std::int64_t>& busy_ns, const Cube<std::int64_t>& forward_ns,
    std::int64_t microbatches, std::int64_t limit_ns, std::int64_t most_labels,
    std::optional<double> time_limit_s) {
    PipelineTimes times;
    const std::size_t devices = busy_ns.shape(0), n = busy_ns.shape(1);
    if (n == 0 || devices == 0 || devices > n || most_labels < 2 || microbatches < 1) {
        throw std::invalid_argument("an empty chain or pipeline, or no labels");
    }
    times.devices = static_cast<std::int32_t>(devices);
    times.stages = static_cast<std::int32_t>(n);
    times.microbatches = microbatches;
    times.busy_ns = copy_cube(busy_ns, devices, n, "busy_ns");
    times.forward_ns = copy_cube(forward_ns, devices, n, "forward_ns");
    PipelineCuts found;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        found = least_step_bound(times, limit_ns, static_cast<std::size_t>(most_labels),
                                 std::ref(watch));
    }
    return {found.bound_ns, found.first, found.labels};
}

}  // namespace

void bind_pipeline_chain(nb::module_& m) {
    // No conversions: one that does not fit its type would wrap around in silence.
    nb::class_<PhaseTable>(m, "PhaseTable")
        .def(nb::new_(&phase_table), nb::arg("forward_ns").noconvert(),
             nb::arg("backward_ns").noconvert(), nb::arg("input_slots").noconvert(),
             nb::arg("saved_slots").noconvert(), nb::arg("forward_all_need").noconvert(),
             nb::arg("forward_none_need").noconvert(), nb::arg("saving_need").noconvert(),
             nb::arg("passing_need").noconvert(), nb::arg("in_flight").noconvert(),
             nb::arg("room").noconvert(), nb::arg("most_entries"),
             nb::arg("time_limit_s") = nb::none())
        .def_prop_ro("times_ns", &PhaseTable::times_ns)
        .def("sequence", &sequence, nb::arg("device"), nb::arg("first"), nb::arg("last"))
        .def("sequence_within", &sequence_within, nb::arg("first"), nb::arg("last"),
             nb::arg("left"), nb::arg("memory"))
        .def("within", &within, nb::arg("first"), nb::arg("last"), nb::arg("out").noconvert());
    m.def("pipeline_step_bound", &step_bound, nb::arg("busy_ns").noconvert(),
          nb::arg("forward_ns").noconvert(), nb::arg("microbatches"), nb::arg("limit_ns"),
          nb::arg("most_labels"), nb::arg("time_limit_s") = nb::none());
    m.attr("NO_PHASES_NS") = PhaseTable::none_ns;
}

}  // namespace jettison::binding
