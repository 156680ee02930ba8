#include "engine/io/sieve_gate.h"

#include <sched.h>

#include <atomic>

#include "base/phases.h"

namespace mercutio {
namespace {

constexpr i64 kMostBytes = 64 * KiB;   // of a short write

std::atomic_ref<i64> shared(i64& counter) { return std::atomic_ref(counter); }

}  // namespace

SieveGate::Pass::Pass(SieveGate& gate, i64 bytes, const BlockingDetector* blocking) : gate_(nullptr) {
  if (bytes > kMostBytes || (blocking && blocking->blocks())) return;
  auto sieving = shared(gate.sieving());
  if (sieving.load(std::memory_order_relaxed) != 0) return;   // so that a rank that sieves is not kept waiting
  auto writing = shared(gate.my_writing());
  writing.fetch_add(1, std::memory_order_seq_cst);
  if (sieving.load(std::memory_order_seq_cst) == 0) {
    gate_ = &gate;
  } else {
    writing.fetch_sub(1, std::memory_order_release);
  }
}

SieveGate::Pass::~Pass() {
  if (gate_) shared(gate_->my_writing()).fetch_sub(1, std::memory_order_release);
}

class SieveGate::Closed final : public HeldLock {
 public:
  Closed(SieveGate& gate, std::unique_ptr<HeldLock> kept) : gate_(gate), kept_(std::move(kept)) {
    shared(gate_.sieving()).fetch_add(1, std::memory_order_seq_cst);
  }
  ~Closed() override { shared(gate_.sieving()).fetch_sub(1, std::memory_order_release); }

 private:
  SieveGate& gate_;
  const std::unique_ptr<HeldLock> kept_;
};

bool SieveGate::quiet(bool patiently) {
  constexpr i64 kPatienceNs = 10'000'000;   // more than a time slice, as the other rank may wait for a core
  i64 begin = 0;
  for (i64 member = 0; member < ranks();) {
    if (shared(writing(member)).load(std::memory_order_seq_cst) == 0) {
      ++member;
      continue;
    }
    if (!patiently) return false;
    const i64 now = now_ns();
    if (begin == 0) begin = now;
    if (now - begin > kPatienceNs) return false;
    sched_yield();
  }
  return true;
}

std::unique_ptr<HeldLock> SieveGate::close(std::unique_ptr<HeldLock> kept, bool patiently) {
  auto closed = std::make_unique<Closed>(*this, std::move(kept));
  return quiet(patiently) ? std::move(closed) : nullptr;
}

}  // namespace mercutio
