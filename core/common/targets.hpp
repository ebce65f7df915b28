#pragma once

// One binary serves every x86-64 processor: a kernel marked MINIMAND_CLONES is compiled once per
// instruction set and the loader picks the best. The attribute is not inherited by functions the
// kernel calls, so everything hot inside it must be MINIMAND_INLINE (and never a lambda).
// CMake sees whether the compiler and the loader support clones (`clones_check.cpp`).
#if defined(MINIMAND_HAS_CLONES)
#define MINIMAND_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define MINIMAND_VECTOR_BYTES 32
#elif defined(__AVX__)
#define MINIMAND_CLONES
#define MINIMAND_VECTOR_BYTES 32
#else  // SSE2 and NEON: longer vectors would not fit a register
#define MINIMAND_CLONES
#define MINIMAND_VECTOR_BYTES 16
#endif

#define MINIMAND_INLINE [[gnu::always_inline]] inline
