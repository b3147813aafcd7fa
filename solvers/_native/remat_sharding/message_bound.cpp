#include "remat_sharding/message_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "remat_sharding/labelling_descent.hpp"

namespace jettison {
namespace {

// Adds up the memory of the states in which the terms of a bound have their minima: with the value
// of the bound, that is its slope in the multipliers while the messages stay.
class MemoryOfMinima {
public:
    MemoryOfMinima(const MessageGraph& graph, const MessagePasses<double>& passes)
        : graph_(graph), passes_(passes), taken_(graph.terms.size()) {
        for (std::size_t t = 0; t < taken_.size(); ++t) {
            taken_[t].assign(static_cast<std::size_t>(graph.nodes[graph.terms[t].node].kinds), 0.0);
        }
    }

    void node(std::int32_t index, const std::vector<double>& sum, const std::vector<double>&,
              double) {
        const MessageNode& node = graph_.nodes[index];
        share_ = 1.0 / MessagePasses<double>::shares_of(node);
        const double rest = 1.0 - share_ * static_cast<double>(node.earlier.size());
        if (rest > 0.0) {
            const auto best = std::min_element(sum.begin(), sum.end()) - sum.begin();
            take(node, static_cast<std::size_t>(best), rest);
        }
    }

    void edge(std::int32_t e, std::int32_t index, const std::vector<double>& share) {
        const MessageEdge& edge = graph_.edges[e];
        const MessageNode& node = graph_.nodes[index];
        if (node.terms.empty()) return;
        const auto& back = passes_.messages[e].back;
        const auto& forward = passes_.messages[e].forward;
        const std::vector<std::int32_t>& ahead = edge.earlier().slot;
        std::int32_t other = ahead.front();
        for (const std::int32_t slot : ahead) {
            if (back[slot] < back[other]) other = slot;
        }
        const bool is_reader = edge.source_is_earlier();
        const std::vector<std::int32_t>& slots = edge.later().slot;
        double least = Infinite<double>::value;
        std::size_t best = 0;
        for (std::size_t x = 0; x < slots.size(); ++x) {
            double value = share[x] - forward[slots[x]];
            if (value >= least) continue;
            value += is_reader ? pair_cost(edge, passes_.costs(e), other, slots[x])
                               : pair_cost(edge, passes_.costs(e), slots[x], other);
            if (value >= least) continue;
            least = value;
            best = x;
        }
        take(node, best, share_);
    }

    std::vector<double> by_row() const {
        std::vector<double> steps(graph_.capacity.size() + 1, 0.0);
        for (std::size_t t = 0; t < taken_.size(); ++t) {
            for (const MemorySpan& span : graph_.terms[t].spans) {
                const std::vector<std::uint8_t>& mask = graph_.masks[span.mask];
                double bytes = 0.0;
                for (std::size_t kind = 0; kind < taken_[t].size(); ++kind) {
                    if (mask[kind]) bytes += taken_[t][kind];
                }
                steps[span.first] += bytes;
                steps[span.last + 1] -= bytes;
            }
        }
        for (std::size_t r = 1; r < steps.size(); ++r) steps[r] += steps[r - 1];
        steps.pop_back();
        return steps;
    }

private:
    void take(const MessageNode& node, std::size_t state, double weight) {
        for (const std::int32_t t : node.terms) {
            const auto bytes = static_cast<double>(graph_.terms[t].bytes[node.place[state]]);
            taken_[t][node.kind[state]] += weight * bytes;
        }
    }

    const MessageGraph& graph_;
    const MessagePasses<double>& passes_;
    std::vector<std::vector<double>> taken_;
    double share_ = 1.0;
};

// What each state of a graph costs above the bound at least.
class Excess {
public:
    Excess(const MessageGraph& graph, const MessagePasses<std::int64_t>& passes)
        : graph_(graph), passes_(passes), above_(graph.nodes.size()) {}

    void node(std::int32_t index, const std::vector<std::int64_t>& sum,
              const std::vector<std::int64_t>& share, std::int64_t) {
        const auto edges = static_cast<std::int64_t>(graph_.nodes[index].earlier.size());
        std::vector<std::int64_t>& above = above_[index];
        above.resize(sum.size());
        for (std::size_t x = 0; x < sum.size(); ++x) above[x] = sum[x] - edges * share[x];
    }

    void edge(std::int32_t e, std::int32_t index, const std::vector<std::int64_t>& share) {
        constexpr std::int64_t infinite = Infinite<std::int64_t>::value;
        const MessageEdge& edge = graph_.edges[e];
        const EdgeEnd& from = edge.earlier();
        const EdgeEnd& to = edge.later();
        in_.assign(static_cast<std::size_t>(from.slots()), infinite);
        for (std::int32_t slot = 0; slot < from.slots(); ++slot) {
            if (from.has_state[slot]) in_[slot] = -passes_.messages[e].back[slot];
        }
        across(edge, passes_.costs(e), edge.source_is_earlier(), in_, out_, scratch_);
        const auto& forward = passes_.messages[e].forward;
        std::int64_t least = infinite;
        for (std::size_t x = 0; x < share.size(); ++x) {
            const std::int32_t slot = to.slot[x];
            least = std::min(least, share[x] - forward[slot] + out_[slot]);
        }
        for (std::size_t x = 0; x < share.size(); ++x) {
            const std::int32_t slot = to.slot[x];
            above_[index][x] += share[x] - forward[slot] + out_[slot] - least;
        }
    }

    const std::vector<std::int64_t>& of(std::int32_t index) const { return above_[index]; }

private:
    const MessageGraph& graph_;
    const MessagePasses<std::int64_t>& passes_;
    std::vector<std::vector<std::int64_t>> above_;
    EdgeScratch<std::int64_t> scratch_;
    std::vector<std::int64_t> in_;
    std::vector<std::int64_t> out_;
};

// Digits of costs after the point in proofs, at most and all together.
constexpr int most_digits = 24;
constexpr int all_digits = 51;

// Messages are clipped: any integers prove a bound, and these leave room for sums.
constexpr double largest_message = 1LL << 52;

constexpr double largest_price = 1LL << 60;

std::int64_t rounded(double value, double largest) {
    return std::llround(std::clamp(value, -largest, largest));
}

}  // namespace

MessageBound::MessageBound(MessageGraph graph, AscentRules rules)
    : graph_(std::move(graph)),
      rules_(rules),
      passes_(graph_, 1.0),
      now_(graph_.capacity.size(), 0.0),
      best_(now_),
      direction_(now_),
      best_value_(-Infinite<double>::value) {
    passes_.set_prices(now_);
}

void MessageBound::set_multipliers(const std::vector<double>& values) {
    now_ = best_ = values;
    std::fill(direction_.begin(), direction_.end(), 0.0);
    best_value_ = -Infinite<double>::value;
    passes_.set_prices(now_);
}

Ascent MessageBound::ascend(std::optional<double> upper, std::int32_t passes,
                            const std::function<bool()>& watch) {
    Ascent ascent;
    for (; ascent.passes < passes && watch(); ++ascent.passes, ++done_) {
        passes_.forward();
        MemoryOfMinima memory(graph_, passes_);
        double value = passes_.back(memory);
        for (std::size_t r = 0; r < now_.size(); ++r) {
            value -= now_[r] * static_cast<double>(graph_.capacity[r]);
        }
        if (value > best_value_) {
            idle_ = value > best_value_ + 1e-7 * std::abs(best_value_) ? 0 : idle_ + 1;
            best_value_ = value;
            best_ = now_;
            keep_messages();
        } else {
            ++idle_;
        }
        if (done_ < rules_.first_passes || now_.empty()) continue;
        if (idle_ > rules_.patience) {
            idle_ = 0;
            step_ *= rules_.shrink;
            if (step_ < rules_.least_step) step_ = rules_.step_after_removals;
            restore();
            continue;
        }
        const double aim = upper ? *upper : best_value_ + rules_.aim * std::abs(best_value_);
        move(aim, value, memory.by_row());
    }
    ascent.value = best_value_;
    return ascent;
}

void MessageBound::keep_messages() {
    best_forward_.resize(graph_.edges.size());
    for (std::size_t e = 0; e < best_forward_.size(); ++e) {
        best_forward_[e] = passes_.messages[e].forward;
    }
}

void MessageBound::restore() {
    now_ = best_;
    std::fill(direction_.begin(), direction_.end(), 0.0);
    passes_.set_prices(now_);
    for (std::size_t e = 0; e < best_forward_.size(); ++e) {
        passes_.messages[e].forward = best_forward_[e];
    }
    passes_.back();
}

void MessageBound::move(double upper, double value, const std::vector<double>& used) {
    // Rows count in units of their capacity.
    double length = 0.0;
    for (std::size_t r = 0; r < now_.size(); ++r) {
        const auto capacity = static_cast<double>(std::max<std::int64_t>(graph_.capacity[r], 1));
        const double slope = used[r] / capacity - 1.0;
        direction_[r] = 0.5 * (direction_[r] + slope);
        if (now_[r] <= 0.0 && direction_[r] < 0.0) direction_[r] = 0.0;
        length += direction_[r] * direction_[r];
    }
    if (length <= 0.0) return;
    const double reach = step_ * std::max(upper - value, 1.0) / length;
    for (std::size_t r = 0; r < now_.size(); ++r) {
        const auto capacity = static_cast<double>(std::max<std::int64_t>(graph_.capacity[r], 1));
        now_[r] = std::max(0.0, now_[r] + reach * direction_[r] / capacity);
    }
    passes_.set_prices(now_);
}

Proved MessageBound::prove(std::optional<std::int64_t> upper) {
    if (best_forward_.empty()) keep_messages();
    const int room = all_digits - static_cast<int>(std::ceil(std::log2(graph_.largest_cost())));
    const int digits = std::clamp(room, 0, most_digits);
    const auto scale = std::int64_t{1} << digits;
    MessagePasses<std::int64_t> exact(graph_, scale);
    for (std::size_t e = 0; e < graph_.edges.size(); ++e) {
        const auto& from = best_forward_[e];
        auto& to = exact.messages[e].forward;
        for (std::size_t slot = 0; slot < to.size(); ++slot) {
            to[slot] = rounded(from[slot] * static_cast<double>(scale), largest_message);
        }
    }
    constexpr int price_digits = MessagePasses<std::int64_t>::price_digits;
    const double unit = static_cast<double>(scale) * std::ldexp(1.0, price_digits);
    // Multipliers without bound, as where nothing fits, are made smaller: products have to fit.
    const double shrink = std::min(1.0, largest_message / (dearest_byte_price() + 1.0) / scale);
    std::vector<std::int64_t> prices;
    Wide paid = 0;
    for (std::size_t r = 0; r < best_.size(); ++r) {
        prices.push_back(rounded(best_[r] * shrink * unit, largest_price));
        paid += static_cast<Wide>(prices.back()) * graph_.capacity[r];
    }
    exact.set_prices(prices);
    Excess excess(graph_, exact);
    const Wide total = upper ? exact.back(excess) : exact.back();
    // Rounded up, so that no labelling that fits gives back more.
    const Wide given_back = (paid + (Wide{1} << price_digits) - 1) >> price_digits;
    const Wide value = total - given_back;
    Proved proved;
    // No labelling costs more than all of the largest costs together.
    const auto most_cost = static_cast<Wide>(graph_.largest_cost()) * scale;
    const Wide kept = std::clamp<Wide>(value, 0, most_cost);
    proved.bound = static_cast<std::int64_t>((kept + scale - 1) / scale);
    if (!upper) return proved;
    proved.bound = std::min(proved.bound, *upper);
    const Wide most = static_cast<Wide>(*upper - 1) * scale;
    std::vector<std::uint8_t> keeps;
    for (std::int32_t i = 0; i < exact.count(); ++i) {
        keeps.clear();
        for (const std::int64_t above : excess.of(i)) keeps.push_back(value + above <= most);
        const auto gone = std::count(keeps.begin(), keeps.end(), 0);
        if (gone == 0) continue;
        proved.removed += gone;
        graph_.remove(i, keeps);
    }
    if (proved.removed == 0) return proved;
    // What is left is another problem, in which longer steps may gain again.
    step_ = std::max(step_, rules_.step_after_removals);
    idle_ = 0;
    const std::int64_t left = graph_.num_states();
    proved.is_empty = !graph_.has_states() || !graph_.propagate();
    proved.removed += left - graph_.num_states();
    if (proved.is_empty) proved.bound = *upper;
    return proved;
}

double MessageBound::dearest_byte_price() const {
    double sum = 0.0;
    for (const double price : best_) sum += price;
    double dearest = 0.0;
    for (const MemoryTerm& term : graph_.terms) {
        const std::int64_t bytes = *std::max_element(term.bytes.begin(), term.bytes.end());
        dearest = std::max(dearest, static_cast<double>(bytes) * sum);
    }
    return dearest;
}

Labelling MessageBound::round_at_best(double factor) {
    // The ascent goes on from where it is.
    const auto messages = passes_.messages;
    const std::vector<double> now = now_;
    const std::vector<double> direction = direction_;
    if (!best_forward_.empty()) restore();
    Labelling labelling = round(factor);
    passes_.messages = messages;
    now_ = now;
    direction_ = direction;
    passes_.set_prices(now_);
    return labelling;
}

Labelling MessageBound::round(double factor) {
    // Rows without a price would take what dearer ones give up.
    std::vector<double> prices = now_;
    const double total = std::accumulate(prices.begin(), prices.end(), 0.0);
    const double of_all = total / std::max<double>(1.0, static_cast<double>(prices.size()));
    for (double& price : prices) price = factor * price + (factor - 1.0) * of_all;
    passes_.set_prices(prices);
    std::vector<std::int32_t> chosen(graph_.nodes.size(), -1);
    std::vector<double> sum;
    for (std::int32_t i = 0; i < passes_.count(); ++i) {
        const MessageNode& node = graph_.nodes[i];
        passes_.unary(i, sum);
        for (const std::int32_t e : node.later) {
            const std::vector<std::int32_t>& slots = passes_.earlier_slots(e);
            for (std::size_t x = 0; x < sum.size(); ++x) {
                sum[x] += passes_.messages[e].back[slots[x]];
            }
        }
        for (const std::int32_t e : node.earlier) {
            const MessageEdge& edge = graph_.edges[e];
            const std::int32_t other = edge.earlier().slot[chosen[edge.earlier().node]];
            const std::vector<std::int32_t>& slots = edge.later().slot;
            const bool is_reader = edge.source_is_earlier();
            for (std::size_t x = 0; x < sum.size(); ++x) {
                sum[x] += is_reader ? pair_cost(edge, passes_.costs(e), other, slots[x])
                                    : pair_cost(edge, passes_.costs(e), slots[x], other);
            }
        }
        // Where nothing goes with what was chosen before, the fewest pairs are forbidden.
        const auto best = std::min_element(sum.begin(), sum.end());
        chosen[i] = static_cast<std::int32_t>(best - sum.begin());
    }
    LabellingDescent descent(graph_, passes_.costs(), passes_.price);
    descent.begin(chosen);
    descent.descend(rules_.sweeps);
    descent.descend_within(rules_.sweeps);
    std::vector<std::int32_t> place;
    std::vector<std::int32_t> kind;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        place.push_back(graph_.nodes[i].place[descent.states()[i]]);
        kind.push_back(graph_.nodes[i].kind[descent.states()[i]]);
    }
    passes_.set_prices(now_);
    return judged(std::move(place), std::move(kind));
}

Labelling MessageBound::judged(std::vector<std::int32_t> place,
                               std::vector<std::int32_t> kind) const {
    Labelling labelling;
    std::vector<std::int64_t> steps(graph_.capacity.size() + 1, 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        const MessageNode& node = graph_.nodes[i];
        std::int64_t cost = forbidden_cost;
        for (std::size_t x = 0; x < node.place.size(); ++x) {
            if (node.place[x] == place[i] && node.kind[x] == kind[i]) cost = node.cost[x];
        }
        if (cost == forbidden_cost) return {{}, {}, forbidden_cost, 0};
        labelling.cost += cost;
        for (const std::int32_t t : node.terms) {
            for (const MemorySpan& span : graph_.terms[t].spans) {
                if (!graph_.masks[span.mask][kind[i]]) continue;
                steps[span.first] += graph_.terms[t].bytes[place[i]];
                steps[span.last + 1] -= graph_.terms[t].bytes[place[i]];
            }
        }
    }
    for (const MessageEdge& edge : graph_.edges) {
        const auto slot = [&place, &kind](const EdgeEnd& end) {
            return end.type_of_kind[kind[end.node]] * end.width +
                   end.class_of_place[place[end.node]];
        };
        const EdgeCosts<std::int64_t> costs(edge, 1);
        const std::int64_t cost = pair_cost(edge, costs, slot(edge.source), slot(edge.reader));
        if (cost >= Infinite<std::int64_t>::value) return {{}, {}, forbidden_cost, 0};
        labelling.cost += cost;
    }
    std::int64_t used = 0;
    for (std::size_t r = 0; r < graph_.capacity.size(); ++r) {
        used += steps[r];
        labelling.excess = std::max(labelling.excess, used - graph_.capacity[r]);
    }
    labelling.place = std::move(place);
    labelling.kind = std::move(kind);
    return labelling;
}

}  // namespace jettison
