/* Datatypes, read from the script, as MPI types and as trees that can be walked from any byte on: O(depth log n). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "replay.h"

struct Node {
  char kind;       /* r run, s strided, i runs, b blocks of copies, t struct */
  i64 size;        /* bytes of data */
  i64 count, stride;
  i64 *offset, *prefix; /* i, b, t: places, and data bytes before each entry (count + 1) */
  i64* length;          /* i: bytes; b: copies */
  Node** child;         /* s, b: one; t: count */
};

static i64 number(FILE* script) {
  long long value = 0;
  if (fscanf(script, "%lld", &value) != 1) fail("the script", "it is damaged");
  return value;
}

static Node* read_node(FILE* script) {
  Node* node = must_alloc(sizeof *node);
  memset(node, 0, sizeof *node);
  if (fscanf(script, " %c", &node->kind) != 1) fail("the script", "it is damaged");
  if (node->kind == 'r') {
    node->size = number(script);
    return node;
  }
  node->count = number(script);
  node->stride = number(script);
  if (node->count < 1) fail("the script", "it is damaged");
  const i64 children = node->kind == 't' ? node->count : node->kind == 'i' ? 0 : 1;
  node->child = must_alloc((i64)sizeof(Node*) * (children + 1));
  if (node->kind != 's') {
    node->offset = must_alloc((i64)sizeof(i64) * node->count);
    node->length = must_alloc((i64)sizeof(i64) * node->count);
    node->prefix = must_alloc((i64)sizeof(i64) * (node->count + 1));
    for (i64 i = 0; i < node->count; ++i) {
      node->offset[i] = number(script);
      node->length[i] = number(script);
    }
  }
  for (i64 i = 0; i < children; ++i) node->child[i] = read_node(script);
  if (node->kind == 's') {
    node->size = node->count * node->child[0]->size;
    return node;
  }
  for (i64 i = 0; i < node->count; ++i) {
    node->prefix[i] = node->size;
    node->size += node->length[i] * (node->kind == 'b' ? node->child[0]->size : 1);
  }
  node->prefix[node->count] = node->size;
  return node;
}

static int as_int(i64 value) {
  if (value > INT_MAX || value < 0) fail("a datatype", "it has more than 2^31 pieces, which this MPI's calls can't say");
  return (int)value;
}

MPI_Datatype bytes_type(i64 bytes, int* count) {
  const int chunk = 1 << 30;
  MPI_Datatype large, both, parts[2];
  int lengths[2] = {1, 0};
  MPI_Aint places[2] = {0, 0};
  *count = (int)bytes;
  if (bytes <= INT_MAX) return MPI_BYTE;
  check_mpi(MPI_Type_contiguous(chunk, MPI_BYTE, &large), "MPI_Type_contiguous");
  lengths[0] = as_int(bytes / chunk);
  lengths[1] = (int)(bytes % chunk);
  places[1] = (MPI_Aint)(bytes / chunk * chunk);
  parts[0] = large;
  parts[1] = MPI_BYTE;
  check_mpi(MPI_Type_create_struct(2, lengths, places, parts, &both), "MPI_Type_create_struct");
  MPI_Type_free(&large);
  MPI_Type_commit(&both);
  *count = 1;
  return both;
}

static MPI_Datatype handle_of(const Node* node);

static MPI_Datatype run_handle(i64 bytes) {
  int count = 0;
  MPI_Datatype type = bytes_type(bytes, &count), made;
  check_mpi(MPI_Type_contiguous(count, type, &made), "MPI_Type_contiguous");
  if (type != MPI_BYTE) MPI_Type_free(&type);
  return made;
}

static MPI_Datatype list_handle(const Node* node) {
  const int count = as_int(node->count);
  int* lengths = must_alloc((i64)sizeof(int) * count);
  MPI_Aint* places = must_alloc((i64)sizeof(MPI_Aint) * count);
  MPI_Datatype* types = must_alloc((i64)sizeof(MPI_Datatype) * count);
  MPI_Datatype made, child = MPI_BYTE, step;
  for (int i = 0; i < count; ++i) {
    lengths[i] = node->kind == 't' ? 1 : as_int(node->length[i]);
    places[i] = (MPI_Aint)node->offset[i];
    if (node->kind == 't') types[i] = handle_of(node->child[i]);
  }
  if (node->kind == 't') {
    check_mpi(MPI_Type_create_struct(count, lengths, places, types, &made), "MPI_Type_create_struct");
    for (int i = 0; i < count; ++i) MPI_Type_free(&types[i]);
  } else if (node->kind == 'b') {
    child = handle_of(node->child[0]);
    check_mpi(MPI_Type_create_resized(child, 0, (MPI_Aint)node->stride, &step), "MPI_Type_create_resized");
    check_mpi(MPI_Type_create_hindexed(count, lengths, places, step, &made), "MPI_Type_create_hindexed");
    MPI_Type_free(&step);
    MPI_Type_free(&child);
  } else {
    check_mpi(MPI_Type_create_hindexed(count, lengths, places, child, &made), "MPI_Type_create_hindexed");
  }
  free(lengths);
  free(places);
  free(types);
  return made;
}

static MPI_Datatype handle_of(const Node* node) {
  if (node->kind == 'r') return run_handle(node->size);
  if (node->kind != 's') return list_handle(node);
  MPI_Datatype child = handle_of(node->child[0]), made;
  check_mpi(MPI_Type_create_hvector(as_int(node->count), 1, (MPI_Aint)node->stride, child, &made), "MPI_Type_create_hvector");
  MPI_Type_free(&child);
  return made;
}

void read_type(FILE* script, Type* type) {
  MPI_Datatype root, placed;
  MPI_Aint first = 0;
  int one = 1;
  type->lb = number(script);
  type->extent = number(script);
  type->size = number(script);
  type->root = NULL;
  type->first = 0;
  if (type->size == 0) {
    check_mpi(MPI_Type_contiguous(0, MPI_BYTE, &placed), "MPI_Type_contiguous");
  } else {
    type->first = number(script);
    type->root = read_node(script);
    if (type->root->size != type->size) fail("the script", "it is damaged");
    first = (MPI_Aint)type->first;
    root = handle_of(type->root);
    check_mpi(MPI_Type_create_hindexed(1, &one, &first, root, &placed), "MPI_Type_create_hindexed");
    MPI_Type_free(&root);
  }
  check_mpi(MPI_Type_create_resized(placed, (MPI_Aint)type->lb, (MPI_Aint)type->extent, &type->handle), "MPI_Type_create_resized");
  MPI_Type_free(&placed);
  check_mpi(MPI_Type_commit(&type->handle), "MPI_Type_commit");
}

/* ---- walking */

typedef struct {
  i64 skip, left; /* data bytes to pass over, and to visit */
  Visit* visit;
  void* state;
} Walk;

static i64 entry_of(const Node* node, i64 position) {
  i64 low = 0, high = node->count - 1;
  while (low < high) {
    const i64 middle = (low + high + 1) / 2;
    if (node->prefix[middle] <= position)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static void walk_node(const Node* node, i64 at, Walk* walk);

static void walk_copies(const Node* child, i64 at, i64 count, i64 stride, Walk* walk) {
  i64 i = walk->skip / child->size;
  walk->skip -= i * child->size;
  for (; i < count && walk->left > 0; ++i) walk_node(child, at + i * stride, walk);
}

static void walk_run(i64 at, i64 bytes, Walk* walk) {
  i64 here = bytes - walk->skip;
  if (here > walk->left) here = walk->left;
  walk->visit(walk->state, at + walk->skip, here);
  walk->skip = 0;
  walk->left -= here;
}

static void walk_node(const Node* node, i64 at, Walk* walk) {
  if (node->kind == 'r') {
    walk_run(at, node->size, walk);
  } else if (node->kind == 's') {
    walk_copies(node->child[0], at, node->count, node->stride, walk);
  } else {
    i64 i = entry_of(node, walk->skip);
    walk->skip -= node->prefix[i];
    for (; i < node->count && walk->left > 0; ++i) {
      if (node->kind == 'i')
        walk_run(at + node->offset[i], node->length[i], walk);
      else if (node->kind == 'b')
        walk_copies(node->child[0], at + node->offset[i], node->length[i], node->stride, walk);
      else
        walk_node(node->child[i], at + node->offset[i], walk);
    }
  }
}

void walk_type(const Type* type, i64 begin, i64 bytes, Visit* visit, void* state) {
  Walk walk = {0, bytes, visit, state};
  if (type->size == 0) return;
  i64 copy = begin / type->size;
  walk.skip = begin % type->size;
  for (; walk.left > 0; ++copy) walk_node(type->root, type->first + copy * type->extent, &walk);
}
