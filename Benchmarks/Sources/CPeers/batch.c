// Edits in the making: what an app does that turns its values into rows.
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *make_room(peer_batch *batch, size_t count) {
  if (batch->room - batch->count < count) {
    batch->room = (batch->room + count) * 2;
    batch->bytes = realloc(batch->bytes, batch->room);
    if (!batch->bytes) abort();
  }
  return batch->bytes + batch->count;
}

void peer_batch_add(
  peer_batch *batch, peer_edit_kind kind, const uint8_t *key, size_t key_count,
  const uint8_t *value, size_t value_count
) {
  peer_edit edit = { (uint32_t)kind, (uint32_t)key_count, (uint32_t)value_count };
  uint8_t *at = make_room(batch, sizeof edit + key_count + value_count);
  memcpy(at, &edit, sizeof edit);
  memcpy(at + sizeof edit, key, key_count);
  memcpy(at + sizeof edit + key_count, value, value_count);
  batch->count += sizeof edit + key_count + value_count;
}

/// A leaf as JSON; gives its length. There is room for six bytes for each byte of text.
static size_t write_json(const peer_leaf *leaf, char *out) {
  char *at = out;
  switch (leaf->kind) {
  case 1:
    *at++ = '"';
    for (size_t i = 0; i < leaf->count; i++) {
      unsigned char c = (unsigned char)leaf->text[i];
      if (c == '"' || c == '\\') *at++ = '\\';
      if (c < 0x20) at += sprintf(at, "\\u%04x", c);
      else *at++ = (char)c;
    }
    *at++ = '"';
    return (size_t)(at - out);
  case 2: return (size_t)sprintf(out, "%lld", (long long)leaf->integer);
  case 3: return (size_t)sprintf(out, "%.17g", leaf->number);
  default: return (size_t)sprintf(out, "%s", leaf->integer ? "true" : "false");
  }
}

static void add_value(peer_batch *batch, const peer_value *value, uint8_t *key, size_t count) {
  if (value->leaf.kind != 0) {
    size_t start = batch->count, head = sizeof(peer_edit) + count;
    uint8_t *at = make_room(batch, head + value->leaf.count * 6 + 64);
    size_t length = write_json(&value->leaf, (char *)at + head);
    peer_edit edit = { PEER_PUT, (uint32_t)count, (uint32_t)length };
    memcpy(at, &edit, sizeof edit);
    memcpy(at + sizeof edit, key, count);
    batch->count = start + head + length;
  }
  for (size_t i = 0; i < value->count; i++) {
    const peer_value *child = &value->children[i];
    size_t length = strlen(child->key);
    if (count + length + 1 > PEER_LONGEST_KEY) abort();
    key[count] = 1;
    memcpy(key + count + 1, child->key, length);
    add_value(batch, child, key, count + 1 + length);
  }
}

void peer_batch_add_tree(
  peer_batch *batch, const peer_tree *tree, const uint8_t *prefix, size_t prefix_count
) {
  uint8_t key[PEER_LONGEST_KEY];
  if (prefix_count > sizeof key) abort();
  memcpy(key, prefix, prefix_count);
  add_value(batch, &tree->root, key, prefix_count);
}

void peer_batch_free(peer_batch *batch) { free(batch->bytes); }
