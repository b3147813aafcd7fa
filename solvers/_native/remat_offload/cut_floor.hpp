// Lower bound on the cost of the decisions that are still open at a cut of a chain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "remat_offload/cut.hpp"

namespace jettison {

// Each open stage is held, in the memory (room) left for the stages from `lowest_` on, or runs
// again. For any price p of that memory they cost at least
//     sum of min(ns, p weight) - p (room - taken).
// The price is that of the linear relaxation before the first decision.
template <typename Moves>
class Floor {
public:
    Floor(const OffloadCut& cut, const Moves& moves)
        : moves_(moves), rest_(cut.saved_bytes.size() + 1) {
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
        // A margin far above all rounding errors.
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

}  // namespace jettison
