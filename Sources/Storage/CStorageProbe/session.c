// Sessions: who watches which directory, which descriptors are below it, and what happened there.
#define _GNU_SOURCE 1
#include "session.h"

#if PROBE_INTERPOSES
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
  dev_t device;
  ino_t inode;
} identity;

typedef struct {
  char *address;
  size_t length;
  int64_t offset;
  int32_t file;
} map;

struct probe_session {
  pthread_mutex_t lock;
  atomic_bool is_active;
  bool records, counts_reads, counts_only_syncs, fault_stays;
  /// Whether a name was made, changed or removed since a directory was synced.
  bool has_new_names;
  /// What a full disk still takes, INT64_MAX when it is not full.
  int64_t room;
  /// What the call at hand is about: a descriptor, or -1 and a path.
  int subject;
  char subject_path[PROBE_PATH];
  int32_t failed_kind;
  char failed_path[PROBE_PATH];
  char given[PROBE_PATH], real[PROBE_PATH];
  int64_t operations, failures, fault_at;
  int32_t fault, fault_number;
  identity *files;
  int32_t file_count, file_capacity;
  probe_entry *entries;
  int64_t entry_count, entry_capacity;
  map *maps;
  int32_t map_count, map_capacity;
};

/// What is known of an open descriptor; `owner` is a session's number plus one, or 0.
typedef struct {
  atomic_int owner;
  int32_t file;
  int flags;
  bool is_directory;
} descriptor_entry;

atomic_int probe_armed;
static probe_session sessions[PROBE_SESSIONS];
static descriptor_entry descriptors[PROBE_DESCRIPTORS];
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

// A forked child may find any of the locks taken for ever; it is not watched.
static void after_fork(void) { atomic_store(&probe_armed, 0); }

static void prepare(void) {
  for (int i = 0; i < PROBE_SESSIONS; i++) pthread_mutex_init(&sessions[i].lock, NULL);
  pthread_atfork(NULL, NULL, after_fork);
}

static probe_session *at(int32_t number) {
  return number >= 0 && number < PROBE_SESSIONS ? &sessions[number] : NULL;
}

// MARK: Sessions

int32_t probe_begin(const char *directory, bool records) {
  pthread_once(&prepared, prepare);
  char real[PATH_MAX];
  if (strlen(directory) >= PROBE_PATH || realpath(directory, real) == NULL) return -1;
  pthread_mutex_lock(&table);
  int32_t found = -1;
  for (int32_t i = 0; i < PROBE_SESSIONS && found < 0; i++) {
    if (!atomic_load(&sessions[i].is_active)) found = i;
  }
  if (found >= 0) {
    probe_session *s = &sessions[found];
    pthread_mutex_lock(&s->lock);
    s->records = records;
    s->counts_reads = s->counts_only_syncs = s->fault_stays = s->has_new_names = false;
    s->room = INT64_MAX;
    s->subject = s->failed_kind = -1;
    s->subject_path[0] = s->failed_path[0] = 0;
    s->operations = s->failures = 0;
    s->fault_at = -1;
    s->fault = PROBE_NO_FAULT;
    strcpy(s->given, directory);
    for (size_t n = strlen(s->given); n > 1 && s->given[n - 1] == '/'; n--) s->given[n - 1] = 0;
    strcpy(s->real, real);
    atomic_store(&s->is_active, true);
    pthread_mutex_unlock(&s->lock);
    atomic_fetch_add(&probe_armed, 1);
  }
  pthread_mutex_unlock(&table);
  return found;
}

void probe_end(int32_t number) {
  probe_session *s = at(number);
  if (!s) return;
  pthread_mutex_lock(&table);
  pthread_mutex_lock(&s->lock);
  if (atomic_load(&s->is_active)) {
    atomic_store(&s->is_active, false);
    atomic_fetch_sub(&probe_armed, 1);
    for (int fd = 0; fd < PROBE_DESCRIPTORS; fd++) {
      int owner = number + 1;
      atomic_compare_exchange_strong(&descriptors[fd].owner, &owner, 0);
    }
    for (int64_t i = 0; i < s->entry_count; i++) {
      free((void *)s->entries[i].bytes);
      free((void *)s->entries[i].path);
      free((void *)s->entries[i].other);
    }
    free(s->entries);
    free(s->files);
    free(s->maps);
    s->entries = NULL;
    s->files = NULL;
    s->maps = NULL;
    s->entry_count = s->entry_capacity = 0;
    s->file_count = s->file_capacity = s->map_count = s->map_capacity = 0;
  }
  pthread_mutex_unlock(&s->lock);
  pthread_mutex_unlock(&table);
}

static probe_session *lock_if_active(probe_session *s) {
  if (!atomic_load(&s->is_active)) return NULL;
  pthread_mutex_lock(&s->lock);
  if (atomic_load(&s->is_active)) return s;
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

void probe_unlock(probe_session *s) {
  int number = errno;
  pthread_mutex_unlock(&s->lock);
  errno = number;
}

probe_session *probe_lock_descriptor(int fd) {
  if (!probe_is_armed() || fd < 0 || fd >= PROBE_DESCRIPTORS) return NULL;
  int owner = atomic_load_explicit(&descriptors[fd].owner, memory_order_acquire);
  if (owner == 0) return NULL;
  probe_session *s = lock_if_active(&sessions[owner - 1]);
  if (s && atomic_load(&descriptors[fd].owner) != owner) {
    pthread_mutex_unlock(&s->lock);
    return NULL;
  }
  if (s) s->subject = fd;
  return s;
}

// MARK: Paths

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
      probe_session *s = lock_if_active(&sessions[i]);
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

// MARK: Faults

static bool faults_now(probe_session *s) {
  int64_t number = s->operations++;
  if (s->fault == PROBE_NO_FAULT || s->fault_at < 0) return false;
  return number == s->fault_at || (s->fault_stays && number > s->fault_at);
}

/// Notes which operation fails, for the report.
static void note_failure(probe_session *s, probe_kind kind) {
  s->failures++;
  s->failed_kind = (int32_t)kind;
  s->failed_path[0] = 0;
  if (s->subject < 0) {
    strcpy(s->failed_path, s->subject_path);
    return;
  }
  char link[64], path[PROBE_PATH], below[PROBE_PATH];
  snprintf(link, sizeof link, "/proc/self/fd/%d", s->subject);
  ssize_t count = readlink(link, path, sizeof path - 1);
  if (count <= 0) return;
  path[count] = 0;
  if (probe_contains(s, AT_FDCWD, path, below)) strcpy(s->failed_path, below);
}

probe_fault probe_next(probe_session *s, probe_kind kind) {
  bool is_durable = kind == PROBE_WRITE && s->subject >= 0
    && (descriptors[s->subject].flags & O_DSYNC) != 0;
  bool is_sync = kind == PROBE_SYNC || kind == PROBE_SYNC_DIRECTORY || is_durable;
  if (s->counts_only_syncs && !is_sync) return PROBE_NO_FAULT;
  // One that has nothing to do cannot fail; engines that sync a directory twice ignore the second.
  if (kind == PROBE_SYNC_DIRECTORY && !s->has_new_names) return PROBE_NO_FAULT;
  if (!faults_now(s)) return PROBE_NO_FAULT;
  if (s->fault == PROBE_SHORT && kind != PROBE_WRITE) return PROBE_NO_FAULT;
  note_failure(s, kind);
  if (s->fault == PROBE_ERROR) errno = s->fault_number;
  return s->fault;
}

bool probe_read_fails(probe_session *s) {
  if (!s->counts_reads || s->counts_only_syncs || !faults_now(s)) return false;
  if (s->fault != PROBE_ERROR) return false;
  note_failure(s, s->subject < 0 ? PROBE_OPEN : PROBE_READ);
  errno = s->fault_number;
  return true;
}

int64_t probe_room(probe_session *s) { return s->room; }

void probe_take(probe_session *s, int64_t bytes) {
  if (s->room != INT64_MAX) s->room = bytes < s->room ? s->room - bytes : 0;
}

#define WITH_SESSION(number, body)        \
  probe_session *s = at(number);          \
  if (s && (s = lock_if_active(s))) {     \
    body;                                 \
    pthread_mutex_unlock(&s->lock);       \
  }

void probe_fail(int32_t number, int64_t index, int32_t fault, int32_t error, bool stays) {
  WITH_SESSION(number, {
    s->fault_at = index;
    s->fault = fault;
    s->fault_number = error;
    s->fault_stays = stays;
  })
}

void probe_count_only_syncs(int32_t number, bool only) {
  WITH_SESSION(number, s->counts_only_syncs = only)
}

void probe_count_reads(int32_t number, bool reads) {
  WITH_SESSION(number, s->counts_reads = reads)
}

void probe_fill_disk(int32_t number, bool full) {
  WITH_SESSION(number, s->room = full ? 0 : INT64_MAX)
}

int64_t probe_operations(int32_t number) {
  int64_t count = 0;
  WITH_SESSION(number, count = s->operations)
  return count;
}

int64_t probe_failures(int32_t number) {
  int64_t count = 0;
  WITH_SESSION(number, count = s->failures)
  return count;
}

int32_t probe_failed(int32_t number, char *path, size_t room) {
  int32_t kind = -1;
  WITH_SESSION(number, {
    kind = s->failed_kind;
    snprintf(path, room, "%s", s->failed_path);
  })
  return kind;
}

// MARK: Descriptors

static int32_t file_of(probe_session *s, int fd, bool created) {
  struct stat info;
  if (fstat(fd, &info) != 0) return -1;
  for (int32_t i = s->file_count - 1; i >= 0; i--) {
    if (s->files[i].inode != info.st_ino || s->files[i].device != info.st_dev) continue;
    if (!created) return i;
    // The number of an inode that is gone is given out again.
    s->files[i].inode = 0;
    break;
  }
  if (s->file_count == s->file_capacity) {
    int32_t capacity = s->file_capacity * 2 + 16;
    identity *grown = realloc(s->files, (size_t)capacity * sizeof *grown);
    if (!grown) return -1;
    s->files = grown;
    s->file_capacity = capacity;
  }
  s->files[s->file_count] = (identity){ info.st_dev, info.st_ino };
  return s->file_count++;
}

static probe_entry *add(probe_session *s, probe_kind kind, int32_t file) {
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

void probe_opened(probe_session *s, int fd, const char *below, int flags, bool created) {
  if (fd < 0 || fd >= PROBE_DESCRIPTORS) return;
  struct stat info;
  bool is_directory = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  int32_t file = file_of(s, fd, created);
  descriptor_entry *entry = &descriptors[fd];
  entry->file = file;
  entry->flags = flags;
  entry->is_directory = is_directory;
  if (created) s->has_new_names = true;
  atomic_store_explicit(&entry->owner, (int)(s - sessions) + 1, memory_order_release);
  probe_entry *record = add(s, created ? PROBE_CREATE : PROBE_OPEN, file);
  if (record) record->path = strdup(below);
}

void probe_duplicated(int fd, int copy) {
  if (copy < 0 || copy >= PROBE_DESCRIPTORS || fd < 0 || fd >= PROBE_DESCRIPTORS) return;
  descriptors[copy].file = descriptors[fd].file;
  descriptors[copy].flags = descriptors[fd].flags;
  descriptors[copy].is_directory = descriptors[fd].is_directory;
  atomic_store(&descriptors[copy].owner, atomic_load(&descriptors[fd].owner));
}

void probe_forget(int fd) {
  if (fd >= 0 && fd < PROBE_DESCRIPTORS) atomic_store(&descriptors[fd].owner, 0);
}

int probe_flags(int fd) { return descriptors[fd].flags; }
bool probe_is_directory(int fd) { return descriptors[fd].is_directory; }

// MARK: The record

void probe_wrote(
  probe_session *s, int fd, int64_t offset, const struct iovec *parts, size_t count
) {
  if (count == 0) return;
  probe_entry *entry = add(s, PROBE_WRITE, descriptors[fd].file);
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
  entry->durable = (descriptors[fd].flags & O_DSYNC) != 0;
}

void probe_resized(probe_session *s, int fd, int64_t length) {
  probe_entry *entry = add(s, PROBE_TRUNCATE, descriptors[fd].file);
  if (entry) entry->offset = length;
}

void probe_named(probe_session *s, probe_kind kind, const char *path, const char *other) {
  s->has_new_names = kind != PROBE_SYNC_DIRECTORY;
  probe_entry *entry = add(s, kind, -1);
  if (!entry) return;
  entry->path = strdup(path);
  if (other) entry->other = strdup(other);
}

void probe_synced(probe_session *s, int fd) {
  if (!descriptors[fd].is_directory) return probe_synced_file(s, descriptors[fd].file);
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
    probe_entry *entry = add(s, PROBE_WRITE, file);
    entry->offset = m->offset;
    entry->bytes = bytes;
    entry->count = m->length;
  }
  add(s, PROBE_SYNC, file);
}

void probe_mark(int32_t number, int64_t mark) {
  WITH_SESSION(number, {
    probe_entry *entry = add(s, PROBE_MARK, -1);
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
    (map){ address, length < there ? length : there, offset, descriptors[fd].file };
}

void probe_unmapped(void *address, size_t length) {
  char *from = address;
  for (int i = 0; i < PROBE_SESSIONS; i++) {
    probe_session *s = lock_if_active(&sessions[i]);
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
    probe_session *s = lock_if_active(&sessions[i]);
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

#else
bool probe_is_available(void) { return false; }
int32_t probe_begin(const char *directory, bool records) { return -1; }
void probe_end(int32_t session) {}
void probe_fail(int32_t session, int64_t at, int32_t fault, int32_t number, bool stays) {}
void probe_count_only_syncs(int32_t session, bool only) {}
void probe_count_reads(int32_t session, bool reads) {}
void probe_fill_disk(int32_t session, bool full) {}
int64_t probe_operations(int32_t session) { return 0; }
int64_t probe_failures(int32_t session) { return 0; }
int32_t probe_failed(int32_t session, char *path, size_t room) { return -1; }
void probe_mark(int32_t session, int64_t number) {}
int64_t probe_entries(int32_t session) { return 0; }
bool probe_read(int32_t session, int64_t index, probe_entry *entry) { return false; }
#endif
