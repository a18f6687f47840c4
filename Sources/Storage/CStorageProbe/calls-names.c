// The interposed calls that change names.
#define _GNU_SOURCE 1
#undef _FORTIFY_SOURCE
#include "real.h"

#if PROBE_INTERPOSES
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

REAL(int, renameat2, int, const char *, int, const char *, unsigned)
REAL(int, linkat, int, const char *, int, const char *, int)
REAL(int, unlinkat, int, const char *, int)
REAL(int, mkdirat, int, const char *, mode_t)

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
  struct stat info;
  int number = errno;
  // What is there already takes no space and changes nothing.
  if (fstatat(directory, path, &info, AT_SYMLINK_NOFOLLOW) == 0) {
    return real_mkdirat()(directory, path, mode);
  }
  errno = number;
  NAMING(PROBE_MKDIR, true, real_mkdirat()(directory, path, mode))
}
SHOWN int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }
#endif
