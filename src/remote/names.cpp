// Requests about names: listings and changes. As for opens, no path leaves its root.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <iterator>
#include <set>

#include "base/trace.h"
#include "remote/descriptor.h"
#include "remote/exports.h"

namespace mercutio::remote {
namespace {

constexpr i64 kNs = 1'000'000'000;
constexpr int kAllowed = 0777;   // permitted permission bits: none that grant another user's rights

Result<FileStatus> status_of(int fd) {
  struct stat status {};
  if (::fstatat(fd, "", &status, AT_EMPTY_PATH) != 0) return error_from_errno("stat", errno);
  return status_from(status);
}

Status set_attributes(int fd, std::optional<std::uint32_t> permissions, i64 modified_ns) {
  if (permissions && ::fchmod(fd, *permissions & kAllowed) != 0) return error_from_errno("chmod", errno);
  if (modified_ns == kTimeStays) return ok_status();
  const timespec times[2] = {{0, UTIME_OMIT}, time_from(modified_ns)};
  return ::futimens(fd, times) == 0 ? ok_status() : Status(error_from_errno("utimensat", errno));
}

// Of the name itself: a symbolic link, which may lead out of the root, has none. Through an O_PATH descriptor, as the owner may have no right
// to open the file.
Status set_permissions(int directory, const std::string& name, std::uint32_t permissions) {
  const Descriptor file(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (file.get() < 0) return error_from_errno("open", errno);
  MERCUTIO_LET(const FileStatus status, status_of(file.get()));
  if (status.kind() == FileType::kLink) return error_from_errno("chmod", EOPNOTSUPP);
  const std::string itself = "/proc/self/fd/" + std::to_string(file.get());
  if (::chmod(itself.c_str(), mode_with(status, permissions)) == 0) return ok_status();
  return error_from_errno("chmod", errno);
}

Status write_all(int fd, ConstBytes content) {
  while (!content.empty()) {
    const ssize_t done = ::write(fd, content.data(), content.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return error_from_errno("write", errno);
    content = content.subspan(static_cast<size_t>(done));
  }
  return ok_status();
}

// Lustre and NFS have no RENAME_NOREPLACE. A hard link does not replace an existing name either; a directory has none (EPERM).
Status rename_at(int from, const std::string& name, int to, const std::string& other, bool replace) {
  if (::renameat2(from, name.c_str(), to, other.c_str(), replace ? 0 : RENAME_NOREPLACE) == 0) return ok_status();
  if (replace || errno != EINVAL) return error_from_errno("rename", errno);
  if (::linkat(from, name.c_str(), to, other.c_str(), 0) != 0) return error_from_errno("rename", errno == EPERM ? EINVAL : errno);
  return ::unlinkat(from, name.c_str(), 0) == 0 ? ok_status() : Status(error_from_errno("rename", errno));
}

Result<Buffer> read_all(int fd, i64 most) {
  Buffer content(static_cast<size_t>(most));
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::pread(fd, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error_from_errno("read", errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  content.resize(done);
  return content;
}

struct Listing {
  explicit Listing(int fd) : directory(::fdopendir(fd)) {
    if (!directory) ::close(fd);
  }
  ~Listing() {
    if (directory) ::closedir(directory);
  }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;
  DIR* const directory;
};

constexpr i64 kEntryBytes = 64;   // of a message, without the name

// The first names after `after`, sorted, as many as fit, at least one. Uses memory only for these, however many names there are.
struct Names {
  std::set<std::string> names;
  bool whole = true;   // there are no further names
};
Result<Names> names_in(DIR* directory, const std::string& after, i64 most_bytes) {
  Names found;
  errno = 0;
  while (const dirent* const entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    const bool wanted = name != "." && name != ".." && name > after && (found.whole || name < *found.names.rbegin());
    if (wanted && found.names.insert(name).second) most_bytes -= kEntryBytes + static_cast<i64>(name.size());
    while (most_bytes < 0 && found.names.size() > 1) {
      const auto last = std::prev(found.names.end());
      most_bytes += kEntryBytes + static_cast<i64>(last->size());
      found.names.erase(last);
      found.whole = false;
    }
    errno = 0;
  }
  if (errno != 0) return error_from_errno("readdir", errno);
  return found;
}

}  // namespace

i64 nanoseconds(const timespec& time) {
  const i64 seconds = std::clamp<i64>(time.tv_sec, INT64_MIN / kNs, INT64_MAX / kNs - 1);
  return seconds * kNs + time.tv_nsec;
}

timespec time_from(i64 nanoseconds) {
  const i64 part = nanoseconds % kNs;
  return part < 0 ? timespec{nanoseconds / kNs - 1, part + kNs} : timespec{nanoseconds / kNs, part};
}

FileStatus status_from(const struct stat& status) {
  FileStatus result;
  const FileType type = S_ISREG(status.st_mode)   ? FileType::kFile
                        : S_ISDIR(status.st_mode) ? FileType::kDirectory
                        : S_ISLNK(status.st_mode) ? FileType::kLink
                                                  : FileType::kOther;
  result.type = static_cast<std::uint32_t>(type);
  result.permissions = status.st_mode & 07777;
  result.bytes = status.st_size;
  result.allocated = static_cast<i64>(status.st_blocks) * 512;
  result.modified_ns = nanoseconds(status.st_mtim);
  result.device = status.st_dev;
  result.inode = status.st_ino;
  return result;
}

Result<FileStatus> Exports::status(const std::string& path) const {
  MERCUTIO_LET(const Place place, find(path));
  if (place.root.driver) return place.root.driver->status(place.inside);
  MERCUTIO_LET(const int fd, open_for_look(path, O_PATH));
  const Descriptor owned(fd);
  return status_of(fd);
}

mode_t mode_with(const FileStatus& before, std::uint32_t permissions) {
  if (before.kind() != FileType::kDirectory) return permissions & kAllowed;
  if ((permissions & kExactly) != 0) return permissions & (kAllowed | S_ISGID | S_ISVTX);
  return (permissions & (kAllowed | S_ISVTX)) | (before.permissions & (S_ISGID | S_ISVTX));
}

Result<Exports::Listed> Exports::list(const std::string& path, const std::string& after, i64 most_bytes, i64 linked) const {
  Listed listed;
  std::vector<ListEntry>& entries = listed.entries;
  if (path.empty()) {
    for (const auto& [name, root] : roots_) {
      if (name <= after) continue;
      MERCUTIO_LET(const FileStatus status, root.driver ? root.driver->status(".") : status_of(*root.fd));
      entries.push_back({name, status});
    }
    return listed;
  }
  MERCUTIO_LET(const Place place, find(path));
  if (place.root.driver) return place.root.driver->list(place.inside, after, most_bytes);
  MERCUTIO_LET(const int fd, open_for_look(path, O_RDONLY | O_DIRECTORY, linked));
  const Listing listing(fd);
  if (!listing.directory) return error_from_errno("opendir", errno);
  std::string last = after;
  do {   // repeated if all names found have been removed in the meantime
    ::rewinddir(listing.directory);
    MERCUTIO_LET(const Names found, names_in(listing.directory, last, most_bytes));
    listed.whole = found.whole;
    if (!found.whole) last = *found.names.rbegin();
    for (const std::string& name : found.names) {
      struct stat status {};
      if (::fstatat(::dirfd(listing.directory), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        entries.push_back({name, status_from(status)});
      else if (errno != ENOENT)
        return error_from_errno("stat", errno);
    }
  } while (entries.empty() && !listed.whole);
  return listed;
}

// `request`: the permissions of the request.
Result<Exports::Target> Exports::target_of(const std::string& path, std::uint32_t request, const char* call) const {
  Target target;
  target.as_writes = request != kPermissionsStay && (request & kAsWrites) != 0;
  MERCUTIO_LET(const std::string end, target.as_writes ? end_of_links(path) : Result<std::string>(path));
  MERCUTIO_LET(target.parent, parent_of(end, call));
  struct stat status {};
  const char* const name = target.parent.name.c_str();
  if (!target.as_writes || ::fstatat(*target.parent.fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) return target;
  if (::faccessat(*target.parent.fd, name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) != 0) return error_from_errno("open", errno);
  target.permissions = status.st_mode;
  return target;
}

Status Exports::rename(const NameRequest& request, const std::optional<FileIdentity>& identity) const {
  MERCUTIO_LET(const Place place, find_to_change(request.path));
  MERCUTIO_LET(const Place other, find_to_change(request.other));
  if (place.root.driver != other.root.driver) return error_from_errno("rename", EXDEV);
  if (place.root.driver) return place.root.driver->rename(place.inside, other.inside, request.replace, identity);
  MERCUTIO_LET(const Parent from, parent_of(request.path, "rename"));
  MERCUTIO_LET(const Target target, target_of(request.other, request.permissions, "rename"));
  const Parent& to = target.parent;
  if (identity) {
    const Descriptor file(::openat(*from.fd, from.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.get() < 0) return error_from_errno("open", errno);
    MERCUTIO_LET(const FileStatus status, status_of(file.get()));
    MERCUTIO_TRY(check_identity(status, *identity));
    MERCUTIO_TRY(set_attributes(file.get(), request.permissions, request.modified_ns));
  }
  if (target.permissions) MERCUTIO_TRY(set_permissions(*from.fd, from.name, *target.permissions));
  return rename_at(*from.fd, from.name, *to.fd, to.name, request.replace);
}

Status Exports::make_directory(const std::string& path, int permissions) const {
  MERCUTIO_LET(const Place place, find_to_change(path));
  if (place.root.driver) return place.root.driver->make_folder(place.inside);
  MERCUTIO_LET(const Parent parent, parent_of(path, "mkdir"));
  return ::mkdirat(*parent.fd, parent.name.c_str(), static_cast<mode_t>(permissions & kAllowed)) == 0 ? ok_status() : Status(error_from_errno("mkdir", errno));
}

Status Exports::remove_directory(const std::string& path, i64 linked) const {
  MERCUTIO_LET(const Place place, find_to_change(path));
  if (place.root.driver) return place.root.driver->remove_folder(place.inside);
  MERCUTIO_LET(const Parent parent, parent_of(path, "rmdir", linked));
  return ::unlinkat(*parent.fd, parent.name.c_str(), AT_REMOVEDIR) == 0 ? ok_status() : Status(error_from_errno("rmdir", errno));
}

Result<std::vector<Extent>> Exports::extents(const std::string& path, i64 begin, i64 most) const {
  MERCUTIO_LET(const Place place, find(path));
  if (place.root.driver) {
    MERCUTIO_LET(const FileStatus status, place.root.driver->status(place.inside));
    return begin < status.bytes ? std::vector<Extent>{{begin, status.bytes}} : std::vector<Extent>();
  }
  MERCUTIO_LET(const int fd, open_for_look(path, O_RDONLY | O_NONBLOCK));
  const Descriptor owned(fd);
  return extents_of(fd, begin, most);
}

Result<GetReply> Exports::get(const std::string& path) const {
  MERCUTIO_LET(const Place place, find(path));
  if (place.root.driver) return place.root.driver->get(place.inside);
  MERCUTIO_LET(const int fd, open_for_look(path, O_RDONLY | O_NONBLOCK));
  const Descriptor owned(fd);
  GetReply reply;
  MERCUTIO_LET(reply.status, status_of(fd));
  if (reply.status.kind() == FileType::kDirectory) return error_from_errno("open", EISDIR);
  if (reply.status.kind() != FileType::kFile) return open_error(ENXIO);
  if (reply.status.bytes > kMostContent) return reply;
  MERCUTIO_LET(reply.content, read_all(fd, reply.status.bytes));
  const FileStatus before = reply.status;
  MERCUTIO_LET(reply.status, status_of(fd));
  if (reply.status.bytes != before.bytes || reply.status.modified_ns != before.modified_ns) reply.content.clear();   // changed meanwhile
  return reply;
}

// Where a program that opens the name and writes would write.
Result<std::string> Exports::end_of_links(std::string path) const {
  constexpr int kMostLinks = 40;   // Linux's limit
  for (int links = 0; links < kMostLinks; ++links) {
    const auto text = read_link(path);
    const bool is_none = !text && (text.error().sys_errno == EINVAL || text.error().sys_errno == ENOENT);
    if (is_none) return path;
    if (!text) return text.error();
    if (text->starts_with('/')) return open_error(EXDEV);
    path = path.substr(0, path.rfind('/') + 1) + *text;
  }
  return error_from_errno("open", ELOOP);
}

// Written under a temporary name until it is complete.
Result<u64> Exports::put(const NameRequest& request) const {
  if (static_cast<i64>(request.content.size()) > kMostContent) return Error{ErrorClass::kArg, "too long for one message", EMSGSIZE};
  MERCUTIO_LET(const Place place, find_to_change(request.path));
  if (place.root.driver) return place.root.driver->put(place.inside, request.content, request.replace);
  MERCUTIO_LET(const Target target, target_of(request.path, request.permissions, "open"));
  const Parent& parent = target.parent;
  const std::string part = name_of_put();
  const Descriptor file(::openat(*parent.fd, part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 target.as_writes && !target.permissions ? request.permissions & kAllowed : 0600));
  if (file.get() < 0) return error_from_errno("open", errno);
  const auto fill = [&]() -> Result<u64> {
    MERCUTIO_TRY(write_all(file.get(), request.content));
    MERCUTIO_LET(const Buffer there, read_all(file.get(), static_cast<i64>(request.content.size())));
    MERCUTIO_TRY(set_attributes(file.get(), target.as_writes ? target.permissions : request.permissions, request.modified_ns));
    if (::fsync(file.get()) != 0) return error_from_errno("fsync", errno);   // or after a crash the name may have an empty file
    MERCUTIO_TRY(rename_at(*parent.fd, part, *parent.fd, parent.name, request.replace));
    return checksum_of(there);
  };
  Result<u64> filled = fill();
  if (!filled) (void)::unlinkat(*parent.fd, part.c_str(), 0);
  return filled;
}

Result<FileStatus> Exports::own_status(const std::string& path) const {
  MERCUTIO_LET(const Place place, find(path));
  if (place.root.driver) return place.root.driver->status(place.inside);
  MERCUTIO_LET(const int fd, open_for_look(path, O_PATH | O_NOFOLLOW));
  const Descriptor owned(fd);
  return status_of(fd);
}

Result<std::string> Exports::read_link(const std::string& path) const {
  MERCUTIO_LET(const int fd, open_for_look(path, O_PATH | O_NOFOLLOW));
  const Descriptor owned(fd);
  std::string text(PATH_MAX, '\0');
  const ssize_t bytes = ::readlinkat(fd, "", text.data(), text.size());
  if (bytes < 0) return error_from_errno("readlink", errno == ENOENT ? EINVAL : errno);   // for anything but a symbolic link Linux sets ENOENT here
  text.resize(static_cast<size_t>(bytes));
  return text;
}

// The target is arbitrary, because a link that leaves its root is never followed.
Status Exports::make_link(const std::string& path, const std::string& text) const {
  MERCUTIO_LET(const Parent parent, parent_of(path, "symlink"));
  if (text.find('\0') != std::string::npos) return error_from_errno("symlink", EINVAL);
  return ::symlinkat(text.c_str(), *parent.fd, parent.name.c_str()) == 0 ? ok_status() : Status(error_from_errno("symlink", errno));
}

Status Exports::change_attributes(const NameRequest& request) const {
  MERCUTIO_LET(const Parent parent, parent_of(request.path, "chmod"));
  if (request.permissions != kPermissionsStay) MERCUTIO_TRY(set_permissions(*parent.fd, parent.name, request.permissions));
  if (request.modified_ns == kTimeStays) return ok_status();
  const timespec times[2] = {{0, UTIME_OMIT}, time_from(request.modified_ns)};
  return ::utimensat(*parent.fd, parent.name.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0 ? ok_status() : Status(error_from_errno("utimensat", errno));
}

Result<Space> Exports::space(const std::string& path) const {
  MERCUTIO_LET(const int fd, open_for_look(path, O_PATH));
  const Descriptor owned(fd);
  struct statvfs found {};
  if (::fstatvfs(fd, &found) != 0) return error_from_errno("statfs", errno);
  const auto number = [](u64 value) { return static_cast<i64>(std::min<u64>(value, INT64_MAX)); };
  return Space{number(found.f_frsize), number(found.f_blocks), number(found.f_bfree), number(found.f_bavail), number(found.f_files), number(found.f_ffree)};
}

Result<std::vector<Extent>> extents_of(int fd, i64 begin, i64 most) {
  std::vector<Extent> found;
  while (static_cast<i64>(found.size()) < most) {
    const off_t data = ::lseek(fd, begin, SEEK_DATA);
    const off_t hole = data < 0 ? data : ::lseek(fd, data, SEEK_HOLE);
    if (hole < 0 && errno == ENXIO) break;   // a hole up to the end, or the file has become shorter meanwhile
    if (hole < 0 && errno != EINVAL && errno != EOPNOTSUPP) return error_from_errno("lseek", errno);
    if (data >= begin && hole > data) {
      found.push_back({data, hole});
      begin = hole;
      continue;
    }
    struct stat status {};   // the file system does not tell
    if (::fstat(fd, &status) != 0) return error_from_errno("fstat", errno);
    if (status.st_size > begin) found.push_back({begin, status.st_size});
    break;
  }
  return found;
}

}  // namespace mercutio::remote
