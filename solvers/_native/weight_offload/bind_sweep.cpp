#include <nanobind/stl/vector.h>

#include "core/binding.hpp"
#include "weight_offload/sweep.hpp"

namespace jettison::binding {
namespace {

using Amounts = Vector<std::int64_t>;
using Numbers = Vector<std::int32_t>;

// Complete, period (nothing without a closed walk), actions, raised, next period, labels.
using Swept = std::tuple<bool, std::optional<std::int64_t>,
                         std::vector<std::tuple<int, int, std::int64_t>>,
                         std::vector<std::tuple<int, std::int64_t, std::int64_t>>, std::int64_t,
                         std::int64_t>;

void expect_within(const std::vector<std::int32_t>& values, std::int32_t first, std::int32_t end,
                   const char* name) {
    for (const std::int32_t value : values) {
        if (value >= first && value < end) continue;
        throw std::invalid_argument(std::string(name) + ": range");
    }
}

std::vector<Beginning> to_beginnings(const Matrix<std::int64_t>& rows, std::int32_t layers) {
    if (rows.shape(1) != 7) throw std::invalid_argument("beginnings: wrong shape");
    std::vector<Beginning> beginnings;
    const auto sets = std::int64_t{1} << layers;
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
        const std::int64_t* row = rows.data() + 7 * k;
        for (int column = 0; column < 7; ++column) {
            if (row[column] < 0) throw std::invalid_argument("beginnings: negative");
        }
        const auto is_layer = [layers](std::int64_t value) {
            return value == idle_link || value < layers;
        };
        if (row[0] >= sets || row[1] >= sets || row[2] >= sets || !is_layer(row[3]) ||
            !is_layer(row[4])) {
            throw std::invalid_argument("beginnings: range");
        }
        Beginning one;
        one.resident = static_cast<std::uint32_t>(row[0]);
        one.hosted = static_cast<std::uint32_t>(row[1]);
        one.owed = static_cast<std::uint32_t>(row[2]);
        one.up = static_cast<std::int32_t>(row[3]);
        one.down = static_cast<std::int32_t>(row[4]);
        one.up_ns = row[5];
        one.down_ns = row[6];
        beginnings.push_back(one);
    }
    return beginnings;
}

OffloadCycle to_cycle(const Numbers& layer, const Numbers& backward, const Amounts& duration_ns,
                      const Amounts& working_bytes, const Amounts& resting_bytes,
                      const Amounts& weight_bytes, const Amounts& transfer_ns,
                      std::int64_t memory_bytes, std::int64_t bytes_per_s) {
    const std::size_t n = weight_bytes.size();
    const std::size_t k = duration_ns.size();
    if (n > static_cast<std::size_t>(most_offloaded_layers) || k == 0 || k < 2 * n ||
        k > static_cast<std::size_t>(most_cycle_operations) || bytes_per_s < 1) {
        throw std::invalid_argument("no operations, too many, or no bandwidth");
    }
    OffloadCycle cycle;
    cycle.layers = static_cast<std::int32_t>(n);
    cycle.operations = static_cast<std::int32_t>(k);
    cycle.layer = copy(layer, k, "layer");
    cycle.backward = copy(backward, k, "backward");
    expect_within(cycle.layer, no_layer, cycle.layers, "layer");
    expect_within(cycle.backward, 0, 2, "backward");
    cycle.duration_ns = copy_amounts(duration_ns, k, "duration_ns");
    cycle.working_bytes = copy_amounts(working_bytes, k, "working_bytes");
    cycle.resting_bytes = copy_amounts(resting_bytes, k, "resting_bytes");
    cycle.weight_bytes = copy_amounts(weight_bytes, n, "weight_bytes");
    cycle.transfer_ns = copy_amounts(transfer_ns, n, "transfer_ns");
    cycle.memory_bytes = memory_bytes;
    cycle.bytes_per_s = bytes_per_s;
    return cycle;
}

// Whether there is time left; Ctrl-C is an exception.
std::function<bool()> in_time(Watch& watch) {
    return [&watch] {
        try {
            watch();
        } catch (const Watch::TimeIsUp&) {
            return false;
        }
        return true;
    };
}

using Row = std::tuple<int, int, int, int, int>;

// Complete, the states, and the next period where all were cut off.
using Listed = std::tuple<bool, std::vector<Row>, std::int64_t>;

Listed weight_cycle_beginnings(const Numbers& layer, const Numbers& backward,
                               const Amounts& duration_ns, const Amounts& working_bytes,
                               const Amounts& resting_bytes, const Amounts& weight_bytes,
                               const Amounts& transfer_ns, std::int64_t memory_bytes,
                               std::int64_t bytes_per_s, std::int64_t period_ns,
                               std::int64_t most, std::optional<double> time_limit_s) {
    const OffloadCycle cycle = to_cycle(layer, backward, duration_ns, working_bytes, resting_bytes,
                                        weight_bytes, transfer_ns, memory_bytes, bytes_per_s);
    if (most < 0) throw std::invalid_argument("most: negative");
    BeginningsAnswer answer;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        answer = cycle_beginnings(cycle, period_ns, static_cast<std::size_t>(most), in_time(watch));
    }
    std::vector<Row> rows;
    for (const Beginning& one : answer.found) {
        rows.emplace_back(static_cast<int>(one.resident), static_cast<int>(one.hosted),
                          static_cast<int>(one.owed), one.up, one.down);
    }
    return {answer.complete, std::move(rows), answer.next_ns};
}

Swept sweep_weight_cycle(const Numbers& layer, const Numbers& backward, const Amounts& duration_ns,
                         const Amounts& working_bytes, const Amounts& resting_bytes,
                         const Amounts& weight_bytes, const Amounts& transfer_ns,
                         std::int64_t memory_bytes, std::int64_t bytes_per_s,
                         const Matrix<std::int64_t>& beginnings, std::int64_t period_ns,
                         std::int64_t most_labels, std::int64_t most_alike,
                         std::optional<double> time_limit_s) {
    const OffloadCycle cycle = to_cycle(layer, backward, duration_ns, working_bytes, resting_bytes,
                                        weight_bytes, transfer_ns, memory_bytes, bytes_per_s);
    const std::vector<Beginning> starts = to_beginnings(beginnings, cycle.layers);
    SweepAnswer answer;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        answer =
            sweep_cycle(cycle, starts, period_ns, most_labels, most_alike, in_time(watch));
    }
    std::optional<std::int64_t> period;
    if (answer.period_ns >= 0) period = answer.period_ns;
    std::vector<std::tuple<int, int, std::int64_t>> actions;
    for (const TimedAction& action : answer.actions) {
        actions.emplace_back(static_cast<int>(action.kind), action.layer, action.start_ns);
    }
    std::vector<std::tuple<int, std::int64_t, std::int64_t>> raised;
    for (const Raised& one : answer.raised) {
        raised.emplace_back(one.beginning, one.up_ns, one.down_ns);
    }
    return {answer.complete, period, std::move(actions), std::move(raised), answer.next_ns,
            answer.labels};
}

}  // namespace

void bind_weight_sweep(nb::module_& m) {
    m.attr("MOST_OFFLOADED_LAYERS") = most_offloaded_layers;
    m.attr("MOST_CYCLE_OPERATIONS") = most_cycle_operations;
    m.attr("NO_LAYER") = no_layer;
    m.attr("IDLE_LINK") = idle_link;
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("weight_cycle_beginnings", &weight_cycle_beginnings, nb::arg("layer").noconvert(),
          nb::arg("backward").noconvert(), nb::arg("duration_ns").noconvert(),
          nb::arg("working_bytes").noconvert(), nb::arg("resting_bytes").noconvert(),
          nb::arg("weight_bytes").noconvert(), nb::arg("transfer_ns").noconvert(),
          nb::arg("memory_bytes"), nb::arg("bytes_per_s"), nb::arg("period_ns"), nb::arg("most"),
          nb::arg("time_limit_s") = nb::none());
    m.def("sweep_weight_cycle", &sweep_weight_cycle, nb::arg("layer").noconvert(),
          nb::arg("backward").noconvert(), nb::arg("duration_ns").noconvert(),
          nb::arg("working_bytes").noconvert(), nb::arg("resting_bytes").noconvert(),
          nb::arg("weight_bytes").noconvert(), nb::arg("transfer_ns").noconvert(),
          nb::arg("memory_bytes"), nb::arg("bytes_per_s"), nb::arg("beginnings").noconvert(),
          nb::arg("period_ns"), nb::arg("most_labels"), nb::arg("most_alike"),
          nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
