#include "offload_cut.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace jettison {
namespace {

using States = std::vector<CutState>;

// The ways to hold a tensor of stage k where transfers free memory byte by byte: only the sum of
// what is held counts.
class FluidMoves {
public:
    FluidMoves(const OffloadCut& cut, const FluidLink& link) : cut_(cut), link_(link) {}

    void save(std::size_t k, const CutState& from, States& to) const {
        if (from.device_bytes + cut_.plain_bytes[k] > link_.input_bytes[k]) return;
        hold(k, from, cut_.saved_bytes[k], 0, to);
    }

    void save_and_run(std::size_t k, const CutState& from, States& to) const {
        hold(k, from, cut_.saved_bytes[k], cut_.forward_ns[k], to);
    }

    void hold_plain(std::size_t k, const CutState& from, States& to) const {
        hold(k, from, cut_.plain_bytes[k], cut_.forward_ns[k], to);
    }

    void start_path(std::size_t k, std::size_t, std::int64_t, const CutState& from,
                    States& to) const {
        save(k, from, to);
        if (k > 0) hold_plain(k, from, to);
    }

    // The room that a tensor needs at least, that a state has taken, and that stages from k on have.
    double weight(std::size_t k) const { return static_cast<double>(cut_.saved_bytes[k]); }
    double taken(const CutState& state) const { return static_cast<double>(state.device_bytes); }
    double room(std::size_t k) const { return static_cast<double>(link_.held_bytes[k]); }

private:
    void hold(std::size_t k, const CutState& from, std::int64_t bytes, std::int64_t ns,
              States& to) const {
        const std::int64_t device = from.device_bytes + bytes;
        if (device <= link_.held_bytes[k]) {
            to.push_back({device, from.link_ns, from.rerun_ns + ns});
        }
    }

    const OffloadCut& cut_;
    const FluidLink& link_;
};

// The ways to hold a tensor of stage k where all of it is on the device, or all of it on the host.
class AtOnceMoves {
public:
    AtOnceMoves(const OffloadCut& cut, const AtOnceLink& link) : cut_(cut), link_(link) {
        double bytes = 0;
        double ns = 0;
        for (std::size_t k = 0; k < cut.saved_bytes.size(); ++k) {
            bytes += static_cast<double>(cut.saved_bytes[k]);
            ns += static_cast<double>(link.saved_ns[k]);
        }
        bytes_per_ns_ = ns > 0 ? bytes / ns : 0;
    }

    void save(std::size_t k, const CutState& from, States& to) const {
        on_device(from, cut_.saved_bytes[k], 0, to);
        if (from.link_ns + link_.saved_ns[k] <= link_.early_ns[k]) {
            to.push_back({from.device_bytes, from.link_ns + link_.saved_ns[k], from.rerun_ns});
        }
        // A plain copy lets abar come later. Nothing but a second run of F makes one.
        if (k == 0 || link_.slack_ns < cut_.forward_ns[k]) return;
        CutState with_copy = from;
        if (k + 1 == cut_.plain_bytes.size()) with_copy.device_bytes += cut_.plain_bytes[k];
        on_host(k, with_copy, link_.saved_ns[k], 0, to);
    }

    void save_and_run(std::size_t k, const CutState& from, States& to) const {
        on_host(k, from, link_.saved_ns[k], cut_.forward_ns[k], to);
    }

    void hold_plain(std::size_t k, const CutState& from, States& to) const {
        on_device(from, cut_.plain_bytes[k], cut_.forward_ns[k], to);
        on_host(k, from, link_.plain_ns[k], cut_.forward_ns[k], to);
    }

    // The stages above k up to `top` run after k is back and before B of `top`: for `ns`.
    void start_path(std::size_t k, std::size_t top, std::int64_t ns, const CutState& from,
                    States& to) const {
        const std::int64_t left_ns = link_.path_ns[top] - ns;
        if (link_.saved_ns[k] <= left_ns) {
            save(k, from, to);
        } else {
            on_device(from, cut_.saved_bytes[k], 0, to);
            if (k > 0 && link_.slack_ns >= cut_.forward_ns[k]) {
                // They can read a plain copy, on the device or back in time, beside a late abar.
                CutState with_copy = from;
                if (link_.plain_ns[k] <= left_ns) {
                    with_copy.link_ns += link_.plain_ns[k];
                } else {
                    with_copy.device_bytes += cut_.plain_bytes[k];
                }
                on_host(k, with_copy, link_.saved_ns[k], 0, to);
            }
        }
        if (k == 0) return;
        if (link_.plain_ns[k] <= left_ns) {
            hold_plain(k, from, to);
        } else {
            on_device(from, cut_.plain_bytes[k], cut_.forward_ns[k], to);
        }
    }

    // Time of the link counts as bytes, at any rate: what is on neither side is in no room.
    double weight(std::size_t k) const {
        return std::min(static_cast<double>(cut_.saved_bytes[k]), on_link(link_.saved_ns[k]));
    }
    double taken(const CutState& state) const {
        return static_cast<double>(state.device_bytes) + on_link(state.link_ns);
    }
    double room(std::size_t k) const {
        const std::int64_t ns = std::max(link_.late_ns[k], link_.early_ns[k]);
        return static_cast<double>(cut_.device_bytes) + on_link(std::max<std::int64_t>(0, ns));
    }

private:
    double on_link(std::int64_t ns) const { return bytes_per_ns_ * static_cast<double>(ns); }

    void on_device(const CutState& from, std::int64_t bytes, std::int64_t ns, States& to) const {
        const std::int64_t device = from.device_bytes + bytes;
        if (device <= cut_.device_bytes) to.push_back({device, from.link_ns, from.rerun_ns + ns});
    }

    void on_host(std::size_t k, const CutState& from, std::int64_t copy_ns, std::int64_t ns,
                 States& to) const {
        const std::int64_t link = from.link_ns + copy_ns;
        if (link <= link_.late_ns[k] && from.device_bytes <= cut_.device_bytes) {
            to.push_back({from.device_bytes, link, from.rerun_ns + ns});
        }
    }

    const OffloadCut& cut_;
    const AtOnceLink& link_;
    double bytes_per_ns_;
};

// What the stages that are not decided yet cost at least. Each of them is held, in the room of the
// stages from `lowest_` on, or runs again: for any price p of room that is at least
//     sum of min(ns, p weight) - p (room - taken).
// The price is that of the linear relaxation before anything is decided.
template <typename Moves>
class Floor {
public:
    Floor(const OffloadCut& cut, const Moves& moves) : moves_(moves), rest_(cut.saved_bytes.size() + 1) {
        const std::size_t count = cut.saved_bytes.size();
        const std::vector<double> ns(cut.forward_ns.begin(), cut.forward_ns.end());
        std::vector<double> weight(count);
        for (std::size_t k = 0; k < count; ++k) weight[k] = moves.weight(k);
        const double room = choose_price(ns, weight);
        double size = price_ * room;
        for (std::size_t k = 0; k < count; ++k) {
            // The input has to be held.
            const double held = price_ * weight[k];
            const double least = k == 0 ? held : std::min(ns[k], held);
            rest_[k + 1] = k < lowest_ ? 0 : (k == lowest_ ? -price_ * room : rest_[k]) + least;
            size += held + ns[k];
        }
        // Far beyond all that rounding can amount to.
        margin_ = 1 + 1e-9 * size;
    }

    // Whether a state in which the stages from k on are decided ends above a delay.
    bool rules_out(std::size_t k, const CutState& state, std::int64_t delay_ns) const {
        return k > lowest_ && rest_[k] + cost(state) - margin_ > static_cast<double>(delay_ns);
    }

    // The time and the room that a state has taken, in time.
    double cost(const CutState& state) const {
        return static_cast<double>(state.rerun_ns) + price_ * moves_.taken(state);
    }

private:
    // Relaxes the room of the stages from each one on, and takes the one that costs most.
    double choose_price(const std::vector<double>& ns, const std::vector<double>& weight) {
        std::vector<std::size_t> order;
        for (std::size_t k = 1; k < ns.size(); ++k) {
            if (ns[k] > 0) order.push_back(k);
        }
        const auto room_of_time = [&](std::size_t k) { return weight[k] / ns[k]; };
        std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
            return room_of_time(left) < room_of_time(right);
        });
        double room = 0;
        double chosen = 0;
        double most = 0;
        for (std::size_t lowest = ns.size(); lowest-- > 0;) {
            room = std::max(room, moves_.room(lowest));
            double left = room - (lowest == 0 ? weight[0] : 0);
            double price = 0;
            double cost = 0;
            for (const std::size_t k : order) {
                if (k < lowest) continue;
                left -= weight[k];
                if (left >= 0) continue;
                if (price > 0) {
                    cost += ns[k];
                } else if (weight[k] > 0) {
                    price = ns[k] / weight[k];
                    cost = -left * price;
                }
            }
            if (cost > most) {
                most = cost;
                price_ = price;
                lowest_ = lowest;
                chosen = room;
            }
        }
        return chosen;
    }

    const Moves& moves_;
    std::size_t lowest_ = 0;
    double price_ = 0;
    double margin_ = 1;
    std::vector<double> rest_;
};

bool before(const CutState& left, const CutState& right) {
    return std::tie(left.device_bytes, left.link_ns, left.rerun_ns) <
           std::tie(right.device_bytes, right.link_ns, right.rerun_ns);
}

// Keeps the states that no other one beats in all three numbers.
States undominated(States states) {
    std::sort(states.begin(), states.end(), before);
    States kept;
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

// Neighbours become one state that is no worse than each of them in any number: what the states
// do not allow may seem to be allowed.
class Merging {
public:
    explicit Merging(std::size_t most_states) : most_states_(most_states) {}

    template <typename Moves>
    States operator()(const Floor<Moves>&, States states) const {
        if (states.size() <= most_states_) return states;
        const std::size_t width = (states.size() + most_states_ - 1) / most_states_;
        States merged;
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

// Only the most promising states are kept: what is found is allowed, but not all is found.
class Beam {
public:
    explicit Beam(std::size_t most_states) : most_states_(most_states) {}

    template <typename Moves>
    States operator()(const Floor<Moves>& floor, States states) const {
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
    States states;
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
    const auto prune = [&](std::size_t k, States& states) {
        states.erase(std::remove_if(states.begin(), states.end(),
                                    [&](const CutState& state) { return hopeless(k, state); }),
                     states.end());
        return limit(floor, undominated(std::move(states)));
    };
    const auto path_too_late = [&cut](const Path& path, const CutState& state) {
        return state.rerun_ns + cut.later_ns[path.top] > cut.delay_ns;
    };
    States saved{CutState{}};  // everything so far is saved
    std::vector<Path> paths;
    States ended;  // a path has ended above: what is below is free
    for (std::size_t k = count - 1; k > 0; --k) {
        const std::int64_t ns = cut.forward_ns[k];
        States after;
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
            States& states = paths.back().states;
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
        States above;
        for (const CutState& state : saved) {
            moves.save(k, state, above);
            if (k + 1 < count) moves.save_and_run(k, state, above);
        }
        saved = prune(k, above);
        if (saved.empty() && paths.empty() && ended.empty()) return false;
        poll();
    }
    // The input of the chain cannot be computed again.
    States after;
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
