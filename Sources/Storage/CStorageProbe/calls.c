// The interposed calls: each does what the C library's does, and below a watched directory also
// counts, fails or is recorded. A session is locked over the call, so that the record has the order
// in which things happened. Here: opening, closing and reading.
#define _GNU_SOURCE 1
#undef _FORTIFY_SOURCE
#include "real.h"

#if PROBE_INTERPOSES
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

REAL(int, openat, int, const char *, int, ...)
REAL(int, close, int)
REAL(int, dup, int)
REAL(int, dup2, int, int)
REAL(int, dup3, int, int, int)
REAL(int, fcntl, int, int, ...)
REAL(ssize_t, read, int, void *, size_t)
REAL(ssize_t, readv, int, const struct iovec *, int)
REAL(ssize_t, pread, int, void *, size_t, off_t)
REAL(ssize_t, preadv, int, const struct iovec *, int, off_t)

// MARK: Opening and closing

static int open_file(int directory, const char *path, int flags, mode_t mode) {
  char below[PROBE_PATH];
  probe_session *s = probe_lock_path(directory, path, below);
  if (!s) {
    int unwatched = real_openat()(directory, path, flags, mode);
    // Its number may have been a watched file's that was closed in a way that is not seen here.
    if (probe_is_armed()) probe_forget(unwatched);
    return unwatched;
  }
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

/// The third argument is a number or an address, which are handed on alike.
SHOWN int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void *argument = va_arg(list, void *);
  va_end(list);
  int result = real_fcntl()(fd, command, argument);
  if (!probe_is_armed() || result < 0) return result;
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) probe_duplicated(fd, result);
  if (command == F_SETFL) probe_set_appending(fd, ((intptr_t)argument & O_APPEND) != 0);
  return result;
}
int fcntl64(int, int, ...) ALIAS("fcntl");

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

/// Whether the process's name for a call is the one here, as shared libraries see it.
bool probe_is_available(void) {
  Dl_info own, seen;
  void *found = dlsym(RTLD_DEFAULT, "pwrite");
  return found && dladdr((void *)probe_begin, &own) && dladdr(found, &seen)
    && own.dli_fbase == seen.dli_fbase;
}
#endif
