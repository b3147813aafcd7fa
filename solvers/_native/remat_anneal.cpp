#include "remat_anneal.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace jettison {
namespace {

// Lengths of rounds in moves for each node, and the least one.
constexpr std::int64_t first_moves_per_node = 30;
constexpr std::int64_t least_moves = 300;
constexpr std::int64_t longer_each_round = 3;
// Temperatures, as shares of the mean duration or size of a node.
constexpr double first_temperature = 1.0;
constexpr double first_temperature_from_best = 0.2;
constexpr double last_temperature = 0.002;
constexpr double time_weight_for_memory = 0.01;
// The price and the temperature change after so many moves.
constexpr std::int64_t moves_per_price = 200;
constexpr double price_factor = 1.05;
constexpr double least_fitting = 0.2;
constexpr double most_fitting = 0.5;
constexpr int most_draws = 24;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

double mean(const std::vector<std::int64_t>& values) {
    double sum = 0;
    for (const std::int64_t value : values) sum += static_cast<double>(value);
    return std::max(sum / static_cast<double>(values.size()), 1e-9);
}

bool is_before(Recomputation a, Recomputation b) {
    return moment(a.stage, a.node) < moment(b.stage, b.node);
}

// The recomputations of a staged schedule. Between two first computations, which follow the order
// of the graph, come recomputations of earlier nodes, ascending; none after the last one.
std::vector<Recomputation> recomputations_of(const std::vector<std::int32_t>& sequence,
                                             std::int32_t nodes) {
    if (sequence.size() > RematState::most_computations) {
        throw std::invalid_argument("computations: too many");
    }
    std::vector<Recomputation> found;
    std::int32_t stage = 0;
    std::int32_t previous = -1;
    for (const std::int32_t node : sequence) {
        if (stage == nodes || node <= previous || node > stage) {
            throw std::invalid_argument("computations: no staged schedule of this graph");
        }
        if (node == stage) {
            ++stage;
            previous = -1;
        } else {
            found.push_back({node, stage});
            previous = node;
        }
    }
    if (stage < nodes) throw std::invalid_argument("computations: a node is never computed");
    return found;
}

}  // namespace

RematAnneal::RematAnneal(RecomputedGraph graph, std::int64_t memory_bytes, std::int64_t floor_ns,
                         std::int32_t rounds, std::uint64_t seed)
    : graph_(std::move(graph)),
      memory_bytes_(memory_bytes),
      floor_ns_(floor_ns),
      rounds_(rounds),
      random_(seed),
      state_(graph_, memory_bytes),
      mean_ns_(mean(graph_.duration_ns)),
      mean_bytes_(mean(graph_.output_bytes)),
      is_planned_(at(graph_.nodes), 0) {
    while (most_halvings_ < 10 && (1 << most_halvings_) < graph_.nodes) ++most_halvings_;
    price_ = mean_ns_ / mean_bytes_;
    record();
}

void RematAnneal::start_from(const std::vector<std::int32_t>& sequence) {
    const std::vector<Recomputation> wanted = recomputations_of(sequence, graph_.nodes);
    restore(wanted);
    for (const Recomputation one : wanted) {
        // What nobody reads only gets in the way; dropping it may have dropped others before.
        const auto& computation = state_.computed_by(one.node, one.stage);
        if (computation.stage == one.stage && is_unread(one.node, one.stage)) {
            remove_with_unread(one);
        }
    }
    changes_.clear();
    moves_ = 0;
    round_ = 0;
    is_started_ = true;
    record();
}

void RematAnneal::run(std::int64_t moves, const std::function<void()>& poll) {
    for (; moves > 0 && !is_over(); --moves) {
        if (moves % 16 == 0) poll();
        if (moves_ == 0) begin_round();
        step();
        ++tried_;
        ++moves_;
        if (moves_ % moves_per_price == 0) cool();
        if (moves_ >= moves_in_round_ || (goal_ == Goal::memory && has_best_)) end_round();
    }
}

void RematAnneal::begin_round() {
    moves_in_round_ = std::max(first_moves_per_node * graph_.nodes, least_moves);
    for (std::int32_t k = 0; k < round_; ++k) moves_in_round_ *= longer_each_round;
    const bool sought_memory = goal_ == Goal::memory;
    goal_ = !has_best_ && round_ > 0 && !sought_memory ? Goal::memory : Goal::time;
    double first = first_temperature;
    if (is_started_) {
        first = first_temperature_from_best;
    } else if (has_best_) {
        restore(best_);
        if (round_ % 2 == 1) first = first_temperature_from_best;
    }
    is_started_ = false;
    double unit = mean_ns_;
    time_weight_ = 1;
    if (goal_ == Goal::memory) {
        unit = mean_bytes_;
        time_weight_ = time_weight_for_memory * mean_bytes_ / mean_ns_;
        price_ = 1;
    } else if (sought_memory) {
        price_ = mean_ns_ / mean_bytes_;
    }
    temperature_ = first * unit;
    const double steps =
        static_cast<double>(moves_in_round_) / static_cast<double>(moves_per_price);
    cooling_ = std::pow(last_temperature / first, 1 / steps);
    energy_ = energy();
    fitting_ = 0;
}

void RematAnneal::end_round() {
    moves_ = 0;
    // A search for anything that fits is no round of its own, but part of the next.
    if (goal_ == Goal::time || !has_best_) ++round_;
}

void RematAnneal::restore(const std::vector<Recomputation>& wanted) {
    std::vector<Recomputation> old = state_.recomputations();
    for (const Recomputation one : old) state_.remove(one);
    for (const Recomputation one : wanted) state_.add(one);
}

void RematAnneal::cool() {
    temperature_ *= cooling_;
    if (goal_ == Goal::time) {
        const double fitting = static_cast<double>(fitting_) / moves_per_price;
        if (fitting < least_fitting) price_ *= price_factor;
        if (fitting > most_fitting) price_ /= price_factor;
        energy_ = energy();
    }
    fitting_ = 0;
}

double RematAnneal::energy() const {
    return time_weight_ * static_cast<double>(state_.time_ns()) +
           price_ * static_cast<double>(state_.excess());
}

bool RematAnneal::is_accepted(double growth) {
    return growth <= 0 || share() < std::exp(-growth / temperature_);
}

void RematAnneal::step() {
    changes_.clear();
    const std::int64_t draw = below(100);
    if (state_.recomputations().empty()) {
        evict();
    } else if (state_.excess() > 0) {
        if (draw < 55) {
            evict();
        } else if (draw < 70) {
            drop();
        } else if (draw < 80) {
            shift();
        } else {
            drop();
            evict();
        }
    } else if (draw < 45) {
        drop();
    } else if (draw < 65) {
        shift();
    } else {
        drop();
        evict();
    }
    if (!changes_.empty()) {
        const double changed = energy();
        if (is_accepted(changed - energy_)) {
            energy_ = changed;
            record();
        } else {
            undo();
        }
    }
    if (state_.excess() == 0) ++fitting_;
}

void RematAnneal::record() {
    if (state_.excess() > 0 || (has_best_ && state_.time_ns() >= best_ns_)) return;
    has_best_ = true;
    best_ns_ = state_.time_ns();
    best_ = state_.recomputations();
}

std::vector<std::int32_t> RematAnneal::best_sequence() const {
    if (!has_best_) return {};
    RematState state(graph_, memory_bytes_);
    for (const Recomputation one : best_) state.add(one);
    return state.sequence();
}

void RematAnneal::add(Recomputation one) {
    state_.add(one);
    changes_.push_back({one, true});
}

void RematAnneal::remove(Recomputation one) {
    state_.remove(one);
    changes_.push_back({one, false});
}

void RematAnneal::undo() {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
        if (change->is_added) {
            state_.remove(change->what);
        } else {
            state_.add(change->what);
        }
    }
}

// Takes a value out of memory at a moment above the limit and recomputes it for its next use.
void RematAnneal::evict() {
    if (state_.is_full() || state_.excess() == 0) return;
    const auto places = static_cast<std::int64_t>(state_.computations());
    const std::size_t place = state_.above_limit(static_cast<std::size_t>(below(places)));
    const Moment when = state_.moment_at(place);
    const std::int32_t stage = stage_of(when);
    const std::int32_t running = node_of(when);
    const auto first_input = graph_.inputs.begin() + graph_.input_start[at(running)];
    const auto last_input = graph_.inputs.begin() + graph_.input_start[at(running) + 1];
    for (int draw = 0; draw < most_draws; ++draw) {
        const auto node = static_cast<std::int32_t>(below(stage + 1));
        if (node == running || graph_.output_bytes[at(node)] == 0) continue;
        const auto* computation = state_.computed_at(node, when);
        if (computation == nullptr || computation->last_read <= when) continue;
        if (std::binary_search(first_input, last_input, node)) continue;
        std::int32_t again = state_.next_read_stage(node, when);
        if (again == graph_.nodes) --again;  // kept to the end, and not read before it
        if (again <= computation->stage || again <= node || moment(again, node) < when) continue;
        plan({node, again});
        return;
    }
}

// Adds a recomputation and, for up to a random number of inputs in turn that are no longer in
// memory then, theirs; the lives of the other inputs become longer.
void RematAnneal::plan(Recomputation first) {
    std::int64_t most = (std::int64_t{1} << below(most_halvings_ + 1)) - 1;
    planned_.assign(1, first);
    is_planned_[at(first.node)] = 1;
    for (std::size_t next = 0; next < planned_.size() && most > 0; ++next) {
        const std::int32_t node = planned_[next].node;
        for (std::int32_t k = graph_.input_start[at(node)];
             k < graph_.input_start[at(node) + 1] && most > 0; ++k) {
            const std::int32_t source = graph_.inputs[at(k)];
            if (is_planned_[at(source)] != 0) continue;
            const auto& computation = state_.computed_by(source, first.stage);
            if (computation.stage == first.stage ||
                computation.last_read >= moment(first.stage, node)) {
                continue;
            }
            planned_.push_back({source, first.stage});
            is_planned_[at(source)] = 1;
            --most;
        }
    }
    for (const Recomputation one : planned_) is_planned_[at(one.node)] = 0;
    std::sort(planned_.begin(), planned_.end(), is_before);
    for (const Recomputation one : planned_) {
        if (state_.is_full()) break;
        add(one);
    }
    for (const Recomputation one : planned_) {
        // What was recomputed for these reads only has lost them.
        const auto& before = state_.computed_by(one.node, one.stage - 1);
        const Recomputation earlier{one.node, before.stage};
        if (is_unread(earlier.node, earlier.stage)) remove_with_unread(earlier);
    }
}

bool RematAnneal::is_unread(std::int32_t node, std::int32_t stage) const {
    const auto& computation = state_.computed_by(node, stage);
    return computation.stage > node && computation.last_read == moment(computation.stage, node);
}

void RematAnneal::drop() { remove_with_unread(random_recomputation()); }

void RematAnneal::remove_with_unread(Recomputation one) {
    stack_.assign(1, one);
    while (!stack_.empty()) {
        const Recomputation next = stack_.back();
        stack_.pop_back();
        remove(next);
        for (std::int32_t k = graph_.input_start[at(next.node)];
             k < graph_.input_start[at(next.node) + 1]; ++k) {
            const std::int32_t source = graph_.inputs[at(k)];
            if (!is_unread(source, next.stage)) continue;
            const Recomputation unread{source, state_.computed_by(source, next.stage).stage};
            // Another one may have lost its last read to the same removal already.
            const bool is_waiting =
                std::any_of(stack_.begin(), stack_.end(), [unread](const Recomputation& other) {
                    return other.node == unread.node && other.stage == unread.stage;
                });
            if (!is_waiting) stack_.push_back(unread);
        }
    }
}

// Recomputes a value some stages earlier or later.
void RematAnneal::shift() {
    const Recomputation one = random_recomputation();
    const std::int64_t reach = std::int64_t{1} << below(most_halvings_ + 1);
    const auto by = static_cast<std::int32_t>(1 + below(reach));
    const std::int32_t stage = below(2) == 0 ? one.stage - by : one.stage + by;
    if (stage <= one.node || stage >= graph_.nodes) return;
    if (state_.computed_by(one.node, stage).stage == stage) return;
    remove(one);
    add({one.node, stage});
}

std::int64_t RematAnneal::below(std::int64_t number) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(number));
}

double RematAnneal::share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

Recomputation RematAnneal::random_recomputation() {
    const auto& all = state_.recomputations();
    return all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))];
}

}  // namespace jettison
