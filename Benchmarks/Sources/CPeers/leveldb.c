// LevelDB: Snappy blocks, a bloom filter, 8 MB of writes in memory, 16 MB of blocks.
#ifdef PEERS_LEVELDB
#include "peer.h"

#include <leveldb/c.h>
#include <stdlib.h>

typedef struct {
  peer base;
  leveldb_t *db;
  leveldb_options_t *options;
  leveldb_cache_t *cache;
  leveldb_filterpolicy_t *filter;
  leveldb_readoptions_t *reading;
  leveldb_writeoptions_t *writing;
} leveldb_peer;

static bool fail(leveldb_peer *p, char *message) {
  snprintf(p->base.error, sizeof p->base.error, "LevelDB: %s", message);
  leveldb_free(message);
  return false;
}

static bool commit(peer *base, const uint8_t *edits, size_t count) {
  leveldb_peer *p = (leveldb_peer *)base;
  leveldb_writebatch_t *batch = leveldb_writebatch_create();
  const uint8_t *at = edits, *end = edits + count, *key, *value;
  peer_edit edit;
  while (next_edit(&at, end, &edit, &key, &value)) {
    switch (edit.kind) {
    case PEER_PUT:
      leveldb_writebatch_put(
        batch, (const char *)key, edit.key_count, (const char *)value, edit.value_count);
      break;
    case PEER_DELETE: leveldb_writebatch_delete(batch, (const char *)key, edit.key_count); break;
    default: {
      // LevelDB has no deletion of ranges.
      leveldb_iterator_t *rows = leveldb_create_iterator(p->db, p->reading);
      leveldb_iter_seek(rows, (const char *)key, edit.key_count);
      for (; leveldb_iter_valid(rows); leveldb_iter_next(rows)) {
        size_t length;
        const char *found = leveldb_iter_key(rows, &length);
        if (compare_bytes(found, length, value, edit.value_count) >= 0) break;
        leveldb_writebatch_delete(batch, found, length);
      }
      leveldb_iter_destroy(rows);
    }
    }
  }
  char *message = NULL;
  leveldb_write(p->db, p->writing, batch, &message);
  leveldb_writebatch_destroy(batch);
  return message ? fail(p, message) : true;
}

static int32_t get(
  peer *base, const uint8_t *key, size_t count, peer_visit visit, void *context
) {
  leveldb_peer *p = (leveldb_peer *)base;
  char *message = NULL;
  size_t length = 0;
  char *value = leveldb_get(p->db, p->reading, (const char *)key, count, &length, &message);
  if (message) return fail(p, message), -1;
  if (!value) return 0;
  visit(context, key, count, (const uint8_t *)value, length);
  leveldb_free(value);
  return 1;
}

static bool scan(
  peer *base, const uint8_t *from, size_t from_count, const uint8_t *to, size_t to_count,
  bool backwards, peer_visit visit, void *context
) {
  leveldb_peer *p = (leveldb_peer *)base;
  leveldb_iterator_t *rows = leveldb_create_iterator(p->db, p->reading);
  leveldb_iter_seek(
    rows, (const char *)(backwards ? to : from), backwards ? to_count : from_count);
  if (backwards) {
    if (leveldb_iter_valid(rows)) leveldb_iter_prev(rows);
    else leveldb_iter_seek_to_last(rows);
  }
  while (leveldb_iter_valid(rows)) {
    size_t key_length, value_length;
    const char *key = leveldb_iter_key(rows, &key_length);
    const char *value = leveldb_iter_value(rows, &value_length);
    bool inside = backwards ? compare_bytes(key, key_length, from, from_count) >= 0
                            : compare_bytes(key, key_length, to, to_count) < 0;
    if (!inside
        || !visit(context, (const uint8_t *)key, key_length, (const uint8_t *)value, value_length))
      break;
    if (backwards) leveldb_iter_prev(rows);
    else leveldb_iter_next(rows);
  }
  char *message = NULL;
  leveldb_iter_get_error(rows, &message);
  leveldb_iter_destroy(rows);
  return message ? fail(p, message) : true;
}

static bool compact(peer *base) {
  leveldb_peer *p = (leveldb_peer *)base;
  leveldb_compact_range(p->db, NULL, 0, NULL, 0);
  return true;
}

static int64_t live(peer *base) {
  (void)base;
  return -1;
}

static void close_peer(peer *base) {
  leveldb_peer *p = (leveldb_peer *)base;
  if (p->db) leveldb_close(p->db);
  leveldb_options_destroy(p->options);
  leveldb_cache_destroy(p->cache);
  leveldb_filterpolicy_destroy(p->filter);
  leveldb_readoptions_destroy(p->reading);
  leveldb_writeoptions_destroy(p->writing);
  free(p);
}

static const peer_calls calls = { commit, get, scan, compact, live, close_peer };

peer *leveldb_peer_open(const char *directory, peer_durability level, char *error, size_t room) {
  leveldb_peer *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->base.calls = &calls;
  p->options = leveldb_options_create();
  p->cache = leveldb_cache_create_lru(16 << 20);
  p->filter = leveldb_filterpolicy_create_bloom(10);
  p->reading = leveldb_readoptions_create();
  p->writing = leveldb_writeoptions_create();
  leveldb_options_set_create_if_missing(p->options, 1);
  leveldb_options_set_write_buffer_size(p->options, 8 << 20);
  leveldb_options_set_cache(p->options, p->cache);
  leveldb_options_set_filter_policy(p->options, p->filter);
  leveldb_options_set_compression(p->options, leveldb_snappy_compression);
  leveldb_writeoptions_set_sync(p->writing, level == PEER_POWER);
  char *message = NULL;
  p->db = leveldb_open(p->options, directory, &message);
  if (!message) return &p->base;
  snprintf(error, room, "LevelDB: %s", message);
  leveldb_free(message);
  close_peer(&p->base);
  return NULL;
}
#endif
