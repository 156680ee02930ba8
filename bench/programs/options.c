// What the command lines of both programs have in common.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench.h"

i64 parse_bytes(const char* text) {
  char* end = NULL;
  double value = strtod(text, &end);
  if (strncasecmp(end, "k", 1) == 0) value *= 1 << 10;
  if (strncasecmp(end, "m", 1) == 0) value *= 1 << 20;
  if (strncasecmp(end, "g", 1) == 0) value *= 1 << 30;
  return value < kWord ? -1 : (i64)value;
}

MPI_Info make_info(const Options* options) {
  MPI_Info info = MPI_INFO_NULL;
  if (options->hint_count > 0) MPI_Info_create(&info);
  for (int i = 0; i < options->hint_count; ++i) {
    char key[MPI_MAX_INFO_KEY + 1] = "";
    size_t length = strcspn(options->hints[i], "=");
    if (length > MPI_MAX_INFO_KEY) continue;
    memcpy(key, options->hints[i], length);
    MPI_Info_set(info, key, options->hints[i] + length + 1);
  }
  return info;
}
