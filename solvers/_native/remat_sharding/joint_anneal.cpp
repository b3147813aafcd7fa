#include "remat_sharding/joint_anneal.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace jettison {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

// As in `RematAnneal`, but rounds begin colder, since plans to start from are good ones.
constexpr std::int64_t first_moves_per_node = 60;
constexpr std::int64_t least_moves = 1000;
constexpr std::int64_t longer_each_round = 3;
constexpr double first_temperature = 0.3;
constexpr double later_temperature = 0.1;
constexpr double last_temperature = 0.0005;
constexpr std::int64_t moves_per_price = 200;
constexpr double price_factor = 1.05;
constexpr double least_fitting = 0.2;
constexpr double most_fitting = 0.5;

// Of a hundred moves of a state that fits.
constexpr std::int64_t moves_of_places = 50;
constexpr std::int64_t drops = 65;
constexpr std::int64_t shifts = 75;

}  // namespace

JointAnneal::JointAnneal(JointGraph graph, std::vector<std::int32_t> places,
                         std::int64_t memory_bytes, std::int64_t floor_ns, std::int32_t rounds,
                         std::uint64_t seed)
    : floor_ns_(floor_ns),
      rounds_(rounds),
      moves_(std::move(graph), std::move(places), memory_bytes, seed),
      mean_ns_(mean_amount(moves_.graph().duration_ns)),
      price_(mean_ns_ / mean_amount(moves_.graph().output_bytes)) {
    record();
}

void JointAnneal::start_from(const std::vector<std::int32_t>& places,
                             const std::vector<std::int32_t>& sequence) {
    const std::vector<Recomputation> again = recomputations_of(sequence, moves_.graph());
    for (const Recomputation one : again) {
        if (moves_.graph().again[at(one.node)] == 0) {
            throw std::invalid_argument("computations: again what is computed once");
        }
    }
    moves_.restore(places, again);
    moves_.recomputations().drop_unread();
    tried_in_round_ = 0;
    round_ = 0;
    is_started_ = true;
    record();
}

void JointAnneal::run(std::int64_t moves, const std::function<void()>& poll) {
    for (; moves > 0 && !is_over(); --moves) {
        if (tried_ % 16 == 0) poll();
        ++tried_;
        if (tried_in_round_ == 0) begin_round();
        step();
        ++tried_in_round_;
        if (tried_in_round_ % moves_per_price == 0) cool();
        if (tried_in_round_ >= most_in_round_) {
            tried_in_round_ = 0;
            ++round_;
        }
    }
}

void JointAnneal::begin_round() {
    most_in_round_ = std::max(first_moves_per_node * moves_.graph().nodes, least_moves);
    for (std::int32_t k = 0; k < round_; ++k) most_in_round_ *= longer_each_round;
    if (!is_started_ && has_best_) moves_.restore(best_places_, best_);
    const double first = round_ % 2 == 1 ? later_temperature : first_temperature;
    is_started_ = false;
    temperature_ = first * mean_ns_;
    const double steps =
        static_cast<double>(most_in_round_) / static_cast<double>(moves_per_price);
    cooling_ = std::pow(last_temperature / first, 1 / steps);
    moves_.recomputations().set_weights(1, price_);
    energy_ = moves_.recomputations().energy();
    fitting_ = 0;
}

void JointAnneal::cool() {
    temperature_ *= cooling_;
    const double fitting = static_cast<double>(fitting_) / static_cast<double>(moves_per_price);
    if (fitting < least_fitting) price_ *= price_factor;
    if (fitting > most_fitting) price_ /= price_factor;
    moves_.recomputations().set_weights(1, price_);
    energy_ = moves_.recomputations().energy();
    fitting_ = 0;
}

void JointAnneal::step() {
    RematMoves& again = moves_.recomputations();
    // Accepted with the probability exp(-growth / temperature), drawn ahead of the move.
    const double most_energy = energy_ - temperature_ * std::log(1 - again.share());
    again.set_most_energy(most_energy);
    const std::int64_t draw = again.below(100);
    if (moves_.has_choices() && draw < moves_of_places) {
        moves_.choose();
        // What the places take more may be made up for by a recomputation, or the other way round.
        if (again.below(4) == 0) {
            if (moves_.state().excess() > 0) {
                again.evict();
            } else if (!moves_.state().recomputations().empty()) {
                again.drop();
            }
        }
    } else if (moves_.state().excess() > 0 || moves_.state().recomputations().empty()) {
        again.towards_less_memory(again.below(100));
    } else if (draw < drops) {
        again.drop();
    } else if (draw < shifts) {
        again.shift();
    } else {
        again.drop();
        again.evict();
    }
    if (moves_.has_changed()) {
        const double changed = again.energy();
        if (changed <= most_energy && moves_.is_allowed()) {
            energy_ = changed;
            moves_.accept();
            record();
        } else {
            moves_.undo();
        }
    }
    if (moves_.state().excess() == 0) ++fitting_;
}

void JointAnneal::record() {
    const RematState& state = moves_.state();
    if (state.excess() > 0 || (has_best_ && state.time_ns() >= best_ns_)) return;
    has_best_ = true;
    best_ns_ = state.time_ns();
    best_ = state.recomputations();
    best_places_ = moves_.places();
}

std::vector<std::int32_t> JointAnneal::best_sequence() const {
    return has_best_ ? sequence_of(moves_.graph(), best_) : std::vector<std::int32_t>{};
}

}  // namespace jettison
