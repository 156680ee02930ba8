// The rule of slow storage: ranks whose requests take much longer than like requests of the other ranks. Others wait for them in collective
// calls; that they wait shows how much of it they cost.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "insight/costs.h"
#include "insight/findings.h"
#include "insight/rule_parts.h"

namespace mercutio {
namespace {

constexpr double kMuchSlower = 4, kLeastExcess = 0.1;
constexpr double kLeastRequests = 3;   // one that is slow may be so by chance
constexpr double kLikeBytes = 4;       // ranks with less than this part of the bytes are not compared: caches take little, but not much

// What a rank asked storage for, in one direction.
struct Requests {
  double taken = 0, calls = 0, bytes = 0, pieces = 0;
  double seconds = 0;   // of these, what the program was held, without the time in which the rank had no core; the longest counts as one like the others
  double usual = 0;   // how long others would have taken; 0: nothing is known
  bool slow() const { return usual > 0 && seconds >= kMuchSlower * usual && seconds - usual >= kLeastExcess; }
};

Requests requests_of(const Job& job, const FileTotals& one, std::size_t rank, std::size_t way) {
  const StorageTotals& part = one.storage[way];
  Requests found{seconds_of(part.ns), static_cast<double>(part.calls), static_cast<double>(part.bytes), static_cast<double>(part.pieces)};
  found.seconds = found.taken;
  if (found.calls >= kLeastRequests)
    found.seconds = std::min(found.seconds, std::max(0.0, found.seconds - seconds_of(part.longest_ns)) * found.calls / (found.calls - 1));
  found.seconds = std::min(found.seconds, std::max(0.0, seconds_of(one.held_ns()) - late_of_all(one)));
  const double part_of_run = job.seconds > 0 ? std::min(1.0, 2 * found.seconds / job.seconds) : 1;
  found.seconds = std::max(0.0, found.seconds - queued_seconds(job.traces[rank]) * part_of_run);
  return found;
}

// How many times as long: by number, by bytes or by pieces, whichever is least. So neither larger requests nor smaller ones count as slow.
double times_as_long(const Requests& mine, const Requests& other) {
  double least = std::numeric_limits<double>::max();
  for (double Requests::*const amount : {&Requests::calls, &Requests::bytes, &Requests::pieces}) {
    if (mine.*amount > 0) least = std::min(least, mine.seconds * (other.*amount) / (mine.*amount * other.taken));
  }
  return least;
}

// Half of the ranks with like requests take as long or longer.
double usual_seconds(const std::vector<Requests>& all, std::size_t rank) {
  const Requests& mine = all[rank];
  std::vector<double> times;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != rank && all[i].taken > 0 && all[i].calls > 0 && all[i].bytes * kLikeBytes >= mine.bytes) times.push_back(times_as_long(mine, all[i]));
  }
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return mine.seconds / *middle;
}

std::vector<Requests> requests_of_ranks(const Job& job, const JobFile& file, std::size_t way) {
  std::vector<Requests> all;
  for (std::size_t rank = 0; rank < file.by_rank.size(); ++rank) all.push_back(requests_of(job, file.by_rank[rank], rank, way));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].calls >= kLeastRequests && all[rank].seconds >= kLeastExcess) all[rank].usual = usual_seconds(all, rank);
  }
  return all;
}

// What even the rank waits for late ones that waits least.
double least_waiting(const JobFile& file) {
  double least = std::numeric_limits<double>::max();
  for (const FileTotals& one : file.by_rank) {
    if (meetings(one) > 0) least = std::min(least, late_of_all(one));
  }
  return least < std::numeric_limits<double>::max() ? least : 0;
}

// The others wait for the slowest in collective accesses and in the calls after its own ones; where they are not seen to, what they do meanwhile may take
// as long.
Held cost_of(const JobFile& file, const std::vector<Requests>& all) {
  const double in_turns = least_waiting(file);
  double now = 0, after = 0, seen = std::numeric_limits<double>::max();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const FileTotals& one = file.by_rank[rank];
    const double spare = meetings(one) > 0 ? late_of_all(one) - in_turns : 0;
    after = std::max(after, all[rank].slow() ? all[rank].usual : all[rank].taken);
    if (all[rank].slow()) now = std::max(now, all[rank].seconds - spare);
    else seen = std::min(seen, spare + seconds_of(one.phase_ns(Phase::kWait) + one.phase_ns(Phase::kAgree)));
  }
  const double saved = std::max(0.0, now - after);
  return {saved, 2 * seen < saved};
}

std::string host_of(const Job& job, std::size_t rank) { return job.traces[rank].header.host.data(); }

// What all slow ranks have in common.
struct Places {
  std::set<std::string> hosts;
  bool whole_nodes = true;   // no other rank there has requests that are not slow
};

Places places_of(const Job& job, const std::vector<Requests>& all, const std::vector<std::size_t>& slow) {
  Places found;
  for (const std::size_t rank : slow) found.hosts.insert(host_of(job, rank));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].calls > 0 && !all[rank].slow() && found.hosts.contains(host_of(job, rank))) found.whole_nodes = false;
  }
  return found;
}

std::string what_to_check(const Job& job, const JobFile& file, const Places& places, const std::vector<std::size_t>& slow) {
  const std::string nodes = places.hosts.size() == 1 ? *places.hosts.begin() : "these " + number_text(static_cast<i64>(places.hosts.size())) + " nodes";
  std::string text = places.whole_nodes ? "check " + nodes + ": the mount of the file system, the network link, other jobs"
                                        : "see what slows down the storage of " + names_of_ranks(job, slow) + ": other jobs on " + nodes + ", limits of processes";
  if (!is_local(file)) text += std::string(", the servers of ") + (slow.size() > 1 ? "their parts" : "its part") + " of the file" + (file.all.stripe_count > 1 ? " (lfs getstripe)" : "");
  return text;
}

std::optional<Detection> slow_in(const Job& job, const JobFile& file, Direction direction) {
  const std::vector<Requests> all = requests_of_ranks(job, file, direction == Direction::kWrite ? 1 : 0);
  std::vector<std::size_t> slow;
  Requests sum;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (!all[rank].slow()) continue;
    slow.push_back(rank);
    sum.taken += all[rank].taken, sum.usual += all[rank].usual, sum.calls += all[rank].calls, sum.bytes += all[rank].bytes;
  }
  if (slow.empty()) return {};
  const Places places = places_of(job, all, slow);
  const Held cost = cost_of(file, all);
  const std::string where = places.hosts.size() == 1 ? *places.hosts.begin() : number_text(static_cast<i64>(places.hosts.size())) + " nodes";
  return Detection{names_of_ranks(job, slow) + " on " + where + ": " + number_text(static_cast<i64>(sum.calls)) + (direction == Direction::kWrite ? " write" : " read") +
                       " requests of " + bytes_text(sum.bytes / sum.calls) + " take " + seconds_text(sum.taken / sum.calls) + " each, " +
                       number_text(std::llround(sum.taken / sum.usual)) + " times as long as those of the other ranks",
                   {{what_to_check(job, file, places, slow), cost.seconds, cost.at_most}},
                   job.traces[slow.front()].header.rank};
}

// What one rank reads first is in a cache for those that read the same after it.
bool reads_again(const JobFile& file) {
  constexpr double kOnce = 1.2;
  return static_cast<double>(of(file.all, Direction::kRead, false).bytes) > kOnce * read_ranges(file);
}

}  // namespace

std::optional<Detection> slow_storage(const Job& job, const JobFile& file) {
  std::optional<Detection> writes = slow_in(job, file, Direction::kWrite);
  if (reads_again(file)) return writes;
  std::optional<Detection> reads = slow_in(job, file, Direction::kRead);
  return !writes || (reads && reads->options[0].saved > writes->options[0].saved) ? reads : writes;
}

}  // namespace mercutio
