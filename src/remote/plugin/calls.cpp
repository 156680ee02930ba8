// include/mercutio/remote.h: remote files by name, for programs without MPI.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "base/attempt.h"
#include "mercutio/remote.h"
#include "remote/host.h"

using mercutio::Error;
using mercutio::ErrorClass;
using mercutio::i64;
using mercutio::Result;
using mercutio::Status;
namespace remote = mercutio::remote;

struct mercutio_remote {
  Result<std::shared_ptr<remote::RemoteHost>> host(const std::string& name) {
    if (!remote::is_connection_name(name))
      return Error{ErrorClass::kBadFile, "a remote file is called mercutio://host/root/path, where 'mercutio connect' made host known", EINVAL};
    std::lock_guard guard(mutex_);
    std::shared_ptr<remote::RemoteHost>& known = hosts_[name];
    if (!known) known = std::make_shared<remote::RemoteHost>(name);
    return known;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<remote::RemoteHost>> hosts_ MERCUTIO_GUARDED_BY(mutex_);
};

struct mercutio_remote_file {
  std::unique_ptr<mercutio::Storage> storage;
  bool writable = false;
};

namespace {

static_assert(MERCUTIO_REMOTE_SMALL == remote::kMostContent);
static_assert(MERCUTIO_REMOTE_DIRECTORY == static_cast<int>(remote::FileType::kDirectory));

thread_local std::string failure;

// The result of `work`, or the negative errno.
template <class Work>
i64 number(Work work) {
  const Result<i64> result = mercutio::attempt([&]() -> Result<i64> { return work(); });
  if (result) return *result;
  (void)mercutio::attempt([&] {
    failure = result.error().what;
    return mercutio::ok_status();
  });
  return -remote::errno_of(result.error());
}

template <class Work>
int outcome(Work work) {
  return static_cast<int>(number([&]() -> Result<i64> {
    MERCUTIO_TRY(work());
    return i64{0};
  }));
}

struct Place {
  std::shared_ptr<remote::RemoteHost> host;
  std::string path;
};

Result<Place> place_of(mercutio_remote* all, const char* name) {
  const remote::RemoteName split = remote::split_name(name);
  MERCUTIO_LET(auto host, all->host(split.host));
  return Place{std::move(host), split.path};
}

bool is_top(const char* name) {
  const remote::RemoteName split = remote::split_name(name);
  return split.host.empty() && split.path.empty();
}

Status call(mercutio_remote* all, const char* name, remote::Kind kind, remote::NameRequest request) {
  MERCUTIO_LET(const Place place, place_of(all, name));
  request.path = place.path;
  MERCUTIO_TRY(place.host->call(kind, request));
  return mercutio::ok_status();
}

mercutio_remote_status directory() {
  mercutio_remote_status status{};
  status.type = MERCUTIO_REMOTE_DIRECTORY;
  status.permissions = 0755;
  return status;
}

mercutio_remote_status status_from(const remote::FileStatus& status) {
  return {status.type, status.permissions, status.bytes, status.allocated, status.modified_ns, status.device, status.inode};
}

struct Entry {
  std::string name;
  mercutio_remote_status status;
};

Result<std::vector<Entry>> entries_of(mercutio_remote* all, const char* name) {
  std::vector<Entry> entries;
  if (is_top(name)) {
    MERCUTIO_LET(const auto hosts, remote::list_connections());
    for (const std::string& host : hosts) entries.push_back({host, directory()});
    return entries;
  }
  MERCUTIO_LET(const Place place, place_of(all, name));
  MERCUTIO_LET(const auto listed, place.host->list(place.path));
  for (const remote::ListEntry& entry : listed) entries.push_back({entry.name, status_from(entry.status)});
  return entries;
}

// Entries in one block of memory, followed by their names.
Result<mercutio_remote_entry*> copied(const std::vector<Entry>& entries) {
  size_t bytes = std::max<size_t>(1, entries.size()) * sizeof(mercutio_remote_entry);
  for (const Entry& entry : entries) bytes += entry.name.size() + 1;
  auto* const copy = static_cast<mercutio_remote_entry*>(std::malloc(bytes));
  if (!copy) return mercutio::error_from_errno("malloc", ENOMEM);
  char* name = reinterpret_cast<char*>(copy + std::max<size_t>(1, entries.size()));
  for (size_t i = 0; i < entries.size(); ++i) {
    copy[i] = {name, entries[i].status};
    std::memcpy(name, entries[i].name.c_str(), entries[i].name.size() + 1);
    name += entries[i].name.size() + 1;
  }
  return copy;
}

Result<std::unique_ptr<mercutio_remote_file>> open_file(const Place& place, int flags, unsigned permissions) {
  mercutio::OpenOptions options;
  const int access = flags & O_ACCMODE;
  options.write = access != O_RDONLY;
  options.read = access != O_WRONLY;
  options.create = (flags & O_CREAT) != 0;
  options.exclusive = (flags & O_EXCL) != 0;
  options.permissions = static_cast<int>(permissions);
  options.keeps_writes = options.reads_ahead = true;
  auto file = std::make_unique<mercutio_remote_file>();
  MERCUTIO_LET(file->storage, place.host->open(place.path, options));
  file->writable = options.write;
  if (options.write && (flags & O_TRUNC) != 0 && file->storage->known_size() > 0) MERCUTIO_TRY(file->storage->set_size(0));
  return file;
}

// The close of a file that was only read does not wait for the reply.
Status close_file(mercutio_remote_file* file) {
  const std::unique_ptr<mercutio_remote_file> owned(file);
  return file->writable ? file->storage->close() : mercutio::ok_status();
}

}  // namespace

extern "C" {

const char* mercutio_remote_error(void) {
  return mercutio::attempt_or<const char*>("", [] { return failure.c_str(); });
}

mercutio_remote* mercutio_remote_new(void) {
  return mercutio::attempt_or<mercutio_remote*>(nullptr, [] { return new mercutio_remote; });
}

void mercutio_remote_delete(mercutio_remote* all) {
  (void)outcome([&]() -> Status {
    delete all;
    return mercutio::ok_status();
  });
}

int mercutio_remote_open(mercutio_remote* all, const char* name, int flags, unsigned permissions, mercutio_remote_file** file) {
  return outcome([&]() -> Status {
    MERCUTIO_LET(const Place place, place_of(all, name));
    MERCUTIO_LET(auto opened, open_file(place, flags, permissions));
    *file = opened.release();
    return mercutio::ok_status();
  });
}

int mercutio_remote_close(mercutio_remote_file* file) {
  return outcome([&] { return close_file(file); });
}

int64_t mercutio_remote_read(mercutio_remote_file* file, void* data, int64_t bytes, int64_t offset) {
  return number([&] {
    const mercutio::IoPiece piece{offset, static_cast<std::byte*>(data), bytes};
    return file->storage->read(std::span(&piece, 1));
  });
}

int64_t mercutio_remote_write(mercutio_remote_file* file, const void* data, int64_t bytes, int64_t offset) {
  return number([&] {
    const mercutio::IoPiece piece{offset, static_cast<std::byte*>(const_cast<void*>(data)), bytes};
    return file->storage->write(std::span(&piece, 1));
  });
}

int64_t mercutio_remote_size(mercutio_remote_file* file) {
  return number([&] { return file->storage->size(); });
}

int64_t mercutio_remote_known_size(mercutio_remote_file* file) {
  return number([&]() -> Result<i64> { return file->storage->known_size(); });
}

int mercutio_remote_truncate(mercutio_remote_file* file, int64_t bytes) {
  return outcome([&] { return file->storage->set_size(bytes); });
}

int mercutio_remote_flush(mercutio_remote_file* file) {
  return outcome([&] { return file->storage->flush(); });
}

int mercutio_remote_sync(mercutio_remote_file* file) {
  return outcome([&] { return file->storage->sync(); });
}

int mercutio_remote_stat(mercutio_remote* all, const char* name, mercutio_remote_status* status) {
  return outcome([&]() -> Status {
    *status = directory();
    if (is_top(name)) return mercutio::ok_status();
    MERCUTIO_LET(const Place place, place_of(all, name));
    if (place.path.empty()) {
      MERCUTIO_TRY(place.host->list(""));
      return mercutio::ok_status();
    }
    MERCUTIO_LET(const remote::FileStatus found, place.host->status(place.path));
    *status = status_from(found);
    return mercutio::ok_status();
  });
}

int64_t mercutio_remote_list(mercutio_remote* all, const char* name, mercutio_remote_entry** entries) {
  return number([&]() -> Result<i64> {
    MERCUTIO_LET(const std::vector<Entry> found, entries_of(all, name));
    MERCUTIO_LET(*entries, copied(found));
    return static_cast<i64>(found.size());
  });
}

void mercutio_remote_free(mercutio_remote_entry* entries) {
  (void)outcome([&] {
    std::free(entries);
    return mercutio::ok_status();
  });
}

int mercutio_remote_mkdir(mercutio_remote* all, const char* name, unsigned permissions) {
  return outcome([&] {
    remote::NameRequest request;
    request.permissions = permissions;
    return call(all, name, remote::Kind::kMakeDirectory, request);
  });
}

int mercutio_remote_rmdir(mercutio_remote* all, const char* name) {
  return outcome([&] { return call(all, name, remote::Kind::kRemoveDirectory, {}); });
}

int mercutio_remote_unlink(mercutio_remote* all, const char* name) {
  return outcome([&]() -> Status {
    MERCUTIO_LET(const Place place, place_of(all, name));
    return place.host->remove(place.path);
  });
}

int mercutio_remote_rename(mercutio_remote* all, const char* name, const char* other, int replace) {
  return outcome([&]() -> Status {
    const remote::RemoteName from = remote::split_name(name), to = remote::split_name(other);
    if (from.host != to.host) return mercutio::error_from_errno("rename", EXDEV);
    remote::NameRequest request;
    request.other = to.path;
    request.replace = replace != 0;
    if (replace == MERCUTIO_REMOTE_AS_WRITES) request.permissions = remote::kAsWrites;
    return call(all, name, remote::Kind::kRename, request);
  });
}

int64_t mercutio_remote_get(mercutio_remote* all, const char* name, void* data, int64_t bytes) {
  return number([&]() -> Result<i64> {
    MERCUTIO_LET(const Place place, place_of(all, name));
    remote::NameRequest request;
    request.path = place.path;
    MERCUTIO_LET(const remote::Reply reply, place.host->call(remote::Kind::kGet, request));
    MERCUTIO_LET(const auto got, remote::get_message<remote::GetReply>(reply.more));
    const auto length = static_cast<i64>(got.content.size());
    if (length != got.status.bytes || length > bytes) return mercutio::error_from_errno("get", EFBIG);
    std::copy(got.content.begin(), got.content.end(), static_cast<std::byte*>(data));
    return length;
  });
}

int mercutio_remote_put(mercutio_remote* all, const char* name, const void* data, int64_t bytes, unsigned permissions) {
  return outcome([&]() -> Status {
    if (bytes < 0 || bytes > MERCUTIO_REMOTE_SMALL) return mercutio::error_from_errno("put", EFBIG);
    remote::NameRequest request;
    const auto* const from = static_cast<const std::byte*>(data);
    request.content.assign(from, from + bytes);
    request.permissions = (permissions & 0777) | remote::kAsWrites;
    return call(all, name, remote::Kind::kPut, request);
  });
}

}  // extern "C"
