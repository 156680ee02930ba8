#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/user_name.h"
#include "jobs/jobs.h"

namespace mercutio::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostLineBytes = 256 * KiB;   // 4 KiB times a power of 4; the library's have 100 KB at most
constexpr int kDeepest = 32;                        // folders in folders

// Owners of files that are copies: an archive's, or one's own.
bool may_stand_for_others(uid_t owner) {
  return owner == 0 || owner == ::geteuid();
}

// Many records are of few users.
const std::string& name_of_owner(uid_t owner) {
  static std::map<uid_t, std::string> names;
  const auto [known, fresh] = names.try_emplace(owner);
  if (fresh) known->second = name_of_user(owner);
  return known->second;
}

// Anybody can write any name: the owner of the file counts.
bool is_the_owners(RecordedJob& job, uid_t owner) {
  if (may_stand_for_others(owner)) return true;
  if (job.uid != static_cast<i64>(owner)) return false;
  job.user = name_of_owner(owner);
  return true;
}

void read_line(std::string_view line, uid_t owner, Records& records) {
  if (line.empty()) return;
  std::optional<RecordedJob> job = parse_job_line(line);
  if (!job)
    ++records.damaged;
  else if (!is_the_owners(*job, owner))
    ++records.not_the_owners;
  else
    records.jobs.push_back(std::move(*job));
}

// Of a file of any size; a line that is too long ends it.
bool read_lines(int file, uid_t owner, Records& records) {
  std::string text;
  for (std::size_t have = 0, room = 4 * KiB;;) {
    text.resize(room);
    const ssize_t got = ::read(file, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    text.resize(have + static_cast<std::size_t>(std::max<ssize_t>(0, got)));
    std::size_t at = 0;
    for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) read_line(std::string_view(text).substr(at, end - at), owner, records);
    text.erase(0, at);
    have = text.size();
    if (got < 0) return false;
    if (got == 0) return read_line(text, owner, records), true;
    if (have == kMostLineBytes) return ++records.damaged, true;
    if (have == room) room *= 4;
  }
}

// Anybody may have put anything there: nothing but a plain file is opened for good, and links (O_NOFOLLOW or 0) only lead where the user says so.
void read_file(const std::string& path, int links, Records& records) {
  if (!path.ends_with(".mjob")) return void(++records.foreign);
  const int file = ::open(path.c_str(), O_RDONLY | links | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return void(errno == ELOOP ? ++records.foreign : ++records.unreadable);
  struct stat state {};
  const bool plain = ::fstat(file, &state) == 0 && S_ISREG(state.st_mode);
  if (!plain)
    ++records.foreign;
  else if (state.st_size == 0)
    ++records.damaged;
  else if (!read_lines(file, state.st_uid, records))
    ++records.unreadable;
  ::close(file);
}

struct Folder {
  fs::path path;
  int depth = 0;
};

// One folder is open at a time. One that fails is left out, and no other.
void read_folders(const fs::path& top, Records& records) {
  std::vector<Folder> left = {{top, 0}};
  while (!left.empty()) {
    const Folder folder = std::move(left.back());
    left.pop_back();
    std::error_code failed;
    for (fs::directory_iterator entry(folder.path, failed), end; !failed && entry != end; entry.increment(failed)) {
      std::error_code unknown;
      if (entry->symlink_status(unknown).type() != fs::file_type::directory)
        read_file(entry->path().string(), O_NOFOLLOW, records);
      else if (folder.depth < kDeepest && ::access(entry->path().c_str(), R_OK | X_OK) == 0)
        left.push_back({entry->path(), folder.depth + 1});
      else
        ++records.unreadable;
    }
    if (failed) ++records.unreadable;
  }
}

}  // namespace

bool read_records(const std::string& place, Records& records) {
  // Of a pattern, the folders before what varies.
  std::string path = place.substr(0, place.find('%'));
  if (path.size() < place.size()) path = path.substr(0, path.rfind('/') + 1);
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (fs::is_regular_file(status)) return read_file(path, 0, records), true;
  if (!fs::is_directory(status)) return false;
  if (::access(path.c_str(), R_OK | X_OK) != 0) return false;
  read_folders(path, records);
  return true;
}

}  // namespace mercutio::tool
