// Arena of curves, which are freed all together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "remat_offload/curve.hpp"
#include "remat_offload/rotor.hpp"

namespace jettison {

// Memory of curves that are made anew again and again: counted where they have grown.
class ScratchClaim {
public:
    explicit ScratchClaim(Budget& budget) : claim_(budget) {}

    template <typename... Curves>
    void count(const Curves&... curves) {
        const std::size_t bytes = (curves.bytes() + ...);
        if (bytes <= bytes_) return;
        claim_.take(bytes - bytes_);
        bytes_ = bytes;
    }

private:
    Claim claim_;
    std::size_t bytes_ = 0;
};

class CurveStore {
public:
    explicit CurveStore(Budget& budget) : claim_(budget) {}

    const std::int64_t* add(const CurveView& curve) {
        const std::size_t size = curve.count + 2;
        if (blocks_.empty() || used_ + size > blocks_.back().size()) {
            const std::size_t made = std::max(block_size, size);
            claim_.take(made * sizeof(std::int64_t));
            blocks_.emplace_back(made);
            used_ = 0;
        }
        std::int64_t* const place = blocks_.back().data() + used_;
        used_ += size;
        place[0] = curve.base;
        place[1] = static_cast<std::int64_t>(curve.count);
        std::copy(curve.breaks, curve.breaks + curve.count, place + 2);
        return place;
    }
    // The curve at a place; one that is infinite for none.
    static CurveView view(const std::int64_t* place) {
        if (place == nullptr) return {};
        return {place[0], place + 2, at(place[1])};
    }

private:
    static constexpr std::size_t block_size = std::size_t{1} << 15;
    Claim claim_;
    std::vector<std::vector<std::int64_t>> blocks_;
    std::size_t used_ = 0;
};

}  // namespace jettison
