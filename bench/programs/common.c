// What both programs have in common: words of their command lines, and figures of all ranks.
#define _GNU_SOURCE
#include <dlfcn.h>
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

int take_option(Options* options, const char* word, const char* value) {
  if (strcmp(word, "--dir") == 0)
    options->dir = value;
  else if (strcmp(word, "--limit") == 0)
    options->limit_seconds = atof(value);
  else if (strcmp(word, "--seed") == 0)
    options->seed = atoi(value);
  else if (strcmp(word, "--hint") == 0 && strchr(value, '=') && options->hint_count < kMaxHints)
    options->hints[options->hint_count++] = value;
  else
    return 0;
  return 1;
}

void limit_storage(int limited) {
  void (*limit)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "striped_servers_limit");
  if (limit) limit(limited);
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

double slowest(const Run* run, double value) {
  double result;
  MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, run->members);
  return result;
}

i64 sum(const Run* run, i64 value) {
  i64 result;
  MPI_Allreduce(&value, &result, 1, MPI_INT64_T, MPI_SUM, run->members);
  return result;
}
