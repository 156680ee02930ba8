// Requests of every kind on several files, by several threads of each rank, waited for in any order, some of them with an error:
// the File layer with its real progress threads, in real time. The seed decides what is done, the machine how it interleaves.
//   request_storm [--cases N] [--seed S] [--seconds T]
//
// Every byte that is ever written is a function of its file and its place, so whatever the order, a place holds that or zero.
#include <algorithm>
#include <random>
#include <thread>

#include "comm/in_process.h"
#include "file/file.h"
#include "seeded.h"

namespace mercutio::sim {
namespace {

using Random = std::mt19937_64;
i64 pick(Random& random, i64 low, i64 high) { return low + static_cast<i64>(random() % static_cast<std::uint64_t>(high - low + 1)); }

constexpr i64 kLongest = 3000;   // bytes of a rank's part of an access

std::byte byte_at(i64 file, i64 place) { return static_cast<std::byte>(1 + (place * 31 + file * 7 + place / 251) % 255); }

enum class Kind { kStart, kBlocking, kSplit };

// One access of all ranks, or of each rank for itself. Part r of a write is at place + r * bytes.
struct Step {
  Kind kind = Kind::kStart;
  Direction direction = Direction::kWrite;
  bool collective = true;
  i64 place = 0, bytes = 0;
  i64 culprit = -1;   // the rank that gives a negative count
};

struct FilePlan {
  std::string name;
  std::vector<Step> steps;
  i64 bytes = 0;
};

struct Plan {
  i64 ranks = 1, threads = 1;
  std::vector<FilePlan> files;   // file i belongs to thread i % threads of each rank
};

Plan make_plan(std::uint64_t seed) {
  Random random(seed);
  Plan plan;
  plan.ranks = pick(random, 1, 4);
  plan.threads = pick(random, 1, 2);
  for (i64 i = pick(random, 1, 3); i > 0; --i) {
    FilePlan file;
    file.name = "memory:storm-" + std::to_string(seed) + "-" + std::to_string(i);
    for (i64 steps = pick(random, 2, 12); steps > 0; --steps) {
      Step step;
      step.kind = static_cast<Kind>(std::max<i64>(0, pick(random, -3, 2)));
      step.direction = pick(random, 0, 2) == 0 ? Direction::kRead : Direction::kWrite;
      step.collective = step.kind == Kind::kSplit || pick(random, 0, 3) > 0;
      step.bytes = pick(random, 0, 3) == 0 ? pick(random, 0, 3) : pick(random, 1, kLongest);
      step.place = step.direction == Direction::kWrite ? file.bytes : pick(random, 0, file.bytes);
      if (pick(random, 0, 7) == 0) step.culprit = pick(random, 0, plan.ranks - 1);
      if (step.direction == Direction::kWrite) file.bytes += plan.ranks * step.bytes;
      file.steps.push_back(step);
    }
    plan.files.push_back(std::move(file));
  }
  return plan;
}

// What one thread of a rank does with its files.
class Worker {
 public:
  Worker(const Plan& plan, i64 rank, std::uint64_t seed, Context context) : plan_(plan), rank_(rank), random_(seed), context_(context) {}

  void add(i64 number, std::unique_ptr<Comm> comm) { files_.push_back({number, std::move(comm), nullptr, 0}); }

  // Empty, or what was wrong.
  std::string run() {
    for (Held& held : files_) open(held);
    for (bool more = true; more && wrong_.empty();) {
      more = false;
      // Each file goes one step on; blocking calls in the same order on all ranks, the others in any.
      std::vector<Held*> order;
      for (Held& held : files_) {
        if (held.next < plan_of(held).steps.size()) order.push_back(&held);
      }
      std::stable_partition(order.begin(), order.end(), [&](Held* held) { return step_of(*held).kind == Kind::kStart; });
      const auto blocking = std::find_if(order.begin(), order.end(), [&](Held* held) { return step_of(*held).kind != Kind::kStart; });
      std::shuffle(order.begin(), blocking, random_);
      for (Held* held : order) take_step(*held);
      more = !order.empty();
      if (pick(random_, 0, 2) == 0) wait_for_some();
    }
    while (!pending_.empty()) wait_for(static_cast<size_t>(pick(random_, 0, static_cast<i64>(pending_.size()) - 1)));
    for (Held& held : files_) {
      if (!held.file->close()) complain(held, "close failed");
    }
    return wrong_;
  }

 private:
  struct Held {
    i64 number;
    std::unique_ptr<Comm> comm;
    std::unique_ptr<File> file;
    size_t next;
  };
  struct Access {
    Held* held;
    Step step;
    std::vector<std::byte> data;
  };
  struct Pending {
    std::unique_ptr<Access> access;
    RequestRef request;
  };

  const FilePlan& plan_of(const Held& held) const { return plan_.files[static_cast<size_t>(held.number)]; }
  const Step& step_of(const Held& held) const { return plan_of(held).steps[held.next]; }
  void complain(const Held& held, const std::string& what) {
    if (wrong_.empty()) wrong_ = "rank " + std::to_string(rank_) + ", file " + std::to_string(held.number) + ": " + what;
  }

  void open(Held& held) {
    OpenCall call;
    call.file_name = plan_of(held).name;
    call.amode.read_write = call.amode.create = true;
    auto opened = open_file(std::move(held.comm), call, context_);
    if (!opened) std::abort();   // the others would wait
    held.file = std::move(*opened);
  }

  i64 part(const Step& step) const { return step.place + rank_ * step.bytes; }

  AccessCall call_of(Access& access) const {
    const Step& step = access.step;
    AccessCall call;
    call.name = "storm";
    call.direction = step.direction;
    call.collective = step.collective;
    call.offset = part(step);
    call.memory = Memory{access.data.data(), contiguous_bytes(), step.culprit == rank_ ? -1 : step.bytes};
    call.memory_spec = byte_type();
    return call;
  }

  void take_step(Held& held) {
    auto access = std::make_unique<Access>(Access{&held, step_of(held), {}});
    ++held.next;
    const Step& step = access->step;
    access->data.resize(static_cast<size_t>(step.bytes));
    if (step.direction == Direction::kWrite) {
      for (i64 i = 0; i < step.bytes; ++i) access->data[static_cast<size_t>(i)] = byte_at(held.number, part(step) + i);
    }
    const AccessCall call = call_of(*access);
    if (step.kind == Kind::kBlocking) return check(*access, held.file->access(call));
    if (step.kind == Kind::kSplit) {
      Status begun = held.file->begin(call);
      if (!begun) return check(*access, begun.error());
      return check(*access, held.file->end("storm", step.direction, Positioning::kExplicit, access->data.data()));
    }
    auto started = held.file->start(call, nullptr);
    if (!started) return check(*access, started.error());
    pending_.push_back({std::move(access), std::move(*started)});
  }

  void check(const Access& access, const Result<i64>& moved) {
    const Step& step = access.step;
    const bool fails = step.culprit >= 0 && (step.collective || step.culprit == rank_);
    if (moved.ok() == fails) return complain(*access.held, fails ? "success where a rank failed" : moved.error().what);
    if (fails && moved.error().cls != ErrorClass::kCount) return complain(*access.held, "another class: " + moved.error().what);
    if (fails) return;
    if (*moved > step.bytes || (step.direction == Direction::kWrite && *moved != step.bytes)) return complain(*access.held, "a wrong count");
    for (i64 i = 0; i < *moved; ++i) {
      const std::byte got = access.data[static_cast<size_t>(i)];
      if (got != std::byte{0} && got != byte_at(access.held->number, part(step) + i)) return complain(*access.held, "a wrong byte was read");
    }
  }

  void wait_for(size_t i) {
    std::swap(pending_[i], pending_.back());
    Pending one = std::move(pending_.back());
    pending_.pop_back();
    check(*one.access, one.request->wait());
  }
  void wait_for_some() {
    for (i64 n = pick(random_, 0, 2); n > 0 && !pending_.empty(); --n) wait_for(static_cast<size_t>(pick(random_, 0, static_cast<i64>(pending_.size()) - 1)));
  }

  const Plan& plan_;
  const i64 rank_;
  Random random_;
  const Context context_;
  std::vector<Held> files_;
  std::vector<Pending> pending_;
  std::string wrong_;
};

// What the file holds at the end: the bytes of the writes that succeeded, and zeros. Where a rank has failed, the others may have moved their data.
std::string check_contents(const Plan& plan, i64 number) {
  const FilePlan& file = plan.files[static_cast<size_t>(number)];
  const Resolved resolved = resolve(file.name);
  std::unique_ptr<Storage> storage = std::move(resolved.driver->open(resolved.path, {})).value();
  std::vector<std::byte> got(static_cast<size_t>(file.bytes)), expected(got);
  const IoPiece whole{0, got.data(), file.bytes};
  if (!storage->read(std::span(&whole, 1))) return "the file can't be read";
  for (const Step& step : file.steps) {
    if (step.direction == Direction::kRead) continue;
    for (i64 rank = 0; rank < plan.ranks; ++rank) {
      if (step.culprit == rank) continue;
      const bool failed = step.culprit >= 0 && step.collective;
      for (i64 i = step.place + rank * step.bytes; i < step.place + (rank + 1) * step.bytes; ++i) {
        const size_t at = static_cast<size_t>(i);
        if (!failed || got[at] == byte_at(number, i)) expected[at] = byte_at(number, i);
      }
    }
  }
  return got == expected ? "" : "file " + std::to_string(number) + " holds other bytes than were written";
}

std::string run_storm(std::uint64_t seed) {
  const Plan plan = make_plan(seed);
  std::vector<std::vector<std::unique_ptr<Comm>>> worlds;
  for (size_t i = 0; i < plan.files.size(); ++i) worlds.push_back(make_in_process_world(plan.ranks));
  std::vector<std::string> wrong(static_cast<size_t>(plan.ranks * plan.threads));
  std::vector<std::unique_ptr<Progress>> progress;
  DatarepRegistry datareps;
  std::vector<std::thread> threads;
  for (i64 rank = 0; rank < plan.ranks; ++rank) {
    progress.push_back(make_progress_thread());
    for (i64 thread = 0; thread < plan.threads; ++thread) {
      const i64 slot = rank * plan.threads + thread;
      auto worker = std::make_shared<Worker>(plan, rank, seed * 1000 + static_cast<std::uint64_t>(slot), Context{progress.back().get(), &datareps});
      for (i64 file = thread; file < static_cast<i64>(plan.files.size()); file += plan.threads)
        worker->add(file, std::move(worlds[static_cast<size_t>(file)][static_cast<size_t>(rank)]));
      threads.emplace_back([worker, &result = wrong[static_cast<size_t>(slot)]] { result = worker->run(); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : wrong) {
    if (!one.empty()) return one;
  }
  for (i64 file = 0; file < static_cast<i64>(plan.files.size()); ++file) {
    const std::string contents = check_contents(plan, file);
    if (!contents.empty()) return contents;
    (void)delete_file(plan.files[static_cast<size_t>(file)].name, {});
  }
  return "";
}

}  // namespace
}  // namespace mercutio::sim

int main(int argc, char** argv) { return mercutio::sim::run_seeded(argc, argv, 1000, mercutio::sim::run_storm); }
