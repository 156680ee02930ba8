// The command line of seeded tests: --cases N, --seed S, --seconds T (ends the run early, having checked what there was time for).
// The seed of a case that hangs or crashes is named, too.
#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace mercutio::sim {

inline volatile std::sig_atomic_t current_seed = 0;

// Nothing waits that long, except by mistake.
inline void on_end(int) {
  char text[96];
  const int length = std::snprintf(text, sizeof text, "HANG or CRASH: --cases 1 --seed %ld\n", static_cast<long>(current_seed));
  _exit(write(2, text, static_cast<size_t>(length)) < 0 ? 3 : 2);
}

// `run_case` says what was wrong, or nothing. Ten failures are enough.
inline int run_seeded(int argc, char** argv, long long cases, std::string (*run_case)(std::uint64_t seed)) {
  long long seed = 1, seconds = 1 << 30;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--cases")) cases = std::atoll(argv[i + 1]);
    if (!std::strcmp(argv[i], "--seed")) seed = std::atoll(argv[i + 1]);
    if (!std::strcmp(argv[i], "--seconds")) seconds = std::atoll(argv[i + 1]);
  }
  for (const int number : {SIGALRM, SIGSEGV, SIGABRT}) std::signal(number, on_end);
  const auto start = std::chrono::steady_clock::now();
  long long done = 0, failed = 0;
  for (; done < cases && std::chrono::steady_clock::now() - start < std::chrono::seconds(seconds); ++done) {
    current_seed = static_cast<std::sig_atomic_t>(seed + done);
    alarm(120);
    const std::string wrong = run_case(static_cast<std::uint64_t>(seed + done));
    if (wrong.empty()) continue;
    std::fprintf(stderr, "FAILED: --cases 1 --seed %lld: %s\n", seed + done, wrong.c_str());
    if (++failed == 10) break;
  }
  std::printf("%lld cases from seed %lld, %lld failed\n", done, seed, failed);
  return failed == 0 && done > 0 ? 0 : 1;
}

}  // namespace mercutio::sim
