/* The trampoline. At the first call of any exported function it finds the program's MPI, loads the backend for its ABI from the folder of this
   file, and makes every stub jump to the backend. With MERCUTIO_DISABLE=1, or without a fitting backend, the stubs jump to the MPI's own
   functions. Nothing is loaded in processes that never call MPI. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "find_mpi.h"
#include "names.h"
#include "next_tool.h"
#include "stubs.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct found_mpi mpi;
static void* backend;   /* NULL: the MPI's own functions are used */

static int is_disabled(void) {
  const char* value = getenv("MERCUTIO_DISABLE");
  return value && *value && strcmp(value, "0") != 0;
}

/* Whether this process reports for the job: the first rank, by the launchers' variables. */
static int is_first_rank(void) {
  static const char* const kRanks[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "MPIRUN_RANK", "FLUX_TASK_RANK", "ALPS_APP_PE"};
  for (size_t i = 0; i < sizeof kRanks / sizeof *kRanks; ++i) {
    const char* value = getenv(kRanks[i]);
    if (value && *value) return strcmp(value, "0") == 0;
  }
  return 1;
}

static void load_backend(void) {
  Dl_info self;
  char path[4352];
  if (!dladdr((void*)&load_backend, &self) || !self.dli_fname) return;
  char* real = realpath(self.dli_fname, NULL);
  char* slash = real ? strrchr(real, '/') : NULL;
  if (slash) {
    *slash = '\0';
    snprintf(path, sizeof path, "%s/libmercutio-%s.so", real, mpi.flavour);
    backend = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  if (!backend) {
    const char* why = dlerror();
    if (is_first_rank()) {
      fprintf(stderr, "mercutio: no backend for this MPI (%s): %s; its own I/O is used. Run 'mercutio doctor'.\n", mpi.path, why ? why : "not found");
    }
  }
  free(real);
}

static void start(void) {
  mpi = mercutio_find_mpi();
  if (!mpi.handle)
    fprintf(stderr, "mercutio: an MPI function was called, but no MPI library (libmpi, libmpich, libmpi_abi) is loaded as a shared library\n");
  else if (!is_disabled())
    load_backend();
}

/* The target of a stub if no library has the function, for example a large-count call of an older MPI with Mercutio disabled. */
static int missing_function(void) {
  fprintf(stderr, "mercutio: this MPI has no such function of its own, and Mercutio is disabled or could not be loaded\n");
  return 16; /* MPI_ERR_OTHER in Open MPI, MPI_ERR_INTERN or OTHER elsewhere: an error in all */
}

void* mercutio_resolve(word index) {
  pthread_once(&once, start);
  const char* name = mercutio_names[index];
  void* found = backend ? mercutio_next_tool(name, mpi.path) : NULL;
  if (!found && backend) found = dlsym(backend, name);
  if (!found && mpi.handle) found = dlsym(mpi.handle, name);
  if (!found && !backend) found = dlsym(RTLD_NEXT, name); /* Fortran names are in the MPI's Fortran library */
  if (!found) found = (void*)&missing_function;
  atomic_store_explicit(&mercutio_table[index], found, memory_order_release);
  return found;
}
