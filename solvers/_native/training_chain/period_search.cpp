#include "training_chain/period_search.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>
#include <tuple>

namespace jettison {
namespace {

constexpr std::int64_t states_between_looks = 256;
// Values of labels are sums of so many periods at most, and so fit 64 bits.
constexpr std::int64_t longest_period = std::int64_t{1} << 54;
constexpr std::int64_t most_steps = 250;

// Ascending by value with what is left, then the label after more steps.
struct Waiting {
    std::int64_t estimate, value, steps;
    std::int32_t node;

    bool operator<(const Waiting& other) const {
        return std::tie(other.estimate, steps, value) < std::tie(estimate, other.steps,
                                                                 other.value);
    }
};

bool is_better(std::int64_t value, std::int64_t steps, std::int64_t than, std::int64_t of) {
    return value < than || (value == than && steps > of);
}

}  // namespace

PeriodSearch::PeriodSearch(const TrainingSteps& steps, std::uint32_t updated_by_host,
                           std::int64_t longest_ns, std::int64_t most_states)
    : moves_(steps, updated_by_host), most_states_(most_states) {
    // Every period that can be shortened no further is a multiple of the unit.
    longest_ = std::min(longest_ns / moves_.unit_ns(), longest_period);
}

PeriodAnswer PeriodSearch::run(const std::function<void()>& look) {
    std::vector<std::int32_t> begun;
    for (const auto& state : moves_.beginnings()) {
        begun.push_back(static_cast<std::int32_t>(labels_.size()));
        best_[state] = begun.back();
        labels_.push_back({state, 0, 0, -1});
    }
    PeriodAnswer answer;
    try {
        while (!begun.empty()) {
            std::vector<std::int32_t> improved;
            for (auto& found : step(begun, look)) {
                const auto known = best_.find(found.state);
                if (known != best_.end()) {
                    const Label& old = labels_[known->second];
                    if (!is_better(found.value, found.steps, old.value, old.steps)) continue;
                }
                const auto number = static_cast<std::int32_t>(labels_.size());
                best_[found.state] = number;
                if (found.steps > most_steps) throw TooMany();
                labels_.push_back(found);
                improved.push_back(number);
                for (std::int32_t past = found.before; past >= 0; past = labels_[past].before) {
                    if (!(labels_[past].state == found.state)) continue;
                    const std::int64_t steps = found.steps - labels_[past].steps;
                    const std::int64_t taken =
                        found.value - labels_[past].value + steps * longest_;
                    answer.kind = steps == 1 ? PeriodAnswer::Kind::period
                                             : PeriodAnswer::Kind::mean;
                    answer.walk_ns = taken * moves_.unit_ns();
                    answer.steps = steps;
                    if (steps == 1) answer.events = events_of(found.state, taken, look);
                    answer.states = states_;
                    return answer;
                }
            }
            begun = std::move(improved);
        }
    } catch (const TooMany&) {
        answer.kind = PeriodAnswer::Kind::too_many_states;
    }
    answer.states = states_;
    return answer;
}

// The boundary states in which steps end that begin at some labels, each with its best label.
std::vector<PeriodSearch::Label> PeriodSearch::step(const std::vector<std::int32_t>& begun,
                                                    const std::function<void()>& look) {
    std::vector<Node> nodes;
    std::unordered_map<StepState, std::int32_t, Hash> known;
    std::priority_queue<Waiting> queue;
    const auto offer = [&](const StepState& state, std::int64_t value, std::int64_t steps,
                           std::int32_t label) {
        const std::int64_t estimate = value + moves_.least_left(state) - longest_;
        if (estimate > 0) return;
        const auto [place, is_new] =
            known.try_emplace(state, static_cast<std::int32_t>(nodes.size()));
        if (is_new) {
            ++states_;
            if (states_kept(nodes.size()) > most_states_) throw TooMany();
            nodes.push_back({state, value, steps, label});
        } else {
            Node& node = nodes[place->second];
            if (!is_better(value, steps, node.value, node.steps)) return;
            node.value = value;
            node.steps = steps;
            node.label = label;
        }
        queue.push({estimate, value, steps, place->second});
    };
    for (const std::int32_t label : begun) {
        offer(labels_[label].state, labels_[label].value, labels_[label].steps, label);
    }
    std::unordered_map<StepState, Label, Hash> ends;
    std::int64_t looked = 0;
    while (!queue.empty()) {
        const Waiting first = queue.top();
        queue.pop();
        const Node node = nodes[first.node];
        if (node.value != first.value || node.steps != first.steps) continue;
        if (++looked % states_between_looks == 0) look();
        moves_.start(node.state, [&](const StepState& started) {
            const auto ended = moves_.advance(started);
            if (!ended.is_possible) return;
            const std::int64_t value = node.value + ended.duration;
            if (!ended.ends_step) {
                offer(ended.state, value, node.steps, node.label);
                return;
            }
            if (value > longest_) return;
            const Label label{ended.state, value - longest_, node.steps + 1, node.label};
            const auto [place, is_new] = ends.try_emplace(ended.state, label);
            if (!is_new && is_better(label.value, label.steps, place->second.value,
                                     place->second.steps)) {
                place->second = label;
            }
        });
    }
    std::vector<Label> found;
    for (const auto& [state, label] : ends) found.push_back(label);
    // The order in a hash table is none that a user should see.
    std::sort(found.begin(), found.end(), [](const Label& one, const Label& other) {
        const auto key = [](const Label& label) {
            const StepState& state = label.state;
            return std::tuple(label.value, -label.steps, ~state.device, ~state.host, state.due,
                              state.to_host, state.from_host, state.left[1], state.left[2],
                              state.left[3], state.host_update);
        };
        return key(one) < key(other);
    });
    return found;
}

// The events of a step of a given duration that ends in the state in which it begins.
std::vector<TimedEvent> PeriodSearch::events_of(const StepState& boundary, std::int64_t duration,
                                                const std::function<void()>& look) {
    struct Way {
        StepState state, started;
        std::int64_t time;
        std::int32_t before;
        std::uint32_t dropped;  // by itself, when the state is reached
    };
    std::vector<Way> ways{{boundary, {}, 0, -1, 0}};
    std::unordered_map<StepState, std::int64_t, Hash> known{{boundary, 0}};
    std::priority_queue<Waiting> queue;
    queue.push({moves_.least_left(boundary), 0, 0, 0});
    std::int32_t last = -1;
    std::int64_t looked = 0;
    while (!queue.empty() && last < 0) {
        const Waiting first = queue.top();
        queue.pop();
        const Way way = ways[first.node];
        if (known.at(way.state) < way.time) continue;
        if (++looked % states_between_looks == 0) look();
        moves_.start(way.state, [&](const StepState& started) {
            const auto ended = moves_.advance(started);
            if (!ended.is_possible || last >= 0) return;
            const std::int64_t time = way.time + ended.duration;
            const Way next{ended.state, started, time, first.node, ended.dropped};
            if (ended.ends_step) {
                if (time != duration || !(ended.state == boundary)) return;
                last = static_cast<std::int32_t>(ways.size());
                ways.push_back(next);
                return;
            }
            const std::int64_t estimate = time + moves_.least_left(ended.state);
            if (estimate > duration) return;
            const auto [place, is_new] = known.try_emplace(ended.state, time);
            if (!is_new && place->second <= time) return;
            place->second = time;
            queue.push({estimate, time, 0, static_cast<std::int32_t>(ways.size())});
            ways.push_back(next);
        });
    }
    if (last < 0) throw std::logic_error("a step that was found is not found again");
    std::vector<std::int32_t> path;
    for (std::int32_t at = last; at >= 0; at = ways[at].before) path.push_back(at);
    std::reverse(path.begin(), path.end());
    std::vector<TimedEvent> events;
    for (std::size_t place = 1; place < path.size(); ++place) {
        const Way& way = ways[path[place]];
        const Way& from = ways[path[place - 1]];
        add_events(from.state, way.started, from.time * moves_.unit_ns(), events);
        StepState less = way.started;
        less.device &= ~way.dropped;
        // What the host has of a gradient, and old weights, leaves at once.
        StepState more = less;
        more.device |= way.dropped;
        add_events(more, less, way.time * moves_.unit_ns(), events);
    }
    return events;
}

void PeriodSearch::add_events(const StepState& from, const StepState& started, std::int64_t now,
                              std::vector<TimedEvent>& events) const {
    const auto add = [&](TimedKind kind, std::int32_t tensor) {
        events.push_back({now, kind, tensor / training_tensors, tensor % training_tensors});
    };
    for (std::int32_t tensor = 0; tensor < moves_.num_stages() * training_tensors; ++tensor) {
        if ((from.device & ~started.device) >> tensor & 1u) add(TimedKind::drop, tensor);
    }
    if (from.host_update != started.host_update) {
        events.push_back({now, TimedKind::host_update, started.host_update, -1});
    }
    if (from.to_host != started.to_host) add(TimedKind::offload, started.to_host);
    if (from.operation != started.operation) {
        events.push_back(
            {now, static_cast<TimedKind>(started.operation), started.operand, -1});
    }
    if (from.from_host != started.from_host) add(TimedKind::prefetch, started.from_host);
}

}  // namespace jettison
