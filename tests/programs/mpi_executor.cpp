#include "mpi_executor.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace mercutio::programs {
namespace {

void wait_us(i64 microseconds) {
  if (microseconds <= 0) return;
  const timespec pause = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&pause, nullptr);
}

// What this process has read by system calls, as the kernel counts it.
long long bytes_read() {
  char text[512] = {0};
  const int fd = ::open("/proc/self/io", O_RDONLY | O_CLOEXEC);
  long long bytes = 0;
  if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) std::sscanf(text, "rchar: %lld", &bytes);
  if (fd >= 0) ::close(fd);
  return bytes;
}

// How often each of two jobs has come to a barrier. Whoever comes first makes the file.
std::atomic<long>* map_arrivals(const std::string& path) {
  static_assert(std::atomic<long>::is_always_lock_free);
  constexpr size_t kBytes = 2 * sizeof(std::atomic<long>);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* const memory =
      fd >= 0 && ftruncate(fd, kBytes) == 0 ? mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  if (fd >= 0) ::close(fd);
  if (memory == MAP_FAILED) {
    std::perror(path.c_str());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return static_cast<std::atomic<long>*>(memory);
}

int mpi_mode(unsigned mode) {
  int result = (mode & kRead) && (mode & kWrite) ? MPI_MODE_RDWR : mode & kWrite ? MPI_MODE_WRONLY : MPI_MODE_RDONLY;
  if (mode & kCreate) result |= MPI_MODE_CREATE;
  if (mode & kExclusive) result |= MPI_MODE_EXCL;
  if (mode & kDeleteOnClose) result |= MPI_MODE_DELETE_ON_CLOSE;
  if (mode & kUniqueOpen) result |= MPI_MODE_UNIQUE_OPEN;
  if (mode & kAppend) result |= MPI_MODE_APPEND;
  if (mode & kSequential) result |= MPI_MODE_SEQUENTIAL;
  return result;
}

}  // namespace

volatile std::sig_atomic_t MpiExecutor::current_step = -1;

Communicators::Communicators(const Place& place, const std::string& dir)
    : place_(place), arrivals_path_(dir + "/arrivals") {
  MPI_Comm_dup(MPI_COMM_WORLD, &job_);
  MPI_Comm_rank(job_, &rank_);
  MPI_Comm_size(job_, &size_);
  if (place_.jobs == 2) {
    if (place_.job == 1) rank_ += place_.ranks - size_;
    size_ = place_.ranks;
    arrivals_ = map_arrivals(arrivals_path_);
  }
  MPI_Comm_split(job_, colour_of(Group::kHalves, rank_, size_), rank_, &halves_);
  MPI_Comm_split(job_, colour_of(Group::kParity, rank_, size_), rank_, &parity_);
}

Communicators::~Communicators() {
  if (arrivals_ && rank_ == 0) ::unlink(arrivals_path_.c_str());   // the next run in this folder begins anew
  MPI_Comm_free(&halves_);
  MPI_Comm_free(&parity_);
  MPI_Comm_free(&job_);
}

MPI_Comm Communicators::of(Group group) const {
  return group == Group::kSelf     ? MPI_COMM_SELF
         : group == Group::kHalves ? halves_
         : group == Group::kParity ? parity_
                                   : job_;
}

// The ranks that wait do so inside MPI, for what others in their job want of them.
void Communicators::barrier() const {
  MPI_Barrier(job_);
  if (place_.jobs == 1) return;
  int rank = 0;
  MPI_Comm_rank(job_, &rank);
  if (rank == 0) {
    const long turn = ++arrivals_[place_.job];
    while (arrivals_[1 - place_.job] < turn) {
      int there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job_, &there, MPI_STATUS_IGNORE);
      sched_yield();
    }
  }
  MPI_Barrier(job_);
}

MpiExecutor::MpiExecutor(const Communicators& communicators, std::string prefix)
    : communicators_(communicators), prefix_(std::move(prefix)) {}

void MpiExecutor::complain_at(int index, const std::string& text) {
  findings_.push_back({index, communicators_.rank(), text});
}

bool MpiExecutor::succeeded(int code, const char* what) {
  if (code == MPI_SUCCESS) return true;
  char text[MPI_MAX_ERROR_STRING] = {0};
  int length = 0;
  MPI_Error_string(code, text, &length);
  complain(std::string(what) + " fails: " + text);
  return false;
}

MPI_Info MpiExecutor::info(int number) {
  if (number < 0) return MPI_INFO_NULL;
  MPI_Info& info = infos_[number];
  if (info == MPI_Info{}) {
    MPI_Info_create(&info);
    for (const auto& [key, value] : program_->infos[static_cast<size_t>(number)])
      MPI_Info_set(info, key.c_str(), value.c_str());
  }
  return info;
}

std::vector<Finding> MpiExecutor::run(const Program& program, const std::vector<Planned>& expected) {
  program_ = &program;
  findings_.clear();
  types_ = std::make_unique<MpiTypes>(program);
  for (size_t f = 0; f < program.files.size() && communicators_.rank() == 0; ++f) {
    ::unlink(path(static_cast<int>(f)).c_str());
    if (program.files[f].initial_bytes < 0) continue;
    std::FILE* out = std::fopen(path(static_cast<int>(f)).c_str(), "wb");
    for (i64 i = 0; i < program.files[f].initial_bytes; ++i) {
      std::fputc(pattern(key_of_file(static_cast<int>(f)), static_cast<std::uint32_t>(i)), out);
    }
    std::fclose(out);
  }
  communicators_.barrier();
  for (index_ = 0; index_ < static_cast<int>(program.steps.size()); ++index_) {
    current_step = index_;
    take(program.steps[static_cast<size_t>(index_)], expected[static_cast<size_t>(index_)]);
  }
  close_all();
  current_step = -1;
  for (size_t f = 0; f < program.files.size() && communicators_.rank() == 0; ++f)
    ::unlink(path(static_cast<int>(f)).c_str());
  return std::move(findings_);
}

void MpiExecutor::close_all() {
  for (auto& [number, info] : infos_) MPI_Info_free(&info);
  infos_.clear();
  under_way_.clear();
  files_.clear();
  types_.reset();
}

void MpiExecutor::take(const Step& step, const Planned& planned) {
  const Expected& expected = planned.ranks[static_cast<size_t>(communicators_.rank())];
  if (planned.dropped) return;
  wait_us(part(step).delay_us);
  switch (step.op) {
    case Op::kBarrier:
      communicators_.barrier();
      return;
    case Op::kMeterBegin:
    case Op::kMeterEnd:
      return meter(planned, step.op == Op::kMeterEnd);
    case Op::kComplete:
      return complete(step);
    case Op::kVerify:
      if (expected.in) verify(step, expected);
      return;
    case Op::kOpen:
      return open(step);
    default:
      break;
  }
  if (!expected.in || files_.find(step.handle) == files_.end()) return;
  step.op == Op::kAccess ? access(step, expected) : manage(step, expected);
}

void MpiExecutor::open(const Step& step) {
  MPI_File file = MPI_FILE_NULL;
  if (!succeeded(MPI_File_open(communicators_.of(step.group), path(step.file).c_str(), mpi_mode(step.mode),
                               info(step.info), &file),
                 "MPI_File_open")) {
    return;
  }
  files_[step.handle] = file;
}

void MpiExecutor::access(const Step& step, const Expected& expected) {
  auto buffer = std::make_unique<Buffer>(*program_, step, communicators_.rank());
  MPI_Status status{};
  MPI_Request request = MPI_REQUEST_NULL;
  if (!succeeded(call(step, *buffer, &request, &status), step.write ? "a write" : "a read")) return;
  if (step.synchronism == Synchronism::kBlocking) return check_status(step, expected, status, *buffer);
  UnderWay& under_way = under_way_[step.id];
  under_way.step = &step;
  under_way.expected = &expected;
  under_way.index = index_;
  under_way.request = request;
  under_way.buffer = std::move(buffer);
  under_way.file = files_[step.handle];
}

int MpiExecutor::call(const Step& step, Buffer& buffer, MPI_Request* request, MPI_Status* status) {
  const MPI_File file = files_[step.handle];
  if (step.positioning == Positioning::kExplicit) return call_explicit(step, file, buffer, request, status);
  if (step.positioning == Positioning::kIndividual) return call_individual(step, file, buffer, request, status);
  return call_shared(step, file, buffer, request, status);
}

int MpiExecutor::call_explicit(const Step& step, MPI_File file, Buffer& buffer, MPI_Request* request,
                               MPI_Status* status) {
  const MPI_Offset at = part(step).offset;
  const int count = static_cast<int>(part(step).count);
  void* data = buffer.origin();
  const MPI_Datatype type = types_->get_committed(part(step).memory);
  if (step.synchronism == Synchronism::kSplit) {
    return step.write ? MPI_File_write_at_all_begin(file, at, data, count, type)
                      : MPI_File_read_at_all_begin(file, at, data, count, type);
  }
  if (step.synchronism == Synchronism::kNonblocking) {
    if (step.collective) {
      return step.write ? MPI_File_iwrite_at_all(file, at, data, count, type, request)
                        : MPI_File_iread_at_all(file, at, data, count, type, request);
    }
    return step.write ? MPI_File_iwrite_at(file, at, data, count, type, request)
                      : MPI_File_iread_at(file, at, data, count, type, request);
  }
  if (step.collective) {
    return step.write ? MPI_File_write_at_all(file, at, data, count, type, status)
                      : MPI_File_read_at_all(file, at, data, count, type, status);
  }
  return step.write ? MPI_File_write_at(file, at, data, count, type, status)
                    : MPI_File_read_at(file, at, data, count, type, status);
}

int MpiExecutor::call_individual(const Step& step, MPI_File file, Buffer& buffer, MPI_Request* request,
                                 MPI_Status* status) {
  const int count = static_cast<int>(part(step).count);
  void* data = buffer.origin();
  const MPI_Datatype type = types_->get_committed(part(step).memory);
  if (step.synchronism == Synchronism::kSplit) {
    return step.write ? MPI_File_write_all_begin(file, data, count, type)
                      : MPI_File_read_all_begin(file, data, count, type);
  }
  if (step.synchronism == Synchronism::kNonblocking) {
    if (step.collective) {
      return step.write ? MPI_File_iwrite_all(file, data, count, type, request)
                        : MPI_File_iread_all(file, data, count, type, request);
    }
    return step.write ? MPI_File_iwrite(file, data, count, type, request)
                      : MPI_File_iread(file, data, count, type, request);
  }
  if (step.collective) {
    return step.write ? MPI_File_write_all(file, data, count, type, status)
                      : MPI_File_read_all(file, data, count, type, status);
  }
  return step.write ? MPI_File_write(file, data, count, type, status) : MPI_File_read(file, data, count, type, status);
}

int MpiExecutor::call_shared(const Step& step, MPI_File file, Buffer& buffer, MPI_Request* request,
                             MPI_Status* status) {
  const int count = static_cast<int>(part(step).count);
  void* data = buffer.origin();
  const MPI_Datatype type = types_->get_committed(part(step).memory);
  if (step.synchronism == Synchronism::kSplit) {
    return step.write ? MPI_File_write_ordered_begin(file, data, count, type)
                      : MPI_File_read_ordered_begin(file, data, count, type);
  }
  if (step.synchronism == Synchronism::kNonblocking) {
    return step.write ? MPI_File_iwrite_shared(file, data, count, type, request)
                      : MPI_File_iread_shared(file, data, count, type, request);
  }
  if (step.collective) {
    return step.write ? MPI_File_write_ordered(file, data, count, type, status)
                      : MPI_File_read_ordered(file, data, count, type, status);
  }
  return step.write ? MPI_File_write_shared(file, data, count, type, status)
                    : MPI_File_read_shared(file, data, count, type, status);
}

void MpiExecutor::check_status(const Step& step, const Expected& expected, MPI_Status& status, const Buffer& buffer) {
  const int at = index_;
  int bytes = 0, copies = 0;
  MPI_Get_elements(&status, MPI_BYTE, &bytes);
  if (const auto wrong = buffer.check(expected, bytes)) complain_at(at, *wrong);
  const i64 one = program_->map(part(step).memory).size;
  if (one <= 0) return;
  MPI_Get_count(&status, types_->get_committed(part(step).memory), &copies);
  const int right = bytes % one == 0 ? static_cast<int>(bytes / one) : MPI_UNDEFINED;
  if (copies != right)
    complain_at(at, "MPI_Get_count gives " + std::to_string(copies) + ", not " + std::to_string(right));
}

void MpiExecutor::manage(const Step& step, const Expected& expected) {
  const MPI_File file = files_[step.handle];
  const Part& mine = part(step);
  MPI_Offset offset = 0;
  switch (step.op) {
    case Op::kClose: {
      MPI_File closing = file;
      files_.erase(step.handle);
      succeeded(MPI_File_close(&closing), "MPI_File_close");
      return;
    }
    case Op::kSetView:
      succeeded(MPI_File_set_view(file, mine.displacement, types_->get_committed(step.etype),
                                  types_->get_committed(mine.filetype), "native", info(step.info)),
                "MPI_File_set_view");
      return;
    case Op::kSync:
      succeeded(MPI_File_sync(file), "MPI_File_sync");
      return;
    case Op::kSetSize:
      succeeded(MPI_File_set_size(file, step.value), "MPI_File_set_size");
      return;
    case Op::kPreallocate:
      succeeded(MPI_File_preallocate(file, step.value), "MPI_File_preallocate");
      return;
    case Op::kSeek:
      succeeded(MPI_File_seek(file, mine.offset,
                              step.whence == Whence::kSet       ? MPI_SEEK_SET
                              : step.whence == Whence::kCurrent ? MPI_SEEK_CUR
                                                                : MPI_SEEK_END),
                "MPI_File_seek");
      return;
    case Op::kSeekShared:
      succeeded(MPI_File_seek_shared(file, step.value, MPI_SEEK_SET), "MPI_File_seek_shared");
      return;
    case Op::kSetAtomicity:
      succeeded(MPI_File_set_atomicity(file, step.value != 0), "MPI_File_set_atomicity");
      return;
    case Op::kSetInfo:
      succeeded(MPI_File_set_info(file, info(step.info)), "MPI_File_set_info");
      return;
    case Op::kGetSize:
      if (!succeeded(MPI_File_get_size(file, &offset), "MPI_File_get_size")) return;
      if (offset < expected.least || offset > expected.most) {
        complain("MPI_File_get_size gives " + std::to_string(offset) + ", not " + std::to_string(expected.least) +
                 " to " + std::to_string(expected.most));
      }
      return;
    case Op::kGetPosition:
      if (!succeeded(MPI_File_get_position(file, &offset), "MPI_File_get_position") || expected.least < 0) return;
      if (offset != expected.least) {
        complain("MPI_File_get_position gives " + std::to_string(offset) + ", not " + std::to_string(expected.least));
      }
      return;
    default:
      return;
  }
}

void MpiExecutor::verify(const Step& step, const Expected& expected) {
  std::vector<std::uint8_t> content;
  if (std::FILE* in = std::fopen(path(step.file).c_str(), "rb")) {
    struct stat status{};
    if (fstat(fileno(in), &status) == 0) content.resize(static_cast<size_t>(status.st_size));
    content.resize(std::fread(content.data(), 1, content.size(), in));
    std::fclose(in);
  }
  if (const auto wrong = check_file(*program_, expected, content)) complain(*wrong);
}

// Reads of neighbours may be served by one larger read, but not by many times the bytes; unless hints of the job ask for it, as
// romio_cb_read=enable does.
void MpiExecutor::meter(const Planned& planned, bool ends) {
  communicators_.barrier();
  const long long now = bytes_read();
  const double mine = static_cast<double>(now - read_before_);
  read_before_ = now;
  double all = 0;
  constexpr double kAtMost = 1.1, kAllowance = 192 * 1024;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, communicators_.job());
  const double limit = static_cast<double>(planned.asked_bytes) * kAtMost + kAllowance;
  if (ends && communicators_.rank() == 0 && all > limit && !std::getenv("MERCUTIO_HINTS")) {
    complain("the ranks asked for " + std::to_string(planned.asked_bytes) + " bytes and " +
             std::to_string(static_cast<long long>(all)) + " were read");
  }
}

}  // namespace mercutio::programs
