#include "remote/copy.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

#include "base/attempt.h"
#include "base/threads.h"
#include "remote/file.h"
#include "remote/operations.h"

namespace mercutio::remote {
namespace {

constexpr i64 kPiece = 8 * MiB;

Result<u64> checksum(Storage& storage, i64 begin, i64 end) {
  if (auto* const remote = dynamic_cast<RemoteStorage*>(&storage)) return remote->checksum(begin, end);
  return checksum_of_range(storage, begin, end);
}

// The threads take the pieces in order.
class Copy {
 public:
  Copy(const CopyEnds& ends, const CopySettings& settings, const CopyProgress& moved) : ends_(ends), settings_(settings), moved_(moved) {}

  Status run() {
    MERCUTIO_TRY(each_piece([&](i64 begin, i64 end) -> Status {
      MERCUTIO_TRY(copy(begin, end));
      return moved_(end - begin);
    }));
    if (ends_.there != ends_.bytes) MERCUTIO_TRY(ends_.to.set_size(ends_.bytes));
    MERCUTIO_TRY(ends_.to.sync());
    if (!settings_.verify) return ok_status();
    return each_piece([&](i64 begin, i64 end) -> Status {
      MERCUTIO_LET(const u64 sum, checksum(ends_.to, begin, end));
      if (sum == sum_of(begin)) return ok_status();
      return Error{ErrorClass::kIo, "the copy differs from what was read, at byte " + std::to_string(begin) +
                                               ": somebody else writes to one of the files, or a disk or memory is faulty", 0, begin, end - begin};
    });
  }

 private:
  template <class Work>
  Status each_piece(Work work) {
    std::atomic<i64> next{0};
    std::mutex mutex;
    std::optional<Error> wrong;
    const auto take = [&] {
      for (i64 begin = 0; (begin = next.fetch_add(kPiece)) < ends_.bytes;) {
        Status done = attempt([&] { return work(begin, std::min(begin + kPiece, ends_.bytes)); });
        if (done) continue;
        std::lock_guard guard(mutex);
        if (!wrong) wrong = std::move(done).error();
        next = ends_.bytes;
      }
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(settings_.parallel));   // no exception may occur while threads run
    for (i64 i = 1; i < settings_.parallel && i * kPiece < ends_.bytes; ++i) {
      auto started = start_thread(take);
      if (!started) break;   // the threads that were started do the work
      threads.push_back(std::move(*started));
    }
    take();
    for (std::thread& thread : threads) thread.join();
    return wrong ? Status(*wrong) : ok_status();
  }

  // Grows as the copy progresses, so a wrong, very large size of the source needs no memory.
  u64 sum_of(i64 begin) {
    std::lock_guard guard(mutex_);
    return sums_.at(begin);
  }
  Status keep(i64 begin, u64 sum) {
    std::lock_guard guard(mutex_);
    sums_[begin] = sum;
    return ok_status();
  }

  // The extents of [begin, end) that are not holes. `data` has the size of the whole range.
  std::vector<IoPiece> pieces_of(i64 begin, i64 end, Buffer& data) const {
    std::vector<IoPiece> pieces;
    auto at = std::partition_point(ends_.extents.begin(), ends_.extents.end(), [&](const Extent& extent) { return extent.end <= begin; });
    for (; at != ends_.extents.end() && at->begin < end; ++at) {
      const i64 first = std::max(at->begin, begin), last = std::min(at->end, end);
      pieces.push_back({first, data.data() + (first - begin), last - first});
    }
    return pieces;
  }

  Status copy(i64 begin, i64 end) {
    if (settings_.resume && end <= ends_.there) {
      MERCUTIO_LET(const u64 sum, checksum(ends_.from, begin, end));
      MERCUTIO_LET(const u64 other, checksum(ends_.to, begin, end));
      if (sum == other) return keep(begin, sum);
    }
    Buffer data(static_cast<size_t>(end - begin));
    std::vector<IoPiece> pieces = pieces_of(begin, end, data);
    const i64 wanted = bytes_of(pieces);
    if (wanted < end - begin) std::fill(data.begin(), data.end(), std::byte{0});
    MERCUTIO_LET(const i64 got, ends_.from.read(pieces));
    if (got != wanted) return Error{ErrorClass::kIo, "the source became shorter while it was copied", 0, begin, end - begin};
    MERCUTIO_TRY(keep(begin, checksum_of(data)));
    if (begin < ends_.there) pieces = {{begin, data.data(), end - begin}};   // the existing data may not be a hole
    if (!pieces.empty()) MERCUTIO_TRY(ends_.to.write(pieces));
    return ok_status();
  }

  const CopyEnds& ends_;
  const CopySettings settings_;
  const CopyProgress& moved_;
  std::mutex mutex_;
  std::map<i64, u64> sums_;
};

}  // namespace

Status copy_content(const CopyEnds& ends, const CopySettings& settings, const CopyProgress& moved) {
  return Copy(ends, settings, moved).run();
}

}  // namespace mercutio::remote
