#include "core/binding.hpp"

#include <nanobind/stl/string.h>

#include "remat_chain/contents/search.hpp"

namespace jettison::binding {
namespace {

using Amounts = Vector<std::int64_t>;

// Lower bound, value (nothing without a sequence), sequence, states, and what ended the search.
using Found = std::tuple<std::int64_t, std::optional<std::int64_t>, Sequence, std::int64_t,
                         std::string>;

ContentsChain contents_chain(const Amounts& forward_ns, const Amounts& held_bytes,
                             const Amounts& gradient_bytes, const Amounts& saved_bytes,
                             const Amounts& saving_bytes, const Amounts& forward_bytes,
                             const Amounts& backward_bytes) {
    const std::size_t n = saved_bytes.size();
    if (n == 0 || n > static_cast<std::size_t>(most_stages)) {
        throw std::invalid_argument("no stages, or too many");
    }
    ContentsChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.held_bytes = copy_amounts(held_bytes, n + 1, "held_bytes");
    chain.gradient_bytes = copy_amounts(gradient_bytes, n + 1, "gradient_bytes");
    chain.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    chain.saving_bytes = copy_amounts(saving_bytes, n, "saving_bytes");
    chain.forward_bytes = copy_amounts(forward_bytes, n, "forward_bytes");
    chain.backward_bytes = copy_amounts(backward_bytes, n, "backward_bytes");
    return chain;
}

// The time limit and Ctrl-C end the search with what it has proved by then.
template <typename Search>
Found watched(std::optional<double> time_limit_s, Search search) {
    ContentsAnswer answer;
    const char* stopped = "";
    {
        nb::gil_scoped_release unlocked;
        Watch watch(time_limit_s);
        answer = search([&watch, &stopped] {
            if (*stopped != '\0') return false;
            try {
                watch();
                return true;
            } catch (const Watch::TimeIsUp&) {
                stopped = "time";
            } catch (const nb::python_error& error) {
                nb::gil_scoped_acquire lock;
                if (!error.matches(PyExc_KeyboardInterrupt)) throw;
                stopped = "interrupt";
            }
            return false;
        });
    }
    std::optional<std::int64_t> value;
    if (answer.value < beyond_all) value = answer.value;
    const char* end = "";
    switch (answer.end) {
        case SearchEnd::complete: end = "complete"; break;
        case SearchEnd::states: end = "states"; break;
        case SearchEnd::memory: end = "memory"; break;
        case SearchEnd::poll: end = stopped; break;
    }
    return {answer.lower_bound, value, to_sequence(answer.steps), answer.states, end};
}

Found fastest_schedule(const Amounts& forward_ns, const Amounts& held_bytes,
                       const Amounts& gradient_bytes, const Amounts& saved_bytes,
                       const Amounts& saving_bytes, const Amounts& forward_bytes,
                       const Amounts& backward_bytes,
                       std::int64_t memory_bytes, std::optional<std::int64_t> below_ns,
                       std::int64_t most_states, std::optional<double> time_limit_s) {
    const ContentsChain chain = contents_chain(forward_ns, held_bytes, gradient_bytes, saved_bytes,
                                               saving_bytes, forward_bytes, backward_bytes);
    return watched(time_limit_s, [&](const std::function<bool()>& poll) {
        return fastest_contents(chain, memory_bytes, below_ns.value_or(beyond_all), most_states,
                                poll);
    });
}

Found smallest_schedule(const Amounts& held_bytes, const Amounts& gradient_bytes,
                        const Amounts& saved_bytes, const Amounts& saving_bytes,
                        const Amounts& forward_bytes, const Amounts& backward_bytes,
                        std::int64_t below_bytes,
                        std::int64_t most_states, std::optional<double> time_limit_s) {
    // Times do not matter: sizes stand in.
    const ContentsChain chain = contents_chain(saved_bytes, held_bytes, gradient_bytes, saved_bytes,
                                               saving_bytes, forward_bytes, backward_bytes);
    return watched(time_limit_s, [&](const std::function<bool()>& poll) {
        return smallest_contents(chain, below_bytes, most_states, poll);
    });
}

}  // namespace

void bind_contents_search(nb::module_& m) {
    m.attr("MOST_STAGES") = most_stages;
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("fastest_schedule", &fastest_schedule, nb::arg("forward_ns").noconvert(),
          nb::arg("held_bytes").noconvert(), nb::arg("gradient_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("saving_bytes").noconvert(),
          nb::arg("forward_bytes").noconvert(),
          nb::arg("backward_bytes").noconvert(), nb::arg("memory_bytes"),
          nb::arg("below_ns").none(), nb::arg("most_states"),
          nb::arg("time_limit_s") = nb::none());
    m.def("smallest_schedule", &smallest_schedule, nb::arg("held_bytes").noconvert(),
          nb::arg("gradient_bytes").noconvert(), nb::arg("saved_bytes").noconvert(),
          nb::arg("saving_bytes").noconvert(), nb::arg("forward_bytes").noconvert(),
          nb::arg("backward_bytes").noconvert(),
          nb::arg("below_bytes"), nb::arg("most_states"), nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
