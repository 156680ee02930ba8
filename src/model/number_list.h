// An immutable list of numbers: the offsets and lengths of a datatype's blocks, of which irregular maps have millions. The cost is
// dominated by new memory and by memory traffic. So lists are shared as MPI has filled them, also by scaled and shifted versions of
// the same numbers. New lists use 32 bits per number if that is enough for multiples of a power of two.
#pragma once

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <memory>
#include <optional>

#include "base/page_allocator.h"
#include "base/types.h"

namespace mercutio {

using Numbers = LargeVector<i64>;   // a list under construction

class NumberList {
 public:
  // An accessor for loops that has no branch on the representation.
  template <class Stored>
  struct Form {
    const Stored* numbers;
    int shift;
    i64 base;
    i64 operator[](i64 i) const { return (i64{numbers[i]} << shift) + base; }
  };

  NumberList() = default;
  // `count` numbers from index `first` on in a list that may be shared.
  NumberList(std::shared_ptr<const Numbers> from, i64 first, i64 count, int shift = 0)
      : count_(count), wide_(from->data() + first), shift_(shift), owner_(std::move(from)) {}
  NumberList(std::shared_ptr<const LargeVector<std::int32_t>> from, i64 first, i64 count, int shift = 0)
      : count_(count), narrow_(from->data() + first), shift_(shift), owner_(std::move(from)) {}
  NumberList(Numbers numbers) {   // NOLINT: as they are
    if (numbers.empty()) return;
    const auto count = static_cast<i64>(numbers.size());
    *this = NumberList(std::make_shared<const Numbers>(std::move(numbers)), 0, count);
  }
  NumberList(std::initializer_list<i64> numbers) : NumberList(Numbers(numbers.begin(), numbers.end())) {}

  i64 size() const { return count_; }
  bool empty() const { return count_ == 0; }
  i64 operator[](i64 i) const { return ((narrow_ ? i64{narrow_[i]} : wide_[i]) << shift_) + base_; }
  i64 memory_bytes() const { return count_ * static_cast<i64>(narrow_ ? sizeof(std::int32_t) : sizeof(i64)); }

  // Each number times `scale` plus `base`; none may overflow. Shares the memory if `scale` is a power of two.
  std::optional<NumberList> scaled(i64 scale, i64 base) const {
    const int shift = shift_ + std::countr_zero(static_cast<std::uint64_t>(scale));
    if (scale <= 0 || (scale & (scale - 1)) != 0 || shift > 62) return std::nullopt;
    NumberList list = *this;
    list.shift_ = shift;
    list.base_ = base_ * scale + base;
    return list;
  }

  template <class Work>
  decltype(auto) visit(Work&& work) const {
    return narrow_ ? work(Form<std::int32_t>{narrow_, shift_, base_}) : work(Form<i64>{wide_, shift_, base_});
  }

  // In an ascending list, the first entry that is at least `limit`; size() if there is none. O(log size).
  i64 first_from(i64 limit) const {
    const i64 rest = limit - base_, above = (i64{1} << shift_) - 1, least = (rest >> shift_) + ((rest & above) != 0 ? 1 : 0);
    if (narrow_) return std::lower_bound(narrow_, narrow_ + count_, least) - narrow_;
    return std::lower_bound(wide_, wide_ + count_, least) - wide_;
  }

 private:
  i64 count_ = 0;
  const i64* wide_ = nullptr;
  const std::int32_t* narrow_ = nullptr;   // one of the two
  int shift_ = 0;
  i64 base_ = 0;
  std::shared_ptr<const void> owner_;
};

// Facts about numbers before they are computed: bounds, and the bitwise or of all of them (or of their summands).
struct NumberRange {
  i64 least = 0, greatest = 0;
  i64 bits = 0;

  int shift() const { return bits == 0 ? 0 : std::countr_zero(static_cast<std::uint64_t>(bits)); }
  bool is_narrow() const { return least >> shift() >= INT32_MIN && greatest >> shift() <= INT32_MAX; }
};

// Makes a list of `count` numbers within the range. Each must be set.
class NumberListMaker {
 public:
  struct Wide {
    i64* numbers;
    void set(i64 i, i64 number) const { numbers[i] = number; }
  };
  struct Narrow {
    std::int32_t* numbers;
    int shift;
    void set(i64 i, i64 number) const { numbers[i] = static_cast<std::int32_t>(number >> shift); }
  };

  NumberListMaker(i64 count, const NumberRange& range) : count_(count), shift_(range.shift()) {
    const auto room = static_cast<std::size_t>(count);
    if (range.is_narrow())
      narrow_ = std::make_shared<LargeVector<std::int32_t>>(room);
    else
      wide_ = std::make_shared<Numbers>(room);
  }
  bool empty() const { return count_ == 0; }
  void set(i64 i, i64 number) {
    fill([&](auto list) { list.set(i, number); });
  }
  // Calls work(list) with the actual representation.
  template <class Work>
  void fill(Work&& work) {
    narrow_ ? work(Narrow{narrow_->data(), shift_}) : work(Wide{wide_->data()});
  }
  NumberList take() {
    return narrow_ ? NumberList(std::move(narrow_), 0, count_, shift_) : NumberList(std::move(wide_), 0, count_);
  }

 private:
  i64 count_;
  int shift_;
  std::shared_ptr<LargeVector<std::int32_t>> narrow_;   // one of the two
  std::shared_ptr<Numbers> wide_;
};

// The same numbers, in 32 bits each if possible.
inline NumberList narrowed(const Numbers& numbers) {
  NumberRange range;
  for (const i64 number : numbers) {
    range.least = std::min(range.least, number);
    range.greatest = std::max(range.greatest, number);
    range.bits |= number;
  }
  NumberListMaker made(static_cast<i64>(numbers.size()), range);
  for (i64 i = 0; const i64 number : numbers) made.set(i++, number);
  return made.take();
}

}  // namespace mercutio
