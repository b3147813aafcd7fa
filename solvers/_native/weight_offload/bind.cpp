#include "core/binding.hpp"
#include "weight_offload/scheduler.hpp"
#include "weight_offload/search.hpp"
#include "weight_offload/selection.hpp"

namespace jettison::binding {
namespace {

using Amounts = Vector<std::int64_t>;

// Half of the range of 64 bits, so that sums of two fit.
constexpr std::int64_t most_ticks = std::int64_t{1} << 61;
// As many periods as are run, and each may wait for every transfer, an upload beside a prefetch.
constexpr std::int64_t most_periods = 16;

std::optional<std::vector<Choice>> select(const Amounts& excess_bytes,
                                          const Amounts& weight_bytes,
                                          std::optional<double> time_limit_s) {
    const std::size_t n = weight_bytes.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    const auto excess = copy(excess_bytes, 2 * n, "excess_bytes");
    const auto weight = copy_amounts(weight_bytes, n, "weight_bytes");
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    return select_choices(excess, weight, std::ref(watch));
}

// Time is in nanoseconds in the interface, in ticks internally.
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
        chain_.ticks_per_ns = without == 0 ? 1 : 2 * most_periods * (without + 1);
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
        const Vector<std::uint8_t>& absences, bool has_discount,
        std::optional<double> time_limit_s) const {
        const Absences copied = copy_absences(absences);
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
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
        return to_events(chain_, copied, discount, order_actions(chain_, copied, discount, cut));
    }

    static std::optional<std::pair<std::int64_t, Events>> to_events(const WeightChain& chain,
                                                                    const Absences& absences,
                                                                    Discount discount,
                                                                    const Actions& actions) {
        WeightCycleTimes times;
        if (!find_period(chain, absences, discount, actions, &times)) return std::nullopt;
        Events events;
        for (const Event& event : times.events) {
            events.emplace_back(event.start, static_cast<int>(event.kind), event.layer);
        }
        return std::make_pair(times.period_ns, events);
    }

    const WeightChain& chain() const { return chain_; }

    Absences copy_absences(const Vector<std::uint8_t>& absences) const {
        Absences copied = copy(absences, chain_.weight_bytes.size(), "absences");
        for (std::size_t layer = 0; layer < copied.size(); ++layer) {
            if (chain_.weight_bytes[layer] == 0) copied[layer] = 0;
        }
        return copied;
    }

private:
    static Discount to_discount(bool has_discount) {
        return has_discount ? Discount::used : Discount::not_used;
    }

    WeightChain chain_;
};

class PlanSearch {
public:
    PlanSearch(const WeightScheduler& scheduler, const Vector<std::uint8_t>& absences,
               std::int32_t cut, std::int64_t floor_ns, std::uint64_t seed)
        : chain_(scheduler.chain()),
          floor_((floor_ns + 1) * chain_.ticks_per_ns - 1),
          search_(chain_, first_plan(chain_, scheduler.copy_absences(absences), cut), seed) {}

    // The search keeps a reference to the chain that stays with this object.
    PlanSearch(const PlanSearch&) = delete;
    PlanSearch& operator=(const PlanSearch&) = delete;

    void run(std::int64_t changes, std::optional<double> time_limit_s) {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        search_.run(changes, floor_, std::ref(watch));
    }

    std::int64_t period_ns() const { return search_.best_period() / chain_.ticks_per_ns; }
    std::int64_t tried() const { return search_.tried(); }
    std::int64_t tried_in_vain() const { return search_.tried_in_vain(); }

    std::optional<std::pair<std::int64_t, WeightScheduler::Events>> schedule() const {
        const WeightPlan& best = search_.best();
        return WeightScheduler::to_events(chain_, best.absences, Discount::used, best.actions);
    }

private:
    static WeightPlan first_plan(const WeightChain& chain, const Absences& absences,
                                 std::int32_t cut) {
        auto plan = explicit_plan(chain, absences, cut);
        if (!plan) throw std::invalid_argument("the choices do not fit");
        return *plan;
    }

    WeightChain chain_;
    std::int64_t floor_;
    WeightSearch search_;
};

}  // namespace

void bind_weight_offload(nb::module_& m) {
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("select_weights", &select, nb::arg("excess_bytes").noconvert(),
          nb::arg("weight_bytes").noconvert(), nb::arg("time_limit_s") = nb::none());
    nb::class_<WeightScheduler>(m, "WeightScheduler")
        .def(nb::init<const Amounts&, const Amounts&, const Amounts&, const Amounts&,
                      const Amounts&, std::int64_t>(),
             nb::arg("duration_ns").noconvert(), nb::arg("working_bytes").noconvert(),
             nb::arg("resting_bytes").noconvert(), nb::arg("weight_bytes").noconvert(),
             nb::arg("transfer_ns").noconvert(), nb::arg("memory_bytes"))
        .def("best_cut", &WeightScheduler::best_cut, nb::arg("absences").noconvert(),
             nb::arg("has_discount"), nb::arg("time_limit_s") = nb::none())
        .def("schedule", &WeightScheduler::schedule, nb::arg("absences").noconvert(),
             nb::arg("has_discount"), nb::arg("cut"));
    nb::class_<PlanSearch>(m, "PlanSearch")
        .def(nb::init<const WeightScheduler&, const Vector<std::uint8_t>&, std::int32_t,
                      std::int64_t, std::uint64_t>(),
             nb::arg("scheduler"), nb::arg("absences").noconvert(), nb::arg("cut"),
             nb::arg("floor_ns"), nb::arg("seed"))
        .def("run", &PlanSearch::run, nb::arg("changes"), nb::arg("time_limit_s") = nb::none())
        .def("schedule", &PlanSearch::schedule)
        .def_prop_ro("period_ns", &PlanSearch::period_ns)
        .def_prop_ro("tried", &PlanSearch::tried)
        .def_prop_ro("tried_in_vain", &PlanSearch::tried_in_vain);
}

}  // namespace jettison::binding
