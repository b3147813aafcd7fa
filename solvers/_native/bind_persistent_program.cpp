#include "binding.hpp"
#include "persistent_program.hpp"

namespace jettison::binding {
namespace {

// The arguments of both functions below.
std::vector<std::optional<Solution>> solve(
    Wanted wanted, const Vector<std::int64_t>& forward_ns, const Vector<std::int64_t>& backward_ns,
    const Vector<std::int32_t>& input_slots, const Vector<std::int32_t>& saved_slots,
    const Matrix<std::int32_t>& forward_all_need, const Matrix<std::int32_t>& forward_none_need,
    const std::vector<std::int32_t>& budgets, std::optional<double> time_limit_s,
    std::int32_t threads) {
    const std::size_t n = forward_ns.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    if (budgets.empty() || *std::min_element(budgets.begin(), budgets.end()) < 0) {
        throw std::invalid_argument("no budgets or negative slots");
    }
    if (threads < 1) throw std::invalid_argument("no threads");
    SlottedChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.forward_ns = copy_amounts(forward_ns, n, "forward_ns");
    chain.backward_ns = copy_amounts(backward_ns, n, "backward_ns");
    chain.input_slots = copy_amounts(input_slots, n, "input_slots");
    chain.saved_slots = copy_amounts(saved_slots, n, "saved_slots");
    chain.forward_all_need = copy(forward_all_need, n, "forward_all_need");
    chain.forward_none_need = copy(forward_none_need, n, "forward_none_need");
    nb::gil_scoped_release unlocked;
    Watch watch(time_limit_s);
    return solve_persistent(chain, budgets, wanted, std::ref(watch), threads);
}

// Time and sequence per budget, where there is one.
template <typename... Arguments>
std::vector<std::optional<std::pair<std::int64_t, Sequence>>> persistent_program(
    const Arguments&... arguments) {
    std::vector<std::optional<std::pair<std::int64_t, Sequence>>> answers;
    for (const auto& solution : solve(Wanted::schedules, arguments...)) {
        answers.emplace_back();
        if (solution) answers.back().emplace(solution->time_ns, to_sequence(solution->steps));
    }
    return answers;
}

// The time alone.
template <typename... Arguments>
std::vector<std::optional<std::int64_t>> persistent_times(const Arguments&... arguments) {
    std::vector<std::optional<std::int64_t>> answers;
    for (const auto& solution : solve(Wanted::times, arguments...)) {
        answers.emplace_back();
        if (solution) answers.back() = solution->time_ns;
    }
    return answers;
}

template <typename Answers, typename... Arguments>
void define(nb::module_& m, const char* name, Answers (*function)(const Arguments&...)) {
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def(name, function, nb::arg("forward_ns").noconvert(), nb::arg("backward_ns").noconvert(),
          nb::arg("input_slots").noconvert(), nb::arg("saved_slots").noconvert(),
          nb::arg("forward_all_need").noconvert(), nb::arg("forward_none_need").noconvert(),
          nb::arg("budgets"), nb::arg("time_limit_s") = nb::none(), nb::arg("threads") = 1);
}

}  // namespace

void bind_persistent_program(nb::module_& m) {
    define(m, "persistent_program",
           &persistent_program<Vector<std::int64_t>, Vector<std::int64_t>, Vector<std::int32_t>,
                               Vector<std::int32_t>, Matrix<std::int32_t>, Matrix<std::int32_t>,
                               std::vector<std::int32_t>, std::optional<double>, std::int32_t>);
    define(m, "persistent_times",
           &persistent_times<Vector<std::int64_t>, Vector<std::int64_t>, Vector<std::int32_t>,
                             Vector<std::int32_t>, Matrix<std::int32_t>, Matrix<std::int32_t>,
                             std::vector<std::int32_t>, std::optional<double>, std::int32_t>);
}

}  // namespace jettison::binding
