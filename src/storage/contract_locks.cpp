// The contract of Storage: locks, and the exclusion of other writers.
#include <atomic>

#include "storage/contract_checks.h"

namespace mercutio::contract {

void locks_exclude(ContractRun& run) {
  const auto first = run.open(), second = run.open(false);
  if (!first || !second) return;
  if (!first->traits().can_lock) return run.skip("no locks on " + first->traits().file_system);
  // Guarded by the file lock only. Between objects the storage's lock orders the threads, which a race detector can't see: hence the
  // atomic, used so that increments get lost without exclusion. Threads of one object share a plain counter.
  std::atomic<i64> counter{0}, failed{0};
  i64 of_first = 0, of_second = 0;
  const auto work = [&](Storage& storage, i64& plain) {
    for (int i = 0; i < 100; ++i) {
      const auto held = storage.lock(10, 20, true);
      if (!held) ++failed;
      const i64 seen = counter.load(std::memory_order_relaxed);
      std::this_thread::yield();
      counter.store(seen + 1, std::memory_order_relaxed);
      ++plain;
    }
  };
  at_once({[&] { work(*first, of_first); }, [&] { work(*first, of_first); }, [&] { work(*second, of_second); }});
  run.equals(failed.load(), 0, "locks that failed");
  run.equals(counter.load(), 300, "what all counted under the lock");
  run.equals(of_first, 200, "what two threads of one open counted");
  run.equals(of_second, 100, "what the other open counted");
}

void tried_locks(ContractRun& run) {
  const auto first = run.open(), second = run.open(false);
  if (!first || !second) return;
  if (!first->traits().can_lock || first->traits().remote_cluster || !run.keeps_bytes()) return run.skip("it waits, or has no locks");
  auto held = first->try_lock(0, 100, true);
  if (!run.expect(held.ok() && *held, "a free range can be locked")) return;
  for (Storage* const storage : {first.get(), second.get()}) {
    const auto taken = storage->try_lock(50, 60, true);
    run.expect(taken.ok() && !*taken, "a range that is locked is refused at once, without an error");
    const auto free = storage->try_lock(100, 110, true);
    run.expect(free.ok() && *free, "the range after it can be locked");
  }
  for (const i64 at : {0, 99}) {
    const auto taken = second->try_lock(at, at + 1, true);
    run.expect(taken.ok() && !*taken, "the " + std::string(at == 0 ? "first" : "last") + " byte of a range is locked, too");
  }
  run.expect(release(std::move(*held)), "give the lock back");
  const auto again = second->try_lock(50, 60, true);
  run.expect(again.ok() && *again, "it can be locked when it was given back");
}

void shared_locks(ContractRun& run) {
  const auto first = run.open(), second = run.open(false);
  if (!first || !second) return;
  if (!first->traits().can_lock) return run.skip("no locks on " + first->traits().file_system);
  auto a = first->lock(0, 100, false), b = first->lock(50, 150, false), c = second->lock(0, 200, false);
  if (!run.expect(a.ok() && b.ok() && c.ok(), "shared locks overlap")) return;
  c->reset();
  a->reset();   // [50, 150) must stay locked for b
  std::atomic<bool> got{false};
  auto waiter = start_thread([&] {
    const auto held = second->lock(60, 70, true);
    got = held.ok();
  });
  if (!run.expect(waiter.ok(), "start a thread")) return;
  sleep_ms(50);
  run.expect(!got, "an exclusive lock waits for a shared one of which another part was given back");
  run.expect(release(std::move(*b)), "give the lock back");
  waiter->join();
  run.expect(got.load(), "it gets it then");
}

// Where an exclusion is granted it holds: what another open writes waits for its end, and none is granted beside one that has written.
void exclusions_hold(ContractRun& run) {
  const auto storage = run.open();
  if (!storage) return;
  auto excluded = storage->exclude_other_writers(/*promised=*/false);
  if (!excluded || !run.keeps_bytes()) return run.skip("never granted, or for nothing");
  run.expect(storage->exclude_other_writers(/*promised=*/false) != nullptr, "it is granted to another thread of the same rank");
  std::atomic<bool> written{false};
  std::unique_ptr<Storage> other;
  auto late = start_thread([&] {
    other = run.open(false);
    written = other && write_byte(*other);
  });
  if (!run.expect(late.ok(), "start a thread")) return;
  sleep_ms(30);
  run.expect(!written, "what another open writes waits");
  excluded.reset();
  late->join();
  if (!run.expect(written, "it is written then")) return;
  run.expect(!storage->exclude_other_writers(/*promised=*/false) && !other->exclude_other_writers(/*promised=*/false), "none is granted where two have written");
  run.expect(other->close(), "close");
  run.expect(storage->exclude_other_writers(/*promised=*/false) != nullptr, "it is granted again when the other has closed");
}

// The ranks of one collective open don't keep each other out.
void exclusions_of_a_group(ContractRun& run) {
  const WriterGroup group{draw_first_mark(2), 0, 2};
  if (const auto any = run.open(); !any || any->traits().coherence == Coherence::kAfterPublish) return run.skip("never granted");
  const auto first = run.open(true, group), second = run.open(false, WriterGroup{group.first_mark, 1, 2}), other = run.open(false);
  if (!first || !second || !other || !run.expect(write_byte(*first), "write")) return;
  run.expect((other->exclude_other_writers(/*promised=*/false) == nullptr) == run.keeps_bytes(), "another open is kept out");
  if (!run.expect(other->close(), "close")) return;
  const auto excluded = first->exclude_other_writers(/*promised=*/false);
  if (!excluded) return run.skip("never granted");
  run.expect(second->exclude_other_writers(/*promised=*/false) != nullptr, "the other rank of the group is let in");
}

}  // namespace mercutio::contract
