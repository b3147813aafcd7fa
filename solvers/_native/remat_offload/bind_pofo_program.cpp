#include "core/binding.hpp"
#include "remat_offload/chain_arrays.hpp"
#include "remat_offload/pofo_program.hpp"

namespace jettison::binding {
namespace {

std::int64_t ticks_of(std::optional<std::int64_t> ticks) {
    if (ticks && *ticks < 0) throw std::invalid_argument("limit: negative");
    return std::min(ticks.value_or(never), never);
}

std::optional<std::int64_t> finite(std::int64_t ticks) {
    return ticks >= never ? std::nullopt : std::optional(ticks);
}

void make(OffloadProgram* place, const Vector<std::int64_t>& forward,
          const Vector<std::int64_t>& backward, const Vector<std::int64_t>& output,
          const Vector<std::int64_t>& gradient, const Vector<std::int64_t>& saved,
          const Vector<std::int64_t>& saving_overhead,
          const Vector<std::int64_t>& forward_overhead, const Vector<std::int64_t>& backward_need,
          std::int64_t memory, bool recomputes, std::int64_t most_bytes) {
    if (memory < 1) throw std::invalid_argument("memory: less than one unit");
    new (place) OffloadProgram(
        offload_chain(forward, backward, output, gradient, saved, saving_overhead,
                      forward_overhead, backward_need, memory),
        recomputes ? Recomputation::allowed : Recomputation::forbidden, most_bytes);
}

std::optional<std::int64_t> refine(OffloadProgram& program, std::int64_t slot,
                                   std::int64_t backward_slot, bool both_programs,
                                   std::optional<std::int64_t> limit,
                                   std::optional<double> time_limit_s) {
    if (slot < 1 || backward_slot < 1) throw std::invalid_argument("slot: less than one unit");
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    return finite(program.refine(slot, backward_slot, both_programs, ticks_of(limit),
                                 std::ref(watch)));
}

// Floor, time and schedule; a floor or a time of None stands for infinity.
std::tuple<std::optional<std::int64_t>, std::optional<std::int64_t>, Sequence,
           std::vector<std::pair<int, bool>>, bool, std::int64_t, std::int64_t>
search(OffloadProgram& program, Accuracy accuracy, std::int64_t most_labels,
       std::optional<std::int64_t> limit, std::optional<double> time_limit_s) {
    if (most_labels < 1) throw std::invalid_argument("most_labels: less than one");
    OffloadAnswer answer;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        answer = program.search(accuracy, at(most_labels), ticks_of(limit), std::ref(watch));
    }
    std::vector<std::pair<int, bool>> offloaded;
    for (const Offloaded& value : answer.offloaded) {
        offloaded.emplace_back(value.stage, value.saved);
    }
    return {finite(answer.floor), finite(answer.time), to_sequence(answer.steps),
            std::move(offloaded), answer.is_complete,  answer.labels,
            answer.states};
}

}  // namespace

void bind_pofo_program(nb::module_& m) {
    nb::enum_<Accuracy>(m, "Accuracy")
        .value("LOWER", Accuracy::lower)
        .value("UPPER", Accuracy::upper)
        .value("EXACT", Accuracy::exact);
    // No conversions: one that does not fit its type would wrap around in silence.
    nb::class_<OffloadProgram>(m, "PofoProgram")
        .def("__init__", &make, nb::arg("forward").noconvert(), nb::arg("backward").noconvert(),
              nb::arg("output").noconvert(), nb::arg("gradient").noconvert(),
              nb::arg("saved").noconvert(), nb::arg("saving_overhead").noconvert(),
              nb::arg("forward_overhead").noconvert(),
              nb::arg("backward_need").noconvert(), nb::arg("memory"), nb::arg("recomputes"),
              nb::arg("most_bytes"))
         .def("refine", &refine, nb::arg("slot"), nb::arg("backward_slot"),
              nb::arg("both_programs"), nb::arg("limit").none(),
             nb::arg("time_limit_s") = nb::none())
        .def("search", &search, nb::arg("accuracy"), nb::arg("most_labels"),
             nb::arg("limit").none(), nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
