/* Loads libmercutio-omp, then a plugin that brings the OpenMP runtime along, as Python does: late_runtime LIBRARY PLUGIN FILE. All four threads'
   bytes must be in the file. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>

#include "plugin.h"

static void *function(void *library, const char *name) {
  void *found = library ? dlsym(library, name) : NULL;
  if (!found) fprintf(stderr, "%s: %s\n", name, dlerror());
  return found;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  struct Routines omp_file;
  *(void **)&omp_file.open_all = function(library, "omp_file_open_all");
  *(void **)&omp_file.write_all = function(library, "omp_file_write_all");
  *(void **)&omp_file.close_all = function(library, "omp_file_close_all");
  if (!omp_file.open_all || !omp_file.write_all || !omp_file.close_all) return 2;

  int alone = -1;   /* a team of one, before there is a runtime */
  if (omp_file.open_all(&alone, argv[3], O_WRONLY | O_CREAT) != 0 || omp_file.close_all(alone) != 0) return 1;

  int (*write)(const struct Routines *, const char *);
  *(void **)&write = function(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL), "write_by_four");
  if (!write) return 2;
  const int failed = write(&omp_file, argv[3]);

  char data[64] = "";
  FILE *file = fopen(argv[3], "r");
  const size_t bytes = file ? fread(data, 1, sizeof data - 1, file) : 0;
  if (file) fclose(file);
  int of_each[4] = {0};
  for (size_t i = 0; i < bytes; ++i)
    if (data[i] >= 'A' && data[i] <= 'D') ++of_each[data[i] - 'A'];
  const int complete = bytes == 32 && of_each[0] == 8 && of_each[1] == 8 && of_each[2] == 8 && of_each[3] == 8;
  if (failed || !complete) fprintf(stderr, "%d calls failed; the file has %zu bytes: %s\n", failed, bytes, data);
  return failed || !complete;
}
