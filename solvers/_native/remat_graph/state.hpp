// A staged schedule of a graph as a set of recomputations, changed one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "remat_graph/profile.hpp"

namespace jettison {

// Nodes in a topological order, with their inputs and users in rows of ascending positions.
struct RecomputedGraph {
    std::int32_t nodes = 0;
    std::vector<std::int64_t> duration_ns;
    std::vector<std::int64_t> output_bytes;
    std::vector<std::int64_t> workspace_bytes;
    std::vector<std::uint8_t> keep;
    // 0 for nodes that are computed once: there is no recomputation of them.
    std::vector<std::uint8_t> again;
    // The operator of each result of several, and of that operator, which has no value, itself; -1
    // for other nodes. Results follow their operator; nothing is recomputed in their stages, and
    // none of them without the operator.
    std::vector<std::int32_t> run_of;
    std::vector<std::int32_t> input_start;
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> user_start;
    std::vector<std::int32_t> users;
};

// Fills the users from the inputs. Throws std::invalid_argument if an input does not come before
// its node.
void find_users(RecomputedGraph& graph);

// One computation of a node in the stage of another, which is computed there for the first time.
struct Recomputation {
    std::int32_t node;
    std::int32_t stage;
};

// Every set of recomputations (node, stage), node < stage, is a schedule: a value lives from its
// computation to its last read before its node is computed again, the last one of a kept node to
// the end. What changes is the time and the memory of each computation.
class RematState {
public:
    static constexpr std::size_t most_computations = RematProfile::most_computations;

    // The sizes have to add up to less than 2^60.
    RematState(const RecomputedGraph& graph, std::int64_t memory_bytes);

    // Changes the limit. Time linear in the number of computations.
    void set_memory_bytes(std::int64_t memory_bytes) { profile_.set_limit_bytes(memory_bytes); }

    // Puts a recomputation in, or takes one out; each is the exact inverse of the other. Time
    // linear in the number of stages while the values concerned live, vectorized, and in that of
    // computations where they live in a part of a stage or in one above the limit.
    void add(Recomputation one);
    void remove(Recomputation one);

    // A value takes so many bytes more, and each computation of a node so much more time. Sizes and
    // durations of the graph are not looked at: the caller changes them. Time as for `add`.
    void resize(std::int32_t node, std::int64_t by_bytes);
    void lengthen(std::int32_t node, std::int64_t by_ns);
    // How often a node is computed.
    std::int64_t computations_of(std::int32_t node) const {
        return static_cast<std::int64_t>(computed_[static_cast<std::size_t>(node)].size());
    }

    // Upper bound on the excess that falls because a value no longer waits for this recomputation.
    std::int64_t relief(Recomputation one) const;
    // Lower bound on the excess that a recomputation adds in its own moment if a value of a number
    // of bytes leaves memory at the same time, and none is added.
    std::int64_t own_excess(Recomputation one, std::int64_t gone_bytes) const;

    std::int64_t time_ns() const { return time_ns_; }
    // Sum over all computations of what they use above the limit, each rounded up to a multiple of
    // the unit, in units. The unit is a byte if the sizes add up to less than 2^42 bytes.
    std::int64_t excess() const { return profile_.excess(); }
    std::int64_t unit_bytes() const { return profile_.unit_bytes(); }
    const std::vector<Recomputation>& recomputations() const { return recomputations_; }
    bool is_full() const { return profile_.computations() >= most_computations; }
    std::vector<std::int32_t> sequence() const { return profile_.sequence(); }
    std::int64_t peak_bytes() const { return profile_.peak_bytes(); }
    // The first computation above the limit from this moment on, around the end if need be. The
    // excess must not be zero.
    Moment above_limit(Moment from) const { return profile_.above_limit(from); }

    // A computation of a node: its stage, and when its value is read for the last time: the moment
    // itself if never, a moment after the last stage if the value stays to the end.
    struct Computation {
        std::int32_t stage;
        std::int32_t place;  // among the recomputations; -1 for the first computation
        Moment last_read;
    };

    // Of all computations of a node the last one in this stage or before. It has to exist.
    const Computation& computed_by(std::int32_t node, std::int32_t stage) const {
        return computed_[static_cast<std::size_t>(node)][covering(node, stage)];
    }
    // The one whose value is in memory, or was last, at this moment; null before the first.
    const Computation* computed_at(std::int32_t node, Moment when) const;
    // The stage of the next read of a node's value after this moment; `nodes` if there is none.
    std::int32_t next_read_stage(std::int32_t node, Moment after) const;

private:
    std::size_t covering(std::int32_t node, std::int32_t stage) const;
    std::int64_t crossing_bytes(Moment when) const;
    Moment last_read(std::int32_t node, std::int32_t from_stage, std::int32_t before_stage) const;

    const RecomputedGraph& graph_;
    std::int64_t time_ns_ = 0;
    RematProfile profile_;
    std::vector<std::vector<Computation>> computed_;
    std::vector<Recomputation> recomputations_;
};

}  // namespace jettison
