#include "insight/families.h"

#include <algorithm>
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

// The span of a sum is the sum of the spans: between the files the program did something else.
void add(FileTotals& mine, const FileTotals& other) {
  const i64 span = mine.last_ns - mine.first_ns + other.last_ns - other.first_ns;
  mine.add(other);
  mine.first_ns = 1;
  mine.last_ns = 1 + span;
}

}  // namespace

JobFile united(const std::vector<const JobFile*>& files) {
  JobFile all = *files.front();
  all.members = files;
  for (std::size_t i = 1; i < files.size(); ++i) {
    const JobFile& one = *files[i];
    const bool alike = pattern_key(all.name) == pattern_key(one.name);
    all.name = alike ? widened_pattern(all.name, one.name) : all.name;
    all.is_pattern = all.is_pattern || one.is_pattern;
    add(all.all, one.all);
    for (std::size_t rank = 0; rank < all.by_rank.size(); ++rank) add(all.by_rank[rank], one.by_rank[rank]);
    add_texts(all.texts, one.texts);
  }
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
  for (const auto& files : members) families.push_back(united(files));
  std::stable_sort(families.begin(), families.end(), [](const JobFile& a, const JobFile& b) { return a.seconds() > b.seconds(); });
  return families;
}

}  // namespace mercutio
