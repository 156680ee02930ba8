// Which bytes are known, and of which kind: disjoint ranges of a file, each with a value. What is put later covers what was there.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/types.h"

namespace mercutio {

// `Value` has `==`, and `moved(by)`: its value for the part of a range that begins `by` bytes later.
template <class Value>
class Ranges {
 public:
  struct Rest {
    i64 end;
    Value value;
  };
  using Map = std::map<i64, Rest>;   // by where a range begins
  const Map& all() const { return map_; }
  bool empty() const { return map_.empty(); }
  i64 bytes() const { return bytes_; }
  i64 end() const { return map_.empty() ? 0 : std::prev(map_.end())->second.end; }

  // put() and erase() change nothing if they run out of memory.
  void put(i64 begin, i64 end, const Value& value) {
    if (begin >= end) return;
    Map made;
    made.emplace(begin, Rest{end, value});
    erase(begin, end);
    auto at = map_.insert(made.extract(made.begin())).position;
    bytes_ += end - begin;
    if (at != map_.begin()) at = joined(std::prev(at));
    joined(at);
  }

  void erase(i64 begin, i64 end) {
    auto at = map_.upper_bound(begin);
    if (at != map_.begin() && std::prev(at)->second.end > begin) --at;
    while (at != map_.end() && at->first < end) {
      const i64 first = at->first, last = at->second.end;
      const auto next = std::next(at);
      if (first < begin) {
        if (last > end) map_.emplace_hint(next, end, Rest{last, at->second.value.moved(end - first)});   // the only range that is met
        at->second.end = begin;
      } else if (last > end) {
        auto rest = map_.extract(at);
        rest.key() = end;
        rest.mapped().value = rest.mapped().value.moved(end - first);
        map_.insert(next, std::move(rest));
      } else {
        map_.erase(at);
      }
      bytes_ -= std::min(last, end) - std::max(first, begin);
      at = next;
    }
  }

  // Calls visit(begin, end, value) for what is known of [begin, end), in its order.
  template <class Visit>
  void visit(i64 begin, i64 end, Visit visit) const {
    auto at = map_.upper_bound(begin);
    if (at != map_.begin() && std::prev(at)->second.end > begin) --at;
    for (; at != map_.end() && at->first < end; ++at) {
      const i64 from = std::max(begin, at->first);
      visit(from, std::min(end, at->second.end), at->second.value.moved(from - at->first));
    }
  }
  bool covers(i64 begin, i64 end) const {
    i64 known = 0;
    visit(begin, end, [&](i64 from, i64 to, const Value&) { known += to - from; });
    return known == end - begin;
  }

 private:
  using Place = typename Map::iterator;
  // One range with the next one, where they are alike.
  Place joined(Place at) {
    const auto next = std::next(at);
    if (next == map_.end() || next->first != at->second.end || !(at->second.value.moved(next->first - at->first) == next->second.value)) return next;
    at->second.end = next->second.end;
    map_.erase(next);
    return at;
  }

  Map map_;
  i64 bytes_ = 0;
};

}  // namespace mercutio
