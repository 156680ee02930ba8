#include "insight/rules.h"

#include <algorithm>
#include <functional>

#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/remedies.h"

namespace mercutio {
namespace {

constexpr double kReadAlikeBytes = 256.0 * 1024 * 1024;
constexpr i64 kManyCalls = 1000, kManyTimes = 10;

i64 ranks_where(const JobFile& file, const std::function<bool(const FileTotals&)>& holds) {
  return std::count_if(file.by_rank.begin(), file.by_rank.end(), holds);
}

double sum_of_members(const JobFile& file, const std::function<double(const JobFile&)>& value) {
  double sum = 0;
  for (const JobFile* one : file.members) sum += value(*one);
  return sum;
}

double sum_of_ranks(const JobFile& file, const std::function<double(const FileTotals&)>& value) {
  double sum = 0;
  for (const FileTotals& one : file.by_rank) sum += value(one);
  return sum;
}

std::string number(i64 value) {
  std::string text = std::to_string(value);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string average(i64 sum, i64 count) {
  return bytes_text(count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0);
}

bool says(const JobFile& file, TextKind kind, const std::string& part) {
  return std::any_of(file.texts.begin(), file.texts.end(), [&](const TraceText& text) {
    return text.kind == kind && text.text.find(part) != std::string::npos;
  });
}

double storage_seconds(const JobFile& file, std::size_t way) {
  return worst(file, [way](const FileTotals& one) { return seconds_of(one.storage[way].ns); });
}

double alone_seconds(const JobFile& file, Direction direction) {
  return worst(file, [direction](const FileTotals& one) { return seconds_of(of(one, direction, false).ns); });
}

i64 calls_of_a_rank(const JobFile& file, Direction direction) {
  return static_cast<i64>(worst(file, [direction](const FileTotals& one) { return static_cast<double>(of(one, direction, false).calls); }));
}

// From the first to the last byte that independent calls read.
double read_range(const FileTotals& totals) {
  const ClassTotals& reads = of(totals, Direction::kRead, false);
  return static_cast<double>(reads.end_place - reads.begin_place);
}

double read_ranges(const JobFile& file) {
  return sum_of_members(file, [](const JobFile& one) { return read_range(one.all); });
}

// The same data again and again: how many times it was read altogether, 0 if that is not it. Ranks read the same where
// the parts of the file that they read overlap.
double times_read(const JobFile& file) {
  const ClassTotals& reads = of(file.all, Direction::kRead, false);
  const double size = read_ranges(file);
  if (size <= 0 || size > kReadAlikeBytes || 10 * reads.strided_calls > reads.calls) return 0;
  const double parts = sum_of_members(file, [](const JobFile& one) { return sum_of_ranks(one, read_range); });
  const double times = static_cast<double>(reads.bytes) / size;
  return parts >= 1.5 * size && times >= 4 ? times : 0;
}

i64 bytes_written(const JobFile& file) {
  return of(file.all, Direction::kWrite, false).bytes + of(file.all, Direction::kWrite, true).bytes;
}

Direction main_direction(const JobFile& file) {
  return 2 * bytes_written(file) >= file.all.bytes() ? Direction::kWrite : Direction::kRead;
}

// Beyond what was written, read before or written back.
i64 bytes_merged(const JobFile& file) {
  return file.all.merged_bytes + std::max<i64>(0, file.all.storage[1].bytes - bytes_written(file));
}

bool merges(const JobFile& file) {
  return bytes_written(file) > 0 && 10 * bytes_merged(file) > bytes_written(file);
}

// What storage read for the reads of a file beyond what they asked for, by cause.
struct Excess {
  i64 asked = 0, moved = 0;
  i64 holes = 0;    // between the pieces
  i64 unused = 0;   // in advance
  i64 windows = 0;  // the rest: windows of collective reads are read whole, by whoever owns them
  i64 bytes() const { return holes + unused + windows; }
  bool noticeable() const { return asked > 0 && 10 * bytes() > asked && bytes() >= kSmallBytes; }
  bool by_holes() const { return holes >= unused && holes >= windows; }
};

Excess excess_of(const JobFile& file) {
  Excess excess;
  excess.asked = of(file.all, Direction::kRead, false).bytes + of(file.all, Direction::kRead, true).bytes;
  excess.moved = file.all.storage[0].bytes - file.all.merged_bytes;
  excess.holes = file.all.hole_bytes;
  excess.unused = file.all.storage[0].unused_bytes;
  excess.windows = std::max<i64>(0, excess.moved - excess.asked - excess.holes - excess.unused);
  return excess;
}

bool reads_holes(const JobFile& file) {
  const Excess excess = excess_of(file);
  return excess.noticeable() && excess.by_holes();
}

// Each rank opens its files alone (MPI_COMM_SELF), in a job of several.
bool opened_alone(const Job& job, const JobFile& file) {
  return file.all.ranks == 1 && job.ranks > 1;
}

// Replaces independent accesses by collective ones, for which ranks must open the file together.
std::string together_advice(const Job& job, const JobFile& file, Direction direction) {
  return advice(opened_alone(job, file) ? Advice::kAllRanks : Advice::kTogether, direction, file.library);
}

template <Direction direction>
std::optional<Detection> small(const Job& job, const JobFile& file) {
  const ClassTotals& all = of(file.all, direction, false);
  if (all.calls < kManyCalls || 2 * all.small_calls < all.calls || 2 * all.strided_calls > all.calls) return {};
  if (direction == Direction::kRead && times_read(file) > 0) return {};
  const double now = seconds_held(file, [&job](const FileTotals& one) { return seconds_with_gaps(job, one, direction); });
  const double rate = rate_of(job, file, direction), meet = own_meeting(job, file);
  const double after = worst(file, [rate, meet](const FileTotals& one) {   // a call for each open
    return static_cast<double>(of(one, direction, false).bytes) / rate + static_cast<double>(std::max<i64>(1, one.opens)) * meet;
  });
  const i64 absorbed = file.all.storage[direction == Direction::kWrite ? 1 : 0].absorbed_calls;
  return Detection{number(all.calls) + " calls of " + average(all.bytes, all.calls) + " on average" +
                    (absorbed > 0 ? ", " + number(absorbed) + " of them only as far as a buffer" : ""),
                {{advice(opened_alone(job, file) ? Advice::kFewerCallsAlone : Advice::kFewerCalls, direction, file.library), now - after}}};
}

// What independent accesses to several pieces cost beyond collective ones.
double strided_seconds(const Job& job, const JobFile& file, Direction direction) {
  const ClassTotals& all = of(file.all, direction, false);
  const double now = seconds_held(file, [direction](const FileTotals& one) { return seconds_of(of(one, direction, false).ns); });
  const i64 piece = std::max<i64>(1, all.piece_bytes / all.calls);
  const auto calls = static_cast<i64>(worst(file, [direction](const FileTotals& one) { return static_cast<double>(of(one, direction, false).calls); }));
  return now - seconds_together(job, file, Moved{direction, all.bytes, all.bytes / piece, calls});
}

// Whether several ranks do this with one file, so that they can do it together. Of files that are known by their pattern only, each may
// be another rank's.
bool several_ranks(const JobFile& file, const std::function<bool(const FileTotals&)>& holds) {
  return std::any_of(file.members.begin(), file.members.end(), [&](const JobFile* one) {
    return (one->all.ranks > 1 || !one->is_pattern) && ranks_where(*one, holds) >= 2;
  });
}

bool several_ranks_stride(const JobFile& file, Direction direction) {
  return several_ranks(file, [direction](const FileTotals& mine) { return of(mine, direction, false).strided_calls > 0; });
}

template <Direction direction>
std::optional<Detection> strided(const Job& job, const JobFile& file) {
  const ClassTotals& all = of(file.all, direction, false);
  if (all.calls == 0 || 10 * all.strided_calls < all.calls) return {};
  if (!several_ranks_stride(file, direction)) return {};
  if (direction == Direction::kWrite && merges(file)) return {};
  if (direction == Direction::kRead && (reads_holes(file) || times_read(file) > 0)) return {};
  return Detection{number(all.strided_calls) + " independent calls, pieces of " + average(all.piece_bytes, all.calls) + " on average",
                {{together_advice(job, file, direction), strided_seconds(job, file, direction)}}};
}

// From the first to the last byte written.
double written_range(const FileTotals& one) {
  i64 begin = 0, end = 0;
  for (const bool collective : {false, true}) {
    const ClassTotals& part = of(one, Direction::kWrite, collective);
    if (part.begin_place > 0) begin = begin == 0 ? part.begin_place : std::min(begin, part.begin_place);
    end = std::max(end, part.end_place);
  }
  return static_cast<double>(end - begin);
}

// How many ranks' parts of the file lie on top of each other, on average.
double overlap_of(const JobFile& file) {
  const double size = sum_of_members(file, [](const JobFile& one) { return written_range(one.all); });
  const double parts = sum_of_members(file, [](const JobFile& one) { return sum_of_ranks(one, written_range); });
  return size > 0 ? std::max(1.0, parts / size) : 1;
}

std::optional<Detection> merged_writes(const Job& job, const JobFile& file) {
  if (!merges(file)) return {};
  const auto writing = [](const FileTotals& one) {
    return seconds_of(of(one, Direction::kWrite, false).ns + of(one, Direction::kWrite, true).ns);
  };
  const double now = worst(file, writing), held = seconds_held(file, writing);
  const auto written = static_cast<double>(bytes_written(file));
  const auto merged = static_cast<double>(file.all.merged_bytes);
  // Together, the file is read and written back once where the ranks' parts of it overlap. Where they don't, the new data alone moves
  // when nothing is merged, which is also quicker where it is little of what is read.
  const double moved = written + merged + static_cast<double>(file.all.storage[1].bytes), overlap = overlap_of(file);
  const auto calls = static_cast<double>(calls_of_a_rank(file, Direction::kWrite));
  const double together = now * std::max(overlap >= 1.5 ? 1 / overlap : 0, written / moved) + calls * own_meeting(job, file);
  const double apart = is_local(file) ? seconds_in_pieces(job, file, Direction::kWrite) : held;
  const bool alone = of(file.all, Direction::kWrite, false).bytes > of(file.all, Direction::kWrite, true).bytes;
  const bool asked = says(file, TextKind::kNotes, "romio_ds_write=enable");
  Detection detection{bytes_text(merged) + " read and " + bytes_text(static_cast<double>(file.all.storage[1].bytes)) + " written to write " +
                    bytes_text(written) + (file.all.locks > 0 ? ", " + number(file.all.locks) + " locks" : ""),
                {{asked ? "drop romio_ds_write=enable" : "export MERCUTIO_HINTS=romio_ds_write=disable", held - apart}}};
  const auto writes = [](const FileTotals& mine) { return of(mine, Direction::kWrite, false).calls + of(mine, Direction::kWrite, true).calls > 0; };
  if (several_ranks(file, writes) && worth_moving_together(file, written, static_cast<double>(file.all.storage[1].bytes), overlap))
    detection.options.push_back({alone ? together_advice(job, file, Direction::kWrite) : "let the ranks together write without holes", held - together});
  return detection;
}

std::string excess_text(const Excess& excess) {
  std::string text = bytes_text(static_cast<double>(excess.moved)) + " read for " + bytes_text(static_cast<double>(excess.asked)) + " asked for";
  const std::pair<i64, const char*> parts[] = {{excess.holes, " of it holes between pieces"},
                                               {excess.unused, " of it in advance and unused"},
                                               {excess.windows, " of it in windows of collective reads"}};
  for (const auto& [bytes, what] : parts) {
    if (100 * bytes >= excess.bytes() && bytes > 0) text += ", " + bytes_text(static_cast<double>(bytes)) + what;
  }
  return text;
}

double overlap_of_reads(const JobFile& file) {
  const double ranges = sum_of_members(file, [](const JobFile& one) { return sum_of_ranks(one, read_range); }), size = read_ranges(file);
  return size > 0 ? std::max(1.0, ranges / size) : 1;
}

// What collective reads of the same pieces take. Where one rank's holes are another's data, they are read once for all; the rest is read
// as it is now.
double seconds_of_reads_together(const Job& job, const JobFile& file, const Excess& excess) {
  const ClassTotals& all = of(file.all, Direction::kRead, false);
  const i64 bytes = std::max(excess.asked, static_cast<i64>(static_cast<double>(excess.moved) / overlap_of_reads(file)));
  const i64 piece = std::max<i64>(1, all.piece_bytes / std::max<i64>(1, all.calls));
  return seconds_together(job, file, Moved{Direction::kRead, bytes, all.bytes / piece, calls_of_a_rank(file, Direction::kRead)});
}

// Pieces alone are a request each.
std::optional<Detection> amplified_reads(const Job& job, const JobFile& file) {
  const Excess excess = excess_of(file);
  if (!excess.noticeable()) return {};
  const double part = static_cast<double>(excess.bytes()) / static_cast<double>(std::max(excess.moved, excess.bytes()));
  const double reading = seconds_held(file, [](const FileTotals& one) { return seconds_of(one.storage[0].ns); }), saved = part * reading;
  const Option closer{"put what is read together closer together in the file", saved};
  const bool together = of(file.all, Direction::kRead, true).bytes > of(file.all, Direction::kRead, false).bytes;
  if (!excess.by_holes()) {
    const bool advance = excess.unused >= excess.windows, asked = says(file, TextKind::kNotes, "mercutio_read_ahead=enable");
    const Option without{asked ? "drop mercutio_read_ahead=enable" : "export MERCUTIO_HINTS=mercutio_read_ahead=disable",
                         saved - (advance ? seconds_without_read_ahead(job, file) : 0)};
    return Detection{excess_text(excess), {advance ? without : closer}};
  }
  Detection detection{excess_text(excess), {}};
  if (several_ranks_stride(file, Direction::kRead) && worth_moving_together(file, static_cast<double>(excess.asked), static_cast<double>(excess.moved), overlap_of_reads(file))) {
    const double now = seconds_held(file, [](const FileTotals& one) { return seconds_of(of(one, Direction::kRead, false).ns); });
    detection.options.push_back({together_advice(job, file, Direction::kRead), now - seconds_of_reads_together(job, file, excess)});
  }
  const bool asked = says(file, TextKind::kNotes, "romio_ds_read=enable");
  const std::string apart = std::string("export MERCUTIO_HINTS=\"") + (together ? "romio_cb_read=disable;" : "") + "romio_ds_read=disable\"";
  const double seconds_apart = is_local(file) ? seconds_in_pieces(job, file, Direction::kRead) : reading;
  detection.options.push_back({asked && !together ? "drop romio_ds_read=enable" : apart, reading - seconds_apart});
  detection.options.push_back(closer);
  return detection;
}

std::optional<Detection> one_aggregator(const Job&, const JobFile& file) {
  const i64 calls = of(file.all, Direction::kWrite, true).calls + of(file.all, Direction::kRead, true).calls;
  const i64 alone = of(file.all, Direction::kWrite, false).calls + of(file.all, Direction::kRead, false).calls;
  if (calls == 0 || alone > calls || file.all.ranks < 4 || !says(file, TextKind::kNotes, "cb_nodes=1 ")) return {};
  if (ranks_where(file, [](const FileTotals& one) { return one.storage[0].calls + one.storage[1].calls > 0; }) != 1)
    return {};
  // What the one does, two would share; the others wait for it.
  const double busy = worst(file, [](const FileTotals& one) {
    i64 ns = 0;
    for (const Phase phase : {Phase::kStorage, Phase::kCopy, Phase::kExchange, Phase::kSieve, Phase::kLock}) ns += one.phase_ns(phase);
    return seconds_of(ns);
  });
  return Detection{"cb_nodes=1 with " + number(file.all.ranks) + " ranks: one of them makes all storage calls",
                {{"drop the hint cb_nodes=1 (unset it in the program's Info or in MERCUTIO_HINTS): the number of "
                  "aggregators is chosen for you",
                  busy / 2}}};
}

std::optional<Detection> straggler(const Job& job, const JobFile& file) {
  double sum = 0, total = 0, least = 1e300;
  i64 ranks = 0;
  std::size_t late = 0;
  for (std::size_t rank = 0; rank < file.by_rank.size(); ++rank) {
    const FileTotals& one = file.by_rank[rank];
    if (of(one, Direction::kWrite, true).calls + of(one, Direction::kRead, true).calls == 0) continue;
    ++ranks;
    const double waited = waits_for_late(one);
    sum += waited;
    total += collective_seconds(one);
    if (waited < least) least = waited, late = rank;
  }
  if (ranks < 2) return {};
  // Its work, shared by all, still takes its part.
  const double others = (sum - least) / static_cast<double>(ranks - 1),
               lost = (others - least) * (1 - 1 / static_cast<double>(ranks));
  if (lost < 0.1 || lost * static_cast<double>(ranks) < 0.1 * total) return {};
  const PieceHeader& header = job.traces[late].header;
  return Detection{"the others wait " + seconds_text(others) + " each for rank " + number(header.rank) + " on " + header.host.data() +
                    ", which waits " + seconds_text(least),
                {{"see what rank " + number(header.rank) +
                      " does between accesses; work that can't be balanced overlaps with MPI_File_iwrite_all or iread_all",
                  lost}}};
}

std::optional<Detection> serial(const Job& job, const JobFile& file) {
  if (job.ranks < 2 || 10 * (of(file.all, Direction::kRead, true).bytes + of(file.all, Direction::kWrite, true).bytes) >
                           file.all.bytes())
    return {};
  const double most = worst(file, [](const FileTotals& one) { return static_cast<double>(one.bytes()); });
  if (most < 1e6 || most < 0.9 * static_cast<double>(file.all.bytes())) return {};
  const double now = worst(file, [](const FileTotals& one) {
    return seconds_of(of(one, Direction::kRead, false).ns + of(one, Direction::kWrite, false).ns);
  });
  const double parts = static_cast<double>(std::min(job.ranks, 2 * job.hosts));
  // The data of the others goes to and from that one, too.
  return Detection{"one of " + number(job.ranks) + " ranks moves " + bytes_text(most) + " in " + seconds_text(now),
                {{advice(Advice::kAllRanks, main_direction(file), file.library), now * (1 - 1 / parts) + seconds_passed_on(job, most)}}};
}

double opening_of(const FileTotals& one) { return seconds_of(one.open_ns + one.close_ns); }
double reopens_of(const FileTotals& one) { return static_cast<double>(one.reopens); }
double different_of(const FileTotals& one) { return static_cast<double>(one.opens - one.reopens); }
double syncs_of(const FileTotals& one) { return static_cast<double>(one.syncs); }

// Opening and closing, with what is due to it. The accesses stay.
double opening_seconds(const Job& job, const JobFile& file) {
  const double all = opening_with_first_accesses(job, file) + waits_in_turns(file, worst(file, opening_of));
  return std::max(0.0, std::min(all, run_seconds(job) - accesses_well_made(job, file)));
}

// Each of its files.
bool opened_often(const JobFile& file) {
  return worst(file, [](const FileTotals& one) { return opens_of(one) / std::max(1.0, different_of(one)); }) >= kManyTimes;
}

std::optional<Detection> reopened(const Job& job, const JobFile& file) {
  if (!opened_often(file)) return {};
  const double opens = worst(file, opens_of), again = worst(file, reopens_of);
  return Detection{"opened " + number(static_cast<i64>(opens)) + " times, " + seconds_text(worst(file, opening_of)) + " for opening and closing",
                {{advice(Advice::kOpenOnce, main_direction(file), file.library), opening_seconds(job, file) * again / opens}}};
}

std::optional<Detection> many_files(const Job& job, const JobFile& file) {
  const double different = worst(file, different_of);
  if (different < kManyTimes) return {};
  return Detection{number(static_cast<i64>(different)) + " different files, " + seconds_text(worst(file, opening_of)) + " for opening and closing them",
                {{advice(opened_alone(job, file) ? Advice::kFewerFilesAlone : Advice::kFewerFiles, main_direction(file), file.library), opening_seconds(job, file) * (1 - 1 / different)}}};
}

bool synced_often(const JobFile& file) {
  return worst(file, syncs_of) >= kManyTimes;
}

std::optional<Detection> many_syncs(const Job&, const JobFile& file) {
  if (!synced_often(file)) return {};
  const double syncs = worst(file, syncs_of), left = static_cast<double>(file.members.size());
  const double now = worst(file, [](const FileTotals& one) { return seconds_of(one.sync_ns); });
  // The last one then has all to do.
  const double last = static_cast<double>(bytes_written(file)) / kSyncedBytesPerSecond;
  return Detection{number(static_cast<i64>(syncs)) + " syncs, " + seconds_text(now),
                {{advice(Advice::kSyncOnce, Direction::kWrite, file.library), (now + waits_in_turns(file, now)) * (1 - left / syncs) - last}}};
}

std::optional<Detection> same_data_read(const Job& job, const JobFile& file) {
  const double times = times_read(file);
  if (times == 0) return {};
  return Detection{bytes_text(read_ranges(file)) + " read " + number(static_cast<i64>(times)) + " times altogether",
                {{advice(opened_alone(job, file) ? Advice::kReadOnceAlone : Advice::kReadOnce, Direction::kRead, file.library), alone_seconds(file, Direction::kRead) * (1 - 1 / times)}}};
}

std::optional<Detection> small_stripes(const Job& job, const JobFile& file) {
  const i64 calls = of(file.all, Direction::kWrite, true).calls + of(file.all, Direction::kRead, true).calls;
  const StorageTotals &reads = file.all.storage[0], &writes = file.all.storage[1];
  const i64 requests = reads.calls + writes.calls;
  if (calls == 0 || requests < 100 || !says(file, TextKind::kNotes, "striping_unit=")) return {};
  const double mean = static_cast<double>(reads.bytes + writes.bytes) / static_cast<double>(requests),
               enough = 256 * 1024;
  if (mean >= enough) return {};
  const double now = worst(file, collective_seconds);
  const double after = collectives_well_made(job, file);
  return Detection{number(requests) + " storage requests of " + bytes_text(mean),
                {{"drop the hint striping_unit, or give one of 1 MiB or more: export MERCUTIO_HINTS=striping_unit=1MiB",
                  (now - after) * (1 - mean / enough)}}};
}

std::optional<Detection> one_stripe(const Job&, const JobFile& file) {
  constexpr i64 kWorthSpreading = 256 * MiB, kServersForANode = 8;
  const i64 bytes = file.all.storage[0].bytes + file.all.storage[1].bytes;
  if (file.all.stripe_bytes <= 0 || file.all.stripe_count != 1 || file.all.ranks < 2 || bytes < kWorthSpreading) return {};
  const double now = storage_seconds(file, 0) + storage_seconds(file, 1);
  const double servers = static_cast<double>(std::min(file.all.ranks, kServersForANode));
  return Detection{bytes_text(static_cast<double>(bytes)) + " through one server in " + seconds_text(now),
                {{"make the file anew with more stripes: lfs setstripe -c -1 on its directory, or export MERCUTIO_HINTS=striping_factor=" +
                      number(static_cast<i64>(servers)),
                  now * (1 - 1 / servers)}}};
}

std::optional<Detection> misaligned(const Job& job, const JobFile& file) {
  const StorageTotals& writes = file.all.storage[1];
  if (writes.calls < 100 || 2 * writes.misaligned_calls < writes.calls || writes.bytes > writes.calls * MiB) return {};
  if (2 * writes.small_calls > writes.calls && writes.bytes < writes.calls * 4 * KiB)
    return {};  // that they are tiny is worse
  const ClassTotals& alone = of(file.all, Direction::kWrite, false);
  if (merges(file) || (alone.strided_calls > 0 && 10 * alone.strided_calls >= alone.calls))
    return {};  // it is the holes that make them so
  const i64 unit = file.all.stripe_bytes > 0 ? file.all.stripe_bytes : file.all.block_bytes;
  Detection detection{number(writes.misaligned_calls) + " of " + number(writes.calls) + " write requests begin inside a block of " +
                    bytes_text(static_cast<double>(unit)),
                {{alignment_advice(unit, file.library), 0.2 * storage_seconds(file, 1)}}};
  if (alone.calls > 0 && file.all.ranks > 1) {
    const Moved moved{Direction::kWrite, alone.bytes, alone.calls, calls_of_a_rank(file, Direction::kWrite)};
    detection.options.push_back({advice(Advice::kTogether, Direction::kWrite, file.library),
                              alone_seconds(file, Direction::kWrite) - seconds_together(job, file, moved)});
  }
  return detection;
}

// A note of a hint that had no effect, except for hints that only report, which come from MPI_File_get_info, and hints that PnetCDF passes on:
// its own ones, which it applies itself, and cb_nodes, as it opens the file again on each rank with the Info of the collective open.
bool is_ignored(const JobFile& file, const std::string& note) {
  if (note.find("not applied") == std::string::npos) return false;
  if (note.find("(MPI_Info)") == std::string::npos) return true;
  if (note.find("only reports") != std::string::npos) return false;
  if (file.library != "pnetcdf") return true;
  const bool own = note.starts_with("nc_") || note.starts_with("pnetcdf_");
  return !own && (!note.starts_with("cb_nodes=") || note.find(" 1 aggregate:") == std::string::npos);
}

std::optional<Detection> ignored_hints(const Job&, const JobFile& file) {
  std::string refused;
  i64 count = 0;
  for (const TraceText& text : file.texts) {
    if (text.kind != TextKind::kNotes) continue;
    for (std::size_t at = 0, end; at < text.text.size(); at = end + 1) {
      end = std::min(text.text.find('\n', at), text.text.size());
      const std::string line = text.text.substr(at, end - at);
      if (!is_ignored(file, line) || refused.find(line) != std::string::npos) continue;
      if (++count <= 2) refused += (refused.empty() ? "" : "; ") + line;
    }
  }
  if (count == 0) return {};
  return Detection{refused, {{"correct or drop " + std::string(count == 1 ? "it" : "them") + "; `mercutio hints` lists what there is", 0}}};
}

struct Way {
  Detect* detect;
  Applies* applies = nullptr;
  bool whatever_it_costs = false;
};
constexpr Way kWays[] = {{small<Direction::kWrite>},
                         {small<Direction::kRead>},
                         {strided<Direction::kRead>},
                         {strided<Direction::kWrite>},
                         {amplified_reads, nullptr, true},
                         {merged_writes, nullptr, true},
                         {one_aggregator},
                         {straggler},
                         {serial},
                         {reopened, opened_often},
                         {many_files},
                         {many_syncs, synced_often},
                         {same_data_read},
                         {small_stripes},
                         {one_stripe},
                         {misaligned},
                         {ignored_hints, nullptr, true}};
constexpr const char* kTexts[][2] = {
#define MERCUTIO_FINDING(id, title, when, example) {#id, title},
#include "insight/findings.def"
#undef MERCUTIO_FINDING
};
static_assert(std::size(kWays) == std::size(kTexts));

}  // namespace

std::vector<Rule> rules() {
  std::vector<Rule> all;
  for (std::size_t i = 0; i < std::size(kWays); ++i)
    all.push_back(Rule{kTexts[i][0], kTexts[i][1], kWays[i].detect, kWays[i].applies, kWays[i].whatever_it_costs});
  return all;
}

}  // namespace mercutio
