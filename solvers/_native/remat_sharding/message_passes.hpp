// Sequential tree-reweighted messages (TRW-S) over a graph, in doubles or in integers.
//
// Source: Kolmogorov, Convergent tree-reweighted message passing for energy minimization, PAMI
// 2006. A pass goes through the nodes in order, or back. A node adds up its cost, the price of its
// memory and all messages to it, shares the sum out to the edges ahead, and sends along each the
// least that every state of the other end can expect.
//
// The pass back gives a bound. With D_i the sum of node i less its minimum, h_i(x) the share of it
// for each earlier edge, F and G the messages forward and back along an edge (j, i),
//
//     cost(x) = sum_i min D_i + sum_i (D_i - n_i h_i)(x_i)
//             + sum_(j,i) (theta_ji(x_j, x_i) - F(x_i) - G(x_j) + h_i(x_i))
//
// with n_i earlier edges of i, n_i h_i <= D_i, and G(x_j) the minimum of the rest over x_i. So each
// term has a minimum that is known, and their sum is a bound whatever the messages forward are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "remat_sharding/edge_minima.hpp"
#include "remat_sharding/message_graph.hpp"

namespace jettison {

template <typename Number>
struct TotalOf {
    using type = double;
};
template <>
struct TotalOf<std::int64_t> {
    using type = Wide;
};

template <typename Number>
class MessagePasses {
public:
    using Total = typename TotalOf<Number>::type;

    // Messages of an edge, by slot of the end that they go to.
    struct Pair {
        std::vector<Number> forward;
        std::vector<Number> back;
    };

    std::vector<Pair> messages;
    // By term and kind, the price of a byte.
    std::vector<std::vector<Number>> price;

    MessagePasses(const MessageGraph& graph, Number scale) : graph_(graph), scale_(scale) {
        for (const MessageEdge& edge : graph.edges) {
            costs_.emplace_back(edge, scale);
            Pair pair;
            pair.forward.assign(static_cast<std::size_t>(edge.later().slots()), Number{0});
            pair.back.assign(static_cast<std::size_t>(edge.earlier().slots()), Number{0});
            messages.push_back(std::move(pair));
        }
        price.resize(graph.terms.size());
    }

    const EdgeCosts<Number>& costs(std::int32_t edge) const { return costs_[edge]; }
    const std::vector<EdgeCosts<Number>>& costs() const { return costs_; }

    // Sets the prices from those of the rows. A price is that of `unit` bytes.
    void set_prices(const std::vector<Number>& of_rows) {
        std::vector<Number> before(of_rows.size() + 1, Number{0});
        for (std::size_t r = 0; r < of_rows.size(); ++r) before[r + 1] = before[r] + of_rows[r];
        for (std::size_t t = 0; t < graph_.terms.size(); ++t) {
            const MemoryTerm& term = graph_.terms[t];
            const std::int32_t kinds = graph_.nodes[term.node].kinds;
            price[t].assign(static_cast<std::size_t>(kinds), Number{0});
            for (const MemorySpan& span : term.spans) {
                const Number sum = before[span.last + 1] - before[span.first];
                const std::vector<std::uint8_t>& mask = graph_.masks[span.mask];
                for (std::int32_t kind = 0; kind < kinds; ++kind) {
                    if (mask[kind]) price[t][kind] += sum;
                }
            }
        }
    }

    // The cost of each state with the price of its memory.
    void unary(std::int32_t index, std::vector<Number>& out) const {
        const MessageNode& node = graph_.nodes[index];
        out.resize(node.place.size());
        for (std::size_t x = 0; x < out.size(); ++x) {
            out[x] = static_cast<Number>(node.cost[x]) * scale_;
        }
        for (const std::int32_t t : node.terms) {
            const MemoryTerm& term = graph_.terms[t];
            for (std::size_t x = 0; x < out.size(); ++x) {
                out[x] += priced(term.bytes[node.place[x]], price[t][node.kind[x]]);
            }
        }
    }

    // The sum of a node: its unary costs and all messages to it.
    void sum_at(std::int32_t index, std::vector<Number>& out) const {
        unary(index, out);
        const MessageNode& node = graph_.nodes[index];
        for (const std::int32_t e : node.earlier) add(messages[e].forward, later_slots(e), out);
        for (const std::int32_t e : node.later) add(messages[e].back, earlier_slots(e), out);
    }

    void forward() {
        for (std::int32_t i = 0; i < count(); ++i) {
            const MessageNode& node = graph_.nodes[i];
            if (node.later.empty()) continue;
            sum_at(i, sum_);
            share_out(node);
            for (const std::int32_t e : node.later) {
                send(e, true, share_, messages[e].back, messages[e].forward);
            }
        }
    }

    // Whether a visitor of the pass back wants to see nodes and edges.
    struct Silent {
        void node(std::int32_t, const std::vector<Number>&, const std::vector<Number>&, Number) {}
        void edge(std::int32_t, std::int32_t, const std::vector<Number>&) {}
    };

    // Goes back and returns the bound, without what the rows of memory give back. The visitor sees
    // each node with its sum less the minimum, and the share of an edge; then its earlier edges.
    template <typename Visitor>
    Total back(Visitor& visitor) {
        Total bound = 0;
        for (std::int32_t i = count() - 1; i >= 0; --i) {
            const MessageNode& node = graph_.nodes[i];
            sum_at(i, sum_);
            const Number least = *std::min_element(sum_.begin(), sum_.end());
            for (Number& value : sum_) value -= least;
            bound += static_cast<Total>(least);
            share_out(node);
            visitor.node(i, sum_, share_, least);
            for (const std::int32_t e : node.earlier) {
                bound += static_cast<Total>(
                    send(e, false, share_, messages[e].forward, messages[e].back));
                visitor.edge(e, i, share_);
            }
        }
        return bound;
    }

    Total back() {
        Silent silent;
        return back(silent);
    }

    std::int32_t count() const { return static_cast<std::int32_t>(graph_.nodes.size()); }

    const std::vector<std::int32_t>& earlier_slots(std::int32_t e) const {
        return graph_.edges[e].earlier().slot;
    }
    const std::vector<std::int32_t>& later_slots(std::int32_t e) const {
        return graph_.edges[e].later().slot;
    }

    // The number of shares into which the sum of a node is divided.
    static std::int32_t shares_of(const MessageNode& node) {
        return static_cast<std::int32_t>(
            std::max({node.earlier.size(), node.later.size(), std::size_t{1}}));
    }

    // Digits after the point of prices of integers.
    static constexpr int price_digits = 32;

private:
    static double priced(std::int64_t bytes, double price) {
        return static_cast<double>(bytes) * price;
    }
    // Rounded down: prices of what fits then add up to no more than that of the limit.
    static std::int64_t priced(std::int64_t bytes, std::int64_t price) {
        return static_cast<std::int64_t>((static_cast<Wide>(bytes) * price) >> price_digits);
    }

    static void add(const std::vector<Number>& message, const std::vector<std::int32_t>& slots,
                    std::vector<Number>& out) {
        for (std::size_t x = 0; x < out.size(); ++x) out[x] += message[slots[x]];
    }

    void share_out(const MessageNode& node) {
        const auto parts = static_cast<Number>(shares_of(node));
        share_.resize(sum_.size());
        for (std::size_t x = 0; x < sum_.size(); ++x) share_[x] = sum_[x] / parts;
    }

    // Sends along an edge from shares less the message that came, and returns the least of the new
    // message, which is taken off it.
    Number send(std::int32_t e, bool ahead, const std::vector<Number>& share,
                const std::vector<Number>& came, std::vector<Number>& out) {
        constexpr Number infinite = Infinite<Number>::value;
        const MessageEdge& edge = graph_.edges[e];
        const EdgeEnd& from = ahead ? edge.earlier() : edge.later();
        const EdgeEnd& to = ahead ? edge.later() : edge.earlier();
        in_.assign(static_cast<std::size_t>(from.slots()), infinite);
        for (std::size_t x = 0; x < share.size(); ++x) {
            const std::int32_t slot = from.slot[x];
            const Number value = share[x] - came[slot];
            in_[slot] = value < in_[slot] ? value : in_[slot];
        }
        across(edge, costs_[e], edge.source_is_earlier() == ahead, in_, out, scratch_);
        Number least = infinite;
        for (std::int32_t slot = 0; slot < to.slots(); ++slot) {
            if (to.has_state[slot]) least = std::min(least, out[slot]);
        }
        // Slots without a state hold nothing that is read; zeros keep them small.
        for (std::int32_t slot = 0; slot < to.slots(); ++slot) {
            out[slot] = to.has_state[slot] ? out[slot] - least : Number{0};
        }
        return least;
    }

    const MessageGraph& graph_;
    Number scale_;
    std::vector<EdgeCosts<Number>> costs_;
    EdgeScratch<Number> scratch_;
    std::vector<Number> sum_;
    std::vector<Number> share_;
    std::vector<Number> in_;
};

}  // namespace jettison
