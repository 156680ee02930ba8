// The contract of Storage: what one open of a file sees of another one, and what is there after it.
#include <algorithm>
#include <atomic>

#include "storage/contract_checks.h"

namespace mercutio::contract {

namespace {

// Files on another cluster pass for such ones, and see more.
bool seen_after_open(const Storage& storage) {
  return storage.traits().coherence == Coherence::kAfterOpen && !storage.traits().remote_cluster;
}

}  // namespace

// Neighbours in one block, as ranks of a job have them: each thread has an open of its own, and its pieces lie between the others'.
void neighbours(ContractRun& run) {
  constexpr i64 kWriters = 4, kPieces = 100, kBytes = 777;
  const auto first = run.open();
  if (!first) return;
  if (seen_after_open(*first)) return run.skip("others see what was written after they have opened the file again");
  Data out = filled(kWriters * kPieces * kBytes, 11);
  std::vector<std::unique_ptr<Storage>> opens;
  for (i64 i = 0; i < kWriters; ++i) opens.push_back(run.open(false));
  std::vector<std::function<void()>> writers;
  std::atomic<i64> failed{0};
  for (i64 i = 0; i < kWriters; ++i) {
    if (!opens[static_cast<size_t>(i)]) return;
    writers.push_back([&, i] {
      for (i64 at = i; at < kWriters * kPieces; at += kWriters) {
        const IoPiece one = piece(at * kBytes, out, at * kBytes, kBytes);
        const Result<i64> moved = opens[static_cast<size_t>(i)]->write({&one, 1});
        if (!moved || *moved != kBytes) ++failed;
      }
    });
  }
  at_once(writers);
  run.equals(failed.load(), 0, "writes that failed");
  const bool publish = first->traits().coherence == Coherence::kAfterPublish;
  for (const auto& open : opens) run.expect(publish ? open->sync() : open->flush(), "flush");
  run.expect(first->refresh(), "refresh");
  run.equals(first->size(), static_cast<i64>(out.size()), "size");
  expect_content(run, *first, out, "what several opens wrote side by side");
}

// Two ranks of which each may keep what it writes. What one has kept is its own, and the other's after flush() or under a lock.
void kept_writes(ContractRun& run) {
  const WriterGroup group{draw_first_mark(2), 0, 2};
  const auto first = run.open(true, group, true);
  if (!first) return;
  if (first->traits().coherence == Coherence::kAfterPublish) return run.skip("others see what was published");
  if (seen_after_open(*first)) return run.skip("others see what was written after they have opened the file again");
  const auto second = run.open(false, WriterGroup{group.first_mark, 1, 2}, true);
  if (!second) return;
  Data want = filled(3000, 4);
  for (i64 at = 0; at < 3000; at += 300) {   // some of it twice
    Data old = filled(300, 8);
    const IoPiece pieces[] = {piece(at, old, 0, 300), piece(at, want, at, 300)};
    run.equals(first->write({pieces, 1}), 300, "bytes written");
    run.equals(first->write({pieces + 1, 1}), 300, "bytes written again");
  }
  Data beside = filled(500, 6);
  run.equals(write_all(*second, beside, 3000), 500, "bytes that the other writes");
  run.equals(first->size() ? Result<i64>(std::min<i64>(*first->size(), 3000)) : first->size(), 3000, "size, of what it has written at least");
  expect_content(run, *first, want, "its own writes, before it flushes them");
  for (Storage* const storage : {first.get(), second.get()}) run.expect(storage->flush(), "flush");
  for (Storage* const storage : {first.get(), second.get()}) run.expect(storage->refresh(), "refresh");
  want.insert(want.end(), beside.begin(), beside.end());
  for (Storage* const storage : {first.get(), second.get()}) {
    run.equals(storage->size(), 3500, "size after flush");
    expect_content(run, *storage, want, "what both wrote, after flush");
  }
  if (!first->traits().can_lock) return;
  Data under = filled(100, 5);
  auto held = first->lock(1000, 1100, true);
  if (!run.expect(held.ok(), "lock")) return;
  run.equals(write_all(*first, under, 1000), 100, "bytes written under a lock");
  run.expect(release(std::move(*held)), "give the lock back");
  held = second->lock(1000, 1100, false);
  if (!run.expect(held.ok(), "lock")) return;
  std::copy(under.begin(), under.end(), want.begin() + 1000);
  expect_content(run, *second, want, "what was written under a lock");
}

// Ranks open a file with MPI_MODE_CREATE that an earlier job has written.
void opens_keep_data(ContractRun& run) {
  auto storage = run.open();
  if (!storage) return;
  Data out = filled(5000, 7);
  run.equals(write_all(*storage, out), 5000, "bytes written");
  run.expect(storage->close(), "close");
  storage = run.open(/*create=*/true);
  if (!storage) return;
  run.equals(storage->size(), 5000, "size of a file that is opened with MPI_MODE_CREATE again");
  expect_content(run, *storage, out, "what was there before");
}

namespace {

// One open writes, step by step, and another one that is made then sees it.
void expect_seen(ContractRun& run, bool keeps) {
  auto storage = run.open(/*create=*/true, {}, keeps);
  if (!storage) return;
  const Coherence coherence = storage->traits().coherence;
  Data want;
  const auto write_more = [&](size_t seed) {
    Data more = filled(1500, seed);
    run.equals(write_all(*storage, more, static_cast<i64>(want.size())), 1500, "bytes written");
    want.insert(want.end(), more.begin(), more.end());
  };
  const auto look = [&](const char* when) {
    const auto other = run.open(false);
    if (!other) return;
    const std::string what = std::string("what another open sees after ") + when;
    run.equals(other->size(), static_cast<i64>(want.size()), what + ": size");
    expect_content(run, *other, want, what.c_str());
  };
  write_more(1);
  run.expect(storage->flush(), "flush");
  if (coherence == Coherence::kImmediate) look("flush");
  write_more(2);
  run.expect(storage->sync(), "sync");
  if (coherence == Coherence::kImmediate || coherence == Coherence::kAfterPublish) look("sync");
  write_more(3);
  run.expect(storage->close(), "close");
  look("close");
}

}  // namespace

void writes_are_seen(ContractRun& run) {
  expect_seen(run, false);
}
void kept_writes_are_seen(ContractRun& run) {
  expect_seen(run, true);
}

// A program may open a file twice.
void opens_are_apart(ContractRun& run) {
  const auto first = run.open();
  if (!first) return;
  Data out = filled(3000, 2);
  run.equals(write_all(*first, out), 3000, "bytes written");
  auto second = run.open(false), third = run.open(false);
  if (!second || !third) return;
  run.expect(second->close(), "close another open of the file");
  run.equals(write_all(*first, out, 3000), 3000, "bytes written after that");
  out.insert(out.end(), out.begin(), out.begin() + 3000);
  expect_content(run, *first, out, "what the first open reads after that");
  run.expect(first->sync(), "sync after that");
  run.expect(third->size().ok(), "size through a third open");
  run.expect(third->close(), "close the third open");
  run.expect(first->close(), "close the first open");
}

}  // namespace mercutio::contract
