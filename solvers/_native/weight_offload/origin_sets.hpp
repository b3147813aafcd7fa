// Interned sets of small numbers: each is stored once and named by an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace jettison {

class OriginSets {
public:
    using Id = std::int32_t;
    static constexpr Id empty = 0;

    explicit OriginSets(std::size_t size) : words_((size + 63) / 64), scratch_(words_) {
        intern();  // the empty set
    }

    Id single(std::size_t number) {
        clear();
        scratch_[number / 64] |= std::uint64_t{1} << (number % 64);
        return intern();
    }

    template <typename Test>
    Id where(std::size_t size, Test test) {
        clear();
        for (std::size_t k = 0; k < size; ++k) {
            if (test(k)) scratch_[k / 64] |= std::uint64_t{1} << (k % 64);
        }
        return intern();
    }

    Id unite(Id one, Id other) {
        if (one == other || other == empty) return one;
        if (one == empty) return other;
        return combine(one, other, 0, [](std::uint64_t a, std::uint64_t b) { return a | b; });
    }
    Id intersect(Id one, Id other) {
        if (one == other) return one;
        if (one == empty || other == empty) return empty;
        return combine(one, other, 1, [](std::uint64_t a, std::uint64_t b) { return a & b; });
    }
    Id subtract(Id one, Id other) {
        if (one == other || one == empty) return empty;
        if (other == empty) return one;
        return combine(one, other, 2, [](std::uint64_t a, std::uint64_t b) { return a & ~b; });
    }

    // Approximate memory of the sets and their index.
    std::size_t size_bytes() const {
        return data_.size() * sizeof(std::uint64_t) + ids_.size() * index_bytes;
    }

    bool contains(Id id, std::size_t number) const {
        const std::size_t word = static_cast<std::size_t>(id) * words_ + number / 64;
        return (data_[word] >> (number % 64) & 1) != 0;
    }

private:
    void clear() { scratch_.assign(words_, 0); }

    template <typename Join>
    Id combine(Id one, Id other, unsigned kind, Join join) {
        const std::uint64_t question = (static_cast<std::uint64_t>(one) << 33) |
                                       (static_cast<std::uint64_t>(other) << 2) | kind;
        const auto known = answers_.find(question);
        if (known != answers_.end()) return known->second;
        const std::size_t a = static_cast<std::size_t>(one) * words_;
        const std::size_t b = static_cast<std::size_t>(other) * words_;
        for (std::size_t w = 0; w < words_; ++w) scratch_[w] = join(data_[a + w], data_[b + w]);
        const Id answer = intern();
        if (answers_.size() > most_answers) answers_.clear();
        answers_.emplace(question, answer);
        return answer;
    }

    Id intern() {
        std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
        for (const std::uint64_t word : scratch_) {
            hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
            hash ^= hash >> 32;
        }
        std::vector<Id>& same = ids_[hash];
        for (const Id id : same) {
            const std::size_t start = static_cast<std::size_t>(id) * words_;
            std::size_t w = 0;
            while (w < words_ && data_[start + w] == scratch_[w]) ++w;
            if (w == words_) return id;
        }
        const Id id = count_++;
        data_.insert(data_.end(), scratch_.begin(), scratch_.end());
        same.push_back(id);
        return id;
    }

    static constexpr std::size_t index_bytes = 96;
    static constexpr std::size_t most_answers = 1 << 20;
    std::size_t words_;
    std::vector<std::uint64_t> scratch_;
    std::vector<std::uint64_t> data_;
    std::unordered_map<std::uint64_t, std::vector<Id>> ids_;
    std::unordered_map<std::uint64_t, Id> answers_;
    Id count_ = 0;
};

}  // namespace jettison
