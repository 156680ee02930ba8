// The storage driver of S3: files called s3://BUCKET/KEY, one object each, in Amazon's store or one that speaks its protocol.
//
// An object can't be changed, only replaced. So what ranks write is seen when rank 0 publishes it, after MPI_File_sync and
// MPI_File_close: it completes an upload whose parts the ranks have sent (staged.h, publish.h). A failure before that leaves the old
// object as it was. Reads go to the object that was there when the file was opened or synchronised (reader.h).
#include <sys/types.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "file.h"

namespace mercutio_s3 {
namespace {

thread_local std::string why;

// Runs the body of a call; its Failure becomes the result and the text of explain().
template <class Body>
int guarded(Body body) {
  try {
    why.clear();
    body();
    return 0;
  } catch (const Failure& failure) {
    why = failure.what();
    return failure.code();
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception& other) {
    why = other.what();
    return EIO;
  }
}

std::string variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value ? value : "";
}

// Files of one store share its connections. A client that nobody uses goes when another one comes: settings may change again and again.
std::shared_ptr<Client> client_here() {
  const Settings settings = settings_from(variable);
  static std::mutex mutex;
  static std::vector<std::shared_ptr<Client>> clients;
  const auto key = [](const Settings& s) {
    const Credentials& c = s.credentials;
    return std::tie(s.endpoint, s.region, c.access_key, c.secret_key, c.session_token, s.ca_bundle, s.attempts, s.timeout_seconds, s.memory_bytes);
  };
  std::lock_guard lock(mutex);
  for (const auto& client : clients)
    if (key(client->settings()) == key(settings)) return client;
  std::erase_if(clients, [](const auto& client) { return client.use_count() == 1; });
  clients.push_back(std::make_shared<Client>(settings));
  return clients.back();
}

}  // namespace
}  // namespace mercutio_s3

using namespace mercutio_s3;

struct mercutio_driver_file final : File {
  using File::File;
};

namespace {

int s3_open(const char* path, const mercutio_driver_options* options, mercutio_driver_file** file) {
  return guarded([&] { *file = new mercutio_driver_file(client_here(), path, *options); });
}
int s3_close(mercutio_driver_file* file) {
  return guarded([&] { delete file; });
}
int s3_read(mercutio_driver_file* file, const mercutio_driver_extent* extents, size_t count, int64_t* moved) {
  return guarded([&] {
    *moved = 0;
    for (size_t i = 0; i < count; ++i) {
      const i64 got = file->read(extents[i].offset, {static_cast<char*>(extents[i].data), static_cast<size_t>(extents[i].bytes)});
      *moved += got;
      if (got < extents[i].bytes) return;
    }
  });
}
int s3_write(mercutio_driver_file* file, const mercutio_driver_extent* extents, size_t count, int64_t* moved) {
  return guarded([&] {
    *moved = 0;
    for (size_t i = 0; i < count; ++i) {
      file->write(extents[i].offset, {static_cast<const char*>(extents[i].data), static_cast<size_t>(extents[i].bytes)});
      *moved += extents[i].bytes;
    }
  });
}
int s3_get_size(mercutio_driver_file* file, int64_t* bytes) {
  return guarded([&] { *bytes = file->get_size(); });
}
int s3_set_size(mercutio_driver_file* file, int64_t bytes) {
  return guarded([&] { file->set_size(bytes); });
}
int s3_preallocate(mercutio_driver_file* file, int64_t bytes) {
  return guarded([&] { file->preallocate(bytes); });
}
int s3_sync(mercutio_driver_file* file) {
  return guarded([&] { file->sync(); });
}
int s3_refresh(mercutio_driver_file* file) {
  return guarded([&] { file->refresh(); });
}
int s3_publish(mercutio_driver_file* file, uint32_t flags) {
  return guarded([&] { file->publish(flags); });
}
int s3_begin_turn(mercutio_driver_file* file, int64_t turn) {
  return guarded([&] { file->begin_turn(turn); });
}

int s3_remove(const char* path) {
  return guarded([&] { remove(*client_here(), path); });
}

void fill(const Named& named, mercutio_driver_entry& entry) {
  entry.is_folder = named.is_folder;
  entry.bytes = named.bytes;
  entry.modified_ns = named.modified_ns;
  entry.file_number = named.number;
}
int s3_look(const char* path, mercutio_driver_entry* entry) {
  return guarded([&] { fill(look(*client_here(), path), *entry); });
}
int s3_list(const char* path, int (*take)(void* to, const mercutio_driver_entry* entry), void* to) {
  return guarded([&] {
    list(*client_here(), path, [&](const Named& named) {
      mercutio_driver_entry entry{};
      entry.size = sizeof entry;
      entry.name = named.name.c_str();
      fill(named, entry);
      return take(to, &entry) == 0;
    });
  });
}
int s3_rename(const char* path, const char* other, uint32_t flags) {
  return guarded([&] { rename(*client_here(), path, other, !(flags & MERCUTIO_DRIVER_EXCLUSIVE)); });
}
int s3_make_folder(const char* path) {
  return guarded([&] { make_folder(*client_here(), path); });
}
int s3_remove_folder(const char* path) {
  return guarded([&] { remove_folder(*client_here(), path); });
}

int s3_get_traits(mercutio_driver_file* file, mercutio_driver_traits* traits) {
  return guarded([&] {
    traits->seen = MERCUTIO_DRIVER_SEEN_AFTER_PUBLISH;
    traits->locks = MERCUTIO_DRIVER_LOCKS_NOBODY;
    traits->extents_per_call = 256;
    traits->stripe_bytes = traits->block_bytes = file->part_bytes();
    traits->stripe_count = 1;
    traits->file_number = file->number();
  });
}

int s3_get_handle(mercutio_driver_file* file, void* bytes, size_t room, size_t* count) {
  return guarded([&] {
    const std::string handle = file->handle();
    if (handle.size() > room) throw Failure(ENOBUFS, "the store's name of an upload is too long");
    std::memcpy(bytes, handle.data(), handle.size());
    *count = handle.size();
  });
}

const char* s3_explain() { return why.c_str(); }

constexpr mercutio_driver make_driver() {
  mercutio_driver driver{};
  driver.abi = MERCUTIO_DRIVER_ABI;
  driver.size = sizeof driver;
  driver.open = s3_open;
  driver.close = s3_close;
  driver.read = s3_read;
  driver.write = s3_write;
  driver.get_size = s3_get_size;
  driver.set_size = s3_set_size;
  driver.preallocate = s3_preallocate;
  driver.sync = s3_sync;
  driver.refresh = s3_refresh;
  driver.remove = s3_remove;
  driver.get_traits = s3_get_traits;
  driver.get_handle = s3_get_handle;
  driver.explain = s3_explain;
  driver.publish = s3_publish;
  driver.begin_turn = s3_begin_turn;
  driver.look = s3_look;
  driver.list = s3_list;
  driver.rename = s3_rename;
  driver.make_folder = s3_make_folder;
  driver.remove_folder = s3_remove_folder;
  return driver;
}

}  // namespace

// A Mercutio without `publish` would show ranks that nothing was written.
int mercutio_driver_init(const mercutio_driver_host* host, const mercutio_driver** driver) {
  static constexpr mercutio_driver kDriver = make_driver();
  *driver = &kDriver;
  if (MERCUTIO_DRIVER_HOST_KNOWS(host, publish) && MERCUTIO_DRIVER_HOST_KNOWS(host, begin_turn)) return 0;
  why = "Mercutio " + std::string(host->version ? host->version : "") + " is too old for files in S3: it doesn't publish what was written";
  return ENOSYS;
}
