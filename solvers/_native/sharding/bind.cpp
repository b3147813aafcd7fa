#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "core/binding.hpp"
#include "sharding/local_search.hpp"
#include "sharding/message_bound.hpp"
#include "sharding/presolve.hpp"

namespace jettison::binding {
namespace {

using namespace jettison::sharding;
using Numbers = Vector<std::int32_t>;
using Amounts = Vector<std::int64_t>;
using Pairs = Matrix<std::int32_t>;
// Seconds and pairs that a call may use; infinite for no limit.
using Limits = std::pair<double, double>;

void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

nb::object to_python(Wide value) {
    const nb::int_ high(static_cast<std::int64_t>(value >> 64));
    const nb::int_ low(static_cast<std::uint64_t>(value));
    return high.attr("__lshift__")(64).attr("__or__")(low);
}

Wide to_wide(const nb::int_& value) {
    const nb::object low = value.attr("__and__")(nb::int_(~std::uint64_t{0}));
    const auto high = nb::cast<std::int64_t>(value.attr("__rshift__")(64));
    return Wide(high) * (Wide{1} << 64) + Wide(nb::cast<std::uint64_t>(low));
}

template <typename Number>
nb::object to_cost(Number cost) {
    return cost >= forbidden<Number> ? nb::none() : to_python(Wide(cost));
}

// Limits as a budget that looks at the clock and at Ctrl-C.
class Limited {
public:
    explicit Limited(const Limits& limits)
        : watch_(limits.first),
          budget(limits.second, [this] {
              try {
                  watch_();
              } catch (const Watch::TimeIsUp&) {
                  return false;
              }
              return true;
          }) {}
    Limited(const Limited&) = delete;

private:
    Watch watch_;

public:
    Budget budget;
};

template <typename Number>
StrategyGraph<Number> new_graph(const Numbers& sizes, const Amounts& costs, const Amounts& usages,
                                const Pairs& rows, std::int32_t row_count,
                                const nb::int_& capacity, const Pairs& ends,
                                const Amounts& tables) {
    StrategyGraph<Number> graph;
    const Wide limit = to_wide(capacity);
    expect(limit >= 0 && limit < Wide(forbidden<Number>), "capacity: range");
    expect(row_count >= 0 && rows.shape(0) == sizes.size() && rows.shape(1) == 2, "rows: shape");
    graph.capacity.assign(row_count, static_cast<Number>(limit));
    for (std::int32_t row = 0; row < row_count; ++row) graph.row_number.push_back(row);
    const auto cost_of = [](std::int64_t cost) {
        expect(cost >= -1, "costs: range");
        return cost < 0 ? forbidden<Number> : static_cast<Number>(cost);
    };
    std::size_t from = 0;
    expect(costs.size() == usages.size(), "usages: length");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::int32_t size = sizes.data()[i];
        expect(size > 0 && from + size <= costs.size(), "sizes: range");
        Node<Number> node;
        Part<Number> part{rows.data()[2 * i], rows.data()[2 * i + 1], {}};
        expect(part.first >= 0 && part.end <= row_count, "rows: range");
        for (std::int32_t a = 0; a < size; ++a, ++from) {
            node.cost.push_back(cost_of(costs.data()[from]));
            node.label.push_back(a);
            expect(usages.data()[from] >= 0, "usages: range");
            part.usage.push_back(static_cast<Number>(usages.data()[from]));
        }
        if (part.first < part.end) node.parts.push_back(std::move(part));
        graph.nodes.push_back(std::move(node));
    }
    expect(from == costs.size(), "costs: length");
    expect(ends.shape(1) == 2, "ends: shape");
    from = 0;
    for (std::size_t e = 0; e < ends.shape(0); ++e) {
        const std::int32_t first = ends.data()[2 * e];
        const std::int32_t second = ends.data()[2 * e + 1];
        const auto nodes = static_cast<std::int32_t>(graph.nodes.size());
        expect(first >= 0 && first < nodes && second >= 0 && second < nodes && first != second,
               "ends: range");
        const std::size_t pairs = graph.nodes[first].cost.size() * graph.nodes[second].cost.size();
        expect(from + pairs <= tables.size(), "tables: length");
        std::vector<Number> table;
        table.reserve(pairs);
        for (std::size_t p = 0; p < pairs; ++p) table.push_back(cost_of(tables.data()[from++]));
        graph.add_table(first, second, std::move(table));
    }
    expect(from == tables.size(), "tables: length");
    return graph;
}

using Reduced = std::tuple<bool, double, std::optional<std::pair<Index, Index>>>;

// Whether the reduction changed anything, the pairs it looked at, and where it found no choice.
template <typename Number>
Reduced reduce(StrategyGraph<Number>& graph, const std::string& name, const Limits& limits,
               std::int64_t most_more_pairs) {
    nb::gil_scoped_release unlocked;
    Limited limited(limits);
    Budget& budget = limited.budget;
    bool changed = false;
    try {
        if (name == "keep_consistent") {
            changed = keep_consistent(graph, budget);
        } else if (name == "drop_rows") {
            changed = drop_rows(graph, budget);
        } else if (name == "fold_separable") {
            changed = fold_separable(graph, budget);
        } else if (name == "merge_followers") {
            changed = merge_followers(graph, budget);
        } else if (name == "eliminate_free") {
            changed = eliminate_free(graph, budget, most_more_pairs);
        } else if (name == "drop_dominated") {
            changed = drop_dominated(graph, budget);
        } else {
            throw std::invalid_argument("no reduction has this name");
        }
    } catch (const NoChoice& none) {
        return {true, budget.spent(), std::make_pair(none.node, none.row)};
    }
    return {changed, budget.spent(), std::nullopt};
}

template <typename Number>
nb::object node_of(const StrategyGraph<Number>& graph, Index number) {
    expect(number >= 0 && static_cast<std::size_t>(number) < graph.nodes.size(), "node: range");
    const Node<Number>& node = graph.nodes[number];
    nb::list costs;
    for (const Number cost : node.cost) costs.append(to_cost(cost));
    nb::list parts;
    for (const Part<Number>& part : node.parts) {
        nb::list usage;
        for (const Number amount : part.usage) usage.append(to_python(Wide(amount)));
        parts.append(nb::make_tuple(part.first, part.end, usage));
    }
    return nb::make_tuple(node.label, costs, parts);
}

// First node, second node and table, row by row, of every edge.
template <typename Number>
nb::list edges_of(const StrategyGraph<Number>& graph) {
    nb::list found;
    for (const Edge<Number>& edge : graph.edges) {
        if (!edge.is_alive) continue;
        nb::list table;
        for (const Number cost : edge.table) table.append(to_cost(cost));
        found.append(nb::make_tuple(edge.first, edge.second, table));
    }
    return found;
}

template <typename Number>
void check_places(const StrategyGraph<Number>& graph, const std::vector<Index>& places) {
    expect(places.size() == graph.nodes.size(), "chosen: length");
    for (std::size_t i = 0; i < places.size(); ++i) {
        const bool is_place = places[i] >= 0 && places[i] < graph.nodes[i].size();
        expect(!graph.nodes[i].is_alive || is_place, "chosen: range");
    }
}

template <typename Number>
std::pair<std::int32_t, double> ascend(MessageBound<Number>& bound, double upper,
                                       std::int32_t passes, const Limits& limits) {
    nb::gil_scoped_release unlocked;
    Limited limited(limits);
    const std::int32_t made = bound.ascend(upper, passes, limited.budget);
    return {made, limited.budget.spent()};
}

template <typename Number>
void bind_kind(nb::module_& m, const char* graph_name, const char* bound_name,
               const char* search_name) {
    using Graph = StrategyGraph<Number>;
    using Bound = MessageBound<Number>;
    using Search = LocalSearch<Number>;
    nb::class_<Graph>(m, graph_name)
        .def(nb::new_(&new_graph<Number>), nb::arg("sizes").noconvert(),
             nb::arg("costs").noconvert(), nb::arg("usages").noconvert(),
             nb::arg("rows").noconvert(), nb::arg("row_count"), nb::arg("capacity"),
             nb::arg("ends").noconvert(), nb::arg("tables").noconvert())
        .def("copy", [](const Graph& graph) { return Graph(graph); })
        .def("reduce", &reduce<Number>, nb::arg("name"), nb::arg("limits"),
             nb::arg("most_more_pairs"))
        .def("size", [](const Graph& graph) {
            const Size size = graph.size();
            return std::make_tuple(size.nodes, size.edges, size.strategies, size.pairs, size.rows);
        })
        .def("offset", [](const Graph& graph) { return to_python(Wide(graph.offset)); })
        .def("capacity", [](const Graph& graph) {
            nb::list found;
            for (const Number room : graph.capacity) found.append(to_python(Wide(room)));
            return found;
        })
        .def("is_consistent", [](const Graph& graph) { return graph.is_consistent; })
        .def("rows", [](const Graph& graph) { return graph.row_number; })
        .def("alive", &Graph::alive)
        .def("node", &node_of<Number>, nb::arg("number"))
        .def("edges", &edges_of<Number>)
        .def("decode", [](const Graph& graph, const std::vector<Index>& chosen) {
            check_places(graph, chosen);
            return graph.decode(chosen);
        }, nb::arg("chosen"))
        .def("encode", [](const Graph& graph, const std::vector<Index>& strategies) {
            expect(strategies.size() == graph.nodes.size(), "strategies: length");
            return graph.encode(strategies);
        }, nb::arg("strategies"));
    nb::class_<Bound>(m, bound_name)
        .def("__init__", [](Bound* place, const Graph& graph, std::int32_t first_passes,
                            std::int32_t patience, double shrink, double first_step,
                            double least_step, double target_beyond, double momentum) {
            expect(graph.is_consistent, "the graph is not consistent");
            new (place) Bound(graph, StepRules{first_passes, patience, shrink, first_step,
                                               least_step, target_beyond, momentum});
        }, nb::arg("graph"), nb::arg("first_passes"), nb::arg("patience"), nb::arg("shrink"),
             nb::arg("first_step"), nb::arg("least_step"), nb::arg("target_beyond"),
             nb::arg("momentum"), nb::keep_alive<1, 2>())
        .def("ascend", &ascend<Number>, nb::arg("upper"), nb::arg("passes"), nb::arg("limits"))
        .def("value", &Bound::value)
        .def("kept", &Bound::kept)
        .def("resume", &Bound::resume, nb::arg("kept"))
        .def("rounded", &Bound::rounded)
        .def("multipliers", &Bound::multipliers)
        .def("adopt", [](Bound& bound, const std::vector<double>& multipliers,
                         const std::vector<double>& messages) {
            expect(multipliers.size() == bound.multipliers().size(), "multipliers: length");
            expect(messages.size() == bound.message_count(), "messages: length");
            bound.adopt(multipliers, messages);
        }, nb::arg("multipliers"), nb::arg("messages"))
        .def("prove", [](Bound& bound) {
            const Proof proof = bound.prove();
            return nb::make_tuple(to_python(proof.bound), proof.bits);
        })
        .def("tighten", [](const Bound& bound, Graph& graph, const nb::int_& below) {
            return bound.tighten(graph, to_wide(below));
        }, nb::arg("graph"), nb::arg("below"));
    nb::class_<Search>(m, search_name)
        .def("__init__", [](Search* place, const Graph& graph, std::uint64_t seed,
                            std::int32_t repair_sweeps, double weight_growth, double over_growth,
                            std::int32_t round_sweeps, double round_growth,
                            double first_temperature, double last_temperature,
                            std::int32_t tree_nodes) {
            const SearchRules rules{repair_sweeps, weight_growth,     over_growth,
                                    round_sweeps,  round_growth,      first_temperature,
                                    last_temperature, tree_nodes};
            new (place) Search(graph, seed, rules);
        }, nb::arg("graph"), nb::arg("seed"), nb::arg("repair_sweeps"), nb::arg("weight_growth"),
             nb::arg("over_growth"), nb::arg("round_sweeps"), nb::arg("round_growth"),
             nb::arg("first_temperature"),
             nb::arg("last_temperature"), nb::arg("tree_nodes"), nb::keep_alive<1, 2>())
        .def("set_prices", [](Search& search, const std::vector<double>& prices) {
            expect(prices.size() == search.graph().capacity.size(), "prices: length");
            search.set_prices(prices);
        }, nb::arg("prices"))
        .def("begin_greedy", [](Search& search, const Limits& limits) {
            nb::gil_scoped_release unlocked;
            Limited limited(limits);
            search.begin_greedy(limited.budget);
            return limited.budget.spent();
        }, nb::arg("limits"))
        .def("begin_from", [](Search& search, const std::vector<Index>& chosen) {
            check_places(search.graph(), chosen);
            search.begin_from(chosen);
        }, nb::arg("chosen"))
        .def("repair", [](Search& search, const Limits& limits) {
            nb::gil_scoped_release unlocked;
            Limited limited(limits);
            const bool is_valid = search.repair(limited.budget);
            return std::make_pair(is_valid, limited.budget.spent());
        }, nb::arg("limits"))
        .def("anneal", [](Search& search, const Limits& limits) {
            nb::gil_scoped_release unlocked;
            Limited limited(limits);
            search.anneal(limited.budget);
            return limited.budget.spent();
        }, nb::arg("limits"))
        .def("best", &Search::best)
        .def("best_cost", &Search::best_cost)
        .def("has_best", &Search::has_best)
        .def("sweeps_without_gain", &Search::sweeps_without_gain)
        .def("chosen", &Search::chosen);
}

}  // namespace

void bind_sharding(nb::module_& m) {
    nb::class_<Kept>(m, "ShardingMessages");
    bind_kind<std::int64_t>(m, "ShardingGraph64", "ShardingBound64", "ShardingSearch64");
    bind_kind<Wide>(m, "ShardingGraph128", "ShardingBound128", "ShardingSearch128");
}

}  // namespace jettison::binding
