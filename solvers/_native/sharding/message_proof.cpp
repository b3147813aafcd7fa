// The bound of messages and multipliers in integers, and what follows from it.
//
// Messages are rounded to multiples of 2^-bits and multipliers to multiples of 2^-fine; with any
// messages, and any multipliers that are not negative, the sum of least costs is a bound. What the
// multipliers add to a strategy is rounded down, what they subtract from the bound is rounded up.
#include <algorithm>
#include <cmath>

#include "sharding/message_bound.hpp"

namespace jettison::sharding {
namespace {

// A message from which a strategy counts as one that has no partner.
constexpr double unreachable = 1e27;
constexpr int most_bits = 20;

template <typename Number>
constexpr int room_bits = 8 * int(sizeof(Number)) - 5;

}  // namespace

// In the bound every node has shared out its sum over the edges to earlier nodes.
template <typename Number>
std::vector<double> MessageBound<Number>::split_messages() {
    std::vector<double> split = best_messages_;
    if (best_is_split_) return split;
    std::swap(multipliers_, best_multipliers_);
    weigh();
    std::vector<double> total;
    for (const Place& place : places_) {
        if (place.earlier.empty()) continue;
        total.resize(place.size);
        sum(place, best_messages_, total.data());
        const double chains = double(std::max(place.earlier.size(), place.later.size()));
        for (const std::size_t l : place.earlier) {
            double* message = split.data() + links_[l].ends[1].message;
            for (std::size_t a = 0; a < place.size; ++a) message[a] -= total[a] / chains;
        }
    }
    std::swap(multipliers_, best_multipliers_);
    weigh();
    return split;
}

template <typename Number>
std::vector<Wide> MessageBound<Number>::weights_in_integers(int bits, Wide& bound) const {
    std::vector<Wide> weights(costs_.size(), 0);
    double all = 0;
    double largest = 1;
    for (const double multiplier : best_multipliers_) all += multiplier;
    for (const double capacity : capacity_) largest = std::max(largest, capacity);
    for (const Place& place : places_) {
        for (const Part<Number>& part : graph_.nodes[place.node].parts) {
            for (const Number usage : part.usage) largest = std::max(largest, double(usage));
        }
    }
    if (all <= 0 || !std::isfinite(all)) return weights;
    // Sums of multipliers times usages stay below 2^118.
    const int fine = std::min(80, 116 - int(std::ceil(std::log2(all) + std::log2(largest))));
    if (fine < bits) return weights;
    const int shift = fine - bits;
    std::vector<Wide> before(best_multipliers_.size() + 1, 0);
    Wide subtracted = 0;
    for (std::size_t row = 0; row < best_multipliers_.size(); ++row) {
        const Wide weight = static_cast<Wide>(std::ldexp(best_multipliers_[row], fine));
        before[row + 1] = before[row] + weight;
        subtracted += weight * Wide(graph_.capacity[row]);
    }
    bound -= (subtracted + (Wide{1} << shift) - 1) >> shift;
    for (const Place& place : places_) {
        for (const Part<Number>& part : graph_.nodes[place.node].parts) {
            const Wide weight = before[part.end] - before[part.first];
            for (std::size_t a = 0; a < place.size; ++a) {
                weights[place.begin + a] += weight * Wide(part.usage[a]) >> shift;
            }
        }
    }
    return weights;
}

template <typename Number>
Proof MessageBound<Number>::prove() {
    const std::vector<double> split = split_messages();
    double largest = 1;
    for (const double message : split) {
        if (std::abs(message) < unreachable) largest = std::max(largest, std::abs(message));
    }
    for (const Edge<Number>& edge : graph_.edges) {
        for (const Number cost : edge.table) {
            if (cost < forbidden<Number>) largest = std::max(largest, std::abs(double(cost)));
        }
    }
    const int bits =
        std::clamp(room_bits<Number> - 3 - int(std::ceil(std::log2(largest))), 0, most_bits);
    above_.messages.clear();
    for (const double message : split) {
        const double scaled = std::round(std::ldexp(message, bits));
        const bool fits = std::abs(scaled) < std::ldexp(1.0, room_bits<Number> - 2);
        above_.messages.push_back(fits ? static_cast<Number>(scaled) : Number{0});
    }
    Wide bound = 0;
    std::vector<Wide> total = weights_in_integers(bits, bound);
    above_.nodes.assign(costs_.size(), 0);
    for (const Place& place : places_) {
        const Node<Number>& node = graph_.nodes[place.node];
        Wide* own = total.data() + place.begin;
        for (int end = 0; end < 2; ++end) {
            for (const std::size_t l : end == 0 ? place.later : place.earlier) {
                const Number* message = above_.messages.data() + links_[l].ends[end].message;
                for (std::size_t a = 0; a < place.size; ++a) own[a] += message[a];
            }
        }
        bool has_least = false;
        Wide least = 0;
        constexpr Wide most = Wide{1} << room_bits<Number>;
        for (std::size_t a = 0; a < place.size; ++a) {
            if (node.cost[a] >= forbidden<Number>) continue;
            own[a] += Wide(node.cost[a]) * (Wide{1} << bits);
            least = has_least ? std::min(least, own[a]) : own[a];
            has_least = true;
        }
        for (std::size_t a = 0; a < place.size; ++a) {
            const bool is_allowed = node.cost[a] < forbidden<Number>;
            const Wide above = is_allowed ? std::min(own[a] - least, most) : most;
            above_.nodes[place.begin + a] = static_cast<Number>(above);
        }
        bound += least;
    }
    above_.link_least.clear();
    for (const Link& link : links_) {
        const Number* near = above_.messages.data() + link.ends[0].message;
        const Number* far = above_.messages.data() + link.ends[1].message;
        bool has_least = false;
        Number least = 0;
        for (std::size_t a = 0; a < link.ends[0].size; ++a) {
            for (std::size_t b = 0; b < link.ends[1].size; ++b) {
                const Number cost = in_edge(link, a, b);
                if (cost >= forbidden<Number>) continue;
                const Number own = cost * (Number{1} << bits) - near[a] - far[b];
                least = has_least ? std::min(least, own) : own;
                has_least = true;
            }
        }
        above_.link_least.push_back(least);
        bound += least;
    }
    proof_ = {bound, bits};
    return proof_;
}

template <typename Number>
bool MessageBound<Number>::tighten(StrategyGraph<Number>& graph, Wide below) const {
    const Wide left =
        (below - Wide(graph.offset)) * (Wide{1} << proof_.bits) - proof_.bound;
    constexpr Wide most = Wide{1} << room_bits<Number>;
    if (left > most) return false;
    bool changed = false;
    for (std::size_t l = 0; l < links_.size(); ++l) {
        const Link& link = links_[l];
        Edge<Number>& edge = graph.edges[link.edge];
        const Number* messages[2];
        const Number* above[2];
        for (int end = 0; end < 2; ++end) {
            messages[end] = above_.messages.data() + link.ends[end].message;
            above[end] = above_.nodes.data() + places_[link.ends[end].node].begin;
        }
        bool is_changed = false;
        for (std::size_t a = 0; a < link.ends[0].size; ++a) {
            for (std::size_t b = 0; b < link.ends[1].size; ++b) {
                Number& cost = link.is_turned ? edge.table[b * link.ends[0].size + a]
                                              : edge.table[a * link.ends[1].size + b];
                if (cost >= forbidden<Number>) continue;
                const Number own = cost * (Number{1} << proof_.bits) - messages[0][a] -
                                   messages[1][b] - above_.link_least[l];
                if (Wide(own) + above[0][a] + above[1][b] >= left) {
                    cost = forbidden<Number>;
                    is_changed = true;
                }
            }
        }
        if (is_changed) edge.is_inseparable = false;
        changed |= is_changed;
    }
    for (const Place& place : places_) {
        Node<Number>& node = graph.nodes[place.node];
        for (std::size_t a = 0; a < place.size; ++a) {
            const bool is_allowed = node.cost[a] < forbidden<Number>;
            if (is_allowed && Wide(above_.nodes[place.begin + a]) >= left) {
                node.cost[a] = forbidden<Number>;
                changed = true;
            }
        }
    }
    if (changed) graph.is_consistent = false;
    return changed;
}

template std::vector<double> MessageBound<std::int64_t>::split_messages();
template std::vector<double> MessageBound<Wide>::split_messages();
template std::vector<Wide> MessageBound<std::int64_t>::weights_in_integers(int, Wide&) const;
template std::vector<Wide> MessageBound<Wide>::weights_in_integers(int, Wide&) const;
template Proof MessageBound<std::int64_t>::prove();
template Proof MessageBound<Wide>::prove();
template bool MessageBound<std::int64_t>::tighten(StrategyGraph<std::int64_t>&, Wide) const;
template bool MessageBound<Wide>::tighten(StrategyGraph<Wide>&, Wide) const;

}  // namespace jettison::sharding
