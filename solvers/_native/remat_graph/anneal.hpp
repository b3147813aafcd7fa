// Simulated annealing over the recomputations of a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "remat_graph/moves.hpp"
#include "remat_graph/peak.hpp"

namespace jettison {

// Rounds of annealing, each several times as long as the one before. What a round minimizes is the
// time plus a price on memory above the limit, and the price is adapted so that about a third of
// the states fit. If a round finds no state that fits, a search for the least peak takes over until
// one does.
class RematAnneal {
public:
    // `floor_ns`: no schedule is faster, and one that is as fast ends the search.
    RematAnneal(RecomputedGraph graph, std::int64_t memory_bytes, std::int64_t floor_ns,
                std::int32_t rounds, std::uint64_t seed);

    // Ends the round and begins again with the shortest one, from a staged schedule, given by
    // the nodes that it computes in order. It need not fit, and counts as any other state if it
    // does. Throws std::invalid_argument if it is no staged schedule of the graph.
    void start_from(const std::vector<std::int32_t>& sequence);

    std::int64_t floor_ns() const { return floor_ns_; }
    void set_floor_ns(std::int64_t floor_ns) { floor_ns_ = floor_ns; }

    // Tries a number of moves, or fewer if the search ends. `poll` may throw between two moves.
    void run(std::int64_t moves, const std::function<void()>& poll);

    bool is_over() const { return round_ >= rounds_ || (has_best_ && best_ns_ <= floor_ns_); }
    bool has_best() const { return has_best_; }
    std::int64_t best_ns() const { return best_ns_; }
    // The nodes computed by the best schedule, in order; empty if there is none.
    std::vector<std::int32_t> best_sequence() const;
    std::int64_t tried() const { return tried_; }
    // Rounds that have ended, of all or since the last start that was given.
    std::int32_t rounds_ended() const { return round_; }

private:
    void begin_round();
    void end_round();
    void seek_memory();
    void cool();
    void step();
    void record();

    std::shared_ptr<const RecomputedGraph> graph_;
    std::int64_t memory_bytes_;
    std::int64_t floor_ns_;
    std::int32_t rounds_;
    std::uint64_t seed_;
    RematMoves moves_;
    // Exists while no schedule is known that fits.
    std::optional<RematPeak> peak_;

    double mean_ns_;

    std::int32_t round_ = 0;
    std::int64_t tried_in_round_ = 0;
    std::int64_t most_in_round_ = 0;
    double temperature_ = 0;
    double cooling_ = 1;
    double price_;
    double energy_ = 0;
    std::int64_t fitting_ = 0;

    std::int64_t tried_ = 0;
    bool has_best_ = false;
    std::int64_t best_ns_ = 0;
    std::vector<Recomputation> best_;
    // Whether the state is a given start from which no round has begun yet.
    bool is_started_ = false;
};

}  // namespace jettison
