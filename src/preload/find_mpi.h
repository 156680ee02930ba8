/* The MPI library of the process. */
#ifndef MERCUTIO_FIND_MPI_H
#define MERCUTIO_FIND_MPI_H

struct found_mpi {
  const char* flavour;   /* "mpich", "openmpi" or "abi": the backend to load; NULL: no MPI is loaded */
  void* handle;          /* of dlopen; the symbols are global now */
  char path[4096];
};

struct found_mpi mercutio_find_mpi(void);

#endif
