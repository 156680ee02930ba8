#include "insight/rules.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "insight/costs.h"
#include "insight/families.h"
#include "insight/findings.h"
#include "insight/remedies.h"
#include "insight/rule_parts.h"

namespace mercutio {
namespace {

constexpr double kReadAlikeBytes = 256.0 * 1024 * 1024;
constexpr i64 kManyCalls = 1000;

std::string average(i64 sum, i64 count) {
  return bytes_text(count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0);
}

double storage_seconds(const JobFile& file, std::size_t way) {
  return worst(file, [way](const FileTotals& one) { return seconds_of(one.storage[way].ns); });
}

double different_of(const FileTotals& one) { return static_cast<double>(one.opens - one.reopens); }

double alone_seconds(const JobFile& file, Direction direction) {
  return worst(file, [direction](const FileTotals& one) { return seconds_of(of(one, direction, false).ns); });
}

// What each rank reads, counted once. Of a pattern, each of its files is read alike.
double read_by_ranks(const JobFile& file) {
  return sum_of_members(file, [](const JobFile& one) {
    return sum_of_ranks(one, [&one](const FileTotals& mine) { return read_range(mine) * (one.is_pattern ? different_of(mine) : 1); });
  });
}

// The same data again and again: how many times it was read altogether, 0 if that is not it. Ranks read the same where
// the parts of the file that they read overlap.
double times_read(const JobFile& file) {
  const ClassTotals& reads = of(file.all, Direction::kRead, false);
  const double size = read_ranges(file);
  if (size <= 0 || size > kReadAlikeBytes || 10 * reads.strided_calls > reads.calls) return 0;
  const double parts = read_by_ranks(file);
  const double times = static_cast<double>(reads.bytes) / size;
  return parts >= 1.5 * size && times >= 4 ? times : 0;
}

// How often a rank reads the same, and how many ranks do.
double passes_of(const JobFile& file) {
  const double parts = read_by_ranks(file);
  return parts > 0 ? static_cast<double>(of(file.all, Direction::kRead, false).bytes) / parts : 1;
}

// Out of a page cache each rank reads as fast as others could hand it on.
bool worth_reading_once(const JobFile& file) {
  return times_read(file) > 0 && (!is_local(file) || passes_of(file) >= 2);
}

template <Direction direction>
double alone_seconds_of(const FileTotals& one) { return seconds_of(of(one, direction, false).ns); }

template <Direction direction>
std::optional<Detection> small(const Job& job, const JobFile& file) {
  const ClassTotals& all = of(file.all, direction, false);
  if (all.calls < kManyCalls || 2 * all.small_calls < all.calls || 2 * all.strided_calls > all.calls) return {};
  if (direction == Direction::kRead && worth_reading_once(file)) return {};
  const auto [now, at_most] = seconds_held(job, file, alone_seconds_of<direction>, direction == Direction::kRead ? alone_reads : alone_writes);
  const double rate = rate_of(job, file, direction), meet = own_meeting(job, file);
  const double after = worst(file, [rate, meet](const FileTotals& one) {   // a call for each open
    return static_cast<double>(of(one, direction, false).bytes) / rate + static_cast<double>(std::max<i64>(1, one.opens)) * meet;
  });
  // Records that do not follow each other lie among those of other ranks.
  const bool by_several = several_ranks(file, [](const FileTotals& one) { return of(one, direction, false).calls > 0; });
  const double spread = 2 * all.jumping_calls >= all.calls && by_several
                            ? spread_seconds(job, static_cast<double>(all.bytes), static_cast<double>(all.calls)) : 0;
  const i64 absorbed = file.all.storage[direction == Direction::kWrite ? 1 : 0].absorbed_calls;
  const bool alone = opened_alone(job, file) || !by_several;
  return Detection{number_text(all.calls) + " calls of " + average(all.bytes, all.calls) + " on average" +
                    (absorbed > 0 ? ", " + number_text(absorbed) + " of them only as far as a buffer" : ""),
                {{advice(by_shared_pointer(file) ? Advice::kOrdered : alone ? Advice::kFewerCallsAlone : Advice::kFewerCalls,
                         direction, file.library),
                  now - after - spread, at_most}}};
}

// What independent accesses to several pieces cost beyond collective ones.
Held strided_seconds(const Job& job, const JobFile& file, Direction direction) {
  const ClassTotals& all = of(file.all, direction, false);
  const auto alone = [direction](const FileTotals& one) { return seconds_of(of(one, direction, false).ns); };
  const auto [now, at_most] = seconds_held(job, file, alone, direction == Direction::kRead ? alone_reads : alone_writes);
  const i64 piece = std::max<i64>(1, all.piece_bytes / all.calls);
  const auto calls = static_cast<i64>(worst(file, [direction](const FileTotals& one) { return static_cast<double>(of(one, direction, false).calls); }));
  return {now - seconds_together(job, file, Moved{direction, all.bytes, all.bytes / piece, calls}), at_most};
}

// Each call is a meeting of the ranks, for little data.
std::optional<Detection> small_collectives(const Job& job, const JobFile& file) {
  const ClassTotals &reads = of(file.all, Direction::kRead, true), &writes = of(file.all, Direction::kWrite, true);
  const double most = worst(file, [](const FileTotals& one) {
    return static_cast<double>(of(one, Direction::kRead, true).calls + of(one, Direction::kWrite, true).calls);
  });
  const i64 calls = reads.calls + writes.calls;
  // Half of the calls at least are small, too, if the average is less than half as much: ranks without data take part in many calls.
  const bool small = 2 * (reads.small_calls + writes.small_calls) >= calls || 2 * (reads.bytes + writes.bytes) < calls * kSmallBytes;
  if (file.all.ranks < 2 || most < kManyCalls || !small) return {};
  if (most < kManyTimes * worst(file, opens_of)) return {};   // they are the first ones of opens, which take longer
  const double work = worst(file, collective_work);
  double after = 0;
  for (const Direction way : {Direction::kRead, Direction::kWrite}) {
    const ClassTotals& all = of(file.all, way, true);
    const Moved moved{way, all.bytes, all.calls, std::max<i64>(1, file.all.opens / file.all.ranks)};   // a call for each open
    if (all.calls > 0) after += seconds_well_made(job, file, moved, usual_meeting(job));
  }
  const Advice what = by_shared_pointer(file) ? Advice::kOrdered : Advice::kFewerCalls;
  return Detection{number_text(static_cast<i64>(most)) + " collective calls a rank, of " +
                       average(reads.bytes + writes.bytes, calls) + " on average",
                {{advice(what, main_direction(file), file.library), work + waits_in_turns(file, work) - after}}};
}

template <Direction direction>
std::optional<Detection> strided(const Job& job, const JobFile& file) {
  const ClassTotals& all = of(file.all, direction, false);
  if (all.calls == 0 || 10 * all.strided_calls < all.calls) return {};
  if (!several_ranks_stride(file, direction)) return {};
  if (direction == Direction::kWrite && merges(file)) return {};
  if (direction == Direction::kRead && (reads_holes(file) || times_read(file) > 0)) return {};
  const auto [saved, at_most] = strided_seconds(job, file, direction);
  return Detection{number_text(all.strided_calls) + " independent calls, pieces of " + average(all.piece_bytes, all.calls) + " on average",
                {{together_advice(job, file, direction), saved, at_most}}};
}

// Where the hint was given, of its note "key=value (where): applied"; empty: not known.
std::string place_of_hint(const JobFile& file, const std::string& hint) {
  const std::string begin = hint + " (", end = "): applied";
  for (const TraceText& text : file.texts) {
    const std::size_t at = text.kind == TextKind::kNotes ? text.text.find(begin) : std::string::npos;
    if (at == std::string::npos) continue;
    const std::string line = text.text.substr(at, text.text.find('\n', at) - at);
    if (line.ends_with(end)) return line.substr(begin.size(), line.size() - begin.size() - end.size());
  }
  return "";
}

std::optional<Detection> one_aggregator(const Job&, const JobFile& file) {
  const i64 calls = of(file.all, Direction::kWrite, true).calls + of(file.all, Direction::kRead, true).calls;
  const i64 alone = of(file.all, Direction::kWrite, false).calls + of(file.all, Direction::kRead, false).calls;
  if (calls == 0 || alone > calls || file.all.ranks < 4 || !has_text(file, TextKind::kNotes, "cb_nodes=1 ")) return {};
  if (ranks_where(file, [](const FileTotals& one) { return one.storage[0].calls + one.storage[1].calls > 0; }) != 1)
    return {};
  // What the one does, two would share; the others wait for it.
  const double busy = worst(file, [](const FileTotals& one) {
    i64 ns = 0;
    for (const Phase phase : {Phase::kStorage, Phase::kCopy, Phase::kExchange, Phase::kSieve, Phase::kLock}) ns += one.phase_ns(phase);
    return seconds_of(ns);
  });
  const std::string place = place_of_hint(file, "cb_nodes=1");
  return Detection{"cb_nodes=1 with " + number_text(file.all.ranks) + " ranks: one of them makes all storage calls",
                {{"drop the hint cb_nodes=1" + (place.empty() ? "" : " (of " + place + ")") + ": the number of aggregators is chosen for you", busy / 2}}};
}

double bytes_written_alone(const FileTotals& one) { return static_cast<double>(of(one, Direction::kWrite, false).bytes); }

// How long the rank that writes does something else than I/O, from its first call on the file to its last.
double between_writes(const Job& job, const JobFile& file) {
  const auto writes_less = [](const FileTotals& a, const FileTotals& b) { return bytes_written_alone(a) < bytes_written_alone(b); };
  const auto rank = std::max_element(file.by_rank.begin(), file.by_rank.end(), writes_less) - file.by_rank.begin();
  const FileTotals& writer = file.by_rank[static_cast<std::size_t>(rank)];
  if (writer.last_ns <= 0) return std::numeric_limits<double>::max();   // not known
  i64 ns = writer.last_ns - writer.first_ns - writer.held_ns();
  for (const JobFile& other : job.files) {
    if (std::find(file.members.begin(), file.members.end(), &other) == file.members.end()) ns -= other.by_rank[static_cast<std::size_t>(rank)].held_ns();
  }
  return std::max(0.0, seconds_of(ns));
}

// What one rank writes of the others has come to it first: the data of one call before the call, that of the rest between them. To whom what it reads
// goes is not known.
double seconds_to_collect(const Job& job, const JobFile& file, double now) {
  const double bytes = worst(file, bytes_written_alone);
  const double of_a_call = bytes / std::max(1.0, static_cast<double>(calls_of_a_rank(file, Direction::kWrite)));
  const double rest = std::min(between_writes(job, file), seconds_collected(job, bytes - of_a_call));
  return std::clamp(run_seconds(job) - now, 0.0, seconds_collected(job, of_a_call) + rest);
}

// All ranks make the calls, but one has the data.
Detection serial_together(const Job& job, const JobFile& file, double most) {
  const double now = worst(file, collective_work);
  const double parts = static_cast<double>(std::min(file.all.ranks, 2 * job.hosts));
  return Detection{"one of " + number_text(file.all.ranks) + " ranks has " + bytes_text(most) + " of the data of collective calls, which take " + seconds_text(now),
                {{"divide the data of these collective calls evenly among the ranks", now * (1 - 1 / parts)}}};
}

std::optional<Detection> serial(const Job& job, const JobFile& file) {
  const i64 bytes = file.all.bytes(), together = of(file.all, Direction::kRead, true).bytes + of(file.all, Direction::kWrite, true).bytes;
  const double most = worst(file, [](const FileTotals& one) { return static_cast<double>(one.bytes()); });
  if (job.ranks < 2 || most < 1e6 || most < 0.9 * static_cast<double>(bytes)) return {};
  if (10 * together > 9 * bytes && file.all.ranks > 1) return serial_together(job, file, most);
  if (10 * together > bytes) return {};
  const auto [now, at_most] = seconds_held(job, file, [](const FileTotals& one) {
    return seconds_of(of(one, Direction::kRead, false).ns + of(one, Direction::kWrite, false).ns);
  }, [](const FileTotals& one) { return static_cast<double>(one.bytes()); });
  const double parts = static_cast<double>(std::min(job.ranks, 2 * job.hosts));
  const auto calls = static_cast<double>(calls_of_a_rank(file, Direction::kRead) + calls_of_a_rank(file, Direction::kWrite));
  const double shared = now * (1 - 1 / parts), collected = seconds_to_collect(job, file, now);
  const std::string collecting = collected > 0 ? ", and may take longer than the " + seconds_text(collected) + " counted here to get it from the others" : "";
  return Detection{"one of " + number_text(job.ranks) + " ranks moves " + bytes_text(most) + " in " + seconds_text(now) + collecting,
                {{advice(Advice::kAllRanks, main_direction(file), file.library),
                  shared + collected - calls * own_meeting(job, file), at_most || collected > shared}}};
}

double reopens_of(const FileTotals& one) { return static_cast<double>(one.reopens); }
double syncs_of(const FileTotals& one) { return static_cast<double>(one.syncs); }

// The first open of a job takes longer than those that follow.
double first_open(const JobFile& file) {
  return worst(file, [](const FileTotals& one) { return seconds_of(one.first_open_ns); });
}

// Opening and closing as often as `again` in `opens`, with what is due to it. The accesses and the first open stay.
double opening_saved(const Job& job, const JobFile& file, const OpeningCost& cost, double again, double opens) {
  const double most = std::min(cost.all(), run_seconds(job) - accesses_well_made(job, file));
  return std::max(0.0, std::min(most * again / opens, most - first_open(file)));
}

// What is less than a tenth of it is not worth a word.
std::string text_of(const OpeningCost& cost) {
  std::string text = seconds_text(cost.opening) + " for opening and closing";
  const std::pair<double, const char*> others[] = {{cost.first_accesses, " for first accesses after it"}, {cost.in_turns, " for ranks that come late from it"}};
  for (const auto& [seconds, what] : others) {
    if (10 * seconds >= cost.all() && seconds > 0) text += ", " + seconds_text(seconds) + what;
  }
  return text;
}

// Each of its files.
bool opened_often(const JobFile& file) {
  return worst(file, [](const FileTotals& one) { return opens_of(one) / std::max(1.0, different_of(one)); }) >= kManyTimes;
}

std::optional<Detection> reopened(const Job& job, const JobFile& file) {
  if (!opened_often(file)) return {};
  const double opens = worst(file, opens_of), again = worst(file, reopens_of);
  const OpeningCost cost = opening_cost(job, file);
  return Detection{"opened " + number_text(static_cast<i64>(opens)) + " times, " + text_of(cost),
                {{advice(Advice::kOpenOnce, main_direction(file), file.library), opening_saved(job, file, cost, again, opens),
                  seconds_held(job, file, opening_seconds, opens_of).at_most}}};
}

std::optional<Detection> many_files(const Job& job, const JobFile& file) {
  const double different = worst(file, different_of);
  if (different < kManyTimes) return {};
  const Advice what = opened_alone(job, file) ? Advice::kFewerFilesAlone : Advice::kFewerFiles;
  const OpeningCost cost = opening_cost(job, file);
  return Detection{number_text(static_cast<i64>(different)) + " different files a rank, " + text_of(cost),
                {{advice(what, main_direction(file), file.library), opening_saved(job, file, cost, different - 1, different),
                  seconds_held(job, file, opening_seconds, opens_of).at_most}}};
}

bool synced_often(const JobFile& file) {
  return worst(file, syncs_of) >= kManyTimes;
}

std::optional<Detection> many_syncs(const Job& job, const JobFile& file) {
  if (!synced_often(file)) return {};
  const double syncs = worst(file, syncs_of), left = static_cast<double>(file.members.size());
  const double now = worst(file, sync_seconds);
  // The last one then has all to do.
  const double last = static_cast<double>(bytes_written(file)) / kSyncedBytesPerSecond;
  return Detection{number_text(static_cast<i64>(syncs)) + " syncs, " + seconds_text(now),
                {{advice(Advice::kSyncOnce, Direction::kWrite, file.library), (now + waits_in_turns(file, now)) * (1 - left / syncs) - last,
                    seconds_held(job, file, sync_seconds, syncs_of).at_most}}};
}

std::optional<Detection> same_data_read(const Job& job, const JobFile& file) {
  if (!worth_reading_once(file)) return {};
  const double times = times_read(file), passes = std::max(1.0, passes_of(file));
  const auto reads = [](const FileTotals& one) { return seconds_of(of(one, Direction::kRead, false).ns); };
  const auto [now, at_most] = seconds_held(job, file, reads, alone_reads);
  Detection detection{bytes_text(read_ranges(file)) + " read " + number_text(static_cast<i64>(times)) + " times altogether", {}};
  if (passes >= 2) {   // if it is opened each time, most of the opens go with the reads
    const bool opened_for_each = worst(file, opens_of) >= passes;
    const auto reads_and_opens = [&](const FileTotals& one) { return reads(one) + opening_seconds(one); };
    const Held passed = opened_for_each ? seconds_held(job, file, reads_and_opens, alone_reads) : Held{now, at_most};
    detection.options.push_back({"read it once, and keep it in memory", passed.seconds * (1 - 1 / passes), passed.at_most});
  }
  const Advice once = opened_alone(job, file) ? Advice::kReadOnceAlone : Advice::kReadOnce;
  if (!is_local(file))
    detection.options.push_back({advice(once, Direction::kRead, file.library), now * (1 - 1 / times) - seconds_collected(job, read_ranges(file)), at_most});
  return detection;
}

// Ranks ask for the size again and again.
std::optional<Detection> size_queries(const Job& job, const JobFile& file) {
  const auto calls_of = [](const FileTotals& one) { return static_cast<double>(one.size_calls); };
  const double calls = worst(file, calls_of);
  if (calls < static_cast<double>(kManyCalls)) return {};
  const auto [now, at_most] = seconds_held(job, file, [](const FileTotals& one) { return seconds_of(one.size_ns); }, calls_of);
  return Detection{number_text(static_cast<i64>(calls)) + " calls a rank that ask for it (MPI_File_get_size, or MPI_File_seek with MPI_SEEK_END), " + seconds_text(now),
                   {{"ask once, and count what is written since", now * (1 - static_cast<double>(file.members.size()) / calls), at_most}}};
}

std::optional<Detection> small_stripes(const Job& job, const JobFile& file) {
  const i64 calls = of(file.all, Direction::kWrite, true).calls + of(file.all, Direction::kRead, true).calls;
  const StorageTotals &reads = file.all.storage[0], &writes = file.all.storage[1];
  const i64 requests = reads.calls + writes.calls;
  if (calls == 0 || requests < 100 || !has_text(file, TextKind::kNotes, "striping_unit=")) return {};
  const double mean = static_cast<double>(reads.bytes + writes.bytes) / static_cast<double>(requests),
               enough = 256 * 1024;
  if (mean >= enough) return {};
  const double now = worst(file, collective_work);
  const double after = collectives_well_made(job, file);
  return Detection{number_text(requests) + " storage requests of " + bytes_text(mean),
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
                      number_text(static_cast<i64>(servers)),
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
  const double one_block_less = static_cast<double>(unit) / (static_cast<double>(writes.bytes) / static_cast<double>(writes.calls) + static_cast<double>(unit));
  Detection detection{number_text(writes.misaligned_calls) + " of " + number_text(writes.calls) + " write requests begin inside a block of " +
                    bytes_text(static_cast<double>(unit)),
                {{alignment_advice(unit, file.library), std::min(0.2, one_block_less) * storage_seconds(file, 1)}}};
  if (alone.calls > 0 && file.all.ranks > 1 && file.all.stripe_bytes > 0) {   // aggregators write whole stripes
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
  constexpr i64 kNamed = 8;
  std::string refused;
  i64 count = 0;
  for (const TraceText& text : file.texts) {
    if (text.kind != TextKind::kNotes) continue;
    for (std::size_t at = 0, end; at < text.text.size(); at = end + 1) {
      end = std::min(text.text.find('\n', at), text.text.size());
      const std::string line = text.text.substr(at, end - at);
      if (!is_ignored(file, line) || refused.find(line) != std::string::npos) continue;
      if (++count <= kNamed) refused += (refused.empty() ? "" : "; ") + line;
    }
  }
  if (count == 0) return {};
  if (count > kNamed) refused += "; and " + number_text(count - kNamed) + " more";
  return Detection{refused, {{"correct or drop " + std::string(count == 1 ? "it" : "them") + "; `mercutio hints` lists what there is", 0}}};
}

struct Way {
  Detect* detect;
  Applies* applies = nullptr;
  bool whatever_it_costs = false;
  bool beyond_io = false;
};
constexpr Way kWays[] = {{small<Direction::kWrite>},
                         {small<Direction::kRead>},
                         {strided<Direction::kRead>},
                         {strided<Direction::kWrite>},
                         {amplified_reads, nullptr, true},
                         {merged_writes, nullptr, true},
                         {small_collectives},
                         {one_aggregator},
                         {straggler, nullptr, false, true},
                         {slow_storage},
                         {serial, nullptr, false, true},
                         {reopened, opened_often},
                         {many_files},
                         {many_syncs, synced_often},
                         {resized, resized_often},
                         {size_queries},
                         {many_views, viewed_often},
                         {many_settings, set_often},
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
    all.push_back(Rule{kTexts[i][0], kTexts[i][1], kWays[i].detect, kWays[i].applies, kWays[i].whatever_it_costs, kWays[i].beyond_io});
  return all;
}

}  // namespace mercutio
