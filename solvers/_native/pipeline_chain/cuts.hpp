// Cuts of a pipeline of least lower bound on the time of a 1F1B step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace jettison {

// Times by device, first and last stage: [devices * stages * stages].
struct PipelineTimes {
    std::int32_t devices = 0;
    std::int32_t stages = 0;
    std::int64_t microbatches = 0;
    std::vector<std::int64_t> busy_ns;     // of a micro-batch; `never_ns` where nothing fits
    std::vector<std::int64_t> forward_ns;  // its part in the forward phase
};

struct PipelineCuts {
    static constexpr std::int64_t never_ns = std::int64_t{1} << 61;

    std::int64_t bound_ns = never_ns;  // no cuts have a lesser one
    std::vector<std::int32_t> first;   // [devices], of cuts that have it; empty if nothing fits
    std::int64_t labels = 0;
};

// The program of `solvers/pipeline_chain/step_bound.py`. Cuts whose bound reaches `limit_ns` are
// left out. Beyond `most_labels` of one state two labels become one that is below both: the bound
// still holds, and the cuts may have a larger one.
PipelineCuts least_step_bound(const PipelineTimes& times, std::int64_t limit_ns,
                              std::size_t most_labels, const std::function<void()>& poll);

}  // namespace jettison
