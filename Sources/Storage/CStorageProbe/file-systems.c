// Directories whose names are not durable yet, and syncs of whole file systems.
#define _GNU_SOURCE 1
#include "state.h"

#if PROBE_INTERPOSES
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool probe_path_of(probe_session *s, int fd, char *below) {
  char link[64], path[PROBE_PATH];
  int number = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t count = readlink(link, path, sizeof path - 1);
  errno = number;
  if (count <= 0) return false;
  path[count] = 0;
  return probe_contains(s, AT_FDCWD, path, below);
}

// MARK: Directories

static int32_t find(probe_session *s, const char *directory, size_t count) {
  for (int32_t i = 0; i < s->unsynced_count; i++) {
    const char *known = s->unsynced[i];
    if (strlen(known) == count && memcmp(known, directory, count) == 0) return i;
  }
  return -1;
}

bool probe_is_unsynced(probe_session *s, const char *directory) {
  return find(s, directory, strlen(directory)) >= 0;
}

void probe_name_changed(probe_session *s, const char *path) {
  const char *slash = strrchr(path, '/');
  size_t count = slash ? (size_t)(slash - path) : 0;
  if (find(s, path, count) >= 0) return;
  if (s->unsynced_count == s->unsynced_capacity) {
    int32_t capacity = s->unsynced_capacity * 2 + 4;
    char **grown = realloc(s->unsynced, (size_t)capacity * sizeof *grown);
    if (!grown) abort();
    s->unsynced = grown;
    s->unsynced_capacity = capacity;
  }
  char *directory = strndup(path, count);
  if (!directory) abort();
  s->unsynced[s->unsynced_count++] = directory;
}

void probe_directory_synced(probe_session *s, const char *directory) {
  int32_t i = find(s, directory, strlen(directory));
  if (i < 0) return;
  free(s->unsynced[i]);
  s->unsynced[i] = s->unsynced[--s->unsynced_count];
}

// MARK: File systems

bool probe_lock_file_system(int fd, bool *locked) {
  struct stat info;
  int number = errno;
  bool is_known = fd >= 0 && fstat(fd, &info) == 0;
  errno = number;
  memset(locked, 0, PROBE_SESSIONS * sizeof *locked);
  // A descriptor that is none is the C library's to refuse.
  if (fd >= 0 && !is_known) return true;
  // Always in the order of the table, so that two of these do not wait for each other.
  for (int i = 0; i < PROBE_SESSIONS; i++) {
    probe_session *s = probe_lock(&probe_sessions[i]);
    if (!s) continue;
    if (is_known && s->device != info.st_dev) {
      probe_unlock(s);
      continue;
    }
    locked[i] = true;
    s->subject = -1;
    s->subject_path[0] = 0;
    if (probe_next(s, PROBE_SYNC) == PROBE_ERROR) {
      probe_unlock_file_system(locked, false);
      return false;
    }
  }
  return true;
}

void probe_unlock_file_system(bool *locked, bool is_synced) {
  for (int i = 0; i < PROBE_SESSIONS; i++) {
    probe_session *s = &probe_sessions[i];
    if (!locked[i]) continue;
    for (int32_t file = 0; is_synced && file < s->file_count; file++) probe_synced_file(s, file);
    while (is_synced && s->unsynced_count > 0) {
      char directory[PROBE_PATH];
      strcpy(directory, s->unsynced[0]);
      probe_named(s, PROBE_SYNC_DIRECTORY, directory, NULL);
    }
    probe_unlock(s);
  }
}
#endif
