#include "remote/driver_root.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <iterator>
#include <mutex>
#include <set>

#include "base/assert.h"
#include "base/thread_annotations.h"
#include "base/trace.h"
#include "storage/forwarding.h"
#include "storage/library/library.h"

namespace mercutio::remote {
namespace {

FileIdentity identity_of(i64 number, const std::string& path) {
  return {kDriverDevice, number != 0 ? static_cast<u64>(number) : checksum_of(std::as_bytes(std::span(path)))};
}

FileStatus status_from(const NamedFile& file, const std::string& path) {
  FileStatus status;
  status.type = static_cast<std::uint32_t>(file.is_folder ? FileType::kDirectory : FileType::kFile);
  status.permissions = file.is_folder ? 0700 : 0600;   // a driver tells none
  status.bytes = status.allocated = file.bytes;
  status.modified_ns = file.modified_ns;
  const FileIdentity identity = identity_of(file.file_number, path);
  status.device = identity.device;
  status.inode = identity.inode;
  return status;
}

std::string join(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.back() == '/' ? folder + name : folder + "/" + name;
}

// An open for writing of a file that is published. Another size comes after what was written through all of them, and is seen by all at once.
class PublishedOpen final : public Forwarding {
 public:
  PublishedOpen(std::unique_ptr<Storage> inner, std::shared_ptr<PublishedOpens> all);
  ~PublishedOpen() override;
  Status set_size(i64 bytes) override {
    return resize([&] { return inner_->set_size(bytes); });
  }
  Status preallocate(i64 bytes) override {
    return resize([&] { return inner_->preallocate(bytes); });
  }
  Status sync() override {
    Status published = inner_->sync();
    lost_ = !published;
    return published;
  }
  Status close() override;
  // What could not be published is told to whoever wrote it, and holds up no other open.
  Status publish_now() { return lost_ ? ok_status() : sync(); }

 private:
  Status resize(const std::function<Status()>& change);
  std::atomic<bool> lost_{false};
  const std::shared_ptr<PublishedOpens> all_;
};

}  // namespace

// Those of a file. To publish it takes long, and doesn't hold up others.
class PublishedOpens {
 public:
  void add(PublishedOpen* open) {
    std::lock_guard lock(mutex_);
    opens_.insert(open);
  }
  void remove(PublishedOpen* open) {
    std::lock_guard lock(mutex_);
    opens_.erase(open);
  }
  // One change at a time, and none of them is closed meanwhile.
  Status change(const std::function<Status()>& change) {
    std::lock_guard lock(mutex_);
    for (PublishedOpen* const open : opens_) MERCUTIO_TRY(open->publish_now());
    return change();
  }

 private:
  std::mutex mutex_;
  std::set<PublishedOpen*> opens_ MERCUTIO_GUARDED_BY(mutex_);
};

namespace {

PublishedOpen::PublishedOpen(std::unique_ptr<Storage> inner, std::shared_ptr<PublishedOpens> all)
    : Forwarding(std::move(inner)), all_(std::move(all)) {
  all_->add(this);
}
PublishedOpen::~PublishedOpen() { all_->remove(this); }
Status PublishedOpen::close() {
  all_->remove(this);
  return inner_->close();
}
Status PublishedOpen::resize(const std::function<Status()>& change) {
  return all_->change([&]() -> Status {
    MERCUTIO_TRY(change());
    return sync();
  });
}

}  // namespace

Status check_identity(const FileStatus& found, const FileIdentity& meant) {
  if (found.identity() == meant && found.kind() == FileType::kFile) return ok_status();
  return Error{ErrorClass::kFile, "another file has the name now: does another copy go to the same place?", ESTALE};
}

std::string name_of_put() {
  static std::atomic<i64> number{0};
  return ".mercutio-put-" + std::to_string(::getpid()) + "-" + std::to_string(++number) + "-" + std::to_string(now_ns());
}

DriverRoot::DriverRoot(Driver* driver, Names* names, std::string path, bool one_of_several)
    : driver_(driver), names_(names), path_(std::move(path)), one_of_several_(one_of_several), published_(std::make_shared<SharedByKey<std::string, PublishedOpens>>()) {}

bool DriverRoot::is_name(const std::string& text) {
  const LibraryName name = library_name_of(text);
  return !name.driver.empty() && (name.certain || !name.path.empty());
}

Result<DriverRoot> DriverRoot::load(const std::string& prefix, bool one_of_several) {
  const std::string library = library_name_of(prefix).driver;
  if (driver_library_of(library + "://") != library)
    return Error{ErrorClass::kArg, "'" + prefix + "': " + library + " is no driver in a library; a root on this machine is a directory", EINVAL};
  const Resolved resolved = resolve(prefix, "", library);
  MERCUTIO_TRY(resolved.driver->load());
  auto* const names = dynamic_cast<Names*>(resolved.driver);
  MERCUTIO_ASSERT(names);   // as that of every library
  return DriverRoot(resolved.driver, names, resolved.path, one_of_several);
}

// "." is the root itself.
Result<std::string> DriverRoot::folder_of(const std::string& inside) const {
  std::string path = path_;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  for (size_t begin = 0; begin < inside.size();) {
    const size_t end = std::min(inside.find('/', begin), inside.size());
    const std::string part = inside.substr(begin, end - begin);
    if (part == "..") return Error{ErrorClass::kAccess, "a path in a driver's root can't hold '..'", EXDEV};
    if (!part.empty() && part != ".") path = join(path, part);
    begin = end + 1;
  }
  return path;
}

Result<std::string> DriverRoot::path_of(const std::string& inside) const {
  MERCUTIO_LET(const std::string root, folder_of("."));
  MERCUTIO_LET(std::string path, folder_of(inside));
  if (path == root) return error_from_errno("open", EISDIR);
  return path;
}

Result<DriverRoot::Opened> DriverRoot::open(const std::string& inside, const OpenOptions& options) const {
  MERCUTIO_LET(const std::string path, path_of(inside));
  Opened opened;
  MERCUTIO_LET(opened.storage, driver_->open(path, options));
  const Traits& traits = opened.storage->traits();
  if (options.write && traits.coherence != Coherence::kImmediate && traits.coherence != Coherence::kAfterPublish)
    return Error{ErrorClass::kUnsupportedOperation,
                 "several opens of a file on " + traits.file_system + " don't see each other's writes at once: a server only reads there", EOPNOTSUPP};
  if (options.write && traits.coherence == Coherence::kAfterPublish && one_of_several_)
    return Error{ErrorClass::kUnsupportedOperation,
                 "a server that a launcher has started may be one of several, whose opens of a file on " + traits.file_system +
                     " don't see each other's writes: it only reads there. One server without --launcher writes", EOPNOTSUPP};
  opened.identity = identity_of(traits.file_number, path);
  if (options.write && traits.coherence == Coherence::kAfterPublish) opened.storage = std::make_unique<PublishedOpen>(std::move(opened.storage), published_->of(path));
  return opened;
}

Status DriverRoot::remove(const std::string& inside) const {
  MERCUTIO_LET(const std::string path, path_of(inside));
  return driver_->remove(path);
}

Result<FileStatus> DriverRoot::status(const std::string& inside) const {
  if (inside == ".") {
    FileStatus root;
    root.type = static_cast<std::uint32_t>(FileType::kDirectory);
    root.permissions = 0700;
    root.device = kDriverDevice;
    return root;
  }
  MERCUTIO_LET(const std::string path, path_of(inside));
  if (names_->can_look()) {
    MERCUTIO_LET(const NamedFile file, names_->look(path));
    return status_from(file, path);
  }
  MERCUTIO_LET(const Opened file, open(inside, OpenOptions()));
  NamedFile known;
  MERCUTIO_LET(known.bytes, file.storage->size());
  known.file_number = file.storage->traits().file_number;
  return status_from(known, path);
}

Result<GetReply> DriverRoot::get(const std::string& inside) const {
  GetReply reply;
  MERCUTIO_LET(reply.status, status(inside));
  if (reply.status.kind() == FileType::kDirectory) return error_from_errno("open", EISDIR);
  MERCUTIO_LET(const Opened file, open(inside, OpenOptions()));
  MERCUTIO_LET(const i64 bytes, file.storage->size());
  if (bytes > kMostContent || bytes != reply.status.bytes) return reply;   // too long, or changed meanwhile
  reply.content.resize(static_cast<size_t>(bytes));
  const IoPiece piece{0, reply.content.data(), bytes};
  MERCUTIO_LET(const i64 got, file.storage->read(std::span(&piece, 1)));
  reply.content.resize(static_cast<size_t>(got));
  return reply;
}

// Uses memory only for the names that are returned, however many there are.
Result<DriverRoot::Listed> DriverRoot::list(const std::string& inside, const std::string& after, i64 most_bytes) const {
  constexpr i64 kEntryBytes = 64;   // of a message, without the name
  MERCUTIO_LET(const std::string folder, folder_of(inside));
  std::map<std::string, NamedFile> found;
  Listed listed;
  MERCUTIO_TRY(names_->list(folder, [&](NamedFile file) {
    std::string name = file.name;
    const bool wanted = name > after && (listed.whole || name < found.rbegin()->first);
    const i64 bytes = kEntryBytes + static_cast<i64>(name.size());
    if (wanted && found.emplace(std::move(name), std::move(file)).second) most_bytes -= bytes;
    while (most_bytes < 0 && found.size() > 1) {
      const auto last = std::prev(found.end());
      most_bytes += kEntryBytes + static_cast<i64>(last->first.size());
      found.erase(last);
      listed.whole = false;
    }
    return true;
  }));
  for (const auto& [name, file] : found) listed.entries.push_back({name, status_from(file, join(folder, name))});
  return listed;
}

Status DriverRoot::may_rename() const {
  if (names_->can_rename()) return ok_status();
  return Error{ErrorClass::kUnsupportedOperation,
               std::string("the driver ") + driver_->name() + " can't rename files, so that no copy gets its name when it is whole: write the file by MPI there", EOPNOTSUPP};
}

Status DriverRoot::rename(const std::string& inside, const std::string& other, bool replace, const std::optional<FileIdentity>& identity) const {
  MERCUTIO_LET(const std::string from, path_of(inside));
  MERCUTIO_LET(const std::string to, path_of(other));
  if (identity) {
    MERCUTIO_LET(const FileStatus status, this->status(inside));
    MERCUTIO_TRY(check_identity(status, *identity));
  }
  return names_->rename(from, to, replace);
}

Status DriverRoot::make_folder(const std::string& inside) const {
  MERCUTIO_LET(const std::string path, path_of(inside));
  return names_->make_folder(path);
}

Status DriverRoot::remove_folder(const std::string& inside) const {
  MERCUTIO_LET(const std::string path, path_of(inside));
  return names_->remove_folder(path);
}

// Written under a temporary name until it is complete.
Result<u64> DriverRoot::put(const std::string& inside, ConstBytes content, bool replace) const {
  MERCUTIO_TRY(may_rename());
  MERCUTIO_LET(const std::string path, path_of(inside));
  const std::string part = path.substr(0, path.rfind('/') + 1) + name_of_put();
  OpenOptions options;
  options.write = options.create = options.exclusive = true;
  MERCUTIO_LET(const auto file, driver_->open(part, options));
  const auto fill = [&]() -> Result<u64> {
    Buffer copy(content.begin(), content.end());
    const IoPiece piece{0, copy.data(), static_cast<i64>(copy.size())};
    if (!copy.empty()) {
      MERCUTIO_TRY(file->write(std::span(&piece, 1)));
      std::fill(copy.begin(), copy.end(), std::byte{0});
      MERCUTIO_TRY(file->read(std::span(&piece, 1)));
    }
    MERCUTIO_TRY(file->sync());   // as on a file system: or after a crash the name may have an empty file
    MERCUTIO_TRY(file->close());
    MERCUTIO_TRY(names_->rename(part, path, replace));
    return checksum_of(copy);
  };
  Result<u64> filled = fill();
  if (!filled) (void)driver_->remove(part);
  return filled;
}

}  // namespace mercutio::remote
