// Simulated annealing over the recomputations of a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "remat_state.hpp"

namespace jettison {

// Rounds of annealing, each several times as long as the one before. What a round minimizes is the
// time plus a price on memory above the limit, and the price is adapted so that a third of the
// states or so fit. As long as nothing fits, a round that minimizes the memory above the limit
// alone comes between two of them, and ends with the first state that fits.
class RematAnneal {
public:
    // `floor_ns`: no schedule is faster, and one that is as fast ends the search.
    RematAnneal(RecomputedGraph graph, std::int64_t memory_bytes, std::int64_t floor_ns,
                std::int32_t rounds, std::uint64_t seed);

    // The state keeps a reference to the graph that stays with this object.
    RematAnneal(const RematAnneal&) = delete;
    RematAnneal& operator=(const RematAnneal&) = delete;

    // Abandons the round and begins anew with the shortest one, from a staged schedule, given by
    // the nodes that it computes in order. It need not fit, and counts as any other state if it
    // does. Throws std::invalid_argument if it is no staged schedule of the graph.
    void start_from(const std::vector<std::int32_t>& sequence);

    std::int64_t floor_ns() const { return floor_ns_; }
    void set_floor_ns(std::int64_t floor_ns) { floor_ns_ = floor_ns; }

    // Tries so many moves, or fewer if the search ends. `poll` may throw between two moves.
    void run(std::int64_t moves, const std::function<void()>& poll);

    bool is_over() const { return round_ >= rounds_ || (has_best_ && best_ns_ <= floor_ns_); }
    bool has_best() const { return has_best_; }
    std::int64_t best_ns() const { return best_ns_; }
    // The nodes computed by the best schedule, in order; empty if there is none.
    std::vector<std::int32_t> best_sequence() const;
    std::int64_t tried() const { return tried_; }

private:
    enum class Goal { time, memory };

    struct Change {
        Recomputation what;
        bool is_added;
    };

    void begin_round();
    void end_round();
    void restore(const std::vector<Recomputation>& wanted);
    void cool();
    void step();
    double energy() const;
    bool is_accepted(double growth);
    void record();

    void add(Recomputation one);
    void remove(Recomputation one);
    void undo();

    // Each changes the state, or leaves it as it is where the draw makes no sense.
    void evict();
    void drop();
    void shift();
    void remove_with_unread(Recomputation one);
    void plan(Recomputation first);
    bool is_unread(std::int32_t node, std::int32_t stage) const;

    std::int64_t below(std::int64_t number);
    double share();
    Recomputation random_recomputation();

    RecomputedGraph graph_;
    std::int64_t memory_bytes_;
    std::int64_t floor_ns_;
    std::int32_t rounds_;
    std::mt19937_64 random_;
    RematState state_;

    double mean_ns_;
    double mean_bytes_;
    int most_halvings_ = 0;

    Goal goal_ = Goal::time;
    std::int32_t round_ = 0;
    std::int64_t moves_ = 0;
    std::int64_t moves_in_round_ = 0;
    double temperature_ = 0;
    double cooling_ = 1;
    double time_weight_ = 1;
    double price_ = 0;
    double energy_ = 0;
    std::int64_t fitting_ = 0;

    std::int64_t tried_ = 0;
    bool has_best_ = false;
    std::int64_t best_ns_ = 0;
    std::vector<Recomputation> best_;
    // Whether the state is a start that was given and no round has begun from it yet.
    bool is_started_ = false;

    std::vector<Change> changes_;
    std::vector<Recomputation> planned_;
    std::vector<Recomputation> stack_;
    std::vector<std::uint8_t> is_planned_;
};

}  // namespace jettison
