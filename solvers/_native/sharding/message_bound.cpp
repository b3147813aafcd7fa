#include "sharding/message_bound.hpp"

#include <algorithm>
#include <cmath>

#include "core/vector_unit.hpp"

namespace jettison::sharding {
namespace {

constexpr double infinite = 1e30;
// A message from which a strategy counts as one that has no partner.
constexpr double unreachable = 1e27;

std::uint64_t key_of(Index one, Index other) {
    return std::uint64_t(std::uint32_t(one)) << 32 | std::uint32_t(other);
}

// to[b] = min over a of own[a] + table[a, b].
JETTISON_INLINE void relax_body(const double* table, const double* own, std::size_t rows,
                                std::size_t columns, double* to) {
    for (std::size_t b = 0; b < columns; ++b) to[b] = infinite;
    for (std::size_t a = 0; a < rows; ++a) {
        const double* row = table + a * columns;
        const double cost = own[a];
        for (std::size_t b = 0; b < columns; ++b) {
            const double sum = row[b] + cost;
            to[b] = sum < to[b] ? sum : to[b];
        }
    }
}

constexpr auto relax = vectorized<relax_body>;

}  // namespace

template <typename Number>
MessageBound<Number>::MessageBound(const StrategyGraph<Number>& graph, const StepRules& rules)
    : graph_(graph), rules_(rules), place_of_(graph.nodes.size(), 0), step_(rules.first_step) {
    for (const Index number : graph.alive()) {
        const Node<Number>& node = graph.nodes[number];
        place_of_[number] = places_.size();
        places_.push_back({number, costs_.size(), node.cost.size(), {}, {}});
        for (const Number cost : node.cost) {
            costs_.push_back(cost < forbidden<Number> ? double(cost) : infinite);
        }
    }
    std::size_t messages = 0;
    std::size_t pairs = 0;
    for (const Edge<Number>& edge : graph.edges) pairs += edge.table.size();
    tables_.resize(2 * pairs);
    pairs_ = double(pairs);
    std::size_t table = 0;
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
        const Edge<Number>& edge = graph.edges[e];
        if (!edge.is_alive) continue;
        Link link;
        link.edge = static_cast<Index>(e);
        link.is_turned = edge.first > edge.second;
        const Index nodes[2] = {std::min(edge.first, edge.second),
                                std::max(edge.first, edge.second)};
        for (int end = 0; end < 2; ++end) {
            const std::size_t size = graph.nodes[nodes[end]].cost.size();
            link.ends[end] = {place_of_[nodes[end]], messages, size};
            messages += size;
        }
        places_[link.ends[0].node].later.push_back(links_.size());
        places_[link.ends[1].node].earlier.push_back(links_.size());
        link.table = table;
        const std::size_t rows = link.ends[0].size;
        const std::size_t columns = link.ends[1].size;
        for (std::size_t a = 0; a < rows; ++a) {
            for (std::size_t b = 0; b < columns; ++b) {
                const Number cost = in_edge(link, a, b);
                const double value = cost < forbidden<Number> ? double(cost) : infinite;
                tables_[table + a * columns + b] = value;
                tables_[table + rows * columns + b * rows + a] = value;
            }
        }
        table += 2 * rows * columns;
        links_.push_back(link);
    }
    messages_.assign(messages, 0.0);
    for (const Number capacity : graph.capacity) capacity_.push_back(double(capacity));
    multipliers_.assign(capacity_.size(), 0.0);
    last_step_.assign(capacity_.size(), 0.0);
    best_messages_ = messages_;
    best_multipliers_ = multipliers_;
    weigh();
}

template <typename Number>
Number MessageBound<Number>::in_edge(const Link& link, std::size_t a, std::size_t b) const {
    const Edge<Number>& edge = graph_.edges[link.edge];
    return link.is_turned ? edge.table[b * link.ends[0].size + a]
                          : edge.table[a * link.ends[1].size + b];
}

template <typename Number>
void MessageBound<Number>::resume(const Kept& kept) {
    for (std::size_t row = 0; row < multipliers_.size(); ++row) {
        const auto found = kept.multipliers.find(graph_.row_number[row]);
        if (found != kept.multipliers.end()) multipliers_[row] = found->second;
    }
    for (const Link& link : links_) {
        const Index nodes[2] = {places_[link.ends[0].node].node, places_[link.ends[1].node].node};
        const auto found = kept.messages.find(key_of(nodes[0], nodes[1]));
        if (found == kept.messages.end()) continue;
        for (int end = 0; end < 2; ++end) {
            const std::vector<Index>& labels = graph_.nodes[nodes[end]].label;
            const std::vector<Index>& known = found->second.labels[end];
            std::size_t from = 0;
            for (std::size_t a = 0; a < labels.size(); ++a) {
                while (from < known.size() && known[from] < labels[a]) ++from;
                if (from < known.size() && known[from] == labels[a]) {
                    messages_[link.ends[end].message + a] = found->second.messages[end][from];
                }
            }
        }
    }
    step_ = kept.step;
    passes_ = rules_.first_passes;
    weigh();
}

template <typename Number>
Kept MessageBound<Number>::kept() const {
    Kept kept;
    kept.step = step_;
    for (std::size_t row = 0; row < multipliers_.size(); ++row) {
        kept.multipliers[graph_.row_number[row]] = best_multipliers_[row];
    }
    for (const Link& link : links_) {
        const Index nodes[2] = {places_[link.ends[0].node].node, places_[link.ends[1].node].node};
        Kept::Ends& ends = kept.messages[key_of(nodes[0], nodes[1])];
        for (int end = 0; end < 2; ++end) {
            ends.labels[end] = graph_.nodes[nodes[end]].label;
            const auto begin = best_messages_.begin() + link.ends[end].message;
            ends.messages[end].assign(begin, begin + link.ends[end].size);
        }
    }
    return kept;
}

// Costs of the nodes with those of the memory that they use.
template <typename Number>
void MessageBound<Number>::weigh() {
    std::vector<double> before(multipliers_.size() + 1, 0.0);
    for (std::size_t row = 0; row < multipliers_.size(); ++row) {
        before[row + 1] = before[row] + multipliers_[row];
    }
    weighted_ = costs_;
    for (const Place& place : places_) {
        for (const Part<Number>& part : graph_.nodes[place.node].parts) {
            const double weight = before[part.end] - before[part.first];
            if (weight <= 0) continue;
            double* own = weighted_.data() + place.begin;
            for (std::size_t a = 0; a < place.size; ++a) own[a] += weight * double(part.usage[a]);
        }
    }
}

template <typename Number>
void MessageBound<Number>::sum(const Place& place, const std::vector<double>& messages,
                               double* total) const {
    std::copy_n(weighted_.data() + place.begin, place.size, total);
    for (int end = 0; end < 2; ++end) {
        for (const std::size_t number : end == 0 ? place.later : place.earlier) {
            const double* message = messages.data() + links_[number].ends[end].message;
            for (std::size_t a = 0; a < place.size; ++a) total[a] += message[a];
        }
    }
}

// In a backward pass `pass_value_` becomes the bound that the messages prove, in which every node
// has shared out its sum over the edges to earlier nodes.
template <typename Number>
bool MessageBound<Number>::pass(bool is_forward, Budget& budget) {
    std::vector<double> total;
    std::vector<double> own;
    double value = 0;
    for (std::size_t number = 0; number < places_.size(); ++number) {
        const Place& place = places_[is_forward ? number : places_.size() - 1 - number];
        const std::vector<std::size_t>& links = is_forward ? place.later : place.earlier;
        total.resize(place.size);
        own.resize(place.size);
        sum(place, messages_, total.data());
        const double chains =
            double(std::max<std::size_t>({1, place.earlier.size(), place.later.size()}));
        if (!is_forward) {
            const double left = 1.0 - double(place.earlier.size()) / chains;
            double least = infinite;
            for (const double cost : total) {
                if (cost < unreachable) least = std::min(least, left * cost);
            }
            value += least;
        }
        double pairs = 0;
        for (const std::size_t l : links) {
            const Link& link = links_[l];
            const End& from = link.ends[is_forward ? 0 : 1];
            const End& to = link.ends[is_forward ? 1 : 0];
            const double* known = messages_.data() + from.message;
            for (std::size_t a = 0; a < place.size; ++a) {
                own[a] = total[a] < unreachable ? total[a] / chains - known[a] : infinite;
            }
            double* message = messages_.data() + to.message;
            relax(tables_.data() + link.table + (is_forward ? 0 : from.size * to.size), own.data(),
                  from.size, to.size, message);
            const double least = *std::min_element(message, message + to.size);
            for (std::size_t b = 0; b < to.size; ++b) {
                message[b] = std::min(message[b] - least, infinite);
            }
            value += least;
            pairs += double(from.size * to.size);
        }
        if (!budget.spend(2 * pairs)) return false;
    }
    if (!is_forward) pass_value_ = value;
    return true;
}

template <typename Number>
std::int32_t MessageBound<Number>::ascend(double upper, std::int32_t passes, Budget& budget) {
    for (std::int32_t number = 0; number < passes; ++number) {
        if (!pass(true, budget) || !pass(false, budget)) return number;
        double value = pass_value_;
        for (std::size_t row = 0; row < capacity_.size(); ++row) {
            value -= multipliers_[row] * capacity_[row];
        }
        if (value > best_value_) {
            best_value_ = value;
            best_messages_ = messages_;
            best_multipliers_ = multipliers_;
            best_is_split_ = false;
            without_gain_ = 0;
        } else if (++without_gain_ >= rules_.patience) {
            step_ = std::max(step_ * rules_.shrink, rules_.least_step);
            without_gain_ = 0;
            multipliers_ = best_multipliers_;
            weigh();
        }
        if (!capacity_.empty() && ++passes_ > rules_.first_passes) take_step(value, upper);
    }
    return passes;
}

template <typename Number>
std::vector<Index> MessageBound<Number>::rounded() const {
    std::vector<Index> chosen(graph_.nodes.size(), -1);
    std::vector<double> total;
    for (const Place& place : places_) {
        total.assign(weighted_.begin() + place.begin,
                     weighted_.begin() + place.begin + place.size);
        for (const std::size_t l : place.later) {
            const double* message = messages_.data() + links_[l].ends[0].message;
            for (std::size_t a = 0; a < place.size; ++a) total[a] += message[a];
        }
        for (const std::size_t l : place.earlier) {
            const Link& link = links_[l];
            const std::size_t other = chosen[places_[link.ends[0].node].node];
            const double* row = tables_.data() + link.table + other * place.size;
            for (std::size_t a = 0; a < place.size; ++a) total[a] += row[a];
        }
        chosen[place.node] =
            static_cast<Index>(std::min_element(total.begin(), total.end()) - total.begin());
    }
    return chosen;
}

template <typename Number>
void MessageBound<Number>::take_step(double value, double upper) {
    const std::size_t rows = capacity_.size();
    std::vector<double> excess(rows + 1, 0.0);
    const std::vector<Index> chosen = rounded();
    for (const Place& place : places_) {
        for (const Part<Number>& part : graph_.nodes[place.node].parts) {
            const double usage = double(part.usage[chosen[place.node]]);
            excess[part.first] += usage;
            excess[part.end] -= usage;
        }
    }
    for (std::size_t row = 1; row < rows; ++row) excess[row] += excess[row - 1];
    double norm = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        double& own = excess[row];
        own = (1 - rules_.momentum) * (own - capacity_[row]) + rules_.momentum * last_step_[row];
        if (multipliers_[row] <= 0 && own < 0) own = 0;
        last_step_[row] = own;
        norm += own * own;
    }
    if (norm <= 0) return;
    // A choice that is far from the best one would make steps too long.
    const double target =
        std::min(value + rules_.target_beyond * std::abs(value) + 1, upper);
    const double length = step_ * std::max(target - value, 1e-6 * std::abs(value)) / norm;
    for (std::size_t row = 0; row < rows; ++row) {
        multipliers_[row] = std::max(0.0, multipliers_[row] + length * excess[row]);
    }
    weigh();
}

template <typename Number>
void MessageBound<Number>::adopt(std::vector<double> multipliers,
                                 const std::vector<double>& messages) {
    best_multipliers_ = std::move(multipliers);
    best_is_split_ = true;
    std::size_t from = 0;
    for (const Link& link : links_) {
        for (const int end : {link.is_turned ? 1 : 0, link.is_turned ? 0 : 1}) {
            std::copy_n(messages.begin() + from, link.ends[end].size,
                        best_messages_.begin() + link.ends[end].message);
            from += link.ends[end].size;
        }
    }
    best_value_ = -std::numeric_limits<double>::infinity();
}

template class MessageBound<std::int64_t>;
template class MessageBound<Wide>;

}  // namespace jettison::sharding
