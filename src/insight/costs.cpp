#include "insight/costs.h"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "insight/families.h"

namespace mercutio {
namespace {

// What moving data costs where the job itself doesn't tell: into new pages of a node's page cache, which must be found and cleared, and out of
// or over those that are there; between ranks, out of and into buffers, and each piece of it; a small request to a page cache; to meet,
// with a core for each rank, and how often ranks then wait for a turn on one that others use.
constexpr double kNewPagesBytesPerSecond = 4e9, kOldPagesBytesPerSecond = 10e9, kExchangedBytesPerSecond = 4e9, kPieceSeconds = 5e-9, kMeetSeconds = 10e-6, kTurnsToMeet = 3;
constexpr double kLocalReadSeconds = 0.45e-6, kLocalWriteSeconds = 0.75e-6;
constexpr i64 kTellingBytes = MiB;  // a file moves at least this many before their rate tells anything
constexpr double kTellingCalls = 4;  // at least this many calls an open, for the first of them is a slow one
constexpr double kUsualCrowd = 1.5;  // ranks that share a core may wait for it this many times as long as that explains: locks, the kernel
constexpr double kCopiesInMemory = 2;   // of an MPI's messages in a node: into memory that both ranks have, and out of it
constexpr double kSharingRanks = 4;  // of a host, that get at its memory faster together than one alone

}  // namespace

const ClassTotals& of(const FileTotals& totals, Direction direction, bool collective) {
  return const_cast<FileTotals&>(totals).of(direction, collective);
}

double seconds_of(i64 ns) {
  return static_cast<double>(ns) * 1e-9;
}

double worst(const JobFile& file, const std::function<double(const FileTotals&)>& value) {
  double most = 0;
  for (const FileTotals& one : file.by_rank) most = std::max(most, value(one));
  return most;
}

// Of the rank where it is smallest, of those that access the file.
static double least(const JobFile& file, const std::function<double(const FileTotals&)>& value) {
  double smallest = 1e300;
  for (const FileTotals& one : file.by_rank) {
    if (one.calls() > 0) smallest = std::min(smallest, value(one));
  }
  return smallest < 1e300 ? smallest : 0;
}

// In collective accesses.
static double phases_together(const FileTotals& one, std::initializer_list<Phase> phases) {
  i64 ns = 0;
  for (const Direction way : {Direction::kRead, Direction::kWrite}) {
    for (const Phase phase : phases) ns += of(one, way, true).phase_ns[static_cast<std::size_t>(phase)];
  }
  return seconds_of(ns);
}

static double calls_together(const FileTotals& one) {
  return static_cast<double>(of(one, Direction::kRead, true).calls + of(one, Direction::kWrite, true).calls);
}

double opens_of(const FileTotals& one) {
  return static_cast<double>(one.opens);
}

double collective_seconds(const FileTotals& one) {
  return seconds_of(of(one, Direction::kRead, true).ns + of(one, Direction::kWrite, true).ns);
}

double waits_for_late(const FileTotals& one) {
  return phases_together(one, {Phase::kArrive});
}

double collective_work(const FileTotals& one) { return collective_seconds(one) - waits_for_late(one); }

double meetings(const FileTotals& one) {
  return calls_together(one) + static_cast<double>(one.opens + one.syncs + one.resizes + one.views);
}

double late_of_all(const FileTotals& one) {
  return waits_for_late(one) + seconds_of(one.late_opening_ns + one.late_sync_ns + one.late_resize_ns + one.late_view_ns + one.late_setting_ns);
}

double opening_seconds(const FileTotals& one) {
  return seconds_of(one.open_ns + one.close_ns - one.late_opening_ns);
}

double sync_seconds(const FileTotals& one) {
  return seconds_of(one.sync_ns - one.late_sync_ns);
}

double resize_seconds(const FileTotals& one) {
  return seconds_of(one.resize_ns - one.late_resize_ns);
}

double view_seconds(const FileTotals& one) {
  return seconds_of(one.view_ns - one.late_view_ns);
}

double setting_seconds(const FileTotals& one) {
  return seconds_of(one.setting_ns - one.late_setting_ns);
}

double between_calls(const JobFile& file) {
  double most = 0;
  for (const FileTotals& one : file.by_rank) {
    if (has_met(one) && one.last_ns <= 0) return std::numeric_limits<double>::max();   // not known
    most = std::max(most, seconds_of(one.last_ns - one.first_ns - one.held_ns()));
  }
  return most;
}

bool is_local(const JobFile& file) {
  const char* const local[] = {"tmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "overlay"};
  return std::find(std::begin(local), std::end(local), file.file_system) != std::end(local);
}

double io_rate(const Job& job, Direction direction, i64 bytes) {
  i64 longest = 0;
  std::vector<i64> ns(job.traces.size());
  for (const JobFile& file : job.files) {
    for (std::size_t rank = 0; rank < ns.size(); ++rank) ns[rank] += of(file.by_rank[rank], direction, false).ns + of(file.by_rank[rank], direction, true).ns;
  }
  for (std::size_t rank = 0; rank < ns.size(); ++rank) {
    const PieceHeader& header = job.traces[rank].header;
    const i64 busy = header.busy_ns[direction == Direction::kWrite ? 1 : 0] / header.members;
    longest = std::max(longest, busy > 0 ? busy : ns[rank]);
  }
  return longest > 0 ? static_cast<double>(bytes) / seconds_of(longest) : 0;
}

double io_rate(const Job& job, Direction direction) {
  i64 bytes = 0;
  for (const JobFile& file : job.files) bytes += of(file.all, direction, false).bytes + of(file.all, direction, true).bytes;
  return io_rate(job, direction, bytes);
}

// The part of the written bytes that no page was there for, but for pages from earlier jobs.
static double part_in_new_pages(const JobFile& file) {
  double size = 0;
  for (const JobFile* one : file.members) size += static_cast<double>(one->all.end_offset);
  if (file.members.empty()) size = static_cast<double>(file.all.end_offset);
  const auto written = static_cast<double>(of(file.all, Direction::kWrite, false).bytes + of(file.all, Direction::kWrite, true).bytes);
  return file.is_pattern || written <= size ? 1 : size / written;
}

// Of one rank, with a core of its own.
static double local_rate(const JobFile& file, Direction direction) {
  const double fresh = direction == Direction::kWrite ? part_in_new_pages(file) : 0;
  return 1 / (fresh / kNewPagesBytesPerSecond + (1 - fresh) / kOldPagesBytesPerSecond);
}

double rate_of(const Job& job, const JobFile& file, Direction direction) {
  i64 bytes = 0, ns = 0;
  for (const JobFile& other : job.files) {
    const StorageTotals& part = other.all.storage[direction == Direction::kWrite ? 1 : 0];
    if (other.file_system == file.file_system) bytes += part.large_bytes, ns += part.large_ns;
  }
  if (bytes >= kTellingBytes && ns > 0) return static_cast<double>(bytes) / seconds_of(ns);
  return is_local(file) ? local_rate(file, direction) / crowding(job) : kBytesPerSecond;
}

static double ranks_of_host(const Job& job) {
  return static_cast<double>(job.ranks) / static_cast<double>(std::max<i64>(1, job.hosts));
}

// How many ranks share a core.
static double sharing_a_core(const Job& job) {
  return job.host_cores > 0 ? std::max(1.0, ranks_of_host(job) / static_cast<double>(job.host_cores)) : 1;
}

double crowding(const Job& job) {
  if (job.cores.ran_ns <= 0) return 1;
  const double seen = 1 + static_cast<double>(job.cores.queued_ns) / static_cast<double>(job.cores.ran_ns), usual = sharing_a_core(job);
  return seen < kUsualCrowd * usual ? std::min(seen, usual) : seen;
}

bool is_crowded(const Job& job) {
  return sharing_a_core(job) > 1 || crowding(job) >= 2;
}

// Of the time that ranks had no core, the part that isn't due to there being more of them than cores.
static double taken_by_others(const Job& job) {
  const double all = crowding(job), own = sharing_a_core(job);
  return all > own ? (all - own) / (all - 1) : 0;
}

double usual_meeting(const Job& job) {
  const double turn = seconds_of(job.cores.queued_ns) / static_cast<double>(std::max<i64>(1, job.cores.turns));
  return kMeetSeconds * sharing_a_core(job) + kTurnsToMeet * taken_by_others(job) * turn;
}

double own_meeting(const Job& job, const JobFile& file) {
  double waited = 0, calls = 0, opens = 0;
  for (const JobFile& other : job.files) {
    if (other.file_system != file.file_system) continue;
    calls += worst(other, calls_together);
    opens += worst(other, opens_of);
    waited += least(other, [](const FileTotals& one) { return phases_together(one, {Phase::kWait, Phase::kAgree}); });
  }
  return calls > 0 && calls >= kTellingCalls * opens ? waited / calls : usual_meeting(job);
}

double spread_seconds(const Job& job, double bytes, double pieces) {
  const auto ranks = static_cast<double>(std::max<i64>(1, job.known_ranks));
  return (bytes / kExchangedBytesPerSecond + pieces * kPieceSeconds) * crowding(job) / ranks;
}

// The same, if there are several pieces to a rank's call: else each rank keeps its data.
static double spread_seconds(const Job& job, const Moved& moved) {
  const bool spread = moved.pieces > std::max<i64>(1, moved.calls) * std::max<i64>(1, job.known_ranks);
  return spread ? spread_seconds(job, static_cast<double>(moved.bytes), static_cast<double>(moved.pieces)) : 0;
}

double seconds_well_made(const Job& job, const JobFile& file, const Moved& moved, double meeting) {
  const double together = is_local(file) ? std::clamp(ranks_of_host(job), 1.0, kSharingRanks) : 1;
  return static_cast<double>(moved.bytes) / (rate_of(job, file, moved.direction) * together) + spread_seconds(job, moved) +
         static_cast<double>(moved.calls) * meeting;
}

double seconds_together(const Job& job, const JobFile& file, const Moved& moved) {
  const double meet = own_meeting(job, file);
  const Direction other_way = moved.direction == Direction::kRead ? Direction::kWrite : Direction::kRead;
  for (const Direction way : {moved.direction, other_way}) {
    i64 bytes = 0, in_pieces = 0;
    double seconds = 0;
    for (const JobFile& other : job.files) {
      const ClassTotals& all = of(other.all, way, true);
      if (other.file_system != file.file_system || all.bytes == 0) continue;
      bytes += all.bytes, in_pieces += all.strided_calls;
      seconds += worst(other, [way, meet](const FileTotals& one) {
        const ClassTotals& part = of(one, way, true);
        const double took = seconds_of(part.ns - part.phase_ns[static_cast<std::size_t>(Phase::kArrive)]);
        return std::max(0.0, took - static_cast<double>(part.calls) * meet);
      });
    }
    if (bytes < kTellingBytes) continue;
    const double alike = seconds * static_cast<double>(moved.bytes) / static_cast<double>(bytes) +
                         (in_pieces > 0 ? 0 : spread_seconds(job, moved)) + static_cast<double>(moved.calls) * meet;
    return way == moved.direction ? alike : std::min(alike, seconds_well_made(job, file, moved, meet));
  }
  return seconds_well_made(job, file, moved, meet);
}

double collectives_well_made(const Job& job, const JobFile& file) {
  double seconds = 0;
  for (const Direction way : {Direction::kRead, Direction::kWrite}) {
    const ClassTotals& all = of(file.all, way, true);
    if (all.calls == 0) continue;
    const i64 piece = std::max<i64>(1, all.piece_bytes / all.calls);
    const Moved moved{way, all.bytes, all.bytes / piece, all.calls / std::max<i64>(1, file.all.ranks)};
    seconds += seconds_well_made(job, file, moved, usual_meeting(job));
  }
  // Where ranks wait for cores, to meet usually takes long: they met as fast as they did.
  return std::min(seconds, worst(file, collective_work));
}

// Whether most of these accesses are the first of an open.
static bool are_first(double calls, double opens) {
  return calls > 0 && calls < kTellingCalls * opens;
}

// The additional time of a rank's independent accesses if most of them are the first of an open: what they need of the file is in no cache then.
static double slow_first_accesses(const Job& job, const JobFile& file, const FileTotals& one) {
  const auto calls = static_cast<double>(of(one, Direction::kRead, false).calls + of(one, Direction::kWrite, false).calls);
  if (!is_local(file) || !are_first(calls, opens_of(one))) return 0;
  double slow = 0;
  for (const Direction way : {Direction::kRead, Direction::kWrite}) {
    const ClassTotals& part = of(one, way, false);
    const double usual = static_cast<double>(part.calls) * request_seconds(job, way) + static_cast<double>(part.bytes) / rate_of(job, file, way);
    slow += std::max(0.0, seconds_of(part.ns) - usual);
  }
  return slow;
}

double accesses_well_made(const Job& job, const JobFile& file) {
  return collectives_well_made(job, file) + worst(file, [&](const FileTotals& one) {
    return seconds_of(of(one, Direction::kRead, false).ns + of(one, Direction::kWrite, false).ns) - slow_first_accesses(job, file, one);
  });
}

static bool are_first_together(const JobFile& file) {
  return are_first(worst(file, calls_together), worst(file, opens_of));
}

// Where ranks share cores, what even the rank that waits least in collective accesses waits for the others: it is so in any case.
static double meetings_on_shared_cores(const Job& job, const JobFile& file) {
  if (sharing_a_core(job) <= 1) return 0;
  return least(file, [](const FileTotals& one) { return phases_together(one, {Phase::kWait, Phase::kAgree}); });
}

OpeningCost opening_cost(const Job& job, const JobFile& file) {
  const double well_made = std::max(collectives_well_made(job, file), meetings_on_shared_cores(job, file));
  const bool first = are_first_together(file);
  OpeningCost most;
  for (const FileTotals& one : file.by_rank) {
    const double together = first ? std::max(0.0, collective_work(one) - well_made) : 0;
    const OpeningCost cost{opening_seconds(one), together + slow_first_accesses(job, file, one), 0};
    if (cost.all() > most.all()) most = cost;
  }
  const double in_any_case = first ? 0 : meetings_on_shared_cores(job, file);   // else a meeting is left to each of them
  most.in_turns = std::max(0.0, waits_in_turns(file, worst(file, opening_seconds)) - in_any_case);
  return most;
}

double queued_seconds(const Job& job) {
  return seconds_of(job.cores.queued_ns) / static_cast<double>(std::max<i64>(1, job.known_ranks));
}

double run_seconds(const Job& job) {
  return std::max(0.0, job.seconds - job.recording * crowding(job));
}

double waits_in_turns(const JobFile& file, double seconds) {
  return std::min(seconds, least(file, late_of_all));
}

// Of what a rank does between collective calls, the part that takes `seconds`.
static double part_of_time_between(const FileTotals& one, double seconds) {
  const double meeting = seconds_of(one.open_ns + one.close_ns + one.sync_ns + one.resize_ns + one.view_ns + one.setting_ns) + collective_seconds(one);
  const double between = seconds_of(one.last_ns - one.first_ns) - meeting;
  return between > 0 ? std::min(1.0, seconds / between) : 0;
}

// What even the rank waits that waits least: ranks are late in turns.
static double least_late(const JobFile& file) {
  double seconds = std::numeric_limits<double>::max();
  for (const FileTotals& one : file.by_rank) {
    if (has_met(one)) seconds = std::min(seconds, late_of_all(one));
  }
  return seconds;
}

// How long each rank waits in these files for others, beyond what even the rank waits that waits least.
static std::vector<double> spare_seconds(const std::vector<MeetingRanks>& groups, std::size_t ranks) {
  std::vector<double> spare(ranks);
  for (const MeetingRanks& group : groups) {
    if (!group.known) continue;
    const double in_turns = least_late(group.files);
    for (std::size_t rank = 0; rank < spare.size(); ++rank) {
      const FileTotals& one = group.files.by_rank[rank];
      if (has_met(one)) spare[rank] += late_of_all(one) - in_turns;
    }
  }
  return spare;
}

static Held held_of(const std::vector<double>& own, const std::vector<double>& spare) {
  double seen = own.empty() ? 0 : std::numeric_limits<double>::max(), unseen = 0;
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    seen = std::min(seen, own[rank] + spare[rank]);
    unseen = std::max(unseen, own[rank] - spare[rank]);
  }
  return {std::max(seen, unseen), 2 * seen < unseen};
}

// Whether a rank has next to nothing of what another one has.
static bool some_have_none(const std::vector<double>& values) {
  constexpr double kNextToNone = 0.1;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return !values.empty() && *least < kNextToNone * *most;
}

// What makes ranks late is what they do between collective calls. What even the rank waits that waits least is due to ranks that are late in
// turns, and so to such accesses in the part that they have of all that. A rank that waits longer has time to spare: without the accesses the run
// is shorter by what the rank has of both that has least of them. As much as its accesses take longer than its time to spare, others may wait
// for it unseen.
Held seconds_held(const Job& job, const JobFile& file, const OfRank& seconds, const OfRank& amount) {
  const std::vector<MeetingRanks> groups = meetings_of(file);
  std::vector<double> own(file.by_rank.size()), amounts(own.size()), spare = spare_seconds(groups, own.size());
  for (const MeetingRanks& group : groups) {
    const double in_turns = least_late(group.files);
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
      const FileTotals& one = group.files.by_rank[rank];
      const double mine = seconds(one), waited = has_met(one) ? in_turns : 0;
      own[rank] += mine + waited * part_of_time_between(one, mine);
      amounts[rank] += amount(one);
    }
  }
  Held held = held_of(own, spare);
  held.at_most = held.at_most && some_have_none(own) && some_have_none(amounts);
  if (!held.at_most) return held;
  // They may wait in calls on another file.
  for (const JobFile& other : job.files) {
    if (std::find(file.members.begin(), file.members.end(), &other) != file.members.end()) continue;
    const std::vector<double> there = spare_seconds(meetings_of(merge_files({&other})), spare.size());
    for (std::size_t rank = 0; rank < spare.size(); ++rank) spare[rank] += there[rank];
  }
  return held_of(own, spare);
}

static double request_seconds(Direction direction) {
  return direction == Direction::kRead ? kLocalReadSeconds : kLocalWriteSeconds;
}

double request_seconds(const Job& job, Direction direction) {
  return request_seconds(direction) * crowding(job);
}

bool worth_moving_together(const JobFile& file, double bytes, double moved, double overlap) {
  constexpr double kGoodPart = 0.25;
  return !is_local(file) || bytes * overlap >= kGoodPart * moved;
}

double seconds_without_read_ahead(const Job& job, const JobFile& file) {
  const double requests = worst(file, [](const FileTotals& one) { return static_cast<double>(one.storage[0].absorbed_calls); });
  const StorageTotals& reads = file.all.storage[0];
  const double seen = seconds_of(reads.ns) / static_cast<double>(std::max<i64>(1, reads.calls));
  return requests * (is_local(file) ? std::min(seen, request_seconds(job, Direction::kRead)) : seen);
}

double seconds_in_pieces(const Job& job, const JobFile& file, Direction direction, double bytes, double pieces) {
  const std::size_t way = direction == Direction::kWrite ? 1 : 0;
  const auto all = static_cast<double>(file.all.storage[way].bytes);
  const double most = worst(file, [way](const FileTotals& one) { return static_cast<double>(one.storage[way].bytes); });
  const double part = all > 0 ? std::min(1.0, most / all) : 1;   // of the rank that has most to do with storage
  // Writes to a file take turns on a node, as its file system locks the file for each, and waiting for the lock costs as much again. Reads don't.
  constexpr double kContended = 2;
  const double turns = direction == Direction::kWrite && file.all.ranks > 1 ? 1 / static_cast<double>(std::max<i64>(1, job.hosts)) : 0;
  return pieces * std::max(request_seconds(job, direction) * part, request_seconds(direction) * kContended * turns) + bytes / rate_of(job, file, direction) * part;
}

double seconds_with_turns(const Job& job, const ClassTotals& together, double seconds) {
  i64 waits = 0;
  for (const Phase phase : {Phase::kArrive, Phase::kWait, Phase::kAgree}) waits += together.phase_ns[static_cast<std::size_t>(phase)];
  const double work = seconds_of(together.ns - waits);
  return work <= 0 ? seconds : seconds + std::min(seconds_of(waits) * std::min(1.0, seconds / work), seconds * (crowding(job) - 1));
}

double seconds_collected(const Job& job, double bytes) {
  const double others = 1 - 1 / static_cast<double>(std::max<i64>(1, job.ranks));
  return bytes * others * (job.hosts > 1 ? 1 / kBytesPerSecond : kCopiesInMemory * sharing_a_core(job) / kExchangedBytesPerSecond);
}

}  // namespace mercutio
