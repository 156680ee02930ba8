#include "insight/costs.h"

#include <algorithm>

namespace mercutio {
namespace {

// What moving data costs where the job itself doesn't tell: through the page cache of a node; a piece of it in an exchange; and a
// small request to a page cache.
constexpr double kLocalBytesPerSecond = 3e9, kPieceSeconds = 20e-9, kLocalRequestSeconds = 2e-6;
constexpr i64 kTellingBytes = MiB;  // so many have to be moved before their rate tells anything

}  // namespace

const ClassTotals& of(const FileTotals& totals, Direction direction, bool collective) {
  return const_cast<FileTotals&>(totals).of(direction, collective);
}

double seconds_of(i64 ns) {
  return static_cast<double>(ns) * 1e-9;
}

double worst(const JobFile& file, const std::function<double(const FileTotals&)>& value) {
  double most = 0;
  for (const FileTotals& one : file.by_rank) most = std::max(most, value(one));
  return most;
}

bool is_local(const JobFile& file) {
  const char* const local[] = {"tmpfs", "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "overlay"};
  return std::find(std::begin(local), std::end(local), file.file_system) != std::end(local);
}

double rate_of(const Job& job, const JobFile& file, Direction direction) {
  i64 bytes = 0, ns = 0;
  for (const JobFile& other : job.files) {
    const StorageTotals& part = other.all.storage[direction == Direction::kWrite ? 1 : 0];
    if (other.file_system == file.file_system) bytes += part.large_bytes, ns += part.large_ns;
  }
  if (bytes >= kTellingBytes && ns > 0) return static_cast<double>(bytes) / seconds_of(ns);
  return is_local(file) ? kLocalBytesPerSecond : kBytesPerSecond;
}

double seconds_well_made(const Job& job, const JobFile& file, Direction direction, i64 bytes, i64 pieces) {
  const auto ranks = static_cast<double>(std::max<std::size_t>(1, file.by_rank.size()));
  return static_cast<double>(bytes) / rate_of(job, file, direction) + static_cast<double>(pieces) * kPieceSeconds / ranks + 1e-3;
}

double seconds_together(const Job& job, const JobFile& file, Direction direction, i64 bytes, i64 pieces) {
  const auto ranks = static_cast<double>(std::max<std::size_t>(1, file.by_rank.size()));
  const double spread = static_cast<double>(pieces) * kPieceSeconds / ranks;
  const Direction other_way = direction == Direction::kRead ? Direction::kWrite : Direction::kRead;
  for (const Direction way : {direction, other_way}) {
    i64 moved = 0, in_pieces = 0;
    double seconds = 0;
    for (const JobFile& other : job.files) {
      const ClassTotals& all = of(other.all, way, true);
      if (other.file_system != file.file_system || all.bytes == 0) continue;
      moved += all.bytes, in_pieces += all.strided_calls;
      seconds += worst(other, [way](const FileTotals& one) {
        const ClassTotals& part = of(one, way, true);
        return seconds_of(part.ns - part.phase_ns[static_cast<std::size_t>(Phase::kArrive)]);
      });
    }
    if (moved < kTellingBytes || seconds <= 0) continue;
    const double alike = seconds * static_cast<double>(bytes) / static_cast<double>(moved) + (in_pieces > 0 ? 0 : spread);
    return way == direction ? alike : std::min(alike, seconds_well_made(job, file, direction, bytes, pieces));
  }
  return seconds_well_made(job, file, direction, bytes, pieces);
}

double waits_in_turns(const JobFile& file) {
  double least = 1e300;
  for (const FileTotals& one : file.by_rank) {
    double arrive = 0;
    for (const Direction way : {Direction::kRead, Direction::kWrite})
      arrive += seconds_of(of(one, way, true).phase_ns[static_cast<std::size_t>(Phase::kArrive)]);
    if (one.calls() > 0) least = std::min(least, arrive);
  }
  return least < 1e300 ? least : 0;
}

double seconds_in_pieces(const JobFile& file, double bytes) {
  const ClassTotals &alone = of(file.all, Direction::kWrite, false), &together = of(file.all, Direction::kWrite, true);
  const double calls = static_cast<double>(std::max<i64>(1, alone.calls + together.calls));
  const double piece = std::max(1.0, static_cast<double>(alone.piece_bytes + together.piece_bytes) / calls);
  return bytes / piece * kLocalRequestSeconds / static_cast<double>(std::max<std::size_t>(1, file.by_rank.size()));
}

double seconds_with_gaps(const Job& job, const FileTotals& one, Direction direction) {
  const i64 ns = of(one, direction, false).ns;
  const double between = std::max(0.0, seconds_of(one.between_ns) - job.recording), busy = seconds_of(ns) + between;
  const double span = seconds_of(one.last_ns - one.first_ns) - job.recording;
  if (busy < 0.8 * span) return busy;
  i64 other = one.open_ns + one.close_ns + one.sync_ns - ns;
  for (const ClassTotals& part : one.classes) other += part.ns;
  return std::max(busy, span - seconds_of(other));
}

}  // namespace mercutio
