// Moves of the search over memory contents: operations that lead from some contents to others.
#pragma once

#include <algorithm>
#include <cstdint>

#include "remat_chain/contents/content.hpp"
#include "remat_chain/persistent_program.hpp"

namespace jettison {

template <typename Contents>
struct Move {
    Operation operation;
    std::int32_t stage;
    bool drops_input;           // right after it
    std::int64_t rerun_ns;      // of a forward that saves nothing: it runs beside the one that does
    std::int64_t needed_bytes;  // while it runs, and right after it
    Contents after;
};

template <typename Contents>
std::int64_t stored_bytes(const ContentsChain& chain, Contents now) {
    const std::int32_t gradient = now.gradient();
    std::int64_t stored = chain.held_bytes[0] + chain.gradient_bytes[index(gradient)];
    for (std::int32_t k = 1; k <= gradient; ++k) {
        const Held how = now.held(k);
        if (how == Held::whole) stored += chain.saved_bytes[index(k - 1)];
        if (how == Held::plain) stored += chain.held_bytes[index(k)];
    }
    return stored;
}

// The backward of the stage whose gradient is held, which is there as a whole and has its input.
template <typename Contents>
Move<Contents> backward_move(const ContentsChain& chain, Contents now, std::int64_t stored) {
    const std::int32_t gradient = now.gradient();
    Contents after = now.with(gradient, Held::nothing).with_gradient(gradient - 1);
    std::int64_t left = stored - chain.saved_bytes[index(gradient - 1)] -
                        chain.gradient_bytes[index(gradient)] +
                        chain.gradient_bytes[index(gradient - 1)];
    // The gradient takes the place of a plain input, as that of a^0 does.
    const bool is_plain = gradient == 1 || now.held(gradient - 1) != Held::whole;
    if (is_plain) left -= chain.held_bytes[index(gradient - 1)];
    if (is_plain && gradient > 1) after = after.with(gradient - 1, Held::nothing);
    const std::int64_t needed =
        std::max(stored + chain.backward_bytes[index(gradient - 1)], left);
    return {Operation::backward, gradient, false, 0, needed, after};
}

// Calls `visit` with every move that has to be tried; `fits` tells whether a number of bytes may be
// in use. The docstring of solvers/remat_chain/contents_search.py proves that the other moves are
// not needed.
template <typename Contents, typename Fits, typename Visit>
void for_each_move(const ContentsChain& chain, Contents now, Fits fits, Visit visit) {
    const std::int32_t gradient = now.gradient();
    const std::int64_t stored = stored_bytes(chain, now);
    const Held below = gradient == 1 ? Held::plain : now.held(gradient - 1);
    const bool is_saved = now.held(gradient) == Held::whole;
    if (below != Held::nothing) {
        // The backward leaves no more in memory than it finds: it comes first wherever it fits.
        const std::int64_t saved = chain.saved_bytes[index(gradient - 1)];
        const std::int64_t plain =
            below == Held::plain ? chain.held_bytes[index(gradient - 1)] : 0;
        const std::int64_t given = chain.gradient_bytes[index(gradient)] +
                                   (is_saved ? saved + plain : std::min(saved, plain));
        const bool makes_room =
            gradient == 1 || chain.gradient_bytes[index(gradient - 1)] <= given;
        if (is_saved) {
            const Move<Contents> backward = backward_move(chain, now, stored);
            visit(backward);
            if (makes_room && fits(backward.needed_bytes)) return;
        } else if (makes_room) {
            const std::int64_t needed = stored + chain.saving_bytes[index(gradient - 1)] + saved;
            const Contents after = now.with(gradient, Held::whole);
            if (fits(needed) && fits(backward_move(chain, after, stored + saved).needed_bytes)) {
                visit({Operation::forward_all, gradient, false, 0, needed, after});
                return;
            }
        }
    }
    for (std::int32_t k = 1; k <= gradient; ++k) {
        if (now.held(k) != Held::nothing) continue;
        if (k > 1 && now.held(k - 1) == Held::nothing) continue;
        const bool can_drop = k > 1 && now.held(k - 1) == Held::plain;
        const auto visit_both = [&](Operation operation, std::int64_t rerun_ns,
                                    std::int64_t working_bytes, Held how) {
            const Contents reached = now.with(k, how);
            visit({operation, k, false, rerun_ns, stored + working_bytes, reached});
            if (!can_drop) return;
            visit({operation, k, true, rerun_ns, stored + working_bytes,
                   reached.with(k - 1, Held::nothing)});
        };
        visit_both(Operation::forward_all, 0,
                   chain.saving_bytes[index(k - 1)] + chain.saved_bytes[index(k - 1)],
                   Held::whole);
        if (k < gradient) {
            visit_both(Operation::forward_checkpoint, chain.forward_ns[index(k - 1)],
                       chain.forward_bytes[index(k - 1)] + chain.held_bytes[index(k)],
                       Held::plain);
        }
    }
}

}  // namespace jettison
