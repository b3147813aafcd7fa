// Local search over labellings: one group of nodes with equal places at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "remat_sharding/edge_minima.hpp"
#include "remat_sharding/message_graph.hpp"

namespace jettison {

class LabellingDescent {
public:
    // `price` is that of a byte by term and kind. Refers to the graph and the costs.
    LabellingDescent(const MessageGraph& graph, const std::vector<EdgeCosts<double>>& costs,
                     std::vector<std::vector<double>> price);

    // From states of the nodes, which may be forbidden together, moves that lower costs with the
    // price of memory, until there is none or so many sweeps were made.
    void begin(const std::vector<std::int32_t>& states);
    void descend(std::int32_t sweeps);

    // Moves that lower costs alone and keep all rows. Does nothing unless all are kept, and all
    // pairs allowed.
    void descend_within(std::int32_t sweeps);

    const std::vector<std::int32_t>& states() const { return state_; }

private:
    void find_groups();
    // The cost of a state of a node with those of the others; forbidden pairs cost `penalty`.
    double cost_of(std::int32_t node, std::int32_t state, bool with_memory) const;
    double cost_of_group(const std::vector<std::int32_t>& group, bool with_memory) const;
    // Moves a group to a place, each node to its best kind there; whether all have one.
    bool move_to(const std::vector<std::int32_t>& group, std::int32_t place);
    bool move_group(const std::vector<std::int32_t>& group);
    bool move_group_within(const std::vector<std::int32_t>& group);
    bool fits() const;
    void add_memory(std::int32_t node, std::int32_t state, std::int64_t sign);
    void set_state(std::int32_t node, std::int32_t state);

    const MessageGraph& graph_;
    const std::vector<EdgeCosts<double>>& costs_;
    std::vector<std::vector<double>> price_;
    std::vector<std::vector<std::int32_t>> groups_;
    std::vector<std::int32_t> group_of_;
    // By node and place, the first of its states with it; one more at the end.
    std::vector<std::vector<std::int32_t>> first_at_;
    std::vector<std::int32_t> state_;
    // By row, what is taken less what was before it.
    std::vector<std::int64_t> steps_;
};

}  // namespace jettison
