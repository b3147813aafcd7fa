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
class Floor {
public:
    template <typename Moves>
    Floor(const OffloadCut& cut, const Moves& moves) {
        const std::size_t count = cut.saved_bytes.size();
        std::vector<double> weight(count);
        std::vector<double> ns(cut.forward_ns.begin(), cut.forward_ns.end());
        std::vector<std::size_t> order;
        for (std::size_t k = 0; k < count; ++k) {
            weight[k] = moves.weight(k);
            if (k > 0) order.push_back(k);
        }
        std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
            return ns[left] * weight[right] > ns[right] * weight[left];
        });
        double room = 0;
        double best = 0;
        for (std::size_t lowest = count; lowest-- > 0;) {
            room = std::max(room, moves.room(lowest));
            double left = room - (lowest == 0 ? weight[0] : 0);
            double price = 0;
            double cost = 0;
            for (const std::size_t k : order) {
                if (k < lowest) continue;
                left -= weight[k];
                if (left >= 0) continue;
                if (price == 0) {
                    price = weight[k] > 0 ? ns[k] / weight[k] : 0;
                    cost = -left * price;
                } else {
                    cost += ns[k];
                }
            }
            if (cost > best) {
                best = cost;
                price_ = price;
                lowest_ = lowest;
                room_ = room;
            }
        }
        rest_.assign(count + 1, -price_ * room_);
        double size = price_ * room_;
        for (std::size_t k = lowest_; k < count; ++k) {
            // The input has to be held.
            const double held = price_ * weight[k];
            rest_[k + 1] = rest_[k] + (k == 0 ? held : std::min(ns[k], held));
            size += held + ns[k];
        }
        // Far beyond all that rounding can amount to.
        margin_ = 1 + 1e-9 * size;
    }

    // Whether a state in which the stages from k on are decided ends above the delay.
    template <typename Moves>
    bool rules_out(std::size_t k, const CutState& state, const Moves& moves,
                   std::int64_t delay_ns) const {
        if (price_ <= 0 || k <= lowest_) return false;
        const double least =
            static_cast<double>(state.rerun_ns) + rest_[k] + price_ * moves.taken(state);
        return least - margin_ * (1 + 1e-9 * moves.taken(state) / room_) > static_cast<double>(delay_ns);
    }

private:
    std::size_t lowest_ = 0;
    double price_ = 0;
    double room_ = 1;
    double margin_ = 1;
    std::vector<double> rest_;
};

bool before(const CutState& left, const CutState& right) {
    return std::tie(left.device_bytes, left.link_ns, left.rerun_ns) <
           std::tie(right.device_bytes, right.link_ns, right.rerun_ns);
}

// Keeps the states that no other one beats in all three numbers.
States undominated(States states, std::size_t most_states) {
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
    if (kept.size() <= most_states) return kept;
    // Neighbours become one state that is no worse than each of them in any number.
    const std::size_t width = (kept.size() + most_states - 1) / most_states;
    States merged;
    for (std::size_t first = 0; first < kept.size(); first += width) {
        CutState best = kept[first];
        for (std::size_t i = first; i < std::min(first + width, kept.size()); ++i) {
            best.link_ns = std::min(best.link_ns, kept[i].link_ns);
            best.rerun_ns = std::min(best.rerun_ns, kept[i].rerun_ns);
        }
        merged.push_back(best);
    }
    return merged;
}

// States in which everything above `top` is saved, and the stages from `top` down to the current
// one run between the cut and the last F_all of `top`.
struct Path {
    std::size_t top;
    std::int64_t ns;
    States states;
};

template <typename Moves>
std::optional<std::int64_t> search(const OffloadCut& cut, const Moves& moves,
                                   std::size_t most_states, const std::function<void()>& poll) {
    const std::size_t count = cut.plain_bytes.size();
    const Floor floor(cut, moves);
    const auto too_late = [&cut](const CutState& state) { return state.rerun_ns > cut.delay_ns; };
    const auto hopeless = [&](std::size_t k, const CutState& state) {
        return too_late(state) || floor.rules_out(k, state, moves, cut.delay_ns);
    };
    if (hopeless(count, CutState{})) return std::nullopt;
    const auto prune = [&](std::size_t k, States& states) {
        states.erase(std::remove_if(states.begin(), states.end(),
                                    [&](const CutState& state) { return hopeless(k, state); }),
                     states.end());
        return undominated(std::move(states), most_states);
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
        if (saved.empty() && paths.empty() && ended.empty()) return std::nullopt;
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
    std::optional<std::int64_t> best;
    for (const CutState& state : after) {
        if (!too_late(state) && (!best || state.rerun_ns < *best)) best = state.rerun_ns;
    }
    return best;
}

}  // namespace

std::optional<std::int64_t> least_rerun(const OffloadCut& cut, const FluidLink& link,
                                        std::size_t most_states,
                                        const std::function<void()>& poll) {
    return search(cut, FluidMoves(cut, link), most_states, poll);
}

std::optional<std::int64_t> least_rerun(const OffloadCut& cut, const AtOnceLink& link,
                                        std::size_t most_states,
                                        const std::function<void()>& poll) {
    return search(cut, AtOnceMoves(cut, link), most_states, poll);
}

}  // namespace jettison
