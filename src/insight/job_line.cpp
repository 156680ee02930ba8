// The summary of a job as one line of JSON: what docs/centres/jobs.md describes.
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <map>

#include "base/utf8.h"
#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/job_summary.h"
#include "insight/name_patterns.h"

namespace mercutio {
std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const std::size_t size = utf8_character(text);
    if (c == '"' || c == '\\') {
      out += '\\', out += text[0];
    } else if (c < 32 || c == 127 || size == 0) {
      char code[8];
      std::snprintf(code, sizeof code, size == 0 ? "\\\\x%02x" : "\\u%04x", c);
      out += code;
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return out + "\"";
}

namespace {

class Line {
 public:
  void open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    fresh_ = false;
  }
  void key(const char* name) {
    separate();
    text_ += '"' + std::string(name) + "\":";
    fresh_ = true;
  }
  void put(const char* name, std::string_view value) { add(name, json_text(escaped_bytes(value))); }
  void put(const char* name, i64 value) { add(name, std::to_string(value)); }
  void put_flag(const char* name, bool value) { add(name, value ? "true" : "false"); }
  void put(const char* name, double value) {
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", std::isfinite(value) ? value : 0.0);
    add(name, number);
  }
  std::string text() && { return std::move(text_); }

 private:
  void separate() {
    if (!fresh_) text_ += ',';
    fresh_ = false;
  }
  void add(const char* name, const std::string& value) {
    key(name);
    text_ += value;
    fresh_ = false;
  }
  std::string text_;
  bool fresh_ = true;
};

i64 bytes_of(const FileTotals& totals, Direction way) {
  return of(totals, way, false).bytes + of(totals, way, true).bytes;
}

// Those of a record that no other one has.
std::map<std::string_view, i64> file_counts_of(const Job& job) {
  std::map<std::string_view, i64> counts;
  i64 named = 0;
  for (const JobFile& file : job.files) {
    counts[file.name] = std::max<i64>(1, file.files());
    if (!is_other_files(file.name)) named += counts[file.name];
  }
  for (auto& [name, files] : counts) {
    if (is_other_files(name)) files = std::max<i64>(1, job.file_count() - named);
  }
  return counts;
}

void put_patterns(Line& line, const JobSummary& summary, const Job& job) {
  std::map<std::string_view, i64> counts = file_counts_of(job);
  const std::vector<double> held = summary.held_seconds();
  line.key("files");
  line.open('[');
  for (std::size_t i = 0; i < summary.files().size(); ++i) {
    const FileRecord& file = summary.files()[i];
    const FileTotals all = summary.totals(i);
    line.open('{');
    line.put("name", text_in(file.name));
    line.put("file_system", text_in(file.file_system));
    if (!text_in(file.library).empty()) line.put("library", text_in(file.library));
    line.put("files", counts[text_in(file.name)]);
    if (summary.is_partial(i)) line.put_flag("partial", true);
    line.put("opens", all.opens);
    for (std::size_t k = 0; k < all.classes.size(); ++k)
      if (all.classes[k].calls > 0) line.put((std::string(kClassNames[k]) + "s").c_str(), all.classes[k].calls);
    line.put("read", bytes_of(all, Direction::kRead));
    line.put("written", bytes_of(all, Direction::kWrite));
    line.put("requests", all.storage[0].calls + all.storage[1].calls);
    line.put("seconds", held[i]);
    line.close('}');
  }
  line.close(']');
}

// Where not all ranks are known, what the others did meanwhile may take as long.
void put_findings(Line& line, const Job& job, bool all_known) {
  line.key("findings");
  line.open('[');
  for (const Finding& one : find_causes(job)) {
    line.open('{');
    line.put("id", one.id);
    line.put("seconds", one.seconds);
    line.put("factor", one.factor);
    line.put_flag("at_most", one.at_most || !all_known);
    line.put("file", one.file);
    line.put("files", one.files);
    line.put("file_system", one.file_system);
    if (!one.library.empty()) line.put("library", one.library);
    line.close('}');
  }
  line.close(']');
}

std::string fact(const Job& job, const std::string& key) {
  const auto found = std::find_if(job.run.begin(), job.run.end(), [&](const auto& one) { return one.first == key; });
  return found == job.run.end() ? "" : found->second;
}

}  // namespace

std::string job_line(const JobSummary& summary, const RankTrace& first, const JobIdentity& identity) {
  const Job own = job_of({first}), job = summary.job(first);
  i64 read = 0, written = 0, nodes = 1;
  for (std::size_t i = 0; i < summary.files().size(); ++i) {
    const FileTotals all = summary.totals(i);
    read += bytes_of(all, Direction::kRead), written += bytes_of(all, Direction::kWrite);
    nodes = std::max(nodes, all.nodes);
  }
  Line line;
  line.open('{');
  line.put("format", "mercutio-job");
  line.put("version", i64{1});
  line.put("job", identity.job);
  line.put("user", identity.user);
  line.put("uid", identity.uid);
  line.put("program", own.program);
  line.put("mpi", fact(own, "mpi"));
  line.put("mercutio", fact(own, "mercutio"));
  line.put("start", first.header.wall_start_ns / 1'000'000'000);
  line.put("seconds", job.seconds);
  line.put("ranks", first.header.ranks);
  line.put("ranks_known", summary.ranks());
  line.put("nodes", nodes);
  line.put("io_seconds", summary.io_seconds());
  line.put("io_share", io_share(job));
  line.put("read", read);
  line.put("written", written);
  line.put("read_rate", io_rate(job, Direction::kRead, read));   // `job` has a few ranks: their times stand for all, and their bytes do not
  line.put("write_rate", io_rate(job, Direction::kWrite, written));
  line.put("file_count", job.file_count());
  line.put("failed_opens", summary.failed_opens());
  put_findings(line, job, summary.ranks() >= first.header.ranks);
  put_patterns(line, summary, job);
  line.close('}');
  return std::move(line).text() + "\n";
}

}  // namespace mercutio
