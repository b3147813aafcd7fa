#include "binding.hpp"
#include "weight_scheduler.hpp"
#include "weight_selection.hpp"

namespace jettison::binding {
namespace {

using Amounts = Vector<std::int64_t>;

// Half of what 64 bits hold, for sums of two.
constexpr std::int64_t most_ticks = std::int64_t{1} << 61;
// As many periods as are run, and each may wait for every transfer, an upload beside a prefetch.
constexpr std::int64_t most_periods = 16;

std::optional<std::vector<Choice>> select(const Amounts& excess_bytes,
                                          const Amounts& weight_bytes) {
    const std::size_t n = weight_bytes.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    const auto excess = copy(excess_bytes, 2 * n, "excess_bytes");
    const auto weight = copy_amounts(weight_bytes, n, "weight_bytes");
    nb::gil_scoped_release unlocked;
    Watch watch(std::nullopt);
    return select_choices(excess, weight, std::ref(watch));
}

// Time in nanoseconds on the outside, in ticks on the inside.
class WeightScheduler {
public:
    WeightScheduler(const Amounts& duration_ns, const Amounts& working_bytes,
                    const Amounts& resting_bytes, const Amounts& weight_bytes,
                    const Amounts& transfer_ns, std::int64_t memory_bytes) {
        const std::size_t n = weight_bytes.size();
        if (n == 0) throw std::invalid_argument("an empty chain");
        chain_.layers = static_cast<std::int32_t>(n);
        chain_.memory_bytes = memory_bytes;
        chain_.duration = copy_amounts(duration_ns, 2 * n, "duration_ns");
        chain_.working_bytes = copy_amounts(working_bytes, 2 * n, "working_bytes");
        chain_.resting_bytes = copy_amounts(resting_bytes, 2 * n, "resting_bytes");
        chain_.weight_bytes = copy_amounts(weight_bytes, n, "weight_bytes");
        chain_.transfer = copy_amounts(transfer_ns, n, "transfer_ns");
        const auto without = std::count(chain_.duration.begin(), chain_.duration.end(), 0);
        chain_.ticks_per_ns = without == 0 ? 1 : 4 * (without + 1);
        std::int64_t left = most_ticks / most_periods / chain_.ticks_per_ns;
        const auto scale = [&](std::int64_t& time, std::int64_t times, std::int64_t least) {
            if (time > left / times) throw std::overflow_error("the times are too long");
            left -= times * time;
            time = std::max(time * chain_.ticks_per_ns, least);
        };
        for (auto& time : chain_.duration) scale(time, 1, 1);
        for (auto& time : chain_.transfer) scale(time, 4, 0);
    }

    std::optional<std::pair<std::int64_t, std::int32_t>> best_cut(
        const Vector<std::uint8_t>& absences, bool has_discount) const {
        const Absences copied = copy_absences(absences);
        nb::gil_scoped_release unlocked;
        Watch watch(std::nullopt);
        const auto found =
            jettison::best_cut(chain_, copied, to_discount(has_discount), std::ref(watch));
        if (!found) return std::nullopt;
        return std::make_pair(found->period / chain_.ticks_per_ns, found->cut);
    }

    using Events = std::vector<std::tuple<std::int64_t, int, std::int32_t>>;

    std::optional<std::pair<std::int64_t, Events>> schedule(const Vector<std::uint8_t>& absences,
                                                            bool has_discount,
                                                            std::int32_t cut) const {
        const Absences copied = copy_absences(absences);
        const Discount discount = to_discount(has_discount);
        WeightCycleTimes times;
        if (!find_period(chain_, copied, discount, order_actions(chain_, copied, discount, cut),
                         &times)) {
            return std::nullopt;
        }
        Events events;
        for (const Event& event : times.events) {
            events.emplace_back(event.start / chain_.ticks_per_ns, static_cast<int>(event.kind),
                                event.layer);
        }
        return std::make_pair(times.period / chain_.ticks_per_ns, events);
    }

private:
    Absences copy_absences(const Vector<std::uint8_t>& absences) const {
        Absences copied = copy(absences, chain_.weight_bytes.size(), "absences");
        for (std::size_t layer = 0; layer < copied.size(); ++layer) {
            if (chain_.weight_bytes[layer] == 0) copied[layer] = 0;
        }
        return copied;
    }

    static Discount to_discount(bool has_discount) {
        return has_discount ? Discount::used : Discount::not_used;
    }

    WeightChain chain_;
};

}  // namespace

void bind_weight_offload(nb::module_& m) {
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("select_weights", &select, nb::arg("excess_bytes").noconvert(),
          nb::arg("weight_bytes").noconvert());
    nb::class_<WeightScheduler>(m, "WeightScheduler")
        .def(nb::init<const Amounts&, const Amounts&, const Amounts&, const Amounts&,
                      const Amounts&, std::int64_t>(),
             nb::arg("duration_ns").noconvert(), nb::arg("working_bytes").noconvert(),
             nb::arg("resting_bytes").noconvert(), nb::arg("weight_bytes").noconvert(),
             nb::arg("transfer_ns").noconvert(), nb::arg("memory_bytes"))
        .def("best_cut", &WeightScheduler::best_cut, nb::arg("absences").noconvert(),
             nb::arg("has_discount"))
        .def("schedule", &WeightScheduler::schedule, nb::arg("absences").noconvert(),
             nb::arg("has_discount"), nb::arg("cut"));
}

}  // namespace jettison::binding
