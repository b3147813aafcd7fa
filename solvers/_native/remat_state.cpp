#include "remat_state.hpp"

#include <algorithm>
#include <stdexcept>

#include "vector_clones.hpp"

namespace jettison {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Adds `bytes` to each number and returns by how much their excesses grow.
JETTISON_CLONES
std::int64_t raise(std::int64_t* used, std::size_t count, std::int64_t bytes, std::int64_t limit) {
    std::int64_t grown = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const std::int64_t before = used[k] - limit;
        const std::int64_t after = before + bytes;
        used[k] += bytes;
        grown += (after > 0 ? after : 0) - (before > 0 ? before : 0);
    }
    return grown;
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
    : graph_(graph), memory_bytes_(memory_bytes), computed_(at(graph.nodes)) {
    std::int64_t total_bytes = 0;
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        total_bytes += graph.output_bytes[at(node)] + graph.workspace_bytes[at(node)];
        time_ns_ += graph.duration_ns[at(node)];
    }
    // 2^42 times the most computations is 2^62: the sum fits.
    while ((total_bytes >> unit_bits_) >= std::int64_t{1} << 42) ++unit_bits_;
    std::vector<std::int64_t> change_bytes(at(graph.nodes) + 1, 0);
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        moments_.push_back(moment(node, node));
        computed_[at(node)].push_back({node, -1, 0});
    }
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        const Moment last = last_read(node, node, graph.nodes);
        computed_[at(node)].front().last_read = last;
        change_bytes[at(node)] += graph.output_bytes[at(node)];
        const std::int32_t after = std::min(stage_of(last) + 1, graph.nodes);
        change_bytes[at(after)] -= graph.output_bytes[at(node)];
    }
    std::int64_t stored = 0;
    for (std::int32_t node = 0; node < graph.nodes; ++node) {
        stored += change_bytes[at(node)];
        used_bytes_.push_back(stored + graph.workspace_bytes[at(node)]);
        excess_ += excess_of(used_bytes_.back());
    }
}

std::int64_t RematState::excess_of(std::int64_t bytes) const {
    return bytes > memory_bytes_ ? ((bytes - memory_bytes_ - 1) >> unit_bits_) + 1 : 0;
}

void RematState::set_memory_bytes(std::int64_t memory_bytes) {
    memory_bytes_ = memory_bytes;
    excess_ = 0;
    for (const std::int64_t bytes : used_bytes_) excess_ += excess_of(bytes);
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
    // In its own stage a node with a larger position has its turn later.
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

std::size_t RematState::place_of(Moment when) const {
    return static_cast<std::size_t>(std::lower_bound(moments_.begin(), moments_.end(), when) -
                                    moments_.begin());
}

void RematState::change(std::size_t from, std::size_t to, std::int64_t bytes) {
    if (from >= to) return;
    if (unit_bits_ == 0) {
        excess_ += raise(used_bytes_.data() + from, to - from, bytes, memory_bytes_);
        return;
    }
    for (std::size_t place = from; place < to; ++place) {
        excess_ -= excess_of(used_bytes_[place]);
        used_bytes_[place] += bytes;
        excess_ += excess_of(used_bytes_[place]);
    }
}

void RematState::add(Recomputation one) {
    const std::int32_t node = one.node;
    const Moment when = moment(one.stage, node);
    auto& own = computed_[at(node)];
    const std::size_t before = covering(node, one.stage);
    const std::int64_t bytes = graph_.output_bytes[at(node)];

    // What crosses this moment is in memory with the next computation, which is not its own.
    const std::size_t place = place_of(when);
    const auto offset = static_cast<std::ptrdiff_t>(place);
    const std::int32_t next = node_of(moments_[place]);
    const std::int64_t crossing =
        used_bytes_[place] - graph_.workspace_bytes[at(next)] - graph_.output_bytes[at(next)];
    moments_.insert(moments_.begin() + offset, when);
    const Moment old_last = own[before].last_read;
    const bool was_crossing = old_last > when;
    used_bytes_.insert(
        used_bytes_.begin() + offset,
        crossing + graph_.workspace_bytes[at(node)] + (was_crossing ? 0 : bytes));
    excess_ += excess_of(used_bytes_[place]);

    own.insert(own.begin() + static_cast<std::ptrdiff_t>(before) + 1,
               {one.stage, static_cast<std::int32_t>(recomputations_.size()),
                was_crossing ? old_last : when});
    recomputations_.push_back(one);
    if (was_crossing) {
        const Moment last = last_read(node, own[before].stage, one.stage);
        own[before].last_read = last;
        change(place_of(last) + 1, place, -bytes);
    }
    for (std::int32_t k = graph_.input_start[at(node)]; k < graph_.input_start[at(node) + 1]; ++k) {
        const std::int32_t source = graph_.inputs[at(k)];
        Computation& read = computed_[at(source)][covering(source, one.stage)];
        if (read.last_read >= when) continue;
        change(place_of(read.last_read) + 1, place + 1, graph_.output_bytes[at(source)]);
        read.last_read = when;
    }
    time_ns_ += graph_.duration_ns[at(node)];
}

void RematState::remove(Recomputation one) {
    const std::int32_t node = one.node;
    const Moment when = moment(one.stage, node);
    auto& own = computed_[at(node)];
    const std::size_t index = covering(node, one.stage);
    const Computation removed = own[index];
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(index));
    const std::size_t place = place_of(when);
    for (std::int32_t k = graph_.input_start[at(node)]; k < graph_.input_start[at(node) + 1]; ++k) {
        const std::int32_t source = graph_.inputs[at(k)];
        auto& list = computed_[at(source)];
        const std::size_t reading = covering(source, one.stage);
        if (list[reading].last_read != when) continue;
        const std::int32_t until =
            reading + 1 < list.size() ? list[reading + 1].stage : graph_.nodes;
        const Moment last = last_read(source, list[reading].stage, until);
        list[reading].last_read = last;
        change(place_of(last) + 1, place + 1, -graph_.output_bytes[at(source)]);
    }
    if (removed.last_read > when) {
        Computation& before = own[index - 1];
        change(place_of(before.last_read) + 1, place, graph_.output_bytes[at(node)]);
        before.last_read = removed.last_read;
    }
    excess_ -= excess_of(used_bytes_[place]);
    moments_.erase(moments_.begin() + static_cast<std::ptrdiff_t>(place));
    used_bytes_.erase(used_bytes_.begin() + static_cast<std::ptrdiff_t>(place));
    const Recomputation moved = recomputations_.back();
    recomputations_.pop_back();
    if (at(removed.place) < recomputations_.size()) {
        recomputations_[at(removed.place)] = moved;
        computed_[at(moved.node)][covering(moved.node, moved.stage)].place = removed.place;
    }
    time_ns_ -= graph_.duration_ns[at(node)];
}

std::size_t RematState::above_limit(std::size_t from) const {
    const auto is_above = [this](std::int64_t bytes) { return bytes > memory_bytes_; };
    const auto start = used_bytes_.begin() + static_cast<std::ptrdiff_t>(from);
    auto found = std::find_if(start, used_bytes_.end(), is_above);
    if (found == used_bytes_.end()) {
        found = std::find_if(used_bytes_.begin(), start, is_above);
        if (found == start) return used_bytes_.size();
    }
    return static_cast<std::size_t>(found - used_bytes_.begin());
}

std::vector<std::int32_t> RematState::sequence() const {
    std::vector<std::int32_t> nodes;
    nodes.reserve(moments_.size());
    for (const Moment when : moments_) nodes.push_back(node_of(when));
    return nodes;
}

std::int64_t RematState::peak_bytes() const {
    return *std::max_element(used_bytes_.begin(), used_bytes_.end());
}

}  // namespace jettison
