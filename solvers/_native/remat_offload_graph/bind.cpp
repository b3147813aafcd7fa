#include <functional>

#include "core/binding.hpp"
#include "remat_offload_graph/moments.hpp"

namespace jettison::binding {
namespace {

using Amounts = Vector<std::int64_t>;

constexpr std::int64_t most_in_all = std::int64_t{1} << 60;

std::vector<std::int64_t> bounded(const Amounts& array, std::size_t expected, const char* name) {
    std::vector<std::int64_t> amounts = copy_amounts(array, expected, name);
    std::int64_t total = 0;
    for (const std::int64_t amount : amounts) {
        if (amount >= most_in_all - total) {
            throw std::invalid_argument(std::string(name) + ": too much");
        }
        total += amount;
    }
    return amounts;
}

std::uint32_t bits(const Vector<std::uint8_t>& array, std::size_t expected, const char* name) {
    const std::vector<std::uint8_t> flags = copy(array, expected, name);
    std::uint32_t found = 0;
    for (std::size_t node = 0; node < expected; ++node) {
        if (flags[node] != 0) found |= std::uint32_t{1} << node;
    }
    return found;
}

void make_search(MomentSearch* place, const Amounts& duration_ns, const Amounts& output_bytes,
                 const Amounts& workspace_bytes, const Amounts& copy_ns,
                 const Vector<std::uint8_t>& movable, const Vector<std::uint8_t>& keep,
                 const Vector<std::uint8_t>& again, const Vector<std::uint8_t>& token,
                 const Vector<std::int32_t>& input_start, const Vector<std::int32_t>& inputs,
                 std::int64_t memory_bytes) {
    LinkedGraph graph;
    graph.nodes = duration_ns.size();
    if (graph.nodes == 0 || graph.nodes > LinkedGraph::most_nodes) {
        throw std::invalid_argument("duration_ns: no nodes, or too many");
    }
    if (memory_bytes < 0 || memory_bytes >= most_in_all) {
        throw std::invalid_argument("memory_bytes: range");
    }
    graph.duration_ns = bounded(duration_ns, graph.nodes, "duration_ns");
    graph.output_bytes = bounded(output_bytes, graph.nodes, "output_bytes");
    graph.workspace_bytes = bounded(workspace_bytes, graph.nodes, "workspace_bytes");
    graph.copy_ns = bounded(copy_ns, graph.nodes, "copy_ns");
    const std::uint32_t moves = bits(movable, graph.nodes, "movable");
    graph.kept = bits(keep, graph.nodes, "keep");
    graph.again = bits(again, graph.nodes, "again");
    graph.tokens = bits(token, graph.nodes, "token");
    const std::vector<std::int32_t> starts = copy(input_start, graph.nodes + 1, "input_start");
    const std::vector<std::int32_t> sources = copy(inputs, inputs.size(), "inputs");
    if (starts.front() != 0 || static_cast<std::size_t>(starts.back()) != sources.size() ||
        !std::is_sorted(starts.begin(), starts.end())) {
        throw std::invalid_argument("input_start: not the starts of rows");
    }
    graph.inputs.assign(graph.nodes, 0);
    graph.users.assign(graph.nodes, 0);
    for (std::size_t node = 0; node < graph.nodes; ++node) {
        if ((moves >> node & 1U) == 0) graph.copy_ns[node] = -1;
        for (std::int32_t at = starts[node]; at < starts[node + 1]; ++at) {
            const std::int32_t source = sources[static_cast<std::size_t>(at)];
            if (source < 0 || static_cast<std::size_t>(source) >= node) {
                throw std::invalid_argument("inputs: not before their node");
            }
            graph.inputs[node] |= std::uint32_t{1} << source;
            graph.users[static_cast<std::size_t>(source)] |= std::uint32_t{1} << node;
        }
    }
    new (place) MomentSearch(std::move(graph), memory_bytes);
}

void run(MomentSearch& search, std::int64_t most_states, std::int64_t upper_ns,
         std::optional<double> time_limit_s) {
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    search.run(most_states, upper_ns, std::ref(watch));
}

}  // namespace

void bind_linked_moments(nb::module_& m) {
    nb::class_<MomentSearch>(m, "LinkedMoments")
        // No conversions: one that does not fit its type would wrap around in silence.
        .def("__init__", &make_search, nb::arg("duration_ns").noconvert(),
             nb::arg("output_bytes").noconvert(), nb::arg("workspace_bytes").noconvert(),
             nb::arg("copy_ns").noconvert(), nb::arg("movable").noconvert(),
             nb::arg("keep").noconvert(), nb::arg("again").noconvert(),
             nb::arg("token").noconvert(), nb::arg("input_start").noconvert(),
             nb::arg("inputs").noconvert(), nb::arg("memory_bytes"))
        .def("run", &run, nb::arg("most_states"), nb::arg("upper_ns"),
             nb::arg("time_limit_s") = nb::none())
        .def_prop_ro("is_over", &MomentSearch::is_over)
        .def_prop_ro("time_ns", &MomentSearch::time_ns)
        .def_prop_ro("bound_ns", &MomentSearch::bound_ns)
        .def_prop_ro("states", &MomentSearch::states)
        .def_prop_ro("steps", [](const MomentSearch& search) {
            std::vector<std::tuple<std::uint32_t, int, int>> found;
            for (const MomentStep& step : search.steps()) {
                found.emplace_back(step.freed, static_cast<int>(step.action), step.node);
            }
            return found;
        });
}

}  // namespace jettison::binding
