// Strategy graph under reduction, with the records that restore a choice of the instance.
//
// The least cost of offset + costs of nodes + costs of edges, with a capacity for each row of
// memory. The usage of a node is a list of parts, each a vector over its strategies that holds on a
// range of rows; the ranges ascend and do not overlap. Numbers are 64-bit integers where the
// largest values add up to less than 2^50, and 128-bit integers otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace jettison::sharding {

// Integers for sums that 64 bits do not hold.
__extension__ using Wide = __int128;
// Numbers of nodes, strategies, edges and rows.
using Index = std::int32_t;
using Mask = std::vector<std::uint8_t>;

// Cost of what is forbidden, far above any sum.
template <typename Number>
constexpr Number forbidden = Number{1} << (8 * sizeof(Number) - 4);

// Sum of costs; what is forbidden in one of them stays forbidden.
template <typename Number>
Number plus(Number one, Number other) {
    constexpr Number limit = forbidden<Number>;
    return one >= limit || other >= limit ? limit : one + other;
}

// There is no choice: none is left at `node`, or memory row `row` is exceeded (else -1).
struct NoChoice : std::runtime_error {
    NoChoice(Index node, Index row) : std::runtime_error("no choice"), node(node), row(row) {}
    Index node;
    Index row;
};

template <typename Number>
struct Part {
    Index first;
    Index end;
    std::vector<Number> usage;
};

template <typename Number>
struct Node {
    std::vector<Number> cost;
    // The numbers that the strategies have in the instance, ascending.
    std::vector<Index> label;
    std::vector<Part<Number>> parts;
    std::vector<Index> edges;
    bool is_alive = true;

    Index size() const { return static_cast<Index>(cost.size()); }
};

template <typename Number>
struct Edge {
    Index first;
    Index second;
    // Strategies of `first` as rows.
    std::vector<Number> table;
    bool is_alive = true;
    // Whether the table was found not to be a sum of costs of both ends.
    bool is_inseparable = false;

    Index other(Index node) const { return node == first ? second : first; }
};

// A removed node: its label is that at the place of the labels of the nodes on which it depends.
struct Removed {
    Index node;
    std::vector<Index> on;
    // For each of those nodes its labels then, ascending.
    std::array<std::vector<Index>, 2> labels_on;
    std::vector<Index> label;
};

struct Size {
    std::int64_t nodes = 0;
    std::int64_t edges = 0;
    std::int64_t strategies = 0;
    std::int64_t pairs = 0;
    std::int64_t rows = 0;
};

template <typename Number>
class StrategyGraph {
public:
    std::vector<Node<Number>> nodes;
    std::vector<Edge<Number>> edges;
    std::vector<Number> capacity;
    // For each row its number in the instance.
    std::vector<Index> row_number;
    Number offset = 0;
    std::vector<Removed> removed;
    // Whether every strategy has an allowed partner at each of its edges.
    bool is_consistent = false;

    Number at(const Edge<Number>& edge, Index node, Index own, Index other) const {
        const Index columns = nodes[edge.second].size();
        return node == edge.first ? edge.table[std::size_t(own) * columns + other]
                                  : edge.table[std::size_t(other) * columns + own];
    }
    // -1 if there is none.
    Index edge_between(Index one, Index other) const;
    // Adds costs to the edge between two nodes, which may be new; strategies of `row` are rows.
    void add_table(Index row, Index column, std::vector<Number> table);
    void drop_edge(Index edge);
    void keep_strategies(Index node, const Mask& kept);
    // Removes a node whose costs were moved before: its strategy is `strategies[those of on]`.
    void remove(Index node, std::vector<Index> on, const std::vector<Index>& strategies);
    // Adds usages to those of a node, by strategies of the node.
    void add_parts(Index node, std::vector<Part<Number>> parts);
    // For each node of the instance its strategy, from places among the strategies left.
    std::vector<Index> decode(const std::vector<Index>& chosen) const;
    // Places among the strategies left, from strategies of the instance; -1 where it is gone.
    std::vector<Index> encode(const std::vector<Index>& strategies) const;
    std::vector<Index> alive() const;
    Size size() const;
};

}  // namespace jettison::sharding
