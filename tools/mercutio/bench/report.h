// Medians, ratios and how they are shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure.h"

namespace mercutio::tool {

// Times the bytes that were asked for, by storage: no more is needed where pieces are whole pages.
inline constexpr double kMostMoved = 1.1;

struct Row {
  Point point;
  int contender = 0;
  Sample median;                           // each field its own median
  double bandwidth = 0;                    // MiB/s of all ranks
  double cost = 0;                         // seconds; of one call for latencies
  std::optional<double> of_limit;          // bandwidth divided by the limit's of the same run
  std::optional<double> of_host, of_best;  // how many times faster than this MPI's own I/O; than the best peer anywhere
  std::optional<double> of_against;        // than the other build of the library
  std::optional<double> of_asked;          // "moved": what was read divided by what was asked for
  std::string where;                       // and where that was most
  i64 wrong = 0, holes = 0;
  bool timed_out = false, died = false;
  int samples = 0;
  bool moves_too_much() const { return of_asked && *of_asked > kMostMoved; }
};

struct Mean {
  std::string what;
  double value = 0;
  int cases = 0;
};

struct Report {
  std::vector<Row> rows;
  std::vector<Mean> means;
  int failures = 0;  // of Mercutio: wrong bytes, a run that ended early, or more bytes moved than needed
};

Report make_report(const Field& field, const Measurements& measurements);

void print_report(const Field& field, const Report& report, const Measurements& measurements);

// False when the file can't be written.
bool write_json(const BenchOptions& options, const Field& field, const Report& report,
                const Measurements& measurements);

}  // namespace mercutio::tool
