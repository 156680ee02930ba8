// mpirun -n RANKS programs --first SEED --count N --dir FOLDER: runs the programs of these seeds and prints what is
// wrong, a line "WRONG seed S step I rank R: ..." each. Without MPI: --job SEED prints the ranks, the jobs and the
// environment of a seed's block, --show SEED its program, --c SEED a C program that does the same. --edits changes a program
// (edits.h). Where two jobs run a program, each gets --of-two-jobs 0 or 1 and --ranks, those of both. The first has the larger half.
#include <malloc.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "edits.h"
#include "generate.h"
#include "legal.h"
#include "mpi_executor.h"
#include "print.h"

namespace {

using namespace mercutio::programs;

struct Options {
  i64 first = 0, count = 1, repeat = 1, seconds = 20;
  Place place;
  std::string dir = ".", edits, mode;
};

volatile std::sig_atomic_t current_seed = 0;
volatile std::sig_atomic_t my_rank = 0;

// Each rank says where it is; the last word is the launcher's.
void on_end(int number) {
  char text[160];
  const int length = std::snprintf(text, sizeof text, "%s seed %ld step %d rank %d\n",
                                   number == SIGALRM ? "HANG" : "CRASH", static_cast<long>(current_seed),
                                   static_cast<int>(MpiExecutor::current_step), static_cast<int>(my_rank));
  const ssize_t written = write(2, text, static_cast<size_t>(length));
  if (number == SIGALRM) sleep(1);
  _exit(written < 0 ? 3 : 2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--first") options.first = std::atoll(value.c_str());
    if (name == "--count") options.count = std::atoll(value.c_str());
    if (name == "--repeat") options.repeat = std::atoll(value.c_str());
    if (name == "--seconds") options.seconds = std::atoll(value.c_str());
    if (name == "--dir") options.dir = value;
    if (name == "--of-two-jobs") options.place.jobs = 2, options.place.job = std::atoi(value.c_str());
    if (name == "--ranks") options.place.ranks = std::atoi(value.c_str());
    if (name == "--edits") options.edits = value;
    if (name == "--job" || name == "--show" || name == "--c") {
      options.mode = name;
      options.first = std::atoll(value.c_str());
    }
  }
  return options;
}

int print_only(const Options& options) {
  if (options.mode == "--job") {
    const Job job = job_of(options.first, options.dir);
    std::printf("%d %d\n", job.ranks, job.jobs);
    for (const auto& [name, value] : job.environment) std::printf("%s=%s\n", name.c_str(), value.c_str());
    return 0;
  }
  const Program program = legalise(edited(generate(options.first), options.edits));
  const std::vector<Planned> planned = plan(program, -1);
  const std::string text = options.mode == "--show" ? shown(program, planned) : c_program(program, planned);
  std::fputs(text.c_str(), stdout);
  return 0;
}

// What is left of a job that ended without a word.
void write_progress(const std::string& path, i64 seed) {
  if (std::FILE* out = std::fopen(path.c_str(), "w")) {
    std::fprintf(out, "%lld\n", static_cast<long long>(seed));
    std::fclose(out);
  }
}

int run(const Options& options) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Communicators communicators(options.place, options.dir);
  my_rank = communicators.rank();
  MpiExecutor executor(communicators, options.dir + "/f");
  int wrong = 0;
  for (i64 i = 0; i < options.count * options.repeat; ++i) {
    const i64 seed = options.first + i / options.repeat;
    current_seed = static_cast<std::sig_atomic_t>(seed);
    alarm(static_cast<unsigned>(options.seconds));
    if (my_rank == 0) write_progress(options.dir + "/progress", seed);
    const Program program = legalise(edited(generate(seed), options.edits));
    if (program.ranks != communicators.size()) {
      if (my_rank == 0) std::fprintf(stderr, "seed %lld wants %d ranks\n", static_cast<long long>(seed), program.ranks);
      return 3;
    }
    const std::vector<Finding> findings = executor.run(program, plan(program, communicators.rank()));
    for (const Finding& finding : findings) {
      const Step& step = program.steps[static_cast<size_t>(finding.step)];
      std::printf("WRONG seed %lld step %d rank %d: %s: %s\n", static_cast<long long>(seed), step.id, finding.rank,
                  describe(program, step).c_str(), finding.text.c_str());
    }
    std::fflush(stdout);
    wrong += !findings.empty();
  }
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, communicators.job());
  int rank_in_job = 0;
  MPI_Comm_rank(communicators.job(), &rank_in_job);
  if (rank_in_job == 0) std::printf("done\n");
  return all == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!options.mode.empty()) return print_only(options);
  std::signal(SIGALRM, on_end);
  if (!std::getenv("MERCUTIO_TEST_SANITIZED")) {  // a sanitizer says more
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(number, on_end);
  }
  mallopt(M_MMAP_THRESHOLD, 1 << 30);  // the same pages for each program
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  MPI_Init(&argc, &argv);
  const int code = run(options);
  alarm(30);
  MPI_Finalize();
  return code;
}
