// What happened below a watched directory, and the maps whose bytes are taken when they are synced.
#define _GNU_SOURCE 1
#include "state.h"

#if PROBE_INTERPOSES
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

probe_entry *probe_add(probe_session *s, probe_kind kind, int32_t file) {
  if (!s->records) return NULL;
  if (s->entry_count == s->entry_capacity) {
    int64_t capacity = s->entry_capacity * 2 + 64;
    probe_entry *grown = realloc(s->entries, (size_t)capacity * sizeof *grown);
    if (!grown) abort();
    s->entries = grown;
    s->entry_capacity = capacity;
  }
  probe_entry *entry = &s->entries[s->entry_count++];
  *entry = (probe_entry){ .kind = kind, .file = file };
  return entry;
}

void probe_wrote(
  probe_session *s, int fd, int64_t offset, const struct iovec *parts, size_t count
) {
  if (count == 0) return;
  probe_entry *entry = probe_add(s, PROBE_WRITE, probe_descriptors[fd].file);
  if (!entry) return;
  uint8_t *bytes = malloc(count);
  if (!bytes) abort();
  size_t used = 0;
  for (; used < count; parts++) {
    size_t part = parts->iov_len < count - used ? parts->iov_len : count - used;
    memcpy(bytes + used, parts->iov_base, part);
    used += part;
  }
  entry->offset = offset;
  entry->bytes = bytes;
  entry->count = count;
  entry->durable = (probe_descriptors[fd].flags & O_DSYNC) != 0;
}

void probe_resized(probe_session *s, int fd, int64_t length) {
  probe_entry *entry = probe_add(s, PROBE_TRUNCATE, probe_descriptors[fd].file);
  if (entry) entry->offset = length;
}

void probe_named(probe_session *s, probe_kind kind, const char *path, const char *other) {
  s->has_new_names = kind != PROBE_SYNC_DIRECTORY;
  probe_entry *entry = probe_add(s, kind, -1);
  if (!entry) return;
  entry->path = strdup(path);
  if (other) entry->other = strdup(other);
}

void probe_synced(probe_session *s, int fd) {
  if (!probe_descriptors[fd].is_directory) return probe_synced_file(s, probe_descriptors[fd].file);
  char link[64], path[PROBE_PATH], below[PROBE_PATH];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count <= 0) return;
  path[count] = 0;
  if (probe_contains(s, AT_FDCWD, path, below)) {
    probe_named(s, PROBE_SYNC_DIRECTORY, below, NULL);
  }
}

void probe_synced_file(probe_session *s, int32_t file) {
  for (int32_t i = 0; i < s->map_count; i++) {
    map *m = &s->maps[i];
    if (m->file != file || !s->records) continue;
    uint8_t *bytes = malloc(m->length);
    if (!bytes) abort();
    memcpy(bytes, m->address, m->length);
    probe_entry *entry = probe_add(s, PROBE_WRITE, file);
    entry->offset = m->offset;
    entry->bytes = bytes;
    entry->count = m->length;
  }
  probe_add(s, PROBE_SYNC, file);
}

void probe_mark(int32_t number, int64_t mark) {
  WITH_SESSION(number, {
    probe_entry *entry = probe_add(s, PROBE_MARK, -1);
    if (entry) entry->offset = mark;
  })
}

int64_t probe_entries(int32_t number) {
  int64_t count = 0;
  WITH_SESSION(number, count = s->entry_count)
  return count;
}

bool probe_read(int32_t number, int64_t index, probe_entry *entry) {
  bool is_there = false;
  WITH_SESSION(number, {
    is_there = index >= 0 && index < s->entry_count;
    if (is_there) *entry = s->entries[index];
  })
  return is_there;
}


// MARK: Maps

void probe_mapped(probe_session *s, int fd, void *address, size_t length, int64_t offset) {
  struct stat info;
  // What lies behind the file's end cannot be read.
  if (fstat(fd, &info) != 0 || info.st_size <= offset) return;
  size_t there = (size_t)(info.st_size - offset);
  if (s->map_count == s->map_capacity) {
    int32_t capacity = s->map_capacity * 2 + 8;
    map *grown = realloc(s->maps, (size_t)capacity * sizeof *grown);
    if (!grown) abort();
    s->maps = grown;
    s->map_capacity = capacity;
  }
  s->maps[s->map_count++] =
    (map){ address, length < there ? length : there, offset, probe_descriptors[fd].file };
}

void probe_unmapped(void *address, size_t length) {
  char *from = address;
  for (int i = 0; i < PROBE_SESSIONS; i++) {
    probe_session *s = probe_lock(&probe_sessions[i]);
    if (!s) continue;
    for (int32_t j = s->map_count - 1; j >= 0; j--) {
      map *m = &s->maps[j];
      if (m->address < from + length && from < m->address + m->length) {
        *m = s->maps[--s->map_count];
      }
    }
    pthread_mutex_unlock(&s->lock);
  }
}

probe_session *probe_lock_map(void *address, int32_t *file) {
  if (!probe_is_armed()) return NULL;
  char *from = address;
  for (int i = 0; i < PROBE_SESSIONS; i++) {
    probe_session *s = probe_lock(&probe_sessions[i]);
    if (!s) continue;
    for (int32_t j = 0; j < s->map_count; j++) {
      map *m = &s->maps[j];
      if (from < m->address || from >= m->address + m->length) continue;
      *file = m->file;
      s->subject = -1;
      s->subject_path[0] = 0;
      return s;
    }
    pthread_mutex_unlock(&s->lock);
  }
  return NULL;
}
#endif
