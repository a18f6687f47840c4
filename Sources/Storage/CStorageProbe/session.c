// Sessions: who watches which directory, which operation fails, which descriptors are below it.
#define _GNU_SOURCE 1
#include "state.h"

#if PROBE_INTERPOSES
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

atomic_int probe_armed;
probe_session probe_sessions[PROBE_SESSIONS];
descriptor_entry probe_descriptors[PROBE_DESCRIPTORS];
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

// A forked child may find any of the locks taken for ever; it is not watched.
static void after_fork(void) { atomic_store(&probe_armed, 0); }

static void prepare(void) {
  for (int i = 0; i < PROBE_SESSIONS; i++) pthread_mutex_init(&probe_sessions[i].lock, NULL);
  pthread_atfork(NULL, NULL, after_fork);
}

probe_session *probe_at(int32_t number) {
  return number >= 0 && number < PROBE_SESSIONS ? &probe_sessions[number] : NULL;
}

// MARK: Sessions

int32_t probe_begin(const char *directory, bool records) {
  pthread_once(&prepared, prepare);
  char real[PATH_MAX];
  if (strlen(directory) >= PROBE_PATH || realpath(directory, real) == NULL) return -1;
  pthread_mutex_lock(&table);
  int32_t found = -1;
  for (int32_t i = 0; i < PROBE_SESSIONS && found < 0; i++) {
    if (!atomic_load(&probe_sessions[i].is_active)) found = i;
  }
  if (found >= 0) {
    probe_session *s = &probe_sessions[found];
    pthread_mutex_lock(&s->lock);
    s->records = records;
    s->counts_reads = s->counts_only_syncs = s->fault_stays = false;
    s->room = INT64_MAX;
    s->subject = s->failed_kind = -1;
    s->subject_path[0] = s->failed_path[0] = 0;
    s->operations = s->failures = 0;
    s->fault_at = -1;
    s->fault = PROBE_NO_FAULT;
    strcpy(s->given, directory);
    for (size_t n = strlen(s->given); n > 1 && s->given[n - 1] == '/'; n--) s->given[n - 1] = 0;
    strcpy(s->real, real);
    struct stat info;
    s->device = stat(real, &info) == 0 ? info.st_dev : 0;
    atomic_store(&s->is_active, true);
    pthread_mutex_unlock(&s->lock);
    atomic_fetch_add(&probe_armed, 1);
  }
  pthread_mutex_unlock(&table);
  return found;
}

void probe_end(int32_t number) {
  probe_session *s = probe_at(number);
  if (!s) return;
  pthread_mutex_lock(&table);
  pthread_mutex_lock(&s->lock);
  if (atomic_load(&s->is_active)) {
    atomic_store(&s->is_active, false);
    atomic_fetch_sub(&probe_armed, 1);
    for (int fd = 0; fd < PROBE_DESCRIPTORS; fd++) {
      int owner = number + 1;
      atomic_compare_exchange_strong(&probe_descriptors[fd].owner, &owner, 0);
    }
    for (int64_t i = 0; i < s->entry_count; i++) {
      free((void *)s->entries[i].bytes);
      free((void *)s->entries[i].path);
      free((void *)s->entries[i].other);
    }
    free(s->entries);
    free(s->files);
    free(s->maps);
    for (int32_t i = 0; i < s->unsynced_count; i++) free(s->unsynced[i]);
    free(s->unsynced);
    s->unsynced = NULL;
    s->unsynced_count = s->unsynced_capacity = 0;
    s->entries = NULL;
    s->files = NULL;
    s->maps = NULL;
    s->entry_count = s->entry_capacity = 0;
    s->file_count = s->file_capacity = s->map_count = s->map_capacity = 0;
  }
  pthread_mutex_unlock(&s->lock);
  pthread_mutex_unlock(&table);
}

probe_session *probe_lock(probe_session *s) {
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
  int owner = atomic_load_explicit(&probe_descriptors[fd].owner, memory_order_acquire);
  if (owner == 0) return NULL;
  probe_session *s = probe_lock(&probe_sessions[owner - 1]);
  if (s && atomic_load(&probe_descriptors[fd].owner) != owner) {
    pthread_mutex_unlock(&s->lock);
    return NULL;
  }
  if (s) s->subject = fd;
  return s;
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
  char below[PROBE_PATH];
  if (probe_path_of(s, s->subject, below)) strcpy(s->failed_path, below);
}

/// Whether a sync of the directory at hand makes names durable.
static bool settles_names(probe_session *s) {
  char below[PROBE_PATH];
  return s->subject < 0 || (probe_path_of(s, s->subject, below) && probe_is_unsynced(s, below));
}

probe_fault probe_next(probe_session *s, probe_kind kind) {
  bool is_durable = kind == PROBE_WRITE && s->subject >= 0
    && (probe_descriptors[s->subject].flags & O_DSYNC) != 0;
  bool is_sync = kind == PROBE_SYNC || kind == PROBE_SYNC_DIRECTORY || is_durable;
  if (s->counts_only_syncs && !is_sync) return PROBE_NO_FAULT;
  // One that has nothing to do cannot fail; engines that sync a directory twice ignore the second.
  if (kind == PROBE_SYNC_DIRECTORY && !settles_names(s)) return PROBE_NO_FAULT;
  if (!faults_now(s)) return PROBE_NO_FAULT;
  if (s->fault == PROBE_SHORT && kind != PROBE_WRITE) return PROBE_NO_FAULT;
  note_failure(s, kind);
  if (s->fault == PROBE_KILL) raise(SIGKILL);
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
    if (!created) {
      s->files[i].length = info.st_size;
      return i;
    }
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
  s->files[s->file_count] = (identity){ info.st_dev, info.st_ino, info.st_size };
  return s->file_count++;
}

void probe_opened(probe_session *s, int fd, const char *below, int flags, bool created) {
  if (fd < 0 || fd >= PROBE_DESCRIPTORS) return;
  struct stat info;
  bool is_directory = fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  int32_t file = file_of(s, fd, created);
  descriptor_entry *entry = &probe_descriptors[fd];
  entry->file = file;
  entry->flags = flags;
  entry->is_directory = is_directory;
  if (created) probe_name_changed(s, below);
  atomic_store_explicit(&entry->owner, (int)(s - probe_sessions) + 1, memory_order_release);
  probe_entry *record = probe_add(s, created ? PROBE_CREATE : PROBE_OPEN, file);
  if (record) record->path = strdup(below);
}

void probe_duplicated(int fd, int copy) {
  if (copy < 0 || copy >= PROBE_DESCRIPTORS || fd < 0 || fd >= PROBE_DESCRIPTORS) return;
  probe_descriptors[copy].file = probe_descriptors[fd].file;
  probe_descriptors[copy].flags = probe_descriptors[fd].flags;
  probe_descriptors[copy].is_directory = probe_descriptors[fd].is_directory;
  atomic_store(&probe_descriptors[copy].owner, atomic_load(&probe_descriptors[fd].owner));
}

void probe_set_appending(int fd, bool appends) {
  if (fd < 0 || fd >= PROBE_DESCRIPTORS) return;
  int *flags = &probe_descriptors[fd].flags;
  *flags = appends ? *flags | O_APPEND : *flags & ~O_APPEND;
}

void probe_forget(int fd) {
  if (fd >= 0 && fd < PROBE_DESCRIPTORS) atomic_store(&probe_descriptors[fd].owner, 0);
}

int probe_flags(int fd) { return probe_descriptors[fd].flags; }
bool probe_is_directory(int fd) { return probe_descriptors[fd].is_directory; }

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
