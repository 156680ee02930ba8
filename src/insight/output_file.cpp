#include "insight/output_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "base/absolute_path.h"
#include "base/file_limit.h"
#include "base/random.h"

namespace mercutio {
namespace {

constexpr long kProcMagic = 0x9fa0;     // PROC_SUPER_MAGIC
constexpr int kMostLinks = 40;          // one after the other, as for the kernel
constexpr int kPatienceMs = 5000;       // until the reader of a full pipe takes something
constexpr unsigned kNoReplace = 1;      // RENAME_NOREPLACE; musl knows neither this nor renameat2

// Links in /proc lead to what a process has open, which need not be what their text names.
bool is_in_proc(const std::string& path) {
  struct statfs state {};
  return ::statfs(folder_of(path).c_str(), &state) == 0 && state.f_type == kProcMagic;
}

// Also if nothing is there yet.
std::string behind_links(std::string path) {
  std::array<char, PATH_MAX> text;
  for (int i = 0; i < kMostLinks && !is_in_proc(path); ++i) {
    const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
    if (length <= 0) break;
    const std::string target(text.data(), static_cast<std::size_t>(length));
    path = target[0] == '/' ? target : folder_of(path) + target;
  }
  return path;
}

// Its reader may leave: then a write fails, and doesn't end the program.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigset_t pending;
    ::sigemptyset(&signals_);
    ::sigaddset(&signals_, SIGPIPE);
    ::sigpending(&pending);
    pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~NoBrokenPipe() {
    const timespec now{};
    if (!pending_) ::sigtimedwait(&signals_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t signals_, before_;
  bool pending_ = false;
};

// 0, or errno.
int write_all(int file, ConstBytes data) {
  for (std::size_t at = 0; at < data.size();) {
    const ssize_t written = ::write(file, data.data() + at, data.size() - at);
    if (written > 0) {
      at += static_cast<std::size_t>(written);
    } else if (written == 0) {
      return ENOSPC;
    } else if (errno == EAGAIN) {
      pollfd one{file, POLLOUT, 0};
      if (::poll(&one, 1, kPatienceMs) == 0) return ETIMEDOUT;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

Result<std::string> write_stream(const std::string& path, ConstBytes data) {
  const NoBrokenPipe here;
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0 && errno == ENXIO) return Error{ErrorClass::kIo, "nobody reads from it"};
  if (file < 0) return error_from_errno("open", errno);
  const int failed = write_all(file, data);
  ::close(file);
  if (failed != 0) return error_from_errno("write", failed);
  return std::string();
}

i64 ns_of(const timespec& time) { return i64{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

// Unless there is something. 0, or errno.
int rename_once(const std::string& from, const std::string& to) {
  if (::syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), kNoReplace) == 0) return 0;
  if (errno == EEXIST) return EEXIST;
  if (::link(from.c_str(), to.c_str()) == 0) return ::unlink(from.c_str()) == 0 ? 0 : errno;   // NFS
  if (errno == EEXIST) return EEXIST;
  struct stat state {};
  if (::lstat(to.c_str(), &state) == 0) return EEXIST;
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;   // a file system that has neither
}

bool is_older(const std::string& path, i64 begun_ns) {
  struct stat state {};
  return ::lstat(path.c_str(), &state) == 0 && (S_ISREG(state.st_mode) || S_ISDIR(state.st_mode)) && ns_of(state.st_mtim) < begun_ns;
}

// Jobs do this in turns: whose directory is there looks again, and nobody else replaces anything meanwhile. One that died has left an
// older directory. False: nothing older is there.
bool replace_older(const std::string& fresh, const std::string& path, i64 begun_ns) {
  if (!is_older(path, begun_ns)) return false;
  const std::string turn = path + ".turn";
  if (::mkdir(turn.c_str(), 0700) != 0 && !is_older(turn, begun_ns)) return false;
  const bool done = is_older(path, begun_ns) && ::rename(fresh.c_str(), path.c_str()) == 0;
  ::rmdir(turn.c_str());
  return done;
}

// Returns which name the file has got.
Result<std::string> publish(const std::string& fresh, const std::string& path, i64 begun_ns) {
  constexpr int kMostNumber = 40;
  int failed = EEXIST;
  for (int number = 1; number < kMostNumber && failed == EEXIST; ++number) {
    const std::string name = numbered(path, number);
    failed = rename_once(fresh, name);
    if (failed == 0 || (failed == EEXIST && replace_older(fresh, name, begun_ns))) return name;
  }
  return error_from_errno("rename", failed);
}

Result<std::string> replace(const std::string& path, i64 begun_ns, ConstBytes data) {
  if (!file_size_allowed(static_cast<i64>(data.size()))) return error_from_errno("write", EFBIG);
  const std::string fresh = path + ".new-" + std::to_string(random_number() % 1'000'000'000);
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return error_from_errno("open", errno);
  int failed = write_all(file, data);
  if (::close(file) != 0 && failed == 0) failed = errno;
  Result<std::string> name = failed == 0 ? publish(fresh, path, begun_ns) : Result<std::string>(error_from_errno("write", failed));
  if (!name) ::unlink(fresh.c_str());
  if (name && *name == path) name->clear();
  return name;
}

}  // namespace

std::string numbered(const std::string& path, int number) {
  constexpr int kInOrder = 20;
  if (number == 1) return path;
  const std::string what = std::to_string(number <= kInOrder ? number : static_cast<i64>(random_number() % 1'000'000'000));
  const std::size_t name = path.rfind('/') + 1, dot = path.rfind('.');
  const std::size_t end = dot == std::string::npos || dot <= name ? path.size() : dot;
  return path.substr(0, end) + "." + what + path.substr(end);
}

bool is_plain_file(const std::string& path) {
  const std::string target = behind_links(path);
  struct stat state {};
  return !is_in_proc(target) && (::stat(target.c_str(), &state) != 0 || S_ISREG(state.st_mode));
}

Result<std::string> write_output(const std::string& path, i64 begun_ns, ConstBytes data) {
  return is_plain_file(path) ? replace(behind_links(path), begun_ns, data) : write_stream(path, data);
}

i64 clock_of_files() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return ns_of(now);
}

}  // namespace mercutio
