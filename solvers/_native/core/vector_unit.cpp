#include "core/vector_unit.hpp"

#include <stdexcept>

namespace jettison {
namespace {

constexpr VectorUnit all_units[] = {VectorUnit::baseline, VectorUnit::avx2, VectorUnit::avx512};

bool has(VectorUnit unit) {
#ifdef __x86_64__
    switch (unit) {
        case VectorUnit::avx512: return __builtin_cpu_supports("avx512f");
        case VectorUnit::avx2: return __builtin_cpu_supports("avx2");
        case VectorUnit::baseline: break;
    }
#endif
    return unit == VectorUnit::baseline;
}

// The widest, but for code by clang: that of clang 19 for AVX-512 takes three times as long as its
// code for AVX2, on the grid of 339 stages.
VectorUnit fastest() {
#ifdef __x86_64__
    __builtin_cpu_init();
#endif
    VectorUnit found = VectorUnit::baseline;
    for (const VectorUnit unit : all_units) {
#ifdef __clang__
        if (unit == VectorUnit::avx512) continue;
#endif
        if (has(unit)) found = unit;
    }
    return found;
}

}  // namespace

VectorUnit vector_unit = fastest();

std::string name_of(VectorUnit unit) {
    switch (unit) {
        case VectorUnit::avx512: return "avx512";
        case VectorUnit::avx2: return "avx2";
        case VectorUnit::baseline: break;
    }
    return "baseline";
}

std::vector<std::string> vector_units() {
    std::vector<std::string> names;
    for (const VectorUnit unit : all_units) {
        if (has(unit)) names.push_back(name_of(unit));
    }
    return names;
}

void choose_vector_unit(const std::string& name) {
    for (const VectorUnit unit : all_units) {
        if (has(unit) && name_of(unit) == name) {
            vector_unit = unit;
            return;
        }
    }
    throw std::invalid_argument("no vector unit " + name);
}

}  // namespace jettison
