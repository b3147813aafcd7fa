#include "core/binding.hpp"
#include "remat_offload/cut.hpp"

namespace jettison::binding {
namespace {

using Amounts = Vector<std::int64_t>;

OffloadCut to_cut(std::int64_t device_bytes, std::int64_t delay_ns, const Amounts& plain_bytes,
                  const Amounts& saved_bytes, const Amounts& forward_ns, const Amounts& later_ns) {
    const std::size_t n = plain_bytes.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    OffloadCut cut;
    cut.device_bytes = device_bytes;
    cut.delay_ns = delay_ns;
    cut.plain_bytes = copy_amounts(plain_bytes, n, "plain_bytes");
    cut.saved_bytes = copy_amounts(saved_bytes, n, "saved_bytes");
    cut.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    cut.later_ns = copy_amounts(later_ns, n, "later_ns");
    return cut;
}

template <typename Link>
bool run(const OffloadCut& cut, const Link& link,
         std::int64_t most_states, std::optional<double> time_limit_s) {
    if (most_states < 1) throw std::invalid_argument("most_states: below 1");
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    return allows(cut, link, static_cast<std::size_t>(most_states), std::ref(watch));
}

bool cut_allows_fluid(
    std::int64_t device_bytes, std::int64_t delay_ns, const Amounts& plain_bytes,
    const Amounts& saved_bytes, const Amounts& forward_ns, const Amounts& later_ns,
    const Amounts& held_bytes, const Amounts& input_bytes, std::int64_t most_states,
    std::optional<double> time_limit_s) {
    const OffloadCut cut =
        to_cut(device_bytes, delay_ns, plain_bytes, saved_bytes, forward_ns, later_ns);
    const std::size_t n = cut.plain_bytes.size();
    const FluidLink link{copy(held_bytes, n, "held_bytes"), copy(input_bytes, n, "input_bytes")};
    return run(cut, link, most_states, time_limit_s);
}

bool cut_allows_at_once(
    std::int64_t device_bytes, std::int64_t delay_ns, const Amounts& plain_bytes,
    const Amounts& saved_bytes, const Amounts& forward_ns, const Amounts& later_ns,
    std::int64_t slack_ns, const Amounts& saved_ns, const Amounts& plain_ns,
    const Amounts& late_ns, const Amounts& early_ns, const Amounts& path_ns,
    std::int64_t most_states, std::optional<double> time_limit_s) {
    const OffloadCut cut =
        to_cut(device_bytes, delay_ns, plain_bytes, saved_bytes, forward_ns, later_ns);
    const std::size_t n = cut.plain_bytes.size();
    const AtOnceLink link{slack_ns, copy_amounts(saved_ns, n, "saved_ns"),
                          copy_amounts(plain_ns, n, "plain_ns"), copy(late_ns, n, "late_ns"),
                          copy(early_ns, n, "early_ns"), copy(path_ns, n, "path_ns")};
    return run(cut, link, most_states, time_limit_s);
}

}  // namespace

void bind_offload_cut(nb::module_& m) {
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def("cut_allows_fluid", &cut_allows_fluid, nb::arg("device_bytes"), nb::arg("delay_ns"),
          nb::arg("plain_bytes").noconvert(), nb::arg("saved_bytes").noconvert(),
          nb::arg("forward_ns").noconvert(), nb::arg("later_ns").noconvert(),
          nb::arg("held_bytes").noconvert(), nb::arg("input_bytes").noconvert(),
          nb::arg("most_states"), nb::arg("time_limit_s") = nb::none());
    m.def("cut_allows_at_once", &cut_allows_at_once, nb::arg("device_bytes"),
          nb::arg("delay_ns"), nb::arg("plain_bytes").noconvert(),
          nb::arg("saved_bytes").noconvert(), nb::arg("forward_ns").noconvert(),
          nb::arg("later_ns").noconvert(), nb::arg("slack_ns"), nb::arg("saved_ns").noconvert(),
          nb::arg("plain_ns").noconvert(), nb::arg("late_ns").noconvert(),
          nb::arg("early_ns").noconvert(), nb::arg("path_ns").noconvert(),
          nb::arg("most_states"), nb::arg("time_limit_s") = nb::none());
}

}  // namespace jettison::binding
