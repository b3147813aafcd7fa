#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "core/binding.hpp"
#include "remat_sharding/message_bound.hpp"

namespace jettison::binding {
namespace {

using Numbers = Vector<std::int32_t>;
using Amounts = Vector<std::int64_t>;
using Bytes = Vector<std::uint8_t>;
using Rows = Matrix<std::int32_t>;

constexpr std::int64_t most_states = std::int64_t{1} << 24;

void expect(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Reads a flat array part by part; what is left at the end is an error.
template <typename T>
class Parts {
public:
    Parts(const Vector<T>& array, T least, T most, const char* name)
        : data_(array.data()), left_(array.size()), least_(least), most_(most), name_(name) {}

    std::vector<T> next(std::int64_t count) {
        expect(count >= 0 && static_cast<std::size_t>(count) <= left_, name_);
        std::vector<T> part(data_, data_ + count);
        data_ += count;
        left_ -= static_cast<std::size_t>(count);
        for (const T value : part) expect(value >= least_ && value <= most_, name_);
        return part;
    }

    void end() const { expect(left_ == 0, name_); }

private:
    const T* data_;
    std::size_t left_;
    T least_;
    T most_;
    const char* name_;
};

void expect_below(const std::vector<std::int32_t>& values, std::int32_t limit, const char* name) {
    for (const std::int32_t value : values) expect(value >= 0 && value < limit, name);
}

constexpr std::int64_t most_cost = std::int64_t{1} << 60;
constexpr std::int32_t most_number = 1 << 24;

std::vector<MessageNode> to_nodes(const Numbers& places, const Numbers& kinds,
                                  const Amounts& cost) {
    expect(places.size() == kinds.size() && places.size() > 0, "kinds: wrong length");
    Parts<std::int64_t> costs(cost, forbidden_cost, most_cost, "cost");
    std::vector<MessageNode> nodes(places.size());
    std::int64_t states = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        MessageNode& node = nodes[i];
        node.places = places.data()[i];
        node.kinds = kinds.data()[i];
        expect(node.places > 0 && node.places < most_number, "places: range");
        expect(node.kinds > 0 && node.kinds < most_number, "kinds: range");
        states += std::int64_t{node.places} * node.kinds;
        expect(states <= most_states, "too many states");
        node.cost = costs.next(std::int64_t{node.places} * node.kinds);
        for (std::int32_t place = 0; place < node.places; ++place) {
            for (std::int32_t kind = 0; kind < node.kinds; ++kind) {
                node.place.push_back(place);
                node.kind.push_back(kind);
            }
        }
    }
    costs.end();
    return nodes;
}

void read_terms(MessageGraph& graph, const Numbers& term_node, const Amounts& term_bytes,
                const Rows& spans, const Numbers& mask_kinds, const Bytes& mask_bytes,
                const Amounts& capacity) {
    graph.capacity = copy_amounts(capacity, capacity.size(), "capacity");
    Parts<std::uint8_t> masks(mask_bytes, 0, 1, "mask_bytes");
    for (std::size_t m = 0; m < mask_kinds.size(); ++m) {
        graph.masks.push_back(masks.next(mask_kinds.data()[m]));
    }
    masks.end();
    Parts<std::int64_t> bytes(term_bytes, 0, most_cost, "term_bytes");
    for (std::size_t t = 0; t < term_node.size(); ++t) {
        MemoryTerm term;
        term.node = term_node.data()[t];
        expect(term.node >= 0 && static_cast<std::size_t>(term.node) < graph.nodes.size(),
               "term_node: range");
        term.bytes = bytes.next(graph.nodes[term.node].places);
        graph.terms.push_back(std::move(term));
    }
    bytes.end();
    expect(spans.shape(1) == 4, "spans: wrong shape");
    const auto rows = static_cast<std::int32_t>(graph.capacity.size());
    for (std::size_t s = 0; s < spans.shape(0); ++s) {
        const std::int32_t* span = spans.data() + 4 * s;
        expect(span[0] >= 0 && static_cast<std::size_t>(span[0]) < graph.terms.size() &&
                   span[1] >= 0 && span[1] <= span[2] && span[2] < rows && span[3] >= 0 &&
                   static_cast<std::size_t>(span[3]) < graph.masks.size(),
               "spans: range");
        MemoryTerm& term = graph.terms[span[0]];
        expect(graph.masks[span[3]].size() ==
                   static_cast<std::size_t>(graph.nodes[term.node].kinds),
               "spans: the mask has another number of kinds");
        term.spans.push_back({span[1], span[2], span[3]});
    }
}

void read_edges(MessageGraph& graph, const Rows& shapes, const Numbers& classes,
                const Amounts& times, const Bytes& ok, const Amounts& table) {
    expect(shapes.shape(1) == 7, "edges: wrong shape");
    Parts<std::int32_t> of_class(classes, 0, most_number, "classes");
    Parts<std::int64_t> paid(times, 0, most_number, "times");
    Parts<std::uint8_t> allowed(ok, 0, 1, "ok");
    Parts<std::int64_t> costs(table, forbidden_cost, most_cost, "table");
    for (std::size_t e = 0; e < shapes.shape(0); ++e) {
        const std::int32_t* shape = shapes.data() + 7 * e;
        for (int column = 0; column < 7; ++column) expect(shape[column] >= 0, "edges: negative");
        MessageEdge edge;
        edge.source.node = shape[0];
        edge.reader.node = shape[1];
        edge.source.width = shape[2];
        edge.reader.width = shape[3];
        edge.source.types = shape[4];
        edge.reader.types = shape[5];
        edge.is_identity = shape[6] != 0;
        for (EdgeEnd* end : {&edge.source, &edge.reader}) {
            expect(static_cast<std::size_t>(end->node) < graph.nodes.size(), "edges: range");
            const MessageNode& node = graph.nodes[end->node];
            end->class_of_place = of_class.next(node.places);
            end->type_of_kind = of_class.next(node.kinds);
            expect(end->width > 0 && end->types > 0, "edges: an end without classes");
            expect_below(end->class_of_place, end->width, "classes");
            expect_below(end->type_of_kind, end->types, "types");
        }
        edge.times = paid.next(edge.reader.types);
        edge.ok = allowed.next(std::int64_t{edge.reader.types} * edge.source.types);
        if (edge.is_identity) {
            expect(edge.source.width == edge.reader.width, "edges: an identity is square");
        } else {
            edge.table = costs.next(std::int64_t{edge.source.width} * edge.reader.width);
        }
        graph.edges.push_back(std::move(edge));
    }
    of_class.end();
    paid.end();
    allowed.end();
    costs.end();
}

using Found = std::tuple<std::vector<std::int32_t>, std::vector<std::int32_t>, std::int64_t,
                         std::int64_t>;

Found to_found(Labelling labelling) {
    return {std::move(labelling.place), std::move(labelling.kind), labelling.cost,
            labelling.excess};
}

std::unique_ptr<MessageBound> new_bound(const Numbers& places, const Numbers& kinds,
                                        const Amounts& cost, const Numbers& term_node,
                                        const Amounts& term_bytes, const Rows& spans,
                                        const Numbers& mask_kinds, const Bytes& mask_bytes,
                                        const Amounts& capacity, const Rows& edges,
                                        const Numbers& classes, const Amounts& times,
                                        const Bytes& ok, const Amounts& table,
                                        std::int32_t first_passes, std::int32_t patience,
                                        double shrink,
                                        double step_after_removals, double least_step, double aim,
                                        std::int32_t sweeps) {
    MessageGraph graph;
    graph.nodes = to_nodes(places, kinds, cost);
    read_terms(graph, term_node, term_bytes, spans, mask_kinds, mask_bytes, capacity);
    read_edges(graph, edges, classes, times, ok, table);
    graph.finish();
    return std::make_unique<MessageBound>(std::move(graph),
                                          AscentRules{first_passes, patience, shrink,
                                                      step_after_removals, least_step, aim,
                                                      sweeps});
}

// Value and passes done, within a time.
std::pair<double, std::int32_t> ascend(MessageBound& bound, std::optional<double> upper,
                                       std::int32_t passes, std::optional<double> time_limit_s) {
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    const Ascent ascent = bound.ascend(upper, passes, [&watch] {
        try {
            watch();
        } catch (const Watch::TimeIsUp&) {
            return false;
        }
        return true;
    });
    return {ascent.value, ascent.passes};
}

std::tuple<std::int64_t, std::int64_t, bool> prove(MessageBound& bound,
                                                   std::optional<std::int64_t> upper) {
    nb::gil_scoped_release unlocked;
    const Proved proved = bound.prove(upper);
    return {proved.bound, proved.removed, proved.is_empty};
}

// For each node the places and the kinds of the states that are left.
std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>> states_left(
    const MessageBound& bound) {
    std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>> states;
    for (const MessageNode& node : bound.graph().nodes) states.emplace_back(node.place, node.kind);
    return states;
}

Found judge(const MessageBound& bound, const Numbers& place, const Numbers& kind) {
    const std::vector<MessageNode>& nodes = bound.graph().nodes;
    std::vector<std::int32_t> places = copy(place, nodes.size(), "place");
    std::vector<std::int32_t> kinds = copy(kind, nodes.size(), "kind");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        expect(places[i] >= 0 && places[i] < nodes[i].places, "place: range");
        expect(kinds[i] >= 0 && kinds[i] < nodes[i].kinds, "kind: range");
    }
    return to_found(bound.judged(std::move(places), std::move(kinds)));
}

}  // namespace

void bind_sharding_messages(nb::module_& m) {
    nb::class_<MessageBound>(m, "MessageBound")
        .def(nb::new_(&new_bound), nb::arg("places").noconvert(), nb::arg("kinds").noconvert(),
             nb::arg("cost").noconvert(), nb::arg("term_node").noconvert(),
             nb::arg("term_bytes").noconvert(), nb::arg("spans").noconvert(),
             nb::arg("mask_kinds").noconvert(), nb::arg("mask_bytes").noconvert(),
             nb::arg("capacity").noconvert(), nb::arg("edges").noconvert(),
             nb::arg("classes").noconvert(), nb::arg("times").noconvert(),
             nb::arg("ok").noconvert(), nb::arg("table").noconvert(), nb::arg("first_passes"),
             nb::arg("patience"), nb::arg("shrink"),
             nb::arg("step_after_removals"), nb::arg("least_step"), nb::arg("aim"),
             nb::arg("sweeps"))
        .def("ascend", &ascend, nb::arg("upper") = nb::none(), nb::arg("passes") = 100,
             nb::arg("time_limit_s") = nb::none())
        .def("propagate", &MessageBound::propagate)
        .def("prove", &prove, nb::arg("upper") = nb::none())
        .def("round", [](MessageBound& bound, double factor) {
            return to_found(bound.round(factor));
        }, nb::arg("factor") = 1.0)
        .def("round_at_best", [](MessageBound& bound, double factor) {
            return to_found(bound.round_at_best(factor));
        }, nb::arg("factor") = 1.0)
        .def("judge", &judge, nb::arg("place").noconvert(), nb::arg("kind").noconvert())
        .def("states", &states_left)
        .def("multipliers", &MessageBound::multipliers)
        .def("num_states", [](const MessageBound& bound) { return bound.graph().num_states(); });
}

}  // namespace jettison::binding
