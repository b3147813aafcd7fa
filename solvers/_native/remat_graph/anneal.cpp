#include "remat_graph/anneal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace jettison {
namespace {

// Lengths of rounds in moves per node, and the least length.
constexpr std::int64_t first_moves_per_node = 30;
constexpr std::int64_t least_moves = 300;
constexpr std::int64_t longer_each_round = 3;
// Temperatures, as shares of the mean duration of a node.
constexpr double first_temperature = 1.0;
constexpr double first_temperature_from_best = 0.2;
constexpr double last_temperature = 0.002;
// Number of moves after which price and temperature change.
constexpr std::int64_t moves_per_price = 200;
constexpr double price_factor = 1.05;
constexpr double least_fitting = 0.2;
constexpr double most_fitting = 0.5;

}  // namespace

RematAnneal::RematAnneal(RecomputedGraph graph, std::int64_t memory_bytes, std::int64_t floor_ns,
                         std::int32_t rounds, std::uint64_t seed)
    : graph_(std::make_shared<const RecomputedGraph>(std::move(graph))),
      memory_bytes_(memory_bytes),
      floor_ns_(floor_ns),
      rounds_(rounds),
      seed_(seed),
      moves_(*graph_, memory_bytes, seed),
      mean_ns_(mean_amount(graph_->duration_ns)),
      price_(mean_ns_ / mean_amount(graph_->output_bytes)) {
    record();
}

void RematAnneal::start_from(const std::vector<std::int32_t>& sequence) {
    moves_.restore(recomputations_of(sequence, *graph_));
    moves_.drop_unread();
    peak_.reset();
    tried_in_round_ = 0;
    round_ = 0;
    is_started_ = true;
    record();
}

void RematAnneal::run(std::int64_t moves, const std::function<void()>& poll) {
    for (; moves > 0 && !is_over(); --moves) {
        if (tried_ % 16 == 0) poll();
        ++tried_;
        if (peak_ && !peak_->is_over()) {
            seek_memory();
            continue;
        }
        if (tried_in_round_ == 0) begin_round();
        step();
        ++tried_in_round_;
        if (tried_in_round_ % moves_per_price == 0) cool();
        if (tried_in_round_ >= most_in_round_) end_round();
    }
}

void RematAnneal::begin_round() {
    most_in_round_ = std::max(first_moves_per_node * graph_->nodes, least_moves);
    for (std::int32_t k = 0; k < round_; ++k) most_in_round_ *= longer_each_round;
    double first = first_temperature;
    if (is_started_) {
        first = first_temperature_from_best;
    } else if (has_best_) {
        moves_.restore(best_);
        if (round_ % 2 == 1) first = first_temperature_from_best;
    }
    is_started_ = false;
    temperature_ = first * mean_ns_;
    const double steps =
        static_cast<double>(most_in_round_) / static_cast<double>(moves_per_price);
    cooling_ = std::pow(last_temperature / first, 1 / steps);
    moves_.set_weights(1, price_);
    energy_ = moves_.energy();
    fitting_ = 0;
}

void RematAnneal::end_round() {
    tried_in_round_ = 0;
    ++round_;
    if (has_best_ || peak_) return;
    peak_.emplace(graph_, memory_bytes_, seed_);
}

void RematAnneal::seek_memory() {
    peak_->step();
    if (!peak_->is_over()) return;
    moves_.restore(peak_->best());
    record();
}

void RematAnneal::cool() {
    temperature_ *= cooling_;
    const double fitting = static_cast<double>(fitting_) / static_cast<double>(moves_per_price);
    if (fitting < least_fitting) price_ *= price_factor;
    if (fitting > most_fitting) price_ /= price_factor;
    moves_.set_weights(1, price_);
    energy_ = moves_.energy();
    fitting_ = 0;
}

void RematAnneal::step() {
    // Accepted with the probability exp(-growth / temperature), drawn ahead of the move.
    const double most_energy = energy_ - temperature_ * std::log(1 - moves_.share());
    moves_.set_most_energy(most_energy);
    const std::int64_t draw = moves_.below(100);
    if (moves_.state().excess() > 0 || moves_.state().recomputations().empty()) {
        moves_.towards_less_memory(draw);
    } else if (draw < 45) {
        moves_.drop();
    } else if (draw < 65) {
        moves_.shift();
    } else {
        moves_.drop();
        moves_.evict();
    }
    if (moves_.has_changed()) {
        const double changed = moves_.energy();
        if (changed <= most_energy) {
            energy_ = changed;
            moves_.accept();
            record();
        } else {
            moves_.undo();
        }
    }
    if (moves_.state().excess() == 0) ++fitting_;
}

void RematAnneal::record() {
    const RematState& state = moves_.state();
    if (state.excess() > 0 || (has_best_ && state.time_ns() >= best_ns_)) return;
    has_best_ = true;
    best_ns_ = state.time_ns();
    best_ = state.recomputations();
    peak_.reset();
}

std::vector<std::int32_t> RematAnneal::best_sequence() const {
    if (!has_best_) return {};
    return sequence_of(*graph_, best_);
}

}  // namespace jettison
