// Reductions of a strategy graph, each of which keeps at least one optimal choice.
//
// `solvers/sharding/presolve/presolved.py` has the mathematics. Each tells whether it changed
// anything, and may stop between two nodes or edges where the budget is over: every step by itself
// keeps an optimal choice.
#pragma once

#include "sharding/budget.hpp"
#include "sharding/strategy_graph.hpp"

namespace jettison::sharding {

template <typename Number>
bool keep_consistent(StrategyGraph<Number>& graph, Budget& budget);
template <typename Number>
bool drop_rows(StrategyGraph<Number>& graph, Budget& budget);
template <typename Number>
bool fold_separable(StrategyGraph<Number>& graph, Budget& budget);
template <typename Number>
bool merge_followers(StrategyGraph<Number>& graph, Budget& budget);
template <typename Number>
bool eliminate_free(StrategyGraph<Number>& graph, Budget& budget, std::int64_t most_more_pairs);
template <typename Number>
bool drop_dominated(StrategyGraph<Number>& graph, Budget& budget);

}  // namespace jettison::sharding
