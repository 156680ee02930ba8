#include "faults/judge.h"

#include <map>

namespace mercutio::programs {
namespace {

class Judge {
 public:
  Judge(const Program& program, const std::vector<Planned>& planned, const Record& record, const Fault& fault)
      : program_(program), record_(record), fault_(fault) {
    Story story;
    story.planned = &planned;
    story.over = fault.kind != Fault::Kind::kDeath;
    for (const auto& entries : record) {
      auto& came = story.came.emplace_back();
      for (size_t r = 0; r < came.size(); ++r) came[r] = entries[r].came;
    }
    expected_ = plan(program, story);
  }

  std::vector<Finding> run(bool met) {
    std::map<int, Step> opened;  // by handle
    for (step_ = 0; step_ < static_cast<int>(record_.size()); ++step_) {
      const Step& step = this->step();
      if (step.op == Op::kOpen) opened[step.handle] = step;
      for (int r = 0; r < program_.ranks; ++r) {
        const Entry& mine = entry(r);
        if (mine.came == Came::kFailed && !(met && explains(mine, opened[step.handle], r))) complain(r, "fails: " + mine.error.what);
        if (mine.came != Came::kNotMade) check(mine, r);
      }
      if (is_collective(step) && fault_.kind != Fault::Kind::kDeath) compare(opened[step.handle].group);
    }
    return std::move(findings_);
  }

 private:
  [[nodiscard]] const Step& step() const { return program_.steps[static_cast<size_t>(step_)]; }
  [[nodiscard]] const Entry& entry(int rank) const { return record_[static_cast<size_t>(step_)][static_cast<size_t>(rank)]; }
  void complain(int rank, const std::string& text) { findings_.push_back({step_, rank, text}); }

  static bool is_collective(const Step& step) {
    switch (step.op) {
      case Op::kAccess:
        return step.collective;
      case Op::kBarrier:
      case Op::kComplete:
      case Op::kSeek:
      case Op::kGetSize:
      case Op::kGetPosition:
      case Op::kMeterBegin:
      case Op::kMeterEnd:
      case Op::kVerify:
        return false;
      default:
        return true;
    }
  }

  // Whether an error comes of the fault.
  [[nodiscard]] bool explains(const Entry& entry, const Step& opened, int rank) const {
    const ErrorClass cls = entry.error.cls;
    // A file may be there, or not, as an earlier open or close has failed.
    if (step().op == Op::kOpen && (cls == ErrorClass::kNoSuchFile || cls == ErrorClass::kFileExists)) return true;
    if (step().op == Op::kClose && (opened.mode & kDeleteOnClose) && cls == ErrorClass::kNoSuchFile) return true;
    if (fault_.kind == Fault::Kind::kStorage) return cls == fault_.error && entry.error.what.find("on purpose") != std::string::npos;
    const bool together = colour_of(opened.group, rank, program_.ranks) == colour_of(opened.group, static_cast<int>(fault_.rank), program_.ranks);
    return cls == ErrorClass::kProcFailed && together;
  }

  // All ranks of a communicator are told the same.
  void compare(Group group) {
    std::map<int, int> first;
    for (int r = 0; r < program_.ranks; ++r) {
      const int other = first.emplace(colour_of(group, r, program_.ranks), r).first->second;
      const Entry &mine = entry(r), &theirs = entry(other);
      if (mine.came != theirs.came || (mine.came == Came::kFailed && mine.error.cls != theirs.error.cls)) {
        complain(r, "is told " + told(mine) + ", rank " + std::to_string(other) + " " + told(theirs));
      }
    }
  }
  static std::string told(const Entry& entry) {
    if (entry.came == Came::kNotMade) return "nothing";
    return entry.came == Came::kDone ? "success" : std::string(error_class_name(entry.error.cls)) + " (" + entry.error.what + ")";
  }

  void check(const Entry& mine, int rank) {
    const Expected& expected = expected_[static_cast<size_t>(step_)].ranks[static_cast<size_t>(rank)];
    const bool done = mine.came == Came::kDone;
    if (mine.buffer) {
      if (const auto wrong = mine.buffer->check(expected, done ? mine.value : expected.least)) complain(rank, *wrong);
    }
    if (!done) return;
    if (step().op == Op::kVerify) {
      if (const auto wrong = check_file(program_, expected, mine.content)) complain(rank, *wrong);
    }
    const bool sized = step().op == Op::kGetSize && (mine.value < expected.least || mine.value > expected.most);
    const bool placed = step().op == Op::kGetPosition && expected.least >= 0 && mine.value != expected.least;
    if (sized || placed) {
      complain(rank, "gives " + std::to_string(mine.value) + ", not " + std::to_string(expected.least) +
                         (sized ? " to " + std::to_string(expected.most) : ""));
    }
  }

  const Program& program_;
  const Record& record_;
  const Fault& fault_;
  std::vector<Planned> expected_;
  std::vector<Finding> findings_;
  int step_ = 0;
};

}  // namespace

std::vector<Finding> judge(const Program& program, const std::vector<Planned>& planned, const Record& record, const Fault& fault, bool met) {
  return Judge(program, planned, record, fault).run(met);
}

}  // namespace mercutio::programs
