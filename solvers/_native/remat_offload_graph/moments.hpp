// Search for the fastest schedule of a small graph with a link, over the moments of schedules.
//
// solvers/remat_offload_graph/over_moments.py states what is searched and why nothing is lost.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

namespace jettison {

// Graph of at most 32 nodes; sets of nodes are bits. A copy time of -1 is that of a value that
// stays. Of an operator without a value `results` has the nodes that it makes.
struct LinkedGraph {
    static constexpr std::size_t most_nodes = 32;

    std::size_t nodes = 0;
    std::vector<std::int64_t> duration_ns, output_bytes, workspace_bytes, copy_ns;
    std::vector<std::uint32_t> inputs, users;
    std::uint32_t kept = 0, again = 0, tokens = 0;
};

enum class MomentAction : std::int32_t { wait, compute, offload, prefetch };

// Issued operation: what is freed before it, as bits, what it is, and its node.
struct MomentStep {
    std::uint32_t freed;
    MomentAction action;
    std::int32_t node;
};

class MomentSearch {
public:
    MomentSearch(LinkedGraph graph, std::int64_t memory_bytes);

    // Looks on until the fastest schedule below `upper_ns` is known, there is none, or so many
    // states were looked at; `watch` may throw.
    void run(std::int64_t most_states, std::int64_t upper_ns, const std::function<void()>& watch);

    bool is_over() const { return over_; }
    // The least time of a schedule below the limit, once it is known.
    std::optional<std::int64_t> time_ns() const { return time_ns_; }
    // No schedule is faster than this, or than the limit if that is less.
    std::int64_t bound_ns() const { return bound_ns_; }
    std::int64_t states() const { return static_cast<std::int64_t>(records_.size()); }
    std::vector<MomentStep> steps() const;

private:
    struct State {
        std::uint32_t computed = 0, device = 0, host = 0;
        std::int8_t run = -1, operation = -1, to_host = -1, from_host = -1;
        std::int64_t operation_ns = 0, to_host_ns = 0, from_host_ns = 0;

        bool operator==(const State& other) const;
    };
    struct StateHash {
        std::size_t operator()(const State& state) const;
    };
    struct Record {
        State state;
        std::int64_t passed_ns;
        std::int32_t parent;
        MomentStep step;
    };
    struct Open {
        std::int64_t estimate_ns, passed_ns;
        std::int32_t record;

        // The least estimate comes first, of equal ones what has come furthest.
        bool operator<(const Open& other) const {
            if (estimate_ns != other.estimate_ns) return estimate_ns > other.estimate_ns;
            if (passed_ns != other.passed_ns) return passed_ns < other.passed_ns;
            return record < other.record;
        }
    };

    std::uint32_t dead(std::uint32_t computed) const;
    std::int64_t remaining_ns(const State& state) const;
    std::int64_t used_bytes(const State& state) const;
    std::uint32_t busy(const State& state) const;
    bool is_end(const State& state) const;
    bool may_compute(const State& state, std::size_t node, std::uint32_t dead_nodes) const;
    void expand(std::int32_t parent);
    void wait(std::int32_t parent, const State& state);
    void make_room(std::int32_t parent, const State& state, std::int64_t needed_bytes,
                   std::uint32_t held, const MomentStep& step);
    void choose(std::int32_t parent, const State& state, const MomentStep& step,
                const std::vector<std::size_t>& free, std::size_t from, std::int64_t lacking,
                std::int64_t least_bytes, std::uint32_t dropped);
    void start(std::int32_t parent, State state, MomentStep step, std::uint32_t dropped);
    void push(const State& state, std::int64_t passed_ns, std::int32_t parent,
              const MomentStep& step);

    LinkedGraph graph_;
    std::int64_t memory_bytes_;
    std::int64_t upper_ns_ = 0;
    std::vector<Record> records_;
    std::priority_queue<Open> open_;
    std::unordered_map<State, std::int64_t, StateHash> best_ns_;
    std::optional<std::int64_t> time_ns_;
    std::int64_t bound_ns_ = 0;
    std::int32_t last_ = -1;
    bool over_ = false;
};

}  // namespace jettison
