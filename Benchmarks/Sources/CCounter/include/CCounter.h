// What a process asks of the C library: flushes, writes and allocations, counted.
//
// The target defines `fdatasync`, `write`, `malloc` and their kin. A program that links it resolves
// the calls of all its engines to them, shared libraries included, since the executable's symbols
// come before the C library's; one that defines such calls itself keeps them, and then nothing is counted. On other systems
// than Linux with glibc nothing is counted.
#ifndef CCOUNTER_H
#define CCOUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// What was asked of the C library so far.
typedef struct {
  /// Calls that wait for the medium: fsync, fdatasync, msync, and writes to files opened with
  /// O_DSYNC or O_SYNC.
  int64_t flushes;
  /// Calls that write to files, and their bytes.
  int64_t writes;
  int64_t bytes;
  /// Blocks of memory that were asked for, while that was counted.
  int64_t allocations;
} counter_totals;

/// Whether calls of the C library arrive here in this process.
bool counter_is_available(void);
/// Everything so far, of all threads.
counter_totals counter_read(void);
/// Whether allocations are counted; off at first, since counting costs time.
void counter_count_allocations(bool counts);
/// Takes a file's pages out of the page cache, as far as the system does; 0 or an error number.
int32_t counter_drop_cache(int32_t file);
/// Bytes that a file takes on its medium; 0 when there is none.
int64_t counter_allocated_bytes(const char *path);

#endif
