#include "insight/totals.h"

#include <algorithm>
#include <cstdint>

namespace mercutio {
namespace {

enum class Fold { kSum, kMax, kMin };

void fold(i64& mine, i64 other, Fold how) {
  if (how == Fold::kSum) mine += other;
  if (how == Fold::kMax) mine = std::max(mine, other);
  if (how == Fold::kMin)
    mine = mine == 0 || other == 0 ? std::max(mine, other) : std::min(mine, other);  // 0: nothing yet
}

template <std::size_t N>
void fold(std::array<i64, N>& mine, const std::array<i64, N>& other) {
  for (std::size_t i = 0; i < N; ++i) mine[i] += other[i];
}

}  // namespace

i64 bucket_bytes(i64 bucket) {
  return bucket >= kSizeBuckets - 1 ? INT64_MAX : i64{256} << (2 * bucket);
}

#define MERCUTIO_FOLD(name, how) fold(mine.name, theirs.name, Fold::how);

void FileTotals::add(const FileTotals& other) {
  {
    FileTotals& mine = *this;
    const FileTotals& theirs = other;
    MERCUTIO_FILE_TOTALS(MERCUTIO_FOLD)
    MERCUTIO_LATER_TOTALS(MERCUTIO_FOLD)
  }
  fold(unwaited_class_ns, other.unwaited_class_ns);
  names.add(other.names);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    ClassTotals& mine = classes[i];
    const ClassTotals& theirs = other.classes[i];
    if (theirs.none()) continue;   // as most are
    MERCUTIO_CLASS_TOTALS(MERCUTIO_FOLD)
    fold(mine.phase_ns, theirs.phase_ns);
    fold(mine.sizes, theirs.sizes);
  }
  for (std::size_t i = 0; i < storage.size(); ++i) {
    StorageTotals& mine = storage[i];
    const StorageTotals& theirs = other.storage[i];
    if (theirs.none()) continue;
    MERCUTIO_STORAGE_TOTALS(MERCUTIO_FOLD)
    fold(mine.sizes, theirs.sizes);
  }
}

#undef MERCUTIO_FOLD

#define MERCUTIO_MULTIPLY(name, how) if (Fold::how == Fold::kSum) multiply_one(part.name);

void FileTotals::multiply(double times) {
  const auto multiply_one = [times](i64& value) { value = static_cast<i64>(static_cast<double>(value) * times + 0.5); };
  {
    FileTotals& part = *this;
    MERCUTIO_FILE_TOTALS(MERCUTIO_MULTIPLY)
    MERCUTIO_LATER_TOTALS(MERCUTIO_MULTIPLY)
  }
  std::for_each(unwaited_class_ns.begin(), unwaited_class_ns.end(), multiply_one);
  for (ClassTotals& part : classes) {
    if (part.none()) continue;
    MERCUTIO_CLASS_TOTALS(MERCUTIO_MULTIPLY)
    std::for_each(part.phase_ns.begin(), part.phase_ns.end(), multiply_one);
    std::for_each(part.sizes.begin(), part.sizes.end(), multiply_one);
  }
  for (StorageTotals& part : storage) {
    if (part.none()) continue;
    MERCUTIO_STORAGE_TOTALS(MERCUTIO_MULTIPLY)
    std::for_each(part.sizes.begin(), part.sizes.end(), multiply_one);
  }
}

#undef MERCUTIO_MULTIPLY

void FileTotals::stretch(double times) {
  const auto stretch_one = [times](i64& ns) { ns = static_cast<i64>(static_cast<double>(ns) * times + 0.5); };
  for (i64* const ns : {&unwaited_ns, &lock_ns}) stretch_one(*ns);
  std::for_each(unwaited_class_ns.begin(), unwaited_class_ns.end(), stretch_one);
  for (ClassTotals& part : classes) {
    stretch_one(part.ns);
    std::for_each(part.phase_ns.begin(), part.phase_ns.end(), stretch_one);
  }
  for (StorageTotals& part : storage) {
    for (i64* const ns : {&part.ns, &part.large_ns}) stretch_one(*ns);
  }
}

i64 FileTotals::calls() const {
  i64 sum = 0;
  for (const ClassTotals& one : classes) sum += one.calls;
  return sum;
}

i64 FileTotals::bytes() const {
  i64 sum = 0;
  for (const ClassTotals& one : classes) sum += one.bytes;
  return sum;
}

i64 FileTotals::phase_ns(Phase phase) const {
  i64 sum = 0;
  for (const ClassTotals& one : classes) sum += one.phase_ns[static_cast<std::size_t>(phase)];
  return sum;
}

i64 FileTotals::held_ns() const {
  i64 sum = open_ns + close_ns + sync_ns + size_ns + resize_ns + view_ns + setting_ns + blocked_ns - unwaited_ns;
  for (const ClassTotals& one : classes) sum += one.ns;
  return sum;
}

// Of each class what it did not wait for shrinks to the part for which it was blocked all the same, and the phases and storage requests with it.
FileTotals FileTotals::as_held() const {
  FileTotals held = *this;
  if (unwaited_ns <= 0) return held;
  const i64 blocked = std::min(blocked_ns, unwaited_ns);
  const double hidden = 1 - static_cast<double>(blocked) / static_cast<double>(unwaited_ns);
  const auto scale = [](i64& ns, double times) { ns = static_cast<i64>(static_cast<double>(ns) * times + 0.5); };
  const auto kept_of = [hidden](i64 unwaited, i64 all) {
    return all > 0 ? std::max(0.0, 1 - hidden * static_cast<double>(unwaited) / static_cast<double>(all)) : 1;
  };
  for (std::size_t way = 0; way < storage.size(); ++way) {
    const double kept = kept_of(unwaited_class_ns[way] + unwaited_class_ns[way + 2], classes[way].ns + classes[way + 2].ns);
    for (i64* ns : {&held.storage[way].ns, &held.storage[way].large_ns}) scale(*ns, kept);
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const double kept = kept_of(unwaited_class_ns[i], classes[i].ns);
    scale(held.classes[i].ns, kept);
    for (i64& ns : held.classes[i].phase_ns) scale(ns, kept);
    held.unwaited_class_ns[i] = 0;
  }
  held.unwaited_ns = 0, held.blocked_ns = blocked_ns - blocked;
  return held;
}

}  // namespace mercutio
