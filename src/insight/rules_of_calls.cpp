// Rules of calls that move no data, nor open, sync or resize a file: views and settings.
#include <algorithm>

#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/remedies.h"
#include "insight/rule_parts.h"

namespace mercutio {
namespace {

double views_of(const FileTotals& one) { return static_cast<double>(one.views); }
double settings_of(const FileTotals& one) { return static_cast<double>(one.settings); }
double resizes_of(const FileTotals& one) { return static_cast<double>(one.resizes); }

// Calls of one kind, most of them collective: what they take, and of the waiting in them what is the meeting itself. The rest is due to what ranks
// do alone in between, while they have a core. Where ranks meet in other calls as well, they would wait there as long.
Held seconds_meeting(const Job& job, const JobFile& file, double (*calls)(const FileTotals&), double (*own)(const FileTotals&), i64 FileTotals::*late) {
  const double queued = seconds_of(job.cores.queued_ns) / static_cast<double>(std::max<i64>(1, job.known_ranks));
  const double accesses = worst(file, [](const FileTotals& one) {
    return seconds_of(of(one, Direction::kRead, false).ns + of(one, Direction::kWrite, false).ns);
  });
  const double alone = std::max(0.0, between_calls(file) - queued) + accesses;
  const double seconds = worst(file, [=](const FileTotals& one) {
    return own(one) + std::max(0.0, seconds_of(one.*late) - alone) * calls(one) / std::max({1.0, calls(one), meetings(one)});
  });
  return {seconds, seconds_held(job, file, own).at_most};
}

}  // namespace

bool viewed_often(const JobFile& file) {
  return worst(file, views_of) >= kManyTimes;
}

// Libraries set it for each of their accesses.
std::optional<Detection> many_views(const Job& job, const JobFile& file) {
  if (!viewed_often(file)) return {};
  const double views = worst(file, views_of), left = static_cast<double>(file.members.size());
  const auto [now, at_most] = seconds_meeting(job, file, views_of, view_seconds, &FileTotals::late_view_ns);
  return Detection{number_text(static_cast<i64>(views)) + " calls of MPI_File_set_view a rank, " + seconds_text(now),
                   {{advice(file.library.empty() ? Advice::kViewOnce : Advice::kFewerCalls, main_direction(file), file.library),
                     now * (1 - left / views), at_most}}};
}

bool set_often(const JobFile& file) {
  return worst(file, settings_of) >= kManyTimes;
}

std::optional<Detection> many_settings(const Job& job, const JobFile& file) {
  if (!set_often(file)) return {};
  const double calls = worst(file, settings_of), left = static_cast<double>(file.members.size());
  const auto [now, at_most] = seconds_meeting(job, file, settings_of, setting_seconds, &FileTotals::late_setting_ns);
  return Detection{number_text(static_cast<i64>(calls)) + " calls a rank (MPI_File_set_info, get_info, set_atomicity, seek_shared, get_position_shared), " + seconds_text(now),
                   {{"call MPI_File_set_info, MPI_File_get_info and MPI_File_set_atomicity once, before the loop; in place of MPI_File_seek_shared "
                     "and MPI_File_get_position_shared, count in the program, and give offsets",
                     now * (1 - left / calls), at_most}}};
}

bool resized_often(const JobFile& file) {
  return worst(file, resizes_of) >= kManyTimes;
}

// Each change is a meeting of the ranks.
std::optional<Detection> resized(const Job& job, const JobFile& file) {
  if (!resized_often(file)) return {};
  const double resizes = worst(file, resizes_of), left = static_cast<double>(file.members.size());
  const auto [now, at_most] = seconds_meeting(job, file, resizes_of, resize_seconds, &FileTotals::late_resize_ns);
  return Detection{number_text(static_cast<i64>(resizes)) + " changes of the size, " + seconds_text(now) + " with what ranks wait for them",
                   {{"set the size once, before the loop, or not at all: a write beyond the end makes the file longer", now * (1 - left / resizes), at_most}}};
}

}  // namespace mercutio
