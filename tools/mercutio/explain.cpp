// Nothing but the library's own planner on the library's own parsers: what is printed is what would be done.
#include "explain.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "base/file_text.h"
#include "base/utf8.h"
#include "hint_table.h"
#include "insight/findings.h"
#include "insight/job.h"
#include "model/hints.h"
#include "model/machine_file.h"
#include "model/pattern_file.h"
#include "plan/plan.h"
#include "process.h"
#include "trace_file.h"

namespace mercutio::tool {
namespace {

void print_indented(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) std::printf("    %s\n", printable(line).c_str());
}

// The plans that the ranks made, each once, the file that took longest first.
int explain_trace(const ExplainOptions& options) {
  auto traces = read_trace_file(options.trace_file);
  if (!traces) return complain("explain", options.trace_file, no_trace(options.trace_file, traces.error().what));
  const Job job = job_of(std::move(*traces));
  if (const std::string none = no_files(job); !none.empty()) return std::printf("%s\n", none.c_str()), 0;
  std::printf("%s, %lld ranks\n", printable(job.program).c_str(), static_cast<long long>(job.ranks));
  i64 left_out = 0;
  for (const RankTrace& trace : job.traces) left_out = std::max(left_out, trace.header.texts_left_out);
  for (const JobFile& file : job.files) {
    std::printf("%s (%s, %s): I/O held a rank for %.3g s at most\n", printable(file.name).c_str(), printable(file.file_system).c_str(), printable(file.amode).c_str(), file.seconds());
    i64 plans = 0;
    for (const TraceText& text : file.texts) {
      if (text.kind != TextKind::kPlan) continue;
      std::printf("  plan %lld, made %lld times by %lld ranks\n", static_cast<long long>(++plans), static_cast<long long>(text.count), static_cast<long long>(job.known_ranks));
      print_indented(text.text);
    }
    if (plans == 0) std::printf("  no plan: it had no collective accesses that needed one\n");
  }
  if (left_out > 0) std::printf("%lld more plans or other texts of a rank had no room in the trace\n", static_cast<long long>(left_out));
  return 0;
}

}  // namespace

int explain(const ExplainOptions& options) {
  if (!options.trace_file.empty()) return explain_trace(options);
  if (options.machine_file.empty() || options.pattern_file.empty()) {
    std::fprintf(stderr, "mercutio explain: needs --machine and --pattern, or --trace\n");
    return 2;
  }
  const auto machine_text = text_of_file(options.machine_file), pattern_text = text_of_file(options.pattern_file);
  if (!machine_text) return complain("explain", options.machine_file, std::strerror(machine_text.error().sys_errno));
  if (!pattern_text) return complain("explain", options.pattern_file, std::strerror(pattern_text.error().sys_errno));
  HintSet hints;
  if (const int refused = take_hints("explain", "--hint", options.hints, hints)) return refused;
  const Result<Machine> machine = parse_machine(*machine_text);
  if (!machine) return complain("explain", options.machine_file, machine.error().what);
  const Result<PatternFile> file = parse_pattern(*pattern_text, machine->topology.ranks());
  if (!file) return complain("explain", options.pattern_file, file.error().what);
  const Pattern pattern = file->pattern();
  const Plan plan = make_plan(pattern, hints.values, machine->topology, machine->layout);
  std::printf("%s", mercutio::explain(plan, pattern).c_str());
  if (options.ranks) std::printf("%s", explain_ranks(plan, machine->topology, machine->layout).c_str());
  return 0;
}

}  // namespace mercutio::tool
