// Golden plans. Every file in golden/ names a machine, a pattern and hints, says in comments which rule it shows, and holds
// the plan expected below a line "---". Fails where a plan differs, and where a value of a field of the plan has no case.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/hints.h"
#include "model/keyed_lines.h"
#include "model/machine_file.h"
#include "model/pattern_file.h"
#include "plan/names.h"
#include "plan/plan.h"

namespace mercutio {
namespace {

namespace fs = std::filesystem;
constexpr const char* kBorder = "---\n";

std::string read_text(const fs::path& path) {
  std::ifstream input(path);
  std::ostringstream text;
  text << input.rdbuf();
  return input ? text.str() : "";
}

struct Case {
  fs::path path;
  std::string head, expected;   // the lines before the border, and those after it
};

struct Made {
  Plan plan;
  std::string text;
};

Result<Made> make(const fs::path& folder, const std::string& head) {
  std::string machine_text, pattern_text;
  HintSet hints;
  for (const KeyedLine& line : keyed_lines(head)) {
    if (line.words.size() != 1) return line.wrong("one word");
    if (line.key == "machine") machine_text = read_text(folder / "machines" / line.words[0]);
    else if (line.key == "pattern") pattern_text = read_text(folder / "patterns" / line.words[0]);
    else if (line.key == "hint") apply_hints(hints, parse_hint_string(line.words[0]), HintSource::kInfo, HintTime::kOpen);
    else return line.wrong("must be machine, pattern or hint");
  }
  if (machine_text.empty() || pattern_text.empty()) return Error{ErrorClass::kArg, "no machine or no pattern"};
  for (const HintNote& note : hints.notes) {
    if (!note.applied()) return Error{ErrorClass::kArg, note.key + ": " + note.why_not};
  }
  MERCUTIO_LET(const Machine machine, parse_machine(machine_text));
  MERCUTIO_LET(const PatternFile file, parse_pattern(pattern_text, machine.topology.ranks()));
  const Pattern pattern = file.pattern();
  Made made;
  made.plan = make_plan(pattern, hints.values, machine.topology, machine.layout);
  MERCUTIO_TRY(verify(made.plan, pattern));
  made.text = explain(made.plan, pattern) + explain_ranks(made.plan, machine.topology, machine.layout);
  return made;
}

// The first line that differs.
void print_difference(const std::string& expected, const std::string& made) {
  std::istringstream left(expected), right(made);
  std::string a, b;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(left, a)), more_right = static_cast<bool>(std::getline(right, b));
    if (!more_left && !more_right) return;
    if (more_left == more_right && a == b) continue;
    std::printf("  line %d\n    expected: %s\n    made:     %s\n", line, more_left ? a.c_str() : "(end)", more_right ? b.c_str() : "(end)");
    return;
  }
}

// Which values of the plan's fields some case shows.
class Shown {
 public:
  void add(const Plan& plan) {
    note("strategy", kStrategyNames[static_cast<int>(plan.strategy)]);
    if (!plan.exchanges()) return;
    note("placement", kPlacementNames[static_cast<int>(plan.placement)]);
    note("domains", kDomainMapNames[static_cast<int>(plan.domain_map)]);
    note("exchange", kExchangeNames[static_cast<int>(plan.exchange)]);
    note("order", kOrderNames[static_cast<int>(plan.order)]);
  }
  template <size_t N>
  int missing(const char* field, const char* const (&names)[N]) const {
    return static_cast<int>(std::count_if(names, names + N, [&](const char* name) {
      const bool absent = seen_.count(std::string(field) + " " + name) == 0;
      if (absent) std::printf("no case shows %s %s\n", field, name);
      return absent;
    }));
  }

 private:
  void note(const char* field, const char* name) { seen_.insert(std::string(field) + " " + name); }
  std::set<std::string> seen_;
};

std::vector<Case> read_cases(const fs::path& folder) {
  std::vector<Case> cases;
  for (const auto& entry : fs::directory_iterator(folder / "golden")) {
    const std::string text = read_text(entry.path());
    const size_t border = text.find(std::string("\n") + kBorder);
    const size_t head = border == std::string::npos ? text.size() : border + 1;
    const size_t rest = std::min(text.size(), head + std::strlen(kBorder));
    cases.push_back(Case{entry.path(), text.substr(0, head), text.substr(rest)});
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.path < b.path; });
  return cases;
}

int run(const fs::path& folder, bool update) {
  Shown shown;
  int wrong = 0, cases = 0;
  for (const Case& c : read_cases(folder)) {
    ++cases;
    const Result<Made> made = make(folder, c.head);
    if (!made) {
      std::printf("%s: %s\n", c.path.filename().c_str(), made.error().what.c_str());
      ++wrong;
      continue;
    }
    shown.add(made->plan);
    if (update) std::ofstream(c.path) << c.head << kBorder << made->text;
    if (update || made->text == c.expected) continue;
    std::printf("%s:\n", c.path.filename().c_str());
    print_difference(c.expected, made->text);
    ++wrong;
  }
  wrong += shown.missing("strategy", kStrategyNames) + shown.missing("placement", kPlacementNames) +
           shown.missing("domains", kDomainMapNames) + shown.missing("exchange", kExchangeNames) + shown.missing("order", kOrderNames);
  std::printf("%d golden plans, %d wrong\n", cases, wrong);
  return wrong == 0 && cases > 0 ? 0 : 1;
}

}  // namespace
}  // namespace mercutio

int main(int argc, char** argv) {
  const bool update = argc == 3 && std::strcmp(argv[1], "--update") == 0;
  if (argc != (update ? 3 : 2)) {
    std::printf("usage: plan_golden [--update] FOLDER\n");
    return 2;
  }
  return mercutio::run(argv[argc - 1], update);
}
