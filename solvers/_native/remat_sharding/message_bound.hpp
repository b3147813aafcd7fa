// Search for multipliers of the rows of memory with messages over the states, and proofs of bounds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "remat_sharding/message_graph.hpp"
#include "remat_sharding/message_passes.hpp"

namespace jettison {

// How the multipliers move.
struct AscentRules {
    // Passes before they move at all.
    std::int32_t first_passes = 20;
    // Passes without a better value after which steps become smaller.
    std::int32_t patience = 20;
    double shrink = 0.7;
    // Least size of a step after states were removed, and the size after `least_step`; the first
    // one has size 1.
    double step_after_removals = 0.5;
    double least_step = 0.01;
    // Without a known labelling, the share above the best value that steps aim at.
    double aim = 0.05;
    // Sweeps of local search from a labelling, at most, with prices of memory and within it.
    std::int32_t sweeps = 10;
};

struct Ascent {
    double value = 0.0;
    std::int32_t passes = 0;
};

struct Proved {
    // No labelling that is better than `upper` costs less.
    std::int64_t bound = 0;
    // States that no labelling cheaper than `upper` has, which were removed.
    std::int64_t removed = 0;
    bool is_empty = false;
};

struct Labelling {
    // Place and kind of each node; empty where none was found.
    std::vector<std::int32_t> place;
    std::vector<std::int32_t> kind;
    std::int64_t cost = 0;
    // The most by which a row is exceeded.
    std::int64_t excess = 0;
};

class MessageBound {
public:
    MessageBound(MessageGraph graph, AscentRules rules);
    // The passes refer to the graph in it.
    MessageBound(const MessageBound&) = delete;
    MessageBound& operator=(const MessageBound&) = delete;

    const MessageGraph& graph() const { return graph_; }
    const std::vector<double>& multipliers() const { return best_; }
    void set_multipliers(const std::vector<double>& values);

    // Removes states that go with none of some other node; whether every node has one left. Comes
    // before everything else, which has to have states.
    bool propagate() { return graph_.has_states() && graph_.propagate(); }

    // Up to `passes` passes forward and back, the multipliers moving after each, towards `upper` if
    // there is one. Calls `watch` after each; ends if it returns false.
    Ascent ascend(std::optional<double> upper, std::int32_t passes,
                  const std::function<bool()>& watch);

    // A bound in integers from the best multipliers and their messages. With `upper`,
    // which must be the cost of a labelling or above, states are removed.
    Proved prove(std::optional<std::int64_t> upper);

    // The labelling node by node in order, with the multipliers times `factor`, after local search.
    Labelling round(double factor);
    // The same from the best multipliers and their messages.
    Labelling round_at_best(double factor);

    // The cost of a labelling, and by how much it exceeds rows; cost -1 if it is forbidden.
    Labelling judged(std::vector<std::int32_t> place, std::vector<std::int32_t> kind) const;

private:
    // The price of the largest value of all, were it in memory in every row.
    double dearest_byte_price() const;
    void keep_messages();
    // Goes back to the best multipliers and their messages.
    void restore();
    void move(double upper, double value, const std::vector<double>& used);

    MessageGraph graph_;
    AscentRules rules_;
    MessagePasses<double> passes_;
    std::vector<double> now_;
    std::vector<double> best_;
    std::vector<double> direction_;
    // Messages ahead with which the best value was found.
    std::vector<std::vector<double>> best_forward_;
    double best_value_;
    double step_ = 1.0;
    std::int32_t idle_ = 0;
    std::int32_t done_ = 0;
};

}  // namespace jettison
