#include "insight/job_summary.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "insight/likeness.h"
#include "insight/name_patterns.h"

namespace mercutio {
namespace {

constexpr i64 kRanksShown = 64;  // to the rules: as many as they need for averages and extremes

struct CodedFile {
  std::array<char, 256> name;
  std::array<char, 64> amode;
  std::array<char, 32> file_system, library;
  i64 is_pattern, is_partial;
};
struct CodedSizes {
  i64 files, groups;
};
struct CodedTotals {
  FileTotals totals;
  std::array<i64, kClasses> ranges;
};
static_assert(std::is_trivially_copyable_v<CodedTotals> && std::is_trivially_copyable_v<PieceHeader>);

template <class Value>
void put(std::byte*& to, const Value& value) {
  std::memcpy(to, &value, sizeof value);
  to += sizeof value;
}

template <class Value>
Value take(const std::byte*& from) {
  Value value{};
  std::memcpy(static_cast<void*>(&value), from, sizeof value);
  from += sizeof value;
  return value;
}

// Each may be of the largest file.
__extension__ using Wide = __int128;
void add_range(i64& sum, i64 range) {
  if (__builtin_add_overflow(sum, range, &sum)) sum = INT64_MAX;
}

void add_to(AlikeRanks& mine, const AlikeRanks& other) {
  const PieceHeader larger = other.ranks > mine.ranks ? other.header : mine.header;
  PieceHeader joined = larger;
  joined.end_ns = std::max(mine.header.end_ns, other.header.end_ns);
  joined.own_ns = std::max(mine.header.own_ns, other.header.own_ns);
  joined.wall_start_ns = std::min(mine.header.wall_start_ns, other.header.wall_start_ns);
  joined.cores.ran_ns = mine.header.cores.ran_ns + other.header.cores.ran_ns;
  joined.cores.queued_ns = mine.header.cores.queued_ns + other.header.cores.queued_ns;
  joined.cores.turns = mine.header.cores.turns + other.header.cores.turns;
  for (std::size_t way = 0; way < joined.busy_ns.size(); ++way) joined.busy_ns[way] = mine.header.busy_ns[way] + other.header.busy_ns[way];
  joined.held_ns = mine.header.held_ns + other.header.held_ns;
  joined.failed_opens = mine.header.failed_opens + other.header.failed_opens;
  joined.failed_open_ns = mine.header.failed_open_ns + other.header.failed_open_ns;
  if (mine.header.failed_opens > 0) joined.failed_open = mine.header.failed_open;
  mine.header = joined;
  mine.ranks += other.ranks;
  for (std::size_t file = 0; file < mine.files.size(); ++file) {
    mine.files[file].add(other.files[file]);
    for (std::size_t i = 0; i < kClasses; ++i) add_range(mine.ranges[file][i], other.ranges[file][i]);
  }
}

// One of `ranks` alike, the `number`-th.
FileTotals share_of(const AlikeRanks& group, std::size_t file, i64 number) {
  FileTotals one = group.files[file];
  const i64 files = one.files;
  if (group.ranks == 1) return one;
  const auto ranks = static_cast<double>(group.ranks);
  one.multiply(1 / ranks);
  one.files = number == 0 ? files : 0;
  for (std::size_t i = 0; i < kClasses; ++i) {
    ClassTotals& part = one.classes[i];
    if (part.begin_place == 0) continue;
    const i64 range = group.ranges[file][i] / group.ranks, room = part.end_place - part.begin_place - range;
    part.begin_place += static_cast<i64>(static_cast<Wide>(room) * number / (group.ranks - 1));
    part.end_place = part.begin_place + range;
  }
  return one;
}

i64 ranks_shown(const AlikeRanks& group, i64 all) {
  return all <= kRanksShown ? group.ranks : std::max<i64>(1, (group.ranks * kRanksShown + all / 2) / all);
}

}  // namespace

i64 SummaryLimits::bytes() const {
  const auto of_group = static_cast<i64>(sizeof(PieceHeader) + sizeof(i64)) + files * static_cast<i64>(sizeof(CodedTotals));
  return static_cast<i64>(sizeof(CodedSizes)) + files * static_cast<i64>(sizeof(CodedFile)) + groups * of_group;
}

SummaryLimits summary_limits(i64 ranks, i64 files) {
  SummaryLimits limits;
  limits.files = std::clamp<i64>(2 * files, 4, limits.files);
  if (ranks <= 16) limits.groups = std::max<i64>(1, ranks);
  return limits;
}

JobSummary::JobSummary(const RankTrace& trace, const SummaryLimits& limits) : files_(trace.files) {
  AlikeRanks group;
  group.header = trace.header;
  for (FileRecord& file : files_) {
    group.files.push_back(file.totals);
    std::array<i64, kClasses> ranges{};
    for (std::size_t i = 0; i < kClasses; ++i) ranges[i] = file.totals.classes[i].end_place - file.totals.classes[i].begin_place;
    group.ranges.push_back(ranges);
    file.totals = FileTotals();
  }
  groups_.push_back(std::move(group));
  partial_.resize(files_.size());
  shrink(limits);
}

i64 JobSummary::ranks() const {
  i64 sum = 0;
  for (const AlikeRanks& group : groups_) sum += group.ranks;
  return sum;
}

FileTotals JobSummary::totals(std::size_t file) const {
  FileTotals all;
  for (const AlikeRanks& group : groups_) all.add(group.files[file]);
  return all;
}

JobSummary::Held JobSummary::held() const {
  Held all;
  for (const AlikeRanks& group : groups_) {
    i64 sum = group.header.failed_open_ns;
    for (const FileTotals& file : group.files) sum += file.held_ns();
    all.ns += held_ns_of(group.header, sum);
    all.sum_ns += sum;
  }
  return all;
}

std::vector<double> JobSummary::held_seconds() const {
  const Held all = held();
  const double each = held_part_of(all.ns, all.sum_ns) * 1e-9 / static_cast<double>(std::max<i64>(1, ranks()));
  std::vector<double> seconds;
  for (std::size_t file = 0; file < files_.size(); ++file) seconds.push_back(static_cast<double>(totals(file).held_ns()) * each);
  return seconds;
}

double JobSummary::io_seconds() const {
  return static_cast<double>(held().ns) * 1e-9 / static_cast<double>(std::max<i64>(1, ranks()));
}

i64 JobSummary::failed_opens() const {
  i64 sum = 0;
  for (const AlikeRanks& group : groups_) sum += group.header.failed_opens;
  return sum;
}

// The record of each file goes to its place in `files`.
void JobSummary::renumber(std::vector<FileRecord> files, const std::vector<i64>& places) {
  for (AlikeRanks& group : groups_) {
    std::vector<FileTotals> totals(files.size());
    std::vector<std::array<i64, kClasses>> ranges(files.size());
    for (std::size_t i = 0; i < group.files.size(); ++i) {
      const auto place = static_cast<std::size_t>(places[i]);
      totals[place].add(group.files[i]);
      for (std::size_t k = 0; k < kClasses; ++k) add_range(ranges[place][k], group.ranges[i][k]);
    }
    group.files = std::move(totals);
    group.ranges = std::move(ranges);
  }
  std::vector<bool> partial(files.size());
  for (std::size_t i = 0; i < partial_.size(); ++i) {
    if (partial_[i]) partial[static_cast<std::size_t>(places[i])] = true;
  }
  partial_ = std::move(partial);
  files_ = std::move(files);
}

// First names that have a pattern in common become one, then what took least time becomes "(other files)".
void JobSummary::shrink_files(i64 most) {
  if (static_cast<i64>(files_.size()) <= most) return;
  std::vector<FileRecord> kept;
  std::vector<i64> places;
  std::map<std::string, i64> patterns;
  for (const FileRecord& file : files_) {
    const std::string_view name = text_in(file.name);
    const auto [known, fresh] = patterns.emplace(pattern_key(name), static_cast<i64>(kept.size()));
    places.push_back(known->second);
    if (fresh) {
      kept.push_back(file);
      continue;
    }
    FileRecord& pattern = kept[static_cast<std::size_t>(known->second)];
    put_text(pattern.name, widened_pattern(text_in(pattern.name), name));
    pattern.is_pattern = 1;
  }
  renumber(std::move(kept), places);
  if (static_cast<i64>(files_.size()) <= most) return;
  const std::vector<double> held = held_seconds();
  std::vector<std::pair<double, i64>> order;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const bool others = is_other_files(text_in(files_[i].name));
    order.emplace_back(others ? -1 : held[i], static_cast<i64>(i));
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  kept.clear();
  places.assign(files_.size(), most - 1);
  for (i64 i = 0; i < most; ++i) {
    const auto from = order[static_cast<std::size_t>(i)].second;
    kept.push_back(files_[static_cast<std::size_t>(from)]);
    places[static_cast<std::size_t>(from)] = i;
  }
  std::string others(text_in(kept.back().name));
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (places[i] == most - 1) others = other_files(others, text_in(files_[i].name));
  put_text(kept.back().name, others);
  kept.back().is_pattern = 1;
  renumber(std::move(kept), places);
  partial_.back() = false;   // it is what others lack
}

void JobSummary::join_likest() {
  std::vector<Likeness> all;
  for (const AlikeRanks& group : groups_) {
    all.emplace_back(group.ranks);
    for (const FileTotals& totals : group.files) all.back().add(totals);
  }
  const auto [first, second] = likest(all);
  add_to(groups_[first], groups_[second]);
  groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(second));
}

void JobSummary::shrink(const SummaryLimits& limits) {
  shrink_files(limits.files);
  while (static_cast<i64>(groups_.size()) > limits.groups) join_likest();
}

// What the ranks of `other` did to a file for which they have no record.
void JobSummary::mark_partial(const JobSummary& other) {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const std::string_view name = text_in(files_[i].name);
    bool known = is_other_files(name), hidden = false;
    for (const FileRecord& file : other.files_) {
      const std::string_view theirs = text_in(file.name);
      known = known || theirs == name;
      hidden = hidden || is_other_files(theirs) || (file.is_pattern != 0 && pattern_key(theirs) == pattern_key(name));
    }
    if (hidden && !known) partial_[i] = true;
  }
}

void JobSummary::add(const JobSummary& other, const SummaryLimits& limits) {
  JobSummary copy = other;
  copy.mark_partial(*this);
  mark_partial(other);
  std::vector<FileRecord> files = files_;
  std::map<std::string, i64> known;
  for (std::size_t i = 0; i < files_.size(); ++i) known.emplace(record_key(text_in(files_[i].name)), static_cast<i64>(i));
  std::vector<i64> mine, theirs;
  for (std::size_t i = 0; i < files_.size(); ++i) mine.push_back(static_cast<i64>(i));
  for (const FileRecord& file : other.files_) {
    const auto [place, fresh] = known.emplace(record_key(text_in(file.name)), static_cast<i64>(files.size()));
    theirs.push_back(place->second);
    if (fresh) files.push_back(file);
    FileRecord& record = files[static_cast<std::size_t>(place->second)];
    record.is_pattern = std::max(record.is_pattern, file.is_pattern);
    if (!fresh && is_other_files(text_in(file.name))) put_text(record.name, other_files(text_in(record.name), text_in(file.name)));
  }
  copy.renumber(files, theirs);
  renumber(std::move(files), mine);
  for (std::size_t i = 0; i < partial_.size(); ++i) partial_[i] = partial_[i] || copy.partial_[i];
  std::move(copy.groups_.begin(), copy.groups_.end(), std::back_inserter(groups_));
  shrink(limits);
}

void JobSummary::encode(std::span<std::byte> bytes) const {
  std::byte* to = bytes.data();
  put(to, CodedSizes{static_cast<i64>(files_.size()), static_cast<i64>(groups_.size())});
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const FileRecord& file = files_[i];
    put(to, CodedFile{file.name, file.amode, file.file_system, file.library, file.is_pattern, partial_[i] ? 1 : 0});
  }
  for (const AlikeRanks& group : groups_) {
    put(to, group.header);
    put(to, group.ranks);
    for (std::size_t i = 0; i < group.files.size(); ++i) put(to, CodedTotals{group.files[i], group.ranges[i]});
  }
}

JobSummary JobSummary::decode(std::span<const std::byte> bytes) {
  const std::byte* from = bytes.data();
  const auto sizes = take<CodedSizes>(from);
  JobSummary summary;
  for (i64 i = 0; i < sizes.files; ++i) {
    const auto coded = take<CodedFile>(from);
    summary.files_.push_back(FileRecord{coded.name, coded.amode, coded.file_system, coded.library, coded.is_pattern, {}});
    summary.partial_.push_back(coded.is_partial != 0);
  }
  for (i64 i = 0; i < sizes.groups; ++i) {
    AlikeRanks group;
    group.header = take<PieceHeader>(from);
    group.ranks = take<i64>(from);
    for (i64 file = 0; file < sizes.files; ++file) {
      const auto coded = take<CodedTotals>(from);
      group.files.push_back(coded.totals);
      group.ranges.push_back(coded.ranges);
    }
    summary.groups_.push_back(std::move(group));
  }
  return summary;
}

// The texts of a file of `first`, where it is now.
static std::vector<TraceText> texts_for(const std::vector<FileRecord>& files, const RankTrace& first) {
  std::vector<TraceText> texts;
  for (const TraceText& text : first.texts) {
    if (text.file < 0 || text.file >= static_cast<i64>(first.files.size())) continue;
    const std::string_view name = text_in(first.files[static_cast<std::size_t>(text.file)].name);
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string_view known = text_in(files[i].name);
      const bool same = known == name || (files[i].is_pattern != 0 && pattern_key(known) == pattern_key(name));
      if (same) texts.push_back(TraceText{text.kind, static_cast<i64>(i), text.count, text.text});
    }
  }
  return texts;
}

Job JobSummary::job(const RankTrace& first) const {
  std::vector<RankTrace> traces;
  const i64 all = ranks();
  i64 shown = 0, nodes = 1;
  for (const AlikeRanks& group : groups_) shown += ranks_shown(group, all);
  for (const AlikeRanks& group : groups_) {
    const i64 of_group = ranks_shown(group, all);
    for (i64 i = 0; i < of_group; ++i) {
      RankTrace trace;
      trace.header = group.header;
      trace.header.rank = static_cast<i64>(traces.size());
      trace.header.ranks = shown;
      for (i64* const part : {&trace.header.cores.ran_ns, &trace.header.cores.queued_ns, &trace.header.cores.turns, &trace.header.busy_ns[0], &trace.header.busy_ns[1], &trace.header.held_ns, &trace.header.failed_opens, &trace.header.failed_open_ns}) *part /= group.ranks;
      trace.files = files_;
      const i64 number = of_group < 2 ? 0 : i * (group.ranks - 1) / (of_group - 1);
      for (std::size_t file = 0; file < files_.size(); ++file) {
        trace.files[file].totals = share_of(group, file, number);
        nodes = std::max(nodes, trace.files[file].totals.nodes);
        trace.files[file].totals.ranks = std::min(trace.files[file].totals.ranks, shown);
      }
      if (traces.empty()) trace.texts = texts_for(files_, first);
      traces.push_back(std::move(trace));
    }
  }
  Job job = job_of(std::move(traces));
  job.hosts = all <= kRanksShown ? nodes : std::max<i64>(1, nodes * shown / all);
  return job;
}

}  // namespace mercutio
