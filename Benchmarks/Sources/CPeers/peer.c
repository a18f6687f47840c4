#include "peer.h"

#include <lmdb.h>
#include <sqlite3.h>
#include <zstd.h>
#include <stdlib.h>
#ifdef PEERS_LEVELDB
#include <leveldb/c.h>
#endif

bool peer_is_built_in(peer_kind kind) {
#ifndef PEERS_LEVELDB
  if (kind == PEER_LEVELDB) return false;
#endif
  return kind <= PEER_SQLITE_DOCUMENTS;
}

const char *peer_version(peer_kind kind) {
  static char leveldb[32];
  switch (kind) {
  case PEER_LMDB: return MDB_VERSION_STRING;
  case PEER_SQLITE: case PEER_SQLITE_DOCUMENTS: return sqlite3_libversion();
  default:
#ifdef PEERS_LEVELDB
    snprintf(
      leveldb, sizeof leveldb, "LevelDB %d.%d", leveldb_major_version(), leveldb_minor_version());
#endif
    return leveldb;
  }
}

peer *peer_open(
  peer_kind kind, const char *directory, peer_durability level, char *error, size_t room
) {
  switch (kind) {
  case PEER_LMDB: return lmdb_peer_open(directory, level, error, room);
  case PEER_SQLITE: return sqlite_peer_open(directory, level, false, error, room);
  case PEER_SQLITE_DOCUMENTS: return sqlite_peer_open(directory, level, true, error, room);
#ifdef PEERS_LEVELDB
  case PEER_LEVELDB: return leveldb_peer_open(directory, level, error, room);
#endif
  default: snprintf(error, room, "this engine was not built in"); return NULL;
  }
}

bool peer_commit(peer *p, const uint8_t *edits, size_t count) {
  return p->calls->commit(p, edits, count);
}
int32_t peer_get(peer *p, const uint8_t *key, size_t count, peer_visit visit, void *context) {
  return p->calls->get(p, key, count, visit, context);
}
bool peer_scan(
  peer *p, const uint8_t *from, size_t from_count, const uint8_t *to, size_t to_count,
  bool backwards, peer_visit visit, void *context
) {
  return p->calls->scan(p, from, from_count, to, to_count, backwards, visit, context);
}
bool peer_ask(
  peer *p, peer_question question, const uint8_t *text, size_t count, int64_t number, int64_t limit,
  peer_visit visit, void *context
) {
  return sqlite_peer_ask(p, question, text, count, number, limit, visit, context);
}
bool peer_compact(peer *p) { return p->calls->compact(p); }
int64_t peer_live_bytes(peer *p) { return p->calls->live(p); }
const char *peer_error(peer *p) { return p->error; }
void peer_close(peer *p) { p->calls->close(p); }

size_t peer_zstd_size(const uint8_t *bytes, size_t count, int level) {
  size_t room = ZSTD_compressBound(count);
  void *packed = malloc(room);
  if (!packed) return 0;
  size_t size = ZSTD_compress(packed, room, bytes, count, level);
  free(packed);
  return ZSTD_isError(size) ? 0 : size;
}
