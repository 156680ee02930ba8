// Medians over the repetitions; ratios of medians within the one run. A case that was ended by its time limit counts
// with that time.
#include "report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "common.h"

namespace mercutio::tool {
namespace {

double median_of(const std::vector<Sample>& samples, double Sample::*field) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.*field);
  return median(values);
}

bool ended_early(const Sample& sample) {
  return sample.timed_out || sample.died;
}

// Once ended by the limit is enough: later repetitions leave the case out.
Row make_row(const Point& point, int contender, std::vector<Sample> samples) {
  Row row;
  row.point = point;
  row.contender = contender;
  for (const Sample& sample : samples) {
    row.timed_out |= sample.timed_out;
    row.died |= sample.died;
    row.wrong += sample.wrong;
    row.holes += sample.holes;
  }
  row.samples = static_cast<int>(samples.size());
  if (row.timed_out || row.died) {
    samples.erase(std::remove_if(samples.begin(), samples.end(), [](const Sample& s) { return !ended_early(s); }),
                  samples.end());
  }
  for (auto field : {&Sample::open, &Sample::view, &Sample::access, &Sample::close, &Sample::seconds, &Sample::later,
                     &Sample::bytes, &Sample::moved, &Sample::limit_bytes, &Sample::limit_seconds}) {
    row.median.*field = median_of(samples, field);
  }
  row.median.calls = samples.front().calls;
  row.cost = row.median.seconds / static_cast<double>(std::max<i64>(row.median.calls, 1));
  if (row.median.moved > 0) row.of_asked = row.median.moved / row.median.bytes, row.where = samples.front().where;
  if (row.median.bytes > 0 && row.median.seconds > 0) row.bandwidth = row.median.bytes / row.median.seconds / (1 << 20);
  std::vector<double> fractions;
  for (const Sample& sample : samples) {
    if (sample.bytes <= 0 || sample.limit_bytes <= 0 || sample.seconds <= 0) continue;
    fractions.push_back(sample.bytes / sample.seconds * sample.limit_seconds / sample.limit_bytes);
  }
  if (!fractions.empty()) row.of_limit = median(fractions);
  return row;
}

// Peers are measured by time: they move the same bytes.
void compare(const Field& field, std::vector<Row>& rows) {
  for (Row& row : rows) {
    const Contender& self = field.contenders[row.contender];
    if (!self.ours()) continue;
    double host = 0, best = 0;
    for (const Row& other : rows) {
      const Contender& peer = field.contenders[other.contender];
      if (!(other.point == row.point)) continue;
      if (peer.io == "against" && peer.mpi == self.mpi && row.cost > 0) row.of_against = other.cost / row.cost;
      if (!peer.peer()) continue;
      if (peer.io == "host" && peer.mpi == self.mpi) host = other.cost;
      if (best == 0 || other.cost < best) best = other.cost;
    }
    if (host > 0) row.of_host = host / row.cost;
    if (best > 0) row.of_best = best / row.cost;
  }
}

bool calls_of_ior(const Point& point) { return point.name.rfind("ior-", 0) == 0; }

// What most geometric means are over: collective accesses whose file side or memory side has holes.
bool noncontiguous_collective(const Point& point) {
  const std::string& name = point.name;
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  return point.operation != "latency" && point.operation != "moved" && !has("contiguous") && !has("independent") && !has("original") &&
         !calls_of_ior(point) && name != "hpio-c-c";
}

class MeanMaker {
 public:
  void add(const std::string& what, const std::optional<double>& ratio) {
    if (!ratio || *ratio <= 0) return;
    sums_[what].first += std::log(*ratio);
    ++sums_[what].second;
  }
  std::vector<Mean> finish() const {
    std::vector<Mean> means;
    for (const auto& [what, sum] : sums_) means.push_back({what, std::exp(sum.first / sum.second), sum.second});
    return means;
  }

 private:
  std::map<std::string, std::pair<double, int>> sums_;
};

std::vector<Mean> make_means(const Field& field, const std::vector<Row>& rows) {
  MeanMaker means;
  for (const Row& row : rows) {
    const Contender& self = field.contenders[row.contender];
    if (self.ours() && calls_of_ior(row.point)) means.add(self.mpi + " over its own I/O, calls of IOR", row.of_host);
    if (!self.ours() || !noncontiguous_collective(row.point)) continue;
    means.add(self.mpi + " over its own I/O, " + row.point.operation, row.of_host);
    means.add(self.mpi + " over its own I/O", row.of_host);
    means.add(self.mpi + " over the best peer", row.of_best);
    means.add(self.mpi + " of the limit, " + row.point.operation, row.of_limit);
    means.add(self.mpi + " over the other library, " + row.point.operation, row.of_against);
  }
  return means.finish();
}

}  // namespace

Report make_report(const Field& field, const Measurements& measurements) {
  Report report;
  for (const auto& [key, samples] : measurements.samples) {
    report.rows.push_back(make_row(measurements.points[key.first], key.second, samples));
    const Row& row = report.rows.back();
    const bool bad = row.wrong > 0 || row.holes > 0 || row.died || row.timed_out || row.moves_too_much();
    report.failures += field.contenders[key.second].ours() && bad;
  }
  compare(field, report.rows);
  report.means = make_means(field, report.rows);
  return report;
}

}  // namespace mercutio::tool
