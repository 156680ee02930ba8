// A list of numbers that doesn't change: the places and lengths of a datatype's blocks, of which maps have millions. What is read
// of memory is what they cost, so they take 32 bits each where that holds all of them as multiples of a power of two, and
// copies share them.
#pragma once

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <memory>

#include "base/page_allocator.h"
#include "base/types.h"

namespace mercutio {

using Numbers = LargeVector<i64>;   // a list in the making

class NumberList {
 public:
  // How one is read in a loop, without asking each time which form it has.
  struct Wide {
    const i64* numbers;
    i64 operator[](i64 i) const { return numbers[i]; }
  };
  struct Narrow {
    const std::int32_t* numbers;
    int shift;
    i64 operator[](i64 i) const { return i64{numbers[i]} << shift; }
  };

  NumberList() = default;
  // `count` numbers from `first` on in a list that others may share.
  NumberList(std::shared_ptr<const Numbers> from, i64 first, i64 count) : count_(count), wide_(from->data() + first), owner_(std::move(from)) {}
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
  i64 operator[](i64 i) const { return narrow_ ? Narrow{narrow_, shift_}[i] : wide_[i]; }
  i64 back() const { return (*this)[count_ - 1]; }
  i64 memory_bytes() const { return count_ * static_cast<i64>(narrow_ ? sizeof(std::int32_t) : sizeof(i64)); }

  template <class Work>
  decltype(auto) visit(Work&& work) const {
    return narrow_ ? work(Narrow{narrow_, shift_}) : work(Wide{wide_});
  }

  // In an ascending list, the first entry that is at least `limit`, or above it; size() if there is none. O(log size).
  i64 first_from(i64 limit) const {
    if (!narrow_) return std::lower_bound(wide_, wide_ + count_, limit) - wide_;
    const i64 above = (i64{1} << shift_) - 1, least = (limit >> shift_) + ((limit & above) != 0 ? 1 : 0);
    return std::lower_bound(narrow_, narrow_ + count_, least) - narrow_;
  }
  i64 first_above(i64 limit) const {
    if (!narrow_) return std::upper_bound(wide_, wide_ + count_, limit) - wide_;
    return std::upper_bound(narrow_, narrow_ + count_, limit >> shift_) - narrow_;
  }

 private:
  i64 count_ = 0;
  const i64* wide_ = nullptr;
  const std::int32_t* narrow_ = nullptr;   // one of the two
  int shift_ = 0;
  std::shared_ptr<const void> owner_;
};

// What is known of numbers before they come: bounds, and bits that are or-ed of all of them (or of what they are sums of).
struct NumberRange {
  i64 least = 0, greatest = 0;
  i64 bits = 0;

  int shift() const { return bits == 0 ? 0 : std::countr_zero(static_cast<std::uint64_t>(bits)); }
  bool is_narrow() const { return least >> shift() >= INT32_MIN && greatest >> shift() <= INT32_MAX; }
};

// Makes a list of `count` numbers, all of them within the range. Each has to be set.
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
    range.is_narrow() ? narrow_->resize(static_cast<std::size_t>(count)) : wide_->resize(static_cast<std::size_t>(count));
  }
  bool empty() const { return count_ == 0; }
  void set(i64 i, i64 number) {
    fill([&](auto list) { list.set(i, number); });
  }
  // work(list), with the form the list has.
  template <class Work>
  void fill(Work&& work) {
    narrow_->empty() ? work(Wide{wide_->data()}) : work(Narrow{narrow_->data(), shift_});
  }
  NumberList take() {
    return narrow_->empty() ? NumberList(std::move(wide_), 0, count_) : NumberList(std::move(narrow_), 0, count_, shift_);
  }

 private:
  i64 count_;
  int shift_;
  std::shared_ptr<LargeVector<std::int32_t>> narrow_ = std::make_shared<LargeVector<std::int32_t>>();
  std::shared_ptr<Numbers> wide_ = std::make_shared<Numbers>();
};

// The same numbers, narrow if they can be.
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
