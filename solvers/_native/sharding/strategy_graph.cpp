#include "sharding/strategy_graph.hpp"

#include <algorithm>

namespace jettison::sharding {
namespace {

template <typename Value>
void keep_where(std::vector<Value>& values, const Mask& kept) {
    std::size_t to = 0;
    for (std::size_t from = 0; from < values.size(); ++from) {
        if (kept[from]) values[to++] = std::move(values[from]);
    }
    values.resize(to);
}

Index place_of(const std::vector<Index>& labels, Index label) {
    const auto found = std::lower_bound(labels.begin(), labels.end(), label);
    if (found == labels.end() || *found != label) return -1;
    return static_cast<Index>(found - labels.begin());
}

}  // namespace

template <typename Number>
Index StrategyGraph<Number>::edge_between(Index one, Index other) const {
    if (nodes[one].edges.size() > nodes[other].edges.size()) std::swap(one, other);
    for (const Index e : nodes[one].edges) {
        if (edges[e].other(one) == other) return e;
    }
    return -1;
}

template <typename Number>
void StrategyGraph<Number>::add_table(Index row, Index column, std::vector<Number> table) {
    is_consistent = false;
    const Index known = edge_between(row, column);
    if (known < 0) {
        const Index number = static_cast<Index>(edges.size());
        edges.push_back({row, column, std::move(table), true, false});
        nodes[row].edges.push_back(number);
        nodes[column].edges.push_back(number);
        return;
    }
    Edge<Number>& edge = edges[known];
    edge.is_inseparable = false;
    const Index rows = nodes[row].size();
    const Index columns = nodes[column].size();
    for (Index a = 0; a < rows; ++a) {
        for (Index b = 0; b < columns; ++b) {
            const std::size_t place = edge.first == row ? std::size_t(a) * columns + b
                                                        : std::size_t(b) * rows + a;
            edge.table[place] = plus(edge.table[place], table[std::size_t(a) * columns + b]);
        }
    }
}

template <typename Number>
void StrategyGraph<Number>::drop_edge(Index number) {
    Edge<Number>& edge = edges[number];
    for (const Index end : {edge.first, edge.second}) {
        std::vector<Index>& of_end = nodes[end].edges;
        of_end.erase(std::find(of_end.begin(), of_end.end(), number));
    }
    edge.is_alive = false;
    std::vector<Number>().swap(edge.table);
}

template <typename Number>
void StrategyGraph<Number>::keep_strategies(Index number, const Mask& kept) {
    Node<Number>& node = nodes[number];
    if (std::find(kept.begin(), kept.end(), 1) == kept.end()) throw NoChoice(number, -1);
    for (const Index e : node.edges) {
        Edge<Number>& edge = edges[e];
        edge.is_inseparable = false;
        const std::size_t columns = nodes[edge.second].cost.size();
        std::size_t to = 0;
        for (std::size_t from = 0; from < edge.table.size(); ++from) {
            const std::size_t own = number == edge.first ? from / columns : from % columns;
            if (kept[own]) edge.table[to++] = edge.table[from];
        }
        edge.table.resize(to);
    }
    keep_where(node.cost, kept);
    keep_where(node.label, kept);
    for (Part<Number>& part : node.parts) keep_where(part.usage, kept);
}

template <typename Number>
void StrategyGraph<Number>::remove(Index number, std::vector<Index> on,
                                   const std::vector<Index>& strategies) {
    Node<Number>& node = nodes[number];
    Removed record;
    record.node = number;
    for (std::size_t place = 0; place < on.size(); ++place) {
        record.labels_on[place] = nodes[on[place]].label;
    }
    record.on = std::move(on);
    record.label.reserve(strategies.size());
    for (const Index strategy : strategies) record.label.push_back(node.label[strategy]);
    removed.push_back(std::move(record));
    while (!node.edges.empty()) drop_edge(node.edges.back());
    node.is_alive = false;
    node = Node<Number>{{}, {}, {}, {}, false};
}

template <typename Number>
void StrategyGraph<Number>::add_parts(Index number, std::vector<Part<Number>> more) {
    std::vector<Part<Number>>& parts = nodes[number].parts;
    parts.insert(parts.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    std::vector<Index> bounds;
    for (const Part<Number>& part : parts) {
        bounds.push_back(part.first);
        bounds.push_back(part.end);
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    const std::size_t size = nodes[number].cost.size();
    std::vector<Part<Number>> made;
    for (std::size_t b = 0; b + 1 < bounds.size(); ++b) {
        made.push_back({bounds[b], bounds[b + 1], std::vector<Number>(size, 0)});
    }
    Mask is_used(made.size(), 0);
    for (const Part<Number>& part : parts) {
        auto b = std::lower_bound(bounds.begin(), bounds.end(), part.first) - bounds.begin();
        for (; bounds[b] < part.end; ++b) {
            is_used[b] = 1;
            for (std::size_t a = 0; a < size; ++a) made[b].usage[a] += part.usage[a];
        }
    }
    parts.clear();
    for (std::size_t b = 0; b < made.size(); ++b) {
        if (!is_used[b]) continue;
        const bool goes_on = !parts.empty() && parts.back().end == made[b].first &&
                             parts.back().usage == made[b].usage;
        if (goes_on) {
            parts.back().end = made[b].end;
        } else {
            parts.push_back(std::move(made[b]));
        }
    }
}

template <typename Number>
std::vector<Index> StrategyGraph<Number>::decode(const std::vector<Index>& chosen) const {
    std::vector<Index> found(nodes.size(), -1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].is_alive) found[i] = nodes[i].label[chosen[i]];
    }
    for (auto record = removed.rbegin(); record != removed.rend(); ++record) {
        std::size_t place = 0;
        for (std::size_t k = 0; k < record->on.size(); ++k) {
            const std::vector<Index>& labels = record->labels_on[k];
            place = place * labels.size() + place_of(labels, found[record->on[k]]);
        }
        found[record->node] = record->label[place];
    }
    return found;
}

template <typename Number>
std::vector<Index> StrategyGraph<Number>::encode(const std::vector<Index>& strategies) const {
    std::vector<Index> places(nodes.size(), -1);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].is_alive) places[i] = place_of(nodes[i].label, strategies[i]);
    }
    return places;
}

template <typename Number>
std::vector<Index> StrategyGraph<Number>::alive() const {
    std::vector<Index> found;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].is_alive) found.push_back(static_cast<Index>(i));
    }
    return found;
}

template <typename Number>
Size StrategyGraph<Number>::size() const {
    Size size;
    for (const Node<Number>& node : nodes) {
        size.nodes += node.is_alive;
        size.strategies += node.size();
    }
    for (const Edge<Number>& edge : edges) {
        size.edges += edge.is_alive;
        for (const Number cost : edge.table) size.pairs += cost < forbidden<Number>;
    }
    size.rows = static_cast<std::int64_t>(capacity.size());
    return size;
}

template class StrategyGraph<std::int64_t>;
template class StrategyGraph<Wide>;

}  // namespace jettison::sharding
