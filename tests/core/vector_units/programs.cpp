// Solves the programs that stand on its input on each vector unit of the machine, and prints their
// times; -1 where there is no schedule. For compilers and processors other than those of the build.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "core/vector_unit.hpp"
#include "remat_chain/persistent_program.hpp"
#include "remat_chain/relax_rows.hpp"

namespace {

template <typename Number>
std::vector<Number> read(std::int32_t count) {
    std::vector<Number> values(static_cast<std::size_t>(count));
    for (Number& value : values) std::cin >> value;
    return values;
}

// A number that all loops of relax_rows have a part in.
std::int64_t relaxed(std::int32_t count) {
    const auto size = static_cast<std::size_t>(count);
    std::vector<std::int32_t> out(size), one(size), other(size), third(size);
    for (std::size_t i = 0; i < size; ++i) {
        const auto k = static_cast<std::int32_t>(i);
        out[i] = 997 * k % 1009;
        one[i] = 61 * k % 509;
        other[i] = 31 * k % 251;
        third[i] = 13 * k % 127;
    }
    jettison::relax_row(out.data(), one.data(), 7, size);
    jettison::relax_row(out.data(), one.data(), other.data(), -3, size);
    std::int64_t sum = jettison::least_sum(out.data(), one.data(), size) +
                       jettison::least_sum(out.data(), other.data(), third.data(), size);
    for (const std::int32_t value : out) sum += value;
    return sum;
}

}  // namespace

int main() {
    std::int32_t programs = 0;
    std::cin >> programs;
    for (std::int32_t number = 0; number < programs; ++number) {
        jettison::SlottedChain chain;
        std::int32_t budget = 0;
        std::cin >> chain.stages >> budget;
        const std::int32_t n = chain.stages;
        chain.forward_ns = read<std::int64_t>(n);
        chain.backward_ns = read<std::int64_t>(n);
        chain.input_slots = read<std::int32_t>(n);
        chain.saved_slots = read<std::int32_t>(n);
        chain.forward_all_need = read<std::int32_t>(n * n);
        chain.forward_none_need = read<std::int32_t>(n * n);
        for (const std::string& unit : jettison::vector_units()) {
            jettison::choose_vector_unit(unit);
            const auto found = jettison::solve_persistent(
                chain, {budget}, jettison::Wanted::schedules, [] {}, 1);
            std::cout << number << ' ' << unit << ' '
                      << (found[0] ? found[0]->time_ns : std::int64_t{-1}) << ' ' << relaxed(n)
                      << '\n';
        }
    }
}
