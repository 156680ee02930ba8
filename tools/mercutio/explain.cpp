// Nothing but the library's own planner on the library's own parsers: what is printed is what would be done.
#include "explain.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "model/hints.h"
#include "model/machine_file.h"
#include "model/pattern_file.h"
#include "plan/plan.h"

namespace mercutio::tool {
namespace {

int complain(const std::string& about, const std::string& why) {
  std::fprintf(stderr, "mercutio explain: %s: %s\n", about.c_str(), why.c_str());
  return 1;
}

bool read_text(const std::string& path, std::string& text) {
  std::ifstream input(path);
  std::ostringstream all;
  all << input.rdbuf();
  text = all.str();
  return input.good() || input.eof();
}

}  // namespace

int explain(const ExplainOptions& options) {
  std::string machine_text, pattern_text;
  if (!read_text(options.machine_file, machine_text)) return complain(options.machine_file, std::strerror(errno));
  if (!read_text(options.pattern_file, pattern_text)) return complain(options.pattern_file, std::strerror(errno));
  HintSet hints;
  for (const std::string& hint : options.hints) {
    const InfoItems items = parse_hint_string(hint);
    if (items.empty()) return complain("--hint " + hint, "must be key=value");
    apply_hints(hints, items, HintSource::kInfo, HintTime::kOpen);
  }
  for (const HintNote& note : hints.notes) {
    if (!note.applied()) return complain("--hint " + note.key, note.why_not);
  }
  const Result<Machine> machine = parse_machine(machine_text);
  if (!machine) return complain(options.machine_file, machine.error().what);
  const Result<PatternFile> file = parse_pattern(pattern_text, machine->topology.ranks());
  if (!file) return complain(options.pattern_file, file.error().what);
  const Pattern pattern = file->pattern();
  const Plan plan = make_plan(pattern, hints.values, machine->topology, machine->layout);
  std::printf("%s", mercutio::explain(plan, pattern).c_str());
  if (options.ranks) std::printf("%s", explain_ranks(plan, machine->topology, machine->layout).c_str());
  return 0;
}

}  // namespace mercutio::tool
