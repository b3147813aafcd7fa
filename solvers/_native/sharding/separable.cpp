// Edges whose costs are sums of costs of both ends.
#include <optional>

#include "sharding/presolve.hpp"

namespace jettison::sharding {
namespace {

template <typename Number>
struct Split {
    std::vector<Number> rows;
    std::vector<Number> columns;
};

// f and g with table = f + g on all allowed pairs, each connected set of which has potentials of
// its own.
template <typename Number>
std::optional<Split<Number>> split(const std::vector<Number>& table, Index rows, Index columns) {
    Split<Number> found{std::vector<Number>(rows, 0), std::vector<Number>(columns, 0)};
    Mask row_known(rows, 0);
    Mask column_known(columns, 0);
    std::vector<Index> waiting;
    for (Index start = 0; start < rows; ++start) {
        if (row_known[start]) continue;
        row_known[start] = 1;
        waiting.push_back(start);
        while (!waiting.empty()) {
            const Index place = waiting.back();
            waiting.pop_back();
            const bool is_row = place < rows;
            const Index own = is_row ? place : place - rows;
            for (Index other = 0; other < (is_row ? columns : rows); ++other) {
                const Number cost = is_row ? table[std::size_t(own) * columns + other]
                                           : table[std::size_t(other) * columns + own];
                if (cost >= forbidden<Number>) continue;
                std::uint8_t& is_known = is_row ? column_known[other] : row_known[other];
                Number& potential = is_row ? found.columns[other] : found.rows[other];
                const Number here = cost - (is_row ? found.rows[own] : found.columns[own]);
                if (is_known) {
                    if (potential != here) return std::nullopt;
                    continue;
                }
                is_known = 1;
                potential = here;
                waiting.push_back(is_row ? rows + other : other);
            }
        }
    }
    return found;
}

template <typename Number>
bool add_to(std::vector<Number>& costs, const std::vector<Number>& more) {
    bool changed = false;
    for (std::size_t a = 0; a < costs.size(); ++a) {
        changed |= more[a] != 0;
        costs[a] = plus(costs[a], more[a]);
    }
    return changed;
}

}  // namespace

template <typename Number>
bool fold_separable(StrategyGraph<Number>& graph, Budget& budget) {
    bool changed = false;
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
        Edge<Number>& edge = graph.edges[e];
        if (!edge.is_alive || edge.is_inseparable) continue;
        if (!budget.spend(2.0 * edge.table.size())) break;
        Node<Number>& first = graph.nodes[edge.first];
        Node<Number>& second = graph.nodes[edge.second];
        const auto found = split(edge.table, first.size(), second.size());
        if (!found) {
            edge.is_inseparable = true;
            continue;
        }
        const bool moves_first = add_to(first.cost, found->rows);
        const bool moves_second = add_to(second.cost, found->columns);
        bool is_free = true;
        for (Number& cost : edge.table) {
            if (cost < forbidden<Number>) {
                cost = 0;
            } else {
                is_free = false;
            }
        }
        changed |= moves_first || moves_second || is_free;
        // What is left says only which pairs are allowed.
        edge.is_inseparable = true;
        if (is_free) graph.drop_edge(static_cast<Index>(e));
    }
    return changed;
}

template bool fold_separable(StrategyGraph<std::int64_t>&, Budget&);
template bool fold_separable(StrategyGraph<Wide>&, Budget&);

}  // namespace jettison::sharding
