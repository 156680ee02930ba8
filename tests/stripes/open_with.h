// Opens a new or old file on MPI_COMM_WORLD. `hints`: keys and values in turn, then NULL; may be NULL.
#pragma once

#include "check.h"

static MPI_File open_with(const char *name, const char *const *hints) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info = MPI_INFO_NULL;
  if (hints) MPI_Info_create(&info);
  for (; hints && hints[0]; hints += 2) MPI_Info_set(info, (char *)hints[0], (char *)hints[1]);
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh))) MPI_Abort(MPI_COMM_WORLD, 1);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return fh;
}
