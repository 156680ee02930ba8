// The verdict: where the I/O of a job spent its time, and what costs most, for a terminal.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/utf8.h"
#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/rule_parts.h"

namespace mercutio {
namespace {

constexpr std::size_t kFindingsShown = 2;
constexpr double kMuchRecording = 0.1;   // of the run
constexpr double kMostlyAlone = 0.9;  // threads of a rank are seldom held at the same time

std::string percent(double part, double whole) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", whole > 0 ? 100 * part / whole : 0.0);
  return text;
}

std::string count_of(i64 number, const std::string& what, const std::string& many = "") {
  return number_text(number) + " " + (number == 1 ? what : many.empty() ? what + "s" : many);
}

// Sums over all ranks and files, in seconds.
struct Sums {
  double held = 0, files = 0, late = 0;  // files: opening, closing, synchronising, sizes, views, settings; late: waiting for ranks that came late
  std::array<double, kPhases> phases{};
  double read = 0, written = 0;
  i64 calls = 0, absorbed = 0, requests = 0;
};

Sums sums_of(const Job& job) {
  Sums sums;
  for (std::size_t i = 0; i < job.traces.size(); ++i) sums.held += job.held_seconds(i) * static_cast<double>(job.traces[i].header.members);
  for (const RankTrace& trace : job.traces) sums.files += seconds_of(trace.header.failed_open_ns);
  for (const JobFile& file : job.files) {
    const FileTotals all = file.all.as_held();
    sums.files += opening_seconds(all) + sync_seconds(all) + resize_seconds(all) + seconds_of(all.size_ns) + view_seconds(all) + setting_seconds(all);
    sums.late += late_of_all(all);
    for (std::size_t i = 0; i < kPhases; ++i)
      sums.phases[i] += static_cast<double>(all.phase_ns(static_cast<Phase>(i))) * 1e-9;
    for (std::size_t i = 0; i < kClasses; ++i)
      (i % 2 == 0 ? sums.read : sums.written) += static_cast<double>(all.classes[i].bytes);
    sums.calls += all.calls();
    for (const StorageTotals& part : all.storage) sums.absorbed += part.absorbed_calls, sums.requests += part.calls;
  }
  return sums;
}

std::string split_of(const Sums& sums) {
  const auto phase = [&](Phase one) { return sums.phases[static_cast<std::size_t>(one)]; };
  const std::pair<const char*, double> parts[] = {
      {"storage", phase(Phase::kStorage)},
      {"exchange", phase(Phase::kExchange)},
      {"copies", phase(Phase::kCopy)},
      {"waiting for late ranks", sums.late},
      {"waiting in between and at the end", phase(Phase::kWait) + phase(Phase::kAgree)},
      {"locks", phase(Phase::kLock)},
      {"sieving", phase(Phase::kSieve)},
      {"opening, closing, syncing, sizes, views", sums.files},
      {"planning and the rest", phase(Phase::kOwn)}};
  double all = 0;
  for (const auto& [name, seconds] : parts) all += seconds;
  std::string text;
  for (const auto& [name, seconds] : parts) {
    if (seconds >= 0.005 * all && seconds > 0)
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + percent(seconds, all);
  }
  return text.empty() ? "nothing worth mentioning" : text;
}

std::string factor_text(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", factor);
  return text;
}

// At most four lines.
std::string text_of(const Finding& one, bool with_cost) {
  std::string out = one.title + " [" + one.id + "]";
  const bool costs = with_cost && gains(one.factor);
  if (costs)
    out += std::string(one.at_most ? ": costs at most " : ": costs about ") + seconds_text(one.seconds) + "; without it the run is " +
           (one.at_most ? "up to " : "") + factor_text(one.factor) + " times as fast";
  const std::string files = one.files > 1 ? " (" + count_of(one.files, "file") + ")" : "";
  out += "\n   " + printable(one.file + files + ": " + one.evidence + (costs && one.at_most ? "; as far as other ranks wait for it, which MPI-IO does not show" : "")) + "\n";
  std::string worst;
  for (const auto& [name, seconds] : one.worst) worst += (worst.empty() ? "" : ", ") + name + " " + seconds_text(seconds);
  if (!worst.empty()) out += "   longest: " + printable(worst) + "\n";
  std::string remedies;
  for (const Remedy& remedy : one.remedies) {
    if (!remedies.empty()) remedies += costs ? "; or (" + factor_text(remedy.factor) + " times as fast) " : "; or ";
    remedies += remedy.text;
  }
  return out + "   to do: " + printable(remedies) + "\n";
}

// What else than Mercutio recorded it; empty: nothing.
std::string source_of(const Job& job) {
  for (const auto& [key, value] : job.run)
    if (key == "source") return value;
  return "";
}

std::string text_of(const FailedOpens& failed) {
  if (failed.opens == 0) return "";
  return "  " + count_of(failed.opens, "open") + " of a rank failed, in " + seconds_text(failed.seconds) + ", first of all: " + printable(failed.first) + "\n";
}

// Of waiting that only one rank has told.
std::string unknown_late_ranks(const Job& job, double late) {
  if (job.known_ranks > 1 || job.ranks < 2 || late < kLittleIo * job.seconds) return "";
  return "; which ranks are late is not known, as the others keep no report";
}

i64 failed_calls(const FileTotals& all) {
  i64 calls = 0;
  for (const ClassTotals& part : all.classes) calls += part.failed_calls;
  return calls;
}

std::string failed_accesses_of(const Job& job, i64 accesses) {
  i64 failed = 0;
  const JobFile* most = nullptr;
  for (const JobFile& file : job.files) {
    failed += failed_calls(file.all);
    if (!most || failed_calls(file.all) > failed_calls(most->all)) most = &file;
  }
  if (failed == 0) return "";
  return "  of " + count_of(accesses, "access", "accesses") + ", " + number_text(failed) + " failed, most of them of '" + printable(most->name) + "'\n";
}

// While the program wrote, and while it read.
std::string rates_of(const Job& job) {
  std::string text;
  const std::pair<Direction, const char*> ways[] = {{Direction::kWrite, "writing "}, {Direction::kRead, "reading "}};
  for (const auto& [way, word] : ways) {
    if (const double rate = io_rate(job, way); rate > 0) text += (text.empty() ? "; " : ", ") + (word + rate_text(rate));
  }
  return text;
}

// What mercutio_adapt has found for a pattern of a file's accesses.
struct Adapted {
  std::string access, way;   // way: "": the default is the fastest
  i64 bytes = 0, gain_percent = 0;
  bool decided = false;
};

Adapted adapted_of(const std::string& text) {
  Adapted found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string key = line.substr(0, equals), value = line.substr(std::min(equals + 1, line.size()));
    if (key == "access") found.access = value;
    if (key == "way") found.way = value;
    if (key == "state") found.decided = value == "decided";
    if (key == "bytes") found.bytes = std::strtoll(value.c_str(), nullptr, 10);
    if (key == "gain_percent") found.gain_percent = std::strtoll(value.c_str(), nullptr, 10);
  }
  return found;
}

std::string text_of(const Adapted& one) {
  const std::string what = "collective " + one.access + "s of " + bytes_text(static_cast<double>(one.bytes));
  if (one.way.empty()) return what + " are fastest as they are";
  if (one.gain_percent <= 0) return what + " go faster by " + one.way + "; by how much is not sure";
  const std::string factor = factor_text(static_cast<double>(one.gain_percent) / 100);
  return what + " go faster by " + one.way + " (" + factor + " times as fast as the default)";
}

// Of the file that took longest, unless only another one gained.
std::string adapting_of(const Job& job) {
  std::string first;
  i64 decided = 0;
  bool first_gains = false;
  for (const JobFile& file : job.files) {
    for (const TraceText& text : file.texts) {
      if (text.kind != TextKind::kAdapted) continue;
      const Adapted found = adapted_of(text.text);
      if (!found.decided) continue;
      ++decided;
      if (!first.empty() && (found.way.empty() || first_gains)) continue;
      first = "'" + file.name + "': " + text_of(found);
      first_gains = !found.way.empty();
    }
  }
  return first.empty() ? "" : "  mercutio_adapt found for " + printable(first) + (decided > 1 ? ", and something for " + count_of(decided - 1, "other pattern") : "") + "\n";
}

}  // namespace

FailedOpens failed_opens(const Job& job) {
  FailedOpens most;
  for (const RankTrace& trace : job.traces) {
    const auto members = static_cast<double>(trace.header.members);
    const auto opens = static_cast<i64>(std::ceil(static_cast<double>(trace.header.failed_opens) / members));
    if (opens > most.opens) most = {opens, seconds_of(trace.header.failed_open_ns) / members, std::string(text_in(trace.header.failed_open))};
  }
  return most;
}

std::string no_files(const Job& job) {
  if (!job.files.empty() || !job.finished || failed_opens(job).opens > 0) return "";
  return printable(job.program) + ", " + count_of(job.ranks, "rank") + ", opened no file through MPI-IO: there is nothing to report";
}

std::string verdict(const Job& job) {
  const std::string none = no_files(job);
  if (!none.empty()) return "mercutio: " + none + "\n";
  const Sums sums = sums_of(job);
  const auto ranks = static_cast<double>(std::max<i64>(1, job.known_ranks));
  double worst = 0;
  i64 slowest = 0;
  for (std::size_t i = 0; i < job.traces.size(); ++i) {
    if (const double held = job.held_seconds(i); held > worst) worst = held, slowest = job.traces[i].header.rank;
  }
  const std::string source = source_of(job);
  std::string out = "mercutio: " + printable(job.program) + ", " + count_of(job.ranks, "rank") + (source.empty() ? " on " + count_of(job.hosts, "node") : "") +
                    ", " + seconds_text(job.seconds) + "\n";
  if (!source.empty()) out += "  from a " + printable(source) + ", which has no pieces of accesses, no exchange and no waiting; the estimates are rough\n";
  if (!job.finished) {
    const i64 missing = job.ranks - job.known_ranks;
    out += "  not all of the job is here: " + (missing > 0 ? count_of(missing, "rank") + " left nothing" : std::string("it has not ended, or was cut short")) + "\n";
  }
  out += "  I/O held a rank for " + seconds_text(sums.held / ranks) + " on average (" +
         percent(sums.held / ranks, job.seconds) + " of the run), rank " + std::to_string(slowest) +
         " longest: " + seconds_text(worst) + "\n";
  if (job.held_part < kMostlyAlone) out += "  meanwhile it held " + factor_text(1 / job.held_part) + " threads of a rank on average; their time counts once\n";
  out += "  " + count_of(job.file_count(), "file") + ", " + bytes_text(sums.written) + " written, " +
         bytes_text(sums.read) + " read" +
         rates_of(job) + "\n";
  const std::string failed = text_of(failed_opens(job)) + failed_accesses_of(job, sums.calls);
  out += failed;
  if (sums.absorbed > 0) {
    out += "  of " + count_of(sums.calls, "access", "accesses") + ", " + number_text(sums.absorbed) + " only went as far as a buffer; storage had " +
           count_of(sums.requests, "request") + "\n";
  }
  out += "  of the I/O: " + split_of(sums) + "\n";
  if (const double queued = queued_seconds(job); queued >= 0.1 * job.seconds)
    out += "  a rank was ready to run but had no core for " + seconds_text(queued) + " on average (" + percent(queued, job.seconds) + " of the run)\n";
  if (const double run = run_seconds(job); job.seconds - run >= kMuchRecording * job.seconds)
    out += "  recording took " + seconds_text(job.seconds - run) + " of it: the run without it, of " + seconds_text(run) + ", is what estimates compare with\n";
  out += adapting_of(job);
  const std::vector<Finding> found = find_causes(job);
  const bool little = io_share(job) < kLittleIo;
  if (!found.empty() && !little && is_crowded(job))
    out += "  the ranks share cores" + std::string(job.ranks > job.hosts * job.host_cores ? "" : " with other processes") +
           ": times depend on who had one when, and the estimates below are unsure\n";
  if (little) out += "  I/O is " + (io_share(job) < 0.005 ? "less than 1 %" : percent(io_share(job), 1)) + " of the run: nothing to gain here\n";
  if (found.empty() && !little) out += (failed.empty() ? "  nothing stands out" : "  nothing else stands out") + unknown_late_ranks(job, sums.late) + "\n";
  for (std::size_t i = 0; i < std::min(found.size(), kFindingsShown); ++i)
    out += std::to_string(i + 1) + ". " + text_of(found[i], !little);
  if (found.size() > kFindingsShown)
    out += "  and " + count_of(static_cast<i64>(found.size() - kFindingsShown), "smaller finding") + "\n";
  return out;
}

}  // namespace mercutio
