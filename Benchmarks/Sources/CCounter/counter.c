#define _GNU_SOURCE 1
#undef _FORTIFY_SOURCE
#include "CCounter.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/stat.h>

static _Atomic int64_t flushes, writes, bytes, allocations;
static _Atomic bool counts_allocations;

counter_totals counter_read(void) {
  return (counter_totals){
    .flushes = atomic_load_explicit(&flushes, memory_order_relaxed),
    .writes = atomic_load_explicit(&writes, memory_order_relaxed),
    .bytes = atomic_load_explicit(&bytes, memory_order_relaxed),
    .allocations = atomic_load_explicit(&allocations, memory_order_relaxed),
  };
}

void counter_count_allocations(bool counts) {
  atomic_store_explicit(&counts_allocations, counts, memory_order_relaxed);
}

int64_t counter_allocated_bytes(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? (int64_t)info.st_blocks * 512 : 0;
}

#if defined(__linux__) && defined(__GLIBC__) && defined(__LP64__)
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

// Weak, so that a program may define such calls itself, as that of the tests does with those of the conformance kit.
#define SHOWN __attribute__((weak, visibility("default")))
#define ALIAS(name) __attribute__((weak, alias(name), visibility("default")))
#define REAL(result, name, ...)                                       \
  static result (*real_##name(void))(__VA_ARGS__) {                   \
    static _Atomic(void *) known;                                     \
    void *found = atomic_load_explicit(&known, memory_order_relaxed); \
    if (!found) {                                                     \
      found = dlsym(RTLD_NEXT, #name);                                \
      atomic_store_explicit(&known, found, memory_order_relaxed);     \
    }                                                                 \
    return (result (*)(__VA_ARGS__))found;                            \
  }

REAL(int, fsync, int)
REAL(int, fdatasync, int)
REAL(int, msync, void *, size_t, int)
REAL(int, sync_file_range, int, off_t, off_t, unsigned)
REAL(ssize_t, write, int, const void *, size_t)
REAL(ssize_t, writev, int, const struct iovec *, int)
REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t)
REAL(int, close, int)

// MARK: Writes

// 0 for unknown, 1 for no, 2 for yes: whether writes to a descriptor wait for the medium.
enum { DESCRIPTORS = 4096 };
static _Atomic uint8_t waits[DESCRIPTORS];

static bool waits_for_medium(int fd) {
  if (fd < 0) return false;
  uint8_t known = fd < DESCRIPTORS ? atomic_load_explicit(&waits[fd], memory_order_relaxed) : 0;
  if (known) return known == 2;
  int number = errno, flags = fcntl(fd, F_GETFL);
  errno = number;
  bool does = flags != -1 && (flags & O_DSYNC);
  if (fd < DESCRIPTORS) atomic_store_explicit(&waits[fd], does ? 2 : 1, memory_order_relaxed);
  return does;
}

static ssize_t count_write(int fd, ssize_t result) {
  if (fd > 2 && result > 0) {
    atomic_fetch_add_explicit(&writes, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes, result, memory_order_relaxed);
    if (waits_for_medium(fd)) atomic_fetch_add_explicit(&flushes, 1, memory_order_relaxed);
  }
  return result;
}

SHOWN ssize_t write(int fd, const void *from, size_t count) {
  return count_write(fd, real_write()(fd, from, count));
}
SHOWN ssize_t writev(int fd, const struct iovec *parts, int count) {
  return count_write(fd, real_writev()(fd, parts, count));
}
static ssize_t count_pwrite(int fd, const void *from, size_t count, off_t offset) {
  return count_write(fd, real_pwrite()(fd, from, count, offset));
}
SHOWN ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return count_write(fd, real_pwritev()(fd, parts, count, offset));
}
ssize_t pwrite(int, const void *, size_t, off_t) ALIAS("count_pwrite");
ssize_t pwrite64(int, const void *, size_t, off_t) ALIAS("count_pwrite");
ssize_t pwritev64(int, const struct iovec *, int, off_t) ALIAS("pwritev");

SHOWN int close(int fd) {
  if (fd >= 0 && fd < DESCRIPTORS) atomic_store_explicit(&waits[fd], 0, memory_order_relaxed);
  return real_close()(fd);
}

// MARK: Flushes

static int count_flush(int result) {
  if (result == 0) atomic_fetch_add_explicit(&flushes, 1, memory_order_relaxed);
  return result;
}

SHOWN int fsync(int fd) { return count_flush(real_fsync()(fd)); }
SHOWN int fdatasync(int fd) { return count_flush(real_fdatasync()(fd)); }
SHOWN int msync(void *address, size_t count, int flags) {
  int result = real_msync()(address, count, flags);
  return (flags & MS_SYNC) ? count_flush(result) : result;
}
SHOWN int sync_file_range(int fd, off_t offset, off_t count, unsigned flags) {
  int result = real_sync_file_range()(fd, offset, count, flags);
  return (flags & SYNC_FILE_RANGE_WAIT_AFTER) ? count_flush(result) : result;
}

// MARK: Memory

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static inline void count_allocation(void) {
  if (__builtin_expect(atomic_load_explicit(&counts_allocations, memory_order_relaxed), 0)) {
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  }
}

SHOWN void *malloc(size_t count) {
  count_allocation();
  return __libc_malloc(count);
}
SHOWN void *calloc(size_t number, size_t count) {
  count_allocation();
  return __libc_calloc(number, count);
}
SHOWN void *realloc(void *block, size_t count) {
  count_allocation();
  return __libc_realloc(block, count);
}
SHOWN void *aligned_alloc(size_t alignment, size_t count) {
  count_allocation();
  return __libc_memalign(alignment, count);
}
SHOWN int posix_memalign(void **block, size_t alignment, size_t count) {
  if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  count_allocation();
  void *made = __libc_memalign(alignment, count);
  if (!made) return ENOMEM;
  *block = made;
  return 0;
}

bool counter_is_available(void) {
  return dlsym(RTLD_DEFAULT, "pwrite") == (void *)count_pwrite;
}

int32_t counter_drop_cache(int32_t file) {
  return posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}
#else
bool counter_is_available(void) { return false; }
int32_t counter_drop_cache(int32_t file) {
  (void)file;
  return 0;
}
#endif
