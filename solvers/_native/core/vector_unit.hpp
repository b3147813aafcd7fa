// Dispatch of loops over rows to the vector unit of the machine, while the program runs.
#pragma once

#include <string>
#include <vector>

// What a variant calls is inlined into it: only that is compiled for its unit.
#define JETTISON_INLINE inline __attribute__((always_inline))

namespace jettison {

// The vector units that a build has variants for. `baseline` is what the compiler takes for
// granted: SSE2 on x86-64, NEON on 64-bit ARM.
enum class VectorUnit { baseline, avx2, avx512 };

// Those that this machine has, the narrowest first.
std::vector<std::string> vector_units();
std::string name_of(VectorUnit unit);
// The unit that variants are chosen for; at first the fastest. All give the same answers.
extern VectorUnit vector_unit;
// Throws std::invalid_argument if the machine has no unit of that name. No kernel may be running.
void choose_vector_unit(const std::string& name);

// `vectorized<body>` is the function `body`, which is JETTISON_INLINE, compiled once for each
// unit. Unlike `target_clones`, this needs neither GCC nor a loader that resolves symbols while the
// program starts, which macOS, musl and the sanitizers lack.
template <auto body>
struct Vectorized;
template <auto body>
constexpr auto vectorized = &Vectorized<body>::run;

template <typename Result, typename... Arguments, Result (*body)(Arguments...)>
struct Vectorized<body> {
    static Result run(Arguments... arguments) {
#ifdef __x86_64__
        switch (vector_unit) {
            case VectorUnit::avx512: return with_avx512(arguments...);
            case VectorUnit::avx2: return with_avx2(arguments...);
            case VectorUnit::baseline: break;
        }
#endif
        return body(arguments...);
    }

private:
#ifdef __x86_64__
    __attribute__((target("avx512f"))) static Result with_avx512(Arguments... arguments) {
        return body(arguments...);
    }
    __attribute__((target("avx2"))) static Result with_avx2(Arguments... arguments) {
        return body(arguments...);
    }
#endif
};

}  // namespace jettison
