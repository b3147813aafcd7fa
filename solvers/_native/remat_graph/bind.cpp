#include <functional>
#include <memory>

#include "core/binding.hpp"
#include "remat_graph/anneal.hpp"

namespace jettison::binding {
namespace {

using Amounts = Vector<std::int64_t>;

// Above this, sums of sizes and of durations might not fit.
constexpr std::int64_t most_in_all = std::int64_t{1} << 60;

void expect_below_limit(const std::vector<std::int64_t>& amounts, std::int64_t times,
                        std::int64_t& total, const char* name) {
    for (const std::int64_t amount : amounts) {
        if (amount > (most_in_all - 1) / times - total) {
            throw std::invalid_argument(std::string(name) + ": too much");
        }
        total += amount;
    }
}

RecomputedGraph checked_graph(const Amounts& duration_ns, const Amounts& output_bytes,
                              const Amounts& workspace_bytes, const Vector<std::uint8_t>& keep,
                              const Vector<std::int32_t>& input_start,
                              const Vector<std::int32_t>& inputs) {
    const std::size_t n = duration_ns.size();
    if (n == 0 || n >= RematState::most_computations) {
        throw std::invalid_argument("duration_ns: no nodes, or too many");
    }
    RecomputedGraph graph;
    graph.nodes = static_cast<std::int32_t>(n);
    graph.duration_ns = copy_amounts(duration_ns, n, "duration_ns");
    graph.output_bytes = copy_amounts(output_bytes, n, "output_bytes");
    graph.workspace_bytes = copy_amounts(workspace_bytes, n, "workspace_bytes");
    std::int64_t total_ns = 0;
    expect_below_limit(graph.duration_ns, graph.nodes, total_ns, "duration_ns");
    std::int64_t total_bytes = 0;
    expect_below_limit(graph.output_bytes, 1, total_bytes, "output_bytes");
    expect_below_limit(graph.workspace_bytes, 1, total_bytes, "workspace_bytes");
    graph.keep = copy(keep, n, "keep");
    graph.computed_once.assign(n, 0);
    graph.input_start = copy(input_start, n + 1, "input_start");
    graph.inputs = copy(inputs, inputs.size(), "inputs");
    if (graph.input_start.front() != 0 ||
        static_cast<std::size_t>(graph.input_start.back()) != graph.inputs.size() ||
        !std::is_sorted(graph.input_start.begin(), graph.input_start.end())) {
        throw std::invalid_argument("input_start: not the starts of rows");
    }
    for (std::size_t node = 0; node < n; ++node) {
        const auto row = graph.inputs.begin();
        if (!std::is_sorted(row + graph.input_start[node], row + graph.input_start[node + 1],
                            std::less_equal<std::int32_t>())) {
            throw std::invalid_argument("inputs: not ascending");
        }
    }
    find_users(graph);
    return graph;
}

std::int64_t checked_memory(std::int64_t memory_bytes) {
    if (memory_bytes < 0 || memory_bytes >= most_in_all) {
        throw std::invalid_argument("memory: range");
    }
    return memory_bytes;
}

void make_anneal(RematAnneal* place, const Amounts& duration_ns, const Amounts& output_bytes,
                 const Amounts& workspace_bytes, const Vector<std::uint8_t>& keep,
                 const Vector<std::int32_t>& input_start, const Vector<std::int32_t>& inputs,
                 std::int64_t memory_bytes, std::int64_t floor_ns, std::int32_t rounds,
                 std::uint64_t seed) {
    if (rounds < 0 || rounds > 20) throw std::invalid_argument("rounds: range");
    RecomputedGraph graph =
        checked_graph(duration_ns, output_bytes, workspace_bytes, keep, input_start, inputs);
    new (place)
        RematAnneal(std::move(graph), checked_memory(memory_bytes), floor_ns, rounds, seed);
}

void make_peak(RematPeak* place, const Amounts& duration_ns, const Amounts& output_bytes,
               const Amounts& workspace_bytes, const Vector<std::uint8_t>& keep,
               const Vector<std::int32_t>& input_start, const Vector<std::int32_t>& inputs,
               std::int64_t stop_at_bytes, std::uint64_t seed) {
    auto graph = std::make_shared<const RecomputedGraph>(
        checked_graph(duration_ns, output_bytes, workspace_bytes, keep, input_start, inputs));
    new (place) RematPeak(std::move(graph), checked_memory(stop_at_bytes), seed);
}

template <typename Search>
void run(Search& search, std::int64_t moves, std::optional<double> time_limit_s) {
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    search.run(moves, std::ref(watch));
}

void start_from(RematAnneal& search, const Vector<std::int32_t>& computations) {
    search.start_from(copy(computations, computations.size(), "computations"));
}

}  // namespace

void bind_remat_anneal(nb::module_& m) {
    nb::class_<RematAnneal>(m, "RematAnneal")
        // No conversions: one that does not fit its type would wrap around in silence.
        .def("__init__", &make_anneal, nb::arg("duration_ns").noconvert(),
             nb::arg("output_bytes").noconvert(), nb::arg("workspace_bytes").noconvert(),
             nb::arg("keep").noconvert(), nb::arg("input_start").noconvert(),
             nb::arg("inputs").noconvert(), nb::arg("memory_bytes"), nb::arg("floor_ns"),
             nb::arg("rounds"), nb::arg("seed"))
        .def("start_from", &start_from, nb::arg("computations").noconvert())
        .def("run", &run<RematAnneal>, nb::arg("moves"), nb::arg("time_limit_s") = nb::none())
        .def_prop_rw("floor_ns", &RematAnneal::floor_ns, &RematAnneal::set_floor_ns)
        .def_prop_ro("is_over", &RematAnneal::is_over)
        .def_prop_ro("time_ns",
                     [](const RematAnneal& search) {
                         return search.has_best() ? std::optional(search.best_ns()) : std::nullopt;
                     })
        .def_prop_ro("computations", &RematAnneal::best_sequence)
        .def_prop_ro("rounds_ended", &RematAnneal::rounds_ended)
        .def_prop_ro("tried", &RematAnneal::tried);
    nb::class_<RematPeak>(m, "RematPeak")
        .def("__init__", &make_peak, nb::arg("duration_ns").noconvert(),
             nb::arg("output_bytes").noconvert(), nb::arg("workspace_bytes").noconvert(),
             nb::arg("keep").noconvert(), nb::arg("input_start").noconvert(),
             nb::arg("inputs").noconvert(), nb::arg("stop_at_bytes"), nb::arg("seed"))
        .def("run", &run<RematPeak>, nb::arg("moves"), nb::arg("time_limit_s") = nb::none())
        .def_prop_ro("is_over", &RematPeak::is_over)
        .def_prop_ro("peak_bytes", &RematPeak::best_bytes)
        .def_prop_ro("computations", &RematPeak::best_sequence)
        .def_prop_ro("tried", &RematPeak::tried);
}

}  // namespace jettison::binding
