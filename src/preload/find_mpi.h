/* Which MPI library the process uses. */
#ifndef MERCUTIO_FIND_MPI_H
#define MERCUTIO_FIND_MPI_H

struct found_mpi {
  const char* flavour;   /* "mpich", "openmpi", "abi": the backend that fits; NULL: no MPI is loaded */
  void* handle;          /* of dlopen, its symbols now global */
  char path[4096];
};

struct found_mpi mercutio_find_mpi(void);

#endif
