#include "remat_offload/cut.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "remat_offload/cut_floor.hpp"
#include "remat_offload/cut_moves.hpp"

namespace jettison {
namespace {

bool before(const CutState& left, const CutState& right) {
    return std::tie(left.device_bytes, left.link_ns, left.rerun_ns) <
           std::tie(right.device_bytes, right.link_ns, right.rerun_ns);
}

// Keeps the states that no other one beats in all three numbers.
CutStates undominated(CutStates states) {
    std::sort(states.begin(), states.end(), before);
    CutStates kept;
    // Of the states so far: link times ascend, rerun times descend.
    std::vector<std::pair<std::int64_t, std::int64_t>> stairs;
    for (const CutState& state : states) {
        auto place = std::upper_bound(
            stairs.begin(), stairs.end(), state.link_ns,
            [](std::int64_t link_ns, const auto& stair) { return link_ns < stair.first; });
        if (place != stairs.begin() && std::prev(place)->second <= state.rerun_ns) continue;
        kept.push_back(state);
        if (place != stairs.begin() && std::prev(place)->first == state.link_ns) --place;
        const auto last = std::find_if(place, stairs.end(), [&state](const auto& stair) {
            return stair.second < state.rerun_ns;
        });
        place = stairs.erase(place, last);
        stairs.insert(place, {state.link_ns, state.rerun_ns});
    }
    return kept;
}

// Neighbours are merged into a state that is no worse than either in any number: a delay that the
// states do not allow may then seem to be allowed.
class Merging {
public:
    explicit Merging(std::size_t most_states) : most_states_(most_states) {}

    template <typename Moves>
    CutStates operator()(const Floor<Moves>&, CutStates states) const {
        if (states.size() <= most_states_) return states;
        const std::size_t width = (states.size() + most_states_ - 1) / most_states_;
        CutStates merged;
        for (std::size_t first = 0; first < states.size(); first += width) {
            CutState best = states[first];
            for (std::size_t i = first; i < std::min(first + width, states.size()); ++i) {
                best.link_ns = std::min(best.link_ns, states[i].link_ns);
                best.rerun_ns = std::min(best.rerun_ns, states[i].rerun_ns);
            }
            merged.push_back(best);
        }
        return merged;
    }

private:
    std::size_t most_states_;
};

// Only the most promising states are kept: an answer "allowed" is right, the other may be wrong.
class Beam {
public:
    explicit Beam(std::size_t most_states) : most_states_(most_states) {}

    template <typename Moves>
    CutStates operator()(const Floor<Moves>& floor, CutStates states) const {
        if (states.size() <= most_states_) return states;
        const auto end = states.begin() + static_cast<std::ptrdiff_t>(most_states_);
        std::nth_element(states.begin(), end, states.end(),
                         [&floor](const CutState& left, const CutState& right) {
                             return floor.cost(left) < floor.cost(right);
                         });
        states.erase(end, states.end());
        return states;
    }

private:
    std::size_t most_states_;
};

// States in which everything above `top` is saved, and the stages from `top` down to the current
// one run between the cut and the last F_all of `top`.
struct Path {
    std::size_t top;
    std::int64_t ns;
    CutStates states;
};

template <typename Moves, typename Limit>
bool search(const OffloadCut& cut, const Moves& moves, const Floor<Moves>& floor,
            const Limit& limit, const std::function<void()>& poll) {
    const std::size_t count = cut.plain_bytes.size();
    const auto too_late = [&cut](const CutState& state) { return state.rerun_ns > cut.delay_ns; };
    const auto hopeless = [&](std::size_t k, const CutState& state) {
        return too_late(state) || floor.rules_out(k, state, cut.delay_ns);
    };
    if (hopeless(count, CutState{})) return false;
    const auto prune = [&](std::size_t k, CutStates& states) {
        states.erase(std::remove_if(states.begin(), states.end(),
                                    [&](const CutState& state) { return hopeless(k, state); }),
                     states.end());
        return limit(floor, undominated(std::move(states)));
    };
    const auto path_too_late = [&cut](const Path& path, const CutState& state) {
        return state.rerun_ns + cut.later_ns[path.top] > cut.delay_ns;
    };
    CutStates saved{CutState{}};  // everything so far is saved
    std::vector<Path> paths;
    CutStates ended;  // a path has ended above: stages below may be held in any way
    for (std::size_t k = count - 1; k > 0; --k) {
        const std::int64_t ns = cut.forward_ns[k];
        CutStates after;
        for (const CutState& state : ended) {
            moves.save(k, state, after);
            after.push_back({state.device_bytes, state.link_ns, state.rerun_ns + ns});
        }
        for (const Path& path : paths) {
            for (const CutState& state : path.states) {
                moves.start_path(k, path.top, path.ns, state, after);
            }
        }
        ended = prune(k, after);
        paths.push_back({k, 0, saved});
        if (k + 1 == count) {
            // The operation at the cut reads a plain input.
            CutStates& states = paths.back().states;
            for (CutState& state : states) state.device_bytes += cut.plain_bytes[k];
            states.erase(std::remove_if(states.begin(), states.end(),
                                        [&cut](const CutState& state) {
                                            return state.device_bytes > cut.device_bytes;
                                        }),
                         states.end());
        }
        for (Path& path : paths) {
            path.ns += ns;
            for (CutState& state : path.states) state.rerun_ns += ns;
            path.states.erase(
                std::remove_if(path.states.begin(), path.states.end(),
                               [&](const CutState& state) {
                                   return path_too_late(path, state) || hopeless(k, state);
                               }),
                path.states.end());
        }
        paths.erase(std::remove_if(paths.begin(), paths.end(),
                                   [](const Path& path) { return path.states.empty(); }),
                    paths.end());
        CutStates above;
        for (const CutState& state : saved) {
            moves.save(k, state, above);
            if (k + 1 < count) moves.save_and_run(k, state, above);
        }
        saved = prune(k, above);
        if (saved.empty() && paths.empty() && ended.empty()) return false;
        poll();
    }
    // The input of the chain cannot be computed again.
    CutStates after;
    for (const CutState& state : saved) moves.save(0, state, after);
    for (const CutState& state : ended) moves.save(0, state, after);
    for (const Path& path : paths) {
        for (const CutState& state : path.states) {
            moves.start_path(0, path.top, path.ns, state, after);
        }
    }
    return !std::all_of(after.begin(), after.end(), too_late);
}

template <typename Moves>
bool allows(const OffloadCut& cut, const Moves& moves, std::size_t most_states,
            const std::function<void()>& poll) {
    constexpr std::size_t few_states = 8;
    const Floor<Moves> floor(cut, moves);
    return search(cut, moves, floor, Beam(std::min(few_states, most_states)), poll) ||
           search(cut, moves, floor, Merging(most_states), poll);
}

}  // namespace

bool allows(const OffloadCut& cut, const FluidLink& link, std::size_t most_states,
            const std::function<void()>& poll) {
    return allows(cut, FluidMoves(cut, link), most_states, poll);
}

bool allows(const OffloadCut& cut, const AtOnceLink& link, std::size_t most_states,
            const std::function<void()>& poll) {
    return allows(cut, AtOnceMoves(cut, link), most_states, poll);
}

}  // namespace jettison
