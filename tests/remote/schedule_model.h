// What a file may hold after operations some of which failed or are not confirmed yet: for each byte the set of operations that
// may have written it last. A file belongs to one client, whose operations follow each other; each has a tag, in order, and
// writes bytes that tell tag and offset. Confirming one takes all older ones from its bytes; a failed one stays possible. One
// that failed without an answer may even come later than what follows it, until its session has ended: the client has another one,
// or the server was started anew.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace mercutio::remote {

struct Range {
  i64 begin = 0, end = 0;
};

class FileModel {
 public:
  static constexpr int kMostTags = 64;

  // Bytes [base, base + bytes) of the file. Where others write beside it, its size is not known.
  FileModel(i64 base, i64 bytes, bool alone) : base_(base), alone_(alone), possible_(static_cast<size_t>(bytes), 1), late_(possible_.size(), 0) {}

  i64 base() const { return base_; }
  i64 bytes() const { return static_cast<i64>(possible_.size()); }
  bool alone() const { return alone_; }
  bool has_tags() const { return next_ < kMostTags; }

  int begin_write(std::vector<Range> ranges) {
    const int tag = next_++;
    Operation& operation = operations_[static_cast<size_t>(tag)];
    for (const Range& range : ranges) operation.end = std::max(operation.end, range.end);
    operation.ranges = std::move(ranges);
    highest_ = std::max(highest_, operation.end);
    each(operation, [&](size_t i) { possible_[i] |= bit(tag); });
    return tag;
  }
  int begin_truncate(i64 size) {
    for (Operation& earlier : operations_) earlier.end = std::min(earlier.end, size);
    const int tag = next_++;
    Operation& operation = operations_[static_cast<size_t>(tag)];
    operation.truncates = true;
    operation.end = size;
    operation.ranges = {{size, base_ + bytes()}};
    lowest_ = std::min(lowest_, size);
    highest_ = std::max(highest_, size);
    each(operation, [&](size_t i) { possible_[i] |= bit(tag); });
    return tag;
  }
  void confirm(int tag) {
    const Operation& operation = operations_[static_cast<size_t>(tag)];
    each(operation, [&](size_t i) { possible_[i] = (possible_[i] & ~(bit(tag) - 1)) | late_[i]; });
    if (!operation.truncates) lowest_ = std::max(lowest_, operation.end);
    if (operation.truncates) lowest_ = highest_ = operation.end;
  }
  void fail(int tag, bool may_come_late) {
    const Operation& operation = operations_[static_cast<size_t>(tag)];
    if (!may_come_late) return;
    each(operation, [&](size_t i) { late_[i] |= bit(tag); });
    (operation.truncates ? late_lowest_ : late_highest_) =
        operation.truncates ? std::min(late_lowest_, operation.end) : std::max(late_highest_, operation.end);
    if (operation.truncates) late_highest_ = std::max(late_highest_, operation.end);
    has_late_ = true;
  }
  const std::vector<Range>& ranges(int tag) const { return operations_[static_cast<size_t>(tag)].ranges; }
  bool has_late() const { return has_late_; }
  void forget_late() {   // what may have come has come
    if (!has_late_) return;
    for (size_t i = 0; i < possible_.size(); ++i) possible_[i] |= std::exchange(late_[i], 0);
    lowest_ = std::min(lowest_, late_lowest_);
    highest_ = std::max(highest_, late_highest_);
    late_lowest_ = INT64_MAX;
    late_highest_ = 0;
    has_late_ = false;
  }

  std::byte value(int tag, i64 offset) const {
    if (tag == 0 || operations_[static_cast<size_t>(tag)].truncates) return std::byte{0};
    return static_cast<std::byte>(1 + (tag * 3 + offset * 7 + offset / 4096) % 251);
  }

  // Empty: it may be so.
  std::string check_bytes(i64 offset, const std::byte* got, i64 count) const {
    for (i64 i = 0; i < count; ++i)
      if (!may_be(offset + i, got[i])) return explain(offset + i, got[i]);
    return {};
  }
  std::string check_size(i64 size) const {
    const i64 low = std::min(lowest_, late_lowest_), high = std::max(highest_, late_highest_);
    if (size >= low && (!alone_ || size <= high)) return {};
    return "a size of " + std::to_string(size) + ", which must be from " + std::to_string(low) + " to " + std::to_string(high);
  }
  // A read of [offset, offset + wanted) that got so many bytes.
  std::string check_count(i64 offset, i64 wanted, i64 got) const {
    const i64 low = std::clamp<i64>(std::min(lowest_, late_lowest_) - offset, 0, wanted);
    const i64 high = alone_ ? std::clamp<i64>(std::max(highest_, late_highest_) - offset, 0, wanted) : wanted;
    if (got >= low && got <= high) return {};
    return "a read of " + std::to_string(wanted) + " bytes at " + std::to_string(offset) + " got " + std::to_string(got) + ", not " +
           std::to_string(low) + " to " + std::to_string(high);
  }

 private:
  using Tags = std::uint64_t;
  struct Operation {
    std::vector<Range> ranges;
    i64 end = 0;
    bool truncates = false;
  };
  static Tags bit(int tag) { return Tags{1} << tag; }
  template <class Function>
  void each(const Operation& operation, Function function) {
    for (const Range& range : operation.ranges)
      for (i64 at = std::max(range.begin, base_); at < std::min(range.end, base_ + bytes()); ++at)
        function(static_cast<size_t>(at - base_));
  }
  bool may_be(i64 offset, std::byte got) const {
    for (Tags rest = possible_[static_cast<size_t>(offset - base_)]; rest != 0; rest &= rest - 1)
      if (value(__builtin_ctzll(rest), offset) == got) return true;
    return false;
  }
  std::string explain(i64 offset, std::byte got) const {
    std::string text = "byte " + std::to_string(offset) + " holds " + std::to_string(static_cast<int>(got)) + " of";
    for (int tag = 0; tag < next_; ++tag)
      if (value(tag, offset) == got) text += " operation " + std::to_string(tag);
    text += ", but must be of";
    for (int tag = 0; tag < next_; ++tag)
      if (possible_[static_cast<size_t>(offset - base_)] & bit(tag)) text += " " + std::to_string(tag);
    return text;
  }

  const i64 base_;
  const bool alone_;
  std::vector<Tags> possible_, late_;   // by byte
  std::array<Operation, kMostTags> operations_;
  int next_ = 1;                        // 0: never written
  i64 lowest_ = 0, highest_ = 0, late_lowest_ = INT64_MAX, late_highest_ = 0;
  bool has_late_ = false;
};

}  // namespace mercutio::remote
