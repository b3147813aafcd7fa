// Changes of a sharded plan, of its strategies and of its recomputations, that can be taken back.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "remat_graph/moves.hpp"

namespace jettison {

// Resharding between an operator and its reader, by place of the one and place of the other; -1
// forbids a pair.
struct JointTable {
    std::int32_t source = 0;
    std::int32_t reader = 0;
    std::vector<std::int64_t> cost_ns;
};

// Operators in a topological order, whose choices have places (strategies).
struct JointGraph {
    // Inputs, what is kept and what is computed once. Durations and sizes are those of the places.
    RecomputedGraph graph;
    // By operator its choice, and by choice the number of places.
    std::vector<std::int32_t> choice;
    std::vector<std::int32_t> places;
    // By operator and place. A place is forbidden for all operators of a choice if its cost is -1.
    std::vector<std::vector<std::int64_t>> cost_ns;
    std::vector<std::vector<std::int64_t>> bytes;
    std::vector<JointTable> tables;
};

class JointMoves {
public:
    // Begins with these places, which have to be allowed together, and every operator once.
    JointMoves(JointGraph graph, std::vector<std::int32_t> places, std::int64_t memory_bytes,
               std::uint64_t seed);
    JointMoves(const JointMoves&) = delete;
    JointMoves& operator=(const JointMoves&) = delete;

    RematMoves& recomputations() { return moves_; }
    const RematState& state() const { return moves_.state(); }
    const RecomputedGraph& graph() const { return joint_.graph; }
    const std::vector<std::int32_t>& places() const { return place_; }
    // Whether some choice has more than one place that is allowed.
    bool has_choices() const { return !free_.empty(); }
    bool is_allowed() const { return forbidden_ == 0; }

    // Makes these the places and the recomputations.
    void restore(const std::vector<std::int32_t>& places,
                 const std::vector<Recomputation>& recomputations);

    // Moves a random choice to a random place, and with it up to 2^r - 1 of the choices around it,
    // each to the place that costs least beside the others; of those that take no more memory, or
    // of all. The pairs may be forbidden then.
    void choose();
    // Takes back all changes of places since the last ones that were accepted, which have to be the
    // earliest changes: those of recomputations are taken back before.
    void undo();
    void accept();
    bool has_changed() const { return !changes_.empty() || moves_.has_changed(); }

private:
    struct Change {
        std::int32_t choice;
        std::int32_t before;
    };

    void put(std::int32_t choice, std::int32_t place);
    void set_duration(std::int32_t node);
    std::int32_t best_place(std::int32_t choice, bool is_small) const;
    std::int64_t cost_of(std::int32_t choice, std::int32_t place) const;
    std::int64_t bytes_of(std::int32_t choice, std::int32_t place) const;

    JointGraph joint_;
    std::vector<std::vector<std::int32_t>> members_;
    std::vector<std::vector<std::int32_t>> allowed_;
    std::vector<std::int32_t> free_;
    // By choice, the tables at an end of it; by operator, those that it reads by.
    std::vector<std::vector<std::int32_t>> tables_at_;
    std::vector<std::vector<std::int32_t>> tables_into_;
    std::vector<std::int32_t> place_;
    std::int32_t forbidden_ = 0;
    RematMoves moves_;
    std::vector<Change> changes_;
    std::deque<std::int32_t> queue_;
    std::vector<std::uint8_t> is_seen_;
};

}  // namespace jettison
