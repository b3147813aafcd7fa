#include "remat_chain/least_memory.hpp"

#include <algorithm>
#include <cstddef>

namespace jettison {

PersistentNeeds persistent_needs(const ByteChain& chain, const std::function<void()>& poll) {
    const std::int32_t n = chain.stages;
    const auto at = [n](std::int32_t s, std::int32_t t) {
        return static_cast<std::size_t>(s - 1) * static_cast<std::size_t>(n) +
               static_cast<std::size_t>(t - 1);
    };
    const auto input = [&](std::int32_t s) {
        return chain.input_bytes[static_cast<std::size_t>(s - 1)];
    };
    const auto saved = [&](std::int32_t s) {
        return chain.saved_bytes[static_cast<std::size_t>(s - 1)];
    };
    const std::size_t cells = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    PersistentNeeds found{std::vector<std::int64_t>(cells, 0), std::vector<std::int32_t>(cells, 0)};
    auto& [need, choice] = found;
    for (std::int32_t t = 1; t <= n; ++t) {
        for (std::int32_t s = t; s >= 1; --s) {
            std::int64_t best = chain.forward_all_need[at(s, t)];
            if (s < t) best = std::max(best, saved(s) + need[at(s + 1, t)]);
            std::int32_t chosen = s;
            for (std::int32_t split = s + 1; split <= t; ++split) {
                const std::int64_t candidate = std::max({chain.forward_none_need[at(s, t)],
                                                         input(split) + need[at(split, t)],
                                                         need[at(s, split - 1)]});
                if (candidate < best) {
                    best = candidate;
                    chosen = split;
                }
            }
            need[at(s, t)] = best;
            choice[at(s, t)] = chosen;
        }
        poll();
    }
    return found;
}

LeastMemory find_least_memory(const ByteChain& chain, const std::function<void()>& poll) {
    const PersistentNeeds needs = persistent_needs(chain, poll);
    const std::int32_t n = chain.stages;
    const auto at = [n](std::int32_t s, std::int32_t t) {
        return static_cast<std::size_t>(s - 1) * static_cast<std::size_t>(n) +
               static_cast<std::size_t>(t - 1);
    };
    LeastMemory found{needs.need[at(1, n)], {}};
    struct Task {
        std::int32_t s, t;  // t == 0 stands for "emit the backward of s"
    };
    std::vector<Task> tasks{{1, n}};
    while (!tasks.empty()) {
        const auto [s, t] = tasks.back();
        tasks.pop_back();
        if (t == 0) {
            found.steps.push_back({Operation::backward, s});
            continue;
        }
        const std::int32_t split = needs.choice[at(s, t)];
        if (split == s) {
            found.steps.push_back({Operation::forward_all, s});
            tasks.push_back({s, 0});
            if (s < t) tasks.push_back({s + 1, t});
            continue;
        }
        found.steps.push_back({Operation::forward_checkpoint, s});
        for (std::int32_t k = s + 1; k < split; ++k) {
            found.steps.push_back({Operation::forward_none, k});
        }
        tasks.push_back({s, split - 1});
        tasks.push_back({split, t});
    }
    return found;
}

}  // namespace jettison
