#include "contents_search.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <queue>

namespace jettison {
namespace {

constexpr std::int64_t polled_every = 4096;
constexpr std::uint32_t nowhere = ~std::uint32_t{0};

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

enum class Held : std::uint8_t { nothing, plain, whole };

// What is in memory besides a^0: how each stage is held, and which gradient.
struct Contents {
    std::uint64_t word;

    static Contents start(std::int32_t stages) { return Contents{0}.with_gradient(stages); }

    Held held(std::int32_t stage) const {
        return static_cast<Held>((word >> (2 * (stage - 1))) & 3);
    }
    Contents with(std::int32_t stage, Held how) const {
        const int shift = 2 * (stage - 1);
        return {(word & ~(std::uint64_t{3} << shift)) | (static_cast<std::uint64_t>(how) << shift)};
    }
    std::int32_t gradient() const { return static_cast<std::int32_t>(word >> gradient_shift); }
    Contents with_gradient(std::int32_t stage) const {
        constexpr std::uint64_t stages_only = (std::uint64_t{1} << gradient_shift) - 1;
        return {(word & stages_only) | (static_cast<std::uint64_t>(stage) << gradient_shift)};
    }

private:
    static constexpr int gradient_shift = 2 * most_stages;
};

struct Move {
    Step step;
    std::int64_t duration_ns;
    std::int64_t needed_bytes;  // while it runs, and right after it
    Contents after;
};

// Calls `visit` with every move that changes what is in memory and is not plainly useless; the
// docstring of the Python module says why the others need not be looked at.
template <typename Visit>
void for_each_move(const ContentsChain& chain, Contents now, Visit visit) {
    const std::int32_t gradient = now.gradient();
    std::int64_t stored = chain.held_bytes[0] + chain.held_bytes[index(gradient)];
    for (std::int32_t k = 1; k <= gradient; ++k) {
        const Held how = now.held(k);
        if (how == Held::whole) stored += chain.saved_bytes[index(k - 1)];
        if (how == Held::plain) stored += chain.held_bytes[index(k)];
    }
    for (std::int32_t k = 1; k <= gradient; ++k) {
        if (k > 1 && now.held(k - 1) == Held::nothing) continue;
        const Held target = now.held(k);
        const std::int64_t duration = chain.forward_ns[index(k - 1)];
        const std::int64_t working = stored + chain.forward_bytes[index(k - 1)];
        const std::int64_t passing = working + chain.held_bytes[index(k)];
        const Contents reached = target == Held::nothing ? now.with(k, Held::plain) : now;
        if (target == Held::nothing && k < gradient) {
            visit({{Operation::forward_checkpoint, k}, duration, passing, reached});
        }
        if (target != Held::whole) {
            visit({{Operation::forward_all, k}, duration,
                   working + chain.saved_bytes[index(k - 1)], now.with(k, Held::whole)});
        }
        if (k > 1) {
            visit({{Operation::forward_none, k}, duration, passing,
                   reached.with(k - 1, Held::nothing)});
        }
    }
    const Held below = gradient == 1 ? Held::whole : now.held(gradient - 1);
    if (now.held(gradient) != Held::whole || below == Held::nothing) return;
    Contents after = now.with(gradient, Held::nothing).with_gradient(gradient - 1);
    std::int64_t left = stored - chain.saved_bytes[index(gradient - 1)] -
                        chain.held_bytes[index(gradient)] + chain.held_bytes[index(gradient - 1)];
    if (below == Held::plain) {
        after = after.with(gradient - 1, Held::nothing);
        left -= chain.held_bytes[index(gradient - 1)];
    }
    visit({{Operation::backward, gradient},
           chain.backward_ns[index(gradient - 1)],
           std::max(stored + chain.backward_bytes[index(gradient - 1)], left),
           after});
}

// Cost: time. What fits the memory is allowed.
class Time {
public:
    Time(const ContentsChain& chain, std::int64_t memory_bytes)
        : chain_(chain), memory_bytes_(memory_bytes), forward_{0}, backward_{0} {
        for (std::int32_t k = 1; k <= chain.stages; ++k) {
            forward_.push_back(forward_.back() + chain.forward_ns[index(k - 1)]);
            backward_.push_back(backward_.back() + chain.backward_ns[index(k - 1)]);
        }
    }

    std::int64_t start() const { return 0; }

    std::int64_t after(std::int64_t cost, const Move& move) const {
        return move.needed_bytes <= memory_bytes_ ? cost + move.duration_ns : beyond_all;
    }

    // The least cost of a schedule that reaches these contents at this cost.
    std::int64_t estimate(std::int64_t cost, Contents now) const {
        std::int64_t once = 0;
        std::int32_t top = 0;
        std::int32_t start = 0;  // the largest stage below `top` that is held
        for (std::int32_t k = now.gradient(); k >= 1; --k) {
            const Held how = now.held(k);
            if (how != Held::whole) once += chain_.forward_ns[index(k - 1)];
            if (top == 0 && how != Held::whole) {
                top = k;
            } else if (top != 0 && start == 0 && how != Held::nothing) {
                start = k;
            }
        }
        if (top > 0) {
            const std::int64_t path = forward_[index(top)] - forward_[index(start)];
            once = std::max(once, path + chain_.rerun_ns[index(top - 1)]);
        }
        return cost + backward_[index(now.gradient())] + once;
    }

private:
    const ContentsChain& chain_;
    std::int64_t memory_bytes_;
    std::vector<std::int64_t> forward_, backward_;  // of the first stages together
};

// Cost: the largest need so far, or that of the single operations that every schedule runs. Costs
// from that on are exact from the start, so that no state is opened twice.
class Peak {
public:
    explicit Peak(const ContentsChain& chain) : start_(chain.held_bytes[0]) {
        for (std::int32_t k = 1; k <= chain.stages; ++k) {
            const std::int64_t below = k > 1 ? chain.held_bytes[index(k - 1)] : 0;
            const std::int64_t held =
                chain.held_bytes[0] + below + chain.saved_bytes[index(k - 1)];
            start_ = std::max({start_, held + chain.forward_bytes[index(k - 1)],
                               held + chain.held_bytes[index(k)] +
                                   chain.backward_bytes[index(k - 1)]});
        }
    }

    std::int64_t start() const { return start_; }

    std::int64_t after(std::int64_t cost, const Move& move) const {
        return std::max(cost, move.needed_bytes);
    }

    std::int64_t estimate(std::int64_t cost, Contents) const { return cost; }

private:
    std::int64_t start_;
};

struct Node {
    Contents contents;
    std::int64_t cost;
    std::uint32_t before;
    Step step;
};

// Nodes by their contents: open addressing over indices into a vector.
class Nodes {
public:
    Nodes() : places_(std::size_t{1} << 12, nowhere) {}

    // Returns the index of the node with these contents; a new one costs beyond_all.
    std::uint32_t find(Contents contents) {
        if (2 * nodes_.size() >= places_.size()) grow();
        std::uint32_t& place = places_[place_of(contents)];
        if (place == nowhere) {
            place = static_cast<std::uint32_t>(nodes_.size());
            nodes_.push_back({contents, beyond_all, nowhere, {}});
        }
        return place;
    }

    Node& operator[](std::uint32_t node) { return nodes_[node]; }
    std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()); }

private:
    std::size_t place_of(Contents contents) const {
        const std::size_t last = places_.size() - 1;
        std::uint64_t mixed = contents.word * 0x9E3779B97F4A7C15u;
        mixed ^= mixed >> 32;
        std::size_t place = static_cast<std::size_t>(mixed) & last;
        while (places_[place] != nowhere && nodes_[places_[place]].contents.word != contents.word) {
            place = (place + 1) & last;
        }
        return place;
    }

    void grow() {
        places_.assign(2 * places_.size(), nowhere);
        for (std::size_t node = 0; node < nodes_.size(); ++node) {
            places_[place_of(nodes_[node].contents)] = static_cast<std::uint32_t>(node);
        }
    }

    std::vector<Node> nodes_;
    std::vector<std::uint32_t> places_;
};

// A*: the open node with the least estimate comes first, and the one furthest on among those. A
// node is opened again when it is reached at less cost, so that the estimate need not be
// consistent. It never falls along a path: what holds for a part of a schedule holds for the rest.
template <typename Cost>
ContentsAnswer search(const ContentsChain& chain, const Cost& objective, std::int64_t below,
                      std::int64_t most_states, const std::function<bool()>& poll) {
    struct Open {
        std::int64_t estimate, cost;
        std::uint32_t node;

        bool operator<(const Open& other) const {
            return estimate != other.estimate ? estimate > other.estimate : cost < other.cost;
        }
    };
    ContentsAnswer answer;
    answer.value = beyond_all;
    Nodes nodes;
    std::priority_queue<Open> queue;
    const Contents begin = Contents::start(chain.stages);
    const std::int64_t first = objective.estimate(objective.start(), begin);
    const std::uint32_t root = nodes.find(begin);
    nodes[root].cost = objective.start();
    if (first < below) queue.push({first, objective.start(), root});
    answer.lower_bound = std::min(first, below);
    for (std::int64_t popped = 0;; ++popped) {
        if (queue.empty()) {
            answer.lower_bound = below;
            answer.complete = true;
            break;
        }
        const Open open = queue.top();
        answer.lower_bound = open.estimate;
        if (nodes.size() > most_states || (popped % polled_every == 0 && !poll())) break;
        queue.pop();
        if (open.cost > nodes[open.node].cost) continue;
        const Contents now = nodes[open.node].contents;
        if (now.gradient() == 0) {
            answer.value = open.cost;
            answer.complete = true;
            for (std::uint32_t at = open.node; at != root; at = nodes[at].before) {
                answer.steps.push_back(nodes[at].step);
            }
            std::reverse(answer.steps.begin(), answer.steps.end());
            break;
        }
        for_each_move(chain, now, [&](const Move& move) {
            const std::int64_t cost = objective.after(open.cost, move);
            if (cost >= below) return;
            const std::int64_t estimate =
                std::max(open.estimate, objective.estimate(cost, move.after));
            if (estimate >= below) return;
            const std::uint32_t reached = nodes.find(move.after);
            if (cost >= nodes[reached].cost) return;
            nodes[reached].cost = cost;
            nodes[reached].before = open.node;
            nodes[reached].step = move.step;
            queue.push({estimate, cost, reached});
        });
    }
    answer.states = nodes.size();
    return answer;
}

}  // namespace

ContentsAnswer fastest_contents(const ContentsChain& chain, std::int64_t memory_bytes,
                                std::int64_t below_ns, std::int64_t most_states,
                                const std::function<bool()>& poll) {
    assert(chain.stages >= 1 && chain.stages <= most_stages);
    if (chain.held_bytes[0] > memory_bytes) {
        ContentsAnswer answer;
        answer.lower_bound = below_ns;
        answer.value = beyond_all;
        answer.complete = true;
        return answer;
    }
    return search(chain, Time(chain, memory_bytes), below_ns, most_states, poll);
}

ContentsAnswer smallest_contents(const ContentsChain& chain, std::int64_t below_bytes,
                                 std::int64_t most_states, const std::function<bool()>& poll) {
    assert(chain.stages >= 1 && chain.stages <= most_stages);
    return search(chain, Peak(chain), below_bytes, most_states, poll);
}

}  // namespace jettison
