// LMDB: one unnamed database, a read transaction that is kept and renewed, a map that never grows.
#include "peer.h"

#include <lmdb.h>
#include <stdlib.h>

typedef struct {
  peer base;
  MDB_env *env;
  MDB_dbi table;
  pthread_mutex_t reading;
  MDB_txn *reader;
  MDB_cursor *cursor;
} lmdb_peer;

static bool fail(lmdb_peer *p, int code) {
  snprintf(p->base.error, sizeof p->base.error, "LMDB: %s", mdb_strerror(code));
  return false;
}

static bool clear(MDB_txn *txn, MDB_dbi table, MDB_val from, MDB_val to, int *code) {
  MDB_cursor *cursor;
  *code = mdb_cursor_open(txn, table, &cursor);
  if (*code) return false;
  MDB_val key = from, value;
  *code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  while (*code == 0 && compare_bytes(key.mv_data, key.mv_size, to.mv_data, to.mv_size) < 0) {
    *code = mdb_cursor_del(cursor, 0);
    // After a deletion this is the row that took the place.
    if (*code == 0) *code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  mdb_cursor_close(cursor);
  if (*code == MDB_NOTFOUND) *code = 0;
  return *code == 0;
}

static bool commit(peer *base, const uint8_t *edits, size_t count) {
  lmdb_peer *p = (lmdb_peer *)base;
  MDB_txn *txn;
  int code = mdb_txn_begin(p->env, NULL, 0, &txn);
  if (code) return fail(p, code);
  const uint8_t *at = edits, *end = edits + count, *key, *value;
  peer_edit edit;
  while (code == 0 && next_edit(&at, end, &edit, &key, &value)) {
    MDB_val k = { edit.key_count, (void *)key }, v = { edit.value_count, (void *)value };
    switch (edit.kind) {
    case PEER_PUT: code = mdb_put(txn, p->table, &k, &v, 0); break;
    case PEER_DELETE:
      code = mdb_del(txn, p->table, &k, NULL);
      if (code == MDB_NOTFOUND) code = 0;
      break;
    default: clear(txn, p->table, k, v, &code);
    }
  }
  if (code) {
    mdb_txn_abort(txn);
    return fail(p, code);
  }
  code = mdb_txn_commit(txn);
  return code ? fail(p, code) : true;
}

static int begin_reading(lmdb_peer *p) {
  pthread_mutex_lock(&p->reading);
  int code = p->reader ? mdb_txn_renew(p->reader)
                       : mdb_txn_begin(p->env, NULL, MDB_RDONLY, &p->reader);
  if (code == 0) {
    code = p->cursor ? mdb_cursor_renew(p->reader, p->cursor)
                     : mdb_cursor_open(p->reader, p->table, &p->cursor);
  }
  return code;
}

static void end_reading(lmdb_peer *p) {
  if (p->reader) mdb_txn_reset(p->reader);
  pthread_mutex_unlock(&p->reading);
}

static int32_t get(
  peer *base, const uint8_t *key, size_t count, peer_visit visit, void *context
) {
  lmdb_peer *p = (lmdb_peer *)base;
  int code = begin_reading(p);
  MDB_val k = { count, (void *)key }, v;
  if (code == 0) code = mdb_get(p->reader, p->table, &k, &v);
  if (code == 0) visit(context, key, count, v.mv_data, v.mv_size);
  end_reading(p);
  if (code == MDB_NOTFOUND) return 0;
  return code == 0 ? 1 : (fail(p, code), -1);
}

static bool scan(
  peer *base, const uint8_t *from, size_t from_count, const uint8_t *to, size_t to_count,
  bool backwards, peer_visit visit, void *context
) {
  lmdb_peer *p = (lmdb_peer *)base;
  int code = begin_reading(p);
  MDB_val key = { from_count, (void *)from }, value;
  if (code == 0 && !backwards) {
    code = mdb_cursor_get(p->cursor, &key, &value, MDB_SET_RANGE);
    while (code == 0 && compare_bytes(key.mv_data, key.mv_size, to, to_count) < 0
           && visit(context, key.mv_data, key.mv_size, value.mv_data, value.mv_size)) {
      code = mdb_cursor_get(p->cursor, &key, &value, MDB_NEXT);
    }
  } else if (code == 0) {
    key = (MDB_val){ to_count, (void *)to };
    code = mdb_cursor_get(p->cursor, &key, &value, MDB_SET_RANGE);
    code = mdb_cursor_get(p->cursor, &key, &value, code == 0 ? MDB_PREV : MDB_LAST);
    while (code == 0 && compare_bytes(key.mv_data, key.mv_size, from, from_count) >= 0
           && visit(context, key.mv_data, key.mv_size, value.mv_data, value.mv_size)) {
      code = mdb_cursor_get(p->cursor, &key, &value, MDB_PREV);
    }
  }
  end_reading(p);
  return code == 0 || code == MDB_NOTFOUND ? true : fail(p, code);
}

static bool compact(peer *base) {
  (void)base;
  return true;
}

static int64_t live(peer *base) {
  lmdb_peer *p = (lmdb_peer *)base;
  MDB_stat info;
  if (mdb_env_stat(p->env, &info)) return -1;
  return (int64_t)info.ms_psize
    * (int64_t)(info.ms_branch_pages + info.ms_leaf_pages + info.ms_overflow_pages);
}

static void close_peer(peer *base) {
  lmdb_peer *p = (lmdb_peer *)base;
  if (p->cursor) mdb_cursor_close(p->cursor);
  if (p->reader) mdb_txn_abort(p->reader);
  mdb_env_close(p->env);
  pthread_mutex_destroy(&p->reading);
  free(p);
}

static const peer_calls calls = { commit, get, scan, compact, live, close_peer };

peer *lmdb_peer_open(const char *directory, peer_durability level, char *error, size_t room) {
  lmdb_peer *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->base.calls = &calls;
  pthread_mutex_init(&p->reading, NULL);
  int code = mdb_env_create(&p->env);
  if (code == 0) code = mdb_env_set_mapsize(p->env, (size_t)16 << 30);
  // Without its second flush LMDB may lose the last commit, and no order. NOSYNC may corrupt.
  unsigned flags = MDB_NOTLS | (level == PEER_POWER ? 0 : MDB_NOMETASYNC);
  if (code == 0) code = mdb_env_open(p->env, directory, flags, 0600);
  MDB_txn *txn = NULL;
  if (code == 0) code = mdb_txn_begin(p->env, NULL, 0, &txn);
  if (code == 0) code = mdb_dbi_open(txn, NULL, 0, &p->table);
  if (code == 0) code = mdb_txn_commit(txn);
  if (code == 0) return &p->base;
  snprintf(error, room, "LMDB: %s", mdb_strerror(code));
  if (p->env) mdb_env_close(p->env);
  free(p);
  return NULL;
}
