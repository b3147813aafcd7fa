// Lower bound on the cost of a strategy graph by messages (TRW-S) and multipliers of memory.
//
// `formulations/sharding/ilp.py` has the mathematics. Messages are passed in floating point, and
// the best ones are evaluated in integers.
#pragma once

#include <limits>
#include <unordered_map>

#include "sharding/budget.hpp"
#include "sharding/strategy_graph.hpp"

namespace jettison::sharding {

// Lengths of the steps that multipliers take.
struct StepRules {
    // Passes before the first step.
    std::int32_t first_passes;
    // Passes without a larger bound after which steps become shorter, by this factor.
    std::int32_t patience;
    double shrink;
    double first_step;
    double least_step;
    // The gap that steps aim to close is at most this share of the bound.
    double target_beyond;
    // Share of the step before that the next one keeps.
    double momentum;
};

// Messages, multipliers and lengths of steps that hold for another graph of the same instance.
struct Kept {
    std::unordered_map<Index, double> multipliers;
    // By the two nodes of an edge, lower first: labels and messages at both ends.
    struct Ends {
        std::vector<Index> labels[2];
        std::vector<double> messages[2];
    };
    std::unordered_map<std::uint64_t, Ends> messages;
    double step = 1;
};

struct Proof {
    // The bound without the offset of the graph, in units of 2^-bits.
    Wide bound = 0;
    int bits = 0;
};

template <typename Number>
class MessageBound {
public:
    // The graph is consistent, and does not change while the bound is used, but by `tighten`.
    MessageBound(const StrategyGraph<Number>& graph, const StepRules& rules);

    // Begins from messages and multipliers of an earlier graph.
    void resume(const Kept& kept);
    Kept kept() const;

    // Passes forth and back, with a step of the multipliers after each; returns how many were made.
    // `upper` is a cost of which a choice is known, without the offset.
    std::int32_t ascend(double upper, std::int32_t passes, Budget& budget);
    // The bound of the best messages, without the offset.
    double value() const { return best_value_; }
    // A choice rounded node by node from the last messages: place of the strategy of each node.
    std::vector<Index> rounded() const;
    // By row, those of the best bound.
    const std::vector<double>& multipliers() const { return best_multipliers_; }
    // Takes multipliers by row and messages by edge that is left: those at its first end, then
    // those at its second.
    void adopt(std::vector<double> multipliers, const std::vector<double>& messages);
    std::size_t message_count() const { return messages_.size(); }
    // Evaluates the best messages in integers.
    Proof prove();
    // Forbids strategies and pairs that are in no choice below `below`, by what was proved last.
    bool tighten(StrategyGraph<Number>& graph, Wide below) const;

private:
    struct End {
        std::size_t node;
        // Where its message begins, and its strategies.
        std::size_t message;
        std::size_t size;
    };
    struct Link {
        Index edge;
        // The earlier node and the later one; tables are by strategy of the earlier one, and
        // turned.
        End ends[2];
        std::size_t table;
        bool is_turned;
    };
    struct Place {
        Index node;
        std::size_t begin;
        std::size_t size;
        std::vector<std::size_t> earlier;
        std::vector<std::size_t> later;
    };
    // In units of 2^-bits: by how much strategies exceed the least of their nodes, the messages,
    // and the least of each link.
    struct Above {
        std::vector<Number> nodes;
        std::vector<Number> messages;
        std::vector<Number> link_least;
    };

    void weigh();
    bool pass(bool is_forward, Budget& budget);
    void take_step(double value, double upper);
    void sum(const Place& place, const std::vector<double>& messages, double* total) const;
    std::vector<double> split_messages();
    // By strategy of all nodes what the multipliers add, rounded down; adds their part of the
    // bound.
    std::vector<Wide> weights_in_integers(int bits, Wide& bound) const;
    Number in_edge(const Link& link, std::size_t a, std::size_t b) const;

    const StrategyGraph<Number>& graph_;
    StepRules rules_;
    std::vector<Place> places_;
    std::vector<Link> links_;
    std::vector<std::size_t> place_of_;
    std::vector<double> tables_;
    std::vector<double> costs_;
    std::vector<double> weighted_;
    std::vector<double> messages_;
    std::vector<double> multipliers_;
    std::vector<double> last_step_;
    std::vector<double> capacity_;
    std::vector<double> best_messages_;
    std::vector<double> best_multipliers_;
    // Whether the best messages are those of the bound, with nothing left to share out.
    bool best_is_split_ = false;
    double best_value_ = -std::numeric_limits<double>::infinity();
    double pass_value_ = 0;
    double step_;
    std::int32_t without_gain_ = 0;
    std::int64_t passes_ = 0;
    double pairs_ = 0;
    Above above_;
    Proof proof_;
};

}  // namespace jettison::sharding
