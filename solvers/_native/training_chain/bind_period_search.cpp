#include "core/binding.hpp"
#include "training_chain/period_search.hpp"

namespace jettison::binding {

void bind_period_search(nb::module_& m) {
    // Kind of the answer, time of the walk, its steps, events (time, kind, stage from 0, tensor,
    // -1 for none), states; None at the time limit.
    m.def(
        "training_period_search",
        [](const TrainingSteps& steps, std::uint32_t updated_by_host, std::int64_t longest_ns,
           std::int64_t most_states, std::optional<double> time_limit_s) {
            using Event = std::tuple<std::int64_t, int, std::int32_t, std::int32_t>;
            using Answer = std::tuple<int, std::int64_t, std::int64_t, std::vector<Event>,
                                      std::int64_t>;
            Watch watch(time_limit_s);
            PeriodSearch search(steps, updated_by_host, longest_ns, most_states);
            PeriodAnswer found;
            try {
                const nb::gil_scoped_release unlocked;
                found = search.run([&watch] { watch(); });
            } catch (const Watch::TimeIsUp&) {
                return std::optional<Answer>();
            }
            std::vector<Event> events;
            for (const auto& event : found.events) {
                events.emplace_back(event.time_ns, static_cast<int>(event.kind), event.stage,
                                    event.tensor);
            }
            return std::optional(Answer(static_cast<int>(found.kind), found.walk_ns, found.steps,
                                        std::move(events), found.states));
        },
        nb::arg("steps"), nb::arg("updated_by_host"), nb::arg("longest_ns"),
        nb::arg("most_states"), nb::arg("time_limit_s").none());
}

}  // namespace jettison::binding
