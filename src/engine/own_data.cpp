#include "engine/own_data.h"

#include <memory>

#include "base/attempt.h"

namespace mercutio {
namespace {

bool reads(const Access& access) { return access.direction == Direction::kRead; }

// The hints for an access without exchange if the plan decides about sieving. Null: those of the file.
std::unique_ptr<const Hints> hints_for(const Plan& plan, const Hints& hints) {
  if (plan.strategy != Strategy::kList && plan.strategy != Strategy::kSieve) return nullptr;
  auto changed = std::make_unique<Hints>(hints);
  changed->romio_ds_read = changed->romio_ds_write = plan.strategy == Strategy::kSieve ? Toggle::kEnable : Toggle::kDisable;
  return changed;
}

// Moves this rank's own data, and records whether a read blocked, on which the next plan depends.
Result<i64> move_alone(const EngineFile& file, const Access& access, bool atomic) {
  BlockingDetector* const blocking = reads(access) && access.bytes >= BlockingDetector::kTellingBytes ? file.blocking : nullptr;
  const BlockingDetector::Probe probe = blocking ? blocking->before(/*closely=*/true) : BlockingDetector::Probe{};
  Result<i64> moved = independent(file, access, IndependentOptions{atomic});
  if (blocking && moved) blocking->saw_read(*moved, probe);
  return moved;
}

}  // namespace

Result<i64> move_own(const EngineFile& file, const Access& access, bool atomic, const Plan* plan) {
  if (access.bytes == 0) return i64{0};
  return attempt([&] {
    const std::unique_ptr<const Hints> hints = plan ? hints_for(*plan, *file.hints) : nullptr;
    if (!hints) return move_alone(file, access, atomic);
    EngineFile changed = file;
    changed.hints = hints.get();
    return move_alone(changed, access, atomic);
  });
}

}  // namespace mercutio
