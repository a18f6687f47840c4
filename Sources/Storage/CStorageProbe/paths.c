// Which watched directory a path is in.
#define _GNU_SOURCE 1
#include "state.h"

#if PROBE_INTERPOSES
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/// An absolute path without ".", ".." and empty parts.
static bool absolute(int directory, const char *path, char *out) {
  char joined[2 * PROBE_PATH];
  size_t used = 0;
  if (path == NULL || strlen(path) >= PROBE_PATH) return false;
  if (path[0] != '/') {
    if (directory == AT_FDCWD) {
      if (getcwd(joined, PROBE_PATH) == NULL) return false;
    } else {
      char link[64];
      snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
      ssize_t count = readlink(link, joined, PROBE_PATH - 1);
      if (count <= 0) return false;
      joined[count] = 0;
    }
    used = strlen(joined);
    joined[used++] = '/';
  }
  strcpy(joined + used, path);
  size_t length = 0;
  for (char *part = joined; *part;) {
    while (*part == '/') part++;
    size_t count = strcspn(part, "/");
    if (count == 0) break;
    if (count == 2 && part[0] == '.' && part[1] == '.') {
      while (length > 0 && out[--length] != '/') {}
    } else if (!(count == 1 && part[0] == '.')) {
      if (length + count + 2 > PROBE_PATH) return false;
      out[length++] = '/';
      memcpy(out + length, part, count);
      length += count;
    }
    part += count;
  }
  out[length] = 0;
  return true;
}

static bool below_prefix(const char *path, const char *prefix, char *below) {
  size_t count = strlen(prefix);
  if (strncmp(path, prefix, count) != 0) return false;
  if (path[count] != 0 && path[count] != '/') return false;
  strcpy(below, path[count] == '/' ? path + count + 1 : "");
  return true;
}

bool probe_contains(probe_session *s, int directory, const char *path, char *below) {
  char whole[PROBE_PATH];
  return absolute(directory, path, whole)
    && (below_prefix(whole, s->given, below) || below_prefix(whole, s->real, below));
}

probe_session *probe_lock_path(int directory, const char *path, char *below) {
  if (!probe_is_armed()) return NULL;
  int number = errno;
  char whole[PROBE_PATH];
  probe_session *found = NULL;
  if (absolute(directory, path, whole)) {
    for (int i = 0; i < PROBE_SESSIONS && !found; i++) {
      probe_session *s = probe_lock(&probe_sessions[i]);
      if (!s) continue;
      if (below_prefix(whole, s->given, below) || below_prefix(whole, s->real, below)) {
        found = s;
        s->subject = -1;
        strcpy(s->subject_path, below);
      } else {
        pthread_mutex_unlock(&s->lock);
      }
    }
  }
  errno = number;
  return found;
}
#endif
