// How a tree of values lies in memory.
#ifndef TREE_H
#define TREE_H

#include "CPeers.h"

enum { PEER_LONGEST_KEY = 1024 };

/// A leaf: 1 text, 2 integer, 3 double, 4 boolean; 0 for none.
typedef struct {
  int32_t kind;
  int64_t integer;
  double number;
  char *text;
  size_t count;
} peer_leaf;

typedef struct peer_value {
  char *key;
  peer_leaf leaf;
  struct peer_value *children;
  size_t count, room;
} peer_value;

struct peer_tree {
  peer_value root;
  size_t prefix_count;
};

#endif
