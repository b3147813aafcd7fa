#include "remat_graph/peak.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace jettison {
namespace {

// Length of the first attempt in moves per node, and its factor after an attempt without success.
constexpr double moves_per_node = 100;
constexpr double longer_in_vain = 1.5;
// The first step as a share of the peak. A failed attempt halves it; the last step is a byte.
constexpr double first_step = 1.0 / 32;
// Temperatures, and the cost of a computation of mean duration, in mean sizes of a node.
constexpr double first_temperature = 1.0;
constexpr double last_temperature = 0.002;
constexpr double time_weight = 0.01;

}  // namespace

RematPeak::RematPeak(std::shared_ptr<const RecomputedGraph> graph, std::int64_t stop_at_bytes,
                     std::uint64_t seed)
    : graph_(std::move(graph)),
      stop_at_bytes_(stop_at_bytes),
      moves_(*graph_, stop_at_bytes, seed),
      mean_bytes_(mean_amount(graph_->output_bytes)),
      best_bytes_(moves_.state().peak_bytes()) {
    moves_.set_weights(time_weight * mean_bytes_ / mean_amount(graph_->duration_ns), 1);
}

void RematPeak::run(std::int64_t moves, const std::function<void()>& poll) {
    for (; moves > 0 && !is_over(); --moves) {
        if (tried_ % 16 == 0) poll();
        step();
    }
}

void RematPeak::step() {
    ++tried_;
    if (moves_left_ == 0) begin_attempt();
    move();
    --moves_left_;
    if (moves_.state().excess() == 0) {
        best_ = moves_.state().recomputations();
        best_bytes_ = moves_.state().peak_bytes();
        moves_left_ = 0;
        is_fresh_ = true;
    } else if (moves_left_ == 0) {
        ++step_;
        is_fresh_ = false;
    }
}

void RematPeak::begin_attempt() {
    if (!is_fresh_) moves_.restore(best_);
    std::int64_t less_bytes = 1;
    if (step_ < last_step) {
        const double share = std::ldexp(first_step, -step_);
        const double less = share * static_cast<double>(best_bytes_);
        less_bytes = std::max(less_bytes, static_cast<std::int64_t>(less));
    }
    moves_.set_memory_bytes(std::max(stop_at_bytes_, best_bytes_ - less_bytes));
    const double length = moves_per_node * graph_->nodes * std::pow(longer_in_vain, step_);
    moves_left_ = static_cast<std::int64_t>(length);
    temperature_ = first_temperature * mean_bytes_;
    cooling_ = std::pow(last_temperature / first_temperature, 1 / length);
    energy_ = moves_.energy();
}

void RematPeak::move() {
    // Accepted with the probability exp(-growth / temperature), drawn ahead of the move.
    const double most_energy = energy_ - temperature_ * std::log(1 - moves_.share());
    moves_.set_most_energy(most_energy);
    moves_.towards_less_memory(moves_.below(100));
    if (moves_.has_changed()) {
        const double changed = moves_.energy();
        if (changed <= most_energy) {
            energy_ = changed;
            moves_.accept();
        } else {
            moves_.undo();
        }
    }
    temperature_ *= cooling_;
}

}  // namespace jettison
