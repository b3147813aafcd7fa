#include "core/binding.hpp"
#include "remat_offload/pofo_program.hpp"

namespace jettison::binding {
namespace {

// Floor, time and schedule; a floor or a time of None stands for infinity.
std::tuple<std::optional<std::int64_t>, std::optional<std::int64_t>, Sequence,
           std::vector<std::pair<int, bool>>, std::int64_t, std::int64_t>
pofo_program(const Vector<std::int64_t>& forward, const Vector<std::int64_t>& backward,
             const Vector<std::int64_t>& output, const Vector<std::int64_t>& saved,
             const Vector<std::int64_t>& forward_overhead,
             const Vector<std::int64_t>& backward_need, std::int64_t memory, std::int32_t slots,
             std::int32_t most_labels, std::int64_t most_bytes, bool recomputes, bool exact,
             std::optional<double> time_limit_s) {
    const std::size_t size = forward.size();
    if (size < 2 || size > 30000) throw std::invalid_argument("no stage, or too many");
    if (slots < 1 || slots > (1 << 20) || memory < slots || memory % slots != 0) {
        throw std::invalid_argument("slots: they do not divide the memory");
    }
    if (most_labels < 1) throw std::invalid_argument("most_labels: less than one");
    OffloadProgram program;
    program.chain.stages = static_cast<std::int32_t>(size - 1);
    program.chain.forward = copy_amounts(forward, size, "forward");
    program.chain.backward = copy_amounts(backward, size, "backward");
    program.chain.output = copy_amounts(output, size, "output");
    program.chain.saved = copy_amounts(saved, size, "saved");
    program.chain.forward_overhead = copy_amounts(forward_overhead, size, "forward_overhead");
    program.chain.backward_need = copy_amounts(backward_need, size, "backward_need");
    program.chain.memory = memory;
    program.slots = slots;
    program.most_labels = most_labels;
    program.most_bytes = most_bytes;
    program.recomputation = recomputes ? Recomputation::allowed : Recomputation::forbidden;
    program.accuracy = exact ? Accuracy::exact : Accuracy::grid;
    OffloadAnswer answer;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        answer = solve_offload(program, std::ref(watch));
    }
    const auto finite = [](std::int64_t ticks) {
        return ticks >= never ? std::nullopt : std::optional(ticks);
    };
    std::vector<std::pair<int, bool>> offloaded;
    for (const Offloaded& value : answer.offloaded) {
        offloaded.emplace_back(value.stage, value.saved);
    }
    return {finite(answer.floor), finite(answer.time), to_sequence(answer.steps),
            std::move(offloaded), answer.labels,       answer.states};
}

}  // namespace

void bind_pofo_program(nb::module_& m) {
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("pofo_program", &pofo_program, nb::arg("forward").noconvert(),
          nb::arg("backward").noconvert(), nb::arg("output").noconvert(),
          nb::arg("saved").noconvert(), nb::arg("forward_overhead").noconvert(),
          nb::arg("backward_need").noconvert(), nb::arg("memory"), nb::arg("slots"),
          nb::arg("most_labels"), nb::arg("most_bytes"), nb::arg("recomputes"), nb::arg("exact"),
          nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
