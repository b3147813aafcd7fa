// Room that a choice leaves in each row of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace jettison::sharding {

// Rows in blocks with the least room of each, so that the least of a range takes few looks.
class Room {
public:
    explicit Room(std::vector<double> capacity) : rows_(std::move(capacity)) {
        for (std::size_t block = 0; block * width < rows_.size(); ++block) {
            blocks_.push_back(least_of_rows(block * width, end_of(block)));
        }
    }

    double of(std::size_t row) const { return rows_[row]; }

    // The least room of the rows from first to before end.
    double least(std::size_t first, std::size_t end) const {
        const std::size_t from = (first + width - 1) / width;
        const std::size_t to = end / width;
        if (from >= to) return least_of_rows(first, end);
        const double inner = *std::min_element(blocks_.begin() + from, blocks_.begin() + to);
        return std::min({inner, least_of_rows(first, from * width),
                         least_of_rows(to * width, end)});
    }

    double least() const {
        if (blocks_.empty()) return std::numeric_limits<double>::infinity();
        return *std::min_element(blocks_.begin(), blocks_.end());
    }

    void take(std::size_t first, std::size_t end, double usage) {
        for (std::size_t row = first; row < end; ++row) rows_[row] -= usage;
        for (std::size_t block = first / width; block * width < end; ++block) {
            const bool is_whole = first <= block * width && end_of(block) <= end;
            blocks_[block] = is_whole ? blocks_[block] - usage
                                      : least_of_rows(block * width, end_of(block));
        }
    }

private:
    static constexpr std::size_t width = 64;

    std::size_t end_of(std::size_t block) const {
        return std::min(rows_.size(), (block + 1) * width);
    }

    double least_of_rows(std::size_t first, std::size_t end) const {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t row = first; row < end; ++row) least = std::min(least, rows_[row]);
        return least;
    }

    std::vector<double> rows_;
    std::vector<double> blocks_;
};

}  // namespace jettison::sharding
