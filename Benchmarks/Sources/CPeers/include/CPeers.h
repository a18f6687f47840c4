// Engines as an app would use them that stores one leaf a row: LMDB, SQLite and LevelDB; and SQLite with a document a row.
//
// A key is a path with 0x01 for each slash, so that siblings lie together; a value is a leaf as JSON.
#ifndef CPEERS_H
#define CPEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct peer peer;

typedef enum { PEER_LMDB = 0, PEER_SQLITE, PEER_LEVELDB, PEER_SQLITE_DOCUMENTS } peer_kind;
/// How much a commit survives: nothing promised, the process's death, power loss.
typedef enum { PEER_RELAXED = 0, PEER_PROCESS, PEER_POWER } peer_durability;

/// One edit of a batch: the kind and the two lengths, then key and value. The second key of a clear,
/// which is not cleared any more, stands in the value's place.
typedef enum { PEER_PUT = 1, PEER_DELETE, PEER_CLEAR } peer_edit_kind;
typedef struct {
  uint32_t kind;
  uint32_t key_count;
  uint32_t value_count;
} peer_edit;

/// Gets each row in turn; false ends the scan.
typedef bool (*peer_visit)(
  void *context, const uint8_t *key, size_t key_count, const uint8_t *value, size_t value_count);

/// Whether this kind was built in, and its version.
bool peer_is_built_in(peer_kind kind);
const char *peer_version(peer_kind kind);

/// Opens a database in a directory that exists; NULL and a message when it cannot.
peer *peer_open(peer_kind kind, const char *directory, peer_durability level, char *error, size_t room);
/// Applies a batch whole or not at all.
bool peer_commit(peer *p, const uint8_t *edits, size_t count);
/// Lends the value of a key; 1 when there is one, 0 when not, -1 on an error.
int32_t peer_get(peer *p, const uint8_t *key, size_t count, peer_visit visit, void *context);
/// Lends the rows with keys in from ..< to, ascending or descending.
bool peer_scan(
  peer *p, const uint8_t *from, size_t from_count, const uint8_t *to, size_t to_count,
  bool backwards, peer_visit visit, void *context);
/// What is asked of documents in SQLite: those of one author by their keys and those from a time on, by
/// indexes; those with a score at least so high, by a scan.
typedef enum { PEER_BY_AUTHOR = 0, PEER_BY_TIME, PEER_BY_SCORE } peer_question;
/// Lends the documents that `PEER_SQLITE_DOCUMENTS` finds; an author is a text, a time or a score a number.
bool peer_ask(
  peer *p, peer_question question, const uint8_t *text, size_t count, int64_t number, int64_t limit,
  peer_visit visit, void *context);
/// Gives space back, as the engine does it: VACUUM, compaction of all; LMDB never does.
bool peer_compact(peer *p);
/// Bytes that live data takes, as far as the engine tells; -1 when it does not.
int64_t peer_live_bytes(peer *p);
/// The last error in words.
const char *peer_error(peer *p);
void peer_close(peer *p);

// What rows are made of.

/// A tree of values, each with memory of its own, as an app holds it.
typedef struct peer_tree peer_tree;
/// An empty tree; what keys share with the prefix is left out.
peer_tree *peer_tree_make(size_t prefix_count);
/// Adds a row; a `peer_visit`.
bool peer_tree_add(
  void *tree, const uint8_t *key, size_t key_count, const uint8_t *value, size_t value_count);
void peer_tree_free(peer_tree *tree);

/// Edits in the making.
typedef struct {
  uint8_t *bytes;
  size_t count, room;
} peer_batch;
void peer_batch_add(
  peer_batch *batch, peer_edit_kind kind, const uint8_t *key, size_t key_count,
  const uint8_t *value, size_t value_count);
/// Puts each leaf of a tree as a row, its key begun by a prefix.
void peer_batch_add_tree(
  peer_batch *batch, const peer_tree *tree, const uint8_t *prefix, size_t prefix_count);
void peer_batch_free(peer_batch *batch);

/// A sum over rows that does not depend on their order.
uint64_t peer_row_hash(
  const uint8_t *key, size_t key_count, const uint8_t *value, size_t value_count);
/// What rows come to after so many leading bytes of their keys.
typedef struct {
  size_t skipped;
  uint64_t sum;
  int64_t rows;
  int64_t bytes;
} peer_sum;
/// Adds a row's hash; a `peer_visit`.
bool peer_sum_add(
  void *sum, const uint8_t *key, size_t key_count, const uint8_t *value, size_t value_count);

/// How many bytes zstd makes of some, at a level; 0 on an error.
size_t peer_zstd_size(const uint8_t *bytes, size_t count, int level);

#endif
