// The starts of the measuring program: each call on every contender before the next one, in an order that changes with
// each repetition, so that a machine that gets slower or faster meanwhile does not favour anybody.
#include <algorithm>
#include <random>

#include "../process.h"
#include "../progress.h"
#include "common.h"
#include "overlap.h"

namespace mercutio::tool {
namespace {

constexpr double kAccesses = 16, kGraceSeconds = 300;

// Times by case; ordered as the program prints them.
struct Samples {
  std::string call, pattern;
  int contender = 0;
  double bytes = 0;
  i64 wrong = 0;
  std::vector<OverlapTimes> times;
};

OverlapTimes times_of(const FlatJson& values) {
  OverlapTimes times;
  times.blocking = number(values, "blocking");
  times.io = number(values, "io");
  times.io_post = number(values, "io_post");
  times.io_complete = number(values, "io_complete");
  times.compute = number(values, "compute");
  times.both = number(values, "both");
  times.both_post = number(values, "both_post");
  times.both_complete = number(values, "both_complete");
  times.tested = number(values, "tested");
  return times;
}

double median_of(const std::vector<OverlapTimes>& times, double OverlapTimes::*field) {
  std::vector<double> values;
  for (const OverlapTimes& one : times) values.push_back(one.*field);
  return median(values);
}

OverlapRow row_of(const Samples& samples) {
  OverlapRow row;
  row.call = samples.call, row.pattern = samples.pattern;
  row.contender = samples.contender;
  row.bytes = samples.bytes;
  row.wrong = samples.wrong;
  row.samples = static_cast<int>(samples.times.size());
  for (auto field : {&OverlapTimes::blocking, &OverlapTimes::io, &OverlapTimes::io_post, &OverlapTimes::io_complete,
                     &OverlapTimes::compute, &OverlapTimes::both, &OverlapTimes::both_post,
                     &OverlapTimes::both_complete, &OverlapTimes::tested}) {
    row.times.*field = median_of(samples.times, field);
  }
  const OverlapTimes& times = row.times;
  const double longer = std::max({times.io, times.compute, 1e-9}),
               shorter = std::max(std::min(times.io, times.compute), 1e-9);
  row.overlap = (times.io + times.compute - times.both) / shorter;
  row.total = times.both / longer;
  row.tested_total = times.tested / longer;
  row.of_blocking = times.io / std::max(times.blocking, 1e-9);
  return row;
}

class OverlapRunner {
 public:
  OverlapRunner(const OverlapOptions& options, const Field& field, const Field& posting_field, std::string directory)
      : options_(options), field_(field), posting_field_(posting_field), directory_(std::move(directory)) {}

  OverlapFigures run() {
    const Words calls = find_calls();
    std::mt19937 random(static_cast<unsigned>(options_.common.seed));
    Progress progress(options_.common.repetitions * static_cast<int>(calls.size() * field_.contenders.size()) +
                      static_cast<int>(options_.posting_ranks > 0 ? posting_field_.contenders.size() : 0));
    for (int repetition = 0; repetition < options_.common.repetitions; ++repetition) {
      for (const std::string& call : calls) {
        for (int contender : shuffled(field_, random)) {
          progress.begin(call + " " + field_.contenders[contender].name());
          if (!stop_wanted()) start_overlap(call, contender, repetition);
        }
      }
    }
    for (int contender : shuffled(posting_field_, random)) {
      if (stop_wanted() || options_.posting_ranks == 0) continue;
      progress.begin("posting " + posting_field_.contenders[contender].name());
      start_postings(calls, contender);
    }
    if (stop_wanted()) figures_.troubles.push_back("interrupted: some of the figures are missing");
    make_rows(calls);
    return std::move(figures_);
  }

 private:
  Words find_calls() {
    Words line = field_.program, calls;
    line.push_back("--list");
    const Words wanted = split(options_.common.patterns, ','), known = split(capture(line, 30).text, '\n');
    for (const std::string& name : known) {
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) calls.push_back(name);
    }
    for (const std::string& name : wanted) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      figures_.troubles.push_back("there is no call '" + name + "'; there are " + joined(known, ", "));
    }
    return calls;
  }

  static std::vector<int> shuffled(const Field& field, std::mt19937& random) {
    std::vector<int> order(field.contenders.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), random);
    return order;
  }

  void start_overlap(const std::string& call, int contender, int repetition) {
    const Contender& who = field_.contenders[contender];
    if (left_out(call, contender)) return;
    start(who, call, repetition, {"--rounds", "1"}, [&](const FlatJson& values) {
      if (!values.count("call")) return;
      Samples& samples = find(values.at("call"), values.at("pattern"), contender);
      samples.bytes = number(values, "bytes");
      samples.wrong += static_cast<i64>(number(values, "wrong"));
      samples.times.push_back(times_of(values));
    });
  }

  void start_postings(const Words& all, int contender) {
    const Contender& who = posting_field_.contenders[contender];
    Words calls;
    for (const std::string& call : all) {
      if (!left_out(call, contender)) calls.push_back(call);
    }
    if (calls.empty()) return;
    start(who, joined(calls, ","), 0, {"--posting"}, [&](const FlatJson& values) {
      if (!values.count("post")) return;
      figures_.postings.push_back({values.at("post"), values.at("pattern"), contender, number(values, "bytes"),
                                   number(values, "least"), number(values, "seconds"), number(values, "most"),
                                   static_cast<i64>(number(values, "wrong"))});
    });
  }

  template <typename Take>
  void start(const Contender& who, const std::string& calls, int repetition, const Words& more, const Take& take) {
    const BenchOptions& common = options_.common;
    Words line = who.command;
    line.insert(line.end(),
                {"--dir", directory_, "--calls", calls, "--bytes", std::to_string(common.bytes), "--limit",
                 std::to_string(common.limit_seconds), "--seed", std::to_string(common.seed * 1000 + repetition)});
    line.insert(line.end(), more.begin(), more.end());
    const Output output = capture(line, static_cast<int>(kGraceSeconds + kAccesses * common.limit_seconds));
    if (const std::string why = why_another(who, output.text); !why.empty()) {
      figures_.troubles.push_back(who.name() + " " + calls + ": " + why);
      figures_.of_others = true;
      return;
    }
    bool done = false, timed_out = false;
    for (const std::string& text : split(output.text, '\n')) {
      const FlatJson values = parse_flat_json(text);
      take(values);
      done |= values.count("done") > 0;
      timed_out |= values.count("timeout") > 0;
    }
    if (done) return;
    left_out_.push_back(calls + "@" + who.name());
    figures_.failures += who.ours();
    figures_.troubles.push_back(who.name() + " " + calls + ": " +
                                (timed_out ? "an access was ended by the time limit" : output.text.substr(0, 1500)));
  }

  // What ended early once is not tried again.
  bool left_out(const std::string& call, int contender) const {
    const std::string name = call + "@" + field_.contenders[contender].name();
    return std::find(left_out_.begin(), left_out_.end(), name) != left_out_.end();
  }

  Samples& find(const std::string& call, const std::string& pattern, int contender) {
    for (Samples& samples : samples_) {
      if (samples.call == call && samples.pattern == pattern && samples.contender == contender) return samples;
    }
    samples_.push_back({call, pattern, contender, 0, 0, {}});
    return samples_.back();
  }

  // In the order of the calls; in each of them by pattern, then by contender.
  void make_rows(const Words& calls) {
    const auto place = [&](const auto& row) {
      const auto call = std::find(calls.begin(), calls.end(), row.call) - calls.begin();
      return std::make_tuple(call, row.pattern, row.bytes, row.contender);
    };
    const auto before = [&](const auto& a, const auto& b) { return place(a) < place(b); };
    for (const Samples& samples : samples_) figures_.rows.push_back(row_of(samples));
    std::sort(figures_.rows.begin(), figures_.rows.end(), before);
    std::sort(figures_.postings.begin(), figures_.postings.end(), before);
    for (const OverlapRow& row : figures_.rows) {
      figures_.failures += row.wrong > 0 && field_.contenders[row.contender].ours();
    }
    for (const PostingRow& row : figures_.postings) {
      figures_.failures += row.wrong > 0 && field_.contenders[row.contender].ours();
    }
  }

  const OverlapOptions& options_;
  const Field &field_, &posting_field_;
  std::string directory_;
  Words left_out_;
  std::vector<Samples> samples_;
  OverlapFigures figures_;
};

}  // namespace

OverlapFigures measure_overlap(const OverlapOptions& options, const Field& field, const Field& posting_field,
                               const std::string& data_directory) {
  return OverlapRunner(options, field, posting_field, data_directory).run();
}

}  // namespace mercutio::tool
