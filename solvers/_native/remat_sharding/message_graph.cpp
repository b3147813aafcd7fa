#include "remat_sharding/message_graph.hpp"

#include <algorithm>
#include <stdexcept>

#include "remat_sharding/edge_minima.hpp"

namespace jettison {

void MessageGraph::finish() {
    for (std::size_t e = 0; e < edges.size(); ++e) {
        MessageEdge& edge = edges[e];
        if (edge.source.node == edge.reader.node) throw std::invalid_argument("edges: a loop");
        nodes[edge.earlier().node].later.push_back(static_cast<std::int32_t>(e));
        nodes[edge.later().node].earlier.push_back(static_cast<std::int32_t>(e));
        const std::int64_t rows = edge.source.width;
        const std::int64_t columns = edge.reader.width;
        edge.turned.resize(edge.table.size());
        for (std::int64_t a = 0; a < rows && !edge.is_identity; ++a) {
            for (std::int64_t b = 0; b < columns; ++b) {
                edge.turned[b * rows + a] = edge.table[a * columns + b];
            }
        }
    }
    for (std::size_t t = 0; t < terms.size(); ++t) {
        nodes[terms[t].node].terms.push_back(static_cast<std::int32_t>(t));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        std::vector<std::uint8_t> keeps;
        for (const std::int64_t cost : nodes[i].cost) keeps.push_back(cost != forbidden_cost);
        remove(static_cast<std::int32_t>(i), keeps);
    }
}

void MessageGraph::fill_slots(EdgeEnd& end) const {
    const MessageNode& node = nodes[end.node];
    end.slot.resize(node.place.size());
    end.has_state.assign(static_cast<std::size_t>(end.slots()), 0);
    for (std::size_t x = 0; x < node.place.size(); ++x) {
        end.slot[x] =
            end.type_of_kind[node.kind[x]] * end.width + end.class_of_place[node.place[x]];
        end.has_state[end.slot[x]] = 1;
    }
}

void MessageGraph::remove(std::int32_t index, const std::vector<std::uint8_t>& keeps) {
    MessageNode& node = nodes[index];
    std::size_t left = 0;
    for (std::size_t x = 0; x < keeps.size(); ++x) {
        if (!keeps[x]) continue;
        node.place[left] = node.place[x];
        node.kind[left] = node.kind[x];
        node.cost[left] = node.cost[x];
        ++left;
    }
    node.place.resize(left);
    node.kind.resize(left);
    node.cost.resize(left);
    const auto fill = [this, index](std::int32_t e) {
        MessageEdge& edge = edges[e];
        fill_slots(edge.source.node == index ? edge.source : edge.reader);
    };
    std::for_each(node.earlier.begin(), node.earlier.end(), fill);
    std::for_each(node.later.begin(), node.later.end(), fill);
}

bool MessageGraph::propagate() {
    constexpr double infinite = Infinite<double>::value;
    std::vector<EdgeCosts<double>> costs;
    costs.reserve(edges.size());
    for (const MessageEdge& edge : edges) costs.emplace_back(edge, 0.0);
    EdgeScratch<double> scratch;
    std::vector<double> in;
    std::vector<double> out;
    std::vector<std::uint8_t> keeps;
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (std::size_t e = 0; e < edges.size(); ++e) {
            const MessageEdge& edge = edges[e];
            for (const bool from_the_source : {true, false}) {
                const EdgeEnd& from = from_the_source ? edge.source : edge.reader;
                const EdgeEnd& to = from_the_source ? edge.reader : edge.source;
                in.assign(static_cast<std::size_t>(from.slots()), infinite);
                for (const std::int32_t slot : from.slot) in[slot] = 0.0;
                across(edge, costs[e], from_the_source, in, out, scratch);
                keeps.clear();
                for (const std::int32_t slot : to.slot) keeps.push_back(out[slot] < infinite);
                if (std::find(keeps.begin(), keeps.end(), 0) == keeps.end()) continue;
                remove(to.node, keeps);
                has_changed = true;
            }
        }
        if (!has_states()) return false;
    }
    return has_states();
}

bool MessageGraph::has_states() const {
    return std::none_of(nodes.begin(), nodes.end(),
                        [](const MessageNode& node) { return node.place.empty(); });
}

std::int64_t MessageGraph::num_states() const {
    std::int64_t count = 0;
    for (const MessageNode& node : nodes) count += node.states();
    return count;
}

double MessageGraph::largest_cost() const {
    double total = 1.0;
    for (const MessageNode& node : nodes) {
        if (node.cost.empty()) continue;
        total += static_cast<double>(*std::max_element(node.cost.begin(), node.cost.end()));
    }
    for (const MessageEdge& edge : edges) {
        std::int64_t largest = 0;
        for (const std::int64_t cost : edge.table) largest = std::max(largest, cost);
        const std::int64_t most = *std::max_element(edge.times.begin(), edge.times.end());
        total += static_cast<double>(largest) * static_cast<double>(most);
    }
    return total;
}

}  // namespace jettison
