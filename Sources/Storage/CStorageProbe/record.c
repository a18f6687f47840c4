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
  int32_t file = probe_descriptors[fd].file;
  if (file >= 0 && s->files[file].length < offset + (int64_t)count) {
    s->files[file].length = offset + (int64_t)count;
  }
  probe_entry *entry = probe_add(s, PROBE_WRITE, file);
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
  int32_t file = probe_descriptors[fd].file;
  if (file >= 0) s->files[file].length = length;
  probe_entry *entry = probe_add(s, PROBE_TRUNCATE, file);
  if (entry) entry->offset = length;
}

void probe_named(probe_session *s, probe_kind kind, const char *path, const char *other) {
  if (kind == PROBE_SYNC_DIRECTORY) {
    probe_directory_synced(s, path);
  } else {
    probe_name_changed(s, path);
    if (other) probe_name_changed(s, other);
  }
  probe_entry *entry = probe_add(s, kind, -1);
  if (!entry) return;
  entry->path = strdup(path);
  if (other) entry->other = strdup(other);
}

void probe_synced(probe_session *s, int fd) {
  if (!probe_descriptors[fd].is_directory) return probe_synced_file(s, probe_descriptors[fd].file);
  char below[PROBE_PATH];
  if (probe_path_of(s, fd, below)) probe_named(s, PROBE_SYNC_DIRECTORY, below, NULL);
}

void probe_synced_file(probe_session *s, int32_t file) {
  for (int32_t i = 0; i < s->map_count; i++) {
    map *m = &s->maps[i];
    if (m->file != file || file < 0 || !s->records) continue;
    // What lies behind the file's end cannot be read, and the file may be another size by now.
    int64_t there = s->files[file].length - m->offset;
    if (there <= 0) continue;
    size_t count = (uint64_t)there < m->length ? (size_t)there : m->length;
    uint8_t *bytes = malloc(count);
    if (!bytes) abort();
    memcpy(bytes, m->address, count);
    probe_entry *entry = probe_add(s, PROBE_WRITE, file);
    entry->offset = m->offset;
    entry->bytes = bytes;
    entry->count = count;
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
#endif
