// What a rank makes of the others' bytes (src/engine: error reports, small collectives; src/file: opening). A rank that is told of a failure
// tells the same one as all other honest ranks. A rank whose partner says whatever it likes, lengths included, ends, with an error or without.
#include <cstring>
#include <deque>
#include <memory>
#include <optional>

#include "comm/simulated.h"
#include "engine/agreement/collectives.h"
#include "engine/engine.h"
#include "engine/agreement/messages.h"
#include "engine/test_support.h"
#include "file/file.h"
#include "fuzz.h"
#include "scripted_comm.h"

namespace mercutio::fuzz {

Input example(Random& random) {
  Input out(static_cast<std::size_t>(pick(random, 8, 120)));
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  out[0] = static_cast<std::byte>(pick(random, 0, 3));
  return out;
}

namespace {

bool plausible(const Error& error) {
  return error.cls > ErrorClass::kNone && error.cls <= ErrorClass::kOther && !error.what.empty();
}

template <class T>
std::function<bool()> step_of(std::shared_ptr<std::optional<Task<T>>> task) {
  return [task] { return (*task)->step(); };
}

// Tasks of all ranks in a simulation, and their results.
template <class T>
class Ranks {
 public:
  void add(Task<T> task) { tasks_.push_back(std::make_shared<std::optional<Task<T>>>(std::move(task))); }
  void run(Simulation& simulation) {
    std::vector<std::function<bool()>> steps;
    for (auto& task : tasks_) steps.push_back(step_of<T>(task));
    const auto end = simulation.run(std::move(steps));
    FUZZ_CHECK(end == Simulation::End::kDone, end == Simulation::End::kDeadlock ? "ranks wait for ever" : "too many steps");
  }
  T result(i64 rank) { return (*tasks_[static_cast<std::size_t>(rank)])->take(); }

 private:
  std::vector<std::shared_ptr<std::optional<Task<T>>>> tasks_;
};

// ---- error reports ----

Task<Status> report_any(Channel channel, i64 lowest, const Input& report, i64 ranks) {
  i64 failing = lowest;
  if (Status reduced = co_await all_reduce(channel, std::span(&failing, 1), Reduce::kMin); !reduced) co_return std::move(reduced).error();
  if (failing < 0 || failing >= ranks) co_return ok_status();
  Input data;
  if (failing == channel.comm->rank()) data = report;
  co_return co_await broadcast(channel, failing, data);
}

void report(Taker& taker) {
  const i64 ranks = 2 + taker.byte() % 3, liar = taker.byte() % ranks;
  Simulation simulation(ranks, {static_cast<std::uint64_t>(taker.byte()), 40, -1, 1 << 20});
  const bool lies = taker.byte() % 4 != 0;
  const i64 claimed = taker.flag() ? liar : taker.number();
  const Error honest{static_cast<ErrorClass>(1 + taker.byte() % static_cast<i64>(ErrorClass::kOther)), "it failed: " + taker.text(60), static_cast<int>(taker.byte()), taker.number(),
                     taker.number()};
  const std::uint64_t failing = static_cast<std::uint64_t>(taker.byte());
  const std::string any = taker.text(200);
  Input message(any.size());
  if (!any.empty()) std::memcpy(message.data(), any.data(), any.size());
  std::deque<Channel> channels;   // they outlive the tasks
  Ranks<Status> tasks;
  i64 lowest = ranks;
  for (i64 rank = 0; rank < ranks; ++rank) {
    const Channel& channel = channels.emplace_back(Channel{&simulation.comm(rank), 1, nullptr});
    if (lies && rank == liar) {
      tasks.add(report_any(channel, claimed, message, ranks));
      continue;
    }
    const bool fails = (failing >> rank & 1) != 0;
    if (fails) lowest = std::min(lowest, rank);
    tasks.add(agree(channel, fails ? Status(honest) : ok_status()));
  }
  tasks.run(simulation);
  std::optional<Status> first;
  for (i64 rank = 0; rank < ranks; ++rank) {
    Status status = tasks.result(rank);
    if (lies && rank == liar) continue;
    FUZZ_CHECK(status || plausible(status.error()), "an error of no class");
    if (!first) first = status;
    FUZZ_CHECK(status.ok() == first->ok() && (status || status.error() == first->error()), "ranks that don't agree");
    if (lies && claimed <= lowest) continue;
    FUZZ_CHECK(status.ok() == (lowest == ranks), "a failure that was not told, or told without need");
    if (status) continue;
    const Error& told = status.error();
    FUZZ_CHECK(told.cls == honest.cls && told.sys_errno == honest.sys_errno && told.offset == honest.offset && told.bytes == honest.bytes &&
                   told.what.starts_with(honest.what), "another failure than happened: " + told.what);
  }
}

// ---- a partner that says anything ----

template <class T>
T finish(Task<T> task) {
  return mercutio::testing::run(std::move(task), [](i64 spins) { FUZZ_CHECK(spins < 1000, "a rank waits for what has come"); });
}

void listen(Taker& taker) {
  const i64 ranks = 2 + taker.byte() % 4, me = taker.byte() % ranks, what = taker.byte() % 4;
  ScriptedComm comm(taker, me, ranks);
  const Channel channel{&comm, 1, nullptr};
  Input mine(static_cast<std::size_t>(taker.byte()), std::byte{7});
  Status status = ok_status();
  if (what == 0) {
    status = finish(broadcast(channel, taker.byte() % ranks, mine));
  } else if (what == 1) {
    status = finish(agree(channel, taker.flag() ? ok_status() : Status(Error{ErrorClass::kIo, "mine"})));
  } else if (what == 2) {
    std::vector<std::byte> all(static_cast<std::size_t>(ranks) * mine.size());
    status = finish(all_gather(channel, mine, all));
  } else {
    i64 headers[2] = {taker.number(), taker.number()};
    status = finish(all_reduce(channel, headers, static_cast<Reduce>(taker.byte() % 2)));
  }
  FUZZ_CHECK(status || plausible(status.error()), "an error of no class");
}

void open_with(Taker& taker) {
  static Driver* const driver = resolve("memory:fuzz").driver;
  OpenOptions options;
  options.write = options.create = true;
  const auto kept = driver->open("fuzz", options);
  FUZZ_CHECK(kept.ok(), "the file can't be made");
  const i64 ranks = 2 + taker.byte() % 2;
  auto progress = make_polled_progress();
  DatarepRegistry datareps;
  OpenCall call;
  call.file_name = "memory:fuzz";
  call.amode.read_write = true;
  call.info = {{"cb_nodes", "2"}, {"ind_rd_buffer_size", "64k"}};
  auto opened = open_file(std::make_unique<ScriptedComm>(taker, ranks - 1, ranks), call, Context{progress.get(), &datareps, nullptr});
  if (!opened) {
    FUZZ_CHECK(plausible(opened.error()), "an error of no class");
    return;
  }
  File& file = **opened;
  const Status changed = file.set_info({{"cb_buffer_size", "1m"}, {"ind_wr_buffer_size", "4k"}});
  FUZZ_CHECK(changed || plausible(changed.error()), "an error of no class");
  FUZZ_CHECK(!file.info().empty(), "no hints at all");
  const Status viewed = file.set_view({taker.byte(), byte_type(), byte_type(), "native", {}, ok_status()});
  FUZZ_CHECK(viewed || plausible(viewed.error()), "an error of no class");
  const Status closed = file.close();
  FUZZ_CHECK(closed || plausible(closed.error()), "an error of no class");
}

}  // namespace
}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  Taker taker(std::as_bytes(std::span(data, size)));
  switch (taker.byte() % 3) {
    case 0:
      report(taker);
      return 0;
    case 1:
      listen(taker);
      return 0;
    default:
      open_with(taker);
      return 0;
  }
}
