// Minima over one end of an edge for each class of the other one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "remat_sharding/message_graph.hpp"

namespace jettison {

// Tables of one kind of numbers: costs scaled, forbidden ones infinite.
template <typename Number>
struct EdgeCosts {
    std::vector<Number> table;
    std::vector<Number> turned;

    EdgeCosts(const MessageEdge& edge, Number scale) {
        for (const std::int64_t cost : edge.table) table.push_back(scaled(cost, scale));
        for (const std::int64_t cost : edge.turned) turned.push_back(scaled(cost, scale));
    }

private:
    static Number scaled(std::int64_t cost, Number scale) {
        return cost == forbidden_cost ? Infinite<Number>::value
                                      : static_cast<Number>(cost) * scale;
    }
};

// out[c] = min over r of in[r] + times x costs[r][c], capped where infinite.
template <typename Number>
void min_plus(const Number* in, std::int32_t rows, const std::vector<Number>& costs,
              std::int32_t columns, std::int64_t times, Number* out) {
    constexpr Number infinite = Infinite<Number>::value;
    if (times == 0) {
        const Number least = *std::min_element(in, in + rows);
        std::fill(out, out + columns, least);
        return;
    }
    const auto factor = static_cast<Number>(times);
    for (std::int32_t r = 0; r < rows; ++r) {
        if (in[r] >= infinite) continue;
        const Number value = in[r];
        const Number* row = costs.data() + std::int64_t{r} * columns;
        for (std::int32_t c = 0; c < columns; ++c) {
            const Number sum = row[c] >= infinite ? infinite : value + factor * row[c];
            out[c] = sum < out[c] ? sum : out[c];
        }
    }
}

// The work space of `from_source` and `from_reader`.
template <typename Number>
struct EdgeScratch {
    std::vector<Number> joined;
    std::vector<Number> row;
};

// To each slot of the reader, the least value of a source slot with the cost of the pair.
template <typename Number>
void from_source(const MessageEdge& edge, const EdgeCosts<Number>& costs,
                 const std::vector<Number>& in, std::vector<Number>& out,
                 EdgeScratch<Number>& scratch) {
    constexpr Number infinite = Infinite<Number>::value;
    const std::int32_t rows = edge.source.width;
    const std::int32_t columns = edge.reader.width;
    out.assign(static_cast<std::size_t>(edge.reader.slots()), infinite);
    for (std::int32_t c = 0; c < edge.reader.types; ++c) {
        scratch.joined.assign(static_cast<std::size_t>(rows), infinite);
        for (std::int32_t s = 0; s < edge.source.types; ++s) {
            if (!edge.ok[c * edge.source.types + s]) continue;
            const Number* part = in.data() + std::int64_t{s} * rows;
            for (std::int32_t a = 0; a < rows; ++a) {
                scratch.joined[a] = part[a] < scratch.joined[a] ? part[a] : scratch.joined[a];
            }
        }
        Number* to = out.data() + std::int64_t{c} * columns;
        if (edge.is_identity) {
            std::copy(scratch.joined.begin(), scratch.joined.end(), to);
        } else {
            min_plus(scratch.joined.data(), rows, costs.table, columns, edge.times[c], to);
        }
    }
}

// To each slot of the source, the least value of a reader slot with the cost of the pair.
template <typename Number>
void from_reader(const MessageEdge& edge, const EdgeCosts<Number>& costs,
                 const std::vector<Number>& in, std::vector<Number>& out,
                 EdgeScratch<Number>& scratch) {
    constexpr Number infinite = Infinite<Number>::value;
    const std::int32_t rows = edge.source.width;
    const std::int32_t columns = edge.reader.width;
    out.assign(static_cast<std::size_t>(edge.source.slots()), infinite);
    for (std::int32_t c = 0; c < edge.reader.types; ++c) {
        const Number* part = in.data() + std::int64_t{c} * columns;
        scratch.row.assign(static_cast<std::size_t>(rows), infinite);
        if (edge.is_identity) {
            std::copy(part, part + columns, scratch.row.begin());
        } else {
            min_plus(part, columns, costs.turned, rows, edge.times[c], scratch.row.data());
        }
        for (std::int32_t s = 0; s < edge.source.types; ++s) {
            if (!edge.ok[c * edge.source.types + s]) continue;
            Number* to = out.data() + std::int64_t{s} * rows;
            for (std::int32_t a = 0; a < rows; ++a) {
                to[a] = scratch.row[a] < to[a] ? scratch.row[a] : to[a];
            }
        }
    }
}

// From one end to the other, whichever is the source.
template <typename Number>
void across(const MessageEdge& edge, const EdgeCosts<Number>& costs, bool from_the_source,
            const std::vector<Number>& in, std::vector<Number>& out,
            EdgeScratch<Number>& scratch) {
    if (from_the_source) {
        from_source(edge, costs, in, out, scratch);
    } else {
        from_reader(edge, costs, in, out, scratch);
    }
}

// The cost of one pair of slots; infinite if it is forbidden.
template <typename Number>
Number pair_cost(const MessageEdge& edge, const EdgeCosts<Number>& costs, std::int32_t source_slot,
                 std::int32_t reader_slot) {
    constexpr Number infinite = Infinite<Number>::value;
    const std::int32_t type = reader_slot / edge.reader.width;
    const std::int32_t column = reader_slot % edge.reader.width;
    const std::int32_t of_source = source_slot / edge.source.width;
    const std::int32_t row = source_slot % edge.source.width;
    if (!edge.ok[type * edge.source.types + of_source]) return infinite;
    if (edge.is_identity) return row == column ? Number{0} : infinite;
    if (edge.times[type] == 0) return Number{0};
    const Number cost = costs.table[std::int64_t{row} * edge.reader.width + column];
    return cost >= infinite ? infinite : static_cast<Number>(edge.times[type]) * cost;
}

}  // namespace jettison
