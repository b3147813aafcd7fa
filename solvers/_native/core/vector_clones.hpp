// Attribute that compiles loops over rows for several vector units at once.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
// Picks the widest vector unit when the program starts, instead of building for one machine.
#define JETTISON_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define JETTISON_CLONES
#endif
// A clone only builds for its machine what is inlined into it.
#define JETTISON_INLINE inline __attribute__((always_inline))
