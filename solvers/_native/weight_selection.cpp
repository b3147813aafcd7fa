#include "weight_selection.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

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

class Selection {
public:
    Selection(const std::vector<std::int64_t>& excess_bytes,
              const std::vector<std::int64_t>& weight_bytes)
        : excess_(excess_bytes), weight_(weight_bytes), layers_(weight_bytes.size()) {
        for (auto& bytes : excess_) bytes = std::max<std::int64_t>(bytes, 0);
        chosen_.assign(2 * layers_, false);
        for (std::size_t layer = 0; layer < layers_; ++layer) {
            if (weight_[layer] > 0) covered_by_size_.try_emplace(weight_[layer]);
        }
    }

    bool is_done() const {
        return *std::max_element(excess_.begin(), excess_.end()) == 0;
    }

    // The most profitable choice; of equal ones the larger layer, then d = 1.
    std::optional<Choice> best() {
        for (auto& [bytes, sums] : covered_by_size_) {
            sums.assign(1, 0);
            for (const auto excess : excess_) sums.push_back(sums.back() + std::min(excess, bytes));
        }
        std::optional<Choice> best;
        Profit most(0, 1);
        for (std::size_t layer = layers_; layer-- > 0;) {
            if (weight_[layer] == 0) continue;
            const auto& sums = covered_by_size_.at(weight_[layer]);
            for (const std::size_t d : {std::size_t{1}, std::size_t{0}}) {
                if (chosen_[2 * layer + d]) continue;
                wide benefit = sums[forward(layer)] - sums[backward(layer) + 1];
                if (d == 1) {
                    benefit = sums[2 * layers_] - sums[forward(layer) + 1] + sums[backward(layer)];
                }
                // The second absence of a layer needs no upload of its own.
                if (chosen_[2 * layer + 1 - d]) benefit *= 2;
                const Profit profit(benefit, weight_[layer]);
                if (!best || most < profit) {
                    best = Choice(static_cast<std::int32_t>(layer), static_cast<std::int32_t>(d));
                    most = profit;
                }
            }
        }
        return best;
    }

    void choose(const Choice& choice) {
        const auto layer = static_cast<std::size_t>(choice.first);
        chosen_[2 * layer + static_cast<std::size_t>(choice.second)] = true;
        for (std::size_t at = 0; at < 2 * layers_; ++at) {
            const bool is_outside = at < backward(layer) || at > forward(layer);
            const bool is_inside = at > backward(layer) && at < forward(layer);
            if (choice.second == 1 ? is_outside : is_inside) {
                excess_[at] = std::max<std::int64_t>(excess_[at] - weight_[layer], 0);
            }
        }
    }

private:
    std::size_t backward(std::size_t layer) const { return layers_ - 1 - layer; }
    std::size_t forward(std::size_t layer) const { return layers_ + layer; }

    std::vector<std::int64_t> excess_;
    const std::vector<std::int64_t>& weight_;
    std::size_t layers_;
    std::vector<bool> chosen_;
    // For each size the sums of min(E_o, size) over the first operations.
    std::map<std::int64_t, std::vector<wide>> covered_by_size_;
};

}  // namespace

std::optional<std::vector<Choice>> select_choices(const std::vector<std::int64_t>& excess_bytes,
                                                  const std::vector<std::int64_t>& weight_bytes,
                                                  const std::function<void()>& poll) {
    Selection selection(excess_bytes, weight_bytes);
    std::vector<Choice> choices;
    while (!selection.is_done()) {
        poll();
        const auto best = selection.best();
        if (!best) return std::nullopt;
        selection.choose(*best);
        choices.push_back(*best);
    }
    return choices;
}

}  // namespace jettison
