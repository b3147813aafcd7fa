#include "remat_offload/pofo_proof.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "remat_offload/backward.hpp"
#include "remat_offload/bound.hpp"

namespace jettison {
namespace {

// All costs are ticks beyond all operations of the stages that are left, once each.
//
// The proof is made forward, on demand. The root asks for the goal. A state (i, x, A, DF, DB) that
// is asked for h is proved by one of the bounds of bound.hpp and without_link.hpp, at the entry of
// its A on their grid, or else, as a state of its own, by all that can follow it, which is asked
// for what is left of h. Bounds are asked for the least point of their curve that proves h: DF or
// DB where it reaches h. They hold at every entry because of those of the entries that they were
// made from, so that they lead to bounds only. A state that is asked for no more than another
// one proves is left out.
//
// The parts of the backward phase that all these rest on are asked for what is used of them: of
// rotor's table on the grid where that suffices, else of the exact curve.
class Prover {
public:
    Prover(const OffloadContext& context, const ProofTask& task)
        : context_(context),
          chain_(context.chain),
          task_(task),
          n_(context.chain.stages),
          claim_(context.budget),
          rotor_(context, Rounding::lower),
          without_link_(context, Recomputation::allowed, rotor_),
          exact_(context, rotor_),
          once_(at(n_) + 2, 0),
          asked_(at(n_ + 1) * 2),
          parts_(at(n_) * at(n_ + 1) / 2) {
        for (std::int32_t i = n_; i >= 1; --i) {
            once_[at(i)] = once_[at(i + 1)] + chain_.forward[at(i)] + chain_.backward[at(i)];
        }
        if (task.link_counts) {
            bound_.emplace(context, Recomputation::allowed, rotor_, nullptr, LinkPrograms::both,
                           once_[1] + task.goal);
        }
    }

    OffloadProof run() {
        ask({1, 0}, {0, 0, 0, task_.goal});
        std::vector<std::string> forward;
        for (std::int32_t i = 1; i <= n_; ++i) {
            for (std::int32_t x = 0; x <= (i > 1 ? 1 : 0); ++x) {
                forward.push_back(prove_states({i, x}));
                if (proof_.is_too_large) return std::move(proof_);
            }
        }
        std::vector<std::string> backward;
        for (std::int32_t length = n_ - 1; length >= 0; --length) {
            for (std::int32_t i = 1; i + length <= n_; ++i) {
                backward.push_back(prove_parts(i, i + length));
                if (proof_.is_too_large) return std::move(proof_);
            }
        }
        if (proof_.missing > 0) return std::move(proof_);
        // Each rests on what is shorter, or later, and comes after it.
        for (auto text = backward.rbegin(); text != backward.rend(); ++text) proof_.lines += *text;
        for (auto text = forward.rbegin(); text != forward.rend(); ++text) proof_.lines += *text;
        return std::move(proof_);
    }

private:
    struct Place {
        std::int32_t i, x;
    };
    struct State {
        std::int64_t a, df, db, cost;
    };
    // A point of the curve of a grid's entry: which rise of the curve, and up to what cost.
    struct Entry {
        std::int64_t a, rise, cost;
    };
    struct Asked {
        std::vector<Entry> after, offload, prefetch;
        std::vector<State> states;
    };
    struct Part {
        std::int64_t memory, d, cost;
    };

    // What a state has room for.
    struct Rooms {
        Rooms(const OffloadChain& chain, Place place, std::int64_t a)
            : input(place.x == 1 ? chain.saved[at(place.i - 1)] : chain.output[at(place.i - 1)]),
              av(chain.memory - a - input),
              backward(av - chain.backward_need[at(place.i)]),
              forward(av - chain.output[at(place.i)] - chain.forward_overhead[at(place.i)]),
              all(av - chain.saving(place.i)) {}
        bool is_enough() const { return backward >= 0 && forward >= 0; }

        std::int64_t input, av, backward, forward, all;
    };

    // ---- the forward phase

    void ask(Place place, State state) {
        if (is_bounded(place, state, true)) return;
        const Rooms rooms(chain_, place, state.a);
        to_rooms(rooms, state);
        std::vector<State>& states = asked_[index(place)].states;
        states.push_back(state);
        if (states.size() > at(4 * task_.most_points)) keep_best(states);
        if (states.size() > at(2 * task_.most_points)) proof_.is_too_large = true;
    }

    // What does not fit beside the first operations waits, whatever follows.
    static void to_rooms(const Rooms& rooms, State& state) {
        state.cost -= positive(state.df - rooms.forward) + positive(state.db - rooms.backward);
        state.df = std::min(state.df, rooms.forward);
        state.db = std::min(state.db, rooms.backward);
    }

    // Whether a state has a cost without a proof of its own; `asks` for what it rests on.
    bool is_bounded(Place place, State state, bool asks) {
        if (state.cost <= 0) return true;
        const Rooms rooms(chain_, place, state.a);
        if (!rooms.is_enough()) return true;
        to_rooms(rooms, state);
        if (state.cost <= 0) return true;
        const auto [i, x] = place;
        const std::int64_t a = state.a / context_.grid.slot;
        const std::int64_t time = state.cost + once_[at(i)];
        Asked& asked = asked_[index(place)];
        if (without_link_.after(i, x, a) >= time) {
            if (asks) asked.after.push_back({a, -1, state.cost});
            return true;
        }
        if (!bound_) return false;
        for (const bool offloads : {true, false}) {
            const CurveView& curve =
                offloads ? bound_->offload(i, x, a) : bound_->prefetch(i, x, a);
            if (curve(offloads ? state.df : state.db) < time) continue;
            if (asks) {
                (offloads ? asked.offload : asked.prefetch)
                    .push_back({a, rise_to(curve, time), state.cost});
            }
            return true;
        }
        return false;
    }

    // The rise of a curve, counted by its breaks, in which it reaches a value; -1 for its base.
    static std::int64_t rise_to(const CurveView& curve, std::int64_t value) {
        std::int64_t height = curve.base;
        for (std::size_t k = 0; k < curve.count && height < value; k += 2) {
            const std::int64_t end = curve.next(k + 1);
            if (end >= never || height + end - curve.breaks[k] >= value) {
                return static_cast<std::int64_t>(k);
            }
            height += end - curve.breaks[k];
        }
        return -1;
    }

    std::string prove_states(Place place) {
        Asked asked = std::move(asked_[index(place)]);
        asked_[index(place)] = {};
        std::vector<State> states = std::move(asked.states);
        keep_best(states);
        proof_.searched += static_cast<std::int64_t>(states.size());
        const auto [i, x] = place;
        for (auto& [entries, kind] : {std::pair{&asked.after, 0}, std::pair{&asked.offload, 1},
                                      std::pair{&asked.prefetch, 2}}) {
            std::vector<State> points;
            for (const Entry& entry : largest(*entries)) {
                State point{entry.a * context_.grid.slot, 0, 0, entry.cost};
                if (kind > 0 && entry.rise >= 0) {
                    const CurveView& curve = kind == 1 ? bound_->offload(i, x, entry.a)
                                                       : bound_->prefetch(i, x, entry.a);
                    const std::int64_t d = curve.first_reaching(entry.cost + once_[at(i)]);
                    (kind == 1 ? point.df : point.db) = d;
                }
                points.push_back(point);
            }
            keep_best(points);
            states.insert(states.end(), points.begin(), points.end());
        }
        count(states.size());
        if (proof_.is_too_large) return {};
        std::sort(states.begin(), states.end(), [](const State& one, const State& other) {
            return std::tie(one.a, other.cost, one.df, one.db) <
                   std::tie(other.a, one.cost, other.df, other.db);
        });
        std::string text;
        std::int64_t last = -1;
        for (std::size_t k = 0; k < states.size(); ++k) {
            const State& state = states[k];
            if (k % 256 == 0) context_.poll();
            expand(place, state);
            if (state.a != last) {
                if (last >= 0) text += '\n';
                text += "o " + std::to_string(i) + ' ' + std::to_string(x) + ' ' +
                        std::to_string(state.a);
                last = state.a;
            }
            text += ' ' + std::to_string(state.df) + ':' + std::to_string(state.db) + ':' +
                    std::to_string(state.cost);
        }
        if (last >= 0) text += '\n';
        return text;
    }

    void count(std::size_t points) {
        proof_.points += static_cast<std::int64_t>(points);
        proof_.is_too_large = proof_.is_too_large || proof_.points > task_.most_points;
    }

    // Of each rise of each entry, the largest cost.
    static std::vector<Entry> largest(std::vector<Entry>& entries) {
        std::sort(entries.begin(), entries.end(), [](const Entry& one, const Entry& other) {
            return std::tie(one.a, one.rise, other.cost) < std::tie(other.a, other.rise, one.cost);
        });
        std::vector<Entry> kept;
        for (const Entry& entry : entries) {
            const bool is_same =
                !kept.empty() && kept.back().a == entry.a && kept.back().rise == entry.rise;
            if (!is_same) kept.push_back(entry);
        }
        return kept;
    }

    // Leaves out what others prove: a cost falls by at most 1 per unit of DF and of DB.
    void keep_best(std::vector<State>& states) const {
        std::sort(states.begin(), states.end(), [](const State& one, const State& other) {
            return std::tie(other.cost, one.a, one.df, one.db) <
                   std::tie(one.cost, other.a, other.df, other.db);
        });
        std::vector<State> kept;
        for (const State& state : states) {
            const bool is_proved =
                std::any_of(kept.begin(), kept.end(), [&state](const State& other) {
                    return other.a <= state.a &&
                           other.cost - positive(other.df - state.df) -
                                   positive(other.db - state.db) >=
                               state.cost;
                });
            if (!is_proved) kept.push_back(state);
            if (kept.size() % 1024 == 0) context_.poll();
        }
        states = std::move(kept);
    }

    // Asks for all that follows a state.
    void expand(Place place, State state) {
        const Rooms rooms(chain_, place, state.a);
        const auto [i, x] = place;
        to_rooms(rooms, state);
        const std::int64_t moved = task_.link_counts ? rooms.input : 0;
        if (rooms.all >= 0) {
            const std::int64_t cost = positive(state.df - rooms.all);
            const std::int64_t df = std::min(state.df, rooms.all) - chain_.forward[at(i)];
            const std::int64_t db = positive(state.db - chain_.backward[at(i)]);
            const std::int64_t left = state.cost - cost;
            if (i == n_) {
                proof_.missing = std::max(proof_.missing, left - positive(df) - db);
            } else {
                ask({i + 1, 1}, {state.a + rooms.input, positive(df), db, left});
                ask({i + 1, 1}, {state.a, positive(df + moved), db + moved, left});
            }
        }
        for (std::int32_t j = i; j < n_ && context_.runs.most(i, j) <= rooms.av; ++j) {
            const std::int64_t run = context_.runs.time(i, j);
            if (run >= state.cost) break;
            const std::int64_t room = rooms.av - context_.runs.early(i, j);
            const std::int64_t left = state.cost - run - positive(state.df - room);
            const std::int64_t df = std::min(state.df, room) - run;
            if (left <= 0) continue;
            // The two states that follow if the part costs so much.
            const auto following = [&](std::int64_t part) {
                const std::int64_t db = positive(state.db - once(i, j) - part);
                return std::array<State, 2>{
                    State{state.a + rooms.input, positive(df), db, left - part},
                    State{state.a, positive(df + moved), db + moved, left - part}};
            };
            const Place next{j + 1, 0};
            const auto suffices = [&](std::int64_t part) {
                const auto [kept, offloaded] = following(part);
                return is_bounded(next, kept, false) && is_bounded(next, offloaded, false);
            };
            // The bounds leave out what rotor's costs rule out, and so nothing less is asked.
            std::int64_t part = std::min(rotor_cost(i, j, rooms.av), left);
            if (!suffices(part)) part = std::min(exact_cost(i, j, rooms.av, state.db), left);
            ask_part(i, j, {rooms.av, state.db, part});
            for (const State& after : following(part)) ask(next, after);
        }
    }

    // ---- the backward phase

    std::int64_t once(std::int32_t i, std::int32_t j) const {
        return once_[at(i)] - once_[at(j + 1)];
    }
    std::int64_t rotor_cost(std::int32_t i, std::int32_t j, std::int64_t memory) const {
        const std::int64_t time = rotor_.time(i, j, context_.grid.rounded_up(memory));
        return time >= never ? never : time - once(i, j);
    }
    std::int64_t exact_cost(std::int32_t i, std::int32_t j, std::int64_t memory, std::int64_t d) {
        const CurveView curve = exact_.curve(i, j, memory);
        return curve.base >= never ? never : curve(d) - once(i, j);
    }

    void ask_part(std::int32_t i, std::int32_t j, Part part) {
        const std::int64_t room = part.memory - chain_.backward_need[at(i)];
        if (room < 0) return;
        part.cost -= positive(part.d - room);
        part.d = std::min(part.d, room);
        if (part.cost <= 0) return;
        std::vector<Part>& parts = parts_[RotorTable::cell(i, j)];
        if (rotor_cost(i, j, part.memory) >= part.cost) {
            const std::int64_t m = context_.grid.rounded_up(part.memory);
            part = {context_.grid.memory(m), 0, part.cost};
        } else {
            const CurveView curve = exact_.curve(i, j, part.memory);
            const std::int64_t time = part.cost + once(i, j);
            if (curve(part.d) < time) {
                proof_.missing = std::max(proof_.missing, time - curve(part.d));
                return;
            }
            part.d = curve.first_reaching(time);
        }
        parts.push_back(part);
        if (parts.size() >= 4096 && parts.size() % 4096 == 0) keep_best(parts);
    }

    // Leaves out what others prove: costs fall with memory, and by at most 1 per unit of D.
    static void keep_best(std::vector<Part>& parts) {
        std::sort(parts.begin(), parts.end(), [](const Part& one, const Part& other) {
            return std::tie(other.memory, other.cost, one.d) <
                   std::tie(one.memory, one.cost, other.d);
        });
        std::vector<Part> kept, best;
        for (const Part& part : parts) {
            const auto proves = [&part](const Part& other) {
                return other.cost - positive(other.d - part.d) >= part.cost;
            };
            if (std::any_of(best.begin(), best.end(), proves)) continue;
            kept.push_back(part);
            const auto is_worse = [&part](const Part& other) {
                return part.cost - positive(part.d - other.d) >= other.cost;
            };
            best.erase(std::remove_if(best.begin(), best.end(), is_worse), best.end());
            best.push_back(part);
        }
        parts = std::move(kept);
    }

    std::string prove_parts(std::int32_t i, std::int32_t j) {
        std::vector<Part> parts = std::move(parts_[RotorTable::cell(i, j)]);
        keep_best(parts);
        count(parts.size());
        if (proof_.is_too_large) return {};
        std::string text;
        std::int64_t last = -1;
        for (std::size_t k = 0; k < parts.size(); ++k) {
            const Part& part = parts[k];
            if (k % 256 == 0) context_.poll();
            expand(i, j, part);
            if (part.memory != last) {
                if (last >= 0) text += '\n';
                text += "c " + std::to_string(i) + ' ' + std::to_string(j) + ' ' +
                        std::to_string(part.memory);
                last = part.memory;
            }
            text += ' ' + std::to_string(part.d) + ':' + std::to_string(part.cost);
        }
        if (last >= 0) text += '\n';
        return text;
    }

    void expand(std::int32_t i, std::int32_t j, const Part& part) {
        const std::int64_t passing = part.memory - chain_.gradient[at(j)];
        const std::int64_t all = passing - chain_.saving(i);
        if (all >= 0) {
            const std::int64_t d = positive(part.d - chain_.backward[at(i)]);
            const std::int64_t inner = i < j ? once(i + 1, j) : 0;
            if (d - all - inner < part.cost) {
                if (i == j) {
                    proof_.missing = std::max(proof_.missing, part.cost);
                } else {
                    ask_part(i + 1, j, {part.memory - chain_.saved[at(i)], d, part.cost});
                }
            }
        }
        for (std::int32_t k = i; k < j && context_.runs.most(i, k) <= passing; ++k) {
            const std::int64_t run = context_.runs.time(i, k);
            if (run >= part.cost) break;
            const std::int64_t left = part.cost - run;
            const std::int64_t room = passing - context_.runs.late(i, k);
            if (part.d - room - once(i, j) >= left) continue;
            const std::int64_t above = part.memory - chain_.output[at(k)];
            std::int64_t lower = rotor_cost(i, k, part.memory);
            std::int64_t upper = rotor_cost(k + 1, j, above);
            std::int64_t d = 0;
            if (upper >= left) {
                lower = 0;
            } else if (lower + upper < left) {
                lower = exact_cost(i, k, part.memory, part.d);
                d = positive(part.d - once(i, k) - lower);
            }
            lower = std::min(lower, left);
            ask_part(i, k, {part.memory, part.d, lower});
            ask_part(k + 1, j, {above, d, left - lower});
        }
    }

    static std::size_t index(Place place) { return at(place.i - 1) * 2 + at(place.x); }

    OffloadContext context_;
    const OffloadChain& chain_;
    ProofTask task_;
    std::int32_t n_;
    Claim claim_;
    RotorTable rotor_;
    WithoutLink without_link_;
    ExactBackward exact_;
    std::optional<OffloadBound> bound_;
    std::vector<std::int64_t> once_;  // of stages i to the end
    std::vector<Asked> asked_;
    std::vector<std::vector<Part>> parts_;
    OffloadProof proof_;
};

}  // namespace

OffloadProof prove_offload(const OffloadChain& chain, const ProofTask& task,
                           const std::function<void()>& poll) {
    Budget budget(task.most_bytes);
    const ForwardRuns runs(chain);
    const OffloadContext context{chain, runs, OffloadGrid(chain.memory, task.slot), budget, poll};
    return Prover(context, task).run();
}

}  // namespace jettison
