// The C library's file calls of this process, recorded and failed on purpose below a directory.
//
// The target defines `open`, `write`, `fsync` and their kin. A program that links it resolves the
// calls of all its engines to them, shared libraries included, since the executable's symbols come
// before the C library's. Without an armed session they cost one load more than the C library's.
#ifndef CSTORAGEPROBE_H
#define CSTORAGEPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What an operation did.
typedef enum {
  PROBE_OPEN = 0,
  PROBE_CREATE,
  PROBE_WRITE,
  PROBE_TRUNCATE,
  PROBE_SYNC,
  PROBE_SYNC_DIRECTORY,
  PROBE_RENAME,
  PROBE_LINK,
  PROBE_UNLINK,
  PROBE_MKDIR,
  PROBE_RMDIR,
  PROBE_MARK,
  PROBE_READ,
} probe_kind;

/// How an operation fails.
typedef enum {
  PROBE_NO_FAULT = 0,
  /// With the error number, and without effect.
  PROBE_ERROR,
  /// A write takes its first half alone; other operations are not changed.
  PROBE_SHORT,
  /// The process dies by SIGKILL instead.
  PROBE_KILL,
} probe_fault;

/// An operation that took effect.
typedef struct {
  int32_t kind;
  /// The file's number in this record; -1 for operations on names.
  int32_t file;
  /// Whether a write was durable when it returned (`O_DSYNC`, `O_SYNC`).
  bool durable;
  /// Where a write begins, the new length of a file, or the number of a mark.
  int64_t offset;
  /// What was written.
  const uint8_t *bytes;
  size_t count;
  /// The path and, for renames and links, the new one, below the session's directory.
  const char *path;
  const char *other;
} probe_entry;

/// Whether calls of the C library arrive here in this process.
bool probe_is_available(void);

/// Watches a directory, from the next `open` on; -1 when it cannot or too many are watched.
int32_t probe_begin(const char *directory, bool records);
/// Stops watching and frees the record; the number may be given out again.
void probe_end(int32_t session);

/// Lets the operation with a number fail, counted from 0 since the session began, or since then on.
void probe_fail(int32_t session, int64_t at, int32_t fault, int32_t number, bool stays);
/// Narrows the counted operations to syncs and durable writes, or widens them to opens and reads.
void probe_count_only_syncs(int32_t session, bool only);
void probe_count_reads(int32_t session, bool reads);
/// Whether whatever needs more space than was freed since then fails with `ENOSPC`.
void probe_fill_disk(int32_t session, bool full);
/// How many operations were counted, and how many of them failed.
int64_t probe_operations(int32_t session);
int64_t probe_failures(int32_t session);
/// The kind of the newest operation that failed, -1 for none; copies its path below the directory.
int32_t probe_failed(int32_t session, char *path, size_t room);

/// Puts a mark into the record.
void probe_mark(int32_t session, int64_t number);
/// The entries so far; valid until the session ends, and no longer than until the next operation.
int64_t probe_entries(int32_t session);
bool probe_read(int32_t session, int64_t index, probe_entry *entry);

#endif
