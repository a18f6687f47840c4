// SQLite: one table without row ids, a write-ahead log, kept statements, one connection that writes
// and one that reads. Its values are bytes, or documents as JSON with two fields indexed.
#include "peer.h"

#include <sqlite3.h>
#include <stdlib.h>

enum { BEGIN, COMMIT, PUT, DELETE_ONE, CLEAR, WRITING };
enum { GET, ASCEND, DESCEND, ASK, READING = ASK + PEER_BY_SCORE + 1 };

typedef struct {
  peer base;
  sqlite3 *writer, *reader;
  sqlite3_stmt *write[WRITING], *read[READING];
  pthread_mutex_t writing, reading;
  bool documents;
} sqlite_peer;

static bool fail(sqlite_peer *p, sqlite3 *db) {
  snprintf(p->base.error, sizeof p->base.error, "SQLite: %s", sqlite3_errmsg(db));
  return false;
}

/// Runs a kept statement that gives no rows.
static bool run(sqlite3_stmt *statement) {
  int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  return code == SQLITE_DONE;
}

static void bind(sqlite3_stmt *statement, int place, const uint8_t *bytes, size_t count) {
  sqlite3_bind_blob(statement, place, bytes ? bytes : (const uint8_t *)"", (int)count, SQLITE_STATIC);
}

/// JSON must be text.
static void bind_text(sqlite3_stmt *statement, int place, const uint8_t *bytes, size_t count) {
  sqlite3_bind_text(statement, place, bytes ? (const char *)bytes : "", (int)count, SQLITE_STATIC);
}

static bool commit(peer *base, const uint8_t *edits, size_t count) {
  sqlite_peer *p = (sqlite_peer *)base;
  pthread_mutex_lock(&p->writing);
  bool ok = run(p->write[BEGIN]);
  const uint8_t *at = edits, *end = edits + count, *key, *value;
  peer_edit edit;
  while (ok && next_edit(&at, end, &edit, &key, &value)) {
    sqlite3_stmt *statement =
      p->write[edit.kind == PEER_PUT ? PUT : edit.kind == PEER_DELETE ? DELETE_ONE : CLEAR];
    bind(statement, 1, key, edit.key_count);
    if (p->documents && edit.kind == PEER_PUT) {
      bind_text(statement, 2, value, edit.value_count);
    } else if (edit.kind != PEER_DELETE) {
      bind(statement, 2, value, edit.value_count);
    }
    ok = run(statement);
  }
  ok = ok && run(p->write[COMMIT]);
  if (!ok) {
    fail(p, p->writer);
    sqlite3_exec(p->writer, "ROLLBACK", NULL, NULL, NULL);
  }
  pthread_mutex_unlock(&p->writing);
  return ok;
}

static bool lend(sqlite3_stmt *statement, peer_visit visit, void *context) {
  return visit(
    context, sqlite3_column_blob(statement, 0), (size_t)sqlite3_column_bytes(statement, 0),
    sqlite3_column_blob(statement, 1), (size_t)sqlite3_column_bytes(statement, 1));
}

static int32_t get(
  peer *base, const uint8_t *key, size_t count, peer_visit visit, void *context
) {
  sqlite_peer *p = (sqlite_peer *)base;
  pthread_mutex_lock(&p->reading);
  sqlite3_stmt *statement = p->read[GET];
  bind(statement, 1, key, count);
  int code = sqlite3_step(statement);
  if (code == SQLITE_ROW) lend(statement, visit, context);
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(p, p->reader);
  sqlite3_reset(statement);
  pthread_mutex_unlock(&p->reading);
  return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : -1;
}

static bool scan(
  peer *base, const uint8_t *from, size_t from_count, const uint8_t *to, size_t to_count,
  bool backwards, peer_visit visit, void *context
) {
  sqlite_peer *p = (sqlite_peer *)base;
  pthread_mutex_lock(&p->reading);
  sqlite3_stmt *statement = p->read[backwards ? DESCEND : ASCEND];
  bind(statement, 1, from, from_count);
  bind(statement, 2, to, to_count);
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (!lend(statement, visit, context)) break;
  }
  bool ok = code == SQLITE_ROW || code == SQLITE_DONE;
  if (!ok) fail(p, p->reader);
  sqlite3_reset(statement);
  pthread_mutex_unlock(&p->reading);
  return ok;
}

bool sqlite_peer_ask(
  peer *base, peer_question question, const uint8_t *text, size_t count, int64_t number, int64_t limit,
  peer_visit visit, void *context
) {
  sqlite_peer *p = (sqlite_peer *)base;
  pthread_mutex_lock(&p->reading);
  sqlite3_stmt *statement = p->read[ASK + question];
  if (question == PEER_BY_AUTHOR) {
    bind_text(statement, 1, text, count);
  } else {
    sqlite3_bind_int64(statement, 1, number);
  }
  sqlite3_bind_int64(statement, 2, limit);
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (!lend(statement, visit, context)) break;
  }
  bool ok = code == SQLITE_ROW || code == SQLITE_DONE;
  if (!ok) fail(p, p->reader);
  sqlite3_reset(statement);
  pthread_mutex_unlock(&p->reading);
  return ok;
}

static bool compact(peer *base) {
  sqlite_peer *p = (sqlite_peer *)base;
  bool ok = sqlite3_exec(p->writer, "VACUUM", NULL, NULL, NULL) == SQLITE_OK
    && sqlite3_exec(p->writer, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL) == SQLITE_OK;
  return ok ? true : fail(p, p->writer);
}

static int64_t number(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return -1;
  int64_t value = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
  sqlite3_finalize(statement);
  return value;
}

static int64_t live(peer *base) {
  sqlite_peer *p = (sqlite_peer *)base;
  int64_t pages = number(p->writer, "PRAGMA page_count"), unused = number(p->writer, "PRAGMA freelist_count");
  return (pages - unused) * 4096;
}

static void close_peer(peer *base) {
  sqlite_peer *p = (sqlite_peer *)base;
  for (int i = 0; i < WRITING; i++) sqlite3_finalize(p->write[i]);
  for (int i = 0; i < READING; i++) sqlite3_finalize(p->read[i]);
  sqlite3_close(p->reader);
  sqlite3_close(p->writer);
  pthread_mutex_destroy(&p->writing);
  pthread_mutex_destroy(&p->reading);
  free(p);
}

static const peer_calls calls = { commit, get, scan, compact, live, close_peer };

static bool prepare(sqlite3 *db, sqlite3_stmt **statements, const char *const *texts, int count) {
  for (int i = 0; i < count; i++) {
    if (sqlite3_prepare_v3(db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &statements[i], NULL)
        != SQLITE_OK) {
      return false;
    }
  }
  return true;
}

peer *sqlite_peer_open(
  const char *directory, peer_durability level, bool documents, char *error, size_t room
) {
  static const char *const writing[WRITING] = {
    "BEGIN IMMEDIATE", "COMMIT", "INSERT OR REPLACE INTO rows VALUES (?, ?)",
    "DELETE FROM rows WHERE k = ?", "DELETE FROM rows WHERE k >= ? AND k < ?",
  };
  static const char *const reading[READING] = {
    "SELECT k, v FROM rows WHERE k = ?",
    "SELECT k, v FROM rows WHERE k >= ? AND k < ? ORDER BY k",
    "SELECT k, v FROM rows WHERE k >= ? AND k < ? ORDER BY k DESC",
    "SELECT k, v FROM rows WHERE json_extract(v, '$.author') = ? ORDER BY k LIMIT ?",
    "SELECT k, v FROM rows WHERE json_extract(v, '$.created') >= ?"
    " ORDER BY json_extract(v, '$.created'), k LIMIT ?",
    "SELECT k, v FROM rows WHERE json_extract(v, '$.score') >= ?"
    " ORDER BY json_extract(v, '$.score'), k LIMIT ?",
  };
  static const char *const schemas[] = {
    "CREATE TABLE IF NOT EXISTS rows (k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS rows (k BLOB PRIMARY KEY, v TEXT) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS authors ON rows (json_extract(v, '$.author'));"
    "CREATE INDEX IF NOT EXISTS times ON rows (json_extract(v, '$.created'))",
  };
  int questions = documents ? READING : ASK;
  sqlite_peer *p = calloc(1, sizeof *p);
  if (!p) return NULL;
  p->base.calls = &calls;
  p->documents = documents;
  pthread_mutex_init(&p->writing, NULL);
  pthread_mutex_init(&p->reading, NULL);
  char path[1024], tuning[256];
  snprintf(path, sizeof path, "%s/rows.sqlite", directory);
  snprintf(
    tuning, sizeof tuning,
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = %s; PRAGMA cache_size = -65536;"
    "PRAGMA mmap_size = 1073741824; PRAGMA temp_store = MEMORY;",
    level == PEER_POWER ? "FULL" : "NORMAL");
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  bool ok = sqlite3_open_v2(path, &p->writer, flags, NULL) == SQLITE_OK
    && sqlite3_exec(p->writer, tuning, NULL, NULL, NULL) == SQLITE_OK
    && sqlite3_exec(p->writer, schemas[documents], NULL, NULL, NULL) == SQLITE_OK
    && prepare(p->writer, p->write, writing, WRITING)
    && sqlite3_open_v2(path, &p->reader, flags, NULL) == SQLITE_OK
    && sqlite3_exec(p->reader, tuning, NULL, NULL, NULL) == SQLITE_OK
    && prepare(p->reader, p->read, reading, questions);
  if (ok) return &p->base;
  snprintf(error, room, "SQLite: %s", sqlite3_errmsg(p->reader ? p->reader : p->writer));
  close_peer(&p->base);
  return NULL;
}
