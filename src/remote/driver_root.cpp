#include "remote/driver_root.h"

#include <cerrno>

#include "storage/library/library.h"

namespace mercutio::remote {
namespace {

// Of the files of one driver. No device of the operating system has this number.
constexpr u64 kDriverDevice = ~u64{0};

FileIdentity identity_of(const Storage& file, const std::string& path) {
  const i64 number = file.traits().file_number;
  return {kDriverDevice, number != 0 ? static_cast<u64>(number) : checksum_of(std::as_bytes(std::span(path)))};
}

FileStatus status_from(const FileIdentity& identity, i64 bytes) {
  FileStatus status;
  status.type = static_cast<std::uint32_t>(FileType::kFile);
  status.permissions = 0600;   // a driver tells none
  status.bytes = status.allocated = bytes;
  status.device = identity.device;
  status.inode = identity.inode;
  return status;
}

}  // namespace

bool DriverRoot::is_name(const std::string& text) {
  const LibraryName name = library_name_of(text);
  return !name.driver.empty() && (name.certain || !name.path.empty());
}

Result<DriverRoot> DriverRoot::load(const std::string& prefix) {
  const std::string library = library_name_of(prefix).driver;
  if (driver_library_of(library + "://") != library)
    return Error{ErrorClass::kArg, "'" + prefix + "': " + library + " is no driver in a library; a root on this machine is a directory", EINVAL};
  const Resolved resolved = resolve(prefix, "", library);
  MERCUTIO_TRY(resolved.driver->load());
  return DriverRoot(resolved.driver, resolved.path);
}

Result<std::string> DriverRoot::path_of(const std::string& inside) const {
  std::string path = path_;
  for (size_t begin = 0; begin < inside.size();) {
    const size_t end = std::min(inside.find('/', begin), inside.size());
    const std::string part = inside.substr(begin, end - begin);
    if (part == "..") return Error{ErrorClass::kAccess, "a path in a driver's root can't hold '..'", EXDEV};
    if (!part.empty() && part != ".") path += (path.empty() || path.back() == '/' ? "" : "/") + part;
    begin = end + 1;
  }
  if (path == path_) return error_from_errno("open", EISDIR);
  return path;
}

Result<DriverRoot::Opened> DriverRoot::open(const std::string& inside, const OpenOptions& options) const {
  MERCUTIO_LET(const std::string path, path_of(inside));
  Opened opened;
  MERCUTIO_LET(opened.storage, driver_->open(path, options));
  const Traits& traits = opened.storage->traits();
  if (options.write && traits.coherence != Coherence::kImmediate)
    return Error{ErrorClass::kUnsupportedOperation,
                 "several opens of a file on " + traits.file_system + " don't see each other's writes at once: a server only reads there", EOPNOTSUPP};
  opened.identity = identity_of(*opened.storage, path);
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
  MERCUTIO_LET(const Opened file, open(inside, OpenOptions()));
  MERCUTIO_LET(const i64 bytes, file.storage->size());
  return status_from(file.identity, bytes);
}

Result<GetReply> DriverRoot::get(const std::string& inside) const {
  MERCUTIO_LET(const Opened file, open(inside, OpenOptions()));
  MERCUTIO_LET(const i64 bytes, file.storage->size());
  GetReply reply;
  reply.status = status_from(file.identity, bytes);
  if (bytes > kMostContent) return reply;
  reply.content.resize(static_cast<size_t>(bytes));
  const IoPiece piece{0, reply.content.data(), bytes};
  MERCUTIO_LET(const i64 got, file.storage->read(std::span(&piece, 1)));
  reply.content.resize(static_cast<size_t>(got));
  return reply;
}

}  // namespace mercutio::remote
