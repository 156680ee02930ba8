// The calls in two halves and the blocking call each is compared with.
#include <string.h>

#include "overlap.h"

// A request that MPI_Test has completed is null, and its status is known.
static int wait_for(Access* a) {
  return a->request == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Wait(&a->request, &a->status);
}

#define ACCESS_AT(name)                                                                    \
  static int name(Access* a) {                                                             \
    return MPI_File_##name(a->file, a->offset, a->buffer, a->count, MPI_BYTE, &a->status); \
  }
#define ACCESS_HERE(name)                                                       \
  static int name(Access* a) {                                                  \
    return MPI_File_##name(a->file, a->buffer, a->count, MPI_BYTE, &a->status); \
  }
#define POST_AT(name)                                                                       \
  static int name(Access* a) {                                                              \
    return MPI_File_##name(a->file, a->offset, a->buffer, a->count, MPI_BYTE, &a->request); \
  }
#define POST_HERE(name)                                                          \
  static int name(Access* a) {                                                   \
    return MPI_File_##name(a->file, a->buffer, a->count, MPI_BYTE, &a->request); \
  }
#define SPLIT_END(name)                                           \
  static int name##_end(Access* a) {                              \
    return MPI_File_##name##_end(a->file, a->buffer, &a->status); \
  }
#define SPLIT_AT(name)                                                                 \
  static int name##_begin(Access* a) {                                                 \
    return MPI_File_##name##_begin(a->file, a->offset, a->buffer, a->count, MPI_BYTE); \
  }                                                                                    \
  SPLIT_END(name)
#define SPLIT_HERE(name)                                                    \
  static int name##_begin(Access* a) {                                      \
    return MPI_File_##name##_begin(a->file, a->buffer, a->count, MPI_BYTE); \
  }                                                                         \
  SPLIT_END(name)

// clang-format off
ACCESS_HERE(write_all) ACCESS_HERE(read_all) ACCESS_AT(write_at_all) ACCESS_AT(read_at_all)
ACCESS_HERE(write) ACCESS_HERE(read) ACCESS_AT(write_at) ACCESS_AT(read_at)
ACCESS_HERE(write_shared) ACCESS_HERE(read_shared) ACCESS_HERE(write_ordered) ACCESS_HERE(read_ordered)
POST_HERE(iwrite_all) POST_HERE(iread_all) POST_AT(iwrite_at_all) POST_AT(iread_at_all)
POST_HERE(iwrite) POST_HERE(iread) POST_AT(iwrite_at) POST_AT(iread_at)
POST_HERE(iwrite_shared) POST_HERE(iread_shared)
SPLIT_HERE(write_all) SPLIT_HERE(read_all) SPLIT_AT(write_at_all) SPLIT_AT(read_at_all)
SPLIT_HERE(write_ordered) SPLIT_HERE(read_ordered)

#define NONBLOCKING(name, write, collective, place) \
  {"i" #name, write, collective, 0, place, i##name, wait_for, name}
#define SPLIT(name, write, place) \
  {#name "_begin", write, 1, 1, place, name##_begin, name##_end, name}

const Call kCalls[] = {
    NONBLOCKING(write_all, 1, 1, kPointer),
    NONBLOCKING(read_all, 0, 1, kPointer),
    NONBLOCKING(write_at_all, 1, 1, kOffset),
    NONBLOCKING(read_at_all, 0, 1, kOffset),
    SPLIT(write_all, 1, kPointer),
    SPLIT(read_all, 0, kPointer),
    SPLIT(write_at_all, 1, kOffset),
    SPLIT(read_at_all, 0, kOffset),
    NONBLOCKING(write, 1, 0, kPointer),
    NONBLOCKING(read, 0, 0, kPointer),
    NONBLOCKING(write_at, 1, 0, kOffset),
    NONBLOCKING(read_at, 0, 0, kOffset),
    NONBLOCKING(write_shared, 1, 0, kSharedPointer),
    NONBLOCKING(read_shared, 0, 0, kSharedPointer),
    SPLIT(write_ordered, 1, kOrdered),
    SPLIT(read_ordered, 0, kOrdered),
    {NULL, 0, 0, 0, kPointer, NULL, NULL, NULL},
};
// clang-format on

int names_match(const char* wanted, const char* name) {
  if (!wanted) return 1;
  for (const char* at = wanted; *at;) {
    size_t length = strcspn(at, ",");
    if (length == strlen(name) && strncmp(at, name, length) == 0) return 1;
    at += length + (at[length] == ',');
  }
  return 0;
}
