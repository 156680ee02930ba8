// The storage driver of S3: files called s3://BUCKET/KEY, one object each, in Amazon's store or one that speaks its protocol.
//
// An object can't be changed, only replaced. So what ranks write is seen when rank 0 publishes it, after MPI_File_sync and
// MPI_File_close: it completes an upload whose parts the ranks have sent (staged.h, publish.h). A failure before that leaves the old
// object as it was. Reads go to the object that was there when the file was opened or synchronised (reader.h).
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "mercutio/driver.h"
#include "publish.h"

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

// Files of one store share its connections.
std::shared_ptr<Client> client_for(const Settings& settings) {
  static std::mutex mutex;
  static std::vector<std::shared_ptr<Client>> clients;
  const auto key = [](const Settings& s) {
    const Credentials& c = s.credentials;
    return std::tie(s.endpoint, s.region, c.access_key, c.secret_key, c.session_token, s.ca_bundle, s.attempts, s.timeout_seconds, s.memory_bytes);
  };
  std::lock_guard lock(mutex);
  for (const auto& client : clients)
    if (key(client->settings()) == key(settings)) return client;
  clients.push_back(std::make_shared<Client>(settings));
  return clients.back();
}

// What rank 0 tells the others, a line each.
struct Handle {
  std::string token, upload, region, etag;
  i64 exists = 0, bytes = 0, part_bytes = 0;

  std::string text() const {
    std::ostringstream out;
    out << token << '\n' << upload << '\n' << region << '\n' << etag << '\n' << exists << ' ' << bytes << ' ' << part_bytes << '\n';
    return out.str();
  }
  static Handle from(const std::string& text) {
    Handle handle;
    std::istringstream in(text);
    std::getline(in, handle.token);
    std::getline(in, handle.upload);
    std::getline(in, handle.region);
    std::getline(in, handle.etag);
    if (!(in >> handle.exists >> handle.bytes >> handle.part_bytes)) throw Failure(EPROTO, "what rank 0 said of the file is damaged");
    return handle;
  }
};

// What a thread writes while what was written before is being published.
struct LateWrite {
  i64 offset = 0;
  std::vector<char> data;
  i64 turn = 0;

  i64 end() const { return offset + static_cast<i64>(data.size()); }
  void lay_over(i64 begin, std::span<char> into) const {
    const i64 from = std::max(begin, offset), to = std::min(begin + static_cast<i64>(into.size()), end());
    if (from < to) std::memcpy(into.data() + (from - begin), data.data() + (from - offset), static_cast<size_t>(to - from));
  }
};

}  // namespace
}  // namespace mercutio_s3

using namespace mercutio_s3;

struct mercutio_driver_file {
  mercutio_driver_file(const std::string& path, const mercutio_driver_options& options)
      : place_(place_of(path)),
        client_(client_for(settings_from(variable))),
        store_(*client_, place_.bucket),
        flags_(options.flags),
        ranks_(std::max<i64>(1, options.ranks)),
        reader_(store_, place_.key),
        session_(store_, place_.key, options.rank, ranks_) {
    if (options.rank == 0) first_open(options.stripe_bytes);
    else join(options);
    staged_.emplace(store_, place_.key, session_, grid_);
    if (writes()) opens().add(*this);
  }
  ~mercutio_driver_file() {
    opens().remove(*this);
    if (staged_) staged_->clear();
    if (writes() && session_.rank() == 0 && !ended_) session_.end();   // nobody has published it: forgotten
  }
  mercutio_driver_file(const mercutio_driver_file&) = delete;
  mercutio_driver_file& operator=(const mercutio_driver_file&) = delete;

  std::string handle() {
    const Object object = reader_.object();
    return Handle{session_.token(), session_.has_upload() ? session_.upload() : "", client_->region(), object.etag, object.exists, object.bytes, grid_.wanted()}.text();
  }

  i64 read(i64 offset, std::span<char> into) {
    std::unique_lock lock(mutex_);
    const i64 bytes = size();
    if (offset >= bytes) return 0;
    into = into.first(static_cast<size_t>(std::min<i64>(bytes - offset, static_cast<i64>(into.size()))));
    if (!staged_->empty() && late_.empty() && staged_->in_memory(offset, static_cast<i64>(into.size()))) return staged_->copy_memory(offset, into), static_cast<i64>(into.size());
    const i64 old = std::clamp<i64>(published_bytes() - offset, 0, static_cast<i64>(into.size()));
    const bool clean = staged_->empty() && late_.empty();
    if (clean) lock.unlock();   // so that reads run side by side
    if (old > 0) reader_.read(offset, into.first(static_cast<size_t>(old)));
    std::memset(into.data() + old, 0, into.size() - static_cast<size_t>(old));
    if (clean) return static_cast<i64>(into.size());
    if (staged_->overlay(offset, into)) {
      for (const LateWrite& late : late_) late.lay_over(offset, into);
      return static_cast<i64>(into.size());
    }
    if (!session_.alone())
      throw Failure(EOPNOTSUPP, "what was written of bytes " + std::to_string(offset) + " to " + std::to_string(offset + static_cast<i64>(into.size())) +
                                    " has been sent and can be read after MPI_File_sync only; MERCUTIO_S3_MEMORY says how much a process keeps");
    publish_here(false);
    lock.unlock();
    return read(offset, into);
  }

  void write(i64 offset, std::span<const char> data) {
    opens().others(*this, [&](mercutio_driver_file& other) { other.give_way(offset, offset + static_cast<i64>(data.size())); });
    std::lock_guard lock(mutex_);
    check_whole();
    check_size(offset, static_cast<i64>(data.size()));
    if (!sealed_) return staged_->write(offset, data, turn_);
    late_bytes_ += static_cast<i64>(data.size());
    if (late_bytes_ > client_->settings().memory_bytes) throw Failure(EIO, "what was written before has not been published, so that there is no room for more");
    late_.push_back({offset, {data.begin(), data.end()}, turn_});
  }

  i64 get_size() {
    std::lock_guard lock(mutex_);
    return size();
  }

  void set_size(i64 bytes) {
    std::lock_guard lock(mutex_);
    check_whole();
    check_size(bytes, 0);
    if (!staged_->all_in_memory()) {
      if (!session_.alone()) throw Failure(EOPNOTSUPP, "the size can't be changed before what was written is published: call MPI_File_sync first");
      publish_here(false);
    }
    staged_->cut(bytes);
    resize_ = {std::min(resize_.cut, bytes), bytes, true};
  }

  // Zeros take as much room as what comes in their place, but no store promises to have it then.
  void preallocate(i64 bytes) {
    if (get_size() < bytes) set_size(bytes);
  }

  void sync() {
    std::lock_guard lock(mutex_);
    check_whole();
    whole_ = false;   // unless it goes well
    staged_->send_whole_parts();
    if (session_.rank() > 0) staged_->store_pieces();
    sealed_ = session_.rank() > 0;
    whole_ = true;
  }

  void refresh() {
    std::lock_guard lock(mutex_);
    if (writes() && session_.rank() > 0) {   // rank 0 has published
      staged_->clear();
      session_.next_round();
      sealed_ = false;
    }
    if (staged_->empty()) reader_.forget();
    for (const LateWrite& late : late_) staged_->write(late.offset, late.data, late.turn);
    late_.clear();
    late_bytes_ = 0;
  }

  void begin_turn(i64 turn) {
    std::lock_guard lock(mutex_);
    turn_ = std::max(turn_, turn);
  }

  void publish(unsigned flags) {
    std::lock_guard lock(mutex_);
    const bool last = flags & MERCUTIO_DRIVER_PUBLISH_LAST;
    if (flags & MERCUTIO_DRIVER_PUBLISH_DISCARD) {
      staged_->clear();
      whole_ = false;
      resize_ = {};
    } else {
      check_whole();
      whole_ = false;
      publish_here(last);
      whole_ = true;
    }
    if (!last) return;
    ended_ = true;
    session_.end();
  }

  i64 part_bytes() const { return grid_.first_bytes(); }
  i64 number() {
    const i64 number = tag_of(client_->settings().endpoint + " " + place_.bucket + "/" + place_.key);
    return number > 0 ? number : 1;
  }

 private:
  // The files of this process that are open for writing. PnetCDF writes one file through two of them, and what it writes last counts.
  class Opens {
   public:
    void add(mercutio_driver_file& file) {
      std::lock_guard lock(mutex_);
      files_.push_back(&file);
    }
    void remove(mercutio_driver_file& file) {
      std::lock_guard lock(mutex_);
      std::erase(files_, &file);
    }
    template <class Visit>
    void others(const mercutio_driver_file& file, Visit visit) {
      std::lock_guard lock(mutex_);
      for (mercutio_driver_file* const other : files_)
        if (other->session_.token() != file.session_.token() && other->client_ == file.client_ && other->place_ == file.place_) visit(*other);
    }

   private:
    std::mutex mutex_;
    std::vector<mercutio_driver_file*> files_;
  };
  static Opens& opens() {
    static Opens* const all = new Opens;
    return *all;
  }
  // These bytes are written through another open of this process, later than what is staged here of them.
  void give_way(i64 begin, i64 end) {
    std::lock_guard lock(mutex_);
    try {
      if (!sealed_) staged_->forget(begin, end);
    } catch (const Failure&) {   // of a part that was being sent: this open's next call says so
    }
  }

  bool writes() const { return flags_ & MERCUTIO_DRIVER_WRITE; }

  void first_open(i64 part_bytes) {
    grid_ = Grid(part_bytes);
    const std::string name = "s3://" + place_.bucket + "/" + place_.key;
    const bool makes = flags_ & MERCUTIO_DRIVER_CREATE, exclusive = makes && (flags_ & MERCUTIO_DRIVER_EXCLUSIVE);
    if (!reader_.object().exists) {
      if (!makes) throw Failure(ENOENT, name + " isn't there");
      make_empty(exclusive);
    } else if (exclusive) {
      throw Failure(EEXIST, name + " is there already");
    }
    object_bytes_ = reader_.object().bytes;
    if (writes()) session_.begin();
  }

  // Other opens find the file from now on.
  void make_empty(bool exclusive) {
    try {
      store_.put(place_.key, "", "");
    } catch (const Failure& failure) {   // somebody else was first
      if (failure.code() != ESTALE) throw;
      if (exclusive) throw Failure(EEXIST, "s3: somebody else has made the object at the same time");
    }
    reader_.forget();
  }

  void join(const mercutio_driver_options& options) {
    const Handle handle = Handle::from({static_cast<const char*>(options.handle), options.handle ? options.handle_bytes : 0});
    client_->use_region(handle.region);
    grid_ = Grid(handle.part_bytes);
    reader_.know({handle.exists != 0, handle.bytes, handle.etag});
    session_.join(handle.token, handle.upload);
  }

  // Something that failed may be missing in what would be published, so nothing is any more.
  void check_whole() const {
    if (!whole_) throw Failure(EIO, "an earlier error has ended what was being written to this file, which is as it was last published: close it and write it anew");
  }
  void check_size(i64 offset, i64 bytes) const {
    if (bytes <= grid_.most_bytes() && offset <= grid_.most_bytes() - bytes) return;
    throw Failure(EFBIG, "with parts of " + std::to_string(grid_.first_bytes()) + " bytes an object has at most " + std::to_string(grid_.most_bytes()) +
                             ": the hint striping_unit makes them longer, up to 5 GiB");
  }

  i64 published_bytes() {
    const Object object = reader_.object();
    return object.exists ? std::min(object.bytes, resize_.cut) : 0;
  }
  i64 size() {
    i64 bytes = std::max({published_bytes(), resize_.least, staged_->end()});
    for (const LateWrite& late : late_) bytes = std::max(bytes, late.end());
    return bytes;
  }

  void publish_here(bool last) {
    if (session_.alone()) staged_->send_whole_parts();
    object_bytes_ = Publisher(store_, place_.key, session_, grid_, *staged_).publish(resize_, object_bytes_);
    staged_->clear();
    resize_ = {};
    reader_.forget();
    if (!last) session_.next_round();
  }

  const Place place_;
  const std::shared_ptr<Client> client_;
  const Store store_;
  const unsigned flags_;
  const i64 ranks_;
  Grid grid_;
  Reader reader_;
  Session session_;
  std::mutex mutex_;   // guards what follows
  std::optional<Staged> staged_;
  Resize resize_;
  std::vector<LateWrite> late_;
  i64 late_bytes_ = 0;
  i64 turn_ = 0;
  i64 object_bytes_ = 0;   // of the object, when this open last looked or published
  bool sealed_ = false;    // what is staged is being published
  bool whole_ = true;    // nothing is missing in what was staged
  bool ended_ = false;
};

namespace {

int s3_open(const char* path, const mercutio_driver_options* options, mercutio_driver_file** file) {
  return guarded([&] { *file = new mercutio_driver_file(path, *options); });
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
  return guarded([&] {
    const Place place = place_of(path);
    const auto client = client_for(settings_from(variable));
    const Store store(*client, place.bucket);
    if (!store.query(place.key).exists) throw Failure(ENOENT, std::string("s3://") + path + " isn't there");
    store.remove(place.key);
  });
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
