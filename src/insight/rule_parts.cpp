#include "insight/rule_parts.h"

#include <algorithm>

#include "insight/costs.h"
#include "insight/remedies.h"

namespace mercutio {

i64 ranks_where(const JobFile& file, const std::function<bool(const FileTotals&)>& holds) {
  return std::count_if(file.by_rank.begin(), file.by_rank.end(), holds);
}

double sum_of_members(const JobFile& file, const std::function<double(const JobFile&)>& value) {
  double sum = 0;
  for (const JobFile* one : file.members) sum += value(*one);
  return sum * file.times;
}

double sum_of_ranks(const JobFile& file, const std::function<double(const FileTotals&)>& value) {
  double sum = 0;
  for (const FileTotals& one : file.by_rank) sum += value(one);
  return sum;
}

std::string number_text(i64 value) {
  std::string text = std::to_string(value);
  for (int at = static_cast<int>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string names_of_ranks(const Job& job, const std::vector<std::size_t>& ranks) {
  constexpr std::size_t kNamed = 2;
  const auto name = [&](std::size_t i) { return number_text(job.traces[ranks[i]].header.rank); };
  std::string text = (ranks.size() > 1 ? "ranks " : "rank ") + name(0);
  if (ranks.size() > 1) text += (ranks.size() > kNamed ? ", " : " and ") + name(1);
  return ranks.size() > kNamed ? text + " and " + number_text(static_cast<i64>(ranks.size() - kNamed)) + " more" : text;
}

double queued_seconds(const RankTrace& trace) {
  return seconds_of(trace.header.cores.queued_ns) / static_cast<double>(trace.header.members);
}

bool has_text(const JobFile& file, TextKind kind, const std::string& part) {
  return std::any_of(file.texts.begin(), file.texts.end(), [&](const TraceText& text) {
    return text.kind == kind && text.text.find(part) != std::string::npos;
  });
}

double alone_calls(const FileTotals& one, Direction direction) {
  return static_cast<double>(of(one, direction, false).calls);
}

i64 calls_of_a_rank(const JobFile& file, Direction direction) {
  return static_cast<i64>(worst(file, [direction](const FileTotals& one) { return alone_calls(one, direction); }));
}

double read_range(const FileTotals& totals) {
  const ClassTotals& reads = of(totals, Direction::kRead, false);
  return static_cast<double>(reads.end_place - reads.begin_place);
}

double read_ranges(const JobFile& file) {
  return sum_of_members(file, [](const JobFile& one) { return read_range(one.all) * (one.is_pattern ? static_cast<double>(one.files()) : 1); });
}

i64 bytes_written(const JobFile& file) {
  return of(file.all, Direction::kWrite, false).bytes + of(file.all, Direction::kWrite, true).bytes;
}

Direction main_direction(const JobFile& file) {
  return 2 * bytes_written(file) >= file.all.bytes() ? Direction::kWrite : Direction::kRead;
}

Written written_by_program(const JobFile& file) {
  const FileTotals& all = file.all;
  return {bytes_written(file) - all.adapted_written_bytes, all.storage[1].bytes - all.adapted_stored_bytes,
          all.merged_bytes - all.adapted_merged_bytes};
}

bool merges(const JobFile& file) {
  const Written written = written_by_program(file);
  return written.asked > 0 && 10 * written.excess() > written.asked;
}

Excess excess_of(const JobFile& file) {
  Excess excess;
  const FileTotals& all = file.all;
  excess.asked = of(all, Direction::kRead, false).bytes + of(all, Direction::kRead, true).bytes - all.adapted_read_bytes;
  excess.moved = all.storage[0].bytes - all.merged_bytes - (all.adapted_fetched_bytes - all.adapted_merged_bytes);
  excess.holes = all.hole_bytes - all.adapted_hole_bytes;
  excess.unused = file.all.storage[0].unused_bytes;
  excess.windows = std::max<i64>(0, excess.moved - excess.asked - excess.holes - excess.unused);
  return excess;
}

bool reads_holes(const JobFile& file) {
  const Excess excess = excess_of(file);
  return excess.noticeable() && excess.by_holes();
}

bool opened_alone(const Job& job, const JobFile& file) {
  return file.all.ranks == 1 && job.ranks > 1;
}

bool by_shared_pointer(const JobFile& file) {
  return file.all.shared_calls > 0 && 2 * file.all.shared_calls >= file.all.calls();
}

std::string together_advice(const Job& job, const JobFile& file, Direction direction) {
  const Advice what = opened_alone(job, file) ? Advice::kAllRanks : Advice::kTogether;
  return advice(by_shared_pointer(file) ? Advice::kOrdered : what, direction, file.library);
}

bool several_ranks(const JobFile& file, const std::function<bool(const FileTotals&)>& holds) {
  return std::any_of(file.members.begin(), file.members.end(), [&](const JobFile* one) {
    return (one->all.ranks > 1 || !one->is_pattern) && ranks_where(*one, holds) >= 2;
  });
}

bool several_ranks_stride(const JobFile& file, Direction direction) {
  return several_ranks(file, [direction](const FileTotals& mine) { return of(mine, direction, false).strided_calls > 0; });
}

}  // namespace mercutio
