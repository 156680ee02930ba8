// One simulated rank: makes the calls of a program by the library's File and notes what comes of them. Where a call fails, what
// would depend on it is left out: accesses through a view that was not set, shared accesses behind an ordered one. Once
// something has gone wrong, the individual pointers are put where the plan has them.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "faults/files.h"
#include "faults/record.h"
#include "faults/types.h"
#include "file/file.h"
#include "program.h"

namespace mercutio::programs {

// What the ranks of a run have in common.
struct Run {
  const Program& program;
  const std::vector<Planned>& planned;
  SimulatedJob& job;
  Files& files;
  DatarepRegistry& datareps;
  Record& record;
};

class RankRun {
 public:
  RankRun(const Run& run, i64 rank) : run_(run), rank_(rank), types_(run.program) {}
  void go();

 private:
  struct UnderWay {
    const Step* step = nullptr;
    size_t index = 0;
    RequestRef request;  // null: a split collective
    mercutio::File* file = nullptr;
  };

  void take(const Step& step);
  void open(const Step& step, Entry& entry);
  void access(const Step& step, const Expected& expected, Entry& entry);
  [[nodiscard]] bool leaves_out(const Step& step) const;
  [[nodiscard]] AccessCall call_of(const Step& step, Entry& entry);
  void manage(const Step& step, Entry& entry);
  [[nodiscard]] Status set_up_handle(const Step& step, mercutio::File& file);
  void complete(const Step& step);
  void end(UnderWay& under_way);
  void note(Entry& entry, const Result<i64>& result) const;
  void end_of_dead();
  [[nodiscard]] InfoItems info(int number) const;
  [[nodiscard]] const Part& part(const Step& step) const { return step.parts[static_cast<size_t>(rank_)]; }
  [[nodiscard]] Entry& entry(size_t index) const { return run_.record[index][static_cast<size_t>(rank_)]; }
  [[nodiscard]] bool trouble() const { return run_.files.has_failed() || run_.job.somebody_died(); }

  const Run& run_;
  const i64 rank_;
  CoreTypes types_;
  std::map<int, std::unique_ptr<mercutio::File>> files_;
  std::map<int, std::vector<i64>> members_;  // of the handles' communicators
  std::set<int> broken_, not_shared_;  // handles
  std::map<int, UnderWay> under_way_;
  size_t index_ = 0;
};

// The bytes of a file as somebody sees them who looks from outside.
void look(Files& files, int file, Entry& entry);

[[nodiscard]] std::string name_of_file(int file);

}  // namespace mercutio::programs
