// Strategies that another one of the same node replaces without loss (Goldstein's criterion).
#include <algorithm>

#include "sharding/presolve.hpp"

namespace jettison::sharding {
namespace {

// The tables of a node's edges with its own strategies as rows, and the least cost of every row.
template <typename Number>
struct Sides {
    std::vector<std::vector<Number>> tables;
    std::vector<Index> columns;
    std::vector<std::vector<Number>> least;
    // least costs of the rows of this edge and of all after it, added up.
    std::vector<std::vector<Number>> rest;

    Sides(const StrategyGraph<Number>& graph, Index number) {
        const Node<Number>& node = graph.nodes[number];
        const Index size = node.size();
        for (const Index e : node.edges) {
            const Edge<Number>& edge = graph.edges[e];
            const Index width = graph.nodes[edge.other(number)].size();
            std::vector<Number> table = edge.table;
            if (number != edge.first) {
                for (Index a = 0; a < size; ++a) {
                    for (Index d = 0; d < width; ++d) {
                        table[std::size_t(a) * width + d] = edge.table[std::size_t(d) * size + a];
                    }
                }
            }
            std::vector<Number> of_row;
            for (Index a = 0; a < size; ++a) {
                const auto begin = table.begin() + std::size_t(a) * width;
                const Number lowest = *std::min_element(begin, begin + width);
                of_row.push_back(lowest < forbidden<Number> ? lowest : 0);
            }
            tables.push_back(std::move(table));
            columns.push_back(width);
            least.push_back(std::move(of_row));
        }
        rest.assign(tables.size() + 1, std::vector<Number>(size, 0));
        for (std::size_t e = tables.size(); e-- > 0;) {
            for (Index a = 0; a < size; ++a) rest[e][a] = rest[e + 1][a] + least[e][a];
        }
    }

    // Whether b costs at most `allowed` more than a at all edges together, in the worst case. What
    // is left of it after some edges must suffice for the rest, where the difference is at least
    // that of the least costs.
    bool replaces(Index a, Index b, Number allowed, double& pairs) const {
        for (std::size_t e = 0; e < tables.size(); ++e) {
            if (rest[e][b] - rest[e][a] > allowed) return false;
            const Number* of_a = tables[e].data() + std::size_t(a) * columns[e];
            const Number* of_b = tables[e].data() + std::size_t(b) * columns[e];
            const Number most = allowed - (rest[e + 1][b] - rest[e + 1][a]);
            bool has_partner = false;
            Number worst = 0;
            pairs += columns[e];
            for (Index d = 0; d < columns[e]; ++d) {
                if (of_a[d] >= forbidden<Number>) continue;
                const Number more = of_b[d] - of_a[d];
                if (of_b[d] >= forbidden<Number> || more > most) return false;
                worst = has_partner ? std::max(worst, more) : more;
                has_partner = true;
            }
            if (has_partner) allowed -= worst;
        }
        return allowed >= 0;
    }
};

template <typename Number>
bool uses_no_more(const Node<Number>& node, Index b, Index a) {
    return std::all_of(node.parts.begin(), node.parts.end(), [&](const Part<Number>& part) {
        return part.usage[b] <= part.usage[a];
    });
}

template <typename Number>
Mask undominated(const StrategyGraph<Number>& graph, Index number, Budget& budget) {
    const Node<Number>& node = graph.nodes[number];
    const Index size = node.size();
    Mask kept(size, 1);
    if (size == 1) return kept;
    const Sides<Number> sides(graph, number);
    double pairs = 0;
    for (Index a = 0; a < size; ++a) {
        // A dropped strategy dominates no other, so that one of several equal ones stays.
        for (Index b = 0; b < size && kept[a]; ++b) {
            if (b == a || !kept[b] || !uses_no_more(node, b, a)) continue;
            if (sides.replaces(a, b, node.cost[a] - node.cost[b], pairs)) kept[a] = 0;
        }
        if (!budget.spend(pairs)) break;
        pairs = 0;
    }
    return kept;
}

}  // namespace

template <typename Number>
bool drop_dominated(StrategyGraph<Number>& graph, Budget& budget) {
    bool changed = false;
    std::vector<Index> waiting = graph.alive();
    std::reverse(waiting.begin(), waiting.end());
    Mask is_waiting(graph.nodes.size(), 1);
    while (!waiting.empty()) {
        const Index node = waiting.back();
        waiting.pop_back();
        is_waiting[node] = 0;
        double pairs = 0;
        for (const Index e : graph.nodes[node].edges) pairs += graph.edges[e].table.size();
        if (!budget.spend(2 * pairs)) break;
        const Mask kept = undominated(graph, node, budget);
        if (std::find(kept.begin(), kept.end(), 0) == kept.end()) continue;
        graph.keep_strategies(node, kept);
        changed = true;
        std::vector<Index> again{node};
        for (const Index e : graph.nodes[node].edges) again.push_back(graph.edges[e].other(node));
        for (const Index other : again) {
            if (is_waiting[other]) continue;
            is_waiting[other] = 1;
            waiting.push_back(other);
        }
    }
    return changed;
}

template bool drop_dominated(StrategyGraph<std::int64_t>&, Budget&);
template bool drop_dominated(StrategyGraph<Wide>&, Budget&);

}  // namespace jettison::sharding
