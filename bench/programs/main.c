// mercutio-bench: I/O patterns of applications and of the well-known I/O benchmarks, in plain MPI-IO, so that one
// program measures any MPI's own I/O and Mercutio alike. `mercutio bench` starts it; by hand:
//
//     mpirun -n 4 mercutio-bench --dir /tmp --bytes 4MiB --patterns vector,tile
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char kUsage[] =
    "mercutio-bench [--dir DIR] [--bytes N[KiB|MiB|GiB]] [--quick] [--full] [--patterns A,B] [--repetitions N]\n"
    "               [--after CASE:OP] [--skip CASE:OP,...] [--limit SECONDS] [--seed N] [--hint KEY=VALUE] [--no-shares] [--list]\n"
    "  --bytes        for each rank and case, 64 MiB; --quick: 4 MiB\n"
    "  --full         all cases with that size, also those whose pieces are so small that hosts are very slow\n"
    "  --patterns     names or beginnings of names; --list prints them\n"
    "  --after        begin behind this case, for example vector-8:write\n"
    "  --skip         leave these out: ,vector-8:read,tile-64:write, with a comma at each end\n"
    "  --limit        seconds an access may take; then the program ends with code 3\n"
    "  --no-shares    without the plain writes and reads of one share a rank, the machine's limit\n";

static void list_cases(void) {
  for (const Case* self = kCases; self->name; ++self) puts(self->name);
  for (const char* const* name = kLatencies; *name; ++name) puts(*name);
  char name[kNameBytes];
  for (int i = 0; ior_name(i, name); ++i) puts(name);
  for (int i = 0; moved_name(i, name); ++i) puts(name);
}

static int usage(const char* word) {
  fprintf(stderr, "mercutio-bench: %s\n%s", word, kUsage);
  return 2;
}

// Returns 0, or the code to end with (-1: end with 0).
static int parse_options(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(word, "--list") == 0) return list_cases(), -1;
    if (strcmp(word, "--help") == 0) return fputs(kUsage, stdout), -1;
    if (strcmp(word, "--full") == 0) {
      options->full = 1;
      continue;
    }
    if (strcmp(word, "--no-shares") == 0) {
      options->no_shares = 1;
      continue;
    }
    if (strcmp(word, "--quick") == 0) {
      options->bytes = 4 << 20;
      continue;
    }
    if (!value) return usage(word);
    ++i;
    if (take_option(options, word, value)) continue;
    if (strcmp(word, "--bytes") == 0)
      options->bytes = parse_bytes(value);
    else if (strcmp(word, "--patterns") == 0)
      options->patterns = value;
    else if (strcmp(word, "--repetitions") == 0)
      options->repetitions = atoi(value);
    else if (strcmp(word, "--after") == 0)
      options->after = value;
    else if (strcmp(word, "--skip") == 0)
      options->skip = value;
    else
      return usage(word);
  }
  return options->bytes < 0 ? usage("--bytes") : 0;
}

// Is `name` one of the wanted patterns, or does it begin with one?
static int wanted(const char* patterns, const char* name) {
  if (!patterns) return 1;
  for (const char* at = patterns; *at;) {
    size_t length = strcspn(at, ",");
    if (length > 0 && strncmp(at, name, length) == 0) return 1;
    at += length + (at[length] == ',');
  }
  return 0;
}

static int skipped(const Options* options, const char* name, const char* operation) {
  char word[kNameBytes];
  snprintf(word, sizeof word, ",%s:%s,", name, operation);
  return options->skip && strstr(options->skip, word);
}

// The largest square number of ranks, for patterns that need one; the others wait.
static Run members_of(const Run* world, int square) {
  Run run = *world;
  int q = 1;
  while ((q + 1) * (q + 1) <= world->ranks) ++q;
  if (!square || q * q == world->ranks) return run;
  MPI_Comm_split(world->members, world->rank < q * q ? 0 : MPI_UNDEFINED, world->rank, &run.members);
  run.ranks = q * q;
  return run;
}

// The first collective calls of a job set up its connections: that is nobody's pattern.
static void warm_up(const Run* run) {
  char path[kNameBytes];
  char* block = must_alloc(1 << 16);
  file_name(run, "warm-up", 0, path);
  memset(block, 1, 1 << 16);
  MPI_File file = open_file(run, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  for (int i = 0; i < 3; ++i) {
    MPI_File_write_at_all(file, (MPI_Offset)(i * run->ranks + run->rank) << 16, block, 1 << 16, MPI_BYTE,
                          MPI_STATUS_IGNORE);
  }
  MPI_File_close(&file);
  free(block);
}

static void limit_for(const Case* self, const Run* run) {
  static i64 measured = -1;
  double limit[2];
  i64 bytes = run->options->bytes / (run->options->full ? 1 : self->divisor) / kWord * kWord;
  if (run->options->no_shares || bytes < kWord || bytes == measured) return;
  measured = bytes;
  measure_limit(run, bytes, limit);
  if (run->rank == 0) print_limit(bytes * run->ranks, limit);
}

// Whether this operation of a case is to be run. `after` is where the last program ended, until it is reached.
static int due(const Options* options, const char* name, const char* operation, const char** after) {
  const size_t length = *after ? strcspn(*after, ":") : 0;
  const int skipping = *after != NULL;
  if (skipping && strlen(name) == length && strncmp(name, *after, length) == 0 && strcmp(operation, *after + length + 1) == 0) *after = NULL;
  return !skipping && !skipped(options, name, operation) && wanted(options->patterns, name);
}

// `after` is CASE:OP: cases up to it are left out; behind CASE:write its reading half is run.
static int run_all(const Run* world, const char* after) {
  int bad = 0, skipping = after != NULL;
  size_t length = after ? strcspn(after, ":") : 0;
  for (const Case* self = kCases; self->name; ++self) {
    int reached = skipping && strlen(self->name) == length && strncmp(self->name, after, length) == 0;
    int read_only = reached && strcmp(after + length, ":write") == 0;
    if (reached) skipping = 0;
    if ((skipping || reached) && !read_only) continue;
    if (!wanted(world->options->patterns, self->name)) continue;
    Halves halves = {read_only || skipped(world->options, self->name, "write"),
                     skipped(world->options, self->name, "read")};
    if (halves.skip_write && halves.skip_read) continue;
    limit_for(self, world);
    Run run = members_of(world, self->square);
    run.salt = mix(world->salt + (u64)(self - kCases));
    bad += run_case(self, &run, halves);
    if (run.members != world->members && run.members != MPI_COMM_NULL) MPI_Comm_free(&run.members);
    MPI_Barrier(world->members);
  }
  if (!skipping) after = NULL;
  for (const char* const* name = kLatencies; *name; ++name) {
    if (due(world->options, *name, "latency", &after)) bad += run_latency(*name, world);
  }
  char name[kNameBytes];
  for (int i = 0; ior_name(i, name); ++i) {
    Halves halves = {!due(world->options, name, "write", &after), 0};
    halves.skip_read = !due(world->options, name, "read", &after);
    if (!halves.skip_write || !halves.skip_read) bad += run_ior(i, world, halves);
  }
  for (int i = 0; moved_name(i, name); ++i) {
    if (due(world->options, name, "moved", &after)) bad += run_moved(i, world);
  }
  return bad;
}

int main(int argc, char** argv) {
  Options options = {.dir = ".", .bytes = 64 << 20, .repetitions = 1, .limit_seconds = 60, .seed = 1};
  Run run = {&options, MPI_COMM_WORLD, MPI_INFO_NULL, 0, 0, 0};
  int bad = 0, code = parse_options(argc, argv, &options);
  if (code) return code < 0 ? 0 : code;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(run.members, &run.rank);
  MPI_Comm_size(run.members, &run.ranks);
  run.info = make_info(&options);
  if (run.rank == 0) print_header(&run);
  warm_up(&run);
  for (int i = 0; i < options.repetitions; ++i) {
    run.salt = mix((u64)options.seed * 1000 + (u64)i);
    bad += run_all(&run, i == 0 ? options.after : NULL);
  }
  if (run.info != MPI_INFO_NULL) MPI_Info_free(&run.info);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (run.rank == 0) printf("{\"done\": %d}\n", bad);
  MPI_Finalize();
  return bad ? 1 : 0;
}
