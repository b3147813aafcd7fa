// POFO (Appendix B): persistent recomputation together with offloading before the loss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "remat_chain/persistent_program.hpp"
#include "remat_offload/linked_chain.hpp"
#include "remat_offload/rotor.hpp"
#include "remat_offload/without_link.hpp"

namespace jettison {

// How the backward phase is evaluated: rounded to a grid, or at the states that are reached.
enum class Accuracy { lower, upper, exact };

// A value that is offloaded: a^stage, or a-bar^stage.
struct Offloaded {
    std::int32_t stage;
    bool saved;
};

struct OffloadAnswer {
    // Ticks; nothing that is faster than this and than the limit exists. On the upper grid it
    // proves nothing.
    std::int64_t floor = never;
    std::int64_t time = never;  // ticks of the schedule, or `never` if none beats the limit
    bool is_complete = true;    // no label was left out that might have beaten time and limit
    std::vector<Step> steps;
    std::vector<Offloaded> offloaded;  // in the order in which they leave
    std::int64_t labels = 0;           // expanded
    std::int64_t states = 0;           // of the backward phase, so far on this grid
};

// The program on finer and finer grids, each of which begins from the bound of the one before.
class OffloadProgram {
public:
    // `most_bytes` is for all tables together; std::bad_alloc beyond.
    OffloadProgram(OffloadChain chain, Recomputation recomputation, std::int64_t most_bytes);
    ~OffloadProgram();

    // A function that may throw to stop; called now and then.
    using Poll = std::function<void()>;

    // Counts what is kept in slots of one size, and the memory of the backward phase in slots of
    // another, and bounds what is faster than the limit, which is never raised. One of the two
    // programs of the bound may stay as it is on the grid before: the weaker one. Returns the bound
    // for the whole chain, `never` if nothing is faster.
    std::int64_t refine(std::int64_t slot, std::int64_t backward_slot, bool both_programs,
                        std::int64_t limit, const Poll& poll);

    // Searches for a schedule that is faster than the limit, with at most `most` labels for each
    // stage; on the lower grid for the floor alone.
    OffloadAnswer search(Accuracy accuracy, std::size_t most, std::int64_t limit, const Poll& poll);

private:
    struct Level;

    Budget budget_;
    OffloadChain chain_;
    ForwardRuns runs_;
    Recomputation recomputation_;
    Poll poll_;
    std::unique_ptr<Level> level_;
};

}  // namespace jettison
