// Graph of states with costs on nodes and edges, and rows of limited memory.
//
// A node is a choice of one state, a pair of a place (a strategy) and a kind (what is done with the
// value). An edge joins a source and its reader; its cost is times[type of the reader] x table[row
// of the source][column of the reader], or infinite unless ok[type of the reader][type of the
// source]. Rows, columns and types are classes of places and of kinds. A row of memory limits a sum
// of sizes, which depend on the place, over the kinds in a mask.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace jettison {

// Integers for sums of products, which 64 bits do not hold.
__extension__ using Wide = __int128;

// Cost of what is forbidden, in what Python hands over.
constexpr std::int64_t forbidden_cost = -1;

// Numbers in which messages are computed: doubles to search, integers to prove.
template <typename Number>
struct Infinite;
template <>
struct Infinite<double> {
    static constexpr double value = 1e30;
};
template <>
struct Infinite<std::int64_t> {
    static constexpr std::int64_t value = std::int64_t{1} << 61;
};

struct MessageNode {
    std::int32_t places = 0;
    std::int32_t kinds = 0;
    // State by state, those that are left; ascending in place, then kind.
    std::vector<std::int32_t> place;
    std::vector<std::int32_t> kind;
    std::vector<std::int64_t> cost;
    // Edges to nodes before this one, and after it.
    std::vector<std::int32_t> earlier;
    std::vector<std::int32_t> later;
    // Places in `MemoryTerms` of what takes memory in rows.
    std::vector<std::int32_t> terms;

    std::int32_t states() const { return static_cast<std::int32_t>(place.size()); }
};

// One end of an edge: the classes of its states, `type x width + class`.
struct EdgeEnd {
    std::int32_t node = 0;
    std::int32_t types = 1;
    std::int32_t width = 1;
    std::vector<std::int32_t> class_of_place;
    std::vector<std::int32_t> type_of_kind;
    // For each state that is left.
    std::vector<std::int32_t> slot;
    // By slot, whether a state of it is left.
    std::vector<std::uint8_t> has_state;

    std::int32_t slots() const { return types * width; }
};

struct MessageEdge {
    EdgeEnd source;
    EdgeEnd reader;
    // How often the table is paid, by type of the reader.
    std::vector<std::int64_t> times;
    // By type of the reader, then type of the source.
    std::vector<std::uint8_t> ok;
    // Places of source and reader are equal; there is no table then.
    bool is_identity = false;
    // By row, then column, and turned; `forbidden_cost` forbids.
    std::vector<std::int64_t> table;
    std::vector<std::int64_t> turned;

    bool source_is_earlier() const { return source.node < reader.node; }
    const EdgeEnd& earlier() const { return source_is_earlier() ? source : reader; }
    const EdgeEnd& later() const { return source_is_earlier() ? reader : source; }
};

// Rows next to each other in which a value counts, and the mask of the kinds that take it.
struct MemorySpan {
    std::int32_t first = 0;
    std::int32_t last = 0;
    std::int32_t mask = 0;
};

// Sizes of one value by place, with the rows in which it counts.
struct MemoryTerm {
    std::int32_t node = 0;
    std::vector<std::int64_t> bytes;
    std::vector<MemorySpan> spans;
};

class MessageGraph {
public:
    std::vector<MessageNode> nodes;
    std::vector<MessageEdge> edges;
    std::vector<MemoryTerm> terms;
    // By kind of the node, whether memory is taken.
    std::vector<std::vector<std::uint8_t>> masks;
    std::vector<std::int64_t> capacity;

    // Fills in what follows from nodes, edges and terms. Throws std::invalid_argument.
    void finish();

    // Removes states; `keeps` has one byte for each state of the node.
    void remove(std::int32_t node, const std::vector<std::uint8_t>& keeps);

    // Removes states without a partner across some edge until none is left; whether every node has
    // a state then.
    bool propagate();

    // Whether every node has a state.
    bool has_states() const;

    std::int64_t num_states() const;

    // Upper limit on the cost of any labelling, and on each cost that counts in one.
    double largest_cost() const;

private:
    void fill_slots(EdgeEnd& end) const;
};

}  // namespace jettison
