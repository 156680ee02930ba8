#include "insight/findings.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include "insight/costs.h"

namespace mercutio {
namespace {

constexpr double kReadAlikeBytes = 256.0 * 1024 * 1024;
constexpr i64 kManyCalls = 1000, kManyTimes = 10;

struct Looked {
  double seconds = 0;
  std::string evidence, remedy;
};
using Look = std::optional<Looked>(const Job&, const JobFile&);

i64 ranks_where(const JobFile& file, const std::function<bool(const FileTotals&)>& holds) {
  return std::count_if(file.by_rank.begin(), file.by_rank.end(), holds);
}

std::string number(i64 value) {
  std::string text = std::to_string(value);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string average(i64 sum, i64 count) {
  return bytes_text(count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0);
}

const char* verb(Direction direction) {
  return direction == Direction::kRead ? "read" : "write";
}

// The same data again and again: how many times it was read altogether, 0 if that is not it. Ranks read the same where
// the parts of the file that they read overlap.
double times_read(const JobFile& file) {
  const ClassTotals& reads = of(file.all, Direction::kRead, false);
  const double size = static_cast<double>(reads.end_place - reads.begin_place);
  if (size <= 0 || size > kReadAlikeBytes || 10 * reads.strided_calls > reads.calls) return 0;
  double parts = 0;
  for (const FileTotals& one : file.by_rank)
    parts +=
        static_cast<double>(of(one, Direction::kRead, false).end_place - of(one, Direction::kRead, false).begin_place);
  const double times = static_cast<double>(reads.bytes) / size;
  return parts >= 1.5 * size && times >= 4 ? times : 0;
}

i64 bytes_written(const JobFile& file) {
  return of(file.all, Direction::kWrite, false).bytes + of(file.all, Direction::kWrite, true).bytes;
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

template <Direction direction>
std::optional<Looked> small(const Job& job, const JobFile& file) {
  const ClassTotals& all = of(file.all, direction, false);
  if (all.calls < kManyCalls || 2 * all.small_calls < all.calls || 2 * all.strided_calls > all.calls) return {};
  if (direction == Direction::kRead && times_read(file) > 0) return {};
  const double now = seconds_held(file, [&job](const FileTotals& one) { return seconds_with_gaps(job, one, direction); });
  const double rate = rate_of(job, file, direction), meet = own_meeting(job, file);
  const double after = worst(file, [rate, meet](const FileTotals& one) {   // a call for each open
    return static_cast<double>(of(one, direction, false).bytes) / rate + static_cast<double>(std::max<i64>(1, one.opens)) * meet;
  });
  const std::string word = verb(direction);
  const i64 absorbed = file.all.storage[direction == Direction::kWrite ? 1 : 0].absorbed_calls;
  return Looked{now - after,
                number(all.calls) + " calls of " + average(all.bytes, all.calls) + " on average" +
                    (absorbed > 0 ? ", " + number(absorbed) + " of them only as far as a buffer" : ""),
                "move many records with one call: describe them with a datatype and MPI_File_set_view, then MPI_File_" +
                    word + "_all"};
}

// What independent accesses to several pieces cost beyond collective ones.
double strided_seconds(const Job& job, const JobFile& file, Direction direction) {
  const ClassTotals& all = of(file.all, direction, false);
  const double now = seconds_held(file, [direction](const FileTotals& one) { return seconds_of(of(one, direction, false).ns); });
  const i64 piece = std::max<i64>(1, all.piece_bytes / all.calls);
  const auto calls = static_cast<i64>(worst(file, [direction](const FileTotals& one) { return static_cast<double>(of(one, direction, false).calls); }));
  return now - seconds_together(job, file, Moved{direction, all.bytes, all.bytes / piece, calls});
}

std::string together_instead(Direction direction) {
  const std::string word = verb(direction);
  return "replace MPI_File_" + word + " by MPI_File_" + word + "_all (MPI_File_" + word + "_at by MPI_File_" + word + "_at_all)";
}

bool several_ranks_stride(const JobFile& file, Direction direction) {
  return ranks_where(file, [direction](const FileTotals& one) { return of(one, direction, false).strided_calls > 0; }) >= 2;
}

template <Direction direction>
std::optional<Looked> strided(const Job& job, const JobFile& file) {
  const ClassTotals& all = of(file.all, direction, false);
  if (all.calls == 0 || 10 * all.strided_calls < all.calls) return {};
  if (!several_ranks_stride(file, direction)) return {};
  if (direction == Direction::kWrite && merges(file)) return {};
  if (direction == Direction::kRead && (reads_holes(file) || times_read(file) > 0)) return {};
  return Looked{strided_seconds(job, file, direction),
                number(all.strided_calls) + " independent calls, pieces of " + average(all.piece_bytes, all.calls),
                together_instead(direction)};
}

// How many ranks' parts of the file lie on top of each other, on average.
double overlap_of(const JobFile& file) {
  const auto span = [](const FileTotals& one) {
    i64 begin = 0, end = 0;
    for (const bool collective : {false, true}) {
      const ClassTotals& part = of(one, Direction::kWrite, collective);
      if (part.begin_place > 0) begin = begin == 0 ? part.begin_place : std::min(begin, part.begin_place);
      end = std::max(end, part.end_place);
    }
    return static_cast<double>(end - begin);
  };
  double parts = 0;
  for (const FileTotals& one : file.by_rank) parts += span(one);
  return span(file.all) > 0 ? std::max(1.0, parts / span(file.all)) : 1;
}

std::optional<Looked> merged_writes(const Job& job, const JobFile& file) {
  if (!merges(file)) return {};
  const auto writing = [](const FileTotals& one) {
    return seconds_of(of(one, Direction::kWrite, false).ns + of(one, Direction::kWrite, true).ns);
  };
  const double now = worst(file, writing);
  const auto written = static_cast<double>(bytes_written(file));
  const auto merged = static_cast<double>(file.all.merged_bytes);
  // Together, the file is read and written back once where the ranks' parts of it overlap. Where they don't, the new data alone moves
  // when nothing is merged, which is also quicker where it is little of what is read.
  const double moved = written + merged + static_cast<double>(file.all.storage[1].bytes), overlap = overlap_of(file);
  const double together = now * std::max(overlap >= 1.5 ? 1 / overlap : 0, written / moved);
  const double apart = is_local(file) ? seconds_in_pieces(job, file, written) : now;
  const bool alone = of(file.all, Direction::kWrite, false).bytes > of(file.all, Direction::kWrite, true).bytes;
  const std::string without = "drop romio_ds_write=enable, or export MERCUTIO_HINTS=romio_ds_write=disable";
  return Looked{seconds_held(file, writing) - std::min(together, apart),
                bytes_text(merged) + " read and " + bytes_text(static_cast<double>(file.all.storage[1].bytes)) + " written to write " +
                    bytes_text(written) + ", " + number(file.all.locks) + " locks",
                apart < together ? without
                : alone          ? "replace MPI_File_write by MPI_File_write_all; or " + without
                                 : without + "; better, let the ranks together write without holes"};
}

bool says(const JobFile& file, TextKind kind, const std::string& part) {
  return std::any_of(file.texts.begin(), file.texts.end(), [&](const TraceText& text) {
    return text.kind == kind && text.text.find(part) != std::string::npos;
  });
}

double storage_seconds(const JobFile& file, std::size_t way) {
  return worst(file, [way](const FileTotals& one) { return seconds_of(one.storage[way].ns); });
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

// Together, ranks read each byte once where one's holes are another's data. Holes that nobody asked to read are so short that they are
// cheaper than a request.
std::string without_excess(const JobFile& file, const Excess& excess) {
  if (!excess.by_holes()) {
    return excess.unused >= excess.windows ? "drop mercutio_read_ahead=enable, or export MERCUTIO_HINTS=mercutio_read_ahead=disable"
                                         : "put what is read together closer together in the file, or export MERCUTIO_HINTS=romio_cb_read=disable";
  }
  const bool asked = says(file, TextKind::kNotes, "romio_ds_read=enable");
  const bool together = of(file.all, Direction::kRead, true).bytes > of(file.all, Direction::kRead, false).bytes;
  const std::string closer = "put what is read together closer together in the file";
  const std::string drop = "drop romio_ds_read=enable";
  if (several_ranks_stride(file, Direction::kRead)) return together_instead(Direction::kRead) + (asked ? "; or " + drop : "; or " + closer);
  if (asked && !together) return drop + "; better, " + closer;
  return closer + "; MERCUTIO_HINTS=\"" + (together ? "romio_cb_read=disable;" : "") + "romio_ds_read=disable\" reads the pieces alone, with a request each";
}

std::optional<Looked> amplified_reads(const Job& job, const JobFile& file) {
  const Excess excess = excess_of(file);
  if (!excess.noticeable()) return {};
  const double part = static_cast<double>(excess.bytes()) / static_cast<double>(std::max(excess.moved, excess.bytes()));
  double seconds = part * storage_seconds(file, 0);
  if (excess.by_holes() && several_ranks_stride(file, Direction::kRead))
    seconds = std::max(seconds, strided_seconds(job, file, Direction::kRead));
  return Looked{seconds, excess_text(excess), without_excess(file, excess)};
}

std::optional<Looked> one_aggregator(const Job&, const JobFile& file) {
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
  return Looked{busy / 2, "cb_nodes=1 with " + number(file.all.ranks) + " ranks: one of them makes all storage calls",
                "drop the hint cb_nodes=1 (unset it in the program's Info or in MERCUTIO_HINTS): the number of "
                "aggregators is chosen for you"};
}

std::optional<Looked> straggler(const Job& job, const JobFile& file) {
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
  return Looked{
      lost,
      "the others wait " + seconds_text(others) + " each for rank " + number(header.rank) + " on " +
          header.host.data() + ", which waits " + seconds_text(least),
      "see what rank " + number(header.rank) +
          " does between accesses; work that can't be balanced overlaps with MPI_File_iwrite_all or iread_all"};
}

std::optional<Looked> serial(const Job& job, const JobFile& file) {
  if (job.ranks < 2 || 10 * (of(file.all, Direction::kRead, true).bytes + of(file.all, Direction::kWrite, true).bytes) >
                           file.all.bytes())
    return {};
  const double most = worst(file, [](const FileTotals& one) { return static_cast<double>(one.bytes()); });
  if (most < 1e6 || most < 0.9 * static_cast<double>(file.all.bytes())) return {};
  const double now = worst(file, [](const FileTotals& one) {
    return seconds_of(of(one, Direction::kRead, false).ns + of(one, Direction::kWrite, false).ns);
  });
  const double parts = static_cast<double>(std::min(job.ranks, 2 * job.hosts));
  // The data of the others goes to and from that one, too, at about a network's rate.
  const double passed_on = most / kBytesPerSecond * (1 - 1 / static_cast<double>(job.ranks));
  return Looked{now * (1 - 1 / parts) + passed_on,
                "one of " + number(job.ranks) + " ranks moves " + bytes_text(most) + " in " + seconds_text(now),
                "open the file on MPI_COMM_WORLD and let every rank write or read its own part with "
                "MPI_File_write_at_all or read_at_all"};
}

std::optional<Looked> reopened(const Job& job, const JobFile& file) {
  const double opens = worst(file, opens_of);
  if (opens < kManyTimes) return {};
  const double now = worst(file, [](const FileTotals& one) { return seconds_of(one.open_ns + one.close_ns); });
  return Looked{
      (now + waits_in_turns(file, now) + first_collectives_seconds(job, file)) * (1 - 1 / opens),
      "opened " + number(static_cast<i64>(opens)) + " times, " + seconds_text(now) + " for opening and closing",
      "move MPI_File_open and MPI_File_close out of the loop; MPI_File_sync makes data visible in between"};
}

std::optional<Looked> many_syncs(const Job&, const JobFile& file) {
  const double syncs = worst(file, [](const FileTotals& one) { return static_cast<double>(one.syncs); });
  if (syncs < kManyTimes) return {};
  const double now = worst(file, [](const FileTotals& one) { return seconds_of(one.sync_ns); });
  // The last one then has all to do.
  const double last = static_cast<double>(bytes_written(file)) / kSyncedBytesPerSecond;
  return Looked{(now + waits_in_turns(file, now)) * (1 - 1 / syncs) - last, number(static_cast<i64>(syncs)) + " syncs, " + seconds_text(now),
                "remove MPI_File_sync from the loop: what was written is safe after one sync before MPI_File_close"};
}

std::optional<Looked> same_data_read(const Job&, const JobFile& file) {
  const double times = times_read(file);
  if (times == 0) return {};
  const double now = worst(file, [](const FileTotals& one) { return seconds_of(of(one, Direction::kRead, false).ns); });
  return Looked{now * (1 - 1 / times),
                bytes_text(static_cast<double>(of(file.all, Direction::kRead, false).end_place -
                                               of(file.all, Direction::kRead, false).begin_place)) +
                    " read " + number(static_cast<i64>(times)) + " times altogether",
                "read it once, on rank 0, and hand it on: if (rank == 0) MPI_File_read_at(...); MPI_Bcast(buffer, "
                "size, MPI_BYTE, 0, comm)"};
}

std::optional<Looked> small_stripes(const Job& job, const JobFile& file) {
  const i64 calls = of(file.all, Direction::kWrite, true).calls + of(file.all, Direction::kRead, true).calls;
  const StorageTotals &reads = file.all.storage[0], &writes = file.all.storage[1];
  const i64 requests = reads.calls + writes.calls;
  if (calls == 0 || requests < 100 || !says(file, TextKind::kNotes, "striping_unit=")) return {};
  const double mean = static_cast<double>(reads.bytes + writes.bytes) / static_cast<double>(requests),
               enough = 256 * 1024;
  if (mean >= enough) return {};
  const double now = worst(file, collective_seconds);
  const double after = collectives_well_made(job, file);
  return Looked{(now - after) * (1 - mean / enough), number(requests) + " storage requests of " + bytes_text(mean),
                "drop the hint striping_unit, or give one of 1 MiB or more: export MERCUTIO_HINTS=striping_unit=1MiB"};
}

std::optional<Looked> one_stripe(const Job&, const JobFile& file) {
  constexpr i64 kWorthSpreading = 256 * MiB, kServersForANode = 8;
  const i64 bytes = file.all.storage[0].bytes + file.all.storage[1].bytes;
  if (file.all.stripe_bytes <= 0 || file.all.stripe_count != 1 || file.all.ranks < 2 || bytes < kWorthSpreading) return {};
  const double now = storage_seconds(file, 0) + storage_seconds(file, 1);
  const double servers = static_cast<double>(std::min(file.all.ranks, kServersForANode));
  return Looked{now * (1 - 1 / servers), bytes_text(static_cast<double>(bytes)) + " through one server in " + seconds_text(now),
                "make the file anew with more stripes: lfs setstripe -c -1 on its directory, or export MERCUTIO_HINTS=striping_factor=" + number(static_cast<i64>(servers))};
}

std::optional<Looked> misaligned(const Job&, const JobFile& file) {
  const StorageTotals& writes = file.all.storage[1];
  if (writes.calls < 100 || 2 * writes.misaligned_calls < writes.calls || writes.bytes > writes.calls * MiB) return {};
  if (2 * writes.small_calls > writes.calls && writes.bytes < writes.calls * 4 * KiB)
    return {};  // that they are tiny is worse
  const ClassTotals& alone = of(file.all, Direction::kWrite, false);
  if (merges(file) || (alone.strided_calls > 0 && 10 * alone.strided_calls >= alone.calls))
    return {};  // it is the holes that make them so
  const i64 unit = file.all.stripe_bytes > 0 ? file.all.stripe_bytes : file.all.block_bytes;
  return Looked{0.2 * storage_seconds(file, 1),
                number(writes.misaligned_calls) + " of " + number(writes.calls) +
                    " write requests begin inside a block of " + bytes_text(static_cast<double>(unit)),
                "begin records at multiples of " + bytes_text(static_cast<double>(unit)) +
                    " (pad the header), or write collectively"};
}

std::optional<Looked> ignored_hints(const Job&, const JobFile& file) {
  std::string refused;
  i64 count = 0;
  for (const TraceText& text : file.texts) {
    if (text.kind != TextKind::kNotes) continue;
    for (std::size_t at = 0, end; at < text.text.size(); at = end + 1) {
      end = std::min(text.text.find('\n', at), text.text.size());
      const std::string line = text.text.substr(at, end - at);
      if (line.find("not applied") == std::string::npos || refused.find(line) != std::string::npos) continue;
      if (++count <= 2) refused += (refused.empty() ? "" : "; ") + line;
    }
  }
  if (count == 0) return {};
  return Looked{
      0, refused,
      "correct or drop " + std::string(count == 1 ? "it" : "them") + "; `mercutio hints` lists what there is"};
}

struct Rule {
  const char* id;
  const char* title;
  Look* look;
};

constexpr Look* kLooks[] = {small<Direction::kWrite>,
                            small<Direction::kRead>,
                            strided<Direction::kRead>,
                            strided<Direction::kWrite>,
                            amplified_reads,
                            merged_writes,
                            one_aggregator,
                            straggler,
                            serial,
                            reopened,
                            many_syncs,
                            same_data_read,
                            small_stripes,
                            one_stripe,
                            misaligned,
                            ignored_hints};
constexpr Look* kNoMatterOfTime[] = {amplified_reads, merged_writes, ignored_hints};
constexpr Rule kRules[] = {
#define MERCUTIO_FINDING(id, title, when, example) {#id, title, nullptr},
#include "insight/findings.def"
#undef MERCUTIO_FINDING
};
static_assert(std::size(kLooks) == std::size(kRules));

}  // namespace

std::vector<Finding> all_findings(const Job& job) {
  std::vector<Finding> found;
  const double run = std::max(0.0, job.seconds - job.recording * crowding(job));  // as it would be without a trace
  for (const JobFile& file : job.files) {
    for (std::size_t i = 0; i < std::size(kRules); ++i) {
      std::optional<Looked> looked = kLooks[i](job, file);
      if (!looked) continue;
      Finding finding{kRules[i].id, kRules[i].title, file.name, std::clamp(looked->seconds, 0.0, 0.98 * run), 1};
      finding.worth = looked->seconds >= 0.01 * job.seconds || std::count(std::begin(kNoMatterOfTime), std::end(kNoMatterOfTime), kLooks[i]) > 0;
      finding.evidence = looked->evidence;
      finding.remedy = looked->remedy;
      finding.factor = run > 0 ? run / (run - finding.seconds) : 1;
      found.push_back(std::move(finding));
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Finding& a, const Finding& b) { return a.seconds > b.seconds; });
  return found;
}

std::vector<Finding> find_causes(const Job& job) {
  std::vector<Finding> found = all_findings(job);
  std::erase_if(found, [](const Finding& finding) { return !finding.worth; });
  return found;
}

std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, unit == 0 || bytes >= 100 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

std::string seconds_text(double seconds) {
  char text[48];
  if (seconds < 0.001)
    std::snprintf(text, sizeof text, "%.0f us", seconds * 1e6);
  else if (seconds < 1)
    std::snprintf(text, sizeof text, "%.0f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  return text;
}

}  // namespace mercutio
