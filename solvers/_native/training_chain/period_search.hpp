// Search for a period of a training step within a limit, or for the proof that there is none.
//
// Boundary states are those at the ends of steps. A walk through them in which step i takes t_i has
// the value sum (t_i - T), T the longest period of interest. A schedule of period T or less is a
// closed walk of one step whose value is at most 0. Any closed walk of that kind, rotated to begin
// behind the largest of its partial sums, has no partial sum above 0; and a walk that begins with
// the same weights and states on the device, and with no update due, can do all that it does in no
// more time. So values above 0 are cut off, and so is every state within a step whose value with
// the least time that is left is above 0.
//
// Labels of boundary states are improved layer by layer: those that were improved are where the
// next step begins, in a search in the order of time. A label is better if its value is smaller, or
// the same after more steps. If none improves any more, no closed walk has a value of at most 0: no
// schedule of period T or less exists, nor one of several steps whose mean is. A label that is
// behind an earlier one of the same state closes a walk.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "training_chain/step_state.hpp"
#include "training_chain/step_timing.hpp"

namespace jettison {

struct PeriodAnswer {
    enum class Kind : std::int32_t { none, period, mean, too_many_states };
    Kind kind = Kind::none;
    // Of the walk that was found: its time in all, and its number of steps; 1 has events.
    std::int64_t walk_ns = 0, steps = 0;
    std::vector<TimedEvent> events;
    std::int64_t states = 0;
};

class PeriodSearch {
public:
    // `longest_ns` is T; so many states at most are kept at a time, of about 200 bytes each.
    PeriodSearch(const TrainingSteps& steps, std::uint32_t updated_by_host,
                 std::int64_t longest_ns, std::int64_t most_states);

    // `look` is called now and then, and may throw.
    PeriodAnswer run(const std::function<void()>& look);

private:
    struct Label {
        StepState state;
        std::int64_t value, steps;
        std::int32_t before;  // -1 for the first
    };
    struct Node {
        StepState state;
        std::int64_t value, steps;
        std::int32_t label;  // of the boundary state at which its step begins
    };
    struct Hash {
        std::size_t operator()(const StepState& state) const { return state.hash(); }
    };
    struct TooMany {};

    std::int64_t states_kept(std::size_t in_step) const {
        return static_cast<std::int64_t>(in_step + labels_.size());
    }
    std::vector<Label> step(const std::vector<std::int32_t>& begun,
                            const std::function<void()>& look);
    std::vector<TimedEvent> events_of(const StepState& boundary, std::int64_t duration,
                                      const std::function<void()>& look);
    void add_events(const StepState& from, const StepState& started, std::int64_t now,
                    std::vector<TimedEvent>& events) const;

    StepMoves moves_;
    std::int64_t longest_, most_states_, states_ = 0;  // times are in units
    std::vector<Label> labels_;
    std::unordered_map<StepState, std::int32_t, Hash> best_;
};

}  // namespace jettison
