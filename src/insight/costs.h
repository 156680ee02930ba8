// Costs: how long a job's accesses took, and how long they would take if they were made otherwise. Estimates come from what the job
// itself shows - its large requests, its collective accesses - and from a usual machine where it shows nothing.
#pragma once

#include <functional>

#include "insight/job.h"

namespace mercutio {

// What moving data costs over a network, where the job itself doesn't tell.
inline constexpr double kBytesPerSecond = 1e9;

const ClassTotals& of(const FileTotals& totals, Direction direction, bool collective);
double seconds_of(i64 ns);
// Of the rank where it is largest.
double worst(const JobFile& file, const std::function<double(const FileTotals&)>& value);
// Whether a node's page cache takes what is written.
bool is_local(const JobFile& file);
// Bytes a second of a rank, as the job's own large requests to this kind of file system had them.
double rate_of(const Job& job, const JobFile& file, Direction direction);
// How long all ranks together take for accesses of so many bytes in so many pieces, once they are collective and well made.
double seconds_well_made(const Job& job, const JobFile& file, Direction direction, i64 bytes, i64 pieces);
// The same, as the job's own collective accesses to this kind of file system, if it has any, the same way or else the other.
double seconds_together(const Job& job, const JobFile& file, Direction direction, i64 bytes, i64 pieces);
// A rank's part of what so many bytes in pieces like the file's cost, each a request of its own.
double seconds_in_pieces(const JobFile& file, double bytes);
// What ranks wait for each other in turns, one being late now and then another, because what went before took them different
// times: as much as even the rank waits that waits least.
double waits_in_turns(const JobFile& file);
// What a rank's independent accesses take, with what lies between those that follow each other at once. Where that is most of the
// time in which the rank uses the file at all, the rest is theirs, too: what the rank does else there, and what the trace takes,
// left out.
double seconds_with_gaps(const Job& job, const FileTotals& one, Direction direction);

}  // namespace mercutio
