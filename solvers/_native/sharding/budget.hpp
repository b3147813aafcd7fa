// Time and work that a kernel of sharding may still use.
#pragma once

#include <functional>

namespace jettison::sharding {

// Work is counted in pairs of strategies looked at, time is asked for through `has_time`.
class Budget {
public:
    Budget(double pairs, std::function<bool()> has_time)
        : left_(pairs), has_time_(std::move(has_time)) {}

    // Counts work and tells whether there is some left, and time. Time is asked for only once in a
    // while, so that this may be called for every node.
    bool spend(double pairs) {
        spent_ += pairs;
        left_ -= pairs;
        since_ += pairs + 16;
        if (since_ >= pairs_between_looks) {
            since_ = 0;
            is_late_ = is_late_ || !has_time_();
        }
        return left_ > 0 && !is_late_;
    }

    bool is_over() {
        is_late_ = is_late_ || !has_time_();
        return is_late_ || left_ <= 0;
    }

    double spent() const { return spent_; }
    double left() const { return left_; }

private:
    // About 50 microseconds.
    static constexpr double pairs_between_looks = 50'000;
    double left_;
    double spent_ = 0;
    double since_ = 0;
    bool is_late_ = false;
    std::function<bool()> has_time_;
};

}  // namespace jettison::sharding
