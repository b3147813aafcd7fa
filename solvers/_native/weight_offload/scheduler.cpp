#include "weight_offload/scheduler.hpp"

namespace jettison {

Actions order_actions(const WeightChain& chain, const Absences& absences, Discount discount,
                      std::int32_t cut) {
    Actions actions;
    std::int32_t prefetched = 0;
    for (std::int32_t layer = chain.layers - 1; layer >= 0 && prefetched < cut; --layer) {
        if (absences[static_cast<std::size_t>(layer)] & after_forward) {
            actions.push_back({ActionKind::prefetch, layer});
            ++prefetched;
        }
    }
    for (std::int32_t layer = chain.layers - 1; layer >= 0; --layer) {
        const std::uint8_t absence = absences[static_cast<std::size_t>(layer)];
        if (absence & after_forward) {
            if (prefetched == 0) actions.push_back({ActionKind::prefetch, layer});
            if (prefetched > 0) --prefetched;
        }
        actions.push_back({ActionKind::compute, chain.layers - 1 - layer});
        actions.push_back({ActionKind::fill, 0});
        if (absence & after_backward) actions.push_back({ActionKind::upload, layer});
    }
    for (std::int32_t layer = 0; layer < chain.layers; ++layer) {
        const std::uint8_t absence = absences[static_cast<std::size_t>(layer)];
        if (absence & after_backward) actions.push_back({ActionKind::prefetch, layer});
        actions.push_back({ActionKind::compute, chain.layers + layer});
        const bool is_hosted = (absence & after_backward) && discount == Discount::used;
        if ((absence & after_forward) && !is_hosted) {
            actions.push_back({ActionKind::upload, layer});
        }
    }
    return actions;
}

std::optional<CutPeriod> best_cut(const WeightChain& chain, const Absences& absences,
                                  Discount discount, const std::function<void()>& poll) {
    std::int32_t cuts = 0;
    for (const std::uint8_t absence : absences) cuts += absence & after_forward ? 1 : 0;
    std::optional<CutPeriod> best;
    for (std::int32_t cut = 0; cut <= cuts; ++cut) {
        poll();
        const auto period = find_period(chain, absences, discount,
                                        order_actions(chain, absences, discount, cut), nullptr);
        // More prefetches before B_L need more memory there: no larger cut is possible either.
        if (!period) break;
        if (!best || *period < best->period) best = CutPeriod{*period, cut};
    }
    return best;
}

}  // namespace jettison
