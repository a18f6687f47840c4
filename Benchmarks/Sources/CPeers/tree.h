// How a tree of values lies in memory.
#ifndef TREE_H
#define TREE_H

#include "CPeers.h"

enum { PEER_LONGEST_KEY = 1024 };

typedef struct peer_value {
  char *key;
  peer_leaf leaf;
  struct peer_value *children;
  size_t count, room;
} peer_value;

struct peer_tree {
  peer_value root;
  size_t prefix_count;
  int64_t leaves;
};

#endif
