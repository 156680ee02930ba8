#include "api/job_trace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "api/patient_wait.h"
#include "api/run_facts.h"
#include "base/absolute_path.h"
#include "base/attempt.h"
#include "base/errno_text.h"
#include "insight/findings.h"
#include "insight/output_file.h"
#include "insight/piece_merge.h"
#include "insight/recorder.h"
#include "insight/site_file.h"
#include "model/hints_sources.h"
#include "mpi/calls.h"
#include "mpi/mpi_header.h"

namespace mercutio {
namespace {

constexpr i64 kRecordedBytes = 1024 * MiB;       // that all ranks together have room for, and
constexpr i64 kLeastRecordedBytes = 128 * KiB;   // each of many
constexpr int kTag = 32760;   // of messages on MPI_COMM_WORLD between ranks that are all in MPI_Finalize

// The value of a variable; empty if it is unset, "" or "0".
std::string wish(const char* name) {
  const char* value = std::getenv(name);
  return !value || std::strcmp(value, "0") == 0 ? "" : value;
}

// A directory may be that of many jobs and users. All ranks know the batch system's number of the job, else that of the user.
std::string name_in_folder() {
  const std::string job = job_id();
  return program_name() + "-" + (job.empty() ? "uid" + std::to_string(::getuid()) : harmless(job)) + std::string(kTraceSuffix);
}

bool is_folder(const std::string& path) {
  struct stat state {};
  return !path.empty() && (path.back() == '/' || (::stat(path.c_str(), &state) == 0 && S_ISDIR(state.st_mode)));
}

// 1: a file named after the program in the working directory. A directory: a file there. Otherwise: the path of the file.
std::string trace_path_from(const std::string& value) {
  if (value.empty()) return value;
  if (value == "1") return absolute_path(program_name() + std::string(kTraceSuffix));
  return absolute_path(is_folder(value) ? value + "/" + name_in_folder() : value);
}

void complain(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "mercutio: no trace: %s: %s\n", what.c_str(), why.c_str());
}

std::string text_of(const Error& error) { return error.sys_errno != 0 ? errno_text(error.sys_errno) : error.what; }

// False: it is nowhere, and a line on stderr says so.
bool write_file(const char* what, const std::string& path, i64 begun_ns, ConstBytes data) {
  const auto other_name = write_output(path, begun_ns, data);
  if (!other_name) {
    std::fprintf(stderr, "mercutio: no %s: %s: %s\n", what, path.c_str(), text_of(other_name.error()).c_str());
  } else if (!other_name->empty()) {
    std::fprintf(stderr, "mercutio: another job has written %s: the %s of this one is %s\n", path.c_str(), what, other_name->c_str());
  }
  return other_name.ok();
}

}  // namespace

JobTrace::JobTrace() = default;
JobTrace::~JobTrace() = default;

// The same for the ranks of a node, whose parent is the launcher's daemon. Where they have different ones, they have files of their own.
// Empty: no trace is recorded, or it can't be written there.
std::string JobTrace::piece_path() const {
  if (trace_path_.empty() || !is_plain_file(trace_path_)) return "";
  char host[64] = "";
  ::gethostname(host, sizeof host - 1);
  std::replace(std::begin(host), std::end(host), '/', '-');
  return trace_path_ + ".pieces/" + host + "-" + std::to_string(::getppid()) + ".piece";
}

RecorderOptions JobTrace::recorder_options() const {
  RecorderOptions options;
  options.rank = rank_;
  options.ranks = ranks_;
  options.opened_by = opening_library;
  options.limit(limits_of(std::max(kLeastRecordedBytes, kRecordedBytes / ranks_)));
  options.piece_path = piece_path();
  if (trace_path_.empty()) {
    options.events = options.steps = options.shape_bytes = options.maps = 0;  // no reader
  }
  if (trace_path_.empty() && report_path_.empty()) {
    options.sampled = true;
    options.bins = 0;
    options.files = 40;
    options.text_bytes = 64 * KiB;
  }
  return options;
}

// `mercutio run` reads these marks from a file of its own to report why there is no trace: 'b' for begun in MPI_Init, 's' for begun later,
// 'e' for ended. Of a program that another one has spawned it has not started the processes.
void JobTrace::tell_command(char what) const {
  const char* const path = std::getenv("MERCUTIO_MARKS");
  MPI_Comm parent = MPI_COMM_NULL;
  if (world_active()) PMPI_Comm_get_parent(&parent);
  if (rank_ != 0 || !path || path[0] != '/' || parent != MPI_COMM_NULL) return;
  const int file = ::open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  (void)!::write(file, &what, 1);
  ::close(file);
}

void JobTrace::begin(bool together, MPI_Comm comm) {
  const std::string trace = wish("MERCUTIO_TRACE");
  trace_path_ = trace_path_from(trace);
  keeps_others_ = is_folder(trace) && trace != "1";
  const std::string report = wish("MERCUTIO_REPORT");
  report_path_ = report == "1" ? "-" : absolute_path(report);
  together_ = together;
  if (std::string site = together ? job_records_of_site() : ""; !site.empty()) record_ = std::make_unique<JobRecord>(std::move(site));
  if (!asked() && !record_) return;
  begun_ns_ = clock_of_files();
  const PlaceInJob place = place_in_job(comm);   // files may be opened on parts of the job
  rank_ = place.rank;
  ranks_ = place.size;
  RecorderOptions options = recorder_options();
  const std::string folder = trace_path_ + ".pieces";
  const int no_folder = !options.piece_path.empty() && ::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST ? errno : 0;
  auto made = Recorder::make(options);
  if (!made && asked()) {
    const Error& error = made.error();   // the other errors would have the same text
    const std::string why = no_folder != 0 ? errno_text(no_folder) : text_of(error);
    if (rank_ == 0) complain(no_folder != 0 ? folder : options.piece_path, why + "; the trace is in memory only until the end");
    options.piece_path.clear();  // the other ranks count on this rank at the end
    made = Recorder::make(options);
  }
  if (!made) return;
  recorder_ = std::move(*made);
  if (asked()) tell_command(together ? 'b' : 's');
  if (rank_ == 0) recorder_->note_run(run_facts());
}

Tracer* JobTrace::tracer() {
  return recorder_.get();
}

i64* JobTrace::job() const {
  return recorder_ ? recorder_->job() : nullptr;
}

namespace {

// A message that did not end within two minutes still uses its memory.
bool ended(MPI_Request& request, std::vector<std::byte>& data) {
  if (wait_for(request)) return true;
  PMPI_Cancel(&request);   // ends a receive
  static_cast<void>(new std::vector<std::byte>(std::move(data)));
  return false;
}

// A long message that nobody takes would hold up MPI_Finalize, so a rank sends when it is asked: who has given up does not ask.
class MpiMover final : public PieceMover {
 public:
  bool send(i64 to, std::vector<std::byte> pieces) override {
    std::vector<std::byte> asked(1), size(sizeof(i64));
    const i64 bytes = static_cast<i64>(pieces.size());
    std::memcpy(size.data(), &bytes, sizeof bytes);
    return receive_bytes(to, asked) && send_bytes(to, size) && send_bytes(to, pieces);
  }
  bool receive(i64 from, std::vector<std::byte>& pieces) override {
    std::vector<std::byte> ask(1), size(sizeof(i64));
    i64 bytes = 0;
    if (!send_bytes(from, ask) || !receive_bytes(from, size)) return false;
    std::memcpy(&bytes, size.data(), sizeof bytes);
    pieces.resize(static_cast<std::size_t>(bytes));
    return receive_bytes(from, pieces);
  }

 private:
  static bool send_bytes(i64 to, std::vector<std::byte>& data) {
    MPI_Request request = MPI_REQUEST_NULL;
    return PMPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, static_cast<int>(to), kTag, MPI_COMM_WORLD, &request) == MPI_SUCCESS &&
           ended(request, data);
  }
  static bool receive_bytes(i64 from, std::vector<std::byte>& data) {
    MPI_Request request = MPI_REQUEST_NULL;
    return PMPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, static_cast<int>(from), kTag, MPI_COMM_WORLD, &request) == MPI_SUCCESS &&
           ended(request, data);
  }
};

}  // namespace

// Messages between single ranks begin when nobody can take them for those of the program any more.
bool JobTrace::collect(std::vector<std::byte>& pieces) {
  std::vector<std::byte> mine;
  (void)attempt([&] {   // without memory it has nothing to send
    if (recorder_) mine = recorder_->snapshot_within(MergePlan(ranks_).piece_bytes);
    return ok_status();
  });
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Iallreduce(&here_, &all_here_, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request) != MPI_SUCCESS || !wait_for(request)) return false;
  MpiMover mover;
  auto all = attempt([&] { return merge_pieces(mover, rank_, ranks_, std::move(mine)); });
  if (all) pieces = std::move(*all);
  return all.ok();
}

// On rank 0.
bool JobTrace::conclude(const std::vector<std::byte>& pieces) const {
  auto traces = parse_trace(pieces);
  const bool good = traces && !traces->empty(), file = trace_path_.empty() || is_plain_file(trace_path_);
  if (!good) complain("the ranks' pieces", traces ? "no memory to record anything" : traces.error().what);
  if (!file) complain(trace_path_, "it is no file");
  const bool written = good && file && (trace_path_.empty() || write_file("trace", trace_path_, keeps_others_ ? kNothingIsOlder : begun_ns_, pieces));
  if (good && !report_path_.empty()) tell_verdict(std::move(*traces));
  return written;
}

void JobTrace::tell_verdict(std::vector<RankTrace> traces) const {
  const std::string text = verdict(job_of(std::move(traces)));
  if (report_path_ == "-") {
    std::fputs(text.c_str(), stderr);
  } else {
    (void)write_file("report", report_path_, begun_ns_, std::as_bytes(std::span(text)));
  }
}

std::string JobTrace::what_stays() const {
  if (job()) return "what each rank recorded stays; run: mercutio report " + trace_path_;
  return "of rank " + std::to_string(rank_) + " nothing stays, because no file could be made beside " + trace_path_;
}

// The first rank that was asked for a trace reports what it did itself.
void JobTrace::end_alone() {
  if (first_traced_ == rank_) {
    const std::string report = report_path_.empty() ? "" : "; the report is of rank " + std::to_string(rank_) + " alone";
    const std::string trace = piece_path().empty() ? "" : "; " + what_stays();
    std::fprintf(stderr, "mercutio: MERCUTIO_TRACE or MERCUTIO_REPORT is not set on all ranks%s%s\n", report.c_str(), trace.c_str());
    const Status told = attempt([&]() -> Status {
      if (!recorder_ || report_path_.empty()) return ok_status();
      MERCUTIO_LET(std::vector<RankTrace> mine, parse_trace(recorder_->snapshot_within(MergePlan(ranks_).piece_bytes)));
      tell_verdict(std::move(mine));
      return ok_status();
    });
    if (!told) complain("the report", told.error().what);
  }
  tell_command('e');
}

void JobTrace::end() {
  if (recorder_) recorder_->finish();
  if (record_) {
    const Status written = record_->write(recorder_.get());
    if (!written && rank_ == 0 && !report_path_.empty()) std::fprintf(stderr, "mercutio: no record for the site: %s\n", written.error().what.c_str());
  }
  if (asked() && first_traced_ >= 0) return end_alone();
  if (asked()) end_trace();   // also without a recorder: the others count on this rank
}

void JobTrace::end_trace() {
  std::vector<std::byte> pieces;
  MPI_Request request = MPI_REQUEST_NULL;
  bool collected = false;
  if (together_ && collect(pieces)) {
    collected_ = rank_ != 0 || conclude(pieces) ? 1 : 0;
    collected = PMPI_Ibcast(&collected_, 1, MPI_INT, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS && wait_for(request) && collected_ != 0;
  }
  if (collected && !trace_path_.empty()) {
    if (recorder_) recorder_->remove_file();
    ::rmdir((trace_path_ + ".pieces").c_str());  // succeeds for the last rank
  } else if (!collected && rank_ == 0) {
    const std::string advice = piece_path().empty() ? "set MERCUTIO_TRACE=FILE and run: mercutio report FILE" : what_stays();
    std::fprintf(stderr, "mercutio: the ranks' traces were not put together; %s\n", advice.c_str());
  }
  tell_command('e');
  // The recorder is kept, because open files may be closed later.
}

}  // namespace mercutio
