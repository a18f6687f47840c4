// The shared writable maps of watched files, whose bytes are taken when they are synced.
#define _GNU_SOURCE 1
#include "state.h"

#if PROBE_INTERPOSES
#include <stdlib.h>
#include <sys/stat.h>

static void add_map(probe_session *s, map added) {
  if (added.length == 0) return;
  if (s->map_count == s->map_capacity) {
    int32_t capacity = s->map_capacity * 2 + 8;
    map *grown = realloc(s->maps, (size_t)capacity * sizeof *grown);
    if (!grown) abort();
    s->maps = grown;
    s->map_capacity = capacity;
  }
  s->maps[s->map_count++] = added;
}

void probe_mapped(probe_session *s, int fd, void *address, size_t length, int64_t offset) {
  int32_t file = probe_descriptors[fd].file;
  struct stat info;
  if (file < 0 || fstat(fd, &info) != 0) return;
  s->files[file].length = info.st_size;
  add_map(s, (map){ address, length, offset, file });
}

/// Takes a range out of the maps; what is left of one on either side stays.
static void cut_maps(probe_session *s, char *from, size_t length) {
  for (int32_t i = s->map_count - 1; i >= 0; i--) {
    map m = s->maps[i];
    char *end = m.address + m.length;
    if (m.address >= from + length || from >= end) continue;
    s->maps[i] = s->maps[--s->map_count];
    if (m.address < from) {
      add_map(s, (map){ m.address, (size_t)(from - m.address), m.offset, m.file });
    }
    if (end > from + length) {
      int64_t skipped = from + length - m.address;
      add_map(s, (map){ from + length, m.length - (size_t)skipped, m.offset + skipped, m.file });
    }
  }
}

void probe_remapped(
  probe_session *s, void *address, size_t length, void *moved, size_t new_length
) {
  char *from = address;
  for (int32_t i = 0; i < s->map_count; i++) {
    map m = s->maps[i];
    if (from < m.address || from >= m.address + m.length) continue;
    cut_maps(s, from, length);
    add_map(s, (map){ moved, new_length, m.offset + (from - m.address), m.file });
    return;
  }
}

void probe_unmapped(void *address, size_t length) {
  for (int i = 0; i < PROBE_SESSIONS; i++) {
    probe_session *s = probe_lock(&probe_sessions[i]);
    if (!s) continue;
    cut_maps(s, address, length);
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
