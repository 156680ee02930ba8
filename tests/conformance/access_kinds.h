// One function for all the ways to move data at an explicit offset or through the individual pointer, so that a case can
// run over the whole table of data accesses. Kinds 10..19 are the large-count twins of 0..9, found by dlsym.
#ifndef MERCUTIO_TESTS_ACCESS_KINDS_H
#define MERCUTIO_TESTS_ACCESS_KINDS_H

#include "check.h"

enum {
  kAt, kAtAll, kIat, kIatAll, kAtAllSplit,
  kPointer, kPointerAll, kIpointer, kIpointerAll, kPointerAllSplit,
  kPlainKinds, kKinds = 2 * kPlainKinds
};
// Rows beyond the table: through the shared pointer. They ignore the offset.
enum { kShared = kKinds, kIshared, kOrdered, kOrderedSplit, kSharedC, kIsharedC, kOrderedC, kOrderedSplitC, kAllKinds };

static const char *const ck_kind_names[kAllKinds] CK_UNUSED = {
    "at", "at_all", "iat", "iat_all", "at_all_split", "ptr", "ptr_all", "iptr", "iptr_all", "ptr_all_split",
    "at_c", "at_all_c", "iat_c", "iat_all_c", "at_all_split_c", "ptr_c", "ptr_all_c", "iptr_c", "iptr_all_c",
    "ptr_all_split_c", "shared", "ishared", "ordered", "ordered_split", "shared_c", "ishared_c", "ordered_c",
    "ordered_split_c"};

static const char *const ck_kind_stems[kAllKinds] CK_UNUSED = {
    "_at", "_at_all", "_at", "_at_all", "_at_all_begin", "", "_all", "", "_all", "_all_begin",
    "_at", "_at_all", "_at", "_at_all", "_at_all_begin", "", "_all", "", "_all", "_all_begin",
    "_shared", "_shared", "_ordered", "_ordered_begin", "_shared", "_shared", "_ordered", "_ordered_begin"};

CK_UNUSED static int ck_kind_is_collective(int kind) {
  if (kind >= kShared) return (kind - kShared) % 4 >= 2;
  int k = kind % 5;
  return k == 1 || k == 3 || k == 4;
}
CK_UNUSED static int ck_kind_is_large(int kind) {
  return kind >= kShared ? kind >= kSharedC : kind >= kPlainKinds;
}
CK_UNUSED static int ck_kind_is_nonblocking(int kind) {
  if (kind >= kShared) return kind == kIshared || kind == kIsharedC;
  int k = kind % 5;
  return k == 2 || k == 3;
}
CK_UNUSED static int ck_kind_is_split(int kind) {
  if (kind >= kShared) return (kind - kShared) % 4 == 3;
  return kind % 5 == 4;
}
// The tag of a file whose records stand in the order in which the ranks came, where the kind leaves that open.
CK_UNUSED static const char *ck_tag_of_kind(int kind) {
  return kind >= kShared && !ck_kind_is_collective(kind) ? "any_order" : "f";
}
CK_UNUSED static int ck_kind_is_explicit(int kind) { return kind < kShared && kind % kPlainKinds < kPointer; }

CK_UNUSED static void *ck_large_function(int write, int kind) {
  char name[80];
  snprintf(name, sizeof name, "MPI_File_%s%s%s_c", ck_kind_is_nonblocking(kind) ? "i" : "", write ? "write" : "read",
           ck_kind_stems[kind]);
  return dlsym(RTLD_DEFAULT, name);
}
// A comparison with a host that lacks them leaves the large-count twins out on both sides.
CK_UNUSED static int ck_kind_exists(int kind) {
  if (ck_kind_is_large(kind) && getenv("MERCUTIO_TEST_PLAIN_KINDS")) return 0;
  return !ck_kind_is_large(kind) || (ck_large_function(0, kind) && ck_large_function(1, kind));
}

typedef struct {
  int write, kind;
  MPI_File fh;
  MPI_Offset offset;   // in etypes
  void *buffer;
  MPI_Count count;
  MPI_Datatype type;
} CkAccess;

CK_UNUSED static int ck_call_large(const CkAccess *a, MPI_Status *status, MPI_Request *request) {
  void *f = ck_large_function(a->write, a->kind);
  if (!f) return MPI_ERR_UNSUPPORTED_OPERATION;
  typedef int (*Blocking)(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Status *);
  typedef int (*BlockingAt)(MPI_File, MPI_Offset, void *, MPI_Count, MPI_Datatype, MPI_Status *);
  typedef int (*Starting)(MPI_File, void *, MPI_Count, MPI_Datatype, MPI_Request *);
  typedef int (*StartingAt)(MPI_File, MPI_Offset, void *, MPI_Count, MPI_Datatype, MPI_Request *);
  typedef int (*Begin)(MPI_File, void *, MPI_Count, MPI_Datatype);
  typedef int (*BeginAt)(MPI_File, MPI_Offset, void *, MPI_Count, MPI_Datatype);
  int at = ck_kind_is_explicit(a->kind);
  if (ck_kind_is_nonblocking(a->kind))
    return at ? ((StartingAt)f)(a->fh, a->offset, a->buffer, a->count, a->type, request)
              : ((Starting)f)(a->fh, a->buffer, a->count, a->type, request);
  if (ck_kind_is_split(a->kind))
    return at ? ((BeginAt)f)(a->fh, a->offset, a->buffer, a->count, a->type)
              : ((Begin)f)(a->fh, a->buffer, a->count, a->type);
  return at ? ((BlockingAt)f)(a->fh, a->offset, a->buffer, a->count, a->type, status)
            : ((Blocking)f)(a->fh, a->buffer, a->count, a->type, status);
}

CK_UNUSED static int ck_call_read(const CkAccess *a, MPI_Status *status, MPI_Request *request) {
  int n = (int)a->count;
  switch (a->kind) {
    case kAt: return MPI_File_read_at(a->fh, a->offset, a->buffer, n, a->type, status);
    case kAtAll: return MPI_File_read_at_all(a->fh, a->offset, a->buffer, n, a->type, status);
    case kIat: return MPI_File_iread_at(a->fh, a->offset, a->buffer, n, a->type, request);
    case kIatAll: return MPI_File_iread_at_all(a->fh, a->offset, a->buffer, n, a->type, request);
    case kAtAllSplit: return MPI_File_read_at_all_begin(a->fh, a->offset, a->buffer, n, a->type);
    case kPointer: return MPI_File_read(a->fh, a->buffer, n, a->type, status);
    case kPointerAll: return MPI_File_read_all(a->fh, a->buffer, n, a->type, status);
    case kIpointer: return MPI_File_iread(a->fh, a->buffer, n, a->type, request);
    case kIpointerAll: return MPI_File_iread_all(a->fh, a->buffer, n, a->type, request);
    case kPointerAllSplit: return MPI_File_read_all_begin(a->fh, a->buffer, n, a->type);
    case kShared: return MPI_File_read_shared(a->fh, a->buffer, n, a->type, status);
    case kIshared: return MPI_File_iread_shared(a->fh, a->buffer, n, a->type, request);
    case kOrdered: return MPI_File_read_ordered(a->fh, a->buffer, n, a->type, status);
    case kOrderedSplit: return MPI_File_read_ordered_begin(a->fh, a->buffer, n, a->type);
    default: return ck_call_large(a, status, request);
  }
}

CK_UNUSED static int ck_call_write(const CkAccess *a, MPI_Status *status, MPI_Request *request) {
  int n = (int)a->count;
  switch (a->kind) {
    case kAt: return MPI_File_write_at(a->fh, a->offset, a->buffer, n, a->type, status);
    case kAtAll: return MPI_File_write_at_all(a->fh, a->offset, a->buffer, n, a->type, status);
    case kIat: return MPI_File_iwrite_at(a->fh, a->offset, a->buffer, n, a->type, request);
    case kIatAll: return MPI_File_iwrite_at_all(a->fh, a->offset, a->buffer, n, a->type, request);
    case kAtAllSplit: return MPI_File_write_at_all_begin(a->fh, a->offset, a->buffer, n, a->type);
    case kPointer: return MPI_File_write(a->fh, a->buffer, n, a->type, status);
    case kPointerAll: return MPI_File_write_all(a->fh, a->buffer, n, a->type, status);
    case kIpointer: return MPI_File_iwrite(a->fh, a->buffer, n, a->type, request);
    case kIpointerAll: return MPI_File_iwrite_all(a->fh, a->buffer, n, a->type, request);
    case kPointerAllSplit: return MPI_File_write_all_begin(a->fh, a->buffer, n, a->type);
    case kShared: return MPI_File_write_shared(a->fh, a->buffer, n, a->type, status);
    case kIshared: return MPI_File_iwrite_shared(a->fh, a->buffer, n, a->type, request);
    case kOrdered: return MPI_File_write_ordered(a->fh, a->buffer, n, a->type, status);
    case kOrderedSplit: return MPI_File_write_ordered_begin(a->fh, a->buffer, n, a->type);
    default: return ck_call_large(a, status, request);
  }
}

CK_UNUSED static int ck_call_end(const CkAccess *a, MPI_Status *status) {
  if (a->kind >= kShared)
    return a->write ? MPI_File_write_ordered_end(a->fh, a->buffer, status)
                    : MPI_File_read_ordered_end(a->fh, a->buffer, status);
  if (ck_kind_is_explicit(a->kind))
    return a->write ? MPI_File_write_at_all_end(a->fh, a->buffer, status)
                    : MPI_File_read_at_all_end(a->fh, a->buffer, status);
  return a->write ? MPI_File_write_all_end(a->fh, a->buffer, status) : MPI_File_read_all_end(a->fh, a->buffer, status);
}

// From the first to the last call of one access; individual-pointer kinds seek to the offset first.
CK_UNUSED static int ck_do(const CkAccess *a, MPI_Status *status) {
  MPI_Request request = MPI_REQUEST_NULL;
  int rc;
  if (a->kind < kShared && !ck_kind_is_explicit(a->kind)) {
    rc = MPI_File_seek(a->fh, a->offset, MPI_SEEK_SET);
    if (rc != MPI_SUCCESS) return rc;
  }
  rc = a->write ? ck_call_write(a, status, &request) : ck_call_read(a, status, &request);
  if (rc != MPI_SUCCESS) return rc;
  if (ck_kind_is_nonblocking(a->kind)) return MPI_Wait(&request, status);
  if (ck_kind_is_split(a->kind)) return ck_call_end(a, status);
  return rc;
}

CK_UNUSED static int ck_write(int kind, MPI_File fh, MPI_Offset offset, const void *buffer, MPI_Count count,
                              MPI_Datatype type, MPI_Status *status) {
  CkAccess a = {1, kind, fh, offset, (void *)buffer, count, type};
  return ck_do(&a, status);
}
CK_UNUSED static int ck_read(int kind, MPI_File fh, MPI_Offset offset, void *buffer, MPI_Count count, MPI_Datatype type,
                             MPI_Status *status) {
  CkAccess a = {0, kind, fh, offset, buffer, count, type};
  return ck_do(&a, status);
}

#define RUN_FOR_KINDS(function, first, last) \
  for (int ck_k_ = (first); ck_k_ < (last); ck_k_++) \
    if (ck_kind_exists(ck_k_)) RUN_FOR(function, ck_kind_names[ck_k_], ck_k_)

#endif
