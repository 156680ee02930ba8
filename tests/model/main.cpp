// Random MPI-IO programs on ranks that are threads, against the oracle. Prints the seed of a failing case and the
// smallest case that still fails.
//   model_oracle [--cases N] [--seed S] [--seconds T]    T ends the run early, having checked what there was time for
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runner.h"

using namespace mercutio;

namespace {

std::atomic<unsigned> current_seed{0};

void on_hang(int) {
  char text[96];
  const int length = std::snprintf(text, sizeof text, "HANG: model_oracle --cases 1 --seed %u\n", current_seed.load());
  if (write(2, text, static_cast<size_t>(length)) < 0) _exit(3);
  _exit(2);
}

int report(const oracle::Case& failing, const std::string& what) {
  std::fprintf(stderr, "FAILED: model_oracle --cases 1 --seed %u   (%lld ranks, %s)\n  %s\n", failing.seed,
               static_cast<long long>(failing.ranks), failing.on_disk ? "on disk" : "in memory", what.c_str());
  const oracle::Case small = oracle::shrink(failing);
  const oracle::PlannedCase planned = oracle::plan_case(small);
  std::fprintf(stderr, "shrunken: %lld ranks\n", static_cast<long long>(small.ranks));
  for (const oracle::Planned& step : planned.steps) {
    std::fprintf(stderr, "  %s %s\n", step.text.c_str(), step.datarep.c_str());
    for (const auto& [key, value] : step.info) std::fprintf(stderr, "      %s=%s\n", key.c_str(), value.c_str());
  }
  std::fprintf(stderr, "  %s\n", oracle::run_case(small).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  long long cases = 2500, seconds = 1 << 30;
  unsigned seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--cases")) cases = std::atoll(argv[i + 1]);
    if (!std::strcmp(argv[i], "--seed")) seed = static_cast<unsigned>(std::atoll(argv[i + 1]));
    if (!std::strcmp(argv[i], "--seconds")) seconds = std::atoll(argv[i + 1]);
  }
  std::signal(SIGALRM, on_hang);
  const auto start = std::chrono::steady_clock::now();
  long long done = 0;
  for (; done < cases && std::chrono::steady_clock::now() - start < std::chrono::seconds(seconds); ++done) {
    current_seed = seed + static_cast<unsigned>(done);
    alarm(60);
    const oracle::Case one = oracle::make_case(current_seed);
    if (const std::string wrong = oracle::run_case(one); !wrong.empty()) return report(one, wrong);
  }
  alarm(0);
  std::printf("%lld cases from seed %u: as the oracle says\n", done, seed);
  return 0;
}
