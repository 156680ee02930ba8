#include "insight/site_file.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/file_limit.h"
#include "base/threads.h"
#include "insight/output_file.h"

namespace mercutio {
namespace {

constexpr std::string_view kSuffix = ".mjob", kUsualName = "%u-%j-%p";
constexpr std::size_t kLongestPart = 64;

std::string date(i64 seconds, const char* format) {
  const auto time = static_cast<time_t>(seconds);
  std::tm parts{};
  char text[32] = "";
  ::gmtime_r(&time, &parts);
  return std::strftime(text, sizeof text, format, &parts) > 0 ? text : "";
}

Result<std::string> value_of(char letter, const SiteFacts& facts) {
  switch (letter) {
    case 'u': return harmless(facts.user);
    case 'U': return std::to_string(facts.uid);
    case 'j': return harmless(facts.job);
    case 'h': return harmless(facts.host);
    case 'p': return harmless(facts.program);
    case 'd': return date(facts.start, "%Y-%m-%d");
    case 'Y': return date(facts.start, "%Y");
    case 'M': return date(facts.start, "%m");
    case 'D': return date(facts.start, "%d");
    case '%': return std::string("%");
    default: return Error{ErrorClass::kArg, std::string("%") + letter + " has no meaning in a pattern of records"};
  }
}

bool is_folder(const std::string& path, struct stat& state) {
  return ::stat(path.c_str(), &state) == 0 && S_ISDIR(state.st_mode);
}

// mkdir(2) past the umask, which a thread can have for itself. So the folder needs no chmod(2), which takes g+s away where the user isn't of the
// group. The errno; nothing: there is no such thread.
std::optional<int> make_with_all_bits(const std::string& path, mode_t mode) {
  std::optional<int> error;
  Result<std::thread> made = start_thread([&] {
    if (::unshare(CLONE_FS) != 0) return;
    ::umask(0);
    error = ::mkdir(path.c_str(), mode & 01777) == 0 ? 0 : errno;   // g+s comes from the folder above
  });
  if (made) made->join();
  return error;
}

Status make_folder(const std::string& path) {
  struct stat state {};
  if (is_folder(path, state)) return ok_status();
  const std::size_t slash = path.find_last_of('/');
  const std::string above = slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
  if (above == path) return error_from_errno("mkdir", ENOENT);
  MERCUTIO_TRY(make_folder(above));
  if (!is_folder(above, state)) return error_from_errno("mkdir", ENOTDIR);
  const mode_t mode = state.st_mode & 07777;
  if (const std::optional<int> error = make_with_all_bits(path, mode)) return *error == 0 || *error == EEXIST ? ok_status() : error_from_errno("mkdir", *error);
  if (::mkdir(path.c_str(), mode & 0700) != 0) return errno == EEXIST ? ok_status() : error_from_errno("mkdir", errno);
  // Past the umask; nobody but this process can have put something else there, since the folder above is sticky or the user's own.
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return ok_status();
  (void)::fchmod(folder, mode);
  ::close(folder);
  return ok_status();
}

// Once: what is there stays.
int make_file(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
}

}  // namespace

// "." first would hide the file, or lead out of the folder.
std::string harmless(std::string_view value) {
  std::string name(value.substr(0, kLongestPart));
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  if (name.empty()) return "none";
  if (name[0] == '.') name[0] = '_';
  return name;
}

Result<std::string> site_path(const std::string& pattern, const SiteFacts& facts) {
  std::string full = pattern, path;
  struct stat state {};
  if (full.empty() || full[0] != '/') return Error{ErrorClass::kArg, "'" + full + "' does not begin at the root"};
  if (full.back() != '/' && full.find('%') == std::string::npos && is_folder(full, state)) full += '/';
  if (full.back() == '/') full += kUsualName;
  for (std::size_t i = 0; i < full.size(); ++i) {
    if (full[i] != '%') {
      path += full[i];
      continue;
    }
    if (i + 1 == full.size()) return Error{ErrorClass::kArg, "'" + full + "' ends with %: %% stands for this character"};
    MERCUTIO_LET(const std::string value, value_of(full[++i], facts));
    path += value;
  }
  if (!path.ends_with(kSuffix)) path += kSuffix;
  return path;
}

Status write_site_file(const std::string& path, const std::string& text) {
  constexpr int kAttempts = 40;
  if (!file_size_allowed(static_cast<i64>(text.size()))) return error_from_errno("write", EFBIG);
  const std::string folder = path.substr(0, std::max<std::size_t>(1, path.find_last_of('/')));
  MERCUTIO_TRY(make_folder(folder));
  std::string name;
  int file = -1;
  for (int number = 1; number <= kAttempts && file < 0; ++number) {
    name = numbered(path, number);   // steps of one job have the same name
    file = make_file(name);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0) return error_from_errno("open", errno);
  struct stat state {};
  if (is_folder(folder, state) && (state.st_mode & S_ISGID) != 0) (void)::fchmod(file, 0640);
  const ssize_t written = ::write(file, text.data(), text.size());
  const int failed = written == static_cast<ssize_t>(text.size()) ? 0 : written < 0 ? errno : ENOSPC;
  const int closed = ::close(file) == 0 ? 0 : errno;
  if (failed == 0 && closed == 0) return ok_status();
  ::unlink(name.c_str());   // half a record is none
  return error_from_errno("write", failed != 0 ? failed : closed);
}

}  // namespace mercutio
