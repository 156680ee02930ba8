// Costs: how long a job's accesses took, and how long they would take if they were made otherwise. Estimates come from what the job
// itself shows - the rates of its large requests and of its collective accesses, how long its ranks need to meet, how long they
// wait for a core - and from a usual machine where it shows nothing.
#pragma once

#include <functional>

#include "insight/job.h"

namespace mercutio {

// What moving data costs over a network, where the job itself doesn't tell.
inline constexpr double kBytesPerSecond = 1e9;
// At which a sync writes back what is in memory.
inline constexpr double kSyncedBytesPerSecond = 2e9;

const ClassTotals& of(const FileTotals& totals, Direction direction, bool collective);
double seconds_of(i64 ns);
// Of the rank where it is largest.
double worst(const JobFile& file, const std::function<double(const FileTotals&)>& value);
double opens_of(const FileTotals& one);
// A rank's time in collective accesses, and what of it is waiting for ranks that come late.
double collective_seconds(const FileTotals& one);
double waits_for_late(const FileTotals& one);
// Whether a node's page cache takes what is written.
bool is_local(const JobFile& file);
// Bytes that the program moved, a second of the rank that was longest in calls that did it; 0 without such calls.
double io_rate(const Job& job, Direction direction);
// Bytes a second of a rank, as the job's own large requests to this kind of file system had them.
double rate_of(const Job& job, const JobFile& file, Direction direction);
// By how much work on a core takes longer than it is, because ranks wait for one: 1 where there are as many as ranks,
// and nobody else is on them.
double crowding(const Job& job);
// What ranks need for a collective access that moves nothing: little, and a few turns on a core where others than the job's own
// ranks are in the way. (Ranks that share a core let each other go on while they wait.)
double usual_meeting(const Job& job);
// The same as the job's own collective accesses have it, if there are some in each open: as much as even the rank waits there that
// waits least, late ones left out.
double own_meeting(const Job& job, const JobFile& file);

// Accesses of all ranks together, in `calls` calls of each.
struct Moved {
  Direction direction;
  i64 bytes, pieces, calls;
};
// How long the ranks take for them once they are collective and well made, and each meeting takes `meeting` seconds.
double seconds_well_made(const Job& job, const JobFile& file, const Moved& moved, double meeting);
// The same, as the job's own collective accesses to this kind of file system, if it has any, the same way or else the other.
double seconds_together(const Job& job, const JobFile& file, const Moved& moved);
// What the file's collective accesses would take if they were well made, and met as usual: their own meetings may be made by what is
// wrong.
double collectives_well_made(const Job& job, const JobFile& file);
// What they take longer because most are the first of an open. 0 if they aren't.
double first_collectives_seconds(const Job& job, const JobFile& file);
// A rank's part of what the pieces that are read or written cost, each a request of its own.
double seconds_in_pieces(const Job& job, const JobFile& file, Direction direction);
// What ranks wait for each other in turns, one being late now and then another, because what went before took them different
// times: as much as even the rank waits that waits least, and not longer than what went before took, `seconds`.
double waits_in_turns(const JobFile& file, double seconds);
// What independent accesses that take a rank so long cost it together with the waits that are due to them, in the collective accesses
// and in closing the file: of the rank where that is most.
double seconds_held(const JobFile& file, const std::function<double(const FileTotals&)>& seconds);
// What a rank's independent accesses take, with what lies between those that follow each other at once: it loses its core there as
// often as elsewhere. What the trace takes is left out.
double seconds_with_gaps(const Job& job, const FileTotals& one, Direction direction);

}  // namespace mercutio
