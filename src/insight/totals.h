// Totals: what a rank did with a file, exact for runs of any length. They are sums, extremes and histograms, all of them i64, so one
// table of names serves to merge, store and print them.
#pragma once

#include <array>
#include <string>

#include "base/phases.h"
#include "base/trace.h"
#include "base/types.h"
#include "insight/distinct_names.h"

namespace mercutio {

i64 bucket_bytes(i64 bucket);  // the largest size in it; INT64_MAX for the last

inline constexpr i64 kMostOfRank = i64{1} << 52;   // of nanoseconds (52 days), bytes or calls of a rank
inline constexpr i64 kSmallBytes = 64 * KiB;  // smaller accesses cost more for the call than for moving the bytes
inline constexpr i64 kBetweenNs = 5'000;      // shorter gaps between accesses have no work of the program

// F(name, how to merge the values of two ranks)
#define MERCUTIO_FILE_TOTALS(F)                                                                                   \
  F(files, kSum) F(reopens, kSum) F(opens, kSum)                                                                                                  \
  F(open_ns, kSum) F(first_open_ns, kSum) F(closes, kSum) F(close_ns, kSum) F(late_opening_ns, kSum) F(syncs, kSum) F(sync_ns, kSum) F(late_sync_ns, kSum) F(idle_syncs, kSum) \
      F(size_calls, kSum) F(size_ns, kSum) F(shared_calls, kSum) F(adapted_read_bytes, kSum) F(adapted_fetched_bytes, kSum) F(adapted_hole_bytes, kSum) \
      F(adapted_written_bytes, kSum) F(adapted_stored_bytes, kSum) F(adapted_merged_bytes, kSum) \
      F(blocked_ns, kSum) F(locks, kSum) F(lock_ns, kSum) F(plans, kSum) F(plans_reused, kSum) F(messages, kSum)  \
          F(message_bytes, kSum) F(metadata_bytes, kSum) F(copied_bytes, kSum) F(merged_bytes, kSum)              \
              F(hole_bytes, kSum) F(unwaited_calls, kSum) F(unwaited_ns, kSum) F(between_ns, kSum) F(first_ns, kMin) F(last_ns, kMax) F(end_offset, kMax) \
                  F(ranks, kMax) F(nodes, kMax) F(block_bytes, kMax) F(stripe_bytes, kMax) F(stripe_count, kMax)  \
                      F(first_server, kMax)
// Those that versions of the trace have added (older_traces.h), the latest last.
#define MERCUTIO_TOTALS_OF_13(F) F(resizes, kSum) F(resize_ns, kSum) F(late_resize_ns, kSum)
#define MERCUTIO_TOTALS_OF_14(F) \
  F(views, kSum) F(view_ns, kSum) F(late_view_ns, kSum) F(settings, kSum) F(setting_ns, kSum) F(late_setting_ns, kSum)
#define MERCUTIO_LATER_TOTALS(F) MERCUTIO_TOTALS_OF_13(F) MERCUTIO_TOTALS_OF_14(F)
#define MERCUTIO_CLASS_TOTALS(F)                                                                                      \
  F(calls, kSum)                                                                                                      \
  F(bytes, kSum) F(ns, kSum) F(small_calls, kSum) F(strided_calls, kSum) F(jumping_calls, kSum) F(failed_calls, kSum) \
      F(longest_ns, kMax) F(piece_bytes, kSum) F(begin_place, kMin) F(end_place, kMax)
#define MERCUTIO_STORAGE_TOTALS(F)                                                                              \
  F(calls, kSum)                                                                                                \
  F(bytes, kSum) F(span_bytes, kSum) F(pieces, kSum) F(ns, kSum) F(small_calls, kSum) F(misaligned_calls, kSum) \
      F(longest_ns, kMax) F(absorbed_calls, kSum) F(unused_bytes, kSum) F(large_bytes, kSum) F(large_ns, kSum)
// late_*: of opens and closes, of syncs, of changes of the size, of views and of settings, what a rank waited for others that came later, as kArrive is of accesses;
// first_open_ns: without that, of the first file that the process opened.
// size_*: calls that ask for the file's size. resize_*: those that change it, which are collective. view_*: calls that set the view, which are collective, too.
// setting_*: calls that are neither accesses nor any of these, collective or not: hints, atomic mode, the shared file pointer. shared_calls: accesses by the shared file pointer. adapted_*: of collective
// accesses that mercutio_adapt carried out in another way than the default: what they asked for, what storage moved for them, and why.
// files: distinct ones that were opened, counted by the first rank of those that opened them together; reopens: opens of a file that
// this rank had opened before. between_ns: between accesses that follow each other at once, so that no work can lie between them but the calls' own.
// absorbed_calls: accesses that a buffer took or served; unused_bytes: read in advance and never asked for; large_*: of requests
// whose pieces are not small.
#define MERCUTIO_TOTAL_FIELD(name, fold) i64 name = 0;

// Accesses of one kind: independent or collective, read or write. Places are offsets in the file plus one; 0: none yet.
struct ClassTotals {
  MERCUTIO_CLASS_TOTALS(MERCUTIO_TOTAL_FIELD)
  std::array<i64, kPhases> phase_ns{};
  std::array<i64, kSizeBuckets> sizes{};
  bool none() const { return calls == 0 && bytes == 0 && ns == 0 && end_place == 0; }
  bool operator==(const ClassTotals&) const = default;
};

struct StorageTotals {
  MERCUTIO_STORAGE_TOTALS(MERCUTIO_TOTAL_FIELD)
  std::array<i64, kSizeBuckets> sizes{};
  bool none() const { return calls == 0 && bytes == 0 && ns == 0 && absorbed_calls == 0 && unused_bytes == 0; }
  bool operator==(const StorageTotals&) const = default;
};

inline constexpr i64 kClasses = 4;
inline constexpr std::array<const char*, kClasses> kClassNames = {"independent_read", "independent_write",
                                                                  "collective_read", "collective_write"};

struct FileTotals {
  MERCUTIO_FILE_TOTALS(MERCUTIO_TOTAL_FIELD)
  std::array<ClassTotals, kClasses> classes{};
  std::array<StorageTotals, 2> storage{};  // read, write
  MERCUTIO_TOTALS_OF_13(MERCUTIO_TOTAL_FIELD)
  std::array<i64, kClasses> unwaited_class_ns{};  // of unwaited_ns, by class
  MERCUTIO_TOTALS_OF_14(MERCUTIO_TOTAL_FIELD)
  DistinctNames names;   // of the files: of version 15
  bool operator==(const FileTotals&) const = default;

  ClassTotals& of(Direction direction, bool collective) {
    return classes[static_cast<std::size_t>((collective ? 2 : 0) + (direction == Direction::kWrite ? 1 : 0))];
  }
  void add(const FileTotals& other);  // of another rank or period
  void multiply(double times);        // scales all sums
  void stretch(double times);         // scales the times of accesses and of their storage requests
  // Over all classes.
  i64 calls() const;
  i64 bytes() const;
  i64 phase_ns(Phase phase) const;
  // The time that the program spent blocked in I/O: accesses that it waited for, opens, closes, syncs, sizes, views and settings.
  i64 held_ns() const;
  // The same as times of the accesses: what went on while the program did something else is no part of them.
  FileTotals as_held() const;
};

#undef MERCUTIO_TOTAL_FIELD

// Calls visit(name, value) for each number, with names like "collective_write.phase.storage".
template <class Visit>
void visit_totals(const FileTotals& totals, Visit visit) {
#define MERCUTIO_VISIT(name, fold) visit(std::string(#name), totals.name);
#define MERCUTIO_VISIT_PART(name, fold) visit(prefix + #name, part.name);
  MERCUTIO_FILE_TOTALS(MERCUTIO_VISIT)
  for (std::size_t i = 0; i < totals.classes.size(); ++i) {
    const ClassTotals& part = totals.classes[i];
    const std::string prefix = std::string(kClassNames[i]) + ".";
    MERCUTIO_CLASS_TOTALS(MERCUTIO_VISIT_PART)
    for (std::size_t p = 0; p < kPhases; ++p) visit(prefix + "phase_ns." + kPhaseNames[p], part.phase_ns[p]);
    for (std::size_t s = 0; s < part.sizes.size(); ++s) visit(prefix + "sizes." + std::to_string(s), part.sizes[s]);
  }
  for (std::size_t i = 0; i < totals.storage.size(); ++i) {
    const StorageTotals& part = totals.storage[i];
    const std::string prefix = i == 0 ? "storage_read." : "storage_write.";
    MERCUTIO_STORAGE_TOTALS(MERCUTIO_VISIT_PART)
    for (std::size_t s = 0; s < part.sizes.size(); ++s) visit(prefix + "sizes." + std::to_string(s), part.sizes[s]);
  }
  MERCUTIO_LATER_TOTALS(MERCUTIO_VISIT)
  for (std::size_t i = 0; i < totals.classes.size(); ++i) visit(std::string(kClassNames[i]) + ".unwaited_ns", totals.unwaited_class_ns[i]);
#undef MERCUTIO_VISIT
#undef MERCUTIO_VISIT_PART
}

}  // namespace mercutio
