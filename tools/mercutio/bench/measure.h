// The runs: every group of patterns on every contender, in an order that changes with each repetition, so that a
// machine that gets slower or faster meanwhile does not favour anybody.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "contender.h"

namespace mercutio::tool {

struct Sample {
  double open = 0, view = 0, access = 0, close = 0, seconds = 0, later = 0;
  double bytes = 0;          // of all ranks; 0 for latencies
  double limit_seconds = 0;  // of the limit with limit_bytes, measured in the same run
  double limit_bytes = 0;
  double moved = 0;          // "moved": what system calls read for these bytes
  std::string where;         // and with how many ranks, and which mode
  i64 calls = 0, wrong = 0, holes = 0;
  bool timed_out = false, died = false;
};

struct Point {
  std::string name, operation;  // "vector-8", "write" | "read" | "latency" | "moved"
  bool operator==(const Point&) const = default;
};

struct Measurements {
  std::vector<Point> points;                                   // in the order of the program
  std::map<std::pair<int, int>, std::vector<Sample>> samples;  // (point, contender)
  Words troubles;                                              // what programs said that ended early
  bool of_others = false;                                      // a run was left out: another library than the contender's served it
};

Measurements measure(const BenchOptions& options, const Field& field, const std::string& data_directory);

}  // namespace mercutio::tool
