// The interposed calls that change a file's bytes and length.
#define _GNU_SOURCE 1
#undef _FORTIFY_SOURCE
#include "real.h"

#if PROBE_INTERPOSES
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

REAL(ssize_t, write, int, const void *, size_t)
REAL(ssize_t, writev, int, const struct iovec *, int)
REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
REAL(ssize_t, pwritev, int, const struct iovec *, int, off_t)
REAL(int, ftruncate, int, off_t)
REAL(int, truncate, const char *, off_t)
REAL(int, fallocate, int, int, off_t, off_t)
REAL(int, posix_fallocate, int, off_t, off_t)

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
#endif
