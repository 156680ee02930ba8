// The figures of `mercutio bench overlap`, and the bars they are held against.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "contender.h"

namespace mercutio::tool {

// Seconds of the slowest rank. `post` and `complete` are those spent inside the calls.
struct OverlapTimes {
  double blocking = 0;                                // the blocking call
  double io = 0, io_post = 0, io_complete = 0;        // posted and completed at once
  double compute = 0;                                 // the computation alone
  double both = 0, both_post = 0, both_complete = 0;  // posted, computed without an MPI call, completed
  double tested = 0;                                  // the same with an MPI_Test now and then; 0: a split call
};

struct OverlapRow {
  std::string call, pattern;
  int contender = 0;
  OverlapTimes times;  // medians
  double bytes = 0;    // of all ranks
  double overlap = 0;  // (io + compute - both) / min(io, compute): 1 hides everything
  double total = 0;    // both / max(io, compute): 1 is the best there is, 2 no overlap
  double tested_total = 0;
  double of_blocking = 0;  // io / blocking
  i64 wrong = 0;
  int samples = 0;
};

// How long posting took, of the slowest of posting_ranks ranks.
struct PostingRow {
  std::string call, pattern;
  int contender = 0;
  double bytes = 0;  // of each rank
  double least = 0, seconds = 0, most = 0;
  i64 wrong = 0;
};

struct OverlapFigures {
  std::vector<OverlapRow> rows;  // in the order of the program, then of the contenders
  std::vector<PostingRow> postings;
  Words troubles;
  int failures = 0;  // of Mercutio: wrong bytes, or runs that ended early
  bool of_others = false;   // a run was left out: another library than the contender's served it
};

struct Bar {
  std::string what, mpi;
  std::string unit;  // "x" or "us"
  double measured = 0, limit = 0;
  bool met() const { return measured <= limit; }
};

// Runs everything. `field` is for the overlap, `posting_field` the same contenders with the ranks for the postings.
OverlapFigures measure_overlap(const OverlapOptions& options, const Field& field, const Field& posting_field,
                               const std::string& data_directory);

// What Mercutio has to reach, by the figures that are there.
std::vector<Bar> overlap_bars(const Field& field, const OverlapFigures& figures);

void print_overlap(const Field& field, const OverlapFigures& figures, const std::vector<Bar>& bars);

// False when the file can't be written.
bool write_overlap_json(const OverlapOptions& options, const Field& field, const OverlapFigures& figures,
                        const std::vector<Bar>& bars);

}  // namespace mercutio::tool
