#include "pipeline_chain/cuts.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

namespace jettison {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

struct Label {
    std::int64_t bound_ns;  // of the devices so far
    std::int64_t sum_ns;    // of their times
    std::int32_t last;      // of the first of these devices
    std::size_t rest;       // label of the devices behind it
};

// Keeps the labels that no other one equals or beats in both times.
void keep_best(std::vector<Label>& labels, std::size_t most) {
    std::sort(labels.begin(), labels.end(), [](const Label& one, const Label& other) {
        return std::tie(one.bound_ns, one.sum_ns) < std::tie(other.bound_ns, other.sum_ns);
    });
    std::size_t kept = 0;
    for (const Label& label : labels) {
        if (kept == 0 || label.sum_ns < labels[kept - 1].sum_ns) labels[kept++] = label;
    }
    labels.resize(kept);
    while (labels.size() > most) {
        std::size_t half = 0;
        for (std::size_t k = 0; k < labels.size(); k += 2) {
            Label merged = labels[k];
            if (k + 1 < labels.size()) merged.sum_ns = labels[k + 1].sum_ns;
            labels[half++] = merged;
        }
        labels.resize(half);
    }
}

}  // namespace

PipelineCuts least_step_bound(const PipelineTimes& times, std::int64_t limit_ns,
                              std::size_t most_labels, const std::function<void()>& poll) {
    constexpr std::int64_t never = PipelineCuts::never_ns;
    const std::int32_t n = times.stages, p = times.devices;
    const auto busy = [&](std::int32_t device, std::int32_t s, std::int32_t t) {
        return times.busy_ns[(index(device) * index(n) + index(s)) * index(n) + index(t)];
    };
    const auto forward = [&](std::int32_t device, std::int32_t s, std::int32_t t) {
        return times.forward_ns[(index(device) * index(n) + index(s)) * index(n) + index(t)];
    };
    // The least sum of the times of the devices before one that begins with a stage.
    std::vector<std::vector<std::int64_t>> before(
        index(p), std::vector<std::int64_t>(index(n), never));
    before[0][0] = 0;
    for (std::int32_t device = 0; device + 1 < p; ++device) {
        for (std::int32_t s = 0; s < n; ++s) {
            if (before[index(device)][index(s)] >= never) continue;
            for (std::int32_t t = s; t + 1 < n; ++t) {
                if (busy(device, s, t) >= never) continue;
                std::int64_t& sum_ns = before[index(device) + 1][index(t) + 1];
                sum_ns = std::min(sum_ns, before[index(device)][index(s)] + busy(device, s, t));
            }
        }
    }
    std::vector<std::vector<std::vector<Label>>> labels(
        index(p), std::vector<std::vector<Label>>(index(n)));
    PipelineCuts found;
    for (std::int32_t device = p - 1; device >= 0; --device) {
        const std::int64_t flying = std::min<std::int64_t>(times.microbatches, p - device);
        for (std::int32_t s = 0; s < n; ++s) {
            if (before[index(device)][index(s)] >= never) continue;
            poll();
            auto& own = labels[index(device)][index(s)];
            const auto add = [&](const Label& label) {
                if (label.bound_ns + before[index(device)][index(s)] < limit_ns) {
                    own.push_back(label);
                }
            };
            if (device == p - 1) {
                const std::int64_t busy_ns = busy(device, s, n - 1);
                if (busy_ns < never) add({times.microbatches * busy_ns, busy_ns, n - 1, 0});
            } else {
                for (std::int32_t t = s; t + 1 < n; ++t) {
                    const std::int64_t busy_ns = busy(device, s, t);
                    if (busy_ns >= never) continue;
                    const auto& behind = labels[index(device) + 1][index(t) + 1];
                    for (std::size_t k = 0; k < behind.size(); ++k) {
                        const std::int64_t waits_ns = std::max<std::int64_t>(
                            0, behind[k].sum_ns - (flying - 1) * forward(device, s, t));
                        const std::int64_t bound_ns =
                            std::max(behind[k].bound_ns + busy_ns,
                                     times.microbatches * busy_ns + waits_ns);
                        add({bound_ns, behind[k].sum_ns + busy_ns, t, k});
                    }
                }
            }
            keep_best(own, most_labels);
            found.labels += static_cast<std::int64_t>(own.size());
        }
    }
    if (labels[0][0].empty()) return found;
    std::size_t at = 0;
    std::int32_t s = 0;
    found.bound_ns = labels[0][0][0].bound_ns;
    for (std::int32_t device = 0; device < p; ++device) {
        const Label& label = labels[index(device)][index(s)][at];
        found.first.push_back(s);
        s = label.last + 1;
        at = label.rest;
    }
    return found;
}

}  // namespace jettison
