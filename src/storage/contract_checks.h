// What the checks of storage/contract.h have in common, and their names.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/threads.h"
#include "storage/contract.h"

namespace mercutio::contract {

using Data = std::vector<std::byte>;

inline Data filled(size_t bytes, size_t seed) {
  Data data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(1 + (i * 7 + seed) % 251);
  return data;
}
inline IoPiece piece(i64 offset, Data& data, i64 from, i64 bytes) {
  return {offset, data.data() + from, bytes};
}
// The same pieces in other memory.
inline std::vector<IoPiece> moved_to(std::vector<IoPiece> pieces, const Data& from, Data& to) {
  for (IoPiece& piece : pieces) piece.data = to.data() + (piece.data - from.data());
  return pieces;
}
inline Result<i64> write_all(Storage& storage, Data& data, i64 offset = 0) {
  const IoPiece all = piece(offset, data, 0, static_cast<i64>(data.size()));
  return storage.write({&all, 1});
}
// Not only into a cache of this open.
inline bool write_byte(Storage& storage) {
  Data data = filled(1, 1);
  return write_all(storage, data).ok() && storage.flush().ok();
}
inline void expect_content(ContractRun& run, Storage& storage, const Data& want, const char* what, i64 offset = 0) {
  Data in(want.size(), std::byte{0xAA});
  const IoPiece all = piece(offset, in, 0, static_cast<i64>(in.size()));
  if (!run.equals(storage.read({&all, 1}), static_cast<i64>(in.size()), std::string(what) + ": bytes read")) return;
  const Data zeros(want.size());
  const Data& expected = run.keeps_bytes() ? want : zeros;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == expected[i]) continue;
    run.expect(false, std::string(what) + ": byte " + std::to_string(offset + static_cast<i64>(i)) + " is " + std::to_string(static_cast<int>(in[i])) + ", want " +
                          std::to_string(static_cast<int>(expected[i])));
    return;
  }
}
inline void sleep_ms(i64 ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}
// Runs all at once; ends when all have ended.
inline void at_once(const std::vector<std::function<void()>>& bodies) {
  std::vector<std::thread> threads;
  for (const auto& body : bodies) {
    if (auto thread = start_thread(body)) threads.push_back(std::move(*thread));
    else body();
  }
  for (std::thread& thread : threads) thread.join();
}

// contract_data.cpp: what one open reads and writes.
void pieces_in_any_order(ContractRun& run);
void many_small_pieces(ContractRun& run);
void holes_and_the_end(ContractRun& run);
void sizes(ContractRun& run);
void started_transfers(ContractRun& run);
void large_transfers(ContractRun& run);
void far_offsets(ContractRun& run);
void threads_of_one_open(ContractRun& run);

// contract_opens.cpp: what one open sees of another one.
void neighbours(ContractRun& run);
void kept_writes(ContractRun& run);
void opens_keep_data(ContractRun& run);
void writes_are_seen(ContractRun& run);
void kept_writes_are_seen(ContractRun& run);
void opens_are_apart(ContractRun& run);

// contract_locks.cpp
void locks_exclude(ContractRun& run);
void tried_locks(ContractRun& run);
void shared_locks(ContractRun& run);
void exclusions_hold(ContractRun& run);
void exclusions_of_a_group(ContractRun& run);

}  // namespace mercutio::contract
