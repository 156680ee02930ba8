#include "storage/contract.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>

#include "base/threads.h"

namespace mercutio {

std::unique_ptr<Storage> ContractRun::open(bool create, const WriterGroup& group, bool keeps_writes) {
  OpenOptions options;
  options.write = true;
  options.create = create;
  options.group = group;
  options.keeps_writes = keeps_writes;
  auto opened = open_(options);
  if (!opened) {
    expect(opened.error(), "open");
    return nullptr;
  }
  const bool publishes = (*opened)->traits().coherence == Coherence::kAfterPublish;
  if (create && publishes && group.size == 1) expect((*opened)->sync(), "sync");   // there is no file for other opens before
  return std::move(*opened);
}

bool ContractRun::expect(bool holds, const std::string& what) {
  if (!holds) failures_.push_back(what);
  return holds;
}
bool ContractRun::expect(const Status& status, const std::string& what) {
  return expect(status.ok(), what + (status ? "" : ": " + status.error().what));
}
bool ContractRun::equals(const Result<i64>& got, i64 want, const std::string& what) {
  if (!got) return expect(got.error(), what);
  return expect(*got == want, what + ": got " + std::to_string(*got) + ", want " + std::to_string(want));
}

namespace {

using Data = std::vector<std::byte>;

Data filled(size_t bytes, size_t seed) {
  Data data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(1 + (i * 7 + seed) % 251);
  return data;
}
IoPiece piece(i64 offset, Data& data, i64 from, i64 bytes) {
  return {offset, data.data() + from, bytes};
}
// The same pieces in other memory.
std::vector<IoPiece> moved_to(std::vector<IoPiece> pieces, const Data& from, Data& to) {
  for (IoPiece& piece : pieces) piece.data = to.data() + (piece.data - from.data());
  return pieces;
}
Result<i64> write_all(Storage& storage, Data& data, i64 offset = 0) {
  const IoPiece all = piece(offset, data, 0, static_cast<i64>(data.size()));
  return storage.write({&all, 1});
}
// Not only into a cache of this open.
bool write_byte(Storage& storage) {
  Data data = filled(1, 1);
  return write_all(storage, data).ok() && storage.flush().ok();
}
void expect_content(ContractRun& run, Storage& storage, const Data& want, const char* what) {
  Data in(want.size(), std::byte{0xAA});
  const IoPiece all = piece(0, in, 0, static_cast<i64>(in.size()));
  if (!run.equals(storage.read({&all, 1}), static_cast<i64>(in.size()), std::string(what) + ": bytes read")) return;
  const Data zeros(want.size());
  const Data& expected = run.keeps_bytes() ? want : zeros;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == expected[i]) continue;
    run.expect(false, std::string(what) + ": byte " + std::to_string(i) + " is " + std::to_string(static_cast<int>(in[i])) + ", want " +
                          std::to_string(static_cast<int>(expected[i])));
    return;
  }
}
void sleep_ms(i64 ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}
// Runs all at once; ends when all have ended.
void at_once(const std::vector<std::function<void()>>& bodies) {
  std::vector<std::thread> threads;
  for (const auto& body : bodies) {
    if (auto thread = start_thread(body)) threads.push_back(std::move(*thread));
    else body();
  }
  for (std::thread& thread : threads) thread.join();
}

void pieces_in_any_order(ContractRun& run) {
  const auto storage = run.open();
  if (!storage) return;
  Data out = filled(10000, 3), in(10000);
  const std::vector<IoPiece> pieces{piece(200000, out, 0, 3000), piece(5, out, 3000, 1000), piece(1005, out, 4000, 2000),
                                    piece(70000, out, 6000, 0), piece(3005, out, 6000, 4000)};
  if (!run.equals(storage->write(pieces), 10000, "bytes written")) return;
  run.equals(storage->size(), 203000, "size");
  run.equals(storage->read(moved_to(pieces, out, in)), 10000, "bytes read");
  run.expect(in == (run.keeps_bytes() ? out : Data(10000)), "what is read is what was written");
  run.expect(storage->sync(), "sync");
  run.expect(storage->close(), "close");
}

void many_small_pieces(ContractRun& run) {
  const auto storage = run.open();
  if (!storage) return;
  Data out = filled(24000, 9), in(24000);
  std::vector<IoPiece> pieces;
  for (i64 i = 0; i < 3000; ++i) pieces.push_back(piece(8 * i, out, 8 * (2999 - i), 8));   // one run, 3000 buffers
  run.equals(storage->write(pieces), 24000, "bytes written");
  run.equals(storage->read(moved_to(pieces, out, in)), 24000, "bytes read");
  run.expect(in == (run.keeps_bytes() ? out : Data(24000)), "what is read is what was written");
}

void holes_and_the_end(ContractRun& run) {
  const auto storage = run.open();
  if (!storage) return;
  Data out = filled(10, 1), in(3000, std::byte{0xAA});
  run.equals(write_all(*storage, out, 1000), 10, "bytes written");
  const IoPiece reads[] = {piece(0, in, 0, 1000), piece(1000, in, 1000, 100), piece(0, in, 2000, 100)};
  run.equals(storage->read(reads), 1010, "bytes read until the end of the file");
  run.expect(std::count(in.begin(), in.begin() + 1000, std::byte{0}) == 1000, "a hole reads as zeros");
  run.expect(in[1010] == std::byte{0xAA}, "memory beyond the end of the file stays as it is");
  run.expect(in[2000] == std::byte{0xAA}, "pieces after the one that was cut short stay as they are");
}

// A driver may be unable to make a file shorter.
void sizes(ContractRun& run) {
  const auto storage = run.open();
  if (!storage) return;
  Data out = filled(5000, 2);
  run.equals(write_all(*storage, out), 5000, "bytes written");
  run.expect(storage->preallocate(100), "preallocate less than there is");
  run.equals(storage->size(), 5000, "size after it");
  const Status more = storage->preallocate(300000);   // a driver may be unable to promise room
  if (!more && more.error().cls == ErrorClass::kUnsupportedOperation) run.expect(storage->set_size(300000), "make it longer");
  else run.expect(more, "preallocate more");
  run.equals(storage->size(), 300000, "size after it");
  out.resize(300000);
  expect_content(run, *storage, out, "after preallocate");
  run.expect(!storage->set_size(-1).ok(), "a negative size is an error");
  const Status shorter = storage->set_size(100);
  if (!shorter && shorter.error().cls == ErrorClass::kUnsupportedOperation) return;
  run.expect(shorter, "make it shorter");
  run.expect(storage->set_size(400), "make it longer");
  out.resize(100);
  out.resize(400);   // what was cut off doesn't come back
  expect_content(run, *storage, out, "after set_size");
  Data end(10);
  const IoPiece beyond = piece(395, end, 0, 10);
  run.equals(storage->read({&beyond, 1}), 5, "bytes read at the new end");
}

void started_transfers(ContractRun& run) {
  const auto storage = run.open();
  if (!storage) return;
  Data out = filled(64000, 5);
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (i64 i = 0; i < 16; ++i) transfers.push_back(storage->start(Direction::kWrite, {piece(i * 4000, out, i * 4000, 4000)}));
  for (auto& transfer : transfers) {
    run.equals(transfer->wait(), 4000, "bytes of a started write");
    run.equals(transfer->wait(), 4000, "the same when asked again");
    run.expect(transfer->done(), "a transfer that was waited for is done");
  }
  Data in(64000);
  run.equals(storage->start(Direction::kRead, {piece(0, in, 0, 64000)})->wait(), 64000, "bytes of a started read");
  if (run.keeps_bytes()) run.expect(in == out, "what is read is what was written");
}

// Neighbours in one block, as ranks of a job have them: each thread has an open of its own, and its pieces lie between the others'.
void neighbours(ContractRun& run) {
  constexpr i64 kWriters = 4, kPieces = 100, kBytes = 777;
  const auto first = run.open();
  if (!first) return;
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
    run.expect(free.ok() && *free, "the range beside it can be locked");
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

}  // namespace

const std::vector<ContractCheck>& contract_checks() {
  static const std::vector<ContractCheck> checks = {
      {"pieces_in_any_order", "pieces in any order come back", pieces_in_any_order},
      {"many_small_pieces", "many small pieces come back", many_small_pieces},
      {"holes_and_the_end", "holes are zeros, and reads end with the file", holes_and_the_end},
      {"sizes", "set_size and preallocate keep the content", sizes},
      {"started_transfers", "transfers that were started end", started_transfers},
      {"neighbours", "writers side by side keep each other's bytes", neighbours},
      {"kept_writes", "what a rank keeps of its writes is seen after flush and under locks", kept_writes},
      {"locks_exclude", "locks exclude threads and other opens", locks_exclude},
      {"tried_locks", "a lock that is tried is not waited for", tried_locks},
      {"shared_locks", "shared locks overlap and end one by one", shared_locks},
      {"exclusions_hold", "an exclusion keeps other opens for writing out", exclusions_hold},
      {"exclusions_of_a_group", "an exclusion lets the ranks of its own open in", exclusions_of_a_group},
  };
  return checks;
}

}  // namespace mercutio
