#include "staged.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mercutio_s3 {
namespace {

constexpr size_t kMostParts = 256;   // in memory, of which few bytes may be known

}  // namespace

i64 tag_of(const std::string& etag) {
  uint64_t tag = 0xcbf29ce484222325u;   // FNV-1a
  for (const unsigned char c : etag) tag = (tag ^ c) * 0x100000001b3u;
  return static_cast<i64>(tag >> 1);
}

i64 Staged::end() const {
  i64 last = stored_.end();
  for (const auto* const parts : {&parts_, &sending_})
    if (!parts->empty()) last = std::max(last, parts->rbegin()->second->known.end());
  if (!sent_.empty()) last = std::max(last, sent_.rbegin()->second.known.end());
  return last;
}

i64 Staged::kept_bytes() const {
  i64 bytes = 0;
  for (const auto& [number, part] : sending_) bytes += part->end - part->begin;
  return bytes;
}

// A part that was sent and is still here is filled further, and sent again.
Staged::Part& Staged::part_for_writing(i64 number) {
  if (const auto kept = sending_.find(number); kept != sending_.end()) {
    jobs_.wait();
    bytes_ += kept->second->known.bytes();
    parts_[number] = kept->second;
    sending_.erase(kept);
  }
  PartRef& part = parts_[number];
  if (!part) {
    auto made = std::make_shared<Part>();
    made->begin = grid_.begin(number);
    made->end = grid_.end(number);
    made->data = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(made->end - made->begin));
    part = std::move(made);
  }
  part->used = ++uses_;
  return *part;
}

void Staged::write(i64 offset, std::span<const char> data, i64 turn) {
  given_up_.erase(offset, offset + static_cast<i64>(data.size()));
  while (!data.empty()) {
    const i64 number = grid_.part_of(offset);
    const i64 end = std::min(grid_.end(number), offset + static_cast<i64>(data.size()));
    make_room(grid_.end(number) - grid_.begin(number));
    Part& part = part_for_writing(number);
    std::memcpy(part.data.get() + (offset - part.begin), data.data(), static_cast<size_t>(end - offset));
    bytes_ -= part.known.bytes();
    part.known.put(offset, end, Turn{turn});
    bytes_ += part.known.bytes();
    data = data.subspan(static_cast<size_t>(end - offset));
    offset = end;
  }
}

void Staged::make_room(i64 part_bytes) {
  const i64 most = std::max(store_.client().settings().memory_bytes, 2 * part_bytes);
  while (bytes_ > most / 2 && send_one(/*any=*/false)) continue;
  if (bytes_ + kept_bytes() + part_bytes > most) forget_sent();
  if (bytes_ > most || parts_.size() >= kMostParts) {
    while (send_one(/*any=*/true)) continue;
    forget_sent();
    store_pieces();
  }
}

// Starts to send the part that is whole and was written the longest ago. The file's first one comes last: headers are written again.
bool Staged::send_one(bool any) {
  PartRef oldest;
  i64 number = -1;
  for (const auto& [at, part] : parts_) {
    if (!part->whole() || (at == 0 && !any) || (oldest && part->used > oldest->used)) continue;
    oldest = part;
    number = at;
  }
  if (!oldest) return false;
  oldest->sent = ++sendings_;
  bytes_ -= oldest->known.bytes();
  sending_[number] = oldest;
  parts_.erase(number);
  jobs_.start([this, oldest, number] {
    const std::string_view data(oldest->data.get(), static_cast<size_t>(oldest->end - oldest->begin));
    oldest->etag = store_.upload_part(key_, session_.upload(), number + 1, data);
  });
  return true;
}

// Makes room of what has been sent.
void Staged::forget_sent() {
  jobs_.wait();
  for (auto& [number, part] : sending_) sent_[number] = SentPart{part->etag, std::move(part->known), part->sent};
  sending_.clear();
}

void Staged::send_whole_parts() {
  while (send_one(/*any=*/true)) continue;
  jobs_.wait();
}

std::vector<Entry> Staged::entries_of(const std::map<i64, PartRef>& parts) const {
  std::vector<Entry> entries;
  for (const auto& [number, part] : parts) {
    for (const auto& [begin, rest] : part->known.all()) entries.push_back({begin, rest.end - begin, rest.value.turn, part->sent, kInPart, tag_of(part->etag)});
  }
  return entries;
}

std::vector<Entry> Staged::sent_entries() const {
  std::vector<Entry> entries = entries_of(sending_);
  for (const auto& [number, part] : sent_) {
    for (const auto& [begin, rest] : part.known.all()) entries.push_back({begin, rest.end - begin, rest.value.turn, part.sent, kInPart, tag_of(part.etag)});
  }
  for (const auto& [begin, rest] : given_up_.all()) entries.push_back({begin, rest.end - begin, rest.value.turn, sendings_ + 1, kGivenUp, 0});
  return entries;
}

std::vector<Entry> Staged::memory_entries() const {
  std::vector<Entry> entries = entries_of(parts_);
  for (Entry& entry : entries) entry.at = 0, entry.sent = sendings_ + 1;
  return entries;
}

void Staged::store_pieces() {
  std::vector<Entry> entries = sent_entries();
  const std::vector<Entry> pieces = memory_entries();
  ++sendings_;
  i64 bytes = 0;
  for (Entry rest : pieces) {
    while (rest.bytes > 0) {
      Entry one = rest;
      one.bytes = std::min(rest.bytes, kMostStored - bytes);
      entries.push_back(one);
      bytes += one.bytes;
      rest.offset += one.bytes;
      rest.bytes -= one.bytes;
      if (bytes < kMostStored) continue;
      store_object(std::exchange(entries, {}));
      bytes = 0;
    }
  }
  if (!entries.empty()) store_object(std::move(entries));
  parts_.clear();
  bytes_ = 0;
}

// Of what was not sent before, the bytes are in memory.
void Staged::store_object(std::vector<Entry> entries) {
  const size_t records = entries.size() * sizeof(Entry);
  i64 end = static_cast<i64>(records);
  for (Entry& entry : entries)
    if (entry.at >= 0) end += entry.bytes, entry.at = end - entry.bytes;
  std::string object(static_cast<size_t>(end), '\0');
  std::memcpy(object.data(), entries.data(), records);
  for (const Entry& entry : entries)
    if (entry.at >= 0) copy_memory(entry.offset, std::span(object).subspan(static_cast<size_t>(entry.at), static_cast<size_t>(entry.bytes)));
  const std::string key = session_.folder() + "r" + std::to_string(session_.rank()) + "-" + std::to_string(++stored_numbers_) + "-" + std::to_string(entries.size());
  session_.note(key);
  store_.put(key, object, std::nullopt);
  for (const Entry& entry : entries)
    if (entry.at >= 0) stored_.put(entry.offset, entry.offset + entry.bytes, Stored{key, entry.at});
}

bool Staged::in_memory(i64 offset, i64 bytes) const {
  i64 known = 0;
  for (const auto* const parts : {&parts_, &sending_})
    for (auto at = parts->lower_bound(grid_.part_of(offset)); at != parts->end() && at->second->begin < offset + bytes; ++at)
      at->second->known.visit(offset, offset + bytes, [&](i64 begin, i64 end, Turn) { known += end - begin; });
  return known == bytes;
}

void Staged::copy_memory(i64 offset, std::span<char> into) const {
  const i64 last = offset + static_cast<i64>(into.size());
  for (const auto* const parts : {&sending_, &parts_})
    for (auto at = parts->lower_bound(grid_.part_of(offset)); at != parts->end() && at->second->begin < last; ++at)
      at->second->known.visit(offset, last, [&](i64 begin, i64 end, Turn) {
        std::memcpy(into.data() + (begin - offset), at->second->data.get() + (begin - at->second->begin), static_cast<size_t>(end - begin));
      });
}

bool Staged::overlay(i64 offset, std::span<char> into) {
  const i64 last = offset + static_cast<i64>(into.size());
  for (auto at = sent_.lower_bound(grid_.part_of(offset)); at != sent_.end() && grid_.begin(at->first) < last; ++at) {
    const i64 begin = std::max(offset, grid_.begin(at->first)), end = std::min(last, grid_.end(at->first));
    if (!in_memory(begin, end - begin)) return false;
  }
  stored_.visit(offset, last, [&](i64 begin, i64 end, const Stored& stored) {
    store_.get(stored.key, stored.at, into.subspan(static_cast<size_t>(begin - offset), static_cast<size_t>(end - begin)), "");
  });
  copy_memory(offset, into);
  return true;
}

// What was sent and is still in memory is to be sent again.
void Staged::take_back() {
  jobs_.wait();
  for (auto& [number, part] : sending_) bytes_ += part->known.bytes(), parts_[number] = part;
  sending_.clear();
}

void Staged::give_up(i64 begin, i64 end, bool in_other_ranks, i64 turn) {
  forget(begin, end);
  if (in_other_ranks || !all_in_memory()) given_up_.put(begin, end, Turn{turn});
  stored_.erase(begin, end);
}

void Staged::cut(i64 bytes) {
  take_back();
  forget(bytes, INT64_MAX);
}

void Staged::forget(i64 begin, i64 end) {
  if (std::any_of(sending_.begin(), sending_.end(), [&](const auto& one) { return one.second->begin < end && begin < one.second->end; })) take_back();
  for (auto at = parts_.begin(); at != parts_.end();) {
    bytes_ -= at->second->known.bytes();
    at->second->known.erase(begin, end);
    bytes_ += at->second->known.bytes();
    at = at->second->known.empty() ? parts_.erase(at) : std::next(at);
  }
}

void Staged::clear() {
  jobs_.drain();
  parts_.clear();
  sending_.clear();
  sent_.clear();
  stored_ = {};
  given_up_ = {};
  bytes_ = stored_numbers_ = 0;
}

}  // namespace mercutio_s3
