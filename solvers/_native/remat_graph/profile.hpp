// Memory profile of a staged schedule: the memory that each computation uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace jettison {

// Stage and node in one number: computations run in ascending order of it.
using Moment = std::int64_t;

inline Moment moment(std::int32_t stage, std::int32_t node) {
    return (static_cast<Moment>(stage) << 32) | node;
}
inline std::int32_t stage_of(Moment when) { return static_cast<std::int32_t>(when >> 32); }
inline std::int32_t node_of(Moment when) { return static_cast<std::int32_t>(when & 0xffffffff); }

// One block for each stage. What a value adds while it lives across whole stages is noted once for
// each of them; only where a stage is above the limit, or the value is there for a part of it, the
// single computations are looked at. So a change takes time linear in the number of stages, not of
// computations, and an insertion moves no other stage.
class RematProfile {
public:
    // Limit on the number of computations, on which the sum of excesses relies.
    static constexpr std::size_t most_computations = std::size_t{1} << 20;

    // Every node once, each in its own stage, with what it uses. The unit of the excess is 2 to the
    // power of `unit_bits` bytes.
    RematProfile(const std::vector<std::int64_t>& used_bytes, std::int64_t limit_bytes,
                 int unit_bits);

    // Changes the limit. Time linear in the number of computations.
    void set_limit_bytes(std::int64_t limit_bytes);

    // Sum over all computations of what they use above the limit, each rounded up to a multiple of
    // the unit, in units.
    std::int64_t excess() const { return excess_; }
    std::int64_t unit_bytes() const { return std::int64_t{1} << unit_bits_; }
    // The part of that sum from a computation that uses a number of bytes.
    std::int64_t excess_of(std::int64_t bytes) const;
    std::int64_t peak_bytes() const;
    std::size_t computations() const { return computations_; }
    std::vector<std::int32_t> sequence() const;

    // The first computation from this moment on in its stage. It has to exist.
    std::int32_t node_from(Moment when) const;
    std::int64_t used_bytes_from(Moment when) const;

    // The first computation above the limit from this moment on, around the end if need be. The
    // excess must not be zero.
    Moment above_limit(Moment from) const;

    // By how much the excess would fall if the computations from one moment on and before another
    // used fewer bytes.
    std::int64_t relief(Moment from, Moment to, std::int64_t bytes) const;

    void insert(Moment when, std::int64_t used_bytes);
    void erase(Moment when);
    // Adds bytes to what the computations from one moment on and before another use.
    void change(Moment from, Moment to, std::int64_t bytes);

private:
    // Ascending nodes; the last one is that of the stage. Without what is noted for the stage.
    struct Block {
        std::vector<std::int32_t> nodes;
        std::vector<std::int64_t> used_bytes;
    };

    std::size_t place_of(Moment when) const;
    template <typename Visit>
    void visit_crowded(std::size_t from, std::size_t to, Visit visit) const;
    std::int64_t relief_of_stage(std::size_t stage, std::size_t from, std::size_t to,
                                 std::int64_t bytes) const;
    void find_peak(std::size_t stage);
    void change_part(std::size_t stage, std::size_t from, std::size_t to, std::int64_t bytes);
    void change_stages(std::size_t from, std::size_t to, std::int64_t bytes);
    // For a stage that was changed as a whole, of which only the peak was updated.
    void change_others(std::size_t stage, std::int64_t bytes);

    std::int64_t limit_bytes_;
    int unit_bits_;
    std::int64_t excess_ = 0;
    std::size_t computations_;
    std::vector<Block> blocks_;
    // A bit for each stage: whether it has more than one computation.
    std::vector<std::uint64_t> is_crowded_;
    std::vector<std::int64_t> noted_bytes_;
    std::vector<std::int64_t> peak_bytes_;
};

}  // namespace jettison
