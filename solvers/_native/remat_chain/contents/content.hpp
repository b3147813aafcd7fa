// Contents of the memory at one moment of a chain's step, packed into a few machine words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace jettison {

// Sums of all times and of all sizes stay below 2^60; `Chain` sees to it.
constexpr std::int64_t beyond_all = std::int64_t{1} << 61;

inline std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

struct ContentsChain {
    std::int32_t stages = 0;                   // 1 to most_stages
    std::vector<std::int64_t> forward_ns;      // [stages]
    std::vector<std::int64_t> held_bytes;      // [stages + 1], of a^0, ..., a^N
    std::vector<std::int64_t> gradient_bytes;  // [stages + 1], of their gradients
    std::vector<std::int64_t> saved_bytes;     // [stages]
    std::vector<std::int64_t> saving_bytes;    // [stages], the overhead of a forward that saves
    std::vector<std::int64_t> forward_bytes;   // [stages], the overhead of one that does not
    std::vector<std::int64_t> backward_bytes;  // [stages], overhead and output of a backward
};

enum class Held : std::uint8_t { nothing, plain, whole };

// How each stage is held, and which gradient; a^0 is always there. Two bits per stage, and eight
// for the stage whose gradient is held.
template <std::size_t words>
class Contents {
public:
    static constexpr std::int32_t most_stages = 32 * static_cast<std::int32_t>(words) - 4;

    static Contents start(std::int32_t stages) { return Contents{}.with_gradient(stages); }

    Held held(std::int32_t stage) const {
        return static_cast<Held>((words_[word(stage)] >> shift(stage)) & 3);
    }
    Contents with(std::int32_t stage, Held how) const {
        Contents changed = *this;
        std::uint64_t& bits = changed.words_[word(stage)];
        bits = (bits & ~(std::uint64_t{3} << shift(stage))) |
               (static_cast<std::uint64_t>(how) << shift(stage));
        return changed;
    }
    std::int32_t gradient() const {
        return static_cast<std::int32_t>(words_[words - 1] >> gradient_shift);
    }
    Contents with_gradient(std::int32_t stage) const {
        constexpr std::uint64_t stages_only = (std::uint64_t{1} << gradient_shift) - 1;
        Contents changed = *this;
        changed.words_[words - 1] = (words_[words - 1] & stages_only) |
                                    (static_cast<std::uint64_t>(stage) << gradient_shift);
        return changed;
    }
    bool operator==(const Contents& other) const { return words_ == other.words_; }

    std::uint64_t hash() const {
        std::uint64_t mixed = 0;
        for (const std::uint64_t word : words_) {
            mixed = (mixed ^ word) * 0x9E3779B97F4A7C15u;
            mixed ^= mixed >> 32;
        }
        return mixed;
    }

private:
    static constexpr std::int32_t stages_of_a_word = 32;
    static constexpr int gradient_shift = 56;
    static std::size_t word(std::int32_t stage) {
        return static_cast<std::size_t>((stage - 1) / stages_of_a_word);
    }
    static int shift(std::int32_t stage) { return 2 * ((stage - 1) % stages_of_a_word); }

    std::array<std::uint64_t, words> words_{};
};

using LongestContents = Contents<8>;
constexpr std::int32_t most_stages = LongestContents::most_stages;

}  // namespace jettison
