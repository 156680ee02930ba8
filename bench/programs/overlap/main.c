// mercutio-overlap: how much of each nonblocking or split access hides behind computation, in plain MPI-IO, so that one
// program measures any MPI's own I/O and Mercutio alike. `mercutio bench overlap` starts it; by hand:
//
//     mpirun -n 2 mercutio-overlap --dir /tmp --bytes 8MiB --calls iwrite_all,iread_all
//
// A round measures, one after the other: the blocking call; posting and completing at once; the computation alone;
// posting, the same computation, completing; and that with an MPI_Test now and then. The work of a case's computation
// is fixed beforehand so that it takes as long as posting and completing did in a round that does not count.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlap.h"

static const char kUsage[] =
    "mercutio-overlap [--dir DIR] [--bytes N[KiB|MiB|GiB]] [--calls A,B] [--rounds N] [--limit SECONDS] [--seed N]\n"
    "                 [--hint KEY=VALUE] [--posting] [--list]\n"
    "  --bytes    for each rank and access, 8 MiB; a multiple of 4 KiB\n"
    "  --calls    their names; --list prints them\n"
    "  --posting  measure only how long posting a collective access takes, for some sizes up to --bytes\n";

enum { kPostings = 11, kMostBytes = 1 << 30 };

static int usage(const char* word) {
  fprintf(stderr, "mercutio-overlap: %s\n%s", word, kUsage);
  return 2;
}

// Returns 0, or the code to end with (-1: end with 0).
static int parse_options(int argc, char** argv, Options* options, int* posting) {
  for (int i = 1; i < argc; ++i) {
    const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(word, "--help") == 0) return fputs(kUsage, stdout), -1;
    if (strcmp(word, "--list") == 0) {
      for (const Call* call = kCalls; call->name; ++call) puts(call->name);
      return -1;
    }
    if (strcmp(word, "--posting") == 0) {
      *posting = 1;
      continue;
    }
    if (!value) return usage(word);
    ++i;
    if (take_option(options, word, value)) continue;
    if (strcmp(word, "--bytes") == 0)
      options->bytes = parse_bytes(value) / kBlock * kBlock;
    else if (strcmp(word, "--calls") == 0)
      options->patterns = value;
    else if (strcmp(word, "--rounds") == 0)
      options->repetitions = atoi(value);
    else
      return usage(word);
  }
  return options->bytes < kBlock || options->bytes > kMostBytes ? usage("--bytes has to be 4 KiB to 1 GiB") : 0;
}

static double computation_alone(const Run* run, i64 work) {
  MPI_Barrier(run->members);
  double begin = MPI_Wtime();
  compute(work, NULL);
  return slowest(run, MPI_Wtime() - begin);
}

static i64 measure_round(Setup* setup, i64 work, int round) {
  const Call* call = setup->call;
  Timing at_once = blocking(setup), alone = nonblocking(setup, (Between){0, 0}), tested = {0, 0, 0, 0};
  double computation = computation_alone(setup->run, work);
  Timing both = nonblocking(setup, (Between){work, 0});
  if (!call->split) tested = nonblocking(setup, (Between){work, 1});
  i64 wrong = at_once.wrong + alone.wrong + both.wrong + tested.wrong;
  if (setup->run->rank != 0) return wrong;
  printf("{\"call\": \"%s\", \"pattern\": \"%s\", \"bytes\": %lld, \"round\": %d, \"blocking\": %.6f, ", call->name,
         pattern_name(setup->pattern), (long long)setup->file_bytes, round, at_once.total);
  printf("\"io\": %.6f, \"io_post\": %.7f, \"io_complete\": %.6f, \"compute\": %.6f, ", alone.total, alone.post,
         alone.complete, computation);
  printf("\"both\": %.6f, \"both_post\": %.7f, \"both_complete\": %.6f, \"tested\": %.6f, \"wrong\": %lld}\n",
         both.total, both.post, both.complete, tested.total, (long long)wrong);
  fflush(stdout);
  return wrong;
}

// The first accesses set up connections, threads and buffers: they don't count, and say how much there is to compute.
static i64 measure_case(const Run* run, const Call* call, Pattern pattern, double speed) {
  Setup setup;
  set_up(&setup, run, call, pattern);
  i64 wrong = nonblocking(&setup, (Between){0, 0}).wrong;
  Timing second = nonblocking(&setup, (Between){0, 0});
  wrong += second.wrong;
  for (int round = 0; round < run->options->repetitions; ++round) {
    wrong += measure_round(&setup, (i64)(second.total * speed), round);
  }
  take_down(&setup);
  return wrong;
}

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static i64 measure_posting(const Run* run, const Call* call, Pattern pattern) {
  Setup setup;
  double seconds[kPostings];
  set_up(&setup, run, call, pattern);
  i64 wrong = nonblocking(&setup, (Between){0, 0}).wrong;
  for (int i = 0; i < kPostings; ++i) {
    Timing timing = nonblocking(&setup, (Between){0, 0});
    seconds[i] = timing.post;
    wrong += timing.wrong;
  }
  take_down(&setup);
  qsort(seconds, kPostings, sizeof *seconds, ascending);
  if (run->rank != 0) return wrong;
  printf(
      "{\"post\": \"%s\", \"pattern\": \"%s\", \"bytes\": %lld, \"least\": %.7f, \"seconds\": %.7f, \"most\": %.7f, ",
      call->name, pattern_name(pattern), (long long)run->options->bytes, seconds[0], seconds[kPostings / 2],
      seconds[kPostings - 1]);
  printf("\"wrong\": %lld}\n", (long long)wrong);
  fflush(stdout);
  return wrong;
}

// A block, a 16th of the bytes, all of them.
static i64 measure_postings(const Run* run, const Call* call, Pattern pattern) {
  i64 wrong = 0, most = run->options->bytes, sizes[3] = {kBlock, most / 16 / kBlock * kBlock, most};
  if (!call->collective) return 0;
  for (int i = 0; i < 3; ++i) {
    if (sizes[i] < kBlock || (i > 0 && sizes[i] == sizes[i - 1])) continue;
    Options options = *run->options;
    Run smaller = *run;
    options.bytes = sizes[i];
    smaller.options = &options;
    wrong += measure_posting(&smaller, call, pattern);
  }
  return wrong;
}

static i64 measure_call(const Run* run, const Call* call, double speed) {
  i64 wrong = 0;
  if (run->rank == 0) print_begin(call->name, speed > 0 ? "overlap" : "posting");
  for (Pattern pattern = kContiguous; pattern <= kInterleaved; ++pattern) {
    if (!has_pattern(call, pattern)) continue;
    wrong += speed > 0 ? measure_case(run, call, pattern, speed) : measure_postings(run, call, pattern);
  }
  return wrong;
}

int main(int argc, char** argv) {
  Options options = {.dir = ".", .bytes = 8 << 20, .repetitions = 3, .limit_seconds = 60, .seed = 1};
  Run run = {&options, MPI_COMM_WORLD, MPI_INFO_NULL, 0, 0, 0};
  int posting = 0, code = parse_options(argc, argv, &options, &posting);
  i64 wrong = 0;
  if (code) return code < 0 ? 0 : code;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(run.members, &run.rank);
  MPI_Comm_size(run.members, &run.ranks);
  run.info = make_info(&options);
  run.salt = mix((u64)options.seed);
  if (run.rank == 0) print_header(&run);
  double speed = posting ? 0 : units_per_second(&run);
  for (const Call* call = kCalls; call->name; ++call) {
    if (names_match(options.patterns, call->name)) wrong += measure_call(&run, call, speed);
  }
  if (run.info != MPI_INFO_NULL) MPI_Info_free(&run.info);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (run.rank == 0) printf("{\"done\": %d}\n", wrong != 0);
  MPI_Finalize();
  return wrong ? 1 : 0;
}
