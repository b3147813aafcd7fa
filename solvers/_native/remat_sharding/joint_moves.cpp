#include "remat_sharding/joint_moves.hpp"

#include <algorithm>
#include <utility>

namespace jettison {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// Above the cost of any plan, whose durations add up to less than 2^60 over all computations.
constexpr std::int64_t forbidden_pair = std::int64_t{1} << 50;
constexpr int most_halvings = 5;

// The unit of the excess follows from the sizes, so these are the largest ones to begin with.
RecomputedGraph with_largest(JointGraph& joint) {
    for (std::int32_t i = 0; i < joint.graph.nodes; ++i) {
        const auto& bytes = joint.bytes[at(i)];
        joint.graph.output_bytes[at(i)] = *std::max_element(bytes.begin(), bytes.end());
        joint.graph.duration_ns[at(i)] = 0;
    }
    return std::move(joint.graph);
}

}  // namespace

JointMoves::JointMoves(JointGraph graph, std::vector<std::int32_t> places,
                       std::int64_t memory_bytes, std::uint64_t seed)
    : joint_(std::move(graph)),
      members_(joint_.places.size()),
      allowed_(joint_.places.size()),
      tables_at_(joint_.places.size()),
      tables_into_(at(joint_.graph.nodes)),
      place_(std::move(places)),
      moves_((joint_.graph = with_largest(joint_), joint_.graph), memory_bytes, seed),
      is_seen_(joint_.places.size(), 0) {
    for (std::int32_t i = 0; i < joint_.graph.nodes; ++i) {
        members_[at(joint_.choice[at(i)])].push_back(i);
    }
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(joint_.tables.size()); ++t) {
        const JointTable& table = joint_.tables[at(t)];
        const std::int32_t source = joint_.choice[at(table.source)];
        const std::int32_t reader = joint_.choice[at(table.reader)];
        tables_at_[at(source)].push_back(t);
        if (reader != source) tables_at_[at(reader)].push_back(t);
        tables_into_[at(table.reader)].push_back(t);
    }
    for (std::int32_t g = 0; g < static_cast<std::int32_t>(joint_.places.size()); ++g) {
        for (std::int32_t k = 0; k < joint_.places[at(g)]; ++k) {
            if (joint_.cost_ns[at(members_[at(g)].front())][at(k)] >= 0) {
                allowed_[at(g)].push_back(k);
            }
        }
        if (allowed_[at(g)].size() > 1) free_.push_back(g);
    }
    for (std::int32_t i = 0; i < joint_.graph.nodes; ++i) {
        const std::int64_t bytes = joint_.bytes[at(i)][at(place_[at(joint_.choice[at(i)])])];
        moves_.resize(i, bytes - joint_.graph.output_bytes[at(i)]);
        joint_.graph.output_bytes[at(i)] = bytes;
        set_duration(i);
    }
}

// The duration of a node with the places of the moment. Forbidden pairs cost nothing, and are
// counted where places change.
void JointMoves::set_duration(std::int32_t node) {
    const std::int32_t k = place_[at(joint_.choice[at(node)])];
    std::int64_t duration = joint_.cost_ns[at(node)][at(k)];
    for (const std::int32_t t : tables_into_[at(node)]) {
        const JointTable& table = joint_.tables[at(t)];
        const std::int32_t a = place_[at(joint_.choice[at(table.source)])];
        const std::int64_t width = joint_.places[at(joint_.choice[at(node)])];
        duration += std::max<std::int64_t>(table.cost_ns[at(a) * static_cast<std::size_t>(width) +
                                                         at(k)], 0);
    }
    moves_.lengthen(node, duration - joint_.graph.duration_ns[at(node)]);
    joint_.graph.duration_ns[at(node)] = duration;
}

void JointMoves::put(std::int32_t choice, std::int32_t place) {
    const auto count = [this, choice] {
        std::int32_t forbidden = 0;
        for (const std::int32_t t : tables_at_[at(choice)]) {
            const JointTable& table = joint_.tables[at(t)];
            const std::int32_t reader = joint_.choice[at(table.reader)];
            const auto width = static_cast<std::size_t>(joint_.places[at(reader)]);
            const std::size_t row = at(place_[at(joint_.choice[at(table.source)])]);
            if (table.cost_ns[row * width + at(place_[at(reader)])] < 0) ++forbidden;
        }
        return forbidden;
    };
    forbidden_ -= count();
    place_[at(choice)] = place;
    forbidden_ += count();
    for (const std::int32_t i : members_[at(choice)]) {
        const std::int64_t bytes = joint_.bytes[at(i)][at(place)];
        if (bytes != joint_.graph.output_bytes[at(i)]) {
            moves_.resize(i, bytes - joint_.graph.output_bytes[at(i)]);
            joint_.graph.output_bytes[at(i)] = bytes;
        }
        set_duration(i);
    }
    for (const std::int32_t t : tables_at_[at(choice)]) {
        const std::int32_t reader = joint_.tables[at(t)].reader;
        if (joint_.choice[at(reader)] != choice) set_duration(reader);
    }
}

std::int64_t JointMoves::cost_of(std::int32_t choice, std::int32_t place) const {
    std::int64_t sum = 0;
    for (const std::int32_t i : members_[at(choice)]) {
        sum += state().computations_of(i) * joint_.cost_ns[at(i)][at(place)];
    }
    for (const std::int32_t t : tables_at_[at(choice)]) {
        const JointTable& table = joint_.tables[at(t)];
        const std::int32_t source = joint_.choice[at(table.source)];
        const std::int32_t reader = joint_.choice[at(table.reader)];
        const std::size_t a = at(source == choice ? place : place_[at(source)]);
        const std::size_t b = at(reader == choice ? place : place_[at(reader)]);
        const std::int64_t cost =
            table.cost_ns[a * static_cast<std::size_t>(joint_.places[at(reader)]) + b];
        sum += cost < 0 ? forbidden_pair : state().computations_of(table.reader) * cost;
    }
    return sum;
}

std::int64_t JointMoves::bytes_of(std::int32_t choice, std::int32_t place) const {
    std::int64_t sum = 0;
    for (const std::int32_t i : members_[at(choice)]) sum += joint_.bytes[at(i)][at(place)];
    return sum;
}

std::int32_t JointMoves::best_place(std::int32_t choice, bool is_small) const {
    const std::int64_t most = bytes_of(choice, place_[at(choice)]);
    std::int32_t best = place_[at(choice)];
    std::int64_t least = cost_of(choice, best);
    for (const std::int32_t k : allowed_[at(choice)]) {
        if (k == best || (is_small && bytes_of(choice, k) > most)) continue;
        const std::int64_t cost = cost_of(choice, k);
        if (cost < least) {
            least = cost;
            best = k;
        }
    }
    return best;
}

void JointMoves::choose() {
    const std::int32_t first =
        free_[static_cast<std::size_t>(moves_.below(static_cast<std::int64_t>(free_.size())))];
    const auto& allowed = allowed_[at(first)];
    const auto drawn = moves_.below(static_cast<std::int64_t>(allowed.size()));
    const std::int32_t place = allowed[static_cast<std::size_t>(drawn)];
    if (place == place_[at(first)]) return;
    std::int64_t most = (std::int64_t{1} << moves_.below(most_halvings + 1)) - 1;
    const bool is_small = moves_.below(2) == 0;
    const auto change = [this](std::int32_t g, std::int32_t to) {
        changes_.push_back({g, place_[at(g)]});
        put(g, to);
        for (const std::int32_t t : tables_at_[at(g)]) {
            const JointTable& table = joint_.tables[at(t)];
            for (const std::int32_t end : {table.source, table.reader}) {
                const std::int32_t other = joint_.choice[at(end)];
                if (is_seen_[at(other)] == 0) {
                    is_seen_[at(other)] = 1;
                    queue_.push_back(other);
                }
            }
        }
    };
    queue_.clear();
    is_seen_[at(first)] = 1;
    change(first, place);
    std::vector<std::int32_t> seen{first};
    while (!queue_.empty() && most > 0) {
        const std::int32_t g = queue_.front();
        queue_.pop_front();
        seen.push_back(g);
        const std::int32_t best = best_place(g, is_small);
        if (best == place_[at(g)]) continue;
        change(g, best);
        --most;
    }
    for (const std::int32_t g : seen) is_seen_[at(g)] = 0;
    for (const std::int32_t g : queue_) is_seen_[at(g)] = 0;
}

void JointMoves::undo() {
    moves_.undo();
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
        put(change->choice, change->before);
    }
    changes_.clear();
}

void JointMoves::accept() {
    moves_.accept();
    changes_.clear();
}

void JointMoves::restore(const std::vector<std::int32_t>& places,
                         const std::vector<Recomputation>& recomputations) {
    moves_.restore({});
    for (std::int32_t g = 0; g < static_cast<std::int32_t>(places.size()); ++g) {
        if (place_[at(g)] != places[at(g)]) put(g, places[at(g)]);
    }
    moves_.restore(recomputations);
    changes_.clear();
}

}  // namespace jettison
