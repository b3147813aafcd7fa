// Random changes of a staged schedule, each of which can be taken back.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "remat_graph/state.hpp"

namespace jettison {

// The recomputations of a staged schedule that is given by the nodes it computes, in order. Between
// two first computations, which follow the order of the graph, come recomputations of earlier
// nodes, ascending; none after the last one. Throws std::invalid_argument if it is something else,
// or computes a node again that is computed once.
std::vector<Recomputation> recomputations_of(const std::vector<std::int32_t>& sequence,
                                             const RecomputedGraph& graph);

// The nodes that are computed with these recomputations, in order.
std::vector<std::int32_t> sequence_of(const RecomputedGraph& graph,
                                      const std::vector<Recomputation>& recomputations);

// The mean of durations or of sizes; a tiny number if all are zero.
double mean_amount(const std::vector<std::int64_t>& amounts);

class RematMoves {
public:
    // The graph has to outlive this.
    RematMoves(const RecomputedGraph& graph, std::int64_t memory_bytes, std::uint64_t seed);

    const RematState& state() const { return state_; }
    void set_memory_bytes(std::int64_t memory_bytes) { state_.set_memory_bytes(memory_bytes); }
    // For owners of the graph who change it: as in `RematState`. No change that can be taken back.
    void resize(std::int32_t node, std::int64_t by_bytes) { state_.resize(node, by_bytes); }
    void lengthen(std::int32_t node, std::int64_t by_ns) { state_.lengthen(node, by_ns); }

    // What a search minimizes: time and the bytes of excess, each with its weight.
    void set_weights(double per_ns, double per_byte);
    double energy() const;
    // No state of a larger energy is wanted. What leads there is left out where that is easy to
    // see.
    void set_most_energy(double most_energy) { most_energy_ = most_energy; }

    // Makes these the recomputations.
    void restore(const std::vector<Recomputation>& wanted);
    // Removes recomputations that are not read.
    void drop_unread();

    // Each changes the state, or leaves it unchanged where the drawn move is impossible.
    void evict();
    void drop();
    void shift();

    // Makes one or two moves that suit a state above the limit; a number below 100 selects them.
    void towards_less_memory(std::int64_t percent);

    bool has_changed() const { return !changes_.empty(); }
    void accept() { changes_.clear(); }
    // Takes back all changes since the last ones that were accepted.
    void undo();

    // A random number from 0 on, in [0, 1).
    double share();
    std::int64_t below(std::int64_t number);

private:
    struct Change {
        Recomputation what;
        bool is_added;
    };

    void add(Recomputation one);
    void remove(Recomputation one);
    void remove_with_unread(Recomputation one);
    void plan(Recomputation first);
    bool is_result(std::int32_t node) const;
    // The first stage of the run to which a stage belongs; recomputations come before it.
    std::int32_t begin_of(std::int32_t stage) const;
    // The results of an operator that are recomputed in a stage, into `run_`.
    void find_run(std::int32_t run, std::int32_t stage);
    void remove_run(Recomputation one);
    bool is_unread(std::int32_t node, std::int32_t stage) const;
    Recomputation random_recomputation();

    const RecomputedGraph& graph_;
    std::mt19937_64 random_;
    RematState state_;
    int most_halvings_ = 0;
    double per_ns_ = 1;
    double per_excess_ = 1;
    double most_energy_ = 0;
    std::vector<Change> changes_;
    std::vector<Recomputation> planned_;
    std::vector<Recomputation> stack_;
    std::vector<Recomputation> run_;
    std::vector<std::uint8_t> is_planned_;
};

}  // namespace jettison
