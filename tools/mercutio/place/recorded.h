// What a trace says of the collective accesses of a run, and what they make ranks send to each other.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/access_sketch.h"
#include "model/hints.h"
#include "model/layout.h"
#include "place/matrix.h"

namespace mercutio::place {

struct RecordedFile {
  std::string name;
  std::vector<i64> members;   // the job's ranks that opened it
  Hints hints;
  Layout layout;
  double scale = 1;           // bytes of all its collective accesses for one of those that are known
  std::vector<std::vector<AccessSketch>> accesses;   // of each access its members' parts
};

struct RecordedRun {
  std::string program;
  i64 ranks = 0;
  std::vector<std::string> hosts;   // of each rank
  std::vector<RecordedFile> files;
};

Result<RecordedRun> recorded_run(const std::string& trace);

// Ranks whose data meets in the domain of an aggregator have to do with each other: of the bytes that each has there, as many as
// would go to the other if every rank with data there were the aggregator as often as it has bytes. So the matrix does not
// depend on where aggregators sit, which is the planner's affair once ranks are placed. Plans are the library's own, for this
// machine and the hints of the run. O(ranks^2 * distinct domains) where everybody is in every domain.
Volume exchanged(const RecordedRun& run, const std::vector<i64>& node_of_rank);
// The order in which ranks touch the files (matrix.h).
Volume neighbours(const RecordedRun& run);

// What the library would exchange if ranks sat there.
struct Exchanged {
  double bytes = 0, between_nodes = 0;
};
Exchanged planned(const RecordedRun& run, const std::vector<i64>& node_of_rank);

}  // namespace mercutio::place
