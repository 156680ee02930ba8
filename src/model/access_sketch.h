// A small picture of what one rank accesses: enough to say which aggregator its bytes belong to under any plan. The trace
// keeps a few of them, `mercutio place` reads them.
//
// Up to kSketchRuns runs are listed; of more, as many places at equal distances in the data. As text, runs at equal
// distances are one word, so that a regular access takes a hundred characters.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/pattern.h"
#include "model/view.h"

namespace mercutio {

inline constexpr i64 kSketchRuns = 64;

struct SketchRun {
  i64 offset = 0, bytes = 0;
  bool operator==(const SketchRun&) const = default;
};

struct AccessSketch {
  i64 tag = 0;   // the same on all ranks of a collective access, and of no other of that open file
  Direction direction = Direction::kRead;
  RankSummary summary;
  std::vector<SketchRun> runs;   // in the order of the data; sampled ones stand for their share of it
  bool operator==(const AccessSketch&) const = default;
};

// O(kSketchRuns * depth * log n).
AccessSketch sketch_of(const View& view, i64 position, i64 bytes);

std::string sketch_text(const AccessSketch& sketch);
Result<AccessSketch> parse_sketch(const std::string& text);

}  // namespace mercutio
