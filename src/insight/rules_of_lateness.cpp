// The rule of late ranks: which ranks others wait for, beyond what their I/O explains.
#include <algorithm>
#include <limits>
#include <vector>

#include "insight/costs.h"
#include "insight/families.h"
#include "insight/findings.h"
#include "insight/rule_parts.h"

namespace mercutio {
namespace {

// What all files take a rank, without waiting for late ranks.
double own_in_all(const Job& job, std::size_t rank) {
  double seconds = 0;
  for (const JobFile& file : job.files) {
    const FileTotals held = file.by_rank[rank].as_held();
    seconds += seconds_of(held.held_ns()) - late_of_all(held);
  }
  return std::max(0.0, seconds);
}

// What a rank waits for late ones in calls on other files, before its last call on these: meanwhile it is late for these because of those.
double held_in_others(const Job& job, const JobFile& files, std::size_t rank) {
  i64 last_ns = 0;
  for (const JobFile* const member : files.members) last_ns = std::max(last_ns, member->by_rank[rank].last_ns);
  double seconds = 0;
  for (const JobFile& other : job.files) {
    const bool member = std::find(files.members.begin(), files.members.end(), &other) != files.members.end();
    if (!member && other.by_rank[rank].first_ns <= last_ns) seconds += late_of_all(other.by_rank[rank].as_held());
  }
  return seconds;
}

// How much longer it does than half of those that wait for it.
double held_longer_in_others(const Job& job, const JobFile& files, std::size_t late) {
  std::vector<double> others;
  for (std::size_t rank = 0; rank < files.by_rank.size(); ++rank) {
    if (rank != late && has_met(files.by_rank[rank])) others.push_back(held_in_others(job, files, rank));
  }
  if (others.empty()) return 0;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  return std::max(0.0, held_in_others(job, files, late) - *middle);
}

bool meets_others(const FileTotals& one) { return meetings(one) > 0; }

// What ranks do between their meetings can make the others late: each rank waits for all others in turn. In a loop of nothing but meetings, ranks come
// late because of these.
double most_in_turns(const Job& job, const JobFile& file, double ranks) {
  constexpr double kLoopSeconds = 20e-6;
  const double loop = worst(file, meetings) * kLoopSeconds * crowding(job);
  return (ranks - 1) * std::max(0.0, between_calls(file) - loop);
}

// Several ranks may be late.
std::string who_waits(const JobFile& file, double least) {
  const double most = worst(file, late_of_all);
  double sum = 0;
  i64 ranks = 0, all = 0;
  for (const FileTotals& one : file.by_rank) {
    if (!meets_others(one)) continue;
    ++all;
    if (2 * late_of_all(one) < least + most) continue;
    ++ranks;
    sum += late_of_all(one);
  }
  if (all == 2) return "the other one waits " + seconds_text(sum) + " for ";
  const std::string who = ranks == all - 1 ? "the others wait " : number_text(ranks) + " of " + number_text(all) + " ranks wait ";
  return who + seconds_text(sum / static_cast<double>(std::max<i64>(1, ranks))) + (all - ranks > 1 ? " each for others, among them " : " each for ");
}

// How late ranks are that meet, beyond what their I/O explains, which is what other rules are about, and that others were on their cores.
struct Lateness {
  std::size_t rank = 0;   // that waits least
  double count = 0, least = 0, sum = 0, work = 0;
  double steady = 0, steady_mean = 0;   // what half of the ranks or more wait longer than it, and what they wait on average
  double in_turns = 0;                  // what even that one waits: ranks are late in turns
  std::vector<std::size_t> alike, too;  // about as late as it; less late
  double ahead = 0;                     // how much later those alike are than the next one
  double balanced() const { return steady_mean + in_turns; }
  // Of ranks that are late one at a time, each waits for all others.
  double without() const { return steady + in_turns * count / (count - 1); }
  // The other ranks stay as late as they are.
  double without_those_alike() const { return std::min(steady, ahead) + in_turns * static_cast<double>(alike.size()) / (count - 1); }
};

// `most`: what those wait that are not late.
void find_late_ranks(const JobFile& file, double most, Lateness& found) {
  constexpr double kAlike = 0.1;
  const double nearly = kAlike * (most - found.least);
  found.ahead = most - found.least;
  for (std::size_t rank = 0; rank < file.by_rank.size(); ++rank) {
    if (!meets_others(file.by_rank[rank])) continue;
    const double waited = late_of_all(file.by_rank[rank]);
    if (waited - found.least <= nearly) {
      found.alike.push_back(rank);
      continue;
    }
    found.ahead = std::min(found.ahead, waited - found.least);
    if (most - waited >= nearly) found.too.push_back(rank);
  }
}

// A rank that has no core is late. It is late only where it does not wait itself: a rank that polls for the others is queued as well. The
// others wait for the one that is queued longest, which may be twice as long as the mean.
double queued_while_others_wait(const Job& job, double waited) {
  const double at_work = job.seconds > 0 ? std::max(0.0, 1 - waited / job.seconds) : 1;
  return queued_seconds(job) * std::min(1.0, 2 * at_work);
}

std::optional<Lateness> lateness_of(const Job& job, const JobFile& file) {
  Lateness found;
  double own = 0;
  std::vector<double> waits;
  found.least = 1e300;
  for (std::size_t rank = 0; rank < file.by_rank.size(); ++rank) {
    const FileTotals& one = file.by_rank[rank];
    if (!meets_others(one)) continue;
    const double waited = late_of_all(one);
    found.count += 1;
    found.sum += waited;
    found.work = std::max(found.work, seconds_of(one.held_ns()) - waited);
    own += own_in_all(job, rank);
    waits.push_back(waited);
    if (waited < found.least) found.least = waited, found.rank = rank;
  }
  if (found.count < 2) return {};
  std::sort(waits.begin(), waits.end());
  const double most = waits[waits.size() / 2];   // a few that wait for all others have little to do
  find_late_ranks(file, most, found);
  double of_late = 0;   // of those that are as late, the others may wait for the one whose I/O takes longest
  for (const std::size_t rank : found.alike) of_late = std::max(of_late, own_in_all(job, rank));
  found.in_turns = std::max(0.0, std::min(found.least, most_in_turns(job, file, found.count)) - found.work - queued_while_others_wait(job, found.sum / found.count));
  const double in_others = held_longer_in_others(job, file, found.rank);
  found.steady_mean = std::max(0.0, found.sum / found.count - found.least - std::max(0.0, of_late - own / found.count) - in_others * (found.count - 1) / found.count);
  const double explained = std::max(0.0, of_late - (own - of_late) / (found.count - 1)) + in_others;
  found.steady = std::max(0.0, most - found.least - explained);
  found.ahead = std::max(0.0, found.ahead - explained);
  return found;
}

// A lack of cores makes ranks late only as far as those that wait for them had cores.
std::string cause_of(const Job& job, const JobFile& file, const Lateness& late) {
  double queued = std::numeric_limits<double>::max(), of_others = 0;
  for (std::size_t rank = 0; rank < file.by_rank.size(); ++rank) {
    const bool is_late = std::find(late.alike.begin(), late.alike.end(), rank) != late.alike.end();
    if (is_late) queued = std::min(queued, queued_seconds(job.traces[rank]));
    else if (meets_others(file.by_rank[rank])) of_others += queued_seconds(job.traces[rank]);
  }
  of_others /= std::max(1.0, late.count - static_cast<double>(late.alike.size()));
  const bool several = late.alike.size() > 1;
  const std::string ranks = names_of_ranks(job, late.alike);
  if (2 * (queued - of_others) < late.steady)
    return "see what " + ranks + (several ? " do" : " does") + " between accesses that those that wait do not";
  return "give " + ranks + (several ? " a core each: they were" : " a core of its own: it was") + " ready to run but had none for " + seconds_text(queued) +
         ", the others for " + seconds_text(of_others);
}

std::optional<Detection> lateness_among(const Job& job, const JobFile& file) {
  const std::optional<Lateness> late = lateness_of(job, file);
  if (!late || late->balanced() < 0.1 || late->without() < 0.1 || late->balanced() * late->count < 0.1 * (late->sum + late->work * late->count)) return {};
  const bool at_most = late->count < static_cast<double>(job.traces.size());   // the others may take as long
  const std::string overlaps = " overlap with MPI_File_iwrite_all or iread_all";
  if (late->in_turns > late->steady_mean)
    return Detection{"each rank waits " + seconds_text(late->least) + " or more for others, another one each time",
                     {{"see what makes a rank late between accesses", late->without(), at_most},
                      {"balance what the ranks do between accesses, or let it" + overlaps, late->balanced(), at_most}}};
  const PieceHeader& header = job.traces[late->rank].header;
  const std::string rank = "rank " + number_text(header.rank);
  const std::string too = late->too.empty() ? "" : "; " + names_of_ranks(job, late->too) + (late->too.size() > 1 ? " are" : " is") + " late, too";
  return Detection{who_waits(file, late->least) + rank + " on " + header.host.data() + ", which waits " + seconds_text(late->least) + too,
                   {{cause_of(job, file, *late), late->without_those_alike(), at_most},
                    {"divide that work evenly among the ranks", late->balanced(), at_most}},
                   header.rank};
}

}  // namespace

std::optional<Detection> straggler(const Job& job, const JobFile& file) {
  std::optional<Detection> worst_found;
  for (const MeetingRanks& group : meetings_of(file)) {
    std::optional<Detection> found = group.known ? lateness_among(job, group.files) : std::nullopt;
    if (found && (!worst_found || found->options[0].saved > worst_found->options[0].saved)) worst_found = std::move(found);
  }
  return worst_found;
}

}  // namespace mercutio
