// Nodes that are merged into a neighbour, or minimised out.
#include <algorithm>
#include <optional>

#include "sharding/presolve.hpp"

namespace jettison::sharding {
namespace {

// For each row of `costs` (rows x size of the node) the strategy of both least cost and least usage
// in every part; none if a row has no such strategy.
template <typename Number>
std::optional<std::vector<Index>> best_without_loss(const Node<Number>& node,
                                                    const std::vector<Number>& costs, Index rows) {
    const Index size = node.size();
    std::vector<Index> found(rows, -1);
    for (Index row = 0; row < rows; ++row) {
        const Number* cost = costs.data() + std::size_t(row) * size;
        const Number least = *std::min_element(cost, cost + size);
        if (least >= forbidden<Number>) return std::nullopt;
        for (Index a = 0; a < size && found[row] < 0; ++a) {
            if (cost[a] != least) continue;
            const bool is_least = std::all_of(
                node.parts.begin(), node.parts.end(), [&](const Part<Number>& part) {
                    for (Index b = 0; b < size; ++b) {
                        if (cost[b] < forbidden<Number> && part.usage[b] < part.usage[a]) {
                            return false;
                        }
                    }
                    return true;
                });
            if (is_least) found[row] = a;
        }
        if (found[row] < 0) return std::nullopt;
    }
    return found;
}

// Table of an edge with the strategies of `row` as rows, with the costs of the other end added.
template <typename Number>
std::vector<Number> beside(const StrategyGraph<Number>& graph, const Edge<Number>& edge,
                           Index row) {
    const Node<Number>& column = graph.nodes[edge.other(row)];
    const Index rows = graph.nodes[row].size();
    std::vector<Number> table(std::size_t(rows) * column.size());
    for (Index a = 0; a < rows; ++a) {
        for (Index b = 0; b < column.size(); ++b) {
            table[std::size_t(a) * column.size() + b] =
                plus(graph.at(edge, row, a, b), column.cost[b]);
        }
    }
    return table;
}

// The strategy of a node for each one of its leader; none if it is not determined.
template <typename Number>
std::optional<std::vector<Index>> follows(const StrategyGraph<Number>& graph, Index number,
                                          const Edge<Number>& edge) {
    const Index leader = edge.other(number);
    const Node<Number>& node = graph.nodes[number];
    const Index rows = graph.nodes[leader].size();
    std::vector<Index> found(rows, -1);
    bool is_determined = true;
    for (Index a = 0; a < rows && is_determined; ++a) {
        for (Index b = 0; b < node.size(); ++b) {
            if (graph.at(edge, leader, a, b) >= forbidden<Number>) continue;
            is_determined = found[a] < 0;
            if (!is_determined) break;
            found[a] = b;
        }
        is_determined = is_determined && found[a] >= 0;
    }
    if (is_determined) return found;
    if (node.edges.size() > 1) return std::nullopt;
    return best_without_loss(node, beside(graph, edge, leader), rows);
}

template <typename Number>
void merge(StrategyGraph<Number>& graph, Index number, Index edge_number,
           const std::vector<Index>& follower) {
    const Edge<Number>& edge = graph.edges[edge_number];
    const Index leader = edge.other(number);
    Node<Number>& node = graph.nodes[number];
    const Index rows = graph.nodes[leader].size();
    for (Index a = 0; a < rows; ++a) {
        Number& cost = graph.nodes[leader].cost[a];
        cost = plus(cost, plus(graph.at(edge, leader, a, follower[a]), node.cost[follower[a]]));
    }
    std::vector<Part<Number>> parts;
    for (const Part<Number>& part : node.parts) {
        Part<Number> moved{part.first, part.end, {}};
        for (const Index b : follower) moved.usage.push_back(part.usage[b]);
        parts.push_back(std::move(moved));
    }
    std::vector<std::pair<Index, std::vector<Number>>> tables;
    for (const Index e : node.edges) {
        const Index other = graph.edges[e].other(number);
        if (other == leader) continue;
        const Index columns = graph.nodes[other].size();
        std::vector<Number> table(std::size_t(rows) * columns);
        for (Index a = 0; a < rows; ++a) {
            for (Index b = 0; b < columns; ++b) {
                table[std::size_t(a) * columns + b] =
                    graph.at(graph.edges[e], number, follower[a], b);
            }
        }
        tables.emplace_back(other, std::move(table));
    }
    graph.remove(number, {leader}, follower);
    if (!parts.empty()) graph.add_parts(leader, std::move(parts));
    for (auto& [other, table] : tables) graph.add_table(leader, other, std::move(table));
}

template <typename Number>
bool take_alone(StrategyGraph<Number>& graph, Index number) {
    Node<Number>& node = graph.nodes[number];
    const auto best = best_without_loss(node, node.cost, 1);
    if (!best) return false;
    const Index strategy = best->front();
    graph.offset += node.cost[strategy];
    for (const Part<Number>& part : node.parts) {
        for (Index row = part.first; row < part.end; ++row) {
            graph.capacity[row] -= part.usage[strategy];
            if (graph.capacity[row] < 0) throw NoChoice(number, row);
        }
    }
    graph.remove(number, {}, {strategy});
    return true;
}

template <typename Number>
double pairs_around(const StrategyGraph<Number>& graph, const Node<Number>& node) {
    double pairs = 0;
    for (const Index e : node.edges) pairs += graph.edges[e].table.size();
    return pairs;
}

}  // namespace

template <typename Number>
bool merge_followers(StrategyGraph<Number>& graph, Budget& budget) {
    bool changed = false;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const Index number = static_cast<Index>(i);
        const Node<Number>& node = graph.nodes[i];
        if (!node.is_alive) continue;
        if (!budget.spend(pairs_around(graph, node))) break;
        if (node.edges.empty()) {
            changed |= take_alone(graph, number);
            continue;
        }
        for (const Index e : node.edges) {
            const auto follower = follows(graph, number, graph.edges[e]);
            if (!follower) continue;
            merge(graph, number, e, *follower);
            changed = true;
            break;
        }
    }
    return changed;
}

namespace {

// Costs of a strategy of `first` and one of `second` with the best of the node between them.
template <typename Number>
bool bridge(StrategyGraph<Number>& graph, Index number, Budget& budget,
            std::int64_t most_more_pairs) {
    Node<Number>& node = graph.nodes[number];
    const Edge<Number>& left = graph.edges[node.edges[0]];
    const Edge<Number>& right = graph.edges[node.edges[1]];
    const Index first = left.other(number);
    const Index second = right.other(number);
    const std::int64_t rows = graph.nodes[first].size();
    const std::int64_t columns = graph.nodes[second].size();
    const std::int64_t before = static_cast<std::int64_t>(left.table.size() + right.table.size());
    if (rows * columns > before + most_more_pairs) return false;
    budget.spend(2.0 * rows * columns * node.size());
    const std::vector<Number> near = beside(graph, left, first);
    std::vector<Number> table(rows * columns, forbidden<Number>);
    std::vector<Index> best(rows * columns, 0);
    for (Index c = 0; c < node.size(); ++c) {
        for (Index b = 0; b < columns; ++b) {
            const Number far = graph.at(right, number, c, b);
            if (far >= forbidden<Number>) continue;
            for (Index a = 0; a < rows; ++a) {
                const Number cost = plus(near[std::size_t(a) * node.size() + c], far);
                const std::size_t place = std::size_t(a) * columns + b;
                if (cost < table[place]) {
                    table[place] = cost;
                    best[place] = c;
                }
            }
        }
    }
    graph.remove(number, {first, second}, best);
    graph.add_table(first, second, std::move(table));
    return true;
}

}  // namespace

template <typename Number>
bool eliminate_free(StrategyGraph<Number>& graph, Budget& budget, std::int64_t most_more_pairs) {
    bool changed = false;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const Index number = static_cast<Index>(i);
        Node<Number>& node = graph.nodes[i];
        if (!node.is_alive || !node.parts.empty() || node.edges.size() > 2) continue;
        if (!budget.spend(pairs_around(graph, node))) break;
        if (node.edges.empty()) {
            changed |= take_alone(graph, number);
        } else if (node.edges.size() == 1) {
            const Edge<Number>& edge = graph.edges[node.edges[0]];
            const Index other = edge.other(number);
            const std::vector<Number> table = beside(graph, edge, other);
            const Index size = node.size();
            std::vector<Index> best;
            for (Index a = 0; a < graph.nodes[other].size(); ++a) {
                const auto begin = table.begin() + std::size_t(a) * size;
                const auto least = std::min_element(begin, begin + size);
                best.push_back(static_cast<Index>(least - begin));
                graph.nodes[other].cost[a] = plus(graph.nodes[other].cost[a], *least);
            }
            graph.remove(number, {other}, best);
            changed = true;
        } else {
            changed |= bridge(graph, number, budget, most_more_pairs);
        }
    }
    return changed;
}

template bool merge_followers(StrategyGraph<std::int64_t>&, Budget&);
template bool merge_followers(StrategyGraph<Wide>&, Budget&);
template bool eliminate_free(StrategyGraph<std::int64_t>&, Budget&, std::int64_t);
template bool eliminate_free(StrategyGraph<Wide>&, Budget&, std::int64_t);

}  // namespace jettison::sharding
