#include "runner.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "comm/in_process.h"
#include "engine/agreement/collectives.h"
#include "engine/test_support.h"

namespace mercutio::oracle {
namespace {

// A progress thread a rank, as every process has one.
Progress& progress_of(i64 rank) {
  static std::unique_ptr<Progress> threads[8];
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto& mine = threads[rank];
  if (!mine) mine = make_progress_thread();
  return *mine;
}

DatarepRegistry& datareps() {
  static DatarepRegistry registry;
  static const bool filled = (add_test_datareps(registry), true);
  (void)filled;
  return registry;
}

// The world's own Comm goes to each File that is opened on it; the File owns it, so it is a view on the real one.
class Borrowed final : public Comm {
 public:
  explicit Borrowed(Comm& real) : real_(real) {}
  i64 rank() const override { return real_.rank(); }
  i64 size() const override { return real_.size(); }
  Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) override { return real_.send(to, tag, data); }
  Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) override {
    return real_.receive(from, tag, data);
  }
  i64 tags() const override { return 16; }  // few, so that they are used again
  const Topology& topology() const override { return real_.topology(); }
  std::string host() const override { return real_.host(); }
  bool concurrent() const override { return true; }
  Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& folder) override { return real_.make_shared_counter(folder); }
  Segment* segment() override { return real_.segment(); }
  void backoff(i64 spins) override { real_.backoff(spins); }

 private:
  Comm& real_;
};

class RankRun {
 public:
  RankRun(Comm& comm, std::string file_name)
      : comm_(comm), me_(static_cast<size_t>(comm.rank())), file_name_(std::move(file_name)) {}

  void step(const Planned& planned) {
    part_ = &planned.ranks[me_];
    switch (planned.kind) {
      case StepKind::kReopen:
        reopen(planned);
        break;
      case StepKind::kView:
        set_view(planned);
        break;
      case StepKind::kAccess:
      case StepKind::kBadCall:
        access(planned);
        break;
      case StepKind::kSeek:
        expect_status("seek", file_->seek(part_->offset, part_->whence), part_->error);
        break;
      case StepKind::kSeekShared:
        expect_status("seek_shared", file_->seek_shared(part_->offset, part_->whence), part_->error);
        break;
      case StepKind::kSetSize:
        expect_status("set_size", file_->set_size(planned.value));
        break;
      case StepKind::kPreallocate:
        expect_status("preallocate", file_->preallocate(planned.value));
        break;
      case StepKind::kSync:
        expect_status("sync", file_->sync());
        break;
      case StepKind::kAtomicity:
        expect_status("set_atomicity", file_->set_atomicity(planned.value == 1));
        break;
      case StepKind::kInfo:
        expect_status("set_info", file_->set_info(planned.info));
        break;
      default:
        break;
    }
    wait_for_all();
    check_state(planned);
    wait_for_all();
  }

  void close() {
    if (file_) expect_status("close", file_->close());
    file_.reset();
  }

  std::string wrong;  // the first difference

 private:
  void note(const std::string& text) {
    if (wrong.empty()) wrong = "rank " + std::to_string(me_) + ": " + text;
  }
  void expect_equal(const char* what, i64 found, i64 wanted) {
    if (found != wanted)
      note(std::string(what) + " is " + std::to_string(found) + ", must be " + std::to_string(wanted));
  }
  void expect_status(const char* what, const Status& status, ErrorClass wanted = ErrorClass::kNone) {
    const ErrorClass found = status ? ErrorClass::kNone : status.error().cls;
    if (found == wanted) return;
    note(std::string(what) + " gave " + error_class_name(found) + (status ? "" : " (" + status.error().what + ")") +
         ", must be " + error_class_name(wanted));
  }
  void wait_for_all() {
    const Channel channel{&comm_, 20};
    i64 nothing = 0;
    const Status met = testing::run(all_reduce(channel, std::span(&nothing, 1), Reduce::kMax), [this](i64 spins) { comm_.backoff(spins); });
    if (!met) note("barrier: " + met.error().what);
  }

  void reopen(const Planned& planned) {
    close();
    wait_for_all();
    OpenCall call;
    call.file_name = file_name_;
    call.amode.read_write = call.amode.create = true;
    call.amode.append = planned.append;
    call.info = planned.info;
    auto opened =
        open_file(std::make_unique<Borrowed>(comm_), call, Context{&progress_of(comm_.rank()), &datareps(), nullptr});
    if (opened) file_ = std::move(*opened);
    if (!opened) note("open: " + opened.error().what), std::abort();
  }

  void set_view(const Planned& planned) {
    expect_status("set_view", file_->set_view({part_->displacement, planned.etype, part_->filetype, planned.datarep, {}, ok_status()}));
  }

  Result<i64> perform(const Planned& planned, const AccessCall& call) {
    if (planned.synchronism == Synchronism::kBlocking) return file_->access(call);
    if (planned.synchronism == Synchronism::kSplit) {
      MERCUTIO_TRY(file_->begin(call));
      return file_->end("end", call.direction, call.positioning, call.memory.base);
    }
    std::atomic<int> called{0};
    MERCUTIO_LET(RequestRef request, file_->start(call, [&](const Result<i64>&) { ++called; }));
    Result<i64> result = request->wait();
    expect_equal("calls of on_done", called, 1);
    return result;
  }

  void access(const Planned& planned) {
    if (!part_->takes_part) return;
    std::vector<std::byte> buffer = part_->buffer;
    AccessCall call;
    call.name = "access";
    call.direction = planned.direction;
    call.positioning = planned.positioning;
    call.collective = planned.collective;
    call.offset = part_->offset;
    auto flat = FlatType::lower(*part_->memory);
    if (!flat) return note("lowering: " + flat.error().what);
    call.memory = Memory{buffer.data() + part_->base, *flat, part_->count};
    call.memory_spec = part_->memory;
    const Result<i64> moved = perform(planned, call);
    expect_status("access", moved ? ok_status() : Status(moved.error()), part_->error);
    if (!moved || part_->error != ErrorClass::kNone) return;
    expect_equal("bytes moved", *moved, part_->bytes);
    for (size_t i = 0; i < buffer.size(); ++i) {
      if (buffer[i] == part_->buffer_after[i]) continue;
      return expect_equal(("buffer byte " + std::to_string(i) + " of " + std::to_string(buffer.size())).c_str(),
                          static_cast<i64>(buffer[i]), static_cast<i64>(part_->buffer_after[i]));
    }
  }

  void check_state(const Planned& planned) {
    expect_equal("position", file_->position(), part_->pointer_after);
    const auto place = file_->byte_offset(part_->pointer_after);
    expect_equal("byte offset", place ? *place : -1, part_->byte_offset_after);
    const auto shared = file_->position_shared();
    expect_equal("shared position", shared ? *shared : -1, planned.shared_after);
    const auto size = file_->size();
    expect_equal("file size", size ? *size : -1, planned.size_after);
  }

  Comm& comm_;
  const size_t me_;
  const std::string file_name_;
  std::unique_ptr<File> file_;
  const RankPart* part_ = nullptr;
};

std::string compare_content(const std::string& file_name, const std::vector<std::byte>& wanted) {
  const Resolved resolved = resolve(file_name);
  auto storage = resolved.driver->open(resolved.path, OpenOptions{});
  if (!storage) return "can't open the file afterwards: " + storage.error().what;
  std::vector<std::byte> found(wanted.size() + 16);
  const IoPiece piece{0, found.data(), static_cast<i64>(found.size())};
  const auto bytes = (*storage)->read({&piece, 1});
  if (!bytes || *bytes != static_cast<i64>(wanted.size())) return "the file has another size in the end";
  for (size_t i = 0; i < wanted.size(); ++i)
    if (found[i] != wanted[i])
      return "file byte " + std::to_string(i) + " is " + std::to_string(static_cast<int>(found[i])) + ", must be " +
             std::to_string(static_cast<int>(wanted[i]));
  return "";
}

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder ? folder : "/tmp";
}

}  // namespace

namespace {

// Most cases on one node; the others on two or three, their ranks in turn.
Topology topology_of(const Case& random_case) {
  const i64 nodes = std::min<i64>(random_case.ranks, std::max<i64>(1, static_cast<i64>(random_case.seed % 5) - 1));
  Topology topology;
  for (i64 node = 0; node < nodes; ++node) topology.node_names.push_back("n" + std::to_string(node));
  for (i64 rank = 0; rank < random_case.ranks; ++rank) topology.node_of_rank.push_back(rank % nodes);
  return topology;
}

}  // namespace

std::string run_case(const Case& random_case) {
  const PlannedCase planned = plan_case(random_case);
  static std::atomic<i64> runs{0};
  const std::string unique = "mercutio-model-" + std::to_string(getpid()) + "-" + std::to_string(++runs);
  const std::string file_name = random_case.on_disk ? temporary_folder() + "/" + unique : "memory:" + unique;
  std::vector<std::string> wrong(static_cast<size_t>(random_case.ranks));
  run_ranks(random_case.ranks, [&](Comm& comm) {
    RankRun rank(comm, file_name);
    std::string& mine = wrong[static_cast<size_t>(comm.rank())];
    for (size_t i = 0; i < planned.steps.size(); ++i) {
      rank.step(planned.steps[i]);
      if (mine.empty() && !rank.wrong.empty())
        mine = "step " + std::to_string(i) + " " + planned.steps[i].text + "\n    " + rank.wrong;
    }
    rank.close();
    if (mine.empty()) mine = rank.wrong;
  }, topology_of(random_case));
  std::string first = compare_content(file_name, planned.content);
  for (const std::string& text : wrong)
    if (!text.empty() && (first.empty() || first.rfind("step", 0) != 0 || text < first)) first = text;
  const Status removed = delete_file(file_name, {});
  if (first.empty() && !removed) first = "delete: " + removed.error().what;
  return first;
}

Case shrink(Case failing) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t i = failing.steps.size(); i-- > 1;) {  // step 0 opens
      Case without = failing;
      without.steps.erase(without.steps.begin() + static_cast<i64>(i));
      if (run_case(without).empty()) continue;
      failing = std::move(without);
      smaller = true;
    }
    Case fewer = failing;
    if (--fewer.ranks == 0 || run_case(fewer).empty()) continue;
    failing = std::move(fewer);
    smaller = true;
  }
  return failing;
}

}  // namespace mercutio::oracle
