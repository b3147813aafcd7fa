#include "remat_graph/state.hpp"

#include <algorithm>
#include <stdexcept>

namespace jettison {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Sizes add up to less than 2^60, excesses of the most computations to less than 2^62.
int unit_bits(const RecomputedGraph& graph) {
    std::int64_t total_bytes = 0;
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        total_bytes += graph.output_bytes[at(node)] + graph.workspace_bytes[at(node)];
    }
    int bits = 0;
    while ((total_bytes >> bits) >= std::int64_t{1} << 42) ++bits;
    return bits;
}

// The memory that each node uses without recomputations.
std::vector<std::int64_t> used_once_bytes(const RecomputedGraph& graph) {
    std::vector<std::int64_t> change_bytes(at(graph.nodes) + 1, 0);
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        const std::int32_t first = graph.user_start[at(node)];
        const std::int32_t end = graph.user_start[at(node) + 1];
        std::int32_t after = first < end ? graph.users[at(end - 1)] + 1 : node + 1;
        if (graph.keep[at(node)] != 0) after = graph.nodes;
        change_bytes[at(node)] += graph.output_bytes[at(node)];
        change_bytes[at(after)] -= graph.output_bytes[at(node)];
    }
    std::vector<std::int64_t> used_bytes;
    std::int64_t stored = 0;
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        stored += change_bytes[at(node)];
        used_bytes.push_back(stored + graph.workspace_bytes[at(node)]);
    }
    return used_bytes;
}

}  // namespace

void find_users(RecomputedGraph& graph) {
    graph.user_start.assign(at(graph.nodes) + 1, 0);
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        for (std::int32_t k = graph.input_start[at(node)]; k < graph.input_start[at(node) + 1];
             ++k) {
            const std::int32_t source = graph.inputs[at(k)];
            if (source < 0 || source >= node) throw std::invalid_argument("inputs: order");
            ++graph.user_start[at(source) + 1];
        }
    }
    for (std::size_t k = 1; k < graph.user_start.size(); ++k) {
        graph.user_start[k] += graph.user_start[k - 1];
    }
    graph.users.resize(graph.inputs.size());
    std::vector<std::int32_t> next(graph.user_start.begin(), graph.user_start.end() - 1);
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        for (std::int32_t k = graph.input_start[at(node)]; k < graph.input_start[at(node) + 1];
             ++k) {
            graph.users[at(next[at(graph.inputs[at(k)])]++)] = node;
        }
    }
}

RematState::RematState(const RecomputedGraph& graph, std::int64_t memory_bytes)
    : graph_(graph),
      profile_(used_once_bytes(graph), memory_bytes, unit_bits(graph)),
      computed_(at(graph.nodes)) {
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        time_ns_ += graph.duration_ns[at(node)];
        computed_[at(node)].push_back({node, -1, 0});
    }
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        computed_[at(node)].front().last_read = last_read(node, node, graph.nodes);
    }
}

std::size_t RematState::covering(std::int32_t node, std::int32_t stage) const {
    const auto& list = computed_[at(node)];
    if (list.back().stage <= stage) return list.size() - 1;
    const auto next = std::upper_bound(
        list.begin(), list.end(), stage,
        [](std::int32_t limit, const Computation& one) { return limit < one.stage; });
    return static_cast<std::size_t>(next - list.begin()) - 1;
}

const RematState::Computation* RematState::computed_at(std::int32_t node, Moment when) const {
    const std::int32_t stage = stage_of(when);
    // Within a stage nodes run in the order of their positions.
    const std::int32_t by = node > node_of(when) ? stage - 1 : stage;
    if (node > by) return nullptr;
    return &computed_by(node, by);
}

Moment RematState::last_read(std::int32_t node, std::int32_t from_stage,
                             std::int32_t before_stage) const {
    if (before_stage == graph_.nodes && graph_.keep[at(node)] != 0) {
        return moment(graph_.nodes, 0);
    }
    Moment last = moment(from_stage, node);
    for (std::int32_t k = graph_.user_start[at(node)]; k < graph_.user_start[at(node) + 1]; ++k) {
        const std::int32_t user = graph_.users[at(k)];
        if (user >= before_stage) break;
        const std::int32_t stage = computed_by(user, before_stage - 1).stage;
        if (stage >= from_stage) last = std::max(last, moment(stage, user));
    }
    return last;
}

std::int32_t RematState::next_read_stage(std::int32_t node, Moment after) const {
    Moment next = moment(graph_.nodes, 0);
    for (std::int32_t k = graph_.user_start[at(node)]; k < graph_.user_start[at(node) + 1]; ++k) {
        const std::int32_t user = graph_.users[at(k)];
        const auto& list = computed_[at(user)];
        const auto found =
            std::upper_bound(list.begin(), list.end(), after,
                             [user](Moment limit, const Computation& one) {
                                 return limit < moment(one.stage, user);
                             });
        if (found != list.end()) next = std::min(next, moment(found->stage, user));
    }
    return stage_of(next);
}

// A value that is alive across a moment is in memory during the next computation.
std::int64_t RematState::crossing_bytes(Moment when) const {
    const std::int32_t next = profile_.node_from(when);
    return profile_.used_bytes_from(when) - graph_.workspace_bytes[at(next)] -
           graph_.output_bytes[at(next)];
}

std::int64_t RematState::own_excess(Recomputation one, std::int64_t gone_bytes) const {
    return profile_.excess_of(crossing_bytes(moment(one.stage, one.node)) - gone_bytes +
                              graph_.workspace_bytes[at(one.node)] +
                              graph_.output_bytes[at(one.node)]);
}

std::int64_t RematState::relief(Recomputation one) const {
    const Moment when = moment(one.stage, one.node);
    const Computation& before = computed_by(one.node, one.stage);
    if (before.last_read <= when) return 0;
    return profile_.relief(last_read(one.node, before.stage, one.stage) + 1, when,
                           graph_.output_bytes[at(one.node)]);
}

void RematState::add(Recomputation one) {
    const std::int32_t node = one.node;
    const Moment when = moment(one.stage, node);
    auto& own = computed_[at(node)];
    const std::size_t before = covering(node, one.stage);
    const std::int64_t bytes = graph_.output_bytes[at(node)];

    const Moment old_last = own[before].last_read;
    const bool was_crossing = old_last > when;
    profile_.insert(when, crossing_bytes(when) + graph_.workspace_bytes[at(node)] +
                              (was_crossing ? 0 : bytes));

    own.insert(own.begin() + static_cast<std::ptrdiff_t>(before) + 1,
               {one.stage, static_cast<std::int32_t>(recomputations_.size()),
                was_crossing ? old_last : when});
    recomputations_.push_back(one);
    if (was_crossing) {
        const Moment last = last_read(node, own[before].stage, one.stage);
        own[before].last_read = last;
        profile_.change(last + 1, when, -bytes);
    }
    for (std::int32_t k = graph_.input_start[at(node)]; k < graph_.input_start[at(node) + 1]; ++k) {
        const std::int32_t source = graph_.inputs[at(k)];
        Computation& read = computed_[at(source)][covering(source, one.stage)];
        if (read.last_read >= when) continue;
        profile_.change(read.last_read + 1, when + 1, graph_.output_bytes[at(source)]);
        read.last_read = when;
    }
    time_ns_ += graph_.duration_ns[at(node)];
}

void RematState::resize(std::int32_t node, std::int64_t by_bytes) {
    const Moment end = moment(graph_.nodes - 1, graph_.nodes);
    for (const Computation& one : computed_[at(node)]) {
        profile_.change(moment(one.stage, node), std::min(one.last_read + 1, end), by_bytes);
    }
}

void RematState::lengthen(std::int32_t node, std::int64_t by_ns) {
    time_ns_ += by_ns * computations_of(node);
}

void RematState::remove(Recomputation one) {
    const std::int32_t node = one.node;
    const Moment when = moment(one.stage, node);
    auto& own = computed_[at(node)];
    const std::size_t index = covering(node, one.stage);
    const Computation removed = own[index];
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(index));
    for (std::int32_t k = graph_.input_start[at(node)]; k < graph_.input_start[at(node) + 1]; ++k) {
        const std::int32_t source = graph_.inputs[at(k)];
        auto& list = computed_[at(source)];
        const std::size_t reading = covering(source, one.stage);
        if (list[reading].last_read != when) continue;
        const std::int32_t until =
            reading + 1 < list.size() ? list[reading + 1].stage : graph_.nodes;
        const Moment last = last_read(source, list[reading].stage, until);
        list[reading].last_read = last;
        profile_.change(last + 1, when + 1, -graph_.output_bytes[at(source)]);
    }
    if (removed.last_read > when) {
        Computation& before = own[index - 1];
        profile_.change(before.last_read + 1, when, graph_.output_bytes[at(node)]);
        before.last_read = removed.last_read;
    }
    profile_.erase(when);
    const Recomputation moved = recomputations_.back();
    recomputations_.pop_back();
    if (at(removed.place) < recomputations_.size()) {
        recomputations_[at(removed.place)] = moved;
        computed_[at(moved.node)][covering(moved.node, moved.stage)].place = removed.place;
    }
    time_ns_ -= graph_.duration_ns[at(node)];
}

}  // namespace jettison
