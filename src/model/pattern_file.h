// An access of all ranks as a file tells it: for tests and for `mercutio explain`. The shapes become real views, and the
// ranks' summaries are made as for a real access. The keys: docs/engineers/planning.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/pattern.h"

namespace mercutio {

struct PatternFile {
  Direction direction = Direction::kWrite;
  bool atomic = false;
  std::vector<RankSummary> ranks;
  Pattern pattern() const { return summarise(direction, atomic, ranks); }
};

Result<PatternFile> parse_pattern(const std::string& text, i64 ranks);

}  // namespace mercutio
