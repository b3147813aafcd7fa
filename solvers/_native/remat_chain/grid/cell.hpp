// One cell of a persistent program's table: a sub-problem in every number of slots.
#pragma once

#include <cstdint>
#include <limits>

namespace jettison {

// Two infinities still add without overflow.
template <typename Time>
constexpr Time infinite = std::numeric_limits<Time>::max() / 2;

// Numbers of slots are worked on in chunks, and chunks in groups of as many; splits in blocks.
constexpr std::int64_t chunk = 16;
constexpr std::int64_t block = 16;

// Rows of second parts, or a row among others. For each chunk, the values of all splits lie side by
// side. A sample is the value at the end of a chunk; for each split, the samples of all chunks lie
// side by side.
template <typename Time>
struct Parts {
    Time* values;         // [chunks][splits][chunk]
    std::int64_t stride;  // from one chunk to the next
    Time* samples;        // [splits][sample_stride]
};

// Rows of first parts, in blocks: in each, the values of its splits and then their samples, as
// above. The first of the splits is the one at `offset`.
template <typename Time>
struct Blocks {
    Time* const* blocks;
    std::int64_t offset;
};

// First parts and second parts of the same splits.
template <typename Time>
struct Splits {
    std::int64_t count;
    Blocks<Time> left;
    Parts<Time> right;  // each shifted by its input
};

// The row is stored beside those of its parts, where larger cells read it.
template <typename Time>
struct Cell {
    std::int64_t chunks;
    std::int64_t sample_stride;
    Splits<Time> lists[2];  // without drops, the second one is empty
    Parts<Time> as_left;    // where the row becomes a first part; nowhere if there are no values
    Parts<Time> as_right;   // and a second part
    std::int64_t input_slots;  // by which it is shifted then
    Time prefix;
    std::int64_t none_need;

    const Time* after_all;  // of s+1, between two chunks: infinities, and its last value
    std::int64_t saved_slots;  // may be negative: the input goes as what is saved comes
    Time backward;
    std::int64_t all_need;

    std::int64_t saturation;  // from here on the value is `saturated`
    Time saturated;

    Time limit;  // values from here on count as infinite
    bool stores_infinite;  // whether a row of infinities is stored as well

    Time* row;          // between two such chunks
    Time* block_least;  // scratch, [blocks of splits of both lists][chunk]
};

// Computes
//
//   row[m] = min( [m >= all_need]  backward + after_all[m - saved_slots],
//                 [m >= none_need] min over the splits of right[m] + left[m] - prefix ).
//
// No row increases with m, and neither does a sum of two. So the best sum at the end of each chunk
// is found first, from the samples. It bounds the chunk that follows from above; and a block of
// splits whose best sum at the end of that chunk is no smaller cannot improve on it anywhere in
// the chunk and is left out. The answer is exact, and most of the work is avoided. The limit bounds
// the first chunks in the same way. Returns whether any value is below it.
bool fill_cell(const Cell<std::int32_t>& cell);
bool fill_cell(const Cell<std::int64_t>& cell);

}  // namespace jettison
