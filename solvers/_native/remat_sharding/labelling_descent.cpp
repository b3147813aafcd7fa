#include "remat_sharding/labelling_descent.hpp"

#include <numeric>
#include <utility>

namespace jettison {
namespace {

// Above the cost of any labelling, and far below what sums of doubles lose digits at.
constexpr double penalty = 1e14;

}  // namespace

LabellingDescent::LabellingDescent(const MessageGraph& graph,
                                   const std::vector<EdgeCosts<double>>& costs,
                                   std::vector<std::vector<double>> price)
    : graph_(graph), costs_(costs), price_(std::move(price)), first_at_(graph.nodes.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        const MessageNode& node = graph.nodes[i];
        first_at_[i].assign(static_cast<std::size_t>(node.places) + 1, 0);
        for (const std::int32_t place : node.place) ++first_at_[i][place + 1];
        std::partial_sum(first_at_[i].begin(), first_at_[i].end(), first_at_[i].begin());
    }
    find_groups();
}

void LabellingDescent::find_groups() {
    std::vector<std::int32_t> root(graph_.nodes.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&root](std::int32_t i) {
        while (root[i] != i) i = root[i] = root[root[i]];
        return i;
    };
    for (const MessageEdge& edge : graph_.edges) {
        if (edge.is_identity) root[find(edge.source.node)] = find(edge.reader.node);
    }
    std::vector<std::int32_t> number(graph_.nodes.size(), -1);
    group_of_.resize(graph_.nodes.size());
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(root.size()); ++i) {
        const std::int32_t head = find(i);
        if (number[head] < 0) {
            number[head] = static_cast<std::int32_t>(groups_.size());
            groups_.emplace_back();
        }
        group_of_[i] = number[head];
        groups_[number[head]].push_back(i);
    }
}

void LabellingDescent::begin(const std::vector<std::int32_t>& states) {
    state_ = states;
    steps_.assign(graph_.capacity.size() + 1, 0);
    for (std::size_t i = 0; i < state_.size(); ++i) {
        add_memory(static_cast<std::int32_t>(i), state_[i], 1);
    }
}

void LabellingDescent::descend(std::int32_t sweeps) {
    bool has_moved = true;
    for (std::int32_t sweep = 0; sweep < sweeps && has_moved; ++sweep) {
        has_moved = false;
        for (const auto& group : groups_) has_moved |= move_group(group);
    }
}

void LabellingDescent::descend_within(std::int32_t sweeps) {
    bool has_moved = fits();
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(state_.size()) && has_moved; ++i) {
        has_moved = cost_of(i, state_[i], false) < penalty;
    }
    for (std::int32_t sweep = 0; sweep < sweeps && has_moved; ++sweep) {
        has_moved = false;
        for (const auto& group : groups_) has_moved |= move_group_within(group);
    }
}

double LabellingDescent::cost_of(std::int32_t index, std::int32_t state, bool with_memory) const {
    const MessageNode& node = graph_.nodes[index];
    auto sum = static_cast<double>(node.cost[state]);
    if (with_memory) {
        for (const std::int32_t t : node.terms) {
            const auto bytes = static_cast<double>(graph_.terms[t].bytes[node.place[state]]);
            sum += bytes * price_[t][node.kind[state]];
        }
    }
    const auto add_edge = [this, &sum, state](std::int32_t e, bool is_earlier) {
        const MessageEdge& edge = graph_.edges[e];
        const bool is_source = edge.source_is_earlier() == is_earlier;
        const EdgeEnd& mine = is_source ? edge.source : edge.reader;
        const EdgeEnd& other = is_source ? edge.reader : edge.source;
        const std::int32_t slot = mine.slot[state];
        const std::int32_t beside = other.slot[state_[other.node]];
        const double cost = is_source ? pair_cost(edge, costs_[e], slot, beside)
                                      : pair_cost(edge, costs_[e], beside, slot);
        sum += cost < Infinite<double>::value ? cost : penalty;
    };
    for (const std::int32_t e : node.later) add_edge(e, true);
    for (const std::int32_t e : node.earlier) add_edge(e, false);
    return sum;
}

// Edges inside the group would count at both ends.
double LabellingDescent::cost_of_group(const std::vector<std::int32_t>& group,
                                       bool with_memory) const {
    double sum = 0.0;
    for (const std::int32_t i : group) {
        sum += cost_of(i, state_[i], with_memory);
        for (const std::int32_t e : graph_.nodes[i].earlier) {
            const MessageEdge& edge = graph_.edges[e];
            if (group_of_[edge.earlier().node] != group_of_[i]) continue;
            const double cost =
                pair_cost(edge, costs_[e], edge.source.slot[state_[edge.source.node]],
                          edge.reader.slot[state_[edge.reader.node]]);
            sum -= cost < Infinite<double>::value ? cost : penalty;
        }
    }
    return sum;
}

bool LabellingDescent::move_to(const std::vector<std::int32_t>& group, std::int32_t place) {
    for (const std::int32_t i : group) {
        if (first_at_[i][place] == first_at_[i][place + 1]) return false;
    }
    // All go there before kinds are compared, or equal places would look forbidden.
    for (const std::int32_t i : group) {
        std::int32_t to = first_at_[i][place];
        for (std::int32_t x = to; x < first_at_[i][place + 1]; ++x) {
            if (graph_.nodes[i].kind[x] == graph_.nodes[i].kind[state_[i]]) to = x;
        }
        set_state(i, to);
    }
    for (const std::int32_t i : group) {
        std::int32_t best = state_[i];
        double least = cost_of(i, best, true);
        for (std::int32_t x = first_at_[i][place]; x < first_at_[i][place + 1]; ++x) {
            const double cost = cost_of(i, x, true);
            if (cost < least) {
                least = cost;
                best = x;
            }
        }
        set_state(i, best);
    }
    return true;
}

bool LabellingDescent::move_group(const std::vector<std::int32_t>& group) {
    std::vector<std::int32_t> best;
    for (const std::int32_t i : group) best.push_back(state_[i]);
    double least = cost_of_group(group, true);
    bool has_moved = false;
    for (std::int32_t place = 0; place < graph_.nodes[group.front()].places; ++place) {
        if (!move_to(group, place)) continue;
        const double cost = cost_of_group(group, true);
        if (cost >= least - 0.5) continue;
        least = cost;
        has_moved = true;
        for (std::size_t g = 0; g < group.size(); ++g) best[g] = state_[group[g]];
    }
    for (std::size_t g = 0; g < group.size(); ++g) set_state(group[g], best[g]);
    return has_moved;
}

bool LabellingDescent::move_group_within(const std::vector<std::int32_t>& group) {
    std::vector<std::int32_t> best;
    for (const std::int32_t i : group) best.push_back(state_[i]);
    double least = cost_of_group(group, false);
    bool has_moved = false;
    const auto keep_if_better = [this, &group, &best, &least, &has_moved] {
        const double cost = cost_of_group(group, false);
        if (cost >= least - 0.5 || !fits()) return;
        least = cost;
        has_moved = true;
        for (std::size_t g = 0; g < group.size(); ++g) best[g] = state_[group[g]];
    };
    for (std::int32_t place = 0; place < graph_.nodes[group.front()].places; ++place) {
        if (move_to(group, place)) keep_if_better();
    }
    for (std::size_t g = 0; g < group.size(); ++g) set_state(group[g], best[g]);
    for (std::size_t g = 0; g < group.size(); ++g) {
        const std::int32_t i = group[g];
        const std::int32_t place = graph_.nodes[i].place[best[g]];
        for (std::int32_t x = first_at_[i][place]; x < first_at_[i][place + 1]; ++x) {
            set_state(i, x);
            keep_if_better();
        }
        set_state(i, best[g]);
    }
    return has_moved;
}

bool LabellingDescent::fits() const {
    std::int64_t taken = 0;
    for (std::size_t r = 0; r < graph_.capacity.size(); ++r) {
        taken += steps_[r];
        if (taken > graph_.capacity[r]) return false;
    }
    return true;
}

void LabellingDescent::add_memory(std::int32_t index, std::int32_t state, std::int64_t sign) {
    const MessageNode& node = graph_.nodes[index];
    for (const std::int32_t t : node.terms) {
        const std::int64_t bytes = sign * graph_.terms[t].bytes[node.place[state]];
        for (const MemorySpan& span : graph_.terms[t].spans) {
            if (!graph_.masks[span.mask][node.kind[state]]) continue;
            steps_[span.first] += bytes;
            steps_[span.last + 1] -= bytes;
        }
    }
}

void LabellingDescent::set_state(std::int32_t index, std::int32_t state) {
    if (state_[index] == state) return;
    add_memory(index, state_[index], -1);
    state_[index] = state;
    add_memory(index, state, 1);
}

}  // namespace jettison
