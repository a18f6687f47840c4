// The interposed calls that make things durable, and those that map files.
#define _GNU_SOURCE 1
#undef _FORTIFY_SOURCE
#include "real.h"

#if PROBE_INTERPOSES
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

REAL(int, fsync, int)
REAL(int, fdatasync, int)
REAL(int, sync_file_range, int, off_t, off_t, unsigned)
REAL(int, msync, void *, size_t, int)
REAL(void *, mmap, void *, size_t, int, int, int, off_t)
REAL(void *, mremap, void *, size_t, size_t, int, ...)
REAL(int, munmap, void *, size_t)
REAL(int, syncfs, int)
REAL(void, sync, void)

// MARK: Syncing

// What is watched need not reach the disk: the record says what a power cut keeps, and what survives
// the process is in the system's cache. A real sync would only cost its wait, thousands of times.
#define SYNCING(call)                                                                     \
  probe_session *s = probe_lock_descriptor(fd);                                           \
  if (!s) return call;                                                                    \
  probe_kind kind = probe_is_directory(fd) ? PROBE_SYNC_DIRECTORY : PROBE_SYNC;           \
  bool fails = probe_next(s, kind) == PROBE_ERROR;                                        \
  if (!fails) probe_synced(s, fd);                                                        \
  probe_unlock(s);                                                                        \
  return fails ? -1 : 0;

SHOWN int fsync(int fd) { SYNCING(real_fsync()(fd)) }
SHOWN int fdatasync(int fd) { SYNCING(real_fdatasync()(fd)) }

// It promises nothing about metadata and the drive's cache, so nothing counts as durable for it.
// Without flags it does nothing at all, and cannot fail: RocksDB asks in this way whether it is there.
SHOWN int sync_file_range(int fd, off_t offset, off_t count, unsigned flags) {
  probe_session *s = flags == 0 ? NULL : probe_lock_descriptor(fd);
  if (s) {
    probe_fault fault = probe_next(s, PROBE_SYNC);
    probe_unlock(s);
    if (fault == PROBE_ERROR) return -1;
  }
  return real_sync_file_range()(fd, offset, count, flags);
}

SHOWN int msync(void *address, size_t count, int flags) {
  int32_t file = -1;
  probe_session *s = (flags & MS_SYNC) ? probe_lock_map(address, &file) : NULL;
  if (!s) return real_msync()(address, count, flags);
  bool fails = probe_next(s, PROBE_SYNC) == PROBE_ERROR;
  if (!fails) probe_synced_file(s, file);
  probe_unlock(s);
  return fails ? -1 : 0;
}

/// Everything on the file systems of the locked sessions is durable, their names too.
SHOWN int syncfs(int fd) {
  bool locked[PROBE_SESSIONS];
  if (!probe_is_armed()) return real_syncfs()(fd);
  if (!probe_lock_file_system(fd, locked)) return -1;
  int result = real_syncfs()(fd), number = errno;
  probe_unlock_file_system(locked, result == 0);
  errno = number;
  return result;
}

SHOWN void sync(void) {
  bool locked[PROBE_SESSIONS];
  if (!probe_is_armed()) return real_sync()();
  // It tells of no failure, so one that fails does nothing.
  if (!probe_lock_file_system(-1, locked)) return;
  real_sync()();
  probe_unlock_file_system(locked, true);
}

// MARK: Maps

SHOWN void *mmap(void *wanted, size_t count, int access, int flags, int fd, off_t offset) {
  // It takes the place of what was mapped there.
  if (probe_is_armed() && (flags & MAP_FIXED)) probe_unmapped(wanted, count);
  void *result = real_mmap()(wanted, count, access, flags, fd, offset);
  if (!probe_is_armed() || result == MAP_FAILED || (flags & MAP_ANONYMOUS)) return result;
  if (!(access & PROT_WRITE) || (flags & MAP_TYPE) == MAP_PRIVATE) return result;
  probe_session *s = probe_lock_descriptor(fd);
  if (!s) return result;
  probe_mapped(s, fd, result, count, offset);
  probe_unlock(s);
  return result;
}
void *mmap64(void *, size_t, int, int, int, off_t) ALIAS("mmap");

SHOWN void *mremap(void *address, size_t count, size_t new_count, int flags, ...) {
  void *wanted = NULL;
  if (flags & MREMAP_FIXED) {
    va_list list;
    va_start(list, flags);
    wanted = va_arg(list, void *);
    va_end(list);
    if (probe_is_armed()) probe_unmapped(wanted, new_count);
  }
  int32_t file = -1;
  probe_session *s = probe_lock_map(address, &file);
  void *result = real_mremap()(address, count, new_count, flags, wanted);
  if (!s) return result;
  if (result != MAP_FAILED) probe_remapped(s, address, count, result, new_count);
  probe_unlock(s);
  return result;
}

SHOWN int munmap(void *address, size_t count) {
  if (probe_is_armed()) probe_unmapped(address, count);
  return real_munmap()(address, count);
}
#endif
