// What an app makes rows of: values with memory of their own, in vectors by key.
#include "tree.h"

#include <stdlib.h>
#include <string.h>

static void *owned(const void *bytes, size_t count) {
  char *copy = malloc(count + 1);
  if (!copy) abort();
  memcpy(copy, bytes, count);
  copy[count] = 0;
  return copy;
}

/// The text of a JSON string without its quotes; \u stays as it is for what is not ASCII.
static char *unescaped(const uint8_t *from, size_t count, size_t *length) {
  char *text = malloc(count + 1);
  if (!text) abort();
  size_t used = 0;
  for (size_t i = 0; i < count; i++) {
    char c = (char)from[i];
    if (c == '\\' && i + 1 < count) {
      c = (char)from[++i];
      c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
    }
    text[used++] = c;
  }
  text[used] = 0;
  *length = used;
  return text;
}

static void parse(peer_leaf *leaf, const uint8_t *json, size_t count) {
  *leaf = (peer_leaf){ 0 };
  if (count == 0) return;
  switch (json[0]) {
  case '"':
    leaf->kind = 1;
    leaf->text = unescaped(json + 1, count < 2 ? 0 : count - 2, &leaf->count);
    break;
  case 't':
  case 'f':
    leaf->kind = 4;
    leaf->integer = json[0] == 't';
    break;
  default: {
    char text[64];
    size_t length = count < sizeof text - 1 ? count : sizeof text - 1;
    memcpy(text, json, length);
    text[length] = 0;
    if (strpbrk(text, ".eE")) {
      leaf->kind = 3;
      leaf->number = strtod(text, NULL);
    } else {
      leaf->kind = 2;
      leaf->integer = strtoll(text, NULL, 10);
    }
  }
  }
}

peer_tree *peer_tree_make(size_t prefix_count) {
  peer_tree *tree = calloc(1, sizeof *tree);
  if (!tree) abort();
  tree->prefix_count = prefix_count;
  return tree;
}

bool peer_tree_add(
  void *context, const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count
) {
  peer_tree *tree = context;
  peer_value *here = &tree->root;
  const uint8_t *at = key + tree->prefix_count, *end = key + key_count;
  while (at < end) {
    const uint8_t *stop = memchr(at, 1, (size_t)(end - at));
    size_t length = (size_t)((stop ? stop : end) - at);
    // Rows come in order, so that only the last child can be the one.
    peer_value *last = here->count > 0 ? &here->children[here->count - 1] : NULL;
    if (!last || strlen(last->key) != length || memcmp(last->key, at, length) != 0) {
      if (here->count == here->room) {
        here->room = here->room ? here->room * 2 : 4;
        here->children = realloc(here->children, here->room * sizeof(peer_value));
        if (!here->children) abort();
      }
      last = &here->children[here->count++];
      *last = (peer_value){ .key = owned(at, length) };
    }
    here = last;
    at = stop ? stop + 1 : end;
  }
  parse(&here->leaf, bytes, count);
  return true;
}

static void free_value(peer_value *v) {
  for (size_t i = 0; i < v->count; i++) free_value(&v->children[i]);
  free(v->children);
  free(v->key);
  free(v->leaf.text);
}

void peer_tree_free(peer_tree *tree) {
  free_value(&tree->root);
  free(tree);
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t count, bool is_key) {
  for (size_t i = 0; i < count; i++) {
    uint8_t byte = is_key && bytes[i] == 1 ? '/' : bytes[i];
    hash = (hash ^ byte) * 0x100000001B3u;
  }
  return hash;
}

uint64_t peer_row_hash(
  const uint8_t *key, size_t key_count, const uint8_t *value, size_t value_count
) {
  uint64_t hash = hash_bytes(0xCBF29CE484222325u, key, key_count, true);
  hash = hash_bytes((hash ^ 0) * 0x100000001B3u, value, value_count, false);
  // Spread, so that sums of similar rows do not meet.
  hash = (hash ^ (hash >> 31)) * 0x94D049BB133111EBu;
  return hash ^ (hash >> 29);
}

bool peer_sum_add(
  void *context, const uint8_t *key, size_t key_count, const uint8_t *bytes, size_t count
) {
  peer_sum *sum = context;
  size_t skipped = sum->skipped < key_count ? sum->skipped : key_count;
  sum->sum += peer_row_hash(key + skipped, key_count - skipped, bytes, count);
  sum->rows++;
  sum->bytes += (int64_t)(key_count + count);
  return true;
}
