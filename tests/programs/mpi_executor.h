// Runs programs by the calls of the MPI it is linked with.
#pragma once

#include <mpi.h>

#include <atomic>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "executor.h"
#include "mpi_types.h"

namespace mercutio::programs {

// Which of two jobs this process belongs to.
struct Place {
  int job = 0, jobs = 1;
  int ranks = 0;   // of both
};

// The communicators of all programs of a job. Where two jobs run the programs, ranks and sizes are those of both together, and the
// jobs meet at a file that both map.
class Communicators {
 public:
  Communicators(const Place& place, const std::string& dir);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  [[nodiscard]] MPI_Comm of(Group group) const;
  [[nodiscard]] MPI_Comm job() const { return job_; }
  void barrier() const;
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  MPI_Comm job_ = MPI_COMM_NULL, halves_ = MPI_COMM_NULL, parity_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  const Place place_;
  const std::string arrivals_path_;
  std::atomic<long>* arrivals_ = nullptr;   // of each job; null: there is one job
};

class MpiExecutor final : public Executor {
 public:
  MpiExecutor(const Communicators& communicators, std::string prefix);
  // The findings of this rank.
  [[nodiscard]] std::vector<Finding> run(const Program& program, const std::vector<Planned>& expected) override;
  static volatile std::sig_atomic_t current_step;  // for a watchdog

 private:
  struct UnderWay {
    const Step* step = nullptr;
    const Expected* expected = nullptr;
    int index = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    std::unique_ptr<Buffer> buffer;
    MPI_File file = MPI_FILE_NULL;
  };

  void take(const Step& step, const Planned& planned);
  void open(const Step& step);
  void access(const Step& step, const Expected& expected);
  [[nodiscard]] int call(const Step& step, Buffer& buffer, MPI_Request* request, MPI_Status* status);
  [[nodiscard]] int call_explicit(const Step& step, MPI_File file, Buffer& buffer, MPI_Request* request,
                                  MPI_Status* status);
  [[nodiscard]] int call_individual(const Step& step, MPI_File file, Buffer& buffer, MPI_Request* request,
                                    MPI_Status* status);
  [[nodiscard]] int call_shared(const Step& step, MPI_File file, Buffer& buffer, MPI_Request* request,
                                MPI_Status* status);
  void complete(const Step& step);
  void complete_requests(const Step& step, std::vector<int> ids);
  void end_split(UnderWay& under_way);
  void finish(UnderWay& under_way, MPI_Status& status);
  void manage(const Step& step, const Expected& expected);
  void verify(const Step& step, const Expected& expected);
  void meter(const Planned& planned, bool ends);
  void close_all();
  void check_status(const Step& step, const Expected& expected, MPI_Status& status, const Buffer& buffer);
  void complain(const std::string& text) { complain_at(index_, text); }
  void complain_at(int index, const std::string& text);
  bool succeeded(int code, const char* what);
  [[nodiscard]] std::string path(int file) const { return prefix_ + std::to_string(file); }
  [[nodiscard]] MPI_Info info(int number);
  [[nodiscard]] const Part& part(const Step& step) const {
    return step.parts[static_cast<size_t>(communicators_.rank())];
  }

  const Communicators& communicators_;
  std::string prefix_;
  const Program* program_ = nullptr;
  std::unique_ptr<MpiTypes> types_;
  std::map<int, MPI_File> files_;
  std::map<int, MPI_Info> infos_;
  std::map<int, UnderWay> under_way_;
  std::vector<Finding> findings_;
  int index_ = 0;
  long long read_before_ = 0;
};

}  // namespace mercutio::programs
