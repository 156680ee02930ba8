#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

#include "base/trace.h"
#include "remote/descriptor.h"
#include "remote/exports.h"
#include "remote/file.h"
#include "storage/drivers.h"
#include "storage/forwarding.h"

namespace mercutio::remote {
namespace {

constexpr i64 kNs = 1'000'000'000;
constexpr i64 kTakeOverNs = 3 * kNs;   // the name of a part, from a copy that has ended

class Done final : public Pending {
 public:
  explicit Done(Result<GetReply> result) : result_(std::move(result)) {}
  bool done() override { return true; }
  Result<GetReply> wait() override { return std::move(result_); }

 private:
  Result<GetReply> result_;
};

std::unique_ptr<Pending> done_with(const Status& status) {
  return std::make_unique<Done>(status ? Result<GetReply>(GetReply{}) : Result<GetReply>(status.error()));
}

Status failed(const char* call) {
  return error_from_errno(call, errno);
}

// Its descriptor says what it is, whatever has its name; a lock on the part of a copy goes with it.
class LocalFile final : public Forwarding {
 public:
  LocalFile(std::unique_ptr<Storage> inner, int fd) : Forwarding(std::move(inner)), fd_(fd) {}
  int fd() const { return fd_.get(); }

 private:
  const Descriptor fd_;
};

Result<FileStatus> status_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return error_from_errno("fstat", errno);
  return status_from(status);
}

Result<std::unique_ptr<LocalFile>> adopt(Descriptor& fd, const OpenOptions& options) {
  MERCUTIO_LET(const FileStatus status, status_of(fd.get()));
  if (status.kind() == FileType::kDirectory) return error_from_errno("open", EISDIR);
  if (status.kind() != FileType::kFile) return Error{ErrorClass::kBadFile, "not a regular file", ENXIO};
  Descriptor own(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (own.get() < 0) return error_from_errno("dup", errno);
  MERCUTIO_LET(auto storage, adopt_descriptor(fd.release(), options));
  auto file = std::make_unique<LocalFile>(std::move(storage), own.get());
  (void)own.release();
  return file;
}

bool has_name(int fd, const std::string& path) {
  struct stat status {};
  const auto open = status_of(fd);
  return open && ::lstat(path.c_str(), &status) == 0 && same_file(*open, status_from(status));
}

Error another_copy(int sys_errno) {
  return Error{ErrorClass::kFile, "another file has the name now: does another copy go to the same place?", sys_errno};
}

// Where files can't be locked, publish() finds out.
Status lock_part(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_len = i64{1} << 61;   // as a server's claim
  if (::fcntl(fd, F_OFD_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES)) return ok_status();
  return Error{ErrorClass::kFileInUse, "another copy to the same place is under way", EBUSY};
}

// What an earlier copy left, or somebody else put there.
Status remove_part(const std::string& part) {
  const Descriptor left(::open(part.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (left.get() >= 0) {
    MERCUTIO_TRY(lock_part(left.get()));
    if (!has_name(left.get(), part)) return ok_status();   // another one by now
  }
  return ::unlink(part.c_str()) == 0 || errno == ENOENT ? ok_status() : failed("unlink");
}

class LocalTree final : public Tree {
 public:
  Result<FileStatus> status(const std::string& path) override {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return error_from_errno("stat", errno);
    return status_from(status);
  }
  Result<std::vector<ListEntry>> list(const std::string& path, i64) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
    if (!directory) return error_from_errno("opendir", errno);
    std::vector<ListEntry> entries;
    for (errno = 0; const dirent* const entry = ::readdir(directory.get()); errno = 0) {
      const std::string name = entry->d_name;
      struct stat status {};
      if (name == "." || name == "..") continue;
      if (::fstatat(::dirfd(directory.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
        entries.push_back({name, status_from(status)});
      else if (errno != ENOENT)   // not gone meanwhile
        return error_from_errno("stat", errno);
    }
    if (errno != 0) return error_from_errno("readdir", errno);
    std::sort(entries.begin(), entries.end(), [](const ListEntry& one, const ListEntry& other) { return one.name < other.name; });
    return entries;
  }
  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) override {
    const int flags = (options.write ? O_RDWR : O_RDONLY) | (options.create ? O_CREAT : 0) | (options.exclusive ? O_EXCL : 0);
    Descriptor fd(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, options.permissions));
    if (fd.get() < 0) return error_from_errno("open", errno);
    MERCUTIO_LET(auto file, adopt(fd, options));
    return std::unique_ptr<Storage>(std::move(file));
  }
  Result<std::unique_ptr<Storage>> open_part(const std::string& part, bool resume) override {
    OpenOptions options;
    options.write = true;
    for (int tries = 0; tries < 10; ++tries) {
      Descriptor fd(::open(part.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (resume ? 0 : O_EXCL), 0600));
      if (fd.get() < 0 && errno == EEXIST && !resume) {
        MERCUTIO_TRY(remove_part(part));
        continue;
      }
      if (fd.get() < 0 && errno == ELOOP) return Error{ErrorClass::kBadFile, part + " is a symbolic link and no part of a copy: remove it", ELOOP};
      if (fd.get() < 0) return error_from_errno("open", errno);
      MERCUTIO_TRY(lock_part(fd.get()));
      if (!has_name(fd.get(), part)) continue;   // published or removed before it was locked
      MERCUTIO_LET(auto file, adopt(fd, options));
      return std::unique_ptr<Storage>(std::move(file));
    }
    return another_copy(EBUSY);
  }
  Result<std::vector<Extent>> extents(const Storage& file, const std::string&, const FileStatus&) override {
    return extents_of(dynamic_cast<const LocalFile&>(file).fd(), 0, INT64_MAX);
  }
  Status remove_directory(const std::string& path, i64) override { return ::rmdir(path.c_str()) == 0 ? ok_status() : failed("rmdir"); }
  Status rename(const std::string& path, const std::string& other, bool replace) override {
    const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
    return ::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, other.c_str(), flags) == 0 ? ok_status() : failed("rename");
  }
  Status publish(Storage& file, const std::string& part, const std::string& target, const Attributes& attributes) override {
    const int fd = dynamic_cast<const LocalFile&>(file).fd();
    if (!has_name(fd, part)) return another_copy(ESTALE);
    MERCUTIO_TRY(set_attributes(fd, attributes));
    return rename(part, target, true);
  }
  std::unique_ptr<Pending> begin_get(const std::string& path) override { return std::make_unique<Done>(get(path)); }
  std::unique_ptr<Pending> begin_own_status(const std::string& path) override {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return done_with(failed("stat"));
    return std::make_unique<Done>(GetReply{status_from(status), {}});
  }
  std::unique_ptr<Pending> begin_put(const std::string& path, Buffer content, const Attributes& attributes) override {
    return done_with(put(path, content, attributes));
  }
  std::unique_ptr<Pending> begin_make_directory(const std::string& path, int permissions) override {
    return done_with(::mkdir(path.c_str(), static_cast<mode_t>(permissions)) == 0 ? ok_status() : failed("mkdir"));
  }
  std::unique_ptr<Pending> begin_set_attributes(const std::string& path, const Attributes& attributes) override {
    const Descriptor fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    return done_with(fd.get() < 0 ? failed("open") : set_attributes(fd.get(), attributes));
  }
  std::unique_ptr<Pending> begin_remove(const std::string& path, i64) override {
    return done_with(::unlink(path.c_str()) == 0 ? ok_status() : failed("unlink"));
  }

 private:
  static Status set_attributes(int fd, const Attributes& attributes) {
    const timespec times[2] = {{0, UTIME_OMIT}, time_from(attributes.modified_ns)};
    MERCUTIO_LET(const FileStatus before, status_of(fd));
    if (::fchmod(fd, mode_with(before, attributes.permissions)) != 0) return failed("chmod");
    if (attributes.modified_ns != kTimeStays && ::futimens(fd, times) != 0) return failed("utimensat");
    return ok_status();
  }
  Result<GetReply> get(const std::string& path) {
    OpenOptions reading;
    GetReply reply;
    MERCUTIO_LET(const auto file, open(path, reading));
    MERCUTIO_LET(reply.status, status_of(dynamic_cast<const LocalFile&>(*file).fd()));
    if (reply.status.bytes > kMostContent) return reply;
    reply.content.resize(static_cast<size_t>(reply.status.bytes));
    const IoPiece piece{0, reply.content.data(), reply.status.bytes};
    MERCUTIO_LET(const i64 got, file->read(std::span(&piece, 1)));
    reply.content.resize(static_cast<size_t>(got));
    const i64 modified_ns = reply.status.modified_ns;
    MERCUTIO_LET(reply.status, status_of(dynamic_cast<const LocalFile&>(*file).fd()));
    if (reply.status.modified_ns != modified_ns) reply.content.clear();   // changed meanwhile
    MERCUTIO_TRY(file->close());
    return reply;
  }
  Status put(const std::string& path, Buffer& content, const Attributes& attributes) {
    const size_t slash = path.rfind('/');
    std::string part = path.substr(0, slash == std::string::npos ? 0 : slash + 1) + ".mercutio-put-XXXXXX";
    OpenOptions writing;
    writing.write = true;
    Descriptor fd(::mkostemp(part.data(), O_CLOEXEC));
    if (fd.get() < 0) return failed("open");
    const auto fill = [&]() -> Status {
      MERCUTIO_LET(const auto file, adopt(fd, writing));
      const IoPiece piece{0, content.data(), static_cast<i64>(content.size())};
      MERCUTIO_TRY(file->write(std::span(&piece, 1)));
      MERCUTIO_TRY(file->close());
      return publish(*file, part, path, attributes);
    };
    Status filled = fill();
    if (!filled) (void)::unlink(part.c_str());
    return filled;
  }
};

class Waited final : public Pending {
 public:
  using Take = std::function<Result<GetReply>(const Reply&)>;
  Waited(Result<std::shared_ptr<CallJob>> job, Take take) : job_(std::move(job)), take_(std::move(take)) {}
  bool done() override { return !job_ || (*job_)->done(); }
  Result<GetReply> wait() override {
    if (!job_) return job_.error();
    MERCUTIO_LET(const Reply reply, (*job_)->wait());
    return take_(reply);
  }

 private:
  Result<std::shared_ptr<CallJob>> job_;
  Take take_;
};

class RemoteTree final : public Tree {
 public:
  explicit RemoteTree(const std::string& host) : host_(host) {}
  RemoteHost* host() override { return &host_; }
  Result<FileStatus> status(const std::string& path) override { return host_.status(path); }
  Result<std::vector<ListEntry>> list(const std::string& path, i64 linked) override { return host_.list(path, linked); }
  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) override { return host_.open(path, options); }
  Result<std::unique_ptr<Storage>> open_part(const std::string& part, bool resume) override {
    OpenOptions options;
    options.write = options.create = true;
    options.exclusive = !resume;
    options.permissions = 0600;
    for (const i64 end = now_ns() + kTakeOverNs; now_ns() < end;) {
      auto opened = open(part, options);
      if (!opened && !resume && opened.error().sys_errno == EEXIST) {
        MERCUTIO_TRY(remove_left(part, end));
        continue;
      }
      if (!opened) return opened;
      const Status claimed = claim(**opened, part, end);
      if (claimed) return opened;
      (void)(*opened)->close();
      if (claimed.error().cls == ErrorClass::kUnsupportedOperation) (void)host_.remove(part);
      if (claimed.error().sys_errno != ESTALE) return claimed.error();   // else published or removed before it was claimed
    }
    return another_copy(EBUSY);
  }
  // The server looks at what has the name: that is the open file if the name stood for `known` before and after.
  Result<std::vector<Extent>> extents(const Storage&, const std::string& path, const FileStatus& known) override {
    auto found = host_.extents(path);
    const auto now = host_.status(path);
    if (now && same_file(*now, known)) return found;
    return std::vector<Extent>{{0, INT64_MAX}};
  }
  Status remove_directory(const std::string& path, i64 linked) override {
    return change(Kind::kRemoveDirectory, {.path = path, .position = linked});
  }
  Status rename(const std::string& path, const std::string& other, bool replace) override {
    return change(Kind::kRename, {path, other, 0, replace});
  }
  Status publish(Storage& file, const std::string& part, const std::string& target, const Attributes& attributes) override {
    const auto& remote = dynamic_cast<const RemoteStorage&>(file);
    return change(Kind::kRename, {part, target, remote.handle(), true, attributes.permissions, attributes.modified_ns});
  }
  std::unique_ptr<Pending> begin_get(const std::string& path) override {
    return std::make_unique<Waited>(host_.begin(Kind::kGet, {path}), [](const Reply& reply) { return get_message<GetReply>(reply.more); });
  }
  std::unique_ptr<Pending> begin_own_status(const std::string& path) override {
    return std::make_unique<Waited>(host_.begin(Kind::kOwnStatus, {path}), [](const Reply& reply) -> Result<GetReply> {
      MERCUTIO_LET(const FileStatus status, get_message<FileStatus>(reply.more));
      return GetReply{status, {}};
    });
  }
  std::unique_ptr<Pending> begin_put(const std::string& path, Buffer content, const Attributes& attributes) override {
    const u64 sum = checksum_of(content);
    auto job = host_.begin(Kind::kPut, {path, "", 0, true, attributes.permissions, attributes.modified_ns, 0, std::move(content)});
    return std::make_unique<Waited>(std::move(job), [sum](const Reply& reply) -> Result<GetReply> {
      if (static_cast<u64>(reply.value) == sum) return GetReply{};
      return Error{ErrorClass::kIo, "the copy differs from what was read: a disk or memory there is faulty"};
    });
  }
  std::unique_ptr<Pending> begin_make_directory(const std::string& path, int permissions) override {
    return changed(host_.begin(Kind::kMakeDirectory, {path, "", 0, true, static_cast<std::uint32_t>(permissions)}));
  }
  std::unique_ptr<Pending> begin_set_attributes(const std::string& path, const Attributes& attributes) override {
    return changed(host_.begin(Kind::kSetAttributes, {path, "", 0, true, attributes.permissions, attributes.modified_ns}));
  }
  std::unique_ptr<Pending> begin_remove(const std::string& path, i64 linked) override { return changed(host_.begin_remove(path, linked)); }

 private:
  static std::unique_ptr<Pending> changed(Result<std::shared_ptr<CallJob>> job) {
    return std::make_unique<Waited>(std::move(job), [](const Reply&) { return Result<GetReply>(GetReply{}); });
  }
  // A server needs a moment to see that the client of an earlier copy is gone.
  Status claim(Storage& file, const std::string& part, i64 end) {
    for (;;) {
      Status claimed = host_.claim(dynamic_cast<RemoteStorage&>(file), part);
      if (claimed || claimed.error().sys_errno != EBUSY || now_ns() > end) return claimed;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  // What an earlier copy left; not while that is under way.
  Status remove_left(const std::string& part, i64 end) {
    OpenOptions options;
    options.write = true;
    const auto left = open(part, options);
    if (!left) return left.error().sys_errno == ENOENT ? ok_status() : host_.remove(part);   // a directory says so
    Status done = claim(**left, part, end);
    if (done) done = host_.remove(part);
    (void)(*left)->close();
    const bool gone = !done && (done.error().sys_errno == ESTALE || done.error().sys_errno == ENOENT);
    return gone ? ok_status() : done;
  }
  Status change(Kind kind, const NameRequest& request) {
    MERCUTIO_TRY(host_.call(kind, request));
    return ok_status();
  }
  RemoteHost host_;
};

bool has_wildcard(const std::string& name) {
  return name.find_first_of("*?[") != std::string::npos;
}

}  // namespace

Trees::Trees() : local_(std::make_unique<LocalTree>()) {}
Trees::~Trees() = default;

Trees::Place Trees::Place::in(const std::string& entry) const {
  const auto joined = [&](const std::string& directory) { return directory.empty() || directory.ends_with('/') ? directory + entry : directory + "/" + entry; };
  return {tree, joined(path), joined(name)};
}

Trees::Place Trees::place(const std::string& name) {
  if (!is_remote(name)) return {local_.get(), name, name};
  const RemoteName remote = split_name(name);
  std::unique_ptr<Tree>& tree = hosts_[remote.host];
  if (!tree) tree = std::make_unique<RemoteTree>(remote.host);
  return {tree.get(), remote.path, name};
}

bool is_root(const Trees::Place& place) {
  const size_t begin = place.path.find_first_not_of('/'), slash = place.path.find('/', begin);
  return place.tree->host() && (slash == std::string::npos || place.path.find_first_not_of("/.", slash) == std::string::npos);
}

Status check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const size_t colon = std::min(name.find(':'), name.size());
    if (is_remote(name) || ::strcasecmp(name.substr(0, colon).c_str(), "mercutio") != 0 || colon == name.size()) continue;
    return Error{ErrorClass::kArg, name + ": remote names begin with mercutio://; a file of this name here is ./" + name};
  }
  return ok_status();
}

// Component by component: a directory is listed only where its entries have to fit something. What has such a name is meant before what fits it.
Result<std::vector<Trees::Place>> expand(Trees& trees, const std::string& name) {
  const size_t begin = is_remote(name) ? name.find('/', sizeof kScheme - 1) : 0;
  if (begin == std::string::npos || !is_remote(name) || !has_wildcard(name.substr(begin))) return std::vector<Trees::Place>{trees.place(name)};
  std::vector<Trees::Place> found = {trees.place(name.substr(0, begin + 1))};
  bool wild = false;   // what comes first had wildcards: it may not have what comes next
  for (size_t at = begin + 1; at < name.size();) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string pattern = name.substr(at, end - at);
    at = end + 1;
    if (pattern.empty()) continue;
    std::vector<Trees::Place> next;
    const bool fits_already = std::exchange(wild, wild || has_wildcard(pattern));
    for (const Trees::Place& place : found) {
      if (!has_wildcard(pattern)) {
        const Trees::Place one = place.in(pattern);
        if (!fits_already || one.tree->status(one.path)) next.push_back(one);
        continue;
      }
      const auto entries = place.tree->list(place.path, 0);
      if (!entries && entries.error().sys_errno != ENOTDIR && entries.error().sys_errno != ENOENT) return named(entries.error(), place.name);
      if (!entries) continue;
      const bool is_name = std::any_of(entries->begin(), entries->end(), [&](const ListEntry& entry) { return entry.name == pattern; });
      for (const ListEntry& entry : *entries)
        if (is_name ? entry.name == pattern : ::fnmatch(pattern.c_str(), entry.name.c_str(), FNM_PERIOD) == 0) next.push_back(place.in(entry.name));
    }
    found = std::move(next);
  }
  if (found.empty()) return Error{ErrorClass::kNoSuchFile, name + ": nothing there has such a name", ENOENT};
  return found;
}

bool has_time(const FileStatus& status) {
  return status.modified_ns != 0 || status.device != kDriverDevice;
}

Attributes attributes_of(const FileStatus& status) {
  return {status.permissions, has_time(status) ? status.modified_ns : kTimeStays};
}

Error named(Error error, const std::string& name) {
  error.what = name + ": " + error.what;
  return error;
}

std::string last_name(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name.substr(name.rfind('/') + 1);
}

bool same_file(const FileStatus& one, const FileStatus& other) {
  return one.device == other.device && one.inode == other.inode;
}

}  // namespace mercutio::remote
