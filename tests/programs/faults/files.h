// The storage of a simulated job: files in memory, whose locks are waited for by giving way, whose started transfers take
// their time, and which fail as the job's fault says. What a dead rank still does reaches nothing.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "faults/job.h"
#include "storage/storage.h"

namespace mercutio::programs {

struct SimulatedFile {
  struct Range {
    i64 begin, end;
    bool exclusive;
  };
  using Ranges = std::list<Range>;
  std::vector<std::byte> bytes;
  Ranges locks, marks;  // marks: of writers (storage/writer_group.h)
};

class Files final : public Driver {
 public:
  Files(SimulatedJob& job, std::uint64_t seed, const Traits& traits, const Fault& fault);
  const char* name() const override { return "simulated"; }
  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) override;
  Status remove(const std::string& path) override;

  [[nodiscard]] bool has_failed() const;
  [[nodiscard]] i64 calls() const { return plan_ ? plan_->seen.load() : 0; }
  [[nodiscard]] bool exists(const std::string& path) const { return files_.count(path) > 0; }
  // By who looks from outside.
  [[nodiscard]] SimulatedFile& file(const std::string& path);
  [[nodiscard]] std::string lock_left() const;

  [[nodiscard]] SimulatedJob& job() { return job_; }
  [[nodiscard]] const Traits& traits() const { return traits_; }
  [[nodiscard]] i64 draw(i64 most);

 private:
  [[nodiscard]] Status call_of(i64 rank);
  SimulatedJob& job_;
  std::uint64_t state_;
  const Traits traits_;
  const i64 victim_;
  std::shared_ptr<FaultPlan> plan_;  // null: nothing fails
  std::map<std::string, std::shared_ptr<SimulatedFile>> files_;
};

// What file names mean in this process while it lives: resolve() of the library is not linked into it.
class Mounted {
 public:
  explicit Mounted(Files& files);
  ~Mounted();
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
};

}  // namespace mercutio::programs
