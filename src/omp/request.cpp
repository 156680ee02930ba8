#include "omp/request.h"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace mercutio::omp {
namespace {

constexpr i64 kMost = std::numeric_limits<i64>::max();
static_assert(sizeof(off_t) == sizeof(i64) && sizeof(size_t) == sizeof(i64) && sizeof(long) == sizeof(i64));

std::string of_part(const char* what, i64 index, bool is_list) {
  return is_list ? std::string(what) + " of part " + std::to_string(index) + " of the list" : std::string(what);
}

}  // namespace

Request Request::single(const Routine& routine, void* buffer, i64 length, i64 offset) {
  Request request(routine);
  request.count = 1;
  request.single_ = iovec{buffer, static_cast<size_t>(length)};
  request.offset_ = offset;
  return request;
}

Request Request::listed(const Routine& routine, const iovec* list, i64 count, const off_t* offsets) {
  Request request(routine);
  request.is_list_ = true;
  request.count = count;
  request.list_ = list;
  request.offsets_ = offsets;
  return request;
}

Status Request::check() {
  if (count < 0) return wrong_argument("the size of the list is " + std::to_string(count) + ": give the number of its parts");
  if (is_list_ && count > 0 && !list_) return wrong_argument("the list is NULL, but has a size");
  if (is_list_ && count > 0 && routine.explicit_offsets && !offsets_)
    return wrong_argument("the offsets are NULL, but the list has a size");
  i64 behind = 0;
  bytes = 0;
  lowest = kMost;
  highest = 0;
  for (i64 i = 0; i < count; ++i) {
    MERCUTIO_TRY(check_part(i));
    bytes += length(i);
    if (!routine.explicit_offsets) continue;
    ascending = ascending && offset(i) >= behind;
    behind = offset(i) + length(i);
    if (length(i) == 0) continue;
    lowest = std::min(lowest, offset(i));
    highest = std::max(highest, behind);
  }
  if (lowest > highest) lowest = highest;
  return ok_status();
}

Status Request::check_part(i64 index) {
  const i64 wanted = length(index);
  if (wanted < 0)
    return wrong_argument(of_part("the length", index, is_list_) + " is negative (" + std::to_string(wanted) +
                          "): lengths count bytes");
  if (wanted > 0 && !part(index).iov_base)
    return Error{ErrorClass::kBuffer, of_part("the buffer", index, is_list_) + " is NULL, but has a length", EFAULT};
  if (bytes > kMost - wanted) return wrong_argument("the lengths add up to more than a file can hold");
  if (!routine.explicit_offsets) return ok_status();
  if (offset(index) < 0)
    return wrong_argument(of_part("the offset", index, is_list_) + " is negative (" + std::to_string(offset(index)) + ")");
  if (offset(index) > kMost - wanted)
    return wrong_argument(of_part("the end", index, is_list_) + " is beyond what a file can hold");
  return ok_status();
}

bool Request::same_arguments(const Request& other) const {
  if (count != other.count || bytes != other.bytes) return false;
  if (is_list_ && list_ == other.list_ && offsets_ == other.offsets_) return true;
  for (i64 i = 0; i < count; ++i) {
    if (part(i).iov_base != other.part(i).iov_base || length(i) != other.length(i)) return false;
    if (routine.explicit_offsets && offset(i) != other.offset(i)) return false;
  }
  return true;
}

}  // namespace mercutio::omp
