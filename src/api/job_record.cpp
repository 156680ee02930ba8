#include "api/job_record.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <new>

#include "api/patient_wait.h"
#include "api/run_facts.h"
#include "base/attempt.h"
#include "insight/job_summary.h"
#include "insight/recorder.h"
#include "insight/site_file.h"
#include "mpi/mpi_header.h"

namespace mercutio {
namespace {

// Argument of the MPI reduction operation, which has no context argument. Set before its use, to the same value on all ranks.
SummaryLimits limits_of_merge;

void merge(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto size = static_cast<std::size_t>(limits_of_merge.bytes());
  for (int i = 0; i < *count; ++i) {
    const std::span<std::byte> theirs(static_cast<std::byte*>(in) + i * static_cast<i64>(size), size), mine(static_cast<std::byte*>(inout) + i * static_cast<i64>(size), size);
    (void)attempt([&] {   // without memory the data of the ranks of one side is missing
      JobSummary sum = JobSummary::decode(theirs);
      sum.add(JobSummary::decode(mine), limits_of_merge);
      sum.encode(mine);
      return ok_status();
    });
  }
}

// The recorded data of this process without what only traces contain. Fails if there is no memory for it.
Result<RankTrace> recorded_by(const Recorder& recorder) {
  PieceLimits limits;
  limits.events = limits.steps = limits.shape_bytes = limits.maps = 0;
  MERCUTIO_LET(std::vector<RankTrace> traces, parse_trace(recorder.snapshot(limits)));
  return traces.empty() ? Result<RankTrace>(Error{ErrorClass::kIntern, "nothing was recorded"}) : Result<RankTrace>(std::move(traces.front()));
}

// All ranks are known to arrive. They may be late, but MPI_Finalize would wait for them as well.
constexpr auto kPatience = std::chrono::hours(24 * 365);

// Combines `mine` of all ranks into rank 0's `all`.
bool merge_all(std::span<std::byte> mine, std::span<std::byte> all) {
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  MPI_Op operation;
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Type_contiguous(static_cast<int>(mine.size()), MPI_BYTE, &whole) != MPI_SUCCESS || PMPI_Type_commit(&whole) != MPI_SUCCESS ||
      PMPI_Op_create(merge, /*commute=*/0, &operation) != MPI_SUCCESS)
    return false;
  const bool good = PMPI_Ireduce(mine.data(), all.data(), 1, whole, operation, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS && wait_for(request, kPatience);
  PMPI_Op_free(&operation);
  PMPI_Type_free(&whole);
  return good;
}

Status write_file(const JobSummary& summary, const RankTrace& first, const std::string& pattern) {
  const JobIdentity identity = job_identity();
  const SiteFacts facts{identity.user, identity.job, std::string(text_in(first.header.host)), std::string(text_in(first.header.program)), identity.uid,
                        first.header.wall_start_ns / 1'000'000'000};
  MERCUTIO_LET(const std::string path, site_path(pattern, facts));
  return write_site_file(path, job_line(summary, first, identity));
}

// Long messages within a node are read from the other process's memory, which the system forbids once a process has changed its user. It
// then is no longer "dumpable".
int dumpable() { return ::prctl(PR_GET_DUMPABLE); }

// Of a coded summary.
std::size_t most_bytes() { return static_cast<std::size_t>(SummaryLimits{.files = 12, .groups = 16}.bytes()); }

}  // namespace

JobRecord::JobRecord(std::string pattern)
    : pattern_(std::move(pattern)), dumpable_(dumpable()), room_(static_cast<std::byte*>(std::calloc(2, most_bytes())), std::free) {
  if (!room_) throw std::bad_alloc();
}

Status JobRecord::write(const Recorder* recorder) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (all_record_) return write_together(recorder, rank, ranks);
  return rank == 0 ? write_own(recorder) : ok_status();
}

Status JobRecord::write_own(const Recorder* recorder) const {
  if (!recorder) return ok_status();
  MERCUTIO_LET(const RankTrace mine, recorded_by(*recorder));
  if (mine.files.empty()) return ok_status();
  return write_file(JobSummary(mine, summary_limits(1, static_cast<i64>(mine.files.size()))), mine, pattern_);
}

Status JobRecord::write_together(const Recorder* recorder, int rank, int ranks) {
  const Error none{ErrorClass::kNoMem, "no memory to record anything"};
  const Result<RankTrace> mine = recorder ? attempt([&] { return recorded_by(*recorder); }) : Result<RankTrace>(none);
  const i64 known[] = {mine ? static_cast<i64>(mine->files.size()) : 0, dumpable() != dumpable_ ? 1 : 0};
  i64 most[2] = {known[0], known[1]};
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Iallreduce(known, most, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, &request) != MPI_SUCCESS || !wait_for(request, kPatience))
    return Error{ErrorClass::kIntern, "the ranks could not be asked"};
  if (most[0] == 0) return mine ? ok_status() : Status(mine.error());
  if (most[1] != 0) return rank == 0 ? write_own(recorder) : ok_status();
  limits_of_merge = summary_limits(ranks, most[0]);
  const auto size = static_cast<std::size_t>(limits_of_merge.bytes());
  const std::span<std::byte> part(room_.get(), size), all(room_.get() + size, size);
  const Status coded = attempt([&] {
    if (mine) JobSummary(*mine, limits_of_merge).encode(part);
    return ok_status();
  });
  if (!merge_all(part, all)) return Error{ErrorClass::kIntern, "what the ranks did was not put together"};
  if (rank != 0 || !coded) return coded;
  return mine ? write_file(JobSummary::decode(all), *mine, pattern_) : Status(mine.error());
}

}  // namespace mercutio
