// An open file, as one rank has it: what it has staged, what it knows of the object, and the session that it shares with the other ranks.
//
// A process may open one object several times (PnetCDF does: for collective and for independent calls). What it has written through one
// open it reads through the others, and of its writes to one place the last one counts: the other opens give their bytes up.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <tuple>

#include "mercutio/driver.h"
#include "names.h"
#include "publish.h"

namespace mercutio_s3 {

inline constexpr int kMostReplacements = 5;   // of the object while one read is made

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

class File;

// The opens of one object in this process. A lock of this comes before those of its files.
class Opens {
 public:
  static std::shared_ptr<Opens> of(const std::shared_ptr<Client>& client, const Place& place) {
    static auto* const all = new std::map<std::tuple<const Client*, std::string, std::string>, std::weak_ptr<Opens>>;
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    std::erase_if(*all, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<Opens>& there = (*all)[{client.get(), place.bucket, place.key}];
    std::shared_ptr<Opens> opens = there.lock();
    if (!opens) there = opens = std::make_shared<Opens>();
    return opens;
  }

  void add(File& file) {
    std::lock_guard lock(mutex_);
    files_.push_back(&file);
  }
  void remove(File& file) {
    std::lock_guard lock(mutex_);
    std::erase(files_, &file);
  }
  template <class Visit>
  void others(const File& file, Visit visit);

  // Changed whenever one of them knows that the object is another one.
  i64 edition() const { return edition_; }
  i64 next_edition() { return ++edition_; }

  // One publishes after the other: not all stores know conditions.
  std::mutex publishing;

 private:
  std::mutex mutex_;
  std::vector<File*> files_;
  std::atomic<i64> edition_{0};
};

class File {
 public:
  File(std::shared_ptr<Client> client, const std::string& path, const mercutio_driver_options& options)
      : place_(place_of(path)),
        client_(std::move(client)),
        store_(*client_, place_.bucket),
        flags_(options.flags),
        ranks_(std::max<i64>(1, options.ranks)),
        reader_(store_, place_.key),
        session_(store_, place_.key, options.rank, ranks_),
        opens_(Opens::of(client_, place_)) {
    seen_edition_ = opens_->edition();
    if (options.rank == 0) first_open(options.stripe_bytes);
    else join(options);
    staged_.emplace(store_, place_.key, session_, grid_);
    opens_->add(*this);
  }
  ~File() {
    opens_->remove(*this);
    if (staged_) staged_->clear();
    if (writes() && session_.rank() == 0 && !ended_) session_.end(/*all_known=*/false);   // nobody has published it: forgotten
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string handle() {
    const Object object = reader_.object();
    return Handle{session_.token(), session_.has_upload() ? session_.upload() : "", client_->region(), object.etag, object.exists, object.bytes, grid_.wanted()}.text();
  }

  // Others may replace a file that is open for writing. A read is of one object all the same.
  i64 read(i64 offset, std::span<char> into) {
    for (int times = 0;; ++times) {
      try {
        return read_once(offset, into);
      } catch (const Failure& failure) {
        if (failure.code() != ESTALE || !writes() || times >= kMostReplacements) throw;
        reader_.forget();
      }
    }
  }

  void write(i64 offset, std::span<const char> data) {
    opens_->others(*this, [&](File& other) { other.give_up(offset, offset + static_cast<i64>(data.size())); });
    std::lock_guard lock(mutex_);
    check_whole();
    check_size(offset, static_cast<i64>(data.size()));
    if (!sealed_) return staged_->write(offset, data, turn_);
    late_bytes_ += static_cast<i64>(data.size());
    if (late_bytes_ > client_->settings().memory_bytes) throw Failure(EIO, "what was written before has not been published, so that there is no room for more");
    late_.push_back({offset, {data.begin(), data.end()}, turn_});
  }

  i64 get_size() {
    const i64 others_end = end_of_others();
    std::lock_guard lock(mutex_);
    return std::max(others_end, size());
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
    synchronised_turn_ = turn_;
    whole_ = true;
  }

  void refresh() {
    std::lock_guard lock(mutex_);
    if (writes() && session_.rank() > 0) {   // rank 0 has published
      staged_->clear();
      session_.next_round();
      sealed_ = false;
    }
    if (staged_->empty() && !just_published_) forget_object();
    just_published_ = false;
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
      whole_ = just_published_ = false;
      resize_ = {};
    } else {
      check_whole();
      whole_ = false;
      publish_here(last);
      whole_ = true;
    }
    if (!last) return;
    ended_ = true;
    session_.end(/*all_known=*/whole_);
  }

  const std::string& token() const { return session_.token(); }   // the same on all ranks of an open
  i64 part_bytes() const { return grid_.first_bytes(); }
  i64 number() const { return number_of_file(*client_, place_); }

 private:
  i64 read_once(i64 offset, std::span<char> into) {
    const i64 others_end = end_of_others();
    std::unique_lock lock(mutex_);
    const i64 bytes = std::max(others_end, size());
    if (offset >= bytes) return 0;
    into = into.first(static_cast<size_t>(std::min<i64>(bytes - offset, static_cast<i64>(into.size()))));
    if (!staged_->empty() && late_.empty() && staged_->in_memory(offset, static_cast<i64>(into.size()))) return staged_->copy_memory(offset, into), static_cast<i64>(into.size());
    const i64 old = std::clamp<i64>(published_bytes() - offset, 0, static_cast<i64>(into.size()));
    const bool clean = staged_->empty() && late_.empty();
    if (clean) lock.unlock();   // so that reads run side by side
    if (old > 0) reader_.read(offset, into.first(static_cast<size_t>(old)));
    std::memset(into.data() + old, 0, into.size() - static_cast<size_t>(old));
    if (!clean && !lay_over(offset, into)) {
      if (!session_.alone()) throw sent_already(offset, into);
      publish_here(false);
      lock.unlock();
      return read_once(offset, into);
    }
    if (!clean) lock.unlock();
    if (others_end > offset) opens_->others(*this, [&](File& other) { other.show(offset, into); });
    return static_cast<i64>(into.size());
  }
  // Puts there what this open has written of it. False: some of it can't be had.
  bool lay_over(i64 offset, std::span<char> into) {
    if (!staged_->overlay(offset, into)) return false;
    for (const LateWrite& late : late_) late.lay_over(offset, into);
    return true;
  }
  static Failure sent_already(i64 offset, std::span<const char> wanted) {
    return {EOPNOTSUPP, "what was written of bytes " + std::to_string(offset) + " to " + std::to_string(offset + static_cast<i64>(wanted.size())) +
                            " has been sent and can be read after MPI_File_sync only; MERCUTIO_S3_MEMORY says how much a process keeps"};
  }

  // What other opens of the process ask of this one.
  void show(i64 offset, std::span<char> into) {
    std::lock_guard lock(mutex_);
    if (!lay_over(offset, into)) throw sent_already(offset, into);
  }
  i64 end() {
    std::lock_guard lock(mutex_);
    i64 bytes = staged_->end();
    for (const LateWrite& late : late_) bytes = std::max(bytes, late.end());
    return bytes;
  }
  // These bytes are written through another open, later than what is here of them, or in other ranks' memory. That counts as a write of this
  // rank: of the bytes that the object has then.
  void give_up(i64 begin, i64 end) {
    std::lock_guard lock(mutex_);
    if (!writes() || sealed_) return;
    const bool in_other_ranks = turn_ > synchronised_turn_;
    if (in_other_ranks) turn_ |= 1;
    try {
      staged_->give_up(begin, end, in_other_ranks, turn_);
    } catch (const Failure&) {   // of a part that was being sent: this open's next call says so
    }
  }
  i64 end_of_others() {
    i64 bytes = 0;
    opens_->others(*this, [&](File& other) { bytes = std::max(bytes, other.end()); });
    return bytes;
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
      reader_.know(store_.put(place_.key, "", ""));
      return;
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
    object_bytes_ = handle.bytes;
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

  void forget_object() {
    seen_edition_ = opens_->next_edition();
    reader_.forget();
  }
  i64 published_bytes() {
    if (const i64 edition = opens_->edition(); seen_edition_ != edition) {   // another open of the process knows of a new one
      seen_edition_ = edition;
      reader_.forget();
    }
    const Object object = reader_.object();
    if (!object.exists && object_bytes_ > 0) throw deleted();
    object_bytes_ = object.bytes;
    return std::min(object.bytes, resize_.cut);
  }
  i64 size() {
    i64 bytes = std::max({published_bytes(), resize_.least, staged_->end()});
    for (const LateWrite& late : late_) bytes = std::max(bytes, late.end());
    return bytes;
  }

  void publish_here(bool last) {
    if (session_.alone()) staged_->send_whole_parts();
    std::lock_guard one_at_a_time(opens_->publishing);
    const std::optional<i64> made = Publisher(reader_, session_, grid_, *staged_).publish(resize_, object_bytes_);
    staged_->clear();
    resize_ = {};
    if (made) object_bytes_ = *made;
    if (made) seen_edition_ = opens_->next_edition();
    else forget_object();
    just_published_ = made && !session_.alone();
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
  const std::shared_ptr<Opens> opens_;
  std::mutex mutex_;   // guards what follows
  std::optional<Staged> staged_;
  Resize resize_;
  std::vector<LateWrite> late_;
  i64 late_bytes_ = 0;
  i64 turn_ = 0, synchronised_turn_ = 0;
  i64 seen_edition_ = 0;
  i64 object_bytes_ = 0;   // of the object, when this open last looked or published
  bool sealed_ = false;    // what is staged is being published
  bool whole_ = true;      // nothing is missing in what was staged
  bool just_published_ = false;   // by all ranks, whose refresh() follows: the object is the newest
  bool ended_ = false;
};

template <class Visit>
void Opens::others(const File& file, Visit visit) {
  std::lock_guard lock(mutex_);
  for (File* const other : files_)
    if (other->token() != file.token()) visit(*other);
}

}  // namespace mercutio_s3
