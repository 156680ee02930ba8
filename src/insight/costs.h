// Costs: how long a job's accesses took, and how long other ways of access would take. Estimates use what the job itself shows: the
// rates of its large requests and of its collective accesses, how long its ranks need to synchronise, how long they wait for a core.
// Where it shows nothing, typical values are used.
#pragma once

#include <functional>

#include "insight/job.h"

namespace mercutio {

// A typical cost of moving data over a network, if the job shows none.
inline constexpr double kBytesPerSecond = 1e9;
// A typical rate at which a sync writes back cached data.
inline constexpr double kSyncedBytesPerSecond = 2e9;

const ClassTotals& of(const FileTotals& totals, Direction direction, bool collective);
double seconds_of(i64 ns);
// The maximum over the ranks.
double worst(const JobFile& file, const std::function<double(const FileTotals&)>& value);
double opens_of(const FileTotals& one);
// A rank's time in collective accesses, and the part of it spent waiting for late ranks; that together with the waiting in opens, closes, syncs and other collective calls.
double collective_seconds(const FileTotals& one);
double waits_for_late(const FileTotals& one);
double collective_work(const FileTotals& one);   // that time without this waiting
double late_of_all(const FileTotals& one);
// Calls in which a rank may wait for others.
double meetings(const FileTotals& one);
// Opening and closing, synchronising, changing the size, setting the view, and settings, without waiting for late ranks.
double opening_seconds(const FileTotals& one);
double sync_seconds(const FileTotals& one);
double resize_seconds(const FileTotals& one);
double view_seconds(const FileTotals& one);
double setting_seconds(const FileTotals& one);
// What the rank with most does between its calls on the file: others can't wait longer for late ranks, and the rest of their waiting is the
// meeting itself.
double between_calls(const JobFile& file);
// Whether writes go to the node's page cache.
bool is_local(const JobFile& file);
// Bytes that the program moved, per second of the rank that spent most time with such accesses, those side by side once; 0 without any.
double io_rate(const Job& job, Direction direction);
double io_rate(const Job& job, Direction direction, i64 bytes);   // where they are not those of the job's files
// Bytes per second and rank of the job's own large requests to this type of file system.
double rate_of(const Job& job, const JobFile& file, Direction direction);
// The factor by which computation takes longer because ranks wait for a core: 1 if each rank has a core of its own.
double crowding(const Job& job);
// Whether hosts have more ranks than cores, or others had the cores for as long as the ranks: times then depend on who had a core when.
bool is_crowded(const Job& job);
// The time of a collective access that moves no data: short, plus a few time slices if other processes use the cores. (Ranks that
// share a core yield to each other while they wait, one after the other.)
double usual_meeting(const Job& job);
// The same from the job's own collective accesses, if each open has some: the waiting time of the rank that waits least, without
// waiting for late ranks.
double own_meeting(const Job& job, const JobFile& file);

// Accesses of all ranks together, in `calls` calls per rank.
struct Moved {
  Direction direction;
  i64 bytes, pieces, calls;
};
// A rank's part of the exchange of data that lies in pieces among that of other ranks.
double spread_seconds(const Job& job, double bytes, double pieces);
// The time of these accesses if they were collective and efficient, with `meeting` seconds for each synchronisation.
double seconds_well_made(const Job& job, const JobFile& file, const Moved& moved, double meeting);
// The same at the rate of the job's own collective accesses to this type of file system, in this direction or else in the other.
double seconds_together(const Job& job, const JobFile& file, const Moved& moved);
// The time of the file's collective accesses if they were efficient, with the usual time for synchronisation: their own may be a
// consequence of the fault. No longer than they took.
double collectives_well_made(const Job& job, const JobFile& file);
// The time of all of the file's accesses, of which collective ones are efficient.
double accesses_well_made(const Job& job, const JobFile& file);
// What is due to opening and closing, on the rank where it is most.
struct OpeningCost {
  double opening = 0;         // and closing themselves
  double first_accesses = 0;  // the additional time of accesses, if most of them are the first of an open
  double in_turns = 0;        // ranks wait for each other in turns, because opening and closing took them different times
  double all() const { return opening + first_accesses + in_turns; }
};
OpeningCost opening_cost(const Job& job, const JobFile& file);
// A rank was ready to run and had no core, on average.
double queued_seconds(const Job& job);
// The run, as it would be without a trace.
double run_seconds(const Job& job);
// Of a small one to a page cache.
double request_seconds(const Job& job, Direction direction);
// Whether ranks gain by moving a range of the file together, of which they ask for `bytes` of what storage moves, and their ranges overlap.
// They ask for a good part of it, or the rest takes long to move. In a page cache it does not, and each window of the range is a meeting.
bool worth_moving_together(const JobFile& file, double bytes, double moved, double overlap);
// Each access that a buffer served from what was read in advance as a request of its own.
double seconds_without_read_ahead(const Job& job, const JobFile& file);
// The cost of pieces of `bytes` together, a request each, for the rank that has most to do with storage.
double seconds_in_pieces(const Job& job, const JobFile& file, Direction direction, double bytes, double pieces);
// What `seconds` of a rank's work in these collective accesses cost it: themselves, and its turns to wait where others do the same on the
// cores they share. All other waiting in them stays, whatever that work is.
double seconds_with_turns(const Job& job, const ClassTotals& together, double seconds);
// The time that ranks wait for each other in turns, because the preceding work took them different times: the waiting time of the
// rank that waits least in all collective calls, at most the `seconds` of the preceding work.
double waits_in_turns(const JobFile& file, double seconds);
// The cost of independent accesses to the run, with the waiting that they cause in collective calls, on any file. A rank that is late for another
// reason makes others wait as well: that is no part of it. `at_most`: some ranks neither have such accesses nor are seen to wait for those that
// have; what they do meanwhile may take as long. `amount`: of these accesses, such as their number. A rank with as many has such accesses,
// however short they are.
struct Held {
  double seconds = 0;
  bool at_most = false;
};
using OfRank = std::function<double(const FileTotals&)>;
Held seconds_held(const Job& job, const JobFile& file, const OfRank& seconds, const OfRank& amount);
// The time in which one rank gets `bytes` of all ranks' data: over the network, or by copies in memory.
double seconds_collected(const Job& job, double bytes);

}  // namespace mercutio
