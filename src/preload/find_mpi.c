/* Finds the MPI library among the loaded libraries. A library named libmpi_abi.so has the MPI-5 standard ABI. For libmpi.so and libmpich.so, a
   symbol that only Open MPI has distinguishes it from the MPICH family. Python loads its MPI with RTLD_LOCAL: opening it again with
   RTLD_GLOBAL makes its symbols visible to the backend. */
#define _GNU_SOURCE
#include "find_mpi.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

struct candidates {
  char abi[4096], native[4096];
};

static int starts_with(const char* text, const char* prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static int look_at(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct candidates* found = data;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* base = slash ? slash + 1 : info->dlpi_name;
  if (starts_with(base, "libmpi_abi.so") && !found->abi[0])
    snprintf(found->abi, sizeof found->abi, "%s", info->dlpi_name);
  else if ((starts_with(base, "libmpi.so") || starts_with(base, "libmpich.so")) && !found->native[0])
    snprintf(found->native, sizeof found->native, "%s", info->dlpi_name);
  return 0;
}

struct found_mpi mercutio_find_mpi(void) {
  struct candidates all = {"", ""};
  struct found_mpi found = {NULL, NULL, ""};
  dl_iterate_phdr(look_at, &all);
  const char* path = all.abi[0] ? all.abi : all.native;
  if (!path[0]) return found;
  found.handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  if (!found.handle) return found;
  snprintf(found.path, sizeof found.path, "%s", path);
  if (all.abi[0])
    found.flavour = "abi";
  else
    found.flavour = dlsym(found.handle, "ompi_mpi_comm_world") ? "openmpi" : "mpich";
  return found;
}
