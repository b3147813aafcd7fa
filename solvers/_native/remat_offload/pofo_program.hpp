// POFO (Appendix B): persistent recomputation together with offloading before the loss.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "remat_offload/bound.hpp"
#include "remat_chain/persistent_program.hpp"

namespace jettison {

// How the backward phase is evaluated: between two grids, or at the states that are reached.
enum class Accuracy { grid, exact };

struct OffloadProgram {
    OffloadChain chain;
    std::int32_t slots = 1;         // divides chain.memory
    std::int32_t most_labels = 1;   // kept per stage; more make both sides of the bracket tighter
    std::int64_t most_bytes = 0;    // of all tables together; std::bad_alloc beyond
    Recomputation recomputation = Recomputation::allowed;
    Accuracy accuracy = Accuracy::grid;
};

// A value that is offloaded: a^stage, or a-bar^stage.
struct Offloaded {
    std::int32_t stage;
    bool saved;
};

struct OffloadAnswer {
    std::int64_t floor = never;  // ticks; `never` proves that nothing fits
    std::int64_t time = never;   // ticks of the schedule, or `never` if none was found
    std::vector<Step> steps;
    std::vector<Offloaded> offloaded;  // in the order in which they leave
    std::int64_t labels = 0;           // expanded
    std::int64_t states = 0;           // of the backward phase
};

// `poll` is called now and then and may throw to stop.
OffloadAnswer solve_offload(const OffloadProgram& program, const std::function<void()>& poll);

}  // namespace jettison
