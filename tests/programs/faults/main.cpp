// program_faults --first SEED --count N: runs the programs of these seeds on simulated ranks in one thread, each with a fault, and
// prints what is wrong. --show SEED prints a program and its fault; --edits changes a program (edits.h).
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "edits.h"
#include "faults/faulty_executor.h"
#include "generate.h"
#include "legal.h"
#include "print.h"

namespace {

using namespace mercutio::programs;

struct Options {
  i64 first = 0, count = 1000, at_most = 10;
  bool show = false;
  std::string edits;
};

volatile std::sig_atomic_t current_seed = 0;

void on_end(int number) {
  char text[96];
  const int length = std::snprintf(text, sizeof text, "%s seed %ld\n", number == SIGALRM ? "HANG" : "CRASH", static_cast<long>(current_seed));
  _exit(write(2, text, static_cast<size_t>(length)) < 0 ? 3 : 2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--first" || name == "--show") options.first = std::atoll(value.c_str());
    if (name == "--count") options.count = std::atoll(value.c_str());
    if (name == "--at-most") options.at_most = std::atoll(value.c_str());
    if (name == "--edits") options.edits = value;
    options.show |= name == "--show";
  }
  return options;
}

// Where a pointer begins at the end of the file, it depends on whether what failed has made the file longer.
void leave_out_appending(Program& program) {
  for (Step& step : program.steps) step.mode &= ~static_cast<unsigned>(kAppend);
}

// The variables of a job's seeds, instead of those of the job before.
void set_environment(i64 seed, Info& set) {
  for (const auto& [name, value] : set) unsetenv(name.c_str());
  set = job_of(seed, "/nonexistent").environment;
  for (const auto& [name, value] : set) setenv(name.c_str(), value.c_str(), 1);
}

int run(const Options& options) {
  Info environment;
  i64 wrong = 0, met = 0, errors = 0, done = 0;
  for (; done < options.count && wrong < options.at_most; ++done) {
    const i64 seed = options.first + done;
    current_seed = static_cast<std::sig_atomic_t>(seed);
    alarm(60);
    set_environment(seed, environment);
    Program drawn = edited(generate(seed), options.edits);
    leave_out_appending(drawn);
    const Program program = legalise(drawn);
    const std::vector<Planned> planned = plan(program, -1);
    const Fault fault = draw_fault(program);
    if (options.show) {
      std::printf("%s%s\n", shown(program, planned).c_str(), describe(fault).c_str());
      return 0;
    }
    FaultyExecutor executor(fault);
    const std::vector<Finding> findings = executor.run(program, planned);
    met += executor.met();
    errors += executor.errors();
    wrong += !findings.empty();
    for (const Finding& finding : findings) {
      const Step& step = program.steps[static_cast<size_t>(finding.step)];
      std::printf("WRONG seed %lld step %d rank %d: %s: %s (%s)\n", static_cast<long long>(seed), step.id, finding.rank,
                  describe(program, step).c_str(), finding.text.c_str(), describe(fault).c_str());
    }
    std::fflush(stdout);
  }
  std::printf("%lld programs from seed %lld, %lld met their fault, %lld errors told, %lld wrong\n", static_cast<long long>(done),
              static_cast<long long>(options.first), static_cast<long long>(met), static_cast<long long>(errors), static_cast<long long>(wrong));
  return wrong == 0 && done > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGALRM, on_end);
  for (const int number : {SIGSEGV, SIGABRT}) std::signal(number, on_end);
  setenv("MERCUTIO_SITE_HINTS", "/dev/null", 1);
  setenv("XDG_CONFIG_HOME", "/dev/null/none", 1);   // what is kept for later runs is kept nowhere
  return run(parse(argc, argv));
}
