// Starts the measuring program, reads its lines, and starts it again behind a
// case that was ended by its time limit.
#include "measure.h"

#include <algorithm>
#include <random>
#include <set>

#include "../process.h"
#include "../progress.h"
#include "common.h"

namespace mercutio::tool {
namespace {

struct Group {
  std::string name;
  Words cases;
};

// At most so many cases of one family ("vector-8", "vector-64") are one start of the program. The contenders alternate between the starts, as
// some machines change their speed every few seconds.
constexpr std::size_t kMostCases = 4;

std::vector<Group> find_groups(const BenchOptions& options, const Words& program) {
  Words line = program;
  line.push_back("--list");
  const Words wanted = split(options.patterns, ',');
  std::vector<Group> groups;
  for (const std::string& name : split(capture(line, 30).text, '\n')) {
    const auto begins = [&](const std::string& pattern) { return name.rfind(pattern, 0) == 0; };
    if (!wanted.empty() && std::none_of(wanted.begin(), wanted.end(), begins)) continue;
    const std::string family = name.substr(0, name.find('-'));
    if (groups.empty() || groups.back().name != family || groups.back().cases.size() == kMostCases) groups.push_back({family, {}});
    groups.back().cases.push_back(name);
  }
  return groups;
}

Sample sample_of(const std::map<std::string, std::string>& values) {
  Sample sample;
  sample.open = number(values, "open");
  sample.view = number(values, "view");
  sample.access = number(values, "access");
  sample.close = number(values, "close");
  sample.seconds = number(values, "seconds");
  sample.later = number(values, "later");
  sample.bytes = number(values, "bytes");
  sample.moved = number(values, "moved");
  if (values.count("mode")) sample.where = values.at("mode") + ", " + values.at("members") + (values.at("members") == "1" ? " rank" : " ranks");
  sample.calls = static_cast<i64>(number(values, "calls"));
  sample.wrong = static_cast<i64>(number(values, "wrong"));
  sample.holes = static_cast<i64>(number(values, "holes"));
  return sample;
}

class BenchRunner {
 public:
  BenchRunner(const BenchOptions& options, const Field& field, std::string directory)
      : options_(options), field_(field), directory_(std::move(directory)) {}

  Measurements run() {
    const std::vector<Group> groups = find_groups(options_, field_.program);
    Progress progress(options_.repetitions * static_cast<int>(groups.size() * field_.contenders.size()));
    std::mt19937 random(static_cast<unsigned>(options_.seed));
    std::vector<int> order(field_.contenders.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      for (const Group& group : groups) {
        std::shuffle(order.begin(), order.end(), random);
        for (int contender : order) {
          progress.begin(group.name + " " + field_.contenders[contender].name());
          if (!stop_wanted()) run_group(group, contender, repetition);
        }
      }
    }
    if (stop_wanted()) result_.troubles.push_back("interrupted: some of the figures are missing");
    return std::move(result_);
  }

 private:
  struct Launch {
    bool done = false;
    std::string begun,
        operation;  // the case that has begun and has no result yet
    bool timed_out = false;
  };

  void run_group(const Group& group, int contender, int repetition) {
    std::string after;
    for (std::size_t starts = 0; starts <= 2 * group.cases.size(); ++starts) {
      const Launch launch = start(group, contender, {repetition, after});
      if (launch.done) return;
      if (launch.begun.empty()) {
        if (starts == 0)
          result_.troubles.push_back(field_.contenders[contender].name() + ": no figures for " + group.name);
        return;
      }
      Sample sample;
      sample.timed_out = launch.timed_out;
      sample.died = !launch.timed_out;
      sample.seconds = options_.limit_seconds;
      add({launch.begun, launch.operation}, contender, sample);
      after = launch.begun + ":" + launch.operation;
      left_out_[contender] += (left_out_[contender].empty() ? "," : "") + after + ",";
    }
  }

  struct Place {
    int repetition;
    std::string after;
  };

  Launch start(const Group& group, int contender, const Place& place) {
    Words line = field_.contenders[contender].command;
    line.insert(line.end(), {"--dir", directory_, "--patterns", joined(group.cases, ","), "--limit",
                             std::to_string(options_.limit_seconds), "--seed",
                             std::to_string(options_.seed * 1000 + place.repetition)});
    if (options_.quick) line.push_back("--quick");
    if (options_.full) line.push_back("--full");
    if (options_.bytes > 0) line.insert(line.end(), {"--bytes", std::to_string(options_.bytes)});
    if (!place.after.empty()) line.insert(line.end(), {"--after", place.after});
    if (!left_out_[contender].empty()) line.insert(line.end(), {"--skip", left_out_[contender]});
    const double most = 60 + static_cast<double>(group.cases.size()) * 2 * (options_.limit_seconds + 20);
    const Output output = capture(line, static_cast<int>(most));
    if (const std::string why = why_another(field_.contenders[contender], output.text); !why.empty()) {
      result_.troubles.push_back(field_.contenders[contender].name() + ": " + why);
      result_.of_others = true;
      return {};
    }
    Launch launch = read_lines(output.text, contender);
    if (!launch.done) {
      result_.troubles.push_back(field_.contenders[contender].name() + " " + launch.begun + ": " +
                                 (launch.timed_out ? "ended by the time limit" : output.text.substr(0, 1500)));
    }
    return launch;
  }

  Launch read_lines(const std::string& text, int contender) {
    Launch launch;
    double limit_bytes = 0, write_limit = 0, read_limit = 0;
    for (const std::string& line : split(text, '\n')) {
      const auto values = parse_flat_json(line);
      if (values.count("begin")) {
        launch.begun = values.at("begin");
        launch.operation = values.count("op") ? values.at("op") : "";
      } else if (values.count("limit")) {
        limit_bytes = number(values, "limit");
        write_limit = number(values, "write");
        read_limit = number(values, "read");
      } else if (values.count("case") && values.count("op")) {
        Sample sample = sample_of(values);
        sample.limit_bytes = limit_bytes;
        sample.limit_seconds = values.at("op") == "write" ? write_limit : read_limit;
        add({values.at("case"), values.at("op")}, contender, sample);
        launch.begun.clear();
      } else if (values.count("timeout")) {
        launch.timed_out = true;
      } else if (values.count("done")) {
        launch.done = true;
      }
    }
    return launch;
  }

  void add(const Point& point, int contender, const Sample& sample) {
    auto found = std::find(result_.points.begin(), result_.points.end(), point);
    if (found == result_.points.end()) found = result_.points.insert(found, point);
    const int index = static_cast<int>(found - result_.points.begin());
    result_.samples[{index, contender}].push_back(sample);
  }

  const BenchOptions& options_;
  const Field& field_;
  std::string directory_;
  std::map<int, std::string> left_out_;  // by contender: what took too long once is not tried again
  Measurements result_;
};

}  // namespace

Measurements measure(const BenchOptions& options, const Field& field, const std::string& data_directory) {
  return BenchRunner(options, field, data_directory).run();
}

}  // namespace mercutio::tool
