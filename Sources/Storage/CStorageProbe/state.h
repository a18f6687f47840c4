// What sessions are made of.
#ifndef STATE_H
#define STATE_H

#include "session.h"

#if PROBE_INTERPOSES
#include <sys/types.h>

typedef struct {
  dev_t device;
  ino_t inode;
  /// How long the file is, as far as it was changed through the calls here.
  int64_t length;
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
  /// What a full disk still takes, INT64_MAX when it is not full.
  int64_t room;
  /// What the call at hand is about: a descriptor, or -1 and a path.
  int subject;
  char subject_path[PROBE_PATH];
  int32_t failed_kind;
  char failed_path[PROBE_PATH];
  char given[PROBE_PATH], real[PROBE_PATH];
  dev_t device;
  /// The directories in which a name was made, changed or removed since they were synced.
  char **unsynced;
  int32_t unsynced_count, unsynced_capacity;
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

extern probe_session probe_sessions[PROBE_SESSIONS];
extern descriptor_entry probe_descriptors[PROBE_DESCRIPTORS];

probe_session *probe_at(int32_t number);
/// Notes that a name changed in its directory, or that a directory was synced.
void probe_name_changed(probe_session *session, const char *path);
void probe_directory_synced(probe_session *session, const char *directory);
bool probe_is_unsynced(probe_session *session, const char *directory);
/// The path of a descriptor below the session's directory; false when it is not there.
bool probe_path_of(probe_session *session, int descriptor, char *below);
/// Locks a session that watches; NULL when it does not.
probe_session *probe_lock(probe_session *session);
/// A new entry of the record; NULL when nothing is recorded.
probe_entry *probe_add(probe_session *session, probe_kind kind, int32_t file);

/// Does something with a session that watches.
#define WITH_SESSION(number, body)     \
  probe_session *s = probe_at(number); \
  if (s && (s = probe_lock(s))) {      \
    body;                              \
    pthread_mutex_unlock(&s->lock);    \
  }
#endif
#endif
