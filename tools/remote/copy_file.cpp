#include "copy_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>

#include "base/attempt.h"
#include "base/threads.h"
#include "base/trace.h"
#include "remote/file.h"
#include "remote/operations.h"

namespace mercutio::remote {
namespace {

constexpr i64 kPiece = 8 * MiB;
constexpr size_t kLongestName = 200;   // of a file name, which may have 255 bytes

Result<u64> checksum(Storage& storage, i64 begin, i64 end) {
  if (auto* const remote = dynamic_cast<RemoteStorage*>(&storage)) return remote->checksum(begin, end);
  return checksum_of_range(storage, begin, end);
}

// "  42 %  1.2 of 2.9 GB  310 MB/s", a line that is written over.
class Progress {
 public:
  Progress(bool shown, i64 total) : shown_(shown), total_(total) {}
  void add(i64 bytes) {
    std::lock_guard guard(mutex_);
    done_ += bytes;
    const i64 now = now_ns();
    if (!shown_ || (now - last_ns_ < 200'000'000 && done_ < total_)) return;
    last_ns_ = now;
    const double seconds = static_cast<double>(now - start_ns_) * 1e-9, share = static_cast<double>(done_) / static_cast<double>(std::max<i64>(total_, 1));
    const std::string bar(static_cast<size_t>(share * 30), '=');
    std::fprintf(stderr, "\r[%-30s] %3.0f %%  %.1f of %.1f MB  %.0f MB/s ", bar.c_str(), share * 100, static_cast<double>(done_) * 1e-6,
                 static_cast<double>(total_) * 1e-6, static_cast<double>(done_) * 1e-6 / std::max(seconds, 1e-3));
  }
  void end() const {
    if (shown_) std::fprintf(stderr, "\n");
  }

 private:
  const bool shown_;
  const i64 total_, start_ns_ = now_ns();
  std::mutex mutex_;
  i64 done_ = 0, last_ns_ = 0;
};

struct Ends {
  Storage& from;
  Storage& to;
  i64 bytes = 0, there = 0;       // of the source; of what was there of the copy before
  std::vector<Extent> extents;    // of the source
};

// Threads take pieces in order.
class Copy {
 public:
  Copy(const Ends& ends, const CopySettings& settings) : ends_(ends), settings_(settings) {}

  Status run() {
    Progress progress(settings_.shown, ends_.bytes);
    MERCUTIO_TRY(each_piece([&](i64 begin, i64 end) -> Status {
      MERCUTIO_TRY(copy(begin, end));
      progress.add(end - begin);
      return ok_status();
    }));
    progress.end();
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
    threads.reserve(static_cast<size_t>(settings_.parallel));   // none may be left running
    for (i64 i = 1; i < settings_.parallel && i * kPiece < ends_.bytes; ++i) {
      auto started = start_thread(take);
      if (!started) break;   // those that there are do all of it
      threads.push_back(std::move(*started));
    }
    take();
    for (std::thread& thread : threads) thread.join();
    return wrong ? Status(*wrong) : ok_status();
  }

  // Kept as the copy goes on: a source that says it is huge costs nothing.
  u64 sum_of(i64 begin) {
    std::lock_guard guard(mutex_);
    return sums_.at(begin);
  }
  Status keep(i64 begin, u64 sum) {
    std::lock_guard guard(mutex_);
    sums_[begin] = sum;
    return ok_status();
  }

  // The parts of [begin, end) that are no holes, in `data`, which stands for all of it.
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
    i64 wanted = 0;
    for (const IoPiece& piece : pieces) wanted += piece.bytes;
    if (wanted < end - begin) std::fill(data.begin(), data.end(), std::byte{0});
    MERCUTIO_LET(const i64 got, ends_.from.read(pieces));
    if (got != wanted) return Error{ErrorClass::kIo, "the source became shorter while it was copied", 0, begin, end - begin};
    MERCUTIO_TRY(keep(begin, checksum_of(data)));
    if (begin < ends_.there) pieces = {{begin, data.data(), end - begin}};   // what is there may be no hole
    if (!pieces.empty()) MERCUTIO_TRY(ends_.to.write(pieces));
    return ok_status();
  }

  const Ends& ends_;
  const CopySettings settings_;
  std::mutex mutex_;
  std::map<i64, u64> sums_;
};

// A file as long and as old as the source was copied before.
bool is_there(const FileStatus& source, const FileStatus& target) {
  return target.kind() == FileType::kFile && source.bytes == target.bytes && source.modified_ns == target.modified_ns;
}

}  // namespace

std::string part_name(const std::string& target) {
  const size_t slash = target.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  std::string name = last_name(target);
  if (name.size() > kLongestName) name = name.substr(0, kLongestName) + std::to_string(checksum_of(std::as_bytes(std::span(name))));
  return directory + "." + name + ".mercutio-part";
}

Status copy_file(const Trees::Place& source, const Trees::Place& target, const FileStatus& status, const CopySettings& settings) {
  const std::string part = part_name(target.path);
  const auto before = target.tree->status(target.path);
  if (before && before->kind() != FileType::kFile) return named(Error{ErrorClass::kBadFile, "not a regular file", EINVAL}, target.name);
  if (before && source.tree == target.tree && same_file(status, *before))
    return Error{ErrorClass::kArg, source.name + " and " + target.name + " are the same file"};
  if (before && settings.resume && is_there(status, *before)) return ok_status();
  OpenOptions reading;
  MERCUTIO_LET(const auto from, source.tree->open(source.path, reading));
  MERCUTIO_LET(const auto to, target.tree->open_part(part, settings.resume));
  const auto work = [&]() -> Status {
    MERCUTIO_LET(const i64 bytes, from->size());
    MERCUTIO_LET(const i64 there, to->size());
    Ends ends{*from, *to, bytes, there, {{0, bytes}}};
    if (status.allocated < bytes) {
      MERCUTIO_LET(ends.extents, source.tree->extents(*from, source.path, status));
    }
    MERCUTIO_TRY(Copy(ends, settings).run());
    return target.tree->publish(*to, part, target.path, {status.permissions, status.modified_ns});
  };
  const Status copied = work();
  const Status closed = to->close();
  (void)from->close();
  if (copied && closed) return ok_status();
  Error error = copied ? closed.error() : copied.error();
  error.what = source.name + " to " + target.name + ": " + error.what + (settings.resume ? "" : "; to go on where it stopped, add --resume");
  return error;
}

}  // namespace mercutio::remote
