// Rules of calls that move no data, nor open or sync a file: views, settings, and changes of the size.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/remedies.h"
#include "insight/rule_parts.h"

namespace mercutio {
namespace {

double views_of(const FileTotals& one) { return static_cast<double>(one.views); }
double settings_of(const FileTotals& one) { return static_cast<double>(one.settings); }
double resizes_of(const FileTotals& one) { return static_cast<double>(one.resizes); }

// Calls of one kind, most of them collective: how many, their time without waiting for others, that waiting, and the words after number and time.
struct RecurringCalls {
  double (*calls)(const FileTotals&);
  double (*own)(const FileTotals&);
  i64 FileTotals::*late;
  const char *what, *more;
};
constexpr RecurringCalls kViews{views_of, view_seconds, &FileTotals::late_view_ns, " calls of MPI_File_set_view a rank", ""};
constexpr RecurringCalls kSettings{settings_of, setting_seconds, &FileTotals::late_setting_ns, " calls a rank", ""};
constexpr RecurringCalls kResizes{resizes_of, resize_seconds, &FileTotals::late_resize_ns, " changes of the size", " with what ranks wait for them"};

bool often(const JobFile& file, const RecurringCalls& kind) { return worst(file, kind.calls) >= kManyTimes; }

// What they take, and of the waiting in them what is the meeting itself. The rest is due to what ranks do alone in between, while they have a
// core. Where ranks meet in other calls as well, they would wait there as long.
double seconds_meeting(const Job& job, const JobFile& file, const RecurringCalls& kind) {
  const double accesses = worst(file, [](const FileTotals& one) {
    return seconds_of(of(one, Direction::kRead, false).ns + of(one, Direction::kWrite, false).ns);
  });
  const double alone = std::max(0.0, between_calls(file) - queued_seconds(job)) + accesses;
  return worst(file, [=](const FileTotals& one) {
    return kind.own(one) + std::max(0.0, seconds_of(one.*kind.late) - alone) * kind.calls(one) / std::max({1.0, kind.calls(one), meetings(one)});
  });
}

// The remedy makes one call of them, in each file.
std::optional<Detection> made_often(const Job& job, const JobFile& file, const RecurringCalls& kind, const std::string& remedy, const std::string& names = "") {
  if (!often(file, kind)) return {};
  const double calls = worst(file, kind.calls), left = static_cast<double>(file.members.size()), now = seconds_meeting(job, file, kind);
  return Detection{number_text(static_cast<i64>(calls)) + kind.what + names + ", " + seconds_text(now) + kind.more,
                   {{remedy, now * (1 - left / calls), seconds_held(job, file, kind.own, kind.calls).at_most}}};
}

bool is_of_shared_pointer(const std::string& call) { return call.ends_with("_shared"); }

// The calls that set or ask for something, by the events that were kept: those that take a tenth of their time or more. All, if none was kept.
std::vector<std::string> setting_calls(const Job& job, const JobFile& file) {
  std::set<std::string> files = {file.name};
  for (const JobFile* const member : file.members) files.insert(member->name);
  std::map<std::string, i64> ns;
  i64 all_ns = 0;
  for (const RankTrace& trace : job.traces) {
    const std::vector<std::string> names = call_names(trace);
    std::vector<i64> ns_of_call(names.size());
    std::vector<bool> meant;
    for (const FileRecord& record : trace.files) meant.push_back(files.contains(std::string(text_in(record.name))));
    for (const EventRecord& event : trace.events) {
      const auto slot = static_cast<std::size_t>(event.file);
      const bool counts = event.kind == static_cast<std::uint8_t>(TraceKind::kSetting) && event.call < names.size();
      if (counts && slot < meant.size() && meant[slot]) ns_of_call[event.call] += event.ns;
    }
    for (std::size_t call = 1; call < names.size(); ++call) ns[names[call]] += ns_of_call[call], all_ns += ns_of_call[call];
  }
  std::vector<std::string> calls;
  for (const auto& [call, call_ns] : ns) {
    if (call_ns > 0 && 10 * call_ns >= all_ns) calls.push_back(call);
  }
  if (!calls.empty()) return calls;
  return {"MPI_File_get_info", "MPI_File_get_position_shared", "MPI_File_seek_shared", "MPI_File_set_atomicity", "MPI_File_set_info"};
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) list += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return list;
}

}  // namespace

bool viewed_often(const JobFile& file) { return often(file, kViews); }
bool set_often(const JobFile& file) { return often(file, kSettings); }
bool resized_often(const JobFile& file) { return often(file, kResizes); }

// Libraries set it for each of their accesses.
std::optional<Detection> many_views(const Job& job, const JobFile& file) {
  return made_often(job, file, kViews, advice(file.library.empty() ? Advice::kViewOnce : Advice::kFewerCalls, main_direction(file), file.library));
}

std::optional<Detection> many_settings(const Job& job, const JobFile& file) {
  if (!set_often(file)) return {};
  std::vector<std::string> once = setting_calls(job, file), counted;
  const std::string names = " (" + listed(once) + ")";
  const auto first_counted = std::stable_partition(once.begin(), once.end(), [](const std::string& call) { return !is_of_shared_pointer(call); });
  counted.assign(first_counted, once.end());
  once.erase(first_counted, once.end());
  std::string remedy;
  if (!once.empty()) remedy += "call " + listed(once) + " once, before the loop";
  if (!once.empty() && !counted.empty()) remedy += "; ";
  if (!counted.empty()) remedy += "in place of " + listed(counted) + ", count in the program, and give offsets";
  return made_often(job, file, kSettings, remedy, names);
}

// Each change is a meeting of the ranks.
std::optional<Detection> resized(const Job& job, const JobFile& file) {
  return made_often(job, file, kResizes,
                    "set the size once, before the loop, or not at all: a write beyond the end makes the file longer");
}

}  // namespace mercutio
