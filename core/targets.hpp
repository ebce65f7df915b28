#pragma once

// One binary serves every x86-64 processor: a kernel marked MINIMAND_CLONES is compiled once per
// instruction set and the loader picks the best. The attribute is not inherited by functions the
// kernel calls, so everything hot inside it must be MINIMAND_INLINE (and never a lambda).
// Sanitizers run before the loader's choice can, so their builds go without.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) && \
    !defined(MINIMAND_SANITIZE)
#define MINIMAND_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MINIMAND_CLONES
#endif

#define MINIMAND_INLINE [[gnu::always_inline]] inline
