/* For drivers whose libraries don't know the process's umask, as it can't be asked by umask(2) without a change. */
#ifndef MERCUTIO_DRIVERS_UMASK_H
#define MERCUTIO_DRIVERS_UMASK_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

static inline mode_t with_umask(uint32_t permissions) {
  unsigned mask = 022;
  char line[128];
  FILE *status = fopen("/proc/self/status", "re");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "Umask: %o", &mask) == 1) break;
  if (status) fclose(status);
  return permissions & ~mask & 07777;
}

#endif
