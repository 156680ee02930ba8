// Jobs made up for tests of the rules and of the verdict.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "insight/findings.h"
#include "insight/job.h"

namespace mercutio {

inline constexpr i64 kSecond = 1'000'000'000;

// The first cause that is found; "" if none is.
inline std::string first_of(const Job& job) {
  const std::vector<Finding> found = find_causes(job);
  return found.empty() ? "" : found[0].id;
}

// What a cause costs, also one that is not worth a line; -1: it is not found.
inline double seconds_of(const Job& job, const std::string& id) {
  const std::vector<Finding> all = all_findings(job);
  const auto found = std::find_if(all.begin(), all.end(), [&id](const Finding& one) { return one.id == id; });
  return found == all.end() ? -1 : found->seconds;
}

// A job of ten seconds with one file; `change` fills in what a rank did with it.
inline Job job_with(i64 ranks, const std::function<void(i64, FileTotals&)>& change, const std::string& notes = "") {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < ranks; ++rank) {
    RankTrace trace;
    trace.header.rank = rank;
    trace.header.ranks = ranks;
    trace.header.end_ns = 10 * kSecond;
    trace.header.bin_ns = 1;
    trace.files.resize(1);
    trace.files[0].name[0] = 'f';
    FileTotals& totals = trace.files[0].totals;
    totals.ranks = ranks;
    totals.block_bytes = 4096;
    change(rank, totals);
    if (rank == 0 && !notes.empty()) trace.texts.push_back(TraceText{TextKind::kNotes, 0, 1, notes});
    traces.push_back(std::move(trace));
  }
  return job_of(std::move(traces));
}

inline void calls(ClassTotals& part, i64 count, i64 bytes, i64 ns) {
  part.calls = count;
  part.bytes = count * bytes;
  part.small_calls = bytes < kSmallBytes ? count : 0;
  part.piece_bytes = part.bytes;
  part.ns = ns;
}

// A job of ten seconds that opens files "out.0", "out.1", ..., or if they are not alike "out.a", "out.b", ...; `change` says what a rank did with one.
inline Job job_of_files(i64 ranks, i64 files, const std::function<void(i64 rank, i64 file, FileTotals&)>& change, const std::string& name = "out.", bool alike = true) {
  std::vector<RankTrace> traces;
  for (i64 rank = 0; rank < ranks; ++rank) {
    RankTrace trace;
    trace.header.rank = rank, trace.header.ranks = ranks, trace.header.end_ns = 10 * kSecond, trace.header.bin_ns = 1;
    for (i64 file = 0; file < files; ++file) {
      FileRecord record;
      put_text(record.name, name + (alike ? std::to_string(file) : std::string(1 + static_cast<std::size_t>(file) / 26, static_cast<char>('a' + file % 26))));
      record.totals.ranks = ranks, record.totals.files = rank == 0 ? 1 : 0, record.totals.opens = record.totals.closes = 1;
      change(rank, file, record.totals);
      trace.files.push_back(record);
    }
    traces.push_back(std::move(trace));
  }
  return job_of(std::move(traces));
}

struct TestReads {
  i64 asked = 0, moved = 0, holes = 0, unused = 0;
  bool strided = false, collective = false;
};
inline Job job_that_reads(const TestReads& moved, i64 ns = kSecond / 1000, const std::string& notes = "") {
  return job_with(4, [=](i64, FileTotals& f) {
    ClassTotals& reads = f.of(Direction::kRead, moved.collective);
    calls(reads, 1, moved.asked, ns);
    reads.strided_calls = moved.strided ? 1 : 0;
    f.storage[0].calls = 1, f.storage[0].bytes = moved.moved, f.storage[0].ns = ns;
    f.storage[0].unused_bytes = moved.unused;
    f.hole_bytes = moved.holes;
  }, notes);
}

}  // namespace mercutio
