/* The script: what all ranks need, then an index, then each rank's steps, of which a rank reads its own. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "replay.h"

static i64 headed(FILE* from, const char* name) {
  char word[32] = "";
  long long value = -1;
  if (fscanf(from, "%31s %lld", word, &value) != 2 || strcmp(word, name) != 0 || value < 0 || value > (1 << 28))
    fail("the script", "it is damaged, or of another version of mercutio");
  return value;
}

/* The rest of the line that a number has begun. */
static char* rest_of_line(FILE* from) {
  char* line = NULL;
  size_t room = 0;
  ssize_t length = getline(&line, &room, from);
  if (length < 1) fail("the script", "it ends too early");
  line[length - 1] = '\0';
  if (line[0] == ' ') memmove(line, line + 1, (size_t)length - 1);
  return line;
}

static int small_number(FILE* from) {
  int value = 0;
  if (fscanf(from, "%d", &value) != 1 || value < 0) fail("the script", "it is damaged");
  return value;
}

static void read_files(FILE* from, Script* script) {
  script->files = (int)headed(from, "files");
  script->file = must_alloc((i64)sizeof(File) * script->files);
  for (int i = 0; i < script->files; ++i) {
    long long needed = 0;
    if (fscanf(from, "%lld", &needed) != 1) fail("the script", "it is damaged");
    script->file[i].needed_bytes = needed;
    script->file[i].name = rest_of_line(from);
  }
}

static void read_groups(FILE* from, Script* script) {
  script->groups = (int)headed(from, "groups");
  script->group = must_alloc((i64)sizeof(int*) * script->groups);
  for (int i = 0; i < script->groups; ++i) {
    const int ranks = small_number(from);
    script->group[i] = must_alloc((i64)sizeof(int) * (ranks + 1));
    script->group[i][0] = ranks;
    for (int k = 1; k <= ranks; ++k) script->group[i][k] = small_number(from);
  }
}

static void read_infos(FILE* from, Script* script) {
  script->infos = (int)headed(from, "infos");
  script->info = must_alloc((i64)sizeof(char**) * script->infos);
  for (int i = 0; i < script->infos; ++i) {
    const int items = small_number(from);
    free(rest_of_line(from));
    script->info[i] = must_alloc((i64)sizeof(char*) * (items + 1));
    for (int k = 0; k < items; ++k) script->info[i][k] = rest_of_line(from);
    script->info[i][items] = NULL;
  }
}

void read_script(const char* path, Script* script, int rank) {
  FILE* from = fopen(path, "r");
  long long begin = 0;
  if (!from) fail(path, "can't be read; it must be on a directory that all nodes see (--scratch)");
  if (headed(from, "mercutio-replay") != 1) fail("the script", "it is of another version of mercutio");
  script->ranks = (int)headed(from, "ranks");
  script->steps = from;
  if (rank < 0) return; /* the number of ranks was asked for */
  read_files(from, script);
  read_groups(from, script);
  read_infos(from, script);
  if (script->infos == 0) free(rest_of_line(from));
  const long index = ftell(from);
  if (fseek(from, index + 21L * rank, SEEK_SET) != 0 || fscanf(from, "%lld", &begin) != 1 ||
      fseek(from, index + 21L * script->ranks + (long)begin, SEEK_SET) != 0)
    fail("the script", "it is damaged");
}
