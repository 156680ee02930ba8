#include "remote/exports.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/errno_text.h"
#include "model/hints_environment.h"
#include "remote/descriptor.h"
#include "storage/drivers.h"
#include "storage/posix/file_system.h"

namespace mercutio::remote {
namespace {

constexpr int kTries = 16;   // the kernel fails with EAGAIN if a rename happens during the resolution

int open_beneath(int root, const std::string& path, int flags, int permissions, u64 resolve = 0) {
  struct open_how how {};
  how.flags = static_cast<u_int64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) ? static_cast<u_int64_t>(permissions & 0777) : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve;
  long fd = -1;
  for (int i = 0; i < kTries; ++i) {
    fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return static_cast<int>(fd);
}

// Follows symbolic links in the first `linked` bytes of the path only: what was a directory when it was listed may have become one.
int open_after_links(int root, const std::string& path, int flags, size_t linked) {
  if (linked >= path.size()) return open_beneath(root, path, flags, 0);
  const size_t slash = path.rfind('/', linked), end = slash == std::string::npos ? 0 : slash;   // of whole names
  const Descriptor top(open_beneath(root, end == 0 ? "." : path.substr(0, end), O_PATH | O_DIRECTORY, 0));
  const size_t rest = std::min(path.find_first_not_of('/', end), path.size());
  return top.get() < 0 ? -1 : open_beneath(top.get(), rest == path.size() ? "." : path.substr(rest), flags, 0, RESOLVE_NO_SYMLINKS);
}

int open_folder(int root, const std::string& path, size_t linked = std::string::npos) {
  const size_t slash = path.rfind('/');
  return open_after_links(root, slash == std::string::npos ? "." : path.substr(0, slash), O_PATH | O_DIRECTORY, linked);
}

bool folder_is_on_lustre(int root, const std::string& path) {
  const int folder = open_folder(root, path);
  const bool yes = folder >= 0 && posix::is_on_lustre(folder);
  if (folder >= 0) ::close(folder);
  return yes;
}

Error no_change_allowed() {
  return Error{ErrorClass::kReadOnly, "the server exports this root read-only: start it with name=/directory:rw", EROFS};
}

Error driver_has_none(const std::string& call) {
  return Error{ErrorClass::kUnsupportedOperation, call + ": files of a storage driver have no links, attributes and free space to ask for", EOPNOTSUPP};
}

// Below the home directory of the server's user.
bool is_below_home(const std::string& directory) {
  return directory == "~" || directory.starts_with("~/");
}

bool has_zero(const std::string& path) {
  return path.find('\0') != std::string::npos;
}

}  // namespace

Error open_error(int failed) {
  if (failed == EXDEV)
    return Error{ErrorClass::kAccess, "the path leaves the directory that the server exports (by '..' or a symbolic link)",
                 EXDEV};
  if (failed == ENXIO) return Error{ErrorClass::kBadFile, "not a regular file: nothing else is served", failed};
  Error error = error_from_errno("open", failed);
  if (failed == EINVAL) error.cls = ErrorClass::kBadFile;
  return error;
}

Result<Export> parse_export(const std::string& text) {
  const size_t equals = text.find('=');
  Export result;
  if (equals != std::string::npos) {
    result.name = text.substr(0, equals);
    result.directory = text.substr(equals + 1);
    for (const auto& [ending, writable] : {std::pair<std::string, bool>{":rw", true}, {":ro", false}}) {
      if (!result.directory.ends_with(ending)) continue;
      result.directory.resize(result.directory.size() - ending.size());
      result.writable = writable;
      break;
    }
  }
  const bool is_directory = result.directory.starts_with('/') || is_below_home(result.directory);
  if (result.name.empty() || result.name.find('/') != std::string::npos || !(is_directory || DriverRoot::is_name(result.directory)))
    return Error{ErrorClass::kArg, "'" + text + "' is no root: write name=/directory or name=driver:path, with :rw behind it if files may be written"};
  return result;
}

Result<Exports::Root> Exports::open_root(const Export& wanted) {
  Root root{nullptr, nullptr, wanted.writable};
  if (is_below_home(wanted.directory)) {
    const std::string home = environment("HOME");
    if (!home.starts_with('/')) return Error{ErrorClass::kArg, wanted.directory + ": HOME is not set there: give --root a path that begins with /"};
    return open_root({wanted.name, home + wanted.directory.substr(1), wanted.writable});
  }
  if (!wanted.directory.starts_with('/')) {
    MERCUTIO_LET(DriverRoot driver, DriverRoot::load(wanted.directory, wanted.one_of_several));
    root.driver = std::make_shared<const DriverRoot>(std::move(driver));
    return root;
  }
  const int fd = ::open(wanted.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    Error error = error_from_errno("open", errno);
    error.what = wanted.directory + ": " + errno_text(error.sys_errno) + "; --root needs a directory that is there";
    return error;
  }
  root.fd = std::shared_ptr<const int>(new int(fd), [](const int* p) { ::close(*p), delete p; });
  const int probe = open_beneath(fd, ".", O_PATH | O_DIRECTORY, 0);
  if (probe < 0) {
    Error error = error_from_errno("openat2", errno);
    if (error.sys_errno == ENOSYS || error.sys_errno == EPERM)
      error.what = "the server needs Linux 5.6 or newer, and in a container one that lets programs call openat2: nothing else keeps every path below its root";
    return error;
  }
  ::close(probe);
  return root;
}

Result<Exports> Exports::open(const std::vector<Export>& wanted) {
  Exports exports;
  for (const Export& one : wanted) {
    MERCUTIO_LET(Root root, open_root(one));
    if (!exports.roots_.emplace(one.name, std::move(root)).second)
      return Error{ErrorClass::kArg, "two roots are called '" + one.name + "'"};
  }
  return exports;
}

Result<Exports::Place> Exports::find(const std::string& path) const {
  const size_t slash = path.find('/');
  const std::string name = path.substr(0, slash);
  const auto root = roots_.find(name);
  if (root == roots_.end()) {
    std::string known;
    for (const auto& [other, unused] : roots_) known += (known.empty() ? "" : ", ") + other;
    return Error{ErrorClass::kNoSuchFile, "the server exports no root '" + name + "'; it has: " + (known.empty() ? "none" : known),
                 ENOENT};
  }
  std::string inside = slash == std::string::npos ? "" : path.substr(slash + 1);
  inside.erase(0, inside.find_first_not_of('/'));
  if (inside.empty()) inside = ".";
  if (has_zero(inside)) return Error{ErrorClass::kBadFile, "a file name can't hold a zero byte", EINVAL};
  return Place{root->second, inside};
}

size_t Exports::Place::linked_in(const std::string& path, i64 linked) const {
  if (linked <= 0) return std::string::npos;
  return static_cast<size_t>(std::max<i64>(0, linked - static_cast<i64>(path.size()) + static_cast<i64>(inside.size())));
}

Result<Exports::Opened> Exports::open_file(const std::string& path, const OpenOptions& options) const {
  MERCUTIO_LET(const Place place, find(path));
  if ((options.write || options.create) && !place.root.writable)
    return no_change_allowed();
  if (place.root.driver) return place.root.driver->open(place.inside, options);
  const auto open = [&](int flags) { return open_beneath(*place.root.fd, place.inside, flags | O_NONBLOCK, options.permissions); };
  const int fd = open_descriptor(options, {open, [&] { return folder_is_on_lustre(*place.root.fd, place.inside); }});
  if (fd < 0) return open_error(errno);
  struct stat status {};
  const bool known = ::fstat(fd, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return open_error(known && S_ISDIR(status.st_mode) ? EISDIR : ENXIO);
  }
  Opened opened;
  MERCUTIO_LET(opened.storage, adopt_descriptor(fd, options));
  opened.identity = {status.st_dev, status.st_ino};
  return opened;
}

Result<Exports::Place> Exports::find_to_change(const std::string& path) const {
  MERCUTIO_LET(Place place, find(path));
  if (!place.root.writable) return no_change_allowed();
  return place;
}

Status Exports::may_copy_to(const std::string& path) const {
  MERCUTIO_LET(const Place place, find_to_change(path));
  return place.root.driver ? place.root.driver->may_rename() : ok_status();
}

Result<Exports::Parent> Exports::parent_of(const std::string& path, const char* call, i64 linked) const {
  MERCUTIO_LET(const Place place, find_to_change(path));
  if (place.root.driver) return driver_has_none(call);
  std::string inside = place.inside;
  while (inside.size() > 1 && inside.back() == '/') inside.pop_back();
  const size_t slash = inside.rfind('/');
  const std::string name = slash == std::string::npos ? inside : inside.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return error_from_errno(call, EISDIR);
  const int parent = open_folder(*place.root.fd, inside, place.linked_in(path, linked));
  if (parent < 0) return open_error(errno);
  return Parent{std::shared_ptr<const int>(new int(parent), [](const int* p) { ::close(*p), delete p; }), name};
}

Result<int> Exports::open_for_look(const std::string& path, int flags, i64 linked) const {
  MERCUTIO_LET(const Place place, find(path));
  if (place.root.driver) return driver_has_none("open");
  const int fd = open_after_links(*place.root.fd, place.inside, flags, place.linked_in(path, linked));
  if (fd < 0) return open_error(errno);
  return fd;
}

Status Exports::remove(const std::string& path, i64 linked) const {
  MERCUTIO_LET(const Place place, find_to_change(path));
  if (place.root.driver) return place.root.driver->remove(place.inside);
  MERCUTIO_LET(const Parent parent, parent_of(path, "unlink", linked));
  return ::unlinkat(*parent.fd, parent.name.c_str(), 0) == 0 ? ok_status() : Status(error_from_errno("unlink", errno));
}

}  // namespace mercutio::remote
