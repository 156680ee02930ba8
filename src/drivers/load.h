/* For drivers whose library is loaded and not linked: finds its functions, once. */
#ifndef MERCUTIO_DRIVERS_LOAD_H
#define MERCUTIO_DRIVERS_LOAD_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
  const char *name;
  void **to;   /* the pointer to the function */
} Symbol;

typedef struct {
  const char *file, *named;   /* the second for people, with where it comes from */
  const Symbol *symbols;
  size_t count;
} Library;

/* `unfit`: why a library that has all functions can't be used, or NULL; it may be NULL itself. ENOSYS with the reason in `why`; a later
 * call tries again. */
static inline int load_library(const Library *wanted, const char *(*unfit)(void *library), char why[512]) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static int loaded;
  char lacking[128] = "";
  const char *missing = NULL;
  pthread_mutex_lock(&mutex);
  void *library = loaded ? NULL : dlopen(wanted->file, RTLD_NOW | RTLD_LOCAL);
  if (!loaded && !library) missing = dlerror();
  for (size_t i = 0; library && i < wanted->count && !missing; i++) {
    *wanted->symbols[i].to = dlsym(library, wanted->symbols[i].name);
    if (*wanted->symbols[i].to) continue;
    snprintf(lacking, sizeof lacking, "it has no %s", wanted->symbols[i].name);
    missing = lacking;
  }
  if (library && !missing && unfit) missing = unfit(library);
  loaded = loaded || (library && !missing);
  if (!loaded) snprintf(why, 512, "%s is needed: %s", wanted->named, missing ? missing : "");
  const int error = loaded ? 0 : ENOSYS;
  pthread_mutex_unlock(&mutex);
  return error;
}

#endif
