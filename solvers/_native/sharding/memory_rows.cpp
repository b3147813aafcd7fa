// Rows of memory by difference arrays over the rows: what is linear in nodes and rows, where a list
// of the nodes of each row is not.
#include <algorithm>

#include "sharding/presolve.hpp"

namespace jettison::sharding {
namespace {

template <typename Number>
void add_up(std::vector<Number>& differences) {
    for (std::size_t row = 1; row < differences.size(); ++row) {
        differences[row] += differences[row - 1];
    }
}

// Subtracts the least usage of every part from it and from the capacity of its rows.
template <typename Number>
bool take_least_usage(StrategyGraph<Number>& graph) {
    const std::size_t rows = graph.capacity.size();
    std::vector<Number> taken(rows + 1, 0);
    bool changed = false;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        Node<Number>& node = graph.nodes[i];
        if (!node.is_alive) continue;
        std::size_t to = 0;
        for (std::size_t from = 0; from < node.parts.size(); ++from) {
            Part<Number>& part = node.parts[from];
            Number least = -1;
            Number most = 0;
            for (Index a = 0; a < node.size(); ++a) {
                if (node.cost[a] >= forbidden<Number>) continue;
                least = least < 0 ? part.usage[a] : std::min(least, part.usage[a]);
                most = std::max(most, part.usage[a]);
            }
            if (least < 0) throw NoChoice(static_cast<Index>(i), -1);
            if (least > 0) {
                changed = true;
                taken[part.first] += least;
                taken[part.end] -= least;
                for (Number& usage : part.usage) usage -= least;
            }
            if (most > least) {
                if (to != from) node.parts[to] = std::move(part);
                ++to;
            }
        }
        node.parts.resize(to);
    }
    if (!changed) return false;
    add_up(taken);
    for (std::size_t row = 0; row < rows; ++row) {
        graph.capacity[row] -= taken[row];
        if (graph.capacity[row] < 0) throw NoChoice(-1, static_cast<Index>(row));
    }
    return true;
}

// The least capacity of a range of rows, in constant time: least of all ranges of 2^k rows.
template <typename Number>
class LeastCapacity {
public:
    explicit LeastCapacity(const std::vector<Number>& capacity) : least_{capacity} {
        for (std::size_t width = 1; 2 * width <= capacity.size(); width *= 2) {
            const std::vector<Number>& half = least_.back();
            std::vector<Number> whole(capacity.size() - 2 * width + 1);
            for (std::size_t row = 0; row < whole.size(); ++row) {
                whole[row] = std::min(half[row], half[row + width]);
            }
            least_.push_back(std::move(whole));
        }
    }

    Number of(Index first, Index end) const {
        std::size_t level = 0;
        while ((Index{2} << level) <= end - first) ++level;
        return std::min(least_[level][first], least_[level][end - (Index{1} << level)]);
    }

private:
    std::vector<std::vector<Number>> least_;
};

template <typename Number>
Mask possible(const StrategyGraph<Number>& graph, Index number,
              const LeastCapacity<Number>& least) {
    const Node<Number>& node = graph.nodes[number];
    const std::size_t size = node.cost.size();
    Mask kept(size);
    for (std::size_t a = 0; a < size; ++a) kept[a] = node.cost[a] < forbidden<Number>;
    for (const Index e : node.edges) {
        const Edge<Number>& edge = graph.edges[e];
        Mask has_partner(size, 0);
        const std::size_t columns = graph.nodes[edge.second].cost.size();
        const Number* cost = edge.table.data();
        for (std::size_t a = 0; a < graph.nodes[edge.first].cost.size(); ++a) {
            for (std::size_t b = 0; b < columns; ++b, ++cost) {
                has_partner[edge.first == number ? a : b] |= *cost < forbidden<Number>;
            }
        }
        for (std::size_t a = 0; a < size; ++a) kept[a] &= has_partner[a];
    }
    for (const Part<Number>& part : node.parts) {
        const Number most = least.of(part.first, part.end);
        for (std::size_t a = 0; a < size; ++a) kept[a] &= part.usage[a] <= most;
    }
    return kept;
}

}  // namespace

template <typename Number>
bool keep_consistent(StrategyGraph<Number>& graph, Budget& budget) {
    bool changed = take_least_usage(graph);
    const LeastCapacity<Number> least(graph.capacity);
    std::vector<Index> waiting = graph.alive();
    std::reverse(waiting.begin(), waiting.end());
    Mask is_waiting(graph.nodes.size(), 1);
    while (!waiting.empty()) {
        const Index node = waiting.back();
        waiting.pop_back();
        is_waiting[node] = 0;
        double pairs = 0;
        for (const Index e : graph.nodes[node].edges) pairs += graph.edges[e].table.size();
        if (!budget.spend(pairs)) return changed;
        const Mask kept = possible(graph, node, least);
        if (std::find(kept.begin(), kept.end(), 0) == kept.end()) continue;
        graph.keep_strategies(node, kept);
        changed = true;
        for (const Index e : graph.nodes[node].edges) {
            const Index other = graph.edges[e].other(node);
            if (!is_waiting[other]) {
                is_waiting[other] = 1;
                waiting.push_back(other);
            }
        }
    }
    graph.is_consistent = true;
    // The strategies of least usage may have been dropped.
    return take_least_usage(graph) || changed;
}

// A row that no choice exceeds is dropped; so is one all of whose parts are in another row of no
// more capacity. Rows follow each other in time: the parts of an earlier row are all in a later one
// if no part ends between them, and the other way round if none begins.
template <typename Number>
bool drop_rows(StrategyGraph<Number>& graph, Budget& budget) {
    const std::size_t rows = graph.capacity.size();
    std::vector<Number> most(rows + 1, 0);
    std::vector<std::int64_t> begun(rows + 1, 0);
    std::vector<std::int64_t> ended(rows + 1, 0);
    double parts = 0;
    for (const Node<Number>& node : graph.nodes) {
        for (const Part<Number>& part : node.parts) {
            const Number largest = *std::max_element(part.usage.begin(), part.usage.end());
            most[part.first] += largest;
            most[part.end] -= largest;
            ++begun[part.first];
            ++ended[part.end];
            parts += part.usage.size();
        }
    }
    budget.spend(parts + 4.0 * rows);
    add_up(most);
    add_up(begun);
    add_up(ended);
    const std::vector<Number>& capacity = graph.capacity;
    std::vector<std::size_t> kept;
    for (std::size_t row = 0; row < rows; ++row) {
        if (most[row] <= capacity[row]) continue;
        while (!kept.empty() && ended[row] == ended[kept.back()] &&
               capacity[row] <= capacity[kept.back()]) {
            kept.pop_back();
        }
        if (kept.empty() || begun[row] != begun[kept.back()] ||
            capacity[kept.back()] > capacity[row]) {
            kept.push_back(row);
        }
    }
    if (kept.size() == rows) return false;
    std::vector<Index> place(rows + 1);
    for (std::size_t row = 0, next = 0; row <= rows; ++row) {
        place[row] = static_cast<Index>(next);
        if (next < kept.size() && kept[next] == row) ++next;
    }
    for (std::size_t number = 0; number < kept.size(); ++number) {
        graph.capacity[number] = capacity[kept[number]];
        graph.row_number[number] = graph.row_number[kept[number]];
    }
    graph.capacity.resize(kept.size());
    graph.row_number.resize(kept.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        std::vector<Part<Number>> moved;
        for (Part<Number>& part : graph.nodes[i].parts) {
            const Index first = place[part.first];
            const Index end = place[part.end];
            if (first < end) moved.push_back({first, end, std::move(part.usage)});
        }
        graph.nodes[i].parts.clear();
        if (!moved.empty()) graph.add_parts(static_cast<Index>(i), std::move(moved));
    }
    return true;
}

template bool keep_consistent(StrategyGraph<std::int64_t>&, Budget&);
template bool keep_consistent(StrategyGraph<Wide>&, Budget&);
template bool drop_rows(StrategyGraph<std::int64_t>&, Budget&);
template bool drop_rows(StrategyGraph<Wide>&, Budget&);

}  // namespace jettison::sharding
