// What traces of the versions before have otherwise than format.h says: a shorter header, shorter totals, and before that another list of them. What
// they do not know is 0. The structs stay as they were: who changes one that is used here keeps the old one.
#pragma once

#include <array>
#include <cstddef>

#include "insight/format.h"

namespace mercutio {

inline constexpr i64 kOldestVersion = 9;            // that is read
inline constexpr i64 kLastWithOldTotals = 11;

// A version that knows more has it at the end of the header.
inline constexpr std::size_t header_bytes(i64 version) {
  if (version == 9) return offsetof(PieceHeader, members);
  if (version == 10) return offsetof(PieceHeader, busy_ns);
  if (version <= 12) return offsetof(PieceHeader, failed_opens);
  return sizeof(PieceHeader);
}

// From kLastWithOldTotals on, a version that knows more of a file has it at the end of its record.
inline constexpr std::size_t file_record_bytes(i64 version) {
  if (version == 12) return offsetof(FileRecord, totals) + offsetof(FileTotals, resizes);
  if (version == 13) return offsetof(FileRecord, totals) + offsetof(FileTotals, views);
  if (version == 14) return offsetof(FileRecord, totals) + offsetof(FileTotals, names);
  return sizeof(FileRecord);
}

#define MERCUTIO_OLD_TOTALS_TO_CLOSES(F) F(files) F(reopens) F(opens) F(open_ns) F(closes) F(close_ns)
#define MERCUTIO_OLD_TOTALS_FROM_SYNCS(F)                                                                                  \
  F(syncs) F(sync_ns) F(idle_syncs) F(blocked_ns) F(locks) F(lock_ns) F(plans) F(plans_reused) F(messages)                 \
  F(message_bytes) F(metadata_bytes) F(copied_bytes) F(merged_bytes) F(hole_bytes) F(unwaited_calls) F(unwaited_ns)        \
  F(between_ns) F(first_ns) F(last_ns) F(end_offset) F(ranks) F(nodes) F(block_bytes) F(stripe_bytes) F(stripe_count)      \
  F(first_server)

struct OldFileRecord {
  std::array<char, 256> name{};
  std::array<char, 64> amode{};
  std::array<char, 32> file_system{};
  std::array<char, 32> library{};
  i64 is_pattern = 0;
#define MERCUTIO_OLD_FIELD(field) i64 field = 0;
  MERCUTIO_OLD_TOTALS_TO_CLOSES(MERCUTIO_OLD_FIELD)
  i64 shortest_close_ns = 0;   // which nobody asks for any more
  MERCUTIO_OLD_TOTALS_FROM_SYNCS(MERCUTIO_OLD_FIELD)
#undef MERCUTIO_OLD_FIELD
  std::array<ClassTotals, kClasses> classes{};
  std::array<StorageTotals, 2> storage{};
};
static_assert(sizeof(OldFileRecord) == 2064 && offsetof(OldFileRecord, classes) == 656 && sizeof(ClassTotals) == 256);

inline FileRecord current(const OldFileRecord& old) {
  FileRecord record{old.name, old.amode, old.file_system, old.library, old.is_pattern, {}};
#define MERCUTIO_OLD_FIELD(field) record.totals.field = old.field;
  MERCUTIO_OLD_TOTALS_TO_CLOSES(MERCUTIO_OLD_FIELD)
  MERCUTIO_OLD_TOTALS_FROM_SYNCS(MERCUTIO_OLD_FIELD)
#undef MERCUTIO_OLD_FIELD
  record.totals.classes = old.classes;
  record.totals.storage = old.storage;
  return record;
}

#undef MERCUTIO_OLD_TOTALS_TO_CLOSES
#undef MERCUTIO_OLD_TOTALS_FROM_SYNCS

}  // namespace mercutio
