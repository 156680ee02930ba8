// A short description of the bytes that one rank accesses, sufficient to find the aggregators of its bytes under any plan. The
// trace keeps a few of them; `mercutio place` reads them.
//
// At most kSketchRuns runs are listed. If there are more, that many runs at equal distances in the data are sampled. In the text
// form, equidistant runs are one word, so a regular access takes about a hundred characters.
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
  i64 number = 0;   // identifies the collective access among those of this open file; the same on all ranks
  Direction direction = Direction::kRead;
  RankSummary summary;
  std::vector<SketchRun> runs;   // in the order of the data; each sampled run represents an equal share
  bool operator==(const AccessSketch&) const = default;
};

// O(kSketchRuns * depth * log n).
AccessSketch sketch_of(const View& view, i64 position, i64 bytes);

std::string sketch_text(const AccessSketch& sketch);
Result<AccessSketch> parse_sketch(const std::string& text);

}  // namespace mercutio
