// Local search for a choice of strategies: a greedy choice, its repair, and annealing by moves of
// single nodes and of trees of nodes.
//
// `solvers/sharding/heuristics/local_search.py` says what it does. It looks at the tables of the
// graph as they are and copies none, so that it works on graphs that were not reduced.
#pragma once

#include <random>

#include "sharding/budget.hpp"
#include "sharding/room.hpp"
#include "sharding/strategy_graph.hpp"

namespace jettison::sharding {

struct SearchRules {
    // Sweeps of best moves, at most, until a choice breaks no rule.
    std::int32_t repair_sweeps;
    // Factor by which the weight of a broken rule grows after a sweep.
    double weight_growth;
    // The same after a sweep of annealing, for a byte above the memory.
    double over_growth;
    // Sweeps of the first round, and the factor by which later ones are longer.
    std::int32_t round_sweeps;
    double round_growth;
    // Temperature at which a round of the hottest scale begins, as a share of the cost of a node,
    // and share of it to which a round falls.
    double first_temperature;
    double last_temperature;
    // Nodes of a tree that move together.
    std::int32_t tree_nodes;
};

template <typename Number>
class LocalSearch {
public:
    // The graph does not change meanwhile.
    LocalSearch(const StrategyGraph<Number>& graph, std::uint64_t seed, const SearchRules& rules);

    // Prices of memory by row, which guide the moves.
    void set_prices(const std::vector<double>& prices);
    // Chooses node by node the cheapest strategy beside those chosen, with the least cost at edges
    // to nodes that are still open.
    void begin_greedy(Budget& budget);
    void begin_from(std::vector<Index> chosen);
    // Moves that lead to a choice that breaks no rule; tells whether one is reached.
    bool repair(Budget& budget);
    // Anneals until the budget is over; begins from a choice that breaks no rule.
    void anneal(Budget& budget);

    // Sweeps of annealing since the best choice was found.
    std::int64_t sweeps_without_gain() const { return sweeps_without_gain_; }
    const StrategyGraph<Number>& graph() const { return graph_; }
    bool has_best() const { return !best_.empty() || nodes_.empty(); }
    double best_cost() const { return best_cost_; }
    const std::vector<Index>& best() const { return best_; }
    const std::vector<Index>& chosen() const { return chosen_; }

private:
    // A node of a tree that moves, its parent in it, and where its numbers begin.
    struct Member {
        Index node;
        std::int32_t parent;
        Index edge;
        std::size_t begin;
    };

    double random() { return double(random_() >> 11) * 0x1p-53; }
    double noise(double temperature);
    void count_room();
    // Costs of the strategies of a node beside the present ones of its neighbours, but for `but`.
    void find_energy(Index node, const Mask* but);
    double pairs_around(Index node) const;
    void move(Index node, Index strategy);
    bool spend(double pairs, Budget& budget);
    bool sweep_to_repair(Budget& budget, bool& is_valid);
    bool sweep_nodes(double temperature, Budget& budget);
    bool move_tree(double temperature, Budget& budget);
    void grow_tree(Index root);
    void begin_round();
    void end_round();
    // Tells whether the choice breaks no rule, and keeps it if it is the best such.
    bool offer();
    double cost_of_choice() const;
    double typical_difference();
    // The largest usage of a part, on average.
    double typical_usage() const;

    const StrategyGraph<Number>& graph_;
    SearchRules rules_;
    std::mt19937_64 random_;
    std::vector<Index> nodes_;
    std::vector<Index> chosen_;
    Room room_;
    // By node and strategy: costs and prices of the memory used.
    std::vector<std::vector<double>> price_;
    std::vector<double> energy_;
    std::vector<double> row_weight_;
    double forbidden_weight_ = 1;
    double cost_ = 0;
    double best_cost_ = 0;
    std::vector<Index> best_;
    std::int32_t round_ = 0;
    std::int32_t sweep_ = 0;
    std::int64_t sweeps_without_gain_ = 0;
    // Rows looked at since this was last counted as work.
    double row_work_ = 0;
    // Of the present round: its scale of temperatures, its first one, and the best cost before.
    std::size_t scale_ = 0;
    double hot_ = 0;
    double round_cost_ = 0;
    std::array<double, 6> scores_{1, 1, 1, 1, 1, 1};
    double price_share_ = 1;
    // In a soft round a choice may exceed the memory, at this weight for every byte.
    bool is_soft_ = false;
    double over_weight_ = 0;
    std::vector<double> over_;
    // Of `move_tree`.
    std::vector<Member> tree_;
    std::vector<Index> links_to_tree_;
    Mask in_tree_;
    std::vector<double> message_;
    std::vector<Index> answer_;
};

}  // namespace jettison::sharding
