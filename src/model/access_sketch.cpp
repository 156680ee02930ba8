#include "model/access_sketch.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <sstream>

namespace mercutio {
namespace {

// All runs, or nothing if there are too many.
std::vector<SketchRun> list_runs(const View& view, i64 position, i64 end) {
  std::vector<SketchRun> runs;
  for (Cursor cursor = view.cursor(position, end); !cursor.done();) {
    const i64 left = kSketchRuns - static_cast<i64>(runs.size());
    if (left == 0) return {};
    const StridedRun run = cursor.next(INT64_MAX, left);
    for (i64 i = 0; i < run.count; ++i) runs.push_back(SketchRun{run.offset + i * run.stride, run.bytes});
  }
  return runs;
}

std::vector<SketchRun> sample_runs(const View& view, i64 position, i64 bytes) {
  std::vector<SketchRun> runs;
  i64 done = 0;
  for (i64 i = 0; i < kSketchRuns; ++i) {
    const i64 next = static_cast<i64>(static_cast<double>(bytes) * static_cast<double>(i + 1) / kSketchRuns);
    const i64 upto = i + 1 == kSketchRuns ? bytes : std::clamp(next, done, bytes);
    if (upto > done) runs.push_back(SketchRun{view.file_offset(position + done), upto - done});
    done = upto;
  }
  return runs;
}

}  // namespace

AccessSketch sketch_of(const View& view, i64 position, i64 bytes) {
  AccessSketch sketch;
  sketch.summary = summary_of(view, position, bytes);
  if (bytes <= 0) return sketch;
  sketch.runs = list_runs(view, position, position + bytes);
  if (sketch.runs.empty()) sketch.runs = sample_runs(view, position, bytes);
  return sketch;
}

// TAG r|w BYTES FIRST LAST RUN FIRST_RUN, then DISTANCE:BYTES*COUNT for each series of runs.
std::string sketch_text(const AccessSketch& sketch) {
  const RankSummary& sum = sketch.summary;
  char text[160];
  snprintf(text, sizeof text, "%" PRId64 " %c %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, sketch.number,
           sketch.direction == Direction::kWrite ? 'w' : 'r', sum.bytes, sum.first, sum.last, sum.run_bytes, sum.first_run_bytes);
  std::string out = text;
  i64 before = 0;
  for (std::size_t i = 0; i < sketch.runs.size();) {
    const i64 distance = sketch.runs[i].offset - before, bytes = sketch.runs[i].bytes;
    i64 count = 0;
    for (; i < sketch.runs.size() && sketch.runs[i].bytes == bytes && sketch.runs[i].offset - before == distance; ++i, ++count) before = sketch.runs[i].offset;
    snprintf(text, sizeof text, " %" PRId64 ":%" PRId64 "*%" PRId64, distance, bytes, count);
    out += text;
  }
  return out;
}

Result<AccessSketch> parse_sketch(const std::string& text) {
  const Error damaged{ErrorClass::kFile, "a sketch of an access is damaged: " + text.substr(0, 60)};
  AccessSketch sketch;
  RankSummary& sum = sketch.summary;
  std::istringstream words(text);
  char way = 0;
  if (!(words >> sketch.number >> way >> sum.bytes >> sum.first >> sum.last >> sum.run_bytes >> sum.first_run_bytes)) return damaged;
  if ((way != 'r' && way != 'w') || sum.bytes < 0 || sum.first < 0 || sum.last < sum.first || sum.run_bytes < 0 || sum.first_run_bytes < 0) return damaged;
  sketch.direction = way == 'w' ? Direction::kWrite : Direction::kRead;
  i64 at = 0;
  for (std::string word; words >> word;) {
    i64 distance = 0, bytes = 0, count = 0;
    char rest = 0;
    const int found = sscanf(word.c_str(), "%" SCNd64 ":%" SCNd64 "*%" SCNd64 "%c", &distance, &bytes, &count, &rest);
    if (found != 3 || bytes <= 0 || count <= 0 || static_cast<i64>(sketch.runs.size()) + count > kSketchRuns) return damaged;
    for (i64 i = 0; i < count; ++i) {
      if (__builtin_add_overflow(at, distance, &at) || at < sum.first || bytes > sum.last - at) return damaged;
      sketch.runs.push_back(SketchRun{at, bytes});
    }
  }
  return sketch;
}

}  // namespace mercutio
