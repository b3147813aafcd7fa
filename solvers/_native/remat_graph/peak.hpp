// Simulated annealing towards the least peak of a staged schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "remat_graph/moves.hpp"

namespace jettison {

// Step by step towards less memory. An attempt anneals the memory above a limit that lies one step
// below the least peak known. The first state that fits ends it, and the next attempt continues
// from there; a failed attempt halves the step, and the next attempt is longer.
class RematPeak {
public:
    // A peak of `stop_at_bytes` or less ends the search.
    RematPeak(std::shared_ptr<const RecomputedGraph> graph, std::int64_t stop_at_bytes,
              std::uint64_t seed);

    // Tries a number of moves, or fewer if the search ends. `poll` may throw between two moves.
    void run(std::int64_t moves, const std::function<void()>& poll);
    // Tries one move.
    void step();

    bool is_over() const { return best_bytes_ <= stop_at_bytes_ || step_ > last_step; }
    std::int64_t best_bytes() const { return best_bytes_; }
    const std::vector<Recomputation>& best() const { return best_; }
    // The nodes computed by the schedule with the least peak known, in order.
    std::vector<std::int32_t> best_sequence() const { return sequence_of(*graph_, best_); }
    std::int64_t tried() const { return tried_; }

private:
    // Number of halvings of the first step after which the step is a byte.
    static constexpr int last_step = 7;

    void begin_attempt();
    void move();

    std::shared_ptr<const RecomputedGraph> graph_;
    std::int64_t stop_at_bytes_;
    RematMoves moves_;
    double mean_bytes_;

    int step_ = 0;
    // Whether the state is the best known.
    bool is_fresh_ = true;
    std::int64_t moves_left_ = 0;
    double temperature_ = 0;
    double cooling_ = 1;
    double energy_ = 0;

    std::int64_t tried_ = 0;
    std::int64_t best_bytes_ = 0;
    std::vector<Recomputation> best_;
};

}  // namespace jettison
