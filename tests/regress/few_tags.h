// An MPI with few tags: 64 for a file, and so four files of a communicator at a time.
#ifndef MERCUTIO_TESTS_FEW_TAGS_H
#define MERCUTIO_TESTS_FEW_TAGS_H

#include "check.h"

enum { kTags = 256 };

// The MPI's own, but for the largest tag.
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *found) {
  static int tag_ub = kTags - 1;
  int (*get)(MPI_Comm, int, void *, int *) = (int (*)(MPI_Comm, int, void *, int *))dlsym(RTLD_NEXT, "PMPI_Comm_get_attr");
  const int code = get(comm, keyval, value, found);
  if (code == MPI_SUCCESS && keyval == MPI_TAG_UB && *found) *(int **)value = &tag_ub;
  return code;
}

#endif
