// mercutio-cp, behind `mercutio cp`: copies files between here and other clusters. Pieces go through several threads at once;
// afterwards the target's checksum, made where it lies, is compared with that of what was read. With --resume, pieces that are
// there already are left alone: they are found by their checksums, so that no record of an earlier copy is needed.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <mutex>

#include "arguments.h"
#include "base/trace.h"
#include "remote/file.h"
#include "remote/operations.h"
#include "base/threads.h"

namespace mercutio::remote {
namespace {

constexpr i64 kPiece = 8 * MiB;
constexpr char kScheme[] = "mercutio://";

const std::vector<Option> kOptions = {
    {"resume", nullptr, "go on with a copy that was interrupted: what is there already is not sent again"},
    {"no-verify", nullptr, "don't compare checksums at the end"},
    {"parallel", "N", "pieces of 8 MiB under way at once, 1 to 64 (4)"},
    {"quiet", nullptr, "no progress bar (there is none where standard error is no terminal)"},
    {"help", nullptr, "print this"},
};

bool is_remote(const std::string& name) {
  return name.starts_with(kScheme);
}

Error named(Error error, const std::string& name) {
  error.what = name + ": " + error.what;
  return error;
}

struct Opener {
  std::unique_ptr<Driver> remote = make_driver();

  Result<std::unique_ptr<Storage>> open(const std::string& name, const OpenOptions& options) const {
    const Resolved local = resolve("ufs:" + name);   // no prefix in it means anything
    auto opened = is_remote(name) ? remote->open(name.substr(sizeof kScheme - 1), options) : local.driver->open(local.path, options);
    if (!opened) return named(opened.error(), name);
    return opened;
  }
};

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

struct Settings {
  bool resume = false, verify = true, shown = false;
  i64 parallel = 4;
};

// One file. Threads take its pieces in order.
class Copy {
 public:
  Copy(Storage& from, Storage& to, const Settings& settings, i64 bytes, i64 there)
      : from_(from), to_(to), settings_(settings), bytes_(bytes), there_(there), sums_(static_cast<size_t>((bytes + kPiece - 1) / kPiece)) {}

  Status run() {
    Progress progress(settings_.shown, bytes_);
    MERCUTIO_TRY(each_piece([&](i64 begin, i64 end) -> Status {
      MERCUTIO_TRY(copy(begin, end));
      progress.add(end - begin);
      return ok_status();
    }));
    progress.end();
    if (there_ > bytes_) MERCUTIO_TRY(to_.set_size(bytes_));
    MERCUTIO_TRY(to_.sync());
    if (!settings_.verify) return ok_status();
    return each_piece([&](i64 begin, i64 end) -> Status {
      MERCUTIO_LET(const u64 sum, checksum(to_, begin, end));
      if (sum == sums_[static_cast<size_t>(begin / kPiece)]) return ok_status();
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
      for (i64 begin = 0; (begin = next.fetch_add(kPiece)) < bytes_;) {
        const Status done = work(begin, std::min(begin + kPiece, bytes_));
        if (done) continue;
        std::lock_guard guard(mutex);
        if (!wrong) wrong = done.error();
        next = bytes_;
      }
    };
    std::vector<std::thread> threads;
    for (i64 i = 1; i < std::min<i64>(settings_.parallel, static_cast<i64>(sums_.size())); ++i) {
      auto started = start_thread(take);
      if (!started) break;   // those that there are do all of it
      threads.push_back(std::move(*started));
    }
    take();
    for (std::thread& thread : threads) thread.join();
    return wrong ? Status(*wrong) : ok_status();
  }

  Status copy(i64 begin, i64 end) {
    u64& sum = sums_[static_cast<size_t>(begin / kPiece)];
    if (settings_.resume && end <= there_) {
      MERCUTIO_LET(sum, checksum(from_, begin, end));
      MERCUTIO_LET(const u64 other, checksum(to_, begin, end));
      if (sum == other) return ok_status();
    }
    Buffer data(static_cast<size_t>(end - begin));
    const IoPiece piece{begin, data.data(), end - begin};
    MERCUTIO_LET(const i64 got, from_.read(std::span(&piece, 1)));
    if (got != end - begin) return Error{ErrorClass::kIo, "the source became shorter while it was copied", 0, begin + got, end - begin};
    sum = checksum_of(data);
    MERCUTIO_TRY(to_.write(std::span(&piece, 1)));
    return ok_status();
  }

  Storage& from_;
  Storage& to_;
  const Settings settings_;
  const i64 bytes_, there_;   // of the source; of what was there before
  std::vector<u64> sums_;
};

Status copy_file(const Opener& opener, const std::string& source, const std::string& target, const Settings& settings) {
  OpenOptions options;
  MERCUTIO_LET(const auto from, opener.open(source, options));
  options.write = options.create = true;
  MERCUTIO_LET(const auto to, opener.open(target, options));
  struct stat one {}, other {};
  if (!is_remote(source) && !is_remote(target) && ::stat(source.c_str(), &one) == 0 && ::stat(target.c_str(), &other) == 0 &&
      one.st_dev == other.st_dev && one.st_ino == other.st_ino)
    return Error{ErrorClass::kArg, source + " and " + target + " are the same file"};
  MERCUTIO_LET(const i64 bytes, from->size());
  MERCUTIO_LET(const i64 there, to->size());
  const Status copied = Copy(*from, *to, settings, bytes, there).run();
  const Status closed = to->close();
  (void)from->close();
  if (copied && closed) return ok_status();
  Error error = copied ? closed.error() : copied.error();
  error.what = source + " to " + target + ": " + error.what + (settings.resume ? "" : "; to go on where it stopped, add --resume");
  return error;
}

// TARGET/name where the target is a directory: a local one that exists, or one that ends with a slash.
std::string target_for(const std::string& source, const std::string& target) {
  struct stat status {};
  const bool directory = target.ends_with('/') || (!is_remote(target) && ::stat(target.c_str(), &status) == 0 && S_ISDIR(status.st_mode));
  if (!directory) return target;
  return target + (target.ends_with('/') ? "" : "/") + source.substr(source.rfind('/') + 1);
}

Status copy(const Arguments& arguments) {
  signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string>& words = arguments.words();
  if (words.size() < 2)
    return Error{ErrorClass::kArg, "for example: mercutio cp result.nc mercutio://far.example/data/run1/ (a slash at the end: into that directory)"};
  Settings settings;
  settings.resume = arguments.has("resume");
  settings.verify = !arguments.has("no-verify");
  settings.shown = !arguments.has("quiet") && ::isatty(STDERR_FILENO) == 1;
  MERCUTIO_LET(settings.parallel, arguments.number("parallel", settings.parallel));
  if (settings.parallel < 1 || settings.parallel > 64) return Error{ErrorClass::kArg, "--parallel: 1 to 64"};
  const Opener opener;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string target = target_for(words[i], words.back());
    if (words.size() > 2 && target == words.back())
      return Error{ErrorClass::kArg, "several files go into a directory: end " + words.back() + " with a slash"};
    MERCUTIO_TRY(copy_file(opener, words[i], target, settings));
  }
  return ok_status();
}

const Command kCommand{"mercutio cp", "mercutio cp [options] SOURCE... TARGET\nCopies files; either side may be mercutio://host/root/path.", kOptions};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  return mercutio::remote::run_command(mercutio::remote::kCommand, argc, argv, mercutio::remote::copy);
}
