// The contract of Storage: what one open reads and writes.
#include <algorithm>
#include <atomic>

#include "storage/contract_checks.h"

namespace mercutio::contract {

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

// As large as aggregators write them, and at odd places: what a driver does only for short transfers shows.
void large_transfers(ContractRun& run) {
  const auto storage = run.open();
  if (!storage) return;
  constexpr i64 kBegin = 7, kBytes = 5 * MiB + 13, kPart = 1 * MiB + 4099;
  Data out = filled(kBytes, 1);
  for (size_t i = 0; i < out.size(); ++i) out[i] ^= static_cast<std::byte>(i >> 12);   // no part is like its neighbour
  run.equals(write_all(*storage, out, kBegin), kBytes, "bytes written");
  run.equals(storage->size(), kBegin + kBytes, "size");
  expect_content(run, *storage, out, "in one read", kBegin);
  for (i64 at = 0; at < kBytes; at += kPart)
    expect_content(run, *storage, Data(out.begin() + at, out.begin() + std::min(kBytes, at + kPart)), "in several reads", kBegin + at);
  Data middle = filled(2 * MiB + 1, 5);
  run.equals(write_all(*storage, middle, kBegin + kPart), static_cast<i64>(middle.size()), "bytes written in the middle");
  std::copy(middle.begin(), middle.end(), out.begin() + kPart);
  expect_content(run, *storage, out, "after a write in the middle", kBegin);
}

// Offsets of 32 bits end at 2 or 4 GiB.
void far_offsets(ContractRun& run) {
  const auto storage = run.open();
  if (!storage) return;
  const Traits& traits = storage->traits();
  if (!traits.sparse_files || traits.coherence == Coherence::kAfterPublish) return run.skip("holes take space");
  const i64 places[] = {100, 2048 * MiB + 100, 4096 * MiB + 100};
  for (size_t i = 0; i < std::size(places); ++i) {
    Data out = filled(50, 10 * i);
    const Result<i64> written = write_all(*storage, out, places[i]);
    const bool full = !written && (written.error().cls == ErrorClass::kNoSpace || written.error().cls == ErrorClass::kQuota);
    if (full) return run.skip("no room for a file of 4 GiB with holes: " + written.error().what);
    run.equals(written, 50, "bytes written at " + std::to_string(places[i]));
    run.equals(storage->size(), places[i] + 50, "size");
  }
  for (size_t i = 0; i < std::size(places); ++i) expect_content(run, *storage, filled(50, 10 * i), "far away", places[i]);
}

// Several threads on one open, each on its own part. For a while, as what is shared between two calls shows only now and then.
void threads_of_one_open(ContractRun& run) {
  constexpr i64 kThreads = 4, kAtLeast = 30, kAtMost = 20000, kBytes = 101, kPlaces = 500;
  const auto storage = run.open();
  if (!storage) return;
  std::atomic<i64> failed{0}, wrong{0};
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  std::vector<std::function<void()>> bodies;
  for (i64 thread = 0; thread < kThreads; ++thread) {
    bodies.push_back([&, thread] {
      for (i64 n = 0; n < kAtLeast || (n < kAtMost && std::chrono::steady_clock::now() < until); ++n) {
        const i64 at = (thread * kPlaces + n % kPlaces) * kBytes;
        Data out = filled(kBytes, static_cast<size_t>(n * kThreads + thread)), in(kBytes, std::byte{0xAA});
        const Result<i64> written = write_all(*storage, out, at);
        const IoPiece back = piece(at, in, 0, kBytes);
        const Result<i64> read = storage->read({&back, 1});
        if (!written || *written != kBytes || !read || *read != kBytes) ++failed;
        else if (in != (run.keeps_bytes() ? out : Data(kBytes))) ++wrong;
      }
    });
  }
  at_once(bodies);
  run.equals(failed.load(), 0, "transfers of several threads that failed");
  run.equals(wrong.load(), 0, "reads that gave another thread's bytes, or none");
}

}  // namespace mercutio::contract
