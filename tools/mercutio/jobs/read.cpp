#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "jobs/jobs.h"

namespace mercutio::tool {
namespace {

namespace fs = std::filesystem;

// Owners of files that are copies: an archive's, or one's own.
bool may_stand_for_others(uid_t owner) {
  return owner == 0 || owner == ::geteuid();
}

void read_lines(const std::string& text, uid_t owner, Records& records) {
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    if (end == at) continue;
    std::optional<RecordedJob> job = parse_job_line(std::string_view(text).substr(at, end - at));
    if (!job)
      ++records.damaged;
    else if (job->uid != static_cast<i64>(owner) && !may_stand_for_others(owner))
      ++records.not_the_owners;
    else
      records.jobs.push_back(std::move(*job));
  }
}

// Anybody may have put anything there: nothing but a plain file is opened for good.
void read_file(const std::string& path, Records& records) {
  if (!path.ends_with(".mjob")) return void(++records.foreign);
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return void(errno == ELOOP ? ++records.foreign : ++records.unreadable);
  struct stat state {};
  if (::fstat(file, &state) != 0 || !S_ISREG(state.st_mode)) {
    ::close(file);
    return void(++records.foreign);
  }
  std::string text(static_cast<std::size_t>(state.st_size), '\0');
  std::size_t have = 0;
  ssize_t got = 0;
  while (have < text.size() && (got = ::read(file, text.data() + have, text.size() - have)) > 0) have += static_cast<std::size_t>(got);
  ::close(file);
  if (got < 0) return void(++records.unreadable);
  text.resize(have);
  if (text.empty()) return void(++records.damaged);
  read_lines(text, state.st_uid, records);
}

}  // namespace

bool read_records(const std::string& place, Records& records) {
  // Of a pattern, the folders before what varies.
  std::string path = place.substr(0, place.find('%'));
  if (path.size() < place.size()) path = path.substr(0, path.rfind('/') + 1);
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (fs::is_regular_file(status)) return read_file(path, records), true;
  if (!fs::is_directory(status)) return false;
  fs::recursive_directory_iterator entry(path, failed);
  if (failed) return false;
  for (const fs::recursive_directory_iterator end; entry != end; entry.increment(failed)) {
    if (failed) break;
    const bool folder = entry->symlink_status(failed).type() == fs::file_type::directory;
    if (!folder) {
      read_file(entry->path().string(), records);
    } else if (::access(entry->path().c_str(), R_OK | X_OK) != 0) {
      ++records.unreadable;
      entry.disable_recursion_pending();
    }
  }
  if (failed) ++records.unreadable;
  return true;
}

}  // namespace mercutio::tool
