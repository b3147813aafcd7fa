#include "remat_graph/moves.hpp"

#include <algorithm>
#include <stdexcept>

namespace jettison {
namespace {

constexpr int most_draws = 24;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

bool is_before(Recomputation a, Recomputation b) {
    return moment(a.stage, a.node) < moment(b.stage, b.node);
}

}  // namespace

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

std::vector<std::int32_t> sequence_of(const RecomputedGraph& graph,
                                      const std::vector<Recomputation>& recomputations) {
    RematState state(graph, 0);
    for (const Recomputation one : recomputations) state.add(one);
    return state.sequence();
}

double mean_amount(const std::vector<std::int64_t>& amounts) {
    double sum = 0;
    for (const std::int64_t amount : amounts) sum += static_cast<double>(amount);
    return std::max(sum / static_cast<double>(amounts.size()), 1e-9);
}

RematMoves::RematMoves(const RecomputedGraph& graph, std::int64_t memory_bytes, std::uint64_t seed)
    : graph_(graph),
      random_(seed),
      state_(graph, memory_bytes),
      is_planned_(at(graph.nodes), 0) {
    while (most_halvings_ < 10 && (1 << most_halvings_) < graph_.nodes) ++most_halvings_;
}

void RematMoves::set_weights(double per_ns, double per_byte) {
    per_ns_ = per_ns;
    per_excess_ = per_byte * static_cast<double>(state_.unit_bytes());
}

double RematMoves::energy() const {
    return per_ns_ * static_cast<double>(state_.time_ns()) +
           per_excess_ * static_cast<double>(state_.excess());
}

void RematMoves::restore(const std::vector<Recomputation>& wanted) {
    std::vector<Recomputation> old = state_.recomputations();
    for (const Recomputation one : old) state_.remove(one);
    for (const Recomputation one : wanted) state_.add(one);
    accept();
}

void RematMoves::drop_unread() {
    const std::vector<Recomputation> all = state_.recomputations();
    for (const Recomputation one : all) {
        // Dropping one may have dropped others before.
        const auto& computation = state_.computed_by(one.node, one.stage);
        if (computation.stage == one.stage && is_unread(one.node, one.stage)) {
            remove_with_unread(one);
        }
    }
    accept();
}

void RematMoves::add(Recomputation one) {
    state_.add(one);
    changes_.push_back({one, true});
}

void RematMoves::remove(Recomputation one) {
    state_.remove(one);
    changes_.push_back({one, false});
}

void RematMoves::undo() {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) {
        if (change->is_added) {
            state_.remove(change->what);
        } else {
            state_.add(change->what);
        }
    }
    accept();
}

// Takes a value out of memory at a moment above the limit and recomputes it for its next use.
void RematMoves::evict() {
    if (state_.is_full() || state_.excess() == 0) return;
    const auto from = static_cast<std::int32_t>(below(graph_.nodes));
    const auto from_node = static_cast<std::int32_t>(below(from + 1));
    const Moment when = state_.above_limit(moment(from, from_node));
    const std::int32_t stage = stage_of(when);
    const std::int32_t running = node_of(when);
    const auto first_input = graph_.inputs.begin() + graph_.input_start[at(running)];
    const auto last_input = graph_.inputs.begin() + graph_.input_start[at(running) + 1];
    for (int draw = 0; draw < most_draws; ++draw) {
        const auto node = static_cast<std::int32_t>(below(stage + 1));
        if (node == running || graph_.output_bytes[at(node)] == 0) continue;
        if (graph_.computed_once[at(node)] != 0) continue;
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

// Adds a recomputation and those of its missing ancestors, up to a random number; the lives of the
// other inputs become longer. Only the first recomputation can free memory, and each takes its time
// and is one more computation that may be above the limit: that bounds the energy from below while
// the set grows, and most sets are given up long before they are complete.
void RematMoves::plan(Recomputation first) {
    // The smaller of two draws: with more than a thousand nodes, large sets take most of the time.
    const std::int64_t draw = below(most_halvings_ + 1);
    const std::int64_t halvings = std::min(draw, below(most_halvings_ + 1));
    std::int64_t most = (std::int64_t{1} << halvings) - 1;
    planned_.clear();
    double left =
        most_energy_ - energy() + per_excess_ * static_cast<double>(state_.relief(first));
    const std::int64_t gone_bytes = graph_.output_bytes[at(first.node)];
    const auto put = [&](Recomputation one, const RematState::Computation& before) {
        planned_.push_back(one);
        is_planned_[at(one.node)] = 1;
        // An earlier recomputation may lose all its reads to this one; removing it compensates.
        if (before.place >= 0) return;
        left -= per_ns_ * static_cast<double>(graph_.duration_ns[at(one.node)]) +
                per_excess_ * static_cast<double>(state_.own_excess(one, gone_bytes));
    };
    put(first, state_.computed_by(first.node, first.stage));
    for (std::size_t next = 0; next < planned_.size() && most > 0 && left >= 0; ++next) {
        const std::int32_t node = planned_[next].node;
        for (std::int32_t k = graph_.input_start[at(node)];
             k < graph_.input_start[at(node) + 1] && most > 0; ++k) {
            const std::int32_t source = graph_.inputs[at(k)];
            if (is_planned_[at(source)] != 0 || graph_.computed_once[at(source)] != 0) continue;
            const auto& computation = state_.computed_by(source, first.stage);
            if (computation.stage == first.stage ||
                computation.last_read >= moment(first.stage, node)) {
                continue;
            }
            put({source, first.stage}, computation);
            --most;
        }
    }
    for (const Recomputation one : planned_) is_planned_[at(one.node)] = 0;
    if (left < 0) return;
    std::sort(planned_.begin(), planned_.end(), is_before);
    for (const Recomputation one : planned_) {
        if (state_.is_full()) break;
        add(one);
    }
    for (const Recomputation one : planned_) {
        // Recomputations that served only these reads have lost them.
        const auto& before = state_.computed_by(one.node, one.stage - 1);
        const Recomputation earlier{one.node, before.stage};
        if (is_unread(earlier.node, earlier.stage)) remove_with_unread(earlier);
    }
}

bool RematMoves::is_unread(std::int32_t node, std::int32_t stage) const {
    const auto& computation = state_.computed_by(node, stage);
    return computation.stage > node && computation.last_read == moment(computation.stage, node);
}

void RematMoves::towards_less_memory(std::int64_t percent) {
    if (state_.recomputations().empty() || percent < 55) {
        evict();
    } else if (percent < 70) {
        drop();
    } else if (percent < 80) {
        shift();
    } else {
        drop();
        evict();
    }
}

void RematMoves::drop() { remove_with_unread(random_recomputation()); }

void RematMoves::remove_with_unread(Recomputation one) {
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
void RematMoves::shift() {
    const Recomputation one = random_recomputation();
    const std::int64_t reach = std::int64_t{1} << below(most_halvings_ + 1);
    const auto by = static_cast<std::int32_t>(1 + below(reach));
    const std::int32_t stage = below(2) == 0 ? one.stage - by : one.stage + by;
    if (stage <= one.node || stage >= graph_.nodes) return;
    if (state_.computed_by(one.node, stage).stage == stage) return;
    remove(one);
    add({one.node, stage});
}

std::int64_t RematMoves::below(std::int64_t number) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(number));
}

double RematMoves::share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

Recomputation RematMoves::random_recomputation() {
    const auto& all = state_.recomputations();
    return all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))];
}

}  // namespace jettison
