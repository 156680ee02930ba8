#include "common.h"

#include <fcntl.h>
#include <mntent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

#include "base/errno_text.h"

namespace mercutio::remote {

Status parse_address(const std::string& text, std::string& address, int& port) {
  address = text;
  const size_t colon = text.rfind(':');
  const bool bare_ipv6 = colon != std::string::npos && text[0] != '[' && text.find(':') != colon;
  if (colon != std::string::npos && !bare_ipv6 && (text[0] != '[' || text[colon - 1] == ']')) {
    char* end = nullptr;
    const long number = std::strtol(text.c_str() + colon + 1, &end, 10);
    if (*end != '\0' || end == text.c_str() + colon + 1 || number < 0 || number > 65535)
      return Error{ErrorClass::kArg, text + ": the port is a number up to 65535; to listen, 0 takes any"};
    port = static_cast<int>(number);
    address = text.substr(0, colon);
  }
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') address = address.substr(1, address.size() - 2);
  return ok_status();
}

Status parse_ports(const std::string& text, std::string& address, int& port, int& last_port) {
  const size_t dash = text.rfind('-'), colon = text.rfind(':');
  last_port = 0;
  if (dash == std::string::npos || colon == std::string::npos || dash < colon) return parse_address(text, address, port);
  std::string unused;
  MERCUTIO_TRY(parse_address(text.substr(0, dash), address, port));
  MERCUTIO_TRY(parse_address("x:" + text.substr(dash + 1), unused, last_port));
  if (port >= 1 && last_port >= port) return ok_status();
  return Error{ErrorClass::kArg, text + ": ports are written from the lowest to the highest, as in 10.0.0.1:40000-40100"};
}

Result<std::string> read_line(int fd) {
  std::string line;
  char c = 0;
  while (line.size() < 4096) {
    const ssize_t got = ::read(fd, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error_from_errno("read", errno);
    if (got == 0 || c == '\n') break;
    line += c;
  }
  return line;
}

Result<Key> key_from_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    Error error = error_from_errno("open", errno);
    error.what = "the key file " + path + ": " + errno_text(error.sys_errno);
    return error;
  }
  struct stat status {};
  const bool known = ::fstat(fd, &status) == 0, open_to_others = known && (status.st_mode & 077) != 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return Error{ErrorClass::kFile, "the key file " + path + " is no plain file"};
  }
  const Result<std::string> line = read_line(fd);
  ::close(fd);
  if (open_to_others) return Error{ErrorClass::kAccess, path + " holds a key, but others than you may read it: chmod 600 it, or make a new one"};
  Result<Key> key = line ? parse_key(*line) : Result<Key>(line.error());
  if (key) return key;
  Error error = key.error();
  error.what = "the key file " + path + ": " + error.what;
  return error;
}

Result<std::function<void(const std::string&)>> audit_log(const Arguments& arguments) {
  int fd = STDERR_FILENO;
  if (arguments.has("audit")) {
    fd = ::open(arguments.text("audit").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return error_from_errno("open the audit file", errno);
  } else if (arguments.has("detach")) {
    return std::function<void(const std::string&)>();
  }
  return std::function<void(const std::string&)>([fd](const std::string& text) {
    char when[32] = "";
    const time_t now = time(nullptr);
    struct tm parts {};
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ ", gmtime_r(&now, &parts));
    const std::string line = when + text + "\n";
    (void)!::write(fd, line.data(), line.size());
  });
}

sigset_t block_ends() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, one);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return ends;
}

std::vector<MountedHere> mounted_here() {
  const auto close = [](FILE* file) { ::endmntent(file); };
  const std::unique_ptr<FILE, decltype(close)> mounts(::setmntent("/proc/self/mounts", "r"), close);
  std::vector<MountedHere> found;
  while (const mntent* const one = mounts ? ::getmntent(mounts.get()) : nullptr)
    if (std::strcmp(one->mnt_type, "fuse.mercutio") == 0) found.push_back({one->mnt_fsname, one->mnt_dir});
  return found;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

void close_inherited(int kept) {
  std::vector<int> open;
  std::error_code failed;
  for (std::filesystem::directory_iterator at("/proc/self/fd", failed), end; !failed && at != end; at.increment(failed))
    open.push_back(std::atoi(at->path().filename().c_str()));
  for (const int fd : open)   // that of the directory among them, which is closed already
    if (fd > STDERR_FILENO && fd != kept) ::close(fd);
}

Result<int> detach(bool wanted) {
  if (!wanted) return -1;
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return error_from_errno("pipe", errno);
  const pid_t child = ::fork();
  if (child < 0) return error_from_errno("fork", errno);
  ::close(ready[child > 0 ? 1 : 0]);
  if (child == 0) return ready[1];
  char byte = 0;
  ssize_t got = 0;
  while ((got = ::read(ready[0], &byte, 1)) < 0 && errno == EINTR) {
  }
  ::_exit(got == 1 ? 0 : 1);
}

void leave_terminal(int ready) {
  if (ready < 0) return;
  ::setsid();
  const int null_fd = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(null_fd, fd);
  if (null_fd > 2) ::close(null_fd);
  (void)!::write(ready, "", 1);
  ::close(ready);
}

std::string announced(const std::string& address) {
  char name[256] = "";
  if ((address == "0.0.0.0" || address == "::") && ::gethostname(name, sizeof name - 1) == 0) return name;
  return address;
}

}  // namespace mercutio::remote
