#include "remat_chain/contents/search.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <queue>

#include "remat_chain/contents/estimate.hpp"
#include "remat_chain/contents/moves.hpp"

namespace jettison {
namespace {

constexpr std::int64_t polled_every = 4096;
constexpr std::uint32_t nowhere = ~std::uint32_t{0};

// Cost: time of the forwards that save nothing. Everything that fits in memory is allowed.
class Rerun {
public:
    Rerun(const ContentsChain& chain, std::int64_t memory_bytes, std::int64_t below_ns,
          const std::function<bool()>& poll)
        : memory_bytes_(memory_bytes), left_(chain, memory_bytes, below_ns, poll) {}

    std::int64_t start() const { return 0; }

    bool fits(std::int64_t, std::int64_t bytes) const { return bytes <= memory_bytes_; }

    template <typename Contents>
    std::int64_t after(std::int64_t cost, const Move<Contents>& move) const {
        return move.needed_bytes <= memory_bytes_ ? cost + move.rerun_ns : beyond_all;
    }

    // The least cost of a schedule that reaches these contents at this cost.
    template <typename Contents>
    std::int64_t estimate(std::int64_t cost, const Contents& now) const {
        return std::min(cost + left_(now), beyond_all);
    }

private:
    std::int64_t memory_bytes_;
    ContentsEstimate left_;
};

// Cost: the largest need so far.
class Peak {
public:
    explicit Peak(const ContentsChain& chain) : chain_(chain) {}

    std::int64_t start() const { return chain_.held_bytes[0]; }

    bool fits(std::int64_t cost, std::int64_t bytes) const { return bytes <= cost; }

    template <typename Contents>
    std::int64_t after(std::int64_t cost, const Move<Contents>& move) const {
        return std::max(cost, move.needed_bytes);
    }

    // The needs of single operations that are still to come, beside the stages saved below them.
    template <typename Contents>
    std::int64_t estimate(std::int64_t cost, const Contents& now) const {
        std::int64_t held = chain_.held_bytes[0];
        Held before = Held::whole;
        for (std::int32_t k = 1; k <= now.gradient(); ++k) {
            const Held how = now.held(k);
            const std::int64_t saved = chain_.saved_bytes[index(k - 1)];
            const std::int64_t beside =
                held + saved + (before == Held::whole ? 0 : chain_.held_bytes[index(k - 1)]);
            cost = std::max(cost, beside + chain_.gradient_bytes[index(k)] +
                                      chain_.backward_bytes[index(k - 1)]);
            if (how != Held::whole) {
                cost = std::max(cost, beside + chain_.saving_bytes[index(k - 1)]);
            } else {
                held += saved;
            }
            before = how;
        }
        return cost;
    }

private:
    const ContentsChain& chain_;
};

template <typename Contents>
struct Node {
    Contents contents;
    std::int64_t cost;
    std::uint32_t before;
    std::uint8_t stage;
    std::int8_t operation;
    bool drops_input;
    bool is_closed;
};

// Nodes by their contents: open addressing over indices into blocks that never move.
template <typename Contents>
class Nodes {
public:
    Nodes() : places_(std::size_t{1} << 12, nowhere) {}

    // Returns the index of the node with these contents; a new one costs beyond_all.
    std::uint32_t find(const Contents& contents) {
        if (4 * count_ >= 3 * places_.size()) grow();
        std::uint32_t& place = places_[place_of(contents)];
        if (place == nowhere) {
            if (count_ % block_size == 0) blocks_.push_back(std::make_unique<Block>());
            place = static_cast<std::uint32_t>(count_++);
            (*this)[place] = {contents, beyond_all, nowhere, 0, 0, false, false};
        }
        return place;
    }

    Node<Contents>& operator[](std::uint32_t node) {
        return (*blocks_[node / block_size])[node % block_size];
    }
    std::int64_t size() const { return static_cast<std::int64_t>(count_); }

private:
    static constexpr std::size_t block_size = std::size_t{1} << 12;
    using Block = std::array<Node<Contents>, block_size>;

    std::size_t place_of(const Contents& contents) {
        const std::size_t last = places_.size() - 1;
        std::size_t place = static_cast<std::size_t>(contents.hash()) & last;
        while (places_[place] != nowhere && !((*this)[places_[place]].contents == contents)) {
            place = (place + 1) & last;
        }
        return place;
    }

    void grow() {
        const std::size_t size = 2 * places_.size();
        places_ = {};
        places_.assign(size, nowhere);
        for (std::size_t node = 0; node < count_; ++node) {
            const auto name = static_cast<std::uint32_t>(node);
            places_[place_of((*this)[name].contents)] = name;
        }
    }

    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<std::uint32_t> places_;
    std::size_t count_ = 0;
};

template <typename Contents>
std::vector<Step> steps_to(Nodes<Contents>& nodes, std::uint32_t node) {
    std::vector<Step> steps;
    for (; nodes[node].before != nowhere; node = nodes[node].before) {
        const Node<Contents>& reached = nodes[node];
        auto operation = static_cast<Operation>(reached.operation);
        if (reached.drops_input && operation == Operation::forward_checkpoint) {
            operation = Operation::forward_none;
        } else if (reached.drops_input) {
            steps.push_back({Operation::drop, reached.stage - 1});
        }
        steps.push_back({operation, reached.stage});
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
}

// A*: the open node with the least estimate comes first, on ties the one that was met last.
// A node is opened again when it is reached at less cost, so that the estimate need not be
// consistent. It never falls along a path: what holds for a part of a schedule holds for the rest.
template <typename Contents, typename Cost>
ContentsAnswer search_words(const ContentsChain& chain, const Cost& objective, std::int64_t below,
                      std::int64_t most_states, const std::function<bool()>& poll) {
    struct Open {
        std::int64_t estimate;
        std::uint32_t node;

        bool operator<(const Open& other) const {
            return estimate != other.estimate ? estimate > other.estimate : node < other.node;
        }
    };
    ContentsAnswer answer;
    answer.value = beyond_all;
    const Contents begin = Contents::start(chain.stages);
    const std::int64_t first = objective.estimate(objective.start(), begin);
    answer.lower_bound = std::min(first, below);
    if (first >= below) return answer;
    Nodes<Contents> nodes;
    try {
        std::priority_queue<Open> queue;
        const std::uint32_t root = nodes.find(begin);
        nodes[root].cost = objective.start();
        queue.push({first, root});
        for (std::int64_t popped = 0;; ++popped) {
            if (queue.empty()) {
                answer.lower_bound = below;
                break;
            }
            const Open open = queue.top();
            // All open nodes have no less: wherever the search stops from here on, this is proved.
            answer.lower_bound = open.estimate;
            if (nodes.size() > most_states) {
                answer.end = SearchEnd::states;
                break;
            }
            if (popped % polled_every == 0 && !poll()) {
                answer.end = SearchEnd::poll;
                break;
            }
            queue.pop();
            Node<Contents>& node = nodes[open.node];
            if (node.is_closed) continue;
            node.is_closed = true;
            const Contents now = node.contents;
            const std::int64_t spent = node.cost;
            if (now.gradient() == 0) {
                answer.value = spent;
                answer.steps = steps_to(nodes, open.node);
                break;
            }
            const auto fits = [&](std::int64_t bytes) { return objective.fits(spent, bytes); };
            for_each_move(chain, now, fits, [&](const Move<Contents>& move) {
                const std::int64_t cost = objective.after(spent, move);
                if (cost >= below) return;
                const std::int64_t estimate =
                    std::max(open.estimate, objective.estimate(cost, move.after));
                if (estimate >= below) return;
                const std::uint32_t place = nodes.find(move.after);
                Node<Contents>& reached = nodes[place];
                if (cost >= reached.cost) return;
                reached = {move.after,
                           cost,
                           open.node,
                           static_cast<std::uint8_t>(move.stage),
                           static_cast<std::int8_t>(move.operation),
                           move.drops_input,
                           false};
                queue.push({estimate, place});
            });
        }
    } catch (const std::bad_alloc&) {
        answer.end = SearchEnd::memory;
    }
    answer.states = nodes.size();
    return answer;
}

// Short chains need few words per state, beside 24 bytes and about 20 in the hash table.
template <typename Cost>
ContentsAnswer search(const ContentsChain& chain, const Cost& objective, std::int64_t below,
                      std::int64_t most_states, const std::function<bool()>& poll) {
    const auto search_in = [&](auto contents) {
        return search_words<decltype(contents)>(chain, objective, below, most_states, poll);
    };
    if (chain.stages <= Contents<1>::most_stages) return search_in(Contents<1>{});
    if (chain.stages <= Contents<2>::most_stages) return search_in(Contents<2>{});
    if (chain.stages <= Contents<4>::most_stages) return search_in(Contents<4>{});
    return search_in(LongestContents{});
}

}  // namespace

ContentsAnswer fastest_contents(const ContentsChain& chain, std::int64_t memory_bytes,
                                std::int64_t below_ns, std::int64_t most_states,
                                const std::function<bool()>& poll) {
    assert(chain.stages >= 1 && chain.stages <= most_stages);
    // A limit above the sum of all sizes is lowered to it, so that sums stay in range.
    memory_bytes = std::min(memory_bytes, beyond_all);
    std::optional<Rerun> objective;
    try {
        objective.emplace(chain, memory_bytes, below_ns, poll);
    } catch (const std::bad_alloc&) {
        ContentsAnswer nothing;
        nothing.lower_bound = std::min(std::int64_t{0}, below_ns);
        nothing.value = beyond_all;
        nothing.end = SearchEnd::memory;
        return nothing;
    }
    return search(chain, *objective, below_ns, most_states, poll);
}

ContentsAnswer smallest_contents(const ContentsChain& chain, std::int64_t below_bytes,
                                 std::int64_t most_states, const std::function<bool()>& poll) {
    assert(chain.stages >= 1 && chain.stages <= most_stages);
    return search(chain, Peak(chain), below_bytes, most_states, poll);
}

}  // namespace jettison
