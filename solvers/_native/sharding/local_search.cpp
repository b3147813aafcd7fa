#include "sharding/local_search.hpp"

#include <cmath>

namespace jettison::sharding {
namespace {

constexpr double infinite = 1e30;
constexpr double unreachable = 1e27;

template <typename Number>
std::vector<double> capacities(const StrategyGraph<Number>& graph) {
    return {graph.capacity.begin(), graph.capacity.end()};
}

template <typename Number>
double in_floats(Number cost) {
    return cost < forbidden<Number> ? double(cost) : infinite;
}

}  // namespace

template <typename Number>
LocalSearch<Number>::LocalSearch(const StrategyGraph<Number>& graph, std::uint64_t seed,
                                 const SearchRules& rules)
    : graph_(graph),
      rules_(rules),
      random_(seed),
      nodes_(graph.alive()),
      chosen_(graph.nodes.size(), 0),
      room_({}),
      row_weight_(graph.capacity.size(), 0.0),
      links_to_tree_(graph.nodes.size(), 0),
      in_tree_(graph.nodes.size(), 0) {
    set_prices(row_weight_);
}

template <typename Number>
void LocalSearch<Number>::set_prices(const std::vector<double>& prices) {
    std::vector<double> before(prices.size() + 1, 0.0);
    for (std::size_t row = 0; row < prices.size(); ++row) {
        before[row + 1] = before[row] + prices[row];
    }
    price_.assign(graph_.nodes.size(), {});
    for (const Index number : nodes_) {
        const Node<Number>& node = graph_.nodes[number];
        for (const Part<Number>& part : node.parts) {
            const double price = before[part.end] - before[part.first];
            if (price <= 0) continue;
            price_[number].resize(node.cost.size(), 0.0);
            for (Index a = 0; a < node.size(); ++a) {
                price_[number][a] += price * double(part.usage[a]);
            }
        }
    }
}

template <typename Number>
double LocalSearch<Number>::noise(double temperature) {
    return temperature <= 0 ? 0.0 : -temperature * std::log(-std::log(random() + 1e-300) + 1e-300);
}

template <typename Number>
void LocalSearch<Number>::count_room() {
    const std::size_t rows = graph_.capacity.size();
    std::vector<double> used(rows + 1, 0.0);
    for (const Index number : nodes_) {
        for (const Part<Number>& part : graph_.nodes[number].parts) {
            used[part.first] += double(part.usage[chosen_[number]]);
            used[part.end] -= double(part.usage[chosen_[number]]);
        }
    }
    std::vector<double> room = capacities(graph_);
    double total = 0;
    for (std::size_t row = 0; row < rows; ++row) room[row] -= total += used[row];
    room_ = Room(std::move(room));
}

template <typename Number>
double LocalSearch<Number>::pairs_around(Index number) const {
    const Node<Number>& node = graph_.nodes[number];
    return 8.0 + double(node.size()) * double(node.edges.size() + 1);
}

template <typename Number>
void LocalSearch<Number>::find_energy(Index number, const Mask* but) {
    const Node<Number>& node = graph_.nodes[number];
    const std::size_t size = node.cost.size();
    energy_.resize(size);
    for (std::size_t a = 0; a < size; ++a) energy_[a] = in_floats(node.cost[a]);
    for (const Index e : node.edges) {
        const Edge<Number>& edge = graph_.edges[e];
        const Index other = edge.other(number);
        if (but && (*but)[other]) continue;
        const std::size_t columns = graph_.nodes[edge.second].cost.size();
        const bool is_first = edge.first == number;
        const std::size_t beside = static_cast<std::size_t>(chosen_[other]);
        const Number* cost = edge.table.data() + (is_first ? beside : beside * columns);
        const std::size_t stride = is_first ? columns : 1;
        for (std::size_t a = 0; a < size; ++a) energy_[a] += in_floats(cost[a * stride]);
    }
}

template <typename Number>
void LocalSearch<Number>::move(Index number, Index strategy) {
    for (const Part<Number>& part : graph_.nodes[number].parts) {
        const double more = double(part.usage[strategy]) - double(part.usage[chosen_[number]]);
        if (more == 0) continue;
        room_.take(part.first, part.end, more);
        row_work_ += double(part.end - part.first) + 128;
    }
    chosen_[number] = strategy;
}

template <typename Number>
bool LocalSearch<Number>::spend(double pairs, Budget& budget) {
    const double work = pairs + row_work_;
    row_work_ = 0;
    return budget.spend(work);
}

template <typename Number>
void LocalSearch<Number>::begin_greedy(Budget& budget) {
    Mask is_open(graph_.nodes.size(), 0);
    for (const Index number : nodes_) is_open[number] = 1;
    for (const Index number : nodes_) {
        const Node<Number>& node = graph_.nodes[number];
        find_energy(number, &is_open);
        is_open[number] = 0;
        if (budget.spend(pairs_around(number))) {
            for (const Index e : node.edges) {
                const Edge<Number>& edge = graph_.edges[e];
                const Index other = edge.other(number);
                if (!is_open[other]) continue;
                budget.spend(double(edge.table.size()));
                for (Index a = 0; a < node.size(); ++a) {
                    double least = infinite;
                    for (Index b = 0; b < graph_.nodes[other].size(); ++b) {
                        least = std::min(least, in_floats(graph_.at(edge, number, a, b)));
                    }
                    energy_[a] += least;
                }
            }
        }
        chosen_[number] = static_cast<Index>(
            std::min_element(energy_.begin(), energy_.end()) - energy_.begin());
    }
    begin_from(chosen_);
}

template <typename Number>
void LocalSearch<Number>::begin_from(std::vector<Index> chosen) {
    chosen_ = std::move(chosen);
    count_room();
    offer();
}

template <typename Number>
double LocalSearch<Number>::cost_of_choice() const {
    double cost = 0;
    for (const Index number : nodes_) cost += in_floats(graph_.nodes[number].cost[chosen_[number]]);
    for (const Edge<Number>& edge : graph_.edges) {
        if (!edge.is_alive) continue;
        cost += in_floats(graph_.at(edge, edge.first, chosen_[edge.first], chosen_[edge.second]));
    }
    return cost;
}

template <typename Number>
bool LocalSearch<Number>::offer() {
    cost_ = cost_of_choice();
    if (cost_ >= unreachable || room_.least() < 0) return false;
    if (best_.empty() || cost_ < best_cost_) {
        best_ = chosen_;
        best_cost_ = cost_;
    }
    return true;
}

// Best moves at weights of broken rules; tells whether any strategy changed.
template <typename Number>
bool LocalSearch<Number>::sweep_to_repair(Budget& budget, bool& is_valid) {
    std::vector<Index> order = nodes_;
    for (std::size_t left = order.size(); left > 1; --left) {
        std::swap(order[left - 1], order[static_cast<std::size_t>(random() * double(left))]);
    }
    bool changed = false;
    is_valid = room_.least() >= 0;
    for (const Index number : order) {
        const Node<Number>& node = graph_.nodes[number];
        double work = pairs_around(number);
        energy_.assign(node.cost.size(), 0.0);
        // As `find_energy`, with a weight in place of what is forbidden.
        bool is_broken = false;
        for (Index a = 0; a < node.size(); ++a) {
            energy_[a] = std::min(in_floats(node.cost[a]), forbidden_weight_);
        }
        is_broken = node.cost[chosen_[number]] >= forbidden<Number>;
        for (const Index e : node.edges) {
            const Edge<Number>& edge = graph_.edges[e];
            const Index other = edge.other(number);
            for (Index a = 0; a < node.size(); ++a) {
                const Number cost = graph_.at(edge, number, a, chosen_[other]);
                const bool is_forbidden = cost >= forbidden<Number>;
                energy_[a] += is_forbidden ? forbidden_weight_ : double(cost);
                is_broken |= is_forbidden && a == chosen_[number];
            }
        }
        is_valid &= !is_broken;
        for (const Part<Number>& part : node.parts) {
            const double own = double(part.usage[chosen_[number]]);
            const double most = double(*std::max_element(part.usage.begin(), part.usage.end()));
            if (room_.least(part.first, part.end) >= most - own) continue;
            work += double(part.end - part.first) * double(node.size());
            for (Index a = 0; a < node.size(); ++a) {
                const double more = double(part.usage[a]) - own;
                double over = 0;
                for (Index row = part.first; row < part.end; ++row) {
                    over += std::max(0.0, more - room_.of(row)) * row_weight_[row];
                }
                energy_[a] += over;
            }
        }
        if (!spend(work, budget)) return false;
        const auto best = std::min_element(energy_.begin(), energy_.end());
        // On ties the present strategy stays, so that descent ends.
        if (*best >= energy_[chosen_[number]]) continue;
        move(number, static_cast<Index>(best - energy_.begin()));
        changed = true;
    }
    return changed;
}

template <typename Number>
bool LocalSearch<Number>::repair(Budget& budget) {
    if (offer()) return true;
    // A broken rule costs as much as a typical move at first.
    const double typical = std::max(1.0, typical_difference());
    double usage = 0;
    double parts = 0;
    for (const Index number : nodes_) {
        for (const Part<Number>& part : graph_.nodes[number].parts) {
            usage += double(*std::max_element(part.usage.begin(), part.usage.end())) *
                     double(part.end - part.first);
            ++parts;
        }
    }
    const double weight = parts == 0 ? 0.0 : typical * parts / std::max(1.0, usage);
    forbidden_weight_ = typical;
    row_weight_.assign(row_weight_.size(), weight);
    for (std::int32_t sweep = 0; sweep < rules_.repair_sweeps && !budget.is_over(); ++sweep) {
        bool is_valid = false;
        sweep_to_repair(budget, is_valid);
        if (offer()) return true;
        forbidden_weight_ *= cost_ >= unreachable ? rules_.weight_growth : 1.0;
        for (std::size_t row = 0; row < row_weight_.size(); ++row) {
            if (room_.of(row) < 0) row_weight_[row] *= rules_.weight_growth;
        }
    }
    return false;
}

template <typename Number>
double LocalSearch<Number>::typical_difference() {
    double sum = 0;
    std::vector<double> differences;
    for (const Index number : nodes_) {
        find_energy(number, nullptr);
        const double least = *std::min_element(energy_.begin(), energy_.end());
        differences.clear();
        for (const double energy : energy_) {
            if (energy < unreachable) differences.push_back(energy - least);
        }
        if (differences.empty()) continue;
        const auto middle = differences.begin() + differences.size() / 2;
        std::nth_element(differences.begin(), middle, differences.end());
        sum += *middle;
    }
    return sum / double(std::max<std::size_t>(1, nodes_.size()));
}

template <typename Number>
double LocalSearch<Number>::typical_usage() const {
    double sum = 0;
    double parts = 0;
    for (const Index number : nodes_) {
        for (const Part<Number>& part : graph_.nodes[number].parts) {
            sum += double(*std::max_element(part.usage.begin(), part.usage.end()));
            ++parts;
        }
    }
    return std::max(1.0, sum / std::max(1.0, parts));
}

template class LocalSearch<std::int64_t>;
template class LocalSearch<Wide>;

}  // namespace jettison::sharding
