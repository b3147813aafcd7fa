#include "core/binding.hpp"
#include "remat_chain/persistent_program.hpp"

namespace jettison::binding {
namespace {

// The arguments of both functions below; thresholds are one matrix, or four of C_0, E_0, C_1, E_1.
template <typename Needs>
std::vector<std::optional<Solution>> solve(
    Wanted wanted, Tables tables, const Vector<std::int64_t>& forward_ns,
    const Vector<std::int64_t>& backward_ns, const Vector<std::int32_t>& input_slots,
    const Vector<std::int32_t>& saved_slots, const Needs& forward_all_need,
    const Needs& forward_none_need, const std::vector<std::int32_t>& budgets,
    std::optional<double> time_limit_s, std::int32_t threads) {
    const std::size_t n = forward_ns.size();
    if (n == 0) throw std::invalid_argument("an empty chain");
    if (budgets.empty() || *std::min_element(budgets.begin(), budgets.end()) < 0) {
        throw std::invalid_argument("no budgets or negative slots");
    }
    if (threads < 1) throw std::invalid_argument("no threads");
    SlottedChain chain;
    chain.stages = static_cast<std::int32_t>(n);
    chain.tables = tables;
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

Tables tables_of(int tables) {
    if (tables != 2 && tables != 4) throw std::invalid_argument("neither two tables nor four");
    return tables == 2 ? Tables::two : Tables::four;
}

// Time and sequence per budget, where there is one.
using Schedules = std::vector<std::optional<std::pair<std::int64_t, Sequence>>>;
Schedules schedules(const std::vector<std::optional<Solution>>& solutions) {
    Schedules answers;
    for (const auto& solution : solutions) {
        answers.emplace_back();
        if (solution) answers.back().emplace(solution->time_ns, to_sequence(solution->steps));
    }
    return answers;
}

// The time alone.
using Times = std::vector<std::optional<std::int64_t>>;
Times times(const std::vector<std::optional<Solution>>& solutions) {
    Times answers;
    for (const auto& solution : solutions) {
        answers.emplace_back();
        if (solution) answers.back() = solution->time_ns;
    }
    return answers;
}

template <typename... Arguments>
Schedules persistent_program(const Arguments&... arguments) {
    return schedules(solve(Wanted::schedules, Tables::one, arguments...));
}

template <typename... Arguments>
Times persistent_times(const Arguments&... arguments) {
    return times(solve(Wanted::times, Tables::one, arguments...));
}

template <typename... Arguments>
Schedules program_with_drops(int tables, const Arguments&... arguments) {
    return schedules(solve(Wanted::schedules, tables_of(tables), arguments...));
}

template <typename... Arguments>
Times times_with_drops(int tables, const Arguments&... arguments) {
    return times(solve(Wanted::times, tables_of(tables), arguments...));
}

// Adds the arguments that all functions share; `first` names an additional first one.
template <typename Function, typename... First>
void define(nb::module_& m, const char* name, Function function, const First&... first) {
    // No conversions: one that does not fit its type would wrap around in silence.
    m.def(name, function, first..., nb::arg("forward_ns").noconvert(),
          nb::arg("backward_ns").noconvert(), nb::arg("input_slots").noconvert(),
          nb::arg("saved_slots").noconvert(), nb::arg("forward_all_need").noconvert(),
          nb::arg("forward_none_need").noconvert(), nb::arg("budgets"),
          nb::arg("time_limit_s") = nb::none(), nb::arg("threads") = 1);
}

using Ns = Vector<std::int64_t>;
using Slots = Vector<std::int32_t>;
using Budgets = std::vector<std::int32_t>;
using Limit = std::optional<double>;

}  // namespace

void bind_persistent_program(nb::module_& m) {
    using Need = Matrix<std::int32_t>;
    using Needs = Matrices<std::int32_t>;
    define(m, "persistent_program",
           &persistent_program<Ns, Ns, Slots, Slots, Need, Need, Budgets, Limit, std::int32_t>);
    define(m, "persistent_times",
           &persistent_times<Ns, Ns, Slots, Slots, Need, Need, Budgets, Limit, std::int32_t>);
    define(m, "program_with_drops",
           &program_with_drops<Ns, Ns, Slots, Slots, Needs, Needs, Budgets, Limit, std::int32_t>,
           nb::arg("tables"));
    define(m, "times_with_drops",
           &times_with_drops<Ns, Ns, Slots, Slots, Needs, Needs, Budgets, Limit, std::int32_t>,
           nb::arg("tables"));
}

}  // namespace jettison::binding
