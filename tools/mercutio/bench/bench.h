// `mercutio bench`: the program of bench/programs, run in turn on the I/O of each MPI as it is installed and on
// Mercutio, and the table of what came out. See docs/users/bench.md.
#pragma once

#include <cstdint>
#include <string>

#include "../launcher.h"

namespace mercutio::tool {

using i64 = std::int64_t;

struct BenchOptions {
  std::string directory = ".";
  Words launchers;       // mpirun of each MPI to measure; empty: those on PATH
  Words hints;           // for Mercutio, key=value
  Words host_hints;      // for the MPIs' own I/O
  Words io;              // host, romio, mercutio; empty: all of them; traced, recorded
  std::string patterns;  // names or beginnings of names, separated by commas; empty: all
  std::string json_file, plot_file, from_file;
  std::string shim = "auto";  // against busy polling; none, or a path
  std::string against;        // another libmercutio.so, to compare with
  std::uint64_t bytes = 0;    // 0: the program's default
  double limit_seconds = 60;  // of one access
  int ranks = 4, repetitions = 3, seed = 1;
  bool quick = false, full = false;
};

// 0; 1 when bytes read or written through Mercutio were wrong, a run of it ended early, or it had storage read more than needed; 2 for
// wrong usage.
int bench(const BenchOptions& options);

// `mercutio bench overlap`: the calls in two halves, on storage of a fixed rate (tests/tools/striped_servers.c).
struct OverlapOptions {
  OverlapOptions() { common.ranks = 2; }
  BenchOptions common;  // patterns: the names of calls
  int servers = 2, posting_ranks = 4;
  std::uint64_t rate = 32000000, stripe = 1 << 20;  // bytes a second of one server; bytes
  bool check_bars = false;
};

// 0; 1 when bytes that went through Mercutio were wrong, a run of it ended early or, with check_bars, a bar was missed;
// 2 for wrong usage.
int bench_overlap(const OverlapOptions& options);

}  // namespace mercutio::tool
