// The interposed calls: each does what the C library's does, and below a watched directory also
// counts, fails or is recorded. A session is locked over the call, so that the record has the order
// in which things happened.
#define _GNU_SOURCE 1
#undef _FORTIFY_SOURCE
#include "session.h"

#if PROBE_INTERPOSES
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// On LP64 the names with 64 are the same calls.
#define ALIAS(name) __attribute__((alias(name), visibility("default")))
#define SHOWN __attribute__((visibility("default")))

/// The C library's call of a name.
#define REAL(result, name, ...)                                                     \
  static result (*real_##name(void))(__VA_ARGS__) {                                 \
    static _Atomic(void *) known;                                                   \
    void *found = atomic_load_explicit(&known, memory_order_relaxed);               \
    if (!found) {                                                                   \
      found = dlsym(RTLD_NEXT, #name);                                              \
      atomic_store_explicit(&known, found, memory_order_relaxed);                   \
    }                                                                               \
    return (result (*)(__VA_ARGS__))found;                                          \
  }

REAL(int, openat, int, const char *, int, ...)
REAL(int, close, int)
REAL(int, dup, int)
REAL(int, dup2, int, int)
REAL(int, dup3, int, int, int)
REAL(ssize_t, read, int, void *, size_t)
REAL(ssize_t, readv, int, const struct iovec *, int)
REAL(ssize_t, pread, int, void *, size_t, off_t)
REAL(ssize_t, preadv, int, const struct iovec *, int, off_t)
REAL(ssize_t, write, int, const void *, size_t)
REAL(ssize_t, writev, int, const struct iovec *, int)
REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t)
REAL(int, ftruncate, int, off_t)
REAL(int, truncate, const char *, off_t)
REAL(int, fallocate, int, int, off_t, off_t)
REAL(int, posix_fallocate, int, off_t, off_t)
REAL(int, renameat2, int, const char *, int, const char *, unsigned)
REAL(int, linkat, int, const char *, int, const char *, int)
REAL(int, unlinkat, int, const char *, int)
REAL(int, mkdirat, int, const char *, mode_t)
REAL(int, fsync, int)
REAL(int, fdatasync, int)
REAL(int, sync_file_range, int, off_t, off_t, unsigned)
REAL(int, msync, void *, size_t, int)
REAL(void *, mmap, void *, size_t, int, int, int, off_t)
REAL(int, munmap, void *, size_t)

// MARK: Opening and closing

/// What a full disk must have left for a new name.
#define NEW_NAME 4096

static int open_file(int directory, const char *path, int flags, mode_t mode) {
  char below[PROBE_PATH];
  probe_session *s = probe_lock_path(directory, path, below);
  if (!s) return real_openat()(directory, path, flags, mode);
  struct stat info;
  int number = errno, result = -1;
  bool is_there = fstatat(directory, path, &info, 0) == 0;
  bool creates = (flags & O_CREAT) && !is_there;
  // Opening with O_TRUNC changes a file that holds something.
  bool cuts = (flags & O_TRUNC) && is_there && info.st_size > 0 && (flags & O_ACCMODE) != O_RDONLY;
  errno = number;
  if (creates && probe_room(s) < NEW_NAME) {
    errno = ENOSPC;
  } else if (!creates && !cuts ? probe_read_fails(s)
             : probe_next(s, creates ? PROBE_CREATE : PROBE_TRUNCATE) == PROBE_ERROR) {
  } else {
    result = real_openat()(directory, path, flags, mode);
    if (result >= 0) {
      number = errno;
      probe_opened(s, result, below, flags, creates);
      if (cuts) {
        probe_take(s, -info.st_size);
        probe_resized(s, result, 0);
      }
      errno = number;
    }
  }
  probe_unlock(s);
  return result;
}

static bool takes_mode(int flags) {
  return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE(flags)                    \
  mode_t mode = 0;                     \
  if (takes_mode(flags)) {             \
    va_list list;                      \
    va_start(list, flags);             \
    mode = va_arg(list, mode_t);       \
    va_end(list);                      \
  }

SHOWN int open(const char *path, int flags, ...) {
  MODE(flags)
  return open_file(AT_FDCWD, path, flags, mode);
}
SHOWN int openat(int directory, const char *path, int flags, ...) {
  MODE(flags)
  return open_file(directory, path, flags, mode);
}
SHOWN int creat(const char *path, mode_t mode) {
  return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
int open64(const char *, int, ...) ALIAS("open");
int openat64(int, const char *, int, ...) ALIAS("openat");
int creat64(const char *, mode_t) ALIAS("creat");
// What programs call that were compiled with _FORTIFY_SOURCE.
SHOWN int __open_2(const char *path, int flags) { return open_file(AT_FDCWD, path, flags, 0); }
SHOWN int __openat_2(int directory, const char *path, int flags) {
  return open_file(directory, path, flags, 0);
}
int __open64_2(const char *, int) ALIAS("__open_2");
int __openat64_2(int, const char *, int) ALIAS("__openat_2");

SHOWN int close(int fd) {
  probe_session *s = probe_lock_descriptor(fd);
  if (!s) return real_close()(fd);
  probe_forget(fd);
  int result = real_close()(fd);
  probe_unlock(s);
  return result;
}

SHOWN int dup(int fd) {
  int copy = real_dup()(fd);
  if (probe_is_armed()) probe_duplicated(fd, copy);
  return copy;
}
SHOWN int dup2(int fd, int copy) {
  int result = real_dup2()(fd, copy);
  if (probe_is_armed()) probe_duplicated(fd, result);
  return result;
}
SHOWN int dup3(int fd, int copy, int flags) {
  int result = real_dup3()(fd, copy, flags);
  if (probe_is_armed()) probe_duplicated(fd, result);
  return result;
}

// MARK: Reading

#define READING(call)                                  \
  probe_session *s = probe_lock_descriptor(fd);        \
  if (s) {                                             \
    bool fails = probe_read_fails(s);                  \
    probe_unlock(s);                                   \
    if (fails) return -1;                              \
  }                                                    \
  return call;

SHOWN ssize_t read(int fd, void *bytes, size_t count) { READING(real_read()(fd, bytes, count)) }
SHOWN ssize_t readv(int fd, const struct iovec *parts, int count) {
  READING(real_readv()(fd, parts, count))
}
SHOWN ssize_t pread(int fd, void *bytes, size_t count, off_t offset) {
  READING(real_pread()(fd, bytes, count, offset))
}
SHOWN ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset) {
  READING(real_preadv()(fd, parts, count, offset))
}
ssize_t pread64(int, void *, size_t, off_t) ALIAS("pread");
ssize_t preadv64(int, const struct iovec *, int, off_t) ALIAS("preadv");
SHOWN ssize_t __read_chk(int fd, void *bytes, size_t count, size_t room) {
  if (count > room) abort();
  return read(fd, bytes, count);
}
SHOWN ssize_t __pread_chk(int fd, void *bytes, size_t count, off_t offset, size_t room) {
  if (count > room) abort();
  return pread(fd, bytes, count, offset);
}
ssize_t __pread64_chk(int, void *, size_t, off_t, size_t) ALIAS("__pread_chk");

// MARK: Writing

/// Writes the first bytes of some parts; at an offset, or where the descriptor stands.
static ssize_t write_part(
  int fd, const struct iovec *parts, size_t count, off_t offset, bool is_placed
) {
  uint8_t *bytes = malloc(count ? count : 1);
  if (!bytes) return -1;
  size_t used = 0;
  for (; used < count; parts++) {
    size_t part = parts->iov_len < count - used ? parts->iov_len : count - used;
    __builtin_memcpy(bytes + used, parts->iov_base, part);
    used += part;
  }
  ssize_t result =
    is_placed ? real_pwrite()(fd, bytes, count, offset) : real_write()(fd, bytes, count);
  int number = errno;
  free(bytes);
  errno = number;
  return result;
}

static ssize_t write_file(
  probe_session *s, int fd, const struct iovec *parts, int parts_count, off_t offset, bool is_placed
) {
  size_t count = 0;
  for (int i = 0; i < parts_count; i++) count += parts[i].iov_len;
  size_t wanted = count;
  ssize_t result = -1;
  struct stat info;
  int number = errno;
  off_t length = fstat(fd, &info) == 0 ? info.st_size : 0;
  if (probe_flags(fd) & O_APPEND) {
    offset = length;
  } else if (!is_placed) {
    offset = lseek(fd, 0, SEEK_CUR);
  }
  errno = number;
  switch (probe_next(s, PROBE_WRITE)) {
  case PROBE_ERROR: goto done;
  case PROBE_SHORT: wanted = count > 1 ? count / 2 : count; break;
  default: break;
  }
  if (offset + (off_t)wanted > length && offset + (off_t)wanted - length > probe_room(s)) {
    if (offset >= length + probe_room(s)) {
      errno = ENOSPC;
      goto done;
    }
    wanted = (size_t)(length + probe_room(s) - offset);
  }
  if (wanted < count) {
    result = write_part(fd, parts, wanted, offset, is_placed);
  } else if (is_placed) {
    result = real_pwritev()(fd, parts, parts_count, offset);
  } else {
    result = real_writev()(fd, parts, parts_count);
  }
  if (result > 0) {
    number = errno;
    if (offset + result > length) probe_take(s, offset + result - length);
    probe_wrote(s, fd, offset, parts, (size_t)result);
    errno = number;
  }
done:
  probe_unlock(s);
  return result;
}

SHOWN ssize_t write(int fd, const void *bytes, size_t count) {
  probe_session *s = probe_lock_descriptor(fd);
  if (!s) return real_write()(fd, bytes, count);
  struct iovec part = { (void *)bytes, count };
  return write_file(s, fd, &part, 1, 0, false);
}
SHOWN ssize_t writev(int fd, const struct iovec *parts, int count) {
  probe_session *s = probe_lock_descriptor(fd);
  return s ? write_file(s, fd, parts, count, 0, false) : real_writev()(fd, parts, count);
}
SHOWN ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
  probe_session *s = probe_lock_descriptor(fd);
  if (!s) return real_pwrite()(fd, bytes, count, offset);
  struct iovec part = { (void *)bytes, count };
  return write_file(s, fd, &part, 1, offset, true);
}
SHOWN ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  probe_session *s = probe_lock_descriptor(fd);
  return s ? write_file(s, fd, parts, count, offset, true)
           : real_pwritev()(fd, parts, count, offset);
}
ssize_t pwrite64(int, const void *, size_t, off_t) ALIAS("pwrite");
ssize_t pwritev64(int, const struct iovec *, int, off_t) ALIAS("pwritev");

// MARK: Sizes

static off_t length_of(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 ? info.st_size : 0;
}

SHOWN int ftruncate(int fd, off_t length) {
  probe_session *s = probe_lock_descriptor(fd);
  if (!s) return real_ftruncate()(fd, length);
  int result = -1;
  if (probe_next(s, PROBE_TRUNCATE) != PROBE_ERROR) {
    off_t growth = length - length_of(fd);
    if (growth > probe_room(s)) {
      errno = ENOSPC;
    } else {
      result = real_ftruncate()(fd, length);
    }
    if (result == 0) {
      probe_take(s, growth);
      probe_resized(s, fd, length);
    }
  }
  probe_unlock(s);
  return result;
}
int ftruncate64(int, off_t) ALIAS("ftruncate");

SHOWN int truncate(const char *path, off_t length) {
  if (!probe_is_armed()) return real_truncate()(path, length);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int result = ftruncate(fd, length), number = errno;
  close(fd);
  errno = number;
  return result;
}
int truncate64(const char *, off_t) ALIAS("truncate");

/// Space that is promised beyond the end counts as length; what is promised inside changes nothing.
static int allocate(probe_session *s, int fd, int mode, off_t offset, off_t count) {
  if (probe_next(s, PROBE_TRUNCATE) == PROBE_ERROR) return errno;
  off_t length = length_of(fd);
  bool grows = !(mode & FALLOC_FL_KEEP_SIZE) && offset + count > length;
  off_t growth = mode & FALLOC_FL_PUNCH_HOLE ? 0 : offset + count - length;
  if (growth > 0 && growth > probe_room(s)) return ENOSPC;
  int result = mode == 0 ? real_posix_fallocate()(fd, offset, count)
    : real_fallocate()(fd, mode, offset, count) == 0 ? 0 : errno;
  if (result != 0) return result;
  if (growth > 0) probe_take(s, growth);
  if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
    // The range reads as zeros now, as far as the file goes.
    off_t end = offset + count < length || grows ? offset + count : length;
    uint8_t *zeros = end > offset ? calloc(1, (size_t)(end - offset)) : NULL;
    if (zeros) {
      struct iovec part = { zeros, (size_t)(end - offset) };
      probe_wrote(s, fd, offset, &part, part.iov_len);
      free(zeros);
    }
  } else if (grows) {
    probe_resized(s, fd, offset + count);
  }
  return 0;
}

SHOWN int posix_fallocate(int fd, off_t offset, off_t count) {
  probe_session *s = probe_lock_descriptor(fd);
  if (!s) return real_posix_fallocate()(fd, offset, count);
  int number = errno, result = allocate(s, fd, 0, offset, count);
  errno = number;
  probe_unlock(s);
  return result;
}
int posix_fallocate64(int, off_t, off_t) ALIAS("posix_fallocate");

SHOWN int fallocate(int fd, int mode, off_t offset, off_t count) {
  probe_session *s = probe_lock_descriptor(fd);
  if (!s) return real_fallocate()(fd, mode, offset, count);
  int result = allocate(s, fd, mode, offset, count);
  if (result != 0) errno = result;
  probe_unlock(s);
  return result == 0 ? 0 : -1;
}
int fallocate64(int, int, off_t, off_t) ALIAS("fallocate");

// MARK: Names

/// How many bytes go with a name; those of a file that is still open are not waited for.
static int64_t freed_by_removing(int directory, const char *path) {
  struct stat info;
  int number = errno;
  bool is_last = fstatat(directory, path, &info, AT_SYMLINK_NOFOLLOW) == 0
    && S_ISREG(info.st_mode) && info.st_nlink == 1;
  errno = number;
  return is_last ? info.st_size : 0;
}

static int move(int from, const char *old, int to, const char *new, unsigned flags) {
  char below[PROBE_PATH], other[PROBE_PATH];
  probe_session *s = probe_lock_path(to, new, other);
  if (!s) s = probe_lock_path(from, old, below);
  if (!s) return real_renameat2()(from, old, to, new, flags);
  int result = -1;
  if (probe_next(s, PROBE_RENAME) != PROBE_ERROR) {
    bool inside = probe_contains(s, from, old, below) && probe_contains(s, to, new, other);
    int64_t freed = flags & RENAME_EXCHANGE ? 0 : freed_by_removing(to, new);
    result = real_renameat2()(from, old, to, new, flags);
    if (result == 0) probe_take(s, -freed);
    if (result == 0 && inside) probe_named(s, PROBE_RENAME, below, other);
  }
  probe_unlock(s);
  return result;
}

SHOWN int rename(const char *old, const char *new) { return move(AT_FDCWD, old, AT_FDCWD, new, 0); }
SHOWN int renameat(int from, const char *old, int to, const char *new) {
  return move(from, old, to, new, 0);
}
SHOWN int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
  return move(from, old, to, new, flags);
}

SHOWN int linkat(int from, const char *old, int to, const char *new, int flags) {
  char below[PROBE_PATH], other[PROBE_PATH];
  probe_session *s = probe_lock_path(to, new, other);
  if (!s) return real_linkat()(from, old, to, new, flags);
  int result = -1;
  if (probe_room(s) < NEW_NAME) {
    errno = ENOSPC;
  } else if (probe_next(s, PROBE_LINK) != PROBE_ERROR) {
    bool inside = probe_contains(s, from, old, below);
    result = real_linkat()(from, old, to, new, flags);
    if (result == 0 && inside) probe_named(s, PROBE_LINK, below, other);
  }
  probe_unlock(s);
  return result;
}
SHOWN int link(const char *old, const char *new) {
  return linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
}

/// A call on one name.
#define NAMING(kind, needs_space, call)                       \
  char below[PROBE_PATH];                                     \
  probe_session *s = probe_lock_path(directory, path, below); \
  if (!s) return call;                                        \
  int result = -1;                                            \
  if (needs_space && probe_room(s) < NEW_NAME) {              \
    errno = ENOSPC;                                           \
  } else if (probe_next(s, kind) != PROBE_ERROR) {            \
    int64_t freed = needs_space ? 0 : freed_by_removing(directory, path); \
    result = call;                                            \
    if (result == 0) {                                        \
      probe_take(s, -freed);                                  \
      probe_named(s, kind, below, NULL);                      \
    }                                                         \
  }                                                           \
  probe_unlock(s);                                            \
  return result;

SHOWN int unlinkat(int directory, const char *path, int flags) {
  NAMING(
    (flags & AT_REMOVEDIR) ? PROBE_RMDIR : PROBE_UNLINK, false,
    real_unlinkat()(directory, path, flags))
}
SHOWN int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
SHOWN int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
SHOWN int remove(const char *path) {
  int result = unlink(path);
  return result != 0 && errno == EISDIR ? rmdir(path) : result;
}
SHOWN int mkdirat(int directory, const char *path, mode_t mode) {
  NAMING(PROBE_MKDIR, true, real_mkdirat()(directory, path, mode))
}
SHOWN int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

// MARK: Syncing

#define SYNCING(call)                                                                     \
  probe_session *s = probe_lock_descriptor(fd);                                           \
  if (!s) return call;                                                                    \
  int result = -1;                                                                        \
  if (probe_next(s, probe_is_directory(fd) ? PROBE_SYNC_DIRECTORY : PROBE_SYNC) != PROBE_ERROR) { \
    result = call;                                                                        \
    if (result == 0) probe_synced(s, fd);                                                 \
  }                                                                                       \
  probe_unlock(s);                                                                        \
  return result;

SHOWN int fsync(int fd) { SYNCING(real_fsync()(fd)) }
SHOWN int fdatasync(int fd) { SYNCING(real_fdatasync()(fd)) }

// It promises nothing about metadata and the drive's cache, so nothing counts as durable for it.
SHOWN int sync_file_range(int fd, off_t offset, off_t count, unsigned flags) {
  probe_session *s = probe_lock_descriptor(fd);
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
  int result = -1;
  if (probe_next(s, PROBE_SYNC) != PROBE_ERROR) {
    result = real_msync()(address, count, flags);
    if (result == 0) probe_synced_file(s, file);
  }
  probe_unlock(s);
  return result;
}

SHOWN void *mmap(void *wanted, size_t count, int access, int flags, int fd, off_t offset) {
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

SHOWN int munmap(void *address, size_t count) {
  if (probe_is_armed()) probe_unmapped(address, count);
  return real_munmap()(address, count);
}

/// Whether the process's name for a call is the one here, as shared libraries see it.
bool probe_is_available(void) {
  Dl_info own, seen;
  void *found = dlsym(RTLD_DEFAULT, "pwrite");
  return found && dladdr((void *)probe_begin, &own) && dladdr(found, &seen)
    && own.dli_fbase == seen.dli_fbase;
}
#endif
