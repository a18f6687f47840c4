// How the interposed calls reach the C library's.
#ifndef REAL_H
#define REAL_H

#include "session.h"

#if PROBE_INTERPOSES
#include <dlfcn.h>

// On LP64 the names with 64 are the same calls.
#define ALIAS(name) __attribute__((alias(name), visibility("default")))
#define SHOWN __attribute__((visibility("default")))

/// What a full disk must have left for a new name.
#define NEW_NAME 4096

/// The C library's call of a name.
#define REAL(result, name, ...)                                   \
  static result (*real_##name(void))(__VA_ARGS__) {               \
    static _Atomic(void *) known;                                 \
    void *found = atomic_load_explicit(&known, memory_order_relaxed); \
    if (!found) {                                                 \
      found = dlsym(RTLD_NEXT, #name);                            \
      atomic_store_explicit(&known, found, memory_order_relaxed); \
    }                                                             \
    return (result (*)(__VA_ARGS__))found;                        \
  }
#endif
#endif
