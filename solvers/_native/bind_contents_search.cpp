#include "binding.hpp"
#include "contents_search.hpp"

namespace jettison::binding {
namespace {

using Amounts = Vector<std::int64_t>;

// Lower bound, value (nothing without a sequence), sequence, states, complete.
using Found = std::tuple<std::int64_t, std::optional<std::int64_t>, Sequence, std::int64_t, bool>;

ContentsChain contents_chain(const Amounts& forward_ns, const Amounts& backward_ns,
                             const Amounts& held_bytes, const Amounts& saved_bytes,
                             const Amounts& forward_bytes, const Amounts& backward_bytes,
                             const Amounts& rerun_ns) {
    const std::size_t n = forward_ns.size();
    if (n == 0 || n > static_cast<std::size_t>(most_stages)) {
        throw std::invalid_argument("no stages, or too many");
    }
    ContentsChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.backward_ns = copy_amounts(backward_ns, n, "backward_ns");
    chain.held_bytes = copy_amounts(held_bytes, n + 1, "held_bytes");
    chain.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    chain.forward_bytes = copy_amounts(forward_bytes, n, "forward_bytes");
    chain.backward_bytes = copy_amounts(backward_bytes, n, "backward_bytes");
    chain.rerun_ns = copy_amounts(rerun_ns, n, "rerun_ns");
    return chain;
}

template <typename Search>
Found watched(std::optional<double> time_limit_s, Search search) {
    ContentsAnswer answer;
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        answer = search([&watch] {
            try {
                watch();
            } catch (const Watch::TimeIsUp&) {
                return false;
            }
            return true;
        });
    }
    std::optional<std::int64_t> value;
    if (answer.value < beyond_all) value = answer.value;
    return {answer.lower_bound, value, to_sequence(answer.steps), answer.states, answer.complete};
}

Found fastest_schedule(const Amounts& forward_ns, const Amounts& backward_ns,
                       const Amounts& held_bytes, const Amounts& saved_bytes,
                       const Amounts& forward_bytes, const Amounts& backward_bytes,
                       const Amounts& rerun_ns, std::int64_t memory_bytes,
                       std::optional<std::int64_t> below_ns, std::int64_t most_states,
                       std::optional<double> time_limit_s) {
    const ContentsChain chain = contents_chain(forward_ns, backward_ns, held_bytes, saved_bytes,
                                               forward_bytes, backward_bytes, rerun_ns);
    return watched(time_limit_s, [&](const std::function<bool()>& poll) {
        return fastest_contents(chain, memory_bytes, below_ns.value_or(beyond_all), most_states,
                                poll);
    });
}

Found smallest_schedule(const Amounts& held_bytes, const Amounts& saved_bytes,
                        const Amounts& forward_bytes, const Amounts& backward_bytes,
                        std::int64_t below_bytes, std::int64_t most_states,
                        std::optional<double> time_limit_s) {
    // Times do not matter: those of the sizes stand in.
    const ContentsChain chain = contents_chain(saved_bytes, saved_bytes, held_bytes, saved_bytes,
                                               forward_bytes, backward_bytes, saved_bytes);
    return watched(time_limit_s, [&](const std::function<bool()>& poll) {
        return smallest_contents(chain, below_bytes, most_states, poll);
    });
}

}  // namespace

void bind_contents_search(nb::module_& m) {
    m.attr("MOST_STAGES") = most_stages;
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("fastest_schedule", &fastest_schedule, nb::arg("forward_ns").noconvert(),
          nb::arg("backward_ns").noconvert(), nb::arg("held_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("forward_bytes").noconvert(),
          nb::arg("backward_bytes").noconvert(), nb::arg("rerun_ns").noconvert(),
          nb::arg("memory_bytes"), nb::arg("below_ns").none(), nb::arg("most_states"),
          nb::arg("time_limit_s") = nb::none());
    m.def("smallest_schedule", &smallest_schedule, nb::arg("held_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("forward_bytes").noconvert(),
          nb::arg("backward_bytes").noconvert(), nb::arg("below_bytes"), nb::arg("most_states"),
          nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
