// One pass over the steps with the state of each file and handle. What it asks for are the rules of MPI-4.1, chapter
// 14; the order of bytes is no concern of it (oracle.h).
#include "legal.h"

#include <algorithm>
#include <map>

namespace mercutio::programs {
namespace {

constexpr int kNobody = -1, kEverybodyKnows = -2;

struct OpenHandle {
  Step open;
  bool is_open = false;
  int splitting = -1;              // the id of a split collective that has begun
  std::vector<int> pending;        // ids of accesses under way
  std::map<int, int> last_shared;  // colour: who moved the shared pointer last
  bool views_differ = false;       // within a communicator: then there is no shared pointer
};

class Pass {
 public:
  explicit Pass(const Program& program)
      : in_(program), handles_(static_cast<size_t>(program.handles)), files_(program.files.size()) {
    out_ = program;
    out_.steps.clear();
    for (size_t f = 0; f < files_.size(); ++f) files_[f].exists = program.files[f].initial_bytes >= 0;
  }
  Program run() {
    for (const Step& step : in_.steps) take(step);
    for (size_t h = 0; h < handles_.size(); ++h) {
      if (handles_[h].is_open) take(step_on(Op::kClose, static_cast<int>(h)));
    }
    emit(plain(Op::kBarrier));
    for (size_t f = 0; f < files_.size(); ++f) verify(static_cast<int>(f));
    return std::move(out_);
  }

 private:
  struct FileState {
    bool exists = false, known_to_all = true, exclusive_use = false;
    int open_handles = 0;
  };

  [[nodiscard]] Step plain(Op op) const {
    Step step;
    step.op = op;
    step.parts.resize(static_cast<size_t>(in_.ranks));
    return step;
  }
  [[nodiscard]] Step step_on(Op op, int handle) const {
    Step step = plain(op);
    step.handle = handle;
    return step;
  }
  void emit(Step step) { out_.steps.push_back(std::move(step)); }
  void barrier() {
    emit(plain(Op::kBarrier));
    learn();
  }
  void learn() {
    for (FileState& file : files_) file.known_to_all = true;
    for (OpenHandle& handle : handles_) {
      for (auto& [colour, rank] : handle.last_shared) rank = kEverybodyKnows;
    }
  }
  OpenHandle& handle_of(const Step& step) { return handles_[static_cast<size_t>(step.handle)]; }
  FileState& file_of(const OpenHandle& handle) { return files_[static_cast<size_t>(handle.open.file)]; }

  void verify(int file) {
    Step step = plain(Op::kVerify);
    step.file = file;
    emit(step);
  }

  // Collective steps: whether a communicator takes part is what its first rank says.
  void same_in_group(const OpenHandle& handle, Step& step) const {
    std::map<int, bool> in;
    for (int r = 0; r < in_.ranks; ++r) {
      Part& part = step.parts[static_cast<size_t>(r)];
      part.in = in.emplace(colour_of(handle.open.group, r, in_.ranks), part.in).first->second;
    }
  }
  static bool anybody(const Step& step) {
    return std::any_of(step.parts.begin(), step.parts.end(), [](const Part& part) { return part.in; });
  }

  void complete_all(int number) {
    OpenHandle& handle = handles_[static_cast<size_t>(number)];
    if (handle.pending.empty()) return;
    Step step = step_on(Op::kComplete, number);
    step.targets = handle.pending;
    handle.pending.clear();
    handle.splitting = -1;
    emit(step);
  }

  void take(const Step& step) {
    if (step.op == Op::kBarrier) return barrier();
    if (step.op == Op::kOpen) return open(step);
    if (step.op == Op::kVerify) return look(step);
    if (step.op == Op::kMeterBegin || step.op == Op::kMeterEnd) return emit(step);
    if (step.op == Op::kComplete) return complete(step);
    if (step.handle < 0 || step.handle >= in_.handles || !handle_of(step).is_open) return;
    if (step.op == Op::kAccess) return access(step);
    manage(step);
  }

  void look(const Step& step) {
    if (files_[static_cast<size_t>(step.file)].open_handles > 0) return;
    barrier();
    verify(step.file);
    barrier();
  }

  void open(Step step) {
    OpenHandle& handle = handle_of(step);
    FileState& file = files_[static_cast<size_t>(step.file)];
    if (handle.is_open || file.exclusive_use) return;
    if (!file.known_to_all || (step.mode & kAppend)) barrier();
    if (file.open_handles > 0) step.mode &= ~static_cast<unsigned>(kDeleteOnClose | kUniqueOpen);
    if (step.group == Group::kSelf && in_.ranks > 1) {
      step.mode &= ~static_cast<unsigned>(kDeleteOnClose | kUniqueOpen | kExclusive);
    }
    if (step.group != Group::kWorld && step.group != Group::kSelf) {
      step.mode &= ~static_cast<unsigned>(kDeleteOnClose | kUniqueOpen | kExclusive);
    }
    const bool write = step.mode & kWrite;
    if ((step.mode & kSequential) && write) step.mode &= ~static_cast<unsigned>(kRead);
    if (!write) step.mode &= ~static_cast<unsigned>(kCreate | kExclusive);
    if (file.exists) step.mode &= ~static_cast<unsigned>(kExclusive);
    if (!file.exists) {
      if (!write) return;
      step.mode |= kCreate;
      file.exists = true;
      file.known_to_all = false;
    }
    for (Part& part : step.parts) part.in = true;
    ++file.open_handles;
    file.exclusive_use = step.mode & (kDeleteOnClose | kUniqueOpen);
    handle = OpenHandle{};
    handle.is_open = true;
    handle.open = step;
    emit(step);
    if (step.mode & kAppend) barrier();
  }

  void close(const Step& step) {
    OpenHandle& handle = handle_of(step);
    FileState& file = file_of(handle);
    Step close = step;
    for (Part& part : close.parts) part.in = true;
    emit(close);
    handle.is_open = false;
    --file.open_handles;
    file.exclusive_use = false;
    file.known_to_all = false;
    if (handle.open.mode & kDeleteOnClose) file.exists = false;
  }

  // Calls on a handle that has no access under way.
  void manage(Step step) {
    OpenHandle& handle = handle_of(step);
    const bool sequential = handle.open.mode & kSequential;
    const bool asks = step.op == Op::kGetSize || step.op == Op::kGetPosition || step.op == Op::kSeek;
    if (sequential && (step.op == Op::kSeek || step.op == Op::kGetPosition || step.op == Op::kSeekShared ||
                       step.op == Op::kSetSize || step.op == Op::kPreallocate || step.op == Op::kSetView)) {
      return;
    }
    if (step.op == Op::kSetInfo && step.info < 0) return;
    const bool resizes = step.op == Op::kSetSize || step.op == Op::kPreallocate;
    if (resizes && !(handle.open.mode & kWrite)) return;
    if (!asks) same_in_group(handle, step);
    if (!anybody(step)) return;
    if (!asks) complete_all(step.handle);
    if (step.op == Op::kClose) return close(step);
    const bool to_the_end = step.op == Op::kSeek && step.whence == Whence::kEnd;  // nobody may move it meanwhile
    if (resizes || step.op == Op::kSeekShared || to_the_end) barrier();
    if (step.op == Op::kSetView) handle.views_differ = differ(handle, step);
    if (step.op == Op::kSetView || step.op == Op::kSeekShared) {
      for (int r = 0; r < in_.ranks; ++r) handle.last_shared[colour_of(handle.open.group, r, in_.ranks)] = kNobody;
    }
    emit(step);
    if (resizes || step.op == Op::kSeekShared || step.op == Op::kSetView || to_the_end) barrier();
  }

  [[nodiscard]] bool differ(const OpenHandle& handle, const Step& step) const {
    std::map<int, const Part*> first;
    for (int r = 0; r < in_.ranks; ++r) {
      const Part& part = step.parts[static_cast<size_t>(r)];
      const Part& other = *first.emplace(colour_of(handle.open.group, r, in_.ranks), &part).first->second;
      if (part.filetype != other.filetype || part.displacement != other.displacement) return true;
    }
    return false;
  }

  void access(Step step) {
    OpenHandle& handle = handle_of(step);
    if (step.positioning == Positioning::kShared && handle.views_differ) return;
    if (!(handle.open.mode & (step.write ? kWrite : kRead))) return;
    if ((handle.open.mode & kSequential) && step.positioning != Positioning::kShared) return;
    if (step.synchronism == Synchronism::kSplit) step.collective = true;
    // There are no nonblocking calls with the ordered position.
    if (step.collective && step.positioning == Positioning::kShared && step.synchronism == Synchronism::kNonblocking) {
      step.synchronism = Synchronism::kBlocking;
    }
    if (step.collective) same_in_group(handle, step);
    // A split collective may do all of its work when it begins or when it ends (MPI 14.4.5), moving the shared pointer included.
    const bool meets_split = step.collective || step.positioning == Positioning::kShared;
    if (meets_split && handle.splitting >= 0) end_split(step.handle);
    if (!anybody(step)) return;
    if (step.positioning == Positioning::kShared) order_shared(handle, step);
    if (step.synchronism != Synchronism::kBlocking) handle.pending.push_back(step.id);
    if (step.synchronism == Synchronism::kSplit) handle.splitting = step.id;
    emit(step);
  }

  // The place of a shared access must not depend on who comes first.
  void order_shared(OpenHandle& handle, const Step& step) {
    bool unclear = false;
    std::map<int, int> here;
    for (int r = 0; r < in_.ranks; ++r) {
      if (!step.parts[static_cast<size_t>(r)].in) continue;
      const int colour = colour_of(handle.open.group, r, in_.ranks);
      const auto known = handle.last_shared.find(colour);
      const int last = known == handle.last_shared.end() ? kEverybodyKnows : known->second;
      if (step.collective ? last >= 0 : last != kEverybodyKnows && last != r) unclear = true;
      here[colour] = step.collective ? kNobody : r;
    }
    if (unclear) barrier();
    for (const auto& [colour, rank] : here) handle.last_shared[colour] = rank;
  }

  void end_split(int number) {
    Step step = step_on(Op::kComplete, number);
    step.targets = {handle_of(step).splitting};
    complete(step);
  }

  void complete(Step step) {
    std::vector<int> targets;
    for (const int id : step.targets) {
      for (OpenHandle& handle : handles_) {
        const auto found = std::find(handle.pending.begin(), handle.pending.end(), id);
        if (found == handle.pending.end()) continue;
        if (handle.splitting == id) handle.splitting = -1;
        targets.push_back(id);
        handle.pending.erase(found);
        break;
      }
    }
    step.targets = targets;
    for (Part& part : step.parts) part.in = true;
    if (!targets.empty()) emit(step);
  }

  const Program& in_;
  Program out_;
  std::vector<OpenHandle> handles_;
  std::vector<FileState> files_;
};

}  // namespace

Program legalise(const Program& program) {
  return Pass(program).run();
}

}  // namespace mercutio::programs
