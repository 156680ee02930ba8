#include "publish.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

namespace mercutio_s3 {
namespace {

constexpr i64 kMostCopied = 1 * GiB;   // by one request
constexpr i64 kLeastSource = 5 * MiB;   // S3 copies ranges of larger objects only
constexpr i64 kMostTogether = 32 * MiB, kBlock = 8 * MiB, kMostKept = 1 * MiB;
constexpr int kMostRequests = 4;

struct PieceName {
  i64 rank = 0, number = 0, count = 0;
};

// r<rank>-<number>-<count>
bool parse(const std::string& name, PieceName& into) {
  long long rank = 0, number = 0, count = 0;
  int used = 0;
  if (std::sscanf(name.c_str(), "r%lld-%lld-%lld%n", &rank, &number, &count, &used) != 3 || used != static_cast<int>(name.size())) return false;
  into = {rank, number, count};
  return rank >= 0 && number > 0 && count > 0 && count < (i64{1} << 32);
}

}  // namespace

Publisher::Kind Publisher::kind_of(const Entry& entry) {
  return entry.at == kGivenUp ? Kind::kPresent : entry.at == kInPart ? Kind::kPart : Kind::kPieces;
}

// A short one is fetched as a whole.
void Publisher::take_piece_object(const Listed& object, std::vector<Ranked>& all) {
  session_.note(object.key);
  PieceName name;
  if (!parse(object.key.substr(session_.folder().size()), name)) return;
  const Failure damaged(EPROTO, "s3: piece object " + object.key + " is damaged");
  std::vector<Entry> entries(static_cast<size_t>(name.count));
  const size_t records = entries.size() * sizeof(Entry);
  if (object.bytes < static_cast<i64>(records)) throw damaged;
  std::string start(object.bytes <= kMostKept ? static_cast<size_t>(object.bytes) : records, '\0');
  store_.get(object.key, 0, start, "");
  std::memcpy(entries.data(), start.data(), records);
  objects_.push_back({object.key, object.bytes <= kMostKept ? std::move(start) : std::string()});
  for (const Entry& entry : entries) {
    if (entry.offset < 0 || entry.bytes <= 0 || entry.offset > grid_.most_bytes() - entry.bytes) throw damaged;
    if (kind_of(entry) == Kind::kPieces && entry.at > object.bytes - entry.bytes) throw damaged;
    all.push_back({entry, name.rank, {kind_of(entry), objects_.size() - 1, std::max<i64>(entry.at, 0), entry.tag}});
  }
}

// Everything that was sent, painted in its order.
void Publisher::gather() {
  std::vector<Ranked> all;
  if (!session_.alone() || staged_.has_stored())
    for (const Listed& object : store_.list(session_.folder())) take_piece_object(object, all);
  for (const Entry& entry : staged_.sent_entries()) all.push_back({entry, session_.rank(), {kind_of(entry), 0, 0, entry.tag}});
  for (const Entry& entry : staged_.memory_entries()) all.push_back({entry, session_.rank(), {Kind::kMemory, 0, 0, 0}});
  std::stable_sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(a.entry.turn, a.rank, a.entry.sent) < std::tie(b.entry.turn, b.rank, b.entry.sent);
  });
  for (Ranked& one : all) {
    if (one.paint.kind == Kind::kPart) one.paint.source = static_cast<size_t>(grid_.part_of(one.entry.offset));   // parts may be alike
    painted_.put(one.entry.offset, one.entry.offset + one.entry.bytes, one.paint);
  }
}

// The parts of the upload that are to be in the object, and what goes over them.
void Publisher::find_sent_parts() {
  std::map<i64, i64> tags;   // by part
  for (const auto& [begin, rest] : painted_.all()) {
    if (rest.value.kind != Kind::kPart) continue;
    const auto [known, made] = tags.emplace(static_cast<i64>(rest.value.source), rest.value.tag);
    if (!made && known->second != rest.value.tag)
      throw Failure(EIO, "two ranks have written all of bytes " + std::to_string(grid_.begin(known->first)) + " to " + std::to_string(grid_.end(known->first)) +
                             " and parts of both count: call MPI_File_sync between such writes");
  }
  if (tags.empty()) return;
  std::map<i64, UploadedPart> there;
  for (const UploadedPart& part : store_.list_parts(key_, session_.upload())) there[part.number - 1] = part;
  for (const auto& [number, tag] : tags) {
    const auto found = there.find(number);
    const i64 bytes = grid_.end(number) - grid_.begin(number);
    if (found == there.end() || found->second.bytes != bytes || tag_of(found->second.etag) != tag)
      throw Failure(EIO, "the store doesn't have what a rank has sent of bytes " + std::to_string(grid_.begin(number)) + " to " + std::to_string(grid_.end(number)) +
                             ", or two ranks have sent it: call MPI_File_sync between writes of two ranks to one place");
    sent_[number] = found->second;
    painted_.visit(grid_.begin(number), grid_.end(number), [&](i64 begin, i64 end, const Paint& paint) {
      if (paint.kind != Kind::kPart) late_.put(begin, end, paint);
    });
  }
}

// What was given up and is in no part that was sent needs no paint.
void Publisher::uncover_present() {
  Ranges<Paint> present;
  for (const auto& [begin, rest] : painted_.all())
    if (rest.value.kind == Kind::kPresent) present.put(begin, rest.end, rest.value);
  for (const auto& [number, part] : sent_) present.erase(grid_.begin(number), grid_.end(number));
  for (const auto& [begin, rest] : present.all()) painted_.erase(begin, rest.end);
}

// What was given up of a part that was sent, before that part replaces it.
void Publisher::keep_present(const Base& base) {
  std::vector<std::pair<i64, i64>> present;
  for (const auto& [begin, rest] : late_.all())
    if (rest.value.kind == Kind::kPresent || rest.value.kind == Kind::kKept) present.emplace_back(begin, rest.end);
  kept_.clear();
  for (const auto& [begin, end] : present) {
    const size_t at = kept_.size(), old = static_cast<size_t>(std::clamp<i64>(base.bytes - begin, 0, end - begin));
    kept_.resize(at + static_cast<size_t>(end - begin));
    if (old > 0) reader_.read_of(base.object, begin, std::span(kept_).subspan(at, old));
    late_.put(begin, end, {Kind::kKept, 0, static_cast<i64>(at), 0});
  }
}

bool Publisher::is_painted(const Part& part) const {
  bool any = false;
  painted_.visit(part.begin, part.end, [&](i64, i64, const Paint&) { any = true; });
  return any;
}

// From each piece object the range that holds all pieces of the part: they lie one behind the other there.
void Publisher::fill_from_pieces(const Part& part, std::span<char> into) const {
  std::map<size_t, std::pair<i64, i64>> needed;   // by source
  painted_.visit(part.begin, part.end, [&](i64 begin, i64 end, const Paint& paint) {
    if (paint.kind != Kind::kPieces) return;
    auto& [first, last] = needed.emplace(paint.source, std::pair{paint.at, paint.at}).first->second;
    first = std::min(first, paint.at);
    last = std::max(last, paint.at + (end - begin));
  });
  for (const auto& [source, range] : needed) {
    const PieceObject& object = objects_[source];
    const i64 first = object.content.empty() ? range.first : 0;
    std::string fetched;
    if (object.content.empty()) {
      fetched.resize(static_cast<size_t>(range.second - range.first));
      store_.get(object.key, range.first, fetched, "");
    }
    const char* const data = object.content.empty() ? fetched.data() : object.content.data();
    painted_.visit(part.begin, part.end, [&, wanted = source](i64 begin, i64 end, const Paint& paint) {
      if (paint.kind == Kind::kPieces && paint.source == wanted)
        std::memcpy(into.data() + (begin - part.begin), data + (paint.at - first), static_cast<size_t>(end - begin));
    });
  }
}

// The bytes of a part: those of the present object, zeros behind it, and what was written.
void Publisher::fill(const Base& base, const Part& part, std::span<char> into) const {
  const i64 old = std::clamp<i64>(base.bytes - part.begin, 0, part.end - part.begin);
  const bool all_new = painted_.covers(part.begin, part.end);
  if (old > 0 && !all_new) reader_.read_of(base.object, part.begin, into.first(static_cast<size_t>(old)));
  if (!all_new) std::memset(into.data() + old, 0, into.size() - static_cast<size_t>(old));
  fill_from_pieces(part, into);
  painted_.visit(part.begin, part.end, [&](i64 begin, i64 end, const Paint& paint) {
    if (paint.kind == Kind::kPart) throw Failure(EIO, "a part that was sent has no place in the object: this is a defect of the driver");
    const auto place = into.subspan(static_cast<size_t>(begin - part.begin), static_cast<size_t>(end - begin));
    if (paint.kind == Kind::kMemory) staged_.copy_memory(begin, place);
    if (paint.kind == Kind::kKept) std::memcpy(place.data(), kept_.data() + paint.at, place.size());
  });
}

// Where the store has all of these bytes in a row. No key: nowhere.
CopySource Publisher::source_of(const Base& base, i64 begin, i64 end) const {
  CopySource source;
  i64 painted = 0;
  painted_.visit(begin, end, [&](i64 from, i64 to, const Paint& paint) {
    painted += to - from;
    if (paint.kind == Kind::kPieces && from == begin && to == end && to - from > kLeastSource) source = {objects_[paint.source].key, paint.at, paint.at + (to - from)};
  });
  if (painted == 0 && end <= base.bytes && base.bytes > kLeastSource) source = {key_, begin, end, base.object.etag};
  if (painted == 0 && begin >= base.bytes && end - begin <= kBlock && !zeros_.empty()) source = {zeros_, 0, end - begin};
  return source;
}

// Zeros of long holes are sent once.
void Publisher::make_zeros(const Base& base, i64 bytes) {
  if (!zeros_.empty() || bytes - base.bytes - painted_.bytes() < kMostTogether) return;
  const std::string zeros(static_cast<size_t>(kBlock), '\0'), key = session_.folder() + "zeros";
  session_.note(key);
  store_.put(key, zeros, std::nullopt);
  zeros_ = key;
}

std::vector<Publisher::Block> Publisher::blocks_of(const Base& base, const Part& part) const {
  std::vector<Block> blocks;
  for (i64 begin = part.begin; begin < part.end; begin += kBlock) {
    const i64 end = std::min(part.end, begin + kBlock);
    const CopySource source = source_of(base, begin, end);
    const bool follows = !blocks.empty() && !source.key.empty() && blocks.back().source.key == source.key && blocks.back().source.end == source.begin;
    if (follows && end - blocks.back().begin <= kMostCopied) blocks.back().end = end, blocks.back().source.end = source.end;
    else blocks.push_back({begin, end, source});
  }
  return blocks;
}

std::string Publisher::compose(const Base& base, const std::string& upload, const Part& part) const {
  const std::string key = session_.folder() + "part-" + std::to_string(part.number);
  const std::string own = store_.create_upload(key);
  std::vector<UploadedPart> made;
  try {
    for (const Block& block : blocks_of(base, part)) {
      UploadedPart one{static_cast<i64>(made.size()) + 1, block.end - block.begin, ""};
      if (!block.source.key.empty()) {
        one.etag = store_.copy_part(key, own, one.number, block.source);
      } else {
        std::vector<char> data(static_cast<size_t>(one.bytes));
        fill(base, {part.number, block.begin, block.end}, data);
        one.etag = store_.upload_part(key, own, one.number, {data.data(), data.size()});
      }
      made.push_back(one);
    }
    store_.complete(key, own, made, part.end - part.begin, std::nullopt);
  } catch (...) {
    try {
      store_.abort_upload(key, own);
    } catch (...) {   // the first one says more
    }
    throw;
  }
  std::string etag = store_.copy_part(key_, upload, part.number + 1, {key, 0, part.end - part.begin});
  store_.remove(key);
  return etag;
}

std::string Publisher::make_part(const Base& base, const std::string& upload, const Part& part) const {
  if (const CopySource source = source_of(base, part.begin, part.end); !source.key.empty())
    return store_.copy_part(key_, upload, part.number + 1, source);
  if (part.end - part.begin > kMostTogether) return compose(base, upload, part);
  std::vector<char> data(static_cast<size_t>(part.end - part.begin));
  fill(base, part, data);
  return store_.upload_part(key_, upload, part.number + 1, {data.data(), data.size()});
}

std::vector<UploadedPart> Publisher::make_parts(const Base& base, i64 bytes) {
  std::vector<Part> todo;   // one request each
  for (i64 number = 0; grid_.begin(number) < bytes; ++number) {
    const Part part{number, grid_.begin(number), std::min(grid_.end(number), bytes)};
    if (sent_.contains(number) && part.end == grid_.end(number)) continue;
    const bool copies = !is_painted(part) && part.end <= base.bytes;
    const bool follows = copies && !todo.empty() && todo.back().end == part.begin && part.end - todo.back().begin <= kMostCopied;
    const bool joins = follows && !is_painted(todo.back());   // both are copied
    if (joins) todo.back().end = part.end;
    else todo.push_back(part);
  }
  make_zeros(base, bytes);
  std::mutex mutex;
  std::vector<UploadedPart> made;
  for (const auto& [number, part] : sent_)
    if (grid_.end(number) <= bytes) made.push_back(part);
  const std::string upload = session_.upload();
  Jobs jobs(kMostRequests);
  for (const Part& part : todo)
    jobs.start([&, part] {
      const UploadedPart one{part.number + 1, part.end - part.begin, make_part(base, upload, part)};
      std::lock_guard lock(mutex);
      made.push_back(one);
    });
  jobs.wait();
  std::sort(made.begin(), made.end(), [](const UploadedPart& a, const UploadedPart& b) { return a.number < b.number; });
  return made;
}

void Publisher::make(const Base& base, i64 bytes) {
  const Expected expected = base.object.exists ? base.object.etag : std::string();
  if (sent_.empty() && bytes <= grid_.end(0)) {
    std::vector<char> data(static_cast<size_t>(bytes));
    if (bytes > 0) fill(base, {0, 0, bytes}, data);
    const Object made = store_.put(key_, {data.data(), data.size()}, expected);
    reader_.know(made, std::move(data));
    return;
  }
  reader_.know(store_.complete(key_, session_.upload(), make_parts(base, bytes), bytes, expected));
  session_.consumed();
}

std::optional<i64> Publisher::publish(const Resize& resize, i64 before) {
  gather();
  if (!painted_.empty()) find_sent_parts();
  uncover_present();
  if (painted_.empty() && !resize.asked) return std::nullopt;
  i64 bytes = 0;
  for (int rivals = 0;; ++rivals) {
    reader_.forget();   // somebody else may have replaced it since this open looked, and not all stores know conditions
    Base base{reader_.object()};
    if (!base.object.exists && before > 0) throw deleted();
    base.bytes = std::min(base.object.bytes, resize.cut);
    bytes = std::max({base.bytes, resize.least, painted_.end()});
    try {
      if (sent_.empty() && base.object.exists && painted_.empty() && bytes == base.object.bytes) return bytes;   // it has that size
      keep_present(base);
      make(base, bytes);
      break;
    } catch (const Failure& failure) {   // somebody else has replaced the object: once more, with his
      reader_.forget();
      if (failure.code() != ESTALE || rivals >= kMostRivals) throw;
    }
  }
  if (!late_.empty()) paint_late();
  return bytes;
}

// Parts that were sent can't be read before they are in an object. So what was written over them comes in a second step.
void Publisher::paint_late() {
  painted_ = std::move(late_);
  late_ = {};
  sent_.clear();
  const Object object = reader_.object();
  make({object, object.bytes}, object.bytes);
}

}  // namespace mercutio_s3
