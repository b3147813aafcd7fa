// Curves: times as functions of the amount that the link still has to move.
//
// Every time in POFO, as a function f(d) of the units d >= 0 that must leave or come back, is
// continuous, and over d it is flat or grows by 1 tick per unit: more to move means the same
// schedule, more idle time, or another schedule. Such a curve is its value at 0 and the breaks
// where it turns from flat to rising and back. The operations that the recurrences need keep this
// shape, and all breaks are integers where the sizes and times are. Breaks from `limit` on are
// dropped: no state asks for more than fits in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "remat_offload/linked_chain.hpp"

namespace jettison {

struct CurveView {
    std::int64_t base = never;  // `never` stands for a curve that is infinite everywhere
    const std::int64_t* breaks = nullptr;
    std::size_t count = 0;

    std::int64_t next(std::size_t k) const { return k < count ? breaks[k] : never; }

    std::int64_t operator()(std::int64_t d) const {
        std::int64_t value = base;
        for (std::size_t k = 0; k < count && breaks[k] < d; k += 2) {
            value += std::min(d, next(k + 1)) - breaks[k];
        }
        return value;
    }

    // The least d where the curve is at least `wanted`; `never` if it stays below.
    std::int64_t first_reaching(std::int64_t wanted) const {
        std::int64_t value = base;
        if (value >= wanted) return 0;
        for (std::size_t k = 0; k < count; k += 2) {
            const std::int64_t meet = breaks[k] + (wanted - value);
            if (meet <= next(k + 1)) return meet;
            value += next(k + 1) - breaks[k];
        }
        return never;
    }
};

// Whether f(d) < g(d) for some d up to the limit. Between breaks the difference is linear.
inline bool is_below(CurveView f, CurveView g, std::int64_t limit) {
    std::int64_t d = 0, lead = g.base - f.base;
    std::size_t in_f = 0, in_g = 0;
    while (lead <= 0) {
        const std::int64_t f_end = f.next(in_f), g_end = g.next(in_g);
        const std::int64_t next = std::min({f_end, g_end, limit});
        lead += static_cast<std::int64_t>(in_g & 1) * (next - d) -
                static_cast<std::int64_t>(in_f & 1) * (next - d);
        if (next >= limit) return lead > 0;
        d = next;
        in_f += f_end == d;
        in_g += g_end == d;
    }
    return true;
}

class Curve {
public:
    CurveView view() const { return {base_, breaks_.data(), breaks_.size()}; }
    bool is_finite() const { return base_ < never; }
    // What it takes in memory, for all curves that it has been.
    std::size_t bytes() const { return breaks_.capacity() * sizeof(std::int64_t); }

    void start(std::int64_t base, std::int64_t limit) {
        base_ = base;
        limit_ = limit;
        breaks_.clear();
    }
    // From d on the curve is flat or rising. A second call for the same d replaces the first.
    void turn(std::int64_t d, bool rising) {
        if (is_rising() == rising || d >= limit_) return;
        if (!breaks_.empty() && breaks_.back() == d) {
            breaks_.pop_back();
        } else {
            breaks_.push_back(d);
        }
    }

    // f(d + by), by >= 0.
    void shift(CurveView f, std::int64_t by, std::int64_t limit) {
        start(f(by), limit);
        for (std::size_t k = 0; k < f.count; ++k) turn(positive(f.breaks[k] - by), k % 2 == 0);
    }

    // added + f((min(d, room) - delay)+) + (d - room)+.
    void delay(CurveView f, std::int64_t added, std::int64_t delay, std::int64_t room,
               std::int64_t limit) {
        start(f.base + added, limit);
        for (std::size_t k = 0; k < f.count && f.breaks[k] + delay < room; ++k) {
            turn(f.breaks[k] + delay, k % 2 == 0);
        }
        turn(room, true);
    }

    // max(f(d), d - room), where f(0) >= -room. Where the line meets f it stays above.
    void above_line(CurveView f, std::int64_t room, std::int64_t limit) {
        start(f.base, limit);
        std::int64_t flat_from = 0;
        std::int64_t value = f.base;
        for (std::size_t k = 0;; k += 2) {
            turn(flat_from, false);
            const std::int64_t meet = value + room;
            if (meet < f.next(k) || k >= f.count) {
                turn(std::max(meet, flat_from), true);
                return;
            }
            turn(f.breaks[k], true);
            if (k + 1 >= f.count) return;
            flat_from = f.breaks[k + 1];
            value += flat_from - f.breaks[k];
        }
    }

    // added + f(d) + g((d - f(d))+): f first, counted from the end, and g before it.
    void after(CurveView f, CurveView g, std::int64_t added, std::int64_t limit) {
        start(f.base + g.base + added, limit);
        std::int64_t flat_from = 0;
        std::int64_t value = f.base;
        std::size_t inner = 0;
        for (std::size_t k = 0;; k += 2) {
            turn(flat_from, inner % 2 == 1 && flat_from > value);
            const std::int64_t end = f.next(k);
            // While f is flat, g's argument d - value grows once it is positive.
            while (inner < g.count && g.breaks[inner] + value < end) {
                turn(std::max(g.breaks[inner] + value, flat_from), inner % 2 == 0);
                ++inner;
            }
            if (k >= f.count) return;
            turn(f.breaks[k], true);
            if (k + 1 >= f.count) return;
            flat_from = f.breaks[k + 1];
            value += flat_from - f.breaks[k];
        }
    }

    // min(f(d), g(d)).
    void least(CurveView f, CurveView g, std::int64_t limit) {
        start(std::min(f.base, g.base), limit);
        std::int64_t d = 0, lead = f.base - g.base;  // f - g
        std::size_t in_f = 0, in_g = 0;
        while (d < limit) {
            while (in_f < f.count && f.breaks[in_f] <= d) ++in_f;
            while (in_g < g.count && g.breaks[in_g] <= d) ++in_g;
            const bool f_rises = in_f % 2 == 1;
            const bool g_rises = in_g % 2 == 1;
            turn(d, lead < 0 ? f_rises : lead > 0 ? g_rises : f_rises && g_rises);
            std::int64_t next = std::min(f.next(in_f), g.next(in_g));
            if (f_rises != g_rises) {
                if (lead < 0 && f_rises) next = std::min(next, d - lead);
                if (lead > 0 && g_rises) next = std::min(next, d + lead);
                lead += f_rises ? next - d : d - next;
            }
            d = next;
        }
    }

    // A curve of fewer breaks that is at most f, and at least f - tolerance. It stays flat until it
    // is behind by the tolerance, and then rises until it has caught up.
    void simplify_below(CurveView f, std::int64_t tolerance, std::int64_t limit) {
        start(f.base, limit);
        std::int64_t behind = 0;
        for (std::size_t k = 0; k < f.count; k += 2) {
            const std::int64_t from = f.breaks[k];
            const std::int64_t to = f.next(k + 1);
            if (!is_rising()) {
                const std::int64_t start_of_rise = from + (tolerance - behind);
                if (start_of_rise >= to) {
                    behind += to - from;
                    continue;
                }
                turn(start_of_rise, true);
                behind = tolerance;
            }
            if (to >= never) return;
            // f is flat from here to its next rise.
            if (to + behind <= f.next(k + 2)) {
                turn(to + behind, false);
                behind = 0;
            } else {
                behind -= f.next(k + 2) - to;
            }
        }
    }

    // The same from above: at least f, at most f + tolerance, and equal to f at 0.
    void simplify_above(CurveView f, std::int64_t tolerance, std::int64_t limit) {
        // Seen from the limit backwards, and upside down, this is a curve from below.
        std::vector<std::int64_t> mirrored;
        if (f.count % 2 == 1) mirrored.push_back(0);
        for (std::size_t k = f.count; k-- > 0;) mirrored.push_back(limit - f.breaks[k]);
        Curve below;
        below.simplify_below({0, mirrored.data(), mirrored.size()}, tolerance, limit);
        Curve raised;
        const std::vector<std::int64_t>& turns = below.breaks_;
        raised.start(0, limit);
        if (turns.size() % 2 == 1) raised.turn(0, true);
        for (std::size_t k = turns.size(); k-- > 0;) {
            raised.turn(limit - turns[k], k % 2 == 1);
        }
        raised.base_ = f(limit) - raised.view()(limit);
        // It meets f at 0 when it is cut by the line that starts there.
        const std::int64_t line[] = {0};
        least(raised.view(), {f.base, line, 1}, limit);
    }

private:
    bool is_rising() const { return breaks_.size() % 2 == 1; }

    std::int64_t base_ = never;
    std::int64_t limit_ = never;
    std::vector<std::int64_t> breaks_;
};

}  // namespace jettison
