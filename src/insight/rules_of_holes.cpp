// The rules for data that moves only because it lies between what is asked for: writes that read, merge and write back, and reads of holes.
#include <algorithm>

#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/remedies.h"
#include "insight/rule_parts.h"

namespace mercutio {
namespace {

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

// Of what is written to a file, the accesses that merge.
struct Merging {
  double stored = 0;    // what storage wrote for them,
  double part = 1;      // of all that it wrote,
  double sieved = 1;    // and of all that was read to be merged
  double bytes = 0;     // their new data
  double pieces = 0;
  double new_part() const { return stored > 0 ? std::min(1.0, bytes / stored) : 1; }
};

Merging merging_of(const JobFile& file) {
  const Written all = written_by_program(file);
  const auto written = static_cast<double>(all.asked), stored = static_cast<double>(all.stored);
  const auto merged = std::min(stored, static_cast<double>(all.merged));
  // What was read to be merged was written back: the data, and the holes, which are more than the program wrote. A new file has nothing to
  // be read; then all may be merging.
  const ClassTotals &alone = of(file.all, Direction::kWrite, false), &together = of(file.all, Direction::kWrite, true);
  const auto pieces = static_cast<double>(alone.piece_bytes + together.piece_bytes), calls = static_cast<double>(std::max<i64>(1, alone.calls + together.calls));
  const auto strided = static_cast<double>(alone.strided_calls + together.strided_calls);
  const double holes = std::max(0.0, stored - written);
  Merging merging{.stored = stored, .bytes = written};
  // Where the file grows meanwhile, less is read than written back. Independent writes are merged all alike, if all of them are strided.
  const bool alike = together.calls == 0 && alone.strided_calls == alone.calls;
  if (merged > holes && !alike) merging.stored = merged, merging.bytes = merged - holes;
  // Of all, with those that mercutio_adapt has carried out in another way.
  const auto part = [](double some, i64 of_all) { return of_all > 0 ? some / static_cast<double>(of_all) : 1; };
  merging.part = part(merging.stored, file.all.storage[1].bytes);
  merging.sieved = part(static_cast<double>(all.merged), file.all.merged_bytes);
  // Calls that are not strided have one piece each, with all of the rest.
  const double of_strided = pieces - (written - merging.bytes);
  const double piece = strided > 0 && strided < calls && of_strided > 0 ? of_strided / strided : pieces / calls;
  merging.pieces = merging.bytes / std::max(1.0, piece);
  return merging;
}

double phase_seconds(const ClassTotals& part, Phase phase) {
  return seconds_of(part.phase_ns[static_cast<std::size_t>(phase)]);
}

// What reading to merge takes a rank of these writes.
double sieving_seconds(const ClassTotals& writes, const Merging& merging) {
  return merging.sieved * (phase_seconds(writes, Phase::kSieve) + phase_seconds(writes, Phase::kLock));
}

// What merging takes a rank of these writes.
double merging_seconds(const ClassTotals& writes, const Merging& merging) {
  return sieving_seconds(writes, merging) + merging.part * phase_seconds(writes, Phase::kStorage);
}

// What the holes take a rank of its collective writes. The range is written window by window, and each window is exchanged for itself.
// Messages carry the data in any case.
double holes_seconds(const FileTotals& one, const Merging& merging) {
  const ClassTotals& writes = of(one, Direction::kWrite, true);
  const double exchange = one.message_bytes > 0 ? 0 : phase_seconds(writes, Phase::kExchange);
  return sieving_seconds(writes, merging) + merging.part * (phase_seconds(writes, Phase::kStorage) + exchange) * (1 - merging.new_part());
}

// Independent writes do all for storage: the rest of their time is divided like what they have to do with it.
double merging_alone_seconds(const FileTotals& one, const Merging& merging) {
  const ClassTotals& writes = of(one, Direction::kWrite, false);
  const double all = merging_seconds(writes, Merging{});
  return seconds_of(writes.ns) * (all > 0 ? merging_seconds(writes, merging) / all : merging.part);
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

// What storage takes a rank for its reads of a kind, but for what is read to be merged.
double reading_seconds(const FileTotals& one, bool collective) {
  const auto kind = [&one](bool which) { return of(one, Direction::kRead, which); };
  double mine = phase_seconds(kind(collective), Phase::kStorage), others = phase_seconds(kind(!collective), Phase::kStorage);
  if (mine + others <= 0) mine = static_cast<double>(kind(collective).bytes), others = static_cast<double>(kind(!collective).bytes);
  const auto moved = static_cast<double>(one.storage[0].bytes), merged = static_cast<double>(one.merged_bytes);
  return mine <= 0 || moved <= merged ? 0 : seconds_of(one.storage[0].ns) * (1 - merged / moved) * mine / (mine + others);
}

// Some calls have several pieces and others one: what is known of pieces on average says nothing of the small ones.
bool reads_are_mixed(const JobFile& file) {
  const ClassTotals &alone = of(file.all, Direction::kRead, false), &together = of(file.all, Direction::kRead, true);
  const i64 strided = alone.strided_calls + together.strided_calls;
  return strided > 0 && strided < alone.calls + together.calls;
}

// Of the reads of a file. A call that has several pieces has at least two.
double pieces_read(const JobFile& file) {
  const ClassTotals &alone = of(file.all, Direction::kRead, false), &together = of(file.all, Direction::kRead, true);
  const auto calls = static_cast<double>(std::max<i64>(1, alone.calls + together.calls)), strided = static_cast<double>(alone.strided_calls + together.strided_calls);
  const auto firsts = static_cast<double>(alone.piece_bytes + together.piece_bytes), others = static_cast<double>(alone.bytes + together.bytes) - firsts;
  const double piece = strided > 0 && others > 0 ? std::min(firsts / calls, others / strided) : firsts / calls;
  return calls + std::max(0.0, others) / std::max(1.0, piece);
}

}  // namespace

std::optional<Detection> merged_writes(const Job& job, const JobFile& file) {
  if (!merges(file)) return {};
  const Merging merging = merging_of(file);
  const auto merging_alone = [&merging](const FileTotals& one) { return merging_alone_seconds(one, merging); };
  const auto [alone, at_most] = seconds_held(job, file, merging_alone, alone_writes);
  const double together = worst(file, [&](const FileTotals& one) {
    const ClassTotals& writes = of(one, Direction::kWrite, true);
    return seconds_with_turns(job, writes, merging_seconds(writes, merging));
  });
  const Written all = written_by_program(file);
  const auto written = static_cast<double>(all.asked), stored = static_cast<double>(all.stored), merged = static_cast<double>(all.merged);
  const double apart = is_local(file) ? seconds_in_pieces(job, file, Direction::kWrite, merging.bytes, merging.pieces) : alone + together;
  const bool asked = has_text(file, TextKind::kNotes, "romio_ds_write=enable");
  Detection detection{bytes_text(merged) + " read and " + bytes_text(stored) + " written to write " + bytes_text(written) +
                    (file.all.locks > 0 ? ", " + number_text(file.all.locks) + " locks" : ""),
                {{asked ? "drop romio_ds_write=enable" : "export MERCUTIO_HINTS=romio_ds_write=disable", alone + together - apart, at_most}}};
  const double overlap = overlap_of(file);
  const auto writes = [](const FileTotals& mine) { return of(mine, Direction::kWrite, false).calls + of(mine, Direction::kWrite, true).calls > 0; };
  if (!several_ranks(file, writes) || !worth_moving_together(file, written, stored, overlap)) return detection;
  if (of(file.all, Direction::kWrite, false).bytes <= of(file.all, Direction::kWrite, true).bytes) {
    const double holes = worst(file, [&](const FileTotals& one) {
      return seconds_with_turns(job, of(one, Direction::kWrite, true), holes_seconds(one, merging));
    });
    detection.options.push_back({"let the ranks together write without holes", holes});
    return detection;
  }
  // Together, the file is read and written back once where the ranks' parts of it overlap. Where they don't, the new data alone moves
  // when nothing is merged, which is also quicker where it is little of what is read.
  const double left = std::max(overlap >= 1.5 ? 1 / overlap : 0, written / (written + merged + stored));
  const double exchange = spread_seconds(job, merging.bytes, merging.pieces) + static_cast<double>(calls_of_a_rank(file, Direction::kWrite)) * own_meeting(job, file);
  detection.options.push_back({together_advice(job, file, Direction::kWrite), alone - worst(file, merging_alone) * left - exchange, at_most});
  return detection;
}

// Pieces alone are a request each.
std::optional<Detection> amplified_reads(const Job& job, const JobFile& file) {
  const Excess excess = excess_of(file);
  if (!excess.noticeable()) return {};
  const double part = static_cast<double>(excess.bytes()) / static_cast<double>(std::max(excess.moved, excess.bytes()));
  const auto [alone, at_most] = seconds_held(job, file, [](const FileTotals& one) { return reading_seconds(one, false); }, alone_reads);
  const double reading = alone + worst(file, [&job](const FileTotals& one) { return seconds_with_turns(job, of(one, Direction::kRead, true), reading_seconds(one, true)); });
  const double saved = part * reading;
  const Option closer{"put what is read together closer together in the file", saved, at_most};
  const bool together = of(file.all, Direction::kRead, true).bytes > of(file.all, Direction::kRead, false).bytes;
  if (!excess.by_holes()) {
    const bool advance = excess.unused >= excess.windows, asked = has_text(file, TextKind::kNotes, "mercutio_read_ahead=enable");
    const Option without{asked ? "drop mercutio_read_ahead=enable" : "export MERCUTIO_HINTS=mercutio_read_ahead=disable",
                         saved - (advance ? seconds_without_read_ahead(job, file) : 0), at_most};
    return Detection{excess_text(excess), {advance ? without : closer}};
  }
  Detection detection{excess_text(excess), {}};
  if (several_ranks_stride(file, Direction::kRead) && worth_moving_together(file, static_cast<double>(excess.asked), static_cast<double>(excess.moved), overlap_of_reads(file))) {
    const auto reads = [](const FileTotals& one) { return seconds_of(of(one, Direction::kRead, false).ns); };
    const double now = seconds_held(job, file, reads, alone_reads).seconds;
    detection.options.push_back({together_advice(job, file, Direction::kRead), now - seconds_of_reads_together(job, file, excess), at_most});
  }
  const bool asked = has_text(file, TextKind::kNotes, "romio_ds_read=enable");
  const std::string apart = std::string("export MERCUTIO_HINTS=\"") + (together ? "romio_cb_read=disable;" : "") + "romio_ds_read=disable\"";
  const double seconds_apart = is_local(file) ? seconds_in_pieces(job, file, Direction::kRead, static_cast<double>(excess.asked), pieces_read(file)) : reading;
  if (!is_local(file) || !reads_are_mixed(file))
    detection.options.push_back({asked && !together ? "drop romio_ds_read=enable" : apart, reading - seconds_apart, at_most});
  detection.options.push_back(closer);
  return detection;
}

}  // namespace mercutio
