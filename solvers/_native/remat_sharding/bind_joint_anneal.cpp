#include <nanobind/stl/unique_ptr.h>

#include <functional>
#include <memory>

#include "core/binding.hpp"
#include "remat_sharding/joint_anneal.hpp"

namespace jettison::binding {
namespace {

using Numbers = Vector<std::int32_t>;
using Amounts = Vector<std::int64_t>;

void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

constexpr std::int64_t most_in_all = std::int64_t{1} << 60;

// The parts of a flat array, with the places of its operator each.
std::vector<std::vector<std::int64_t>> by_place(const Amounts& flat, const JointGraph& joint,
                                                std::int64_t least, const char* name) {
    std::vector<std::vector<std::int64_t>> parts;
    std::size_t begin = 0;
    std::int64_t total = 0;
    for (const std::int32_t choice : joint.choice) {
        const auto places = static_cast<std::size_t>(joint.places[choice]);
        expect(begin + places <= flat.size(), name);
        parts.emplace_back(flat.data() + begin, flat.data() + begin + places);
        for (const std::int64_t amount : parts.back()) {
            expect(amount >= least && amount < most_in_all, name);
        }
        const std::int64_t most = *std::max_element(parts.back().begin(), parts.back().end());
        total += std::max<std::int64_t>(most, 0);
        expect(total < most_in_all, name);
        begin += places;
    }
    expect(begin == flat.size(), name);
    return parts;
}

void read_inputs(RecomputedGraph& graph, const Vector<std::uint8_t>& keep,
                 const Vector<std::uint8_t>& computed_once, const Numbers& input_start,
                 const Numbers& inputs) {
    const auto n = static_cast<std::size_t>(graph.nodes);
    graph.duration_ns.assign(n, 0);
    graph.output_bytes.assign(n, 0);
    graph.workspace_bytes.assign(n, 0);
    graph.keep = copy(keep, n, "keep");
    graph.again = copy(computed_once, n, "computed_once");
    for (auto& flag : graph.again) flag = flag == 0 ? 1 : 0;
    // No operator of a sharded graph has several results.
    graph.run_of.assign(n, -1);
    graph.input_start = copy(input_start, n + 1, "input_start");
    graph.inputs = copy(inputs, inputs.size(), "inputs");
    expect(graph.input_start.front() == 0 &&
               static_cast<std::size_t>(graph.input_start.back()) == graph.inputs.size() &&
               std::is_sorted(graph.input_start.begin(), graph.input_start.end()),
           "input_start: not the starts of rows");
    for (std::size_t node = 0; node < n; ++node) {
        const auto row = graph.inputs.begin();
        expect(std::is_sorted(row + graph.input_start[node], row + graph.input_start[node + 1],
                              std::less_equal<std::int32_t>()),
               "inputs: not ascending");
    }
    find_users(graph);
}

void read_tables(JointGraph& joint, const Numbers& ends, const Amounts& table) {
    std::size_t begin = 0;
    expect(ends.size() % 2 == 0, "table_ends: no pairs");
    for (std::size_t t = 0; t < ends.size(); t += 2) {
        JointTable read{ends.data()[t], ends.data()[t + 1], {}};
        expect(read.source >= 0 && read.source < read.reader && read.reader < joint.graph.nodes,
               "table_ends: range");
        const auto size = static_cast<std::size_t>(joint.places[joint.choice[read.source]]) *
                          static_cast<std::size_t>(joint.places[joint.choice[read.reader]]);
        expect(begin + size <= table.size(), "table");
        read.cost_ns.assign(table.data() + begin, table.data() + begin + size);
        for (const std::int64_t cost : read.cost_ns) {
            expect(cost >= -1 && cost < most_in_all, "table: range");
        }
        begin += size;
        joint.tables.push_back(std::move(read));
    }
    expect(begin == table.size(), "table: wrong length");
}

std::vector<std::int32_t> checked_places(const JointGraph& joint, const Numbers& start) {
    std::vector<std::int32_t> places = copy(start, joint.places.size(), "start");
    for (std::size_t g = 0; g < places.size(); ++g) {
        expect(places[g] >= 0 && places[g] < joint.places[g], "start: range");
    }
    for (std::size_t i = 0; i < joint.choice.size(); ++i) {
        expect(joint.cost_ns[i][places[joint.choice[i]]] >= 0, "start: a place is forbidden");
    }
    for (const JointTable& table : joint.tables) {
        const std::int32_t a = places[joint.choice[table.source]];
        const std::int32_t b = places[joint.choice[table.reader]];
        const std::int32_t width = joint.places[joint.choice[table.reader]];
        expect(table.cost_ns[static_cast<std::size_t>(a) * width + b] >= 0,
               "start: a pair is forbidden");
    }
    return places;
}

// Keeps what it was made from: starts are checked against it.
struct Search {
    JointGraph checked;
    std::unique_ptr<JointAnneal> anneal;
};

std::unique_ptr<Search> new_search(const Numbers& choice, const Numbers& places,
                                   const Amounts& cost_ns, const Amounts& size_bytes,
                                   const Numbers& table_ends, const Amounts& table,
                                   const Vector<std::uint8_t>& keep,
                                   const Vector<std::uint8_t>& computed_once,
                                   const Numbers& input_start, const Numbers& inputs,
                                   const Numbers& start, std::int64_t memory_bytes,
                                   std::int64_t floor_ns, std::int32_t rounds,
                                   std::uint64_t seed) {
    expect(choice.size() > 0 && choice.size() < RematState::most_computations, "choice: length");
    expect(memory_bytes >= 0 && memory_bytes < most_in_all, "memory: range");
    expect(rounds >= 0 && rounds <= 20, "rounds: range");
    auto search = std::make_unique<Search>();
    JointGraph& joint = search->checked;
    joint.graph.nodes = static_cast<std::int32_t>(choice.size());
    joint.choice = copy(choice, choice.size(), "choice");
    joint.places = copy(places, places.size(), "places");
    std::vector<std::uint8_t> is_used(joint.places.size(), 0);
    for (const std::int32_t g : joint.choice) {
        expect(g >= 0 && static_cast<std::size_t>(g) < joint.places.size(), "choice: range");
        is_used[static_cast<std::size_t>(g)] = 1;
    }
    for (std::size_t g = 0; g < is_used.size(); ++g) {
        expect(is_used[g] != 0 && joint.places[g] > 0, "places: without an operator or a place");
    }
    joint.cost_ns = by_place(cost_ns, joint, -1, "cost_ns");
    joint.bytes = by_place(size_bytes, joint, 0, "size_bytes");
    read_inputs(joint.graph, keep, computed_once, input_start, inputs);
    read_tables(joint, table_ends, table);
    search->anneal = std::make_unique<JointAnneal>(joint, checked_places(joint, start),
                                                   memory_bytes, floor_ns, rounds, seed);
    return search;
}

void run(Search& search, std::int64_t moves, std::optional<double> time_limit_s) {
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    search.anneal->run(moves, std::ref(watch));
}

}  // namespace

void bind_joint_anneal(nb::module_& m) {
    nb::class_<Search>(m, "JointAnneal")
        .def(nb::new_(&new_search), nb::arg("choice").noconvert(), nb::arg("places").noconvert(),
             nb::arg("cost_ns").noconvert(), nb::arg("size_bytes").noconvert(),
             nb::arg("table_ends").noconvert(), nb::arg("table").noconvert(),
             nb::arg("keep").noconvert(), nb::arg("computed_once").noconvert(),
             nb::arg("input_start").noconvert(), nb::arg("inputs").noconvert(),
             nb::arg("start").noconvert(), nb::arg("memory_bytes"), nb::arg("floor_ns"),
             nb::arg("rounds"), nb::arg("seed"))
        .def("start_from", [](Search& search, const Numbers& places, const Numbers& sequence) {
            search.anneal->start_from(checked_places(search.checked, places),
                                      copy(sequence, sequence.size(), "computations"));
        }, nb::arg("places").noconvert(), nb::arg("computations").noconvert())
        .def("run", &run, nb::arg("moves"), nb::arg("time_limit_s") = nb::none())
        .def("set_floor_ns", [](Search& search, std::int64_t floor_ns) {
            search.anneal->set_floor_ns(floor_ns);
        }, nb::arg("floor_ns"))
        .def_prop_ro("is_over", [](const Search& search) { return search.anneal->is_over(); })
        .def_prop_ro("time_ns", [](const Search& search) {
            const JointAnneal& anneal = *search.anneal;
            return anneal.has_best() ? std::optional(anneal.best_ns()) : std::nullopt;
        })
        .def_prop_ro("places", [](const Search& search) { return search.anneal->best_places(); })
        .def_prop_ro("computations",
                     [](const Search& search) { return search.anneal->best_sequence(); })
        .def_prop_ro("rounds_ended",
                     [](const Search& search) { return search.anneal->rounds_ended(); })
        .def_prop_ro("tried", [](const Search& search) { return search.anneal->tried(); });
}

}  // namespace jettison::binding
