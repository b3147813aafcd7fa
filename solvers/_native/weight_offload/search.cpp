#include "weight_offload/search.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace jettison {
namespace {

constexpr std::int64_t changes_per_round = 20'000;
constexpr std::int64_t changes_per_threshold = 400;
constexpr std::int64_t first_threshold = 400;
// Most moves of a transfer within the order are at most this long; the others are unlimited.
constexpr std::int64_t near = 12;

using Place = Actions::iterator;

Place find(Actions& actions, ActionKind kind, std::int32_t index) {
    return std::find_if(actions.begin(), actions.end(), [&](const Action& action) {
        return action.kind == kind && action.index == index;
    });
}

}  // namespace

std::optional<WeightPlan> explicit_plan(const WeightChain& chain, const Absences& absences,
                                        std::int32_t cut) {
    const Actions actions = order_actions(chain, absences, Discount::used, cut);
    WeightTimeline timeline(chain, absences, Discount::used);
    // The first step starts from rest; the second is like those after it.
    std::size_t first_event = 0;
    for (int step = 0; step < 2; ++step) {
        first_event = timeline.events().size();
        for (const Action& action : actions) {
            if (!timeline.take(action)) return std::nullopt;
        }
    }
    WeightPlan plan{absences, {}};
    for (std::size_t place = first_event; place < timeline.events().size(); ++place) {
        const Event& event = timeline.events()[place];
        switch (event.kind) {
            case EventKind::backward:
                plan.actions.push_back(
                    {ActionKind::compute, chain.layers - 1 - event.layer});
                break;
            case EventKind::forward:
                plan.actions.push_back({ActionKind::compute, chain.layers + event.layer});
                break;
            case EventKind::prefetch:
                plan.actions.push_back({ActionKind::prefetch, event.layer});
                break;
            case EventKind::upload:
                plan.actions.push_back({ActionKind::upload, event.layer});
                break;
            case EventKind::remove:
                break;
        }
    }
    return plan;
}

WeightSearch::WeightSearch(const WeightChain& chain, WeightPlan plan, std::uint64_t seed)
    : chain_(chain), random_(seed), current_(std::move(plan)), best_(current_) {
    for (std::int32_t layer = 0; layer < chain.layers; ++layer) {
        if (chain.weight_bytes[static_cast<std::size_t>(layer)] > 0) movable_.push_back(layer);
    }
    const auto period =
        find_period(chain_, current_.absences, Discount::used, current_.actions, nullptr);
    if (!period) throw std::invalid_argument("the plan is not possible");
    current_period_ = best_period_ = *period;
}

void WeightSearch::run(std::int64_t changes, std::int64_t floor,
                       const std::function<void()>& poll) {
    if (movable_.empty()) return;
    for (; changes > 0 && best_period_ > floor; --changes) {
        poll();
        if (tried_ % changes_per_round == 0) {
            current_ = best_;
            current_period_ = best_period_;
            threshold_ = best_period_ / first_threshold;
        }
        ++tried_;
        if (tried_ % changes_per_threshold == 0) threshold_ -= threshold_ / 8;
        WeightPlan changed = current_;
        if (!change(changed)) continue;
        const auto period =
            find_period(chain_, changed.absences, Discount::used, changed.actions, nullptr);
        if (!period || *period > current_period_ + below(threshold_ + 1)) continue;
        current_ = std::move(changed);
        current_period_ = *period;
        if (current_period_ < best_period_) {
            best_ = current_;
            best_period_ = current_period_;
            tried_at_best_ = tried_;
        }
    }
}

std::int64_t WeightSearch::below(std::int64_t number) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(number));
}

bool WeightSearch::change(WeightPlan& plan) {
    const std::int64_t draw = below(10);
    if (draw < 5) return move_transfer(plan);
    const std::uint8_t absence = below(2) ? after_forward : after_backward;
    if (draw < 9) {
        const std::int32_t dropped = random_layer(plan, absence, true);
        const std::int32_t chosen = random_layer(plan, absence, false);
        if (draw < 8 && dropped >= 0 && chosen >= 0) {
            drop(plan, dropped, absence);
            choose(plan, chosen, absence);
            return true;
        }
        if (dropped < 0) return false;
        drop(plan, dropped, absence);
        return true;
    }
    const std::int32_t chosen = random_layer(plan, absence, false);
    if (chosen < 0) return false;
    choose(plan, chosen, absence);
    return true;
}

bool WeightSearch::move_transfer(WeightPlan& plan) {
    const auto size = static_cast<std::int64_t>(plan.actions.size());
    if (size == 2 * chain_.layers) return false;
    std::int64_t from = below(size);
    while (plan.actions[static_cast<std::size_t>(from)].kind == ActionKind::compute) {
        from = from + 1 == size ? 0 : from + 1;
    }
    std::int64_t to = below(size);
    if (below(5) > 0) {
        to = from + below(2 * near + 1) - near;
        if (to < 0 || to >= size) return false;
    }
    const auto first = plan.actions.begin();
    if (from < to) std::rotate(first + from, first + from + 1, first + to + 1);
    if (to < from) std::rotate(first + to, first + from, first + from + 1);
    return from != to;
}

// Transfers are inserted where Algorithm 2 has them; moves may change that later.
void WeightSearch::choose(WeightPlan& plan, std::int32_t layer, std::uint8_t absence) {
    auto& bits = plan.absences[static_cast<std::size_t>(layer)];
    Actions& actions = plan.actions;
    const std::int32_t backward = chain_.layers - 1 - layer;
    const std::int32_t forward = chain_.layers + layer;
    const Action prefetch{ActionKind::prefetch, layer};
    const Action upload{ActionKind::upload, layer};
    if (absence == after_backward) {
        // Weights with both absences are uploaded once.
        if (bits) actions.erase(find(actions, ActionKind::upload, layer));
        actions.insert(find(actions, ActionKind::compute, forward), prefetch);
        actions.insert(find(actions, ActionKind::compute, backward) + 1, upload);
    } else {
        if (!bits) {
            const std::int32_t after = below(2) ? forward : backward;
            actions.insert(find(actions, ActionKind::compute, after) + 1, upload);
        }
        actions.insert(find(actions, ActionKind::compute, backward), prefetch);
    }
    bits = static_cast<std::uint8_t>(bits | absence);
}

void WeightSearch::drop(WeightPlan& plan, std::int32_t layer, std::uint8_t absence) {
    auto& bits = plan.absences[static_cast<std::size_t>(layer)];
    Actions& actions = plan.actions;
    const Place backward = find(actions, ActionKind::compute, chain_.layers - 1 - layer);
    // The prefetch for the backward comes before it, the one for the forward after it.
    const auto is_prefetch = [&](const Action& action) {
        return action.kind == ActionKind::prefetch && action.index == layer;
    };
    const bool is_first = absence == after_forward;
    actions.erase(std::find_if(is_first ? actions.begin() : backward,
                               is_first ? backward : actions.end(), is_prefetch));
    bits = static_cast<std::uint8_t>(bits & ~absence);
    if (!bits) actions.erase(find(actions, ActionKind::upload, layer));
}

std::int32_t WeightSearch::random_layer(const WeightPlan& plan, std::uint8_t absence,
                                        bool is_chosen) {
    const auto layers = static_cast<std::int64_t>(movable_.size());
    std::int64_t place = below(layers);
    for (std::int64_t seen = 0; seen < layers; ++seen) {
        const std::int32_t layer = movable_[static_cast<std::size_t>(place)];
        const bool has = plan.absences[static_cast<std::size_t>(layer)] & absence;
        if (has == is_chosen) return layer;
        place = place + 1 == layers ? 0 : place + 1;
    }
    return -1;
}

}  // namespace jettison
