#include "remat_peak.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace jettison {
namespace {
double env(const char* name, double fallback) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::atof(text) : fallback;
}
const double moves_per_node = env("P_MOVES", 30);
constexpr std::int64_t least_moves = 300;
const double first_step = env("P_STEP", 8);
const double first_temperature = env("P_T0", 1.0);
const double last_temperature = env("P_T1", 0.002);
const double time_weight = env("P_W", 0.01);
const double longer = env("P_LONGER", 1.5);

}  // namespace

RematPeak::RematPeak(std::shared_ptr<const RecomputedGraph> graph, std::int64_t stop_at_bytes,
                     std::uint64_t seed)
    : graph_(std::move(graph)),
      stop_at_bytes_(stop_at_bytes),
      moves_(*graph_, stop_at_bytes, seed),
      mean_bytes_(mean_amount(graph_->output_bytes)),
      time_weight_(time_weight * mean_bytes_ / mean_amount(graph_->duration_ns)),
      best_bytes_(moves_.state().peak_bytes()) {}

void RematPeak::start_from(const std::vector<Recomputation>& start) {
    moves_.restore(start);
    moves_.drop_unread();
    best_ = moves_.state().recomputations();
    best_bytes_ = moves_.state().peak_bytes();
    step_ = 0;
    moves_left_ = 0;
}

void RematPeak::run(std::int64_t moves, const std::function<void()>& poll) {
    for (; moves > 0 && !is_over(); --moves) {
        if (moves % 16 == 0) poll();
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
    const double share = std::ldexp(1 / first_step, -step_);
    const auto less = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(share * static_cast<double>(best_bytes_)));
    moves_.set_memory_bytes(std::max(stop_at_bytes_, best_bytes_ - (step_ == last_step ? 1 : less)));
    moves_left_ = std::max(least_moves, static_cast<std::int64_t>(
        moves_per_node * graph_->nodes * std::pow(longer, step_)));
    temperature_ = first_temperature * mean_bytes_;
    cooling_ = std::pow(last_temperature / first_temperature, 1.0 / static_cast<double>(moves_left_));
    energy_ = energy();
}

double RematPeak::energy() const {
    return time_weight_ * static_cast<double>(moves_.state().time_ns()) +
           static_cast<double>(moves_.state().excess());
}

void RematPeak::move() {
    moves_.towards_less_memory(moves_.below(100));
    if (moves_.has_changed()) {
        const double changed = energy();
        const double growth = changed - energy_;
        if (growth <= 0 || moves_.share() < std::exp(-growth / temperature_)) {
            energy_ = changed;
            moves_.accept();
        } else {
            moves_.undo();
        }
    }
    temperature_ *= cooling_;
}

}  // namespace jettison
