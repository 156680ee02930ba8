#include "copy_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <mutex>
#include <span>

#include "base/trace.h"
#include "direct_copy.h"

namespace mercutio::remote {
namespace {

constexpr size_t kLongestName = 200;   // of a file name, which may have 255 bytes

// "  42 %  1.2 of 2.9 GB  310 MB/s", a line that is written over.
class Progress {
 public:
  Progress(bool shown, i64 total) : shown_(shown), total_(total) {}
  void add(i64 bytes) {
    std::lock_guard guard(mutex_);
    show(done_ + bytes);
  }
  void reach(i64 bytes) {
    std::lock_guard guard(mutex_);
    show(bytes);
  }
  void end() const {
    if (shown_) std::fprintf(stderr, "\n");
  }

 private:
  void show(i64 done) {
    done_ = done;
    const i64 now = now_ns();
    if (!shown_ || (now - last_ns_ < 200'000'000 && done_ < total_)) return;
    last_ns_ = now;
    const double seconds = static_cast<double>(now - start_ns_) * 1e-9, share = static_cast<double>(done_) / static_cast<double>(std::max<i64>(total_, 1));
    const std::string bar(static_cast<size_t>(share * 30), '=');
    std::fprintf(stderr, "\r[%-30s] %3.0f %%  %.1f of %.1f MB  %.0f MB/s ", bar.c_str(), share * 100, static_cast<double>(done_) * 1e-6,
                 static_cast<double>(total_) * 1e-6, static_cast<double>(done_) * 1e-6 / std::max(seconds, 1e-3));
  }

  const bool shown_;
  const i64 total_, start_ns_ = now_ns();
  std::mutex mutex_;
  i64 done_ = 0, last_ns_ = 0;
};

bool as_long_and_old(const FileStatus& one, const FileStatus& other) {
  return other.kind() == FileType::kFile && one.bytes == other.bytes && one.modified_ns == other.modified_ns;
}

// A copy that has begun.
struct Begun {
  const Trees::Place& source;
  const Trees::Place& target;
  const FileStatus& status;   // of the source, from before it was opened
  Storage& from;
  Storage& to;
};

// False: they are no servers that can do it by themselves.
Result<bool> send(const Begun& copy, const CopySettings& settings, const CopyView& view, Progress& progress) {
  RemoteHost* const from = copy.source.tree->host();
  RemoteHost* const to = copy.target.tree->host();
  auto* const file = dynamic_cast<RemoteStorage*>(&copy.to);
  if (!from || !to || !file) return false;
  const std::string part = part_name(copy.target.path);
  MERCUTIO_LET(const std::string why_not, copy_directly({*from, copy.source.path, *to, part, *file}, settings, [&](i64 done) { progress.reach(done); }));
  if (!why_not.empty() && from != to) view.say(from->name() + " can't copy to " + to->name() + " by itself, the data goes through this machine: " + why_not);
  return why_not.empty();
}

// What was written to the source meanwhile may be in the copy in part, so that the copy is none of what the source ever was.
Status stayed(const Begun& copy) {
  MERCUTIO_LET(const FileStatus now, copy.source.tree->status(copy.source.path));
  if (same_file(now, copy.status) && as_long_and_old(now, copy.status)) return ok_status();
  return Error{ErrorClass::kIo, "the source was changed while it was copied, so the copy does not get its name"};
}

Status copy_and_publish(const Begun& copy, const CopySettings& settings, const CopyView& view) {
  MERCUTIO_LET(const i64 bytes, copy.from.size());
  Progress progress(view.shown, bytes);
  MERCUTIO_LET(const bool sent, send(copy, settings, view, progress));
  const std::string part = part_name(copy.target.path);
  if (!sent) {
    MERCUTIO_LET(const i64 there, copy.to.size());
    CopyEnds ends{copy.from, copy.to, bytes, there, {{0, bytes}}};
    if (copy.status.allocated < bytes) {
      MERCUTIO_LET(ends.extents, copy.source.tree->extents(copy.from, copy.source.path, copy.status));
    }
    MERCUTIO_TRY(copy_content(ends, settings, [&](i64 more) { return progress.add(more), ok_status(); }));
  }
  progress.end();
  MERCUTIO_TRY(stayed(copy));
  return copy.target.tree->publish(copy.to, part, copy.target.path, attributes_of(copy.status));
}

}  // namespace

std::string part_name(const std::string& target) {
  const size_t slash = target.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : target.substr(0, slash + 1);
  std::string name = last_name(target);
  if (name.size() > kLongestName) name = name.substr(0, kLongestName) + std::to_string(checksum_of(std::as_bytes(std::span(name))));
  return directory + "." + name + ".mercutio-part";
}

Status copy_file(const Trees::Place& source, const Trees::Place& target, const CopySettings& settings, const CopyView& view) {
  const auto about = [&](Error error) { return named(std::move(error), source.name + " to " + target.name); };
  const std::string part = part_name(target.path);
  const auto before = target.tree->status(target.path);
  if (before && before->kind() != FileType::kFile) return named(Error{ErrorClass::kBadFile, "not a regular file", EINVAL}, target.name);
  const auto status = source.tree->status(source.path);
  if (!status) return about(status.error());
  if (before && source.tree == target.tree && same_file(*status, *before))
    return Error{ErrorClass::kArg, source.name + " and " + target.name + " are the same file"};
  const bool have_times = before && has_time(*status) && has_time(*before);
  if (settings.resume && have_times && as_long_and_old(*status, *before)) return ok_status();   // it was copied before
  const auto from = source.tree->open(source.path, OpenOptions());
  if (!from) return about(from.error());
  const auto to = target.tree->open_part(part, settings.resume);
  const Status copied = to ? copy_and_publish({source, target, *status, **from, **to}, settings, view) : Status(to.error());
  const Status closed = to ? (*to)->close() : ok_status();
  (void)(*from)->close();
  if (copied && closed) return ok_status();
  Error error = about(copied ? closed.error() : copied.error());
  if (to && !settings.resume) error.what += "; to go on where it stopped, add --resume";
  return error;
}

}  // namespace mercutio::remote
