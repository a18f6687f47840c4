// What the interposed calls and the sessions share.
#ifndef SESSION_H
#define SESSION_H

#include "CStorageProbe.h"

#if defined(__linux__) && defined(__LP64__)
#include <features.h>
#if defined(__GLIBC__)
#define PROBE_INTERPOSES 1
#endif
#endif

#if PROBE_INTERPOSES
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#define PROBE_SESSIONS 1024
#define PROBE_DESCRIPTORS 65536
#define PROBE_PATH 4096

typedef struct probe_session probe_session;

/// How many sessions watch; the one thing that an unwatched call looks at.
extern atomic_int probe_armed;

static inline bool probe_is_armed(void) {
  return atomic_load_explicit(&probe_armed, memory_order_relaxed) != 0;
}

/// The session of a descriptor, locked; NULL when nobody watches it.
probe_session *probe_lock_descriptor(int descriptor);
/// The session of a path, locked, with the path below its directory; NULL when nobody watches it.
probe_session *probe_lock_path(int directory, const char *path, char *below);
/// Whether a path is in a session's directory, with the path below it.
bool probe_contains(probe_session *session, int directory, const char *path, char *below);
void probe_unlock(probe_session *session);

/// Counts an operation; the fault that it meets. `PROBE_ERROR` has set errno.
probe_fault probe_next(probe_session *session, probe_kind kind);
/// Counts an open or a read, when those count.
bool probe_read_fails(probe_session *session);
/// How many bytes a full disk still takes; without end on one that is not full.
int64_t probe_room(probe_session *session);
/// Counts bytes that were taken, or with a negative number freed, on a full disk.
void probe_take(probe_session *session, int64_t bytes);

/// Gives a descriptor to a session, as another one of a file or a directory.
void probe_opened(
  probe_session *session, int descriptor, const char *below, int flags, bool created);
void probe_duplicated(int descriptor, int copy);
void probe_set_appending(int descriptor, bool appends);
/// Locks all sessions on a descriptor's file system, or all there are with -1, and counts a sync of
/// each; false, with errno and nothing locked, when one fails.
bool probe_lock_file_system(int descriptor, bool *locked);
/// Unlocks them, and records that everything in them is durable when it was synced.
void probe_unlock_file_system(bool *locked, bool is_synced);
void probe_forget(int descriptor);
int probe_flags(int descriptor);
bool probe_is_directory(int descriptor);

/// Adds to the record.
void probe_wrote(
  probe_session *session, int descriptor, int64_t offset, const struct iovec *parts, size_t count);
void probe_resized(probe_session *session, int descriptor, int64_t length);
void probe_synced(probe_session *session, int descriptor);
void probe_named(probe_session *session, probe_kind kind, const char *path, const char *other);

/// Shared writable maps, whose bytes are taken when they are synced.
void probe_mapped(
  probe_session *session, int descriptor, void *address, size_t length, int64_t offset);
void probe_unmapped(void *address, size_t length);
void probe_remapped(
  probe_session *session, void *address, size_t length, void *moved, size_t new_length);
/// The session that a map belongs to, locked, with its descriptor's file; NULL when none does.
probe_session *probe_lock_map(void *address, int32_t *file);
void probe_synced_file(probe_session *session, int32_t file);
#endif
#endif
