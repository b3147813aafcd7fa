// Simulated annealing over strategies and recomputations together.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "remat_sharding/joint_moves.hpp"

namespace jettison {

// Rounds as in `RematAnneal`: what a round minimizes is the time plus a price on memory above the
// limit, which is adapted so that about a third of the states fit.
class JointAnneal {
public:
    // `floor_ns`: no plan is faster, and one that is as fast ends the search.
    JointAnneal(JointGraph graph, std::vector<std::int32_t> places, std::int64_t memory_bytes,
                std::int64_t floor_ns, std::int32_t rounds, std::uint64_t seed);

    // Begins the first round again, from places that are allowed together and a staged schedule,
    // given by what it computes in order. It need not fit. Throws std::invalid_argument if it is no
    // staged schedule, or computes again what is computed once.
    void start_from(const std::vector<std::int32_t>& places,
                    const std::vector<std::int32_t>& sequence);

    void set_floor_ns(std::int64_t floor_ns) { floor_ns_ = floor_ns; }

    // Tries a number of moves, or fewer if the search ends. `poll` may throw between two moves.
    void run(std::int64_t moves, const std::function<void()>& poll);

    bool is_over() const { return round_ >= rounds_ || (has_best_ && best_ns_ <= floor_ns_); }
    bool has_best() const { return has_best_; }
    std::int64_t best_ns() const { return best_ns_; }
    const std::vector<std::int32_t>& best_places() const { return best_places_; }
    // What the best plan computes, in order; empty if there is none.
    std::vector<std::int32_t> best_sequence() const;
    std::int64_t tried() const { return tried_; }
    std::int32_t rounds_ended() const { return round_; }

private:
    void begin_round();
    void cool();
    void step();
    void record();

    std::int64_t floor_ns_;
    std::int32_t rounds_;
    JointMoves moves_;
    double mean_ns_ = 1;
    double price_ = 1;

    std::int32_t round_ = 0;
    std::int64_t tried_in_round_ = 0;
    std::int64_t most_in_round_ = 0;
    double temperature_ = 0;
    double cooling_ = 1;
    double energy_ = 0;
    std::int64_t fitting_ = 0;

    std::int64_t tried_ = 0;
    bool has_best_ = false;
    bool is_started_ = true;
    std::int64_t best_ns_ = 0;
    std::vector<Recomputation> best_;
    std::vector<std::int32_t> best_places_;
};

}  // namespace jettison
