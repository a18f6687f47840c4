// What each engine brings, and how a batch is read.
#ifndef PEER_H
#define PEER_H

#include "CPeers.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  bool (*commit)(peer *, const uint8_t *, size_t);
  int32_t (*get)(peer *, const uint8_t *, size_t, peer_visit, void *);
  bool (*scan)(
    peer *, const uint8_t *, size_t, const uint8_t *, size_t, bool, peer_visit, void *);
  bool (*compact)(peer *);
  int64_t (*live)(peer *);
  void (*close)(peer *);
} peer_calls;

struct peer {
  const peer_calls *calls;
  char error[256];
};

peer *lmdb_peer_open(const char *directory, peer_durability level, char *error, size_t room);
/// Rows of bytes, or documents as JSON with indexes.
peer *sqlite_peer_open(
  const char *directory, peer_durability level, bool documents, char *error, size_t room);
bool sqlite_peer_ask(
  peer *p, peer_question question, const uint8_t *text, size_t count, int64_t number, int64_t limit,
  peer_visit visit, void *context);
peer *leveldb_peer_open(const char *directory, peer_durability level, char *error, size_t room);

/// The next edit of a batch, its key and its value; false at the end.
static inline bool next_edit(
  const uint8_t **at, const uint8_t *end, peer_edit *edit, const uint8_t **key,
  const uint8_t **value
) {
  if (end - *at < (ptrdiff_t)sizeof *edit) return false;
  memcpy(edit, *at, sizeof *edit);
  *key = *at + sizeof *edit;
  *value = *key + edit->key_count;
  *at = *value + edit->value_count;
  return *at <= end;
}

/// Compares bytes without signs; a prefix comes first.
static inline int compare_bytes(const void *a, size_t a_count, const void *b, size_t b_count) {
  int order = memcmp(a, b, a_count < b_count ? a_count : b_count);
  return order != 0 ? order : (a_count > b_count) - (a_count < b_count);
}

#endif
