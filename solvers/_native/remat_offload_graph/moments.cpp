#include "remat_offload_graph/moments.hpp"

#include <algorithm>
#include <limits>

namespace jettison {
namespace {

constexpr std::uint32_t bit(std::size_t node) { return std::uint32_t{1} << node; }

bool has(std::uint32_t set, std::size_t node) { return (set >> node & 1U) != 0; }

// Calls a function with each node of a set, ascending.
template <typename Function>
void for_each(std::uint32_t set, Function function) {
    for (std::size_t node = 0; set != 0; ++node, set >>= 1U) {
        if ((set & 1U) != 0) function(node);
    }
}

std::size_t place(std::int8_t node) { return static_cast<std::size_t>(node); }

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 29U);
}

}  // namespace

bool MomentSearch::State::operator==(const State& other) const {
    return computed == other.computed && device == other.device && host == other.host &&
           run == other.run && operation == other.operation && to_host == other.to_host &&
           from_host == other.from_host && operation_ns == other.operation_ns &&
           to_host_ns == other.to_host_ns && from_host_ns == other.from_host_ns;
}

std::size_t MomentSearch::StateHash::operator()(const State& state) const {
    std::uint64_t hash = mixed(state.computed, state.device);
    hash = mixed(hash, state.host);
    hash = mixed(hash, static_cast<std::uint64_t>(state.run + 1) << 24U |
                           static_cast<std::uint64_t>(state.operation + 1) << 16U |
                           static_cast<std::uint64_t>(state.to_host + 1) << 8U |
                           static_cast<std::uint64_t>(state.from_host + 1));
    hash = mixed(hash, static_cast<std::uint64_t>(state.operation_ns));
    hash = mixed(hash, static_cast<std::uint64_t>(state.to_host_ns));
    return static_cast<std::size_t>(mixed(hash, static_cast<std::uint64_t>(state.from_host_ns)));
}

MomentSearch::MomentSearch(LinkedGraph graph, std::int64_t memory_bytes)
    : graph_(std::move(graph)), memory_bytes_(memory_bytes) {
    upper_ns_ = std::numeric_limits<std::int64_t>::max();
    push(State{}, 0, -1, {0, MomentAction::wait, -1});
}

void MomentSearch::run(std::int64_t most_states, std::int64_t upper_ns,
                       const std::function<void()>& watch) {
    upper_ns_ = std::min(upper_ns_, upper_ns);
    for (std::int64_t looked_at = 0; !over_; ++looked_at) {
        if (open_.empty() || open_.top().estimate_ns >= upper_ns_) {
            bound_ns_ = upper_ns_;
            over_ = true;
            return;
        }
        const Open next = open_.top();
        bound_ns_ = next.estimate_ns;
        if (states() >= most_states) return;
        if ((looked_at & 1023) == 0) watch();
        open_.pop();
        const auto& record = records_[static_cast<std::size_t>(next.record)];
        if (best_ns_.at(record.state) < record.passed_ns) continue;
        if (is_end(record.state)) {
            time_ns_ = record.passed_ns;
            last_ = next.record;
            over_ = true;
            return;
        }
        expand(next.record);
    }
}

std::vector<MomentStep> MomentSearch::steps() const {
    std::vector<MomentStep> found;
    for (std::int32_t at = last_; at >= 0; at = records_[static_cast<std::size_t>(at)].parent) {
        found.push_back(records_[static_cast<std::size_t>(at)].step);
    }
    std::reverse(found.begin(), found.end());
    return found;
}

// What has been computed and is never read again: all that reads it is dead, or has run for good.
std::uint32_t MomentSearch::dead(std::uint32_t computed) const {
    std::uint32_t found = 0;
    for (std::size_t node = graph_.nodes; node-- > 0;) {
        const bool is_unread = (graph_.users[node] & ~(found | (computed & ~graph_.again))) == 0;
        if (has(computed, node) && !has(graph_.kept, node) && is_unread) found |= bit(node);
    }
    return found;
}

std::int64_t MomentSearch::remaining_ns(const State& state) const {
    std::int64_t compute_ns = state.operation >= 0 ? state.operation_ns : 0;
    std::uint32_t missing = ~state.computed;
    if (state.operation >= 0) missing &= ~bit(place(state.operation));
    std::uint32_t read = graph_.kept;
    for (std::size_t node = 0; node < graph_.nodes; ++node) {
        if (!has(missing, node)) continue;
        compute_ns += graph_.duration_ns[node];
        read |= graph_.inputs[node];
    }
    // What cannot be computed again and is on the host alone has to come back.
    std::int64_t copy_ns = state.from_host >= 0 ? state.from_host_ns : 0;
    for_each(read & state.computed & ~state.device & ~graph_.again & ~graph_.tokens,
             [&](std::size_t node) { copy_ns += std::max<std::int64_t>(graph_.copy_ns[node], 0); });
    return std::max(compute_ns, copy_ns);
}

std::int64_t MomentSearch::used_bytes(const State& state) const {
    std::int64_t used = 0;
    for_each(state.device, [&](std::size_t node) { used += graph_.output_bytes[node]; });
    if (state.operation >= 0) {
        const std::size_t node = place(state.operation);
        used += graph_.output_bytes[node] + graph_.workspace_bytes[node];
    }
    return used;
}

std::uint32_t MomentSearch::busy(const State& state) const {
    std::uint32_t found = 0;
    if (state.operation >= 0) found |= graph_.inputs[place(state.operation)];
    if (state.to_host >= 0) found |= bit(place(state.to_host));
    if (state.from_host >= 0) found |= bit(place(state.from_host));
    return found;
}

bool MomentSearch::is_end(const State& state) const {
    const std::uint32_t all = graph_.nodes == 32 ? ~0U : bit(graph_.nodes) - 1;
    const std::uint32_t arriving = state.from_host >= 0 ? bit(place(state.from_host)) : 0;
    return state.computed == all && state.operation < 0 &&
           (graph_.kept & ~(state.device & ~arriving)) == 0;
}

bool MomentSearch::may_compute(const State& state, std::size_t node,
                               std::uint32_t dead_nodes) const {
    const bool is_token = has(graph_.tokens, node);
    if ((has(state.device, node) && !is_token) || has(dead_nodes, node)) return false;
    if (has(state.computed, node) && !has(graph_.again, node)) return false;
    const std::uint32_t arriving = state.from_host >= 0 ? bit(place(state.from_host)) : 0;
    const std::uint32_t sources = graph_.inputs[node];
    if ((sources & ~(state.device & ~arriving)) != 0) return false;
    bool follows = true;
    for_each(sources & graph_.tokens, [&](std::size_t source) {
        follows = follows && state.run >= 0 && source <= place(state.run) &&
                  place(state.run) < node;
    });
    return follows;
}

void MomentSearch::expand(std::int32_t parent) {
    const State state = records_[static_cast<std::size_t>(parent)].state;
    const bool is_busy = state.operation >= 0 || state.to_host >= 0 || state.from_host >= 0;
    if (is_busy) wait(parent, state);
    const bool ends_now = (state.operation >= 0 && state.operation_ns == 0) ||
                          (state.to_host >= 0 && state.to_host_ns == 0) ||
                          (state.from_host >= 0 && state.from_host_ns == 0);
    if (ends_now) return;
    const std::uint32_t dead_nodes = dead(state.computed);
    for (std::size_t node = 0; node < graph_.nodes; ++node) {
        const auto number = static_cast<std::int32_t>(node);
        if (state.operation < 0 && may_compute(state, node, dead_nodes)) {
            make_room(parent, state, graph_.output_bytes[node] + graph_.workspace_bytes[node],
                      graph_.inputs[node], {0, MomentAction::compute, number});
        }
        const bool moves = graph_.copy_ns[node] >= 0 && graph_.output_bytes[node] > 0;
        if (!moves || has(dead_nodes, node)) continue;
        const bool arrives = state.from_host >= 0 && place(state.from_host) == node;
        if (state.to_host < 0 && has(state.device & ~state.host, node) && !arrives) {
            start(parent, state, {0, MomentAction::offload, number}, 0);
        }
        if (state.from_host < 0 && has(state.host & ~state.device, node)) {
            make_room(parent, state, graph_.output_bytes[node], 0,
                      {0, MomentAction::prefetch, number});
        }
    }
}

void MomentSearch::wait(std::int32_t parent, const State& state) {
    std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
    if (state.operation >= 0) least_ns = std::min(least_ns, state.operation_ns);
    if (state.to_host >= 0) least_ns = std::min(least_ns, state.to_host_ns);
    if (state.from_host >= 0) least_ns = std::min(least_ns, state.from_host_ns);
    State after = state;
    // Results are there when their operator has ended, and no later.
    if (least_ns > 0) {
        after.run = -1;
        if (after.operation < 0) after.device &= ~graph_.tokens;
    }
    if (after.operation >= 0 && (after.operation_ns -= least_ns) == 0) {
        const std::size_t node = place(after.operation);
        // The token of an operator is over with the next operation but for its results.
        after.device &= ~(graph_.tokens & ~graph_.inputs[node]);
        after.computed |= bit(node);
        after.device |= bit(node);
        after.run = after.operation;
        after.operation = -1;
    }
    if (after.to_host >= 0 && (after.to_host_ns -= least_ns) == 0) {
        after.host |= bit(place(after.to_host));
        after.to_host = -1;
    }
    if (after.from_host >= 0 && (after.from_host_ns -= least_ns) == 0) after.from_host = -1;
    // What is never read again goes at once; what runs right after its operator still may.
    const std::uint32_t over = dead(after.computed) & ~busy(after);
    const std::uint32_t freed = over & after.device & ~graph_.tokens;
    after.device &= ~freed;
    after.host &= ~over;
    // Only results of a run look at what was computed last.
    const bool in_run = after.run >= 0 && (has(graph_.tokens, place(after.run)) ||
                                           (graph_.inputs[place(after.run)] & graph_.tokens) != 0);
    if (!in_run) after.run = -1;
    if (!in_run) after.device &= ~graph_.tokens;
    push(after, records_[static_cast<std::size_t>(parent)].passed_ns + least_ns, parent,
         {freed, MomentAction::wait, -1});
}

// Starts after each set of deletions that makes room, and of which all are needed.
void MomentSearch::make_room(std::int32_t parent, const State& state, std::int64_t needed_bytes,
                             std::uint32_t held, const MomentStep& step) {
    const std::int64_t lacking = used_bytes(state) + needed_bytes - memory_bytes_;
    if (lacking <= 0) {
        start(parent, state, step, 0);
        return;
    }
    std::vector<std::size_t> free;
    for_each(state.device & ~busy(state) & ~held, [&](std::size_t node) {
        if (graph_.output_bytes[node] > 0) free.push_back(node);
    });
    choose(parent, state, step, free, 0, lacking, std::numeric_limits<std::int64_t>::max(), 0);
}

void MomentSearch::choose(std::int32_t parent, const State& state, const MomentStep& step,
                          const std::vector<std::size_t>& free, std::size_t from,
                          std::int64_t lacking, std::int64_t least_bytes, std::uint32_t dropped) {
    if (lacking <= 0) {
        // Without its least member the set would not make room.
        if (lacking + least_bytes > 0) start(parent, state, step, dropped);
        return;
    }
    for (std::size_t at = from; at < free.size(); ++at) {
        const std::int64_t size = graph_.output_bytes[free[at]];
        choose(parent, state, step, free, at + 1, lacking - size, std::min(least_bytes, size),
               dropped | bit(free[at]));
    }
}

void MomentSearch::start(std::int32_t parent, State state, MomentStep step,
                         std::uint32_t dropped) {
    const auto node = static_cast<std::size_t>(step.node);
    const auto number = static_cast<std::int8_t>(step.node);
    state.device &= ~dropped;
    step.freed = dropped;
    if (step.action == MomentAction::compute) {
        state.operation = number;
        state.operation_ns = graph_.duration_ns[node];
    } else if (step.action == MomentAction::offload) {
        state.to_host = number;
        state.to_host_ns = graph_.copy_ns[node];
    } else {
        state.from_host = number;
        state.from_host_ns = graph_.copy_ns[node];
        state.device |= bit(node);
        state.device &= ~graph_.tokens;
        state.run = -1;
    }
    push(state, records_[static_cast<std::size_t>(parent)].passed_ns, parent, step);
}

void MomentSearch::push(const State& state, std::int64_t passed_ns, std::int32_t parent,
                        const MomentStep& step) {
    const std::int64_t estimate_ns = passed_ns + remaining_ns(state);
    if (estimate_ns >= upper_ns_) return;
    const auto found = best_ns_.try_emplace(state, passed_ns);
    if (!found.second) {
        if (found.first->second <= passed_ns) return;
        found.first->second = passed_ns;
    }
    records_.push_back({state, passed_ns, parent, step});
    open_.push({estimate_ns, passed_ns, static_cast<std::int32_t>(records_.size()) - 1});
}

}  // namespace jettison
