#include "weight_offload/selection.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <queue>

namespace jettison {
namespace {

__extension__ using wide = __int128;

// benefit / size, to be compared with others exactly. The quotient is at most four times the number
// of layers, and products of two remainders and sizes below 2^60 fit 128 bits.
struct Profit {
    wide quotient;
    wide remainder;
    wide size;

    Profit(wide benefit, std::int64_t bytes)
        : quotient(benefit / bytes), remainder(benefit % bytes), size(bytes) {}

    bool operator<(const Profit& other) const {
        if (quotient != other.quotient) return quotient < other.quotient;
        return remainder * other.size < other.remainder * size;
    }
};

struct Candidate {
    Profit profit;
    Choice choice;
    std::size_t age;  // the number of choices made when its profit was computed

    // On ties the larger layer first, then d = 1.
    bool operator<(const Candidate& other) const {
        if (profit < other.profit) return true;
        if (other.profit < profit) return false;
        return choice < other.choice;
    }
};

// Profits fall while choices are made, except that of a layer's second choice, which is entered
// again. So an outdated profit is an upper bound, and only the largest have to be computed again.
class Selection {
public:
    Selection(const std::vector<std::int64_t>& excess_bytes,
              const std::vector<std::int64_t>& weight_bytes)
        : excess_(excess_bytes), weight_(weight_bytes), layers_(weight_bytes.size()) {
        for (auto& bytes : excess_) bytes = std::max<std::int64_t>(bytes, 0);
        chosen_.assign(2 * layers_, false);
        for (std::size_t layer = 0; layer < layers_; ++layer) {
            if (weight_[layer] == 0) continue;
            enter(static_cast<std::int32_t>(layer), 0);
            enter(static_cast<std::int32_t>(layer), 1);
        }
    }

    bool is_done() const {
        return *std::max_element(excess_.begin(), excess_.end()) == 0;
    }

    // Makes the most profitable choice; nothing if there is none left.
    std::optional<Choice> choose() {
        while (!candidates_.empty()) {
            const Candidate best = candidates_.top();
            candidates_.pop();
            const auto [layer, d] = best.choice;
            if (chosen_[place(layer, d)]) continue;
            if (best.age < age_) {
                enter(layer, d);
                continue;
            }
            ++age_;
            chosen_[place(layer, d)] = true;
            const std::int64_t bytes = weight_[static_cast<std::size_t>(layer)];
            for (const auto& [from, to] : covered(layer, d)) {
                for (std::size_t at = from; at < to; ++at) {
                    excess_[at] = std::max<std::int64_t>(excess_[at] - bytes, 0);
                }
            }
            if (!chosen_[place(layer, 1 - d)]) enter(layer, 1 - d);
            return best.choice;
        }
        return std::nullopt;
    }

private:
    using Range = std::pair<std::size_t, std::size_t>;

    static std::size_t place(std::int32_t layer, std::int32_t d) {
        return 2 * static_cast<std::size_t>(layer) + static_cast<std::size_t>(d);
    }

    // The operations that run while the weights are absent.
    std::array<Range, 2> covered(std::int32_t layer, std::int32_t d) const {
        const std::size_t backward = layers_ - 1 - static_cast<std::size_t>(layer);
        const std::size_t forward = layers_ + static_cast<std::size_t>(layer);
        if (d == 1) return {Range{0, backward}, Range{forward + 1, 2 * layers_}};
        return {Range{backward + 1, forward}, Range{0, 0}};
    }

    void enter(std::int32_t layer, std::int32_t d) {
        const std::int64_t bytes = weight_[static_cast<std::size_t>(layer)];
        wide benefit = 0;
        for (const auto& [from, to] : covered(layer, d)) {
            // Few enough of them do not overflow.
            const auto few = static_cast<std::size_t>(most_bytes / bytes);
            for (std::size_t first = from; first < to; first += few) {
                const std::size_t last = to - first < few ? to : first + few;
                std::int64_t sum = 0;
                for (std::size_t at = first; at < last; ++at) sum += std::min(excess_[at], bytes);
                benefit += sum;
            }
        }
        // The second absence of a layer needs no upload of its own.
        if (chosen_[place(layer, 1 - d)]) benefit *= 2;
        candidates_.push({Profit(benefit, bytes), Choice(layer, d), age_});
    }

    static constexpr std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> excess_;
    const std::vector<std::int64_t>& weight_;
    std::size_t layers_;
    std::size_t age_ = 0;
    std::vector<bool> chosen_;
    std::priority_queue<Candidate> candidates_;
};

}  // namespace

std::optional<std::vector<Choice>> select_choices(const std::vector<std::int64_t>& excess_bytes,
                                                  const std::vector<std::int64_t>& weight_bytes,
                                                  const std::function<void()>& poll) {
    Selection selection(excess_bytes, weight_bytes);
    std::vector<Choice> choices;
    while (!selection.is_done()) {
        poll();
        const auto choice = selection.choose();
        if (!choice) return std::nullopt;
        choices.push_back(*choice);
    }
    return choices;
}

}  // namespace jettison
