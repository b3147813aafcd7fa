// Annealing of a choice that breaks no rule, by single nodes and by trees of nodes.
#include <cmath>

#include "sharding/local_search.hpp"

namespace jettison::sharding {
namespace {

constexpr double infinite = 1e30;
constexpr double unreachable = 1e27;
// Sweeps at the end of a round that only go down.
constexpr double cold_sweeps = 5;
// Between the temperatures of two scales.
constexpr double scale_ratio = 4;
// How likely a scale is drawn that brought no gain.
constexpr double least_score = 0.1;

}  // namespace

// Heat bath at every node: a strategy that fits with probability by its cost.
template <typename Number>
bool LocalSearch<Number>::sweep_nodes(double temperature, Budget& budget) {
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
        const Index i = nodes_[static_cast<std::size_t>(random() * double(nodes_.size()))];
        const Node<Number>& node = graph_.nodes[i];
        if (!spend(2 * pairs_around(i), budget)) return false;
        if (node.size() == 1) continue;
        find_energy(i, nullptr);
        over_.assign(node.cost.size(), 0.0);
        for (const Part<Number>& part : node.parts) {
            const double own = double(part.usage[chosen_[i]]);
            const double room = room_.least(part.first, part.end) + own;
            row_work_ += 64 + double(part.end - part.first) / 64;
            for (Index a = 0; a < node.size(); ++a) {
                const double over = double(part.usage[a]) - room;
                if (over > 0) over_[a] += is_soft_ ? over * over_weight_ : infinite;
            }
        }
        const double present = energy_[chosen_[i]];
        Index best = chosen_[i];
        double best_weighted = infinite;
        for (Index a = 0; a < node.size(); ++a) {
            if (energy_[a] + over_[a] >= unreachable) continue;
            double weighted = energy_[a] + over_[a];
            if (!price_[i].empty()) weighted += price_share_ * price_[i][a];
            // The least of costs with Gumbel noise is a sample of the heat bath.
            if (temperature > 0) weighted -= noise(temperature);
            if (weighted < best_weighted || (weighted == best_weighted && a == chosen_[i])) {
                best_weighted = weighted;
                best = a;
            }
        }
        if (best == chosen_[i]) continue;
        cost_ += energy_[best] - present;
        move(i, best);
    }
    return true;
}

// A tree such that each node has an edge to no other node of it than its parent and its children.
template <typename Number>
void LocalSearch<Number>::grow_tree(Index root) {
    tree_.clear();
    std::vector<std::pair<Index, std::int32_t>> open;  // edge, member
    std::vector<Index> touched;
    const auto add = [&](Index node, std::int32_t parent, Index edge) {
        const std::int32_t member = static_cast<std::int32_t>(tree_.size());
        tree_.push_back({node, parent, edge, 0});
        in_tree_[node] = 1;
        for (const Index e : graph_.nodes[node].edges) {
            const Index other = graph_.edges[e].other(node);
            ++links_to_tree_[other];
            touched.push_back(other);
            if (!in_tree_[other]) open.emplace_back(e, member);
        }
    };
    add(root, -1, -1);
    while (!open.empty() && tree_.size() < static_cast<std::size_t>(rules_.tree_nodes)) {
        const std::size_t place = static_cast<std::size_t>(random() * double(open.size()));
        const auto [edge, parent] = open[place];
        open[place] = open.back();
        open.pop_back();
        const Index node = graph_.edges[edge].other(tree_[parent].node);
        if (!in_tree_[node] && links_to_tree_[node] == 1) add(node, parent, edge);
    }
    for (const Index node : touched) links_to_tree_[node] = 0;
}

// The best strategies of a tree together, by dynamic programming over it, with noise.
template <typename Number>
bool LocalSearch<Number>::move_tree(double temperature, Budget& budget) {
    grow_tree(nodes_[static_cast<std::size_t>(random() * double(nodes_.size()))]);
    std::size_t states = 0;
    double work = 0;
    for (Member& member : tree_) {
        member.begin = states;
        states += graph_.nodes[member.node].cost.size();
        work += pairs_around(member.node);
        if (member.parent >= 0) work += double(graph_.edges[member.edge].table.size());
    }
    message_.resize(states);
    // By strategy of the parent, the best one of the member.
    double before = 0;
    for (const Member& member : tree_) {
        const Node<Number>& node = graph_.nodes[member.node];
        find_energy(member.node, &in_tree_);
        before += energy_[chosen_[member.node]];
        if (!price_[member.node].empty()) {
            before += price_share_ * price_[member.node][chosen_[member.node]];
        }
        for (Index a = 0; a < node.size(); ++a) {
            double own = energy_[a];
            if (!price_[member.node].empty()) own += price_share_ * price_[member.node][a];
            message_[member.begin + a] = own - (temperature > 0 ? noise(temperature) : 0.0);
        }
        if (member.parent >= 0) {
            const Index other = tree_[member.parent].node;
            before += double(graph_.at(graph_.edges[member.edge], member.node,
                                       chosen_[member.node], chosen_[other]));
        }
    }
    const auto cost_at = [&](const Member& member, Index own, Index parent) {
        const Number cost = graph_.at(graph_.edges[member.edge], member.node, own, parent);
        return cost < forbidden<Number> ? double(cost) : infinite;
    };
    for (std::size_t m = tree_.size(); m-- > 1;) {
        const Member& member = tree_[m];
        const Member& parent = tree_[member.parent];
        const Index size = graph_.nodes[member.node].size();
        for (Index b = 0; b < graph_.nodes[parent.node].size(); ++b) {
            double least = infinite;
            for (Index a = 0; a < size; ++a) {
                least = std::min(least, message_[member.begin + a] + cost_at(member, a, b));
            }
            message_[parent.begin + b] = std::min(infinite, message_[parent.begin + b] + least);
        }
    }
    answer_.assign(tree_.size(), 0);
    bool is_possible = true;
    bool changed = false;
    for (std::size_t m = 0; m < tree_.size(); ++m) {
        const Member& member = tree_[m];
        double least = infinite;
        for (Index a = 0; a < graph_.nodes[member.node].size(); ++a) {
            const double above = m == 0 ? 0.0 : cost_at(member, a, answer_[member.parent]);
            const double own = message_[member.begin + a] + above;
            if (own < least) {
                least = own;
                answer_[m] = a;
            }
        }
        is_possible = is_possible && least < unreachable;
        changed = changed || answer_[m] != chosen_[member.node];
    }
    if (is_possible && changed) {
        // Costs and prices of the answer, without noise.
        double after = 0;
        double price = 0;
        for (std::size_t m = 0; m < tree_.size(); ++m) {
            const Member& member = tree_[m];
            find_energy(member.node, &in_tree_);
            after += energy_[answer_[m]];
            if (m > 0) after += cost_at(member, answer_[m], answer_[member.parent]);
            if (!price_[member.node].empty()) {
                price += price_share_ * price_[member.node][answer_[m]];
                before -= price_share_ * price_[member.node][chosen_[member.node]];
                price -= price_share_ * price_[member.node][chosen_[member.node]];
            }
        }
        const double more = after - before;
        const bool is_accepted =
            after < unreachable && (more + price <= 0 || temperature > 0);
        if (is_accepted) {
            const double room_before = room_.least();
            for (std::size_t m = 0; m < tree_.size(); ++m) {
                const Index old = chosen_[tree_[m].node];
                move(tree_[m].node, answer_[m]);
                answer_[m] = old;
            }
            if (room_.least() < std::min(0.0, room_before)) {
                for (std::size_t m = 0; m < tree_.size(); ++m) move(tree_[m].node, answer_[m]);
            } else {
                cost_ += more;
            }
        }
    }
    for (const Member& member : tree_) in_tree_[member.node] = 0;
    row_work_ += double(graph_.capacity.size()) / 64;
    return spend(work * 2, budget);
}

// Which temperatures help differs by orders of magnitude between graphs and during a search: each
// round draws its scale, those that brought gains more often.
template <typename Number>
void LocalSearch<Number>::begin_round() {
    double all = 0;
    for (const double score : scores_) all += score + least_score;
    double drawn = random() * all;
    scale_ = 0;
    while (scale_ + 1 < scores_.size() && (drawn -= scores_[scale_] + least_score) > 0) ++scale_;
    const double typical = std::max(1.0, std::abs(best_cost_) / double(nodes_.size()));
    hot_ = typical * rules_.first_temperature * std::pow(scale_ratio, -double(scale_));
    price_share_ = double(round_ % 3) / 2;
    is_soft_ = round_ % 2 == 1;
    if (over_weight_ <= 0) over_weight_ = typical / typical_usage();
    round_cost_ = best_cost_;
    chosen_ = best_;
    count_room();
    offer();
}

template <typename Number>
void LocalSearch<Number>::end_round() {
    scores_[scale_] = (scores_[scale_] + (best_cost_ < round_cost_ ? 1.0 : 0.0)) / 2;
    sweep_ = 0;
    ++round_;
}

template <typename Number>
void LocalSearch<Number>::anneal(Budget& budget) {
    if (best_.empty() || nodes_.empty()) return;
    const std::size_t trees =
        1 + nodes_.size() / static_cast<std::size_t>(std::max(1, rules_.tree_nodes));
    while (!budget.is_over()) {
        if (sweep_ == 0) begin_round();
        const double sweeps = rules_.round_sweeps * std::pow(rules_.round_growth, round_);
        for (; sweep_ < sweeps; ++sweep_) {
            const double share = double(sweep_) / sweeps;
            const bool is_cold = sweep_ + cold_sweeps >= sweeps;
            const double temperature =
                is_cold ? 0.0 : hot_ * std::pow(rules_.last_temperature, share);
            bool has_time = sweep_nodes(temperature, budget);
            for (std::size_t tree = 0; tree < trees && has_time; ++tree) {
                has_time = move_tree(temperature, budget);
            }
            ++sweeps_without_gain_;
            const bool is_over = room_.least() < 0;
            if (!is_over && cost_ < best_cost_ - 0.5 && offer()) sweeps_without_gain_ = 0;
            // At the end of a round all is to fit.
            const double growth = is_cold ? rules_.weight_growth : rules_.over_growth;
            over_weight_ *= is_over ? growth : 1 / rules_.over_growth;
            if (!has_time) {
                ++sweep_;
                return;
            }
        }
        end_round();
    }
}

template class LocalSearch<std::int64_t>;
template class LocalSearch<Wide>;

}  // namespace jettison::sharding
