// Rules of calls that move no data, nor open or sync a file: views, settings, and changes of the size.
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

// Calls of one kind, most of them collective: how many, their time without waiting for others, that waiting, and words around number and time.
struct RecurringCalls {
  double (*calls)(const FileTotals&);
  double (*own)(const FileTotals&);
  i64 FileTotals::*late;
  const char *what, *more;
};
constexpr RecurringCalls kViews{views_of, view_seconds, &FileTotals::late_view_ns, " calls of MPI_File_set_view a rank, ", ""};
constexpr RecurringCalls kSettings{settings_of, setting_seconds, &FileTotals::late_setting_ns,
                                   " calls a rank (MPI_File_set_info, get_info, set_atomicity, seek_shared, get_position_shared), ", ""};
constexpr RecurringCalls kResizes{resizes_of, resize_seconds, &FileTotals::late_resize_ns, " changes of the size, ", " with what ranks wait for them"};

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
std::optional<Detection> made_often(const Job& job, const JobFile& file, const RecurringCalls& kind, const std::string& remedy) {
  if (!often(file, kind)) return {};
  const double calls = worst(file, kind.calls), left = static_cast<double>(file.members.size()), now = seconds_meeting(job, file, kind);
  return Detection{number_text(static_cast<i64>(calls)) + kind.what + seconds_text(now) + kind.more,
                   {{remedy, now * (1 - left / calls), seconds_held(job, file, kind.own).at_most}}};
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
  return made_often(job, file, kSettings,
                    "call MPI_File_set_info, MPI_File_get_info and MPI_File_set_atomicity once, before the loop; in place of MPI_File_seek_shared "
                    "and MPI_File_get_position_shared, count in the program, and give offsets");
}

// Each change is a meeting of the ranks.
std::optional<Detection> resized(const Job& job, const JobFile& file) {
  return made_often(job, file, kResizes,
                    "set the size once, before the loop, or not at all: a write beyond the end makes the file longer");
}

}  // namespace mercutio
