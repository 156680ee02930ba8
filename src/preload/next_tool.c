/* Tools that are linked to a program (Score-P, TAU, Extrae, IPM) define MPI_File_open and call PMPI_File_open. This library is preloaded, so
   the program's calls would bypass them. Therefore the tool's MPI_File_open is called, which calls our PMPI_File_open.

   This works for tools that refer to PMPI_File_open by name: the symbol is undefined in their table, and the loader binds it to ours. A tool
   that looks it up with dlsym(RTLD_NEXT), as Darshan does, would bypass us. It is not called. */
#define _GNU_SOURCE
#include "next_tool.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some loaders leave the addresses in the dynamic section relative to the load address of the library. */
static const void* address_in(const struct link_map* library, ElfW(Addr) value) {
  return (const void*)(value < library->l_addr ? library->l_addr + value : value);
}

/* Undefined symbols precede those in the hash table. */
static int refers_to(const struct link_map* library, const char* name) {
  const ElfW(Sym)* symbols = NULL;
  const char* strings = NULL;
  const uint32_t* hash = NULL;
  for (const ElfW(Dyn)* entry = library->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SYMTAB) symbols = address_in(library, entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) strings = address_in(library, entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) hash = address_in(library, entry->d_un.d_ptr);
  }
  if (!symbols || !strings || !hash) return 0;
  for (uint32_t i = 1; i < hash[1]; ++i) {
    if (symbols[i].st_shndx == SHN_UNDEF && strcmp(strings + symbols[i].st_name, name) == 0) return 1;
  }
  return 0;
}

static int is_same_file(const char* a, const char* b) {
  char first[PATH_MAX], second[PATH_MAX];
  return realpath(a, first) && realpath(b, second) && strcmp(first, second) == 0;
}

void* mercutio_next_tool(const char* name, const char* mpi_path) {
  char profiled[128];
  Dl_info tool, mpi;
  struct link_map* library = NULL;
  if (strncmp(name, "MPI_", 4) != 0 || snprintf(profiled, sizeof profiled, "P%s", name) >= (int)sizeof profiled) return NULL;
  void* next = dlsym(RTLD_NEXT, name);
  void* next_profiled = dlsym(RTLD_NEXT, profiled);
  if (next == next_profiled) return NULL;   /* two names of the MPI's function; dladdr() searches whole tables of symbols for what the next lines need */
  if (!next || !next_profiled || !dladdr1(next, &tool, (void**)&library, RTLD_DL_LINKMAP) || !dladdr(next_profiled, &mpi)) return NULL;
  if (tool.dli_fbase == mpi.dli_fbase || is_same_file(tool.dli_fname, mpi_path)) return NULL;   /* the MPI itself */
  return refers_to(library, profiled) ? next : NULL;
}
