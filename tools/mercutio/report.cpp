// The library's own reader and rules (src/insight); here it is only put into words, JSON and CSV.
#include "report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "base/trace.h"
#include "base/utf8.h"
#include "darshan.h"
#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/job_summary.h"
#include "insight/replay.h"
#include "process.h"
#include "python.h"
#include "scratch.h"
#include "trace_file.h"

namespace mercutio::tool {
namespace {

constexpr std::size_t kMapsShown = 8;  // of the files that took longest

// JSON, written as it comes: the caller opens and closes what it begins.
class Json {
 public:
  explicit Json(std::FILE* out) : out_(out) {}
  void open(char bracket) {
    separate();
    std::fputc(bracket, out_);
    fresh_ = true;
  }
  void close(char bracket) {
    std::fputc(bracket, out_);
    fresh_ = false;
  }
  Json& key(const std::string& name) {
    value(name);
    std::fputc(':', out_);
    fresh_ = true;
    return *this;
  }
  void value(const std::string& text) { put(escaped_bytes(text)); }
  // As it is: bytes that are no text are escaped already.
  void put(const std::string& text) {
    separate();
    std::fputs(json_text(text).c_str(), out_);
  }
  void value(i64 number) {
    separate();
    std::fprintf(out_, "%" PRId64, number);
  }
  void value(double number) {
    separate();
    std::fprintf(out_, "%.9g", number);
  }
  void value(bool yes) {
    separate();
    std::fputs(yes ? "true" : "false", out_);
  }

 private:
  void separate() {
    if (!fresh_) std::fputc(',', out_);
    fresh_ = false;
  }
  std::FILE* out_;
  bool fresh_ = true;
};

const char* name_of(TextKind kind) {
  switch (kind) {
    case TextKind::kPlan:
      return "plan";
    case TextKind::kHints:
      return "hints";
    case TextKind::kNotes:
      return "notes";
    case TextKind::kSketch:
      return "sketch";
    case TextKind::kRun:
      return "run";
    case TextKind::kAdapted:
      return "adapted";
    case TextKind::kShape:
    case TextKind::kCall:
      break;
  }
  return "call";
}

const char* name_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::kOpen:
      return "open";
    case TraceKind::kClose:
      return "close";
    case TraceKind::kPlan:
      return "plan";
    case TraceKind::kExchange:
      return "exchange";
    case TraceKind::kStorageRead:
      return "storage_read";
    case TraceKind::kStorageWrite:
      return "storage_write";
    case TraceKind::kLock:
      return "lock";
    case TraceKind::kSieve:
      return "sieve";
    case TraceKind::kCopy:
      return "copy";
    case TraceKind::kWait:
      return "wait";
    case TraceKind::kSync:
      return "sync";
    case TraceKind::kCollective:
      return "collective";
    case TraceKind::kAccess:
      return "access";
    case TraceKind::kBlocked:
      return "blocked";
    case TraceKind::kSize:
      return "size";
    case TraceKind::kResize:
      return "resize";
    case TraceKind::kView:
      return "view";
    case TraceKind::kSetting:
      return "setting";
    case TraceKind::kAbsorbedRead:
      return "absorbed_read";
    case TraceKind::kAbsorbedWrite:
      return "absorbed_write";
  }
  return "other";
}

template <std::size_t N>
std::string text_of(const std::array<char, N>& text) {
  return std::string(text.data(), static_cast<std::size_t>(std::find(text.begin(), text.end(), '\0') - text.begin()));
}

void put_totals(Json& json, const FileTotals& totals) {
  json.open('{');
  visit_totals(totals, [&](const std::string& name, i64 value) {
    if (value != 0) json.key(name).value(value);
  });
  json.close('}');
}

// For every rank the first cell with something in it, and the bytes from there on.
void put_map(Json& json, const JobFile& file) {
  json.key("map").open('{');
  json.key("cell_bytes").value(file.maps.front().cell_bytes);
  for (std::size_t map_kind = 0; map_kind < 2; ++map_kind) {
    json.key(map_kind == 0 ? "asked" : "carried").open('[');
    for (const MapRecord& map : file.maps) {
      const auto& cells = map.bytes[map_kind];
      const auto first = std::find_if(cells.begin(), cells.end(), [](i64 bytes) { return bytes > 0; });
      const auto last = std::find_if(cells.rbegin(), cells.rend(), [](i64 bytes) { return bytes > 0; });
      json.open('[');
      if (first != cells.end()) json.value(static_cast<i64>(first - cells.begin()));
      for (auto cell = first; cell < last.base(); ++cell) json.value(*cell);
      json.close(']');
    }
    json.close(']');
  }
  json.close('}');
}

void put_files(Json& json, const Job& job) {
  json.key("files").open('[');
  for (std::size_t i = 0; i < job.files.size(); ++i) {
    const JobFile& file = job.files[i];
    json.open('{');
    json.key("name").value(file.name);
    json.key("amode").value(file.amode);
    json.key("file_system").value(file.file_system);
    json.key("library").value(file.library);
    json.key("files").value(file.files());
    json.key("seconds").value(file.seconds());
    put_totals(json.key("totals"), file.all);
    if (i < kMapsShown && !file.maps.empty()) put_map(json, file);
    json.key("by_rank").open('[');
    for (std::size_t trace = 0; trace < file.by_rank.size(); ++trace) put_totals(json, file.sum(trace));
    json.close(']');
    json.key("texts").open('[');
    for (const TraceText& text : file.texts) {
      json.open('{');
      json.key("kind").value(std::string(name_of(text.kind)));
      json.key("count").value(text.count);
      json.key("text").value(text.text);
      json.close('}');
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
}

void put_findings(Json& json, const Job& job) {
  json.key("findings").open('[');
  for (const Finding& finding : all_findings(job)) {
    json.open('{');
    json.key("id").value(finding.id);
    json.key("title").value(finding.title);
    json.key("file").value(finding.file);
    json.key("files").value(finding.files);
    json.key("worst").open('[');
    for (const auto& [name, seconds] : finding.worst) {
      json.open('{');
      json.key("name").value(name);
      json.key("seconds").value(seconds);
      json.close('}');
    }
    json.close(']');
    json.key("seconds").value(finding.seconds);
    json.key("factor").value(finding.factor);
    json.key("at_most").value(finding.at_most);
    json.key("worth").value(finding.worth);
    json.key("evidence").value(finding.evidence);
    json.key("remedies").open('[');
    for (const Remedy& remedy : finding.remedies) {
      json.open('{');
      json.key("text").value(remedy.text);
      json.key("seconds").value(remedy.seconds);
      json.key("factor").value(remedy.factor);
      json.close('}');
    }
    json.close(']');
    json.close('}');
  }
  json.close(']');
}

void put_bins(Json& json, const RankTrace& trace) {
  json.key("bin_ns").value(trace.header.bin_ns);
  json.key("bins").open('[');
  for (const TimeBin& bin : trace.bins) {
    json.open('[');
    for (const i64 value : {bin.bytes[0], bin.ns[0], bin.bytes[1], bin.ns[1], bin.storage_ns[0], bin.storage_ns[1], bin.files_ns}) json.value(value);
    json.close(']');
  }
  json.close(']');
}

// The calls of which the events are shown are the same on all ranks: one of so many, so that there are at most `most` events.
i64 calls_per_shown(const Job& job, i64 most) {
  i64 rate = 1;
  for (const RankTrace& trace : job.traces) rate = std::max(rate, trace.header.calls_per_kept);
  const auto shown = [&] {
    i64 count = 0;
    for (const RankTrace& trace : job.traces)
      count += std::count_if(trace.events.begin(), trace.events.end(), [&](const EventRecord& one) { return kept_of(one.group, rate); });
    return count;
  };
  while (rate < kMostCallsPerKept && shown() > most) rate *= 2;
  return rate;
}

// `left`: how many more may be shown. Opens, closes and syncs are in all samples.
void put_events(Json& json, const RankTrace& trace, i64 rate, i64& left) {
  const std::vector<std::string> calls = call_names(trace);
  json.key("events").open('[');
  for (const EventRecord& event : trace.events) {
    if (left == 0 || !kept_of(event.group, rate)) continue;
    --left;
    const auto file = static_cast<std::size_t>(event.file);
    json.open('[');
    json.value(std::string(name_of(static_cast<TraceKind>(event.kind))));
    json.value(event.call < calls.size() ? calls[event.call] : "");
    json.value(file < trace.files.size() ? text_of(trace.files[file].name) : "");
    for (const i64 value : {event.start_ns, event.ns, event.bytes, event.offset, event.span, i64{event.pieces}, i64{event.group}, trace.header.first_rank + event.member})
      json.value(value);
    json.close(']');
  }
  json.close(']');
}

void put_ranks(Json& json, const Job& job, i64 events) {
  const i64 rate = events > 0 ? calls_per_shown(job, events) : 1;
  json.key("calls_per_kept").value(rate);
  json.key("rank_traces").open('[');
  for (std::size_t i = 0; i < job.traces.size(); ++i) {
    const RankTrace& trace = job.traces[i];
    const auto members = static_cast<double>(trace.header.members);
    json.open('{');
    json.key("rank").value(trace.header.rank);
    json.key("ranks").value(trace.header.members);
    json.key("host").value(text_of(trace.header.host));
    json.key("wall_start_ns").value(trace.header.wall_start_ns);
    json.key("seconds").value(static_cast<double>(trace.end_ns()) * 1e-9);
    json.key("held_seconds").value(job.held_seconds(i));
    json.key("ran_seconds").value(static_cast<double>(trace.header.cores.ran_ns) * 1e-9 / members);
    json.key("queued_seconds").value(static_cast<double>(trace.header.cores.queued_ns) * 1e-9 / members);
    json.key("finished").value(trace.header.end_ns > 0);
    put_bins(json, trace);
    put_events(json, trace, rate, events);
    json.close('}');
  }
  json.close(']');
}

void put_run(Json& json, const Job& job) {
  json.key("run").open('{');
  for (const auto& [key, value] : job.run) json.key(key).value(value);
  json.close('}');
  json.key("host_names").open('[');
  for (const std::string& name : job.host_names) json.value(name);
  json.close(']');
  json.key("rates").open('{');
  json.key("read").value(io_rate(job, Direction::kRead));
  json.key("written").value(io_rate(job, Direction::kWrite));
  json.close('}');
}

void put_failed_opens(Json& json, const Job& job) {
  const FailedOpens failed = failed_opens(job);
  json.key("failed_opens").open('{');
  json.key("opens").value(failed.opens);
  json.key("seconds").value(failed.seconds);
  json.key("first").value(failed.first);
  json.close('}');
}

void print_json(std::FILE* out, const Job& job, i64 events) {
  Json json(out);
  json.open('{');
  json.key("version").value(kTraceVersion);
  json.key("program").value(job.program);
  json.key("ranks").value(job.ranks);
  json.key("hosts").value(job.hosts);
  json.key("seconds").value(job.seconds);
  json.key("finished").value(job.finished);
  json.key("io_share").value(io_share(job));
  json.key("held_part").value(job.held_part);
  json.key("crowded").value(is_crowded(job));
  json.key("pattern").value(pattern_hash(job));
  put_run(json, job);
  json.key("verdict").put(verdict(job));
  put_failed_opens(json, job);
  put_findings(json, job);
  put_files(json, job);
  put_ranks(json, job, events);
  json.close('}');
  std::fputc('\n', out);
}

void print_csv(const Job& job) {
  std::printf("rank,members,file");
  visit_totals(FileTotals{}, [](const std::string& name, i64) { std::printf(",%s", name.c_str()); });
  std::putchar('\n');
  for (const JobFile& file : job.files) {
    std::string name = printable(file.name);
    for (std::size_t at = 0; (at = name.find('"', at)) != std::string::npos; at += 2) name.insert(at, 1, '"');
    for (std::size_t i = 0; i < file.by_rank.size(); ++i) {
      std::printf("%" PRId64 ",%" PRId64 ",\"%s\"", job.traces[i].header.rank, job.traces[i].header.members, name.c_str());
      visit_totals(file.sum(i), [](const std::string&, i64 value) { std::printf(",%" PRId64, value); });
      std::putchar('\n');
    }
  }
}

bool read_job(const std::string& path, Job& job) {
  const bool foreign = is_darshan_log(path);
  auto traces = foreign ? read_darshan_log(path) : read_trace_file(path);
  if (traces)
    job = job_of(std::move(*traces));
  else
    complain("report", path, foreign ? traces.error().what : no_trace(path, traces.error().what));
  return traces.ok();
}

bool write_json(const std::string& path, const Job& job, i64 events) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return false;
  print_json(file, job, events);
  const bool written = std::ferror(file) == 0;
  return std::fclose(file) == 0 && written;
}

// A page or a Perfetto trace: made from the JSON by tools/report.
int draw(const ReportOptions& options, const Job& job) {
  for (const std::string* path : {&options.page, &options.perfetto})
    if (const std::string why = why_not_writable(*path); !why.empty()) return complain("report", *path, "can't be written: " + why);
  const std::string script = resolved(own_directory() + "/../share/mercutio/report/report.py");
  const std::string python = find_python("matplotlib, jinja2");
  if (python.empty() || script.empty())
    return complain("report", "the page", python.empty() ? "python3 was not found" : "report.py is not installed");
  const SignalHold hold;
  const Scratch folder(temporary_directory(), "report");
  if (folder.path().empty()) return complain("report", "the page", "no directory can be made in " + temporary_directory());
  const std::string mine = folder.path() + "/job.json", theirs = folder.path() + "/other.json";
  Job other;
  int code = write_json(mine, job, options.events) ? 0 : complain("report", mine, "can't be written");
  std::vector<std::string> words = {python, script, mine};
  if (!options.page.empty()) words.insert(words.end(), {"--html", options.page});
  if (!options.perfetto.empty()) words.insert(words.end(), {"--perfetto", options.perfetto});
  if (!options.compare.empty()) {
    words.insert(words.end(), {"--compare", theirs});
    if (!read_job(options.compare, other) || !write_json(theirs, other, options.events)) code = 1;
  }
  if (code == 0) {
    const Output output = capture(words, 600);
    std::fputs(output.text.c_str(), stderr);
    if (output.exit_code != 0 && output.text.empty())
      complain("report", python, output.exit_code == 127 ? "can't be started" : "ended with code " + std::to_string(output.exit_code) + " without a word");
    code = output.exit_code == 0 ? 0 : 1;
  }
  return code;
}

// Names that can't be those of files: of standard output, or of one file twice, which would be overwritten. Empty: nothing.
std::string mistake_in_names(const ReportOptions& options) {
  const std::string *const outputs[] = {&options.page, &options.perfetto}, *const inputs[] = {&options.trace, &options.compare};
  for (const std::string* out : outputs)
    if (*out == "-") return std::string(out == &options.page ? "--output" : "--perfetto") + " needs the name of a file; - is none (a file of that name is ./-)";
  for (const std::string* out : outputs)
    for (const std::string* in : inputs)
      if (is_same_file(*out, *in)) return *out + " is the trace itself, and is not overwritten";
  return !options.page.empty() && options.page == options.perfetto ? options.page + " can't be both the page and the Perfetto trace" : "";
}

}  // namespace

int report(const ReportOptions& options) {
  if (const std::string why = mistake_in_names(options); !why.empty()) {
    std::fprintf(stderr, "mercutio report: %s\n", why.c_str());
    return 2;
  }
  Job job;
  if (!read_job(options.trace, job)) return 1;
  if (options.json) print_json(stdout, job, options.events);
  if (options.csv) print_csv(job);
  if (options.stats) std::fputs(file_counts(job).c_str(), stdout);
  if (!options.page.empty() || !options.perfetto.empty()) return draw(options, job);
  if (!options.json && !options.csv && !options.stats) std::fputs(verdict(job).c_str(), stdout);
  return 0;
}

}  // namespace mercutio::tool
