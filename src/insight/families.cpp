#include "insight/families.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "insight/name_patterns.h"

namespace mercutio {
namespace {

void add_texts(std::vector<TraceText>& mine, const std::vector<TraceText>& others) {
  for (const TraceText& text : others) {
    const auto known = std::find_if(mine.begin(), mine.end(), [&](const TraceText& one) { return one.kind == text.kind && one.text == text.text; });
    known == mine.end() ? mine.push_back(text) : void(known->count += text.count);
  }
}

// The time with all of them is the sum of the times with each: between them the program did something else. It is no longer than from
// the first to the last, where they were used in turns.
FileTotals sum_of(const std::vector<const FileTotals*>& parts) {
  FileTotals sum = *parts.front();
  i64 spans = sum.last_ns - sum.first_ns;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    sum.add(*parts[i]);
    spans += parts[i]->last_ns - parts[i]->first_ns;
  }
  sum.last_ns = std::min(sum.last_ns, sum.first_ns + spans);
  return sum;
}

}  // namespace

JobFile merge_files(const std::vector<const JobFile*>& files) {
  JobFile all = *files.front();
  all.members = files;
  for (std::size_t i = 1; i < files.size(); ++i) {
    const JobFile& one = *files[i];
    const bool alike = pattern_key(all.name) == pattern_key(one.name);
    all.name = alike ? widened_pattern(all.name, one.name) : all.name;
    all.is_pattern = all.is_pattern || one.is_pattern;
    add_texts(all.texts, one.texts);
  }
  std::vector<const FileTotals*> parts(files.size());
  const auto each = [&](auto totals) { std::transform(files.begin(), files.end(), parts.begin(), totals); };
  each([](const JobFile* one) { return &one->all; });
  all.all = sum_of(parts).as_held();
  for (std::size_t rank = 0; rank < all.by_rank.size(); ++rank) {
    each([rank](const JobFile* one) { return &one->by_rank[rank]; });
    all.by_rank[rank] = sum_of(parts).as_held();
  }
  return all;
}

JobFile times_as_many(JobFile family, double times) {
  family.times *= times;
  family.all.multiply(times);
  for (FileTotals& one : family.by_rank) one.multiply(times);
  return family;
}

bool has_met(const FileTotals& one) {
  return one.opens + one.closes + one.syncs + one.resizes + one.views + one.calls() > 0;
}

std::vector<MeetingRanks> meetings_of(const JobFile& family) {
  std::map<std::pair<bool, std::vector<bool>>, std::vector<const JobFile*>> together;
  for (const JobFile* one : family.members) {
    std::vector<bool> ranks;
    for (const FileTotals& rank : one->by_rank) ranks.push_back(has_met(rank));
    const bool known = std::count(ranks.begin(), ranks.end(), true) <= std::max<i64>(1, one->all.ranks);
    together[{known, std::move(ranks)}].push_back(one);
  }
  std::vector<MeetingRanks> all;
  for (const auto& [what, files] : together) all.push_back({times_as_many(merge_files(files), family.times), what.first});
  return all;
}

std::vector<JobFile> families_of(const Job& job) {
  std::unordered_map<std::string, std::size_t> places;
  std::vector<std::vector<const JobFile*>> members;
  for (const JobFile& file : job.files) {
    const auto [place, fresh] = places.emplace(pattern_key(file.name), members.size());
    if (fresh) members.emplace_back();
    members[place->second].push_back(&file);
  }
  std::vector<JobFile> families;
  for (const auto& files : members) families.push_back(merge_files(files));
  std::stable_sort(families.begin(), families.end(), [](const JobFile& a, const JobFile& b) { return a.seconds() > b.seconds(); });
  return families;
}

}  // namespace mercutio
