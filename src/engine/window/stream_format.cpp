#include "engine/window/stream_format.h"

#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "engine/window/run_list.h"
#include "model/copy_run.h"

namespace mercutio {
namespace {

Error malformed() { return Error{ErrorClass::kIntern, "a window of a node stream does not fit its domain"}; }

// Takes the runs of a window in ascending order, and describes them by the header alone if that is possible.
class RunCollector {
 public:
  RunCollector(int shift, std::vector<StreamRun>* runs) : shift_(shift), runs_(runs) {}

  void add(i64 begin, i64 end) {   // bytes of the window; not adjacent to the run before
    const i64 number = header_.runs++, length = end - begin;
    if (number == 0) header_.first = begin;
    if (number == 0) first_length_ = length;
    if (number == 1) stride_ = begin - header_.first;
    const bool was_even = std::exchange(even_, even_ && length == first_length_ && begin == header_.first + number * stride_);
    header_.bytes += length;
    if (runs_) runs_->push_back(StreamRun{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(length)});
    if (even_) return;
    for (i64 i = 0; was_even && i < number; ++i) list(header_.first + i * stride_, first_length_);
    list(begin, length);
  }

  StreamHeader finish(i64 window, std::vector<std::byte>& run_list) {
    header_.window = window;
    if (even_) {
      header_.stride = header_.runs > 1 ? stride_ : 0;
    } else {
      run_list = list_.finish();
      header_.list_bytes = std::ssize(run_list);
    }
    return header_;
  }

 private:
  void list(i64 begin, i64 length) {
    const i64 unit = begin >> shift_, units = length >> shift_;
    MERCUTIO_ASSERT(unit >= free_from_ && units > 0 && unit << shift_ == begin && units << shift_ == length);
    list_.add(static_cast<std::uint64_t>(unit - free_from_), static_cast<std::uint64_t>(units - 1));
    free_from_ = unit + units + 1;
  }

  const int shift_;            // a unit is 1 << shift_ bytes
  std::vector<StreamRun>* const runs_;
  StreamHeader header_;
  i64 first_length_ = 0, stride_ = 0;
  bool even_ = true;           // all runs so far have one length and one distance
  RunListWriter list_;         // of all runs, or empty as long as they are even
  i64 free_from_ = 0;          // the first unit at which the next run may begin
};

}  // namespace

StreamHeader describe(const WindowBuffer& buffer, i64 window, std::vector<std::byte>& run_list, std::vector<StreamRun>& runs) {
  const ValidMap valid = buffer.valid_map(window);
  RunCollector collector(valid.shift, &runs);
  for (i64 begin = valid.next_valid(0); begin < valid.bytes;) {
    const i64 end = valid.next_hole(begin);
    collector.add(begin, end);
    begin = valid.next_valid(end);
  }
  return collector.finish(window, run_list);
}

StreamHeader describe(const WindowBuffer& buffer, const WindowPart& part, const RankAccess& access, std::vector<std::byte>& run_list) {
  const FileRange range = buffer.window(part.window);
  Cursor runs = access.view->cursor_in(nullptr, range.begin, part.begin, part.end);
  StridedRun run = runs.next();
  if (runs.done() && run.count > 1 && run.stride > run.bytes)   // there are no others
    return StreamHeader{part.window, run.count * run.bytes, run.offset, 0, run.count, run.stride};
  RunCollector collector(std::countr_zero(static_cast<std::uint64_t>(buffer.unit_of(range))), nullptr);
  for (bool first = true; first || !runs.done(); first = false) {
    if (!first) run = runs.next();
    for (i64 i = 0; i < run.count; ++i) collector.add(run.offset + i * run.stride, run.offset + i * run.stride + run.bytes);
  }
  return collector.finish(part.window, run_list);
}

Status check(const WindowBuffer& buffer, const StreamHeader& header) {
  if (header.parcel != 0) {
    const bool fits = header.window >= 0 && header.window < buffer.windows() && header.bytes > 0 && header.bytes <= buffer.plan().parcel_bytes;
    const bool answer_fits = header.first >= 0 && header.first <= buffer.plan().parcel_bytes;
    const bool plain = header.list_bytes == 0 && header.runs == 0 && header.stride == 0 && header.cache_index < 0;
    return fits && answer_fits && plain && (header.parcel == 1 || header.parcel == 2) ? ok_status() : Status(malformed());
  }
  const bool empty = header.bytes == 0 && header.list_bytes == 0 && header.cache_index < 0;
  if (header.window < 0 || header.window > buffer.windows()) return malformed();
  if (header.window == buffer.windows() || header.bytes == 0) return empty ? ok_status() : Status(malformed());
  const FileRange range = buffer.window(header.window);
  const bool in_window = header.first >= 0 && header.bytes > 0 && header.first <= range.bytes() && header.bytes <= range.bytes() - header.first;
  const bool list_fits = header.list_bytes >= 0 && header.list_bytes <= range.bytes();
  return in_window && list_fits ? ok_status() : Status(malformed());
}

Result<std::vector<StreamRun>> runs_of(const WindowBuffer& buffer, const StreamHeader& header, ConstBytes run_list) {
  if (header.window >= buffer.windows()) return malformed();
  MERCUTIO_TRY(check(buffer, header));
  const FileRange range = buffer.window(header.window);
  const i64 unit = buffer.unit_of(range), units = range.bytes() / unit;
  std::vector<StreamRun> runs;
  if (header.one_run()) {
    runs.push_back(StreamRun{static_cast<std::uint32_t>(header.first), static_cast<std::uint32_t>(header.bytes)});
  } else if (header.stride != 0) {
    const bool possible = header.runs > 1 && header.runs <= header.bytes && header.bytes % header.runs == 0 && header.stride > 0 && header.stride <= range.bytes() / (header.runs - 1);
    if (!possible || header.bytes / header.runs > header.stride) return malformed();
    const i64 length = header.bytes / header.runs;
    for (i64 i = 0; i < header.runs; ++i) {
      runs.push_back(StreamRun{static_cast<std::uint32_t>(header.first + i * header.stride), static_cast<std::uint32_t>(length)});
    }
  } else {
    if (header.runs <= 0 || header.runs > (units + 1) / 2) return malformed();
    runs.reserve(static_cast<size_t>(header.runs));
    RunListReader list(run_list);
    for (i64 i = 0, free_from = 0; i < header.runs; ++i) {
      const auto free = static_cast<std::uint64_t>(std::max<i64>(units - free_from, 0));
      const std::uint64_t gap = list.gap(), length = list.length();
      if (gap >= free || length >= free - gap) return malformed();
      const i64 begin = free_from + static_cast<i64>(gap), end = begin + static_cast<i64>(length) + 1;
      runs.push_back(StreamRun{static_cast<std::uint32_t>(begin * unit), static_cast<std::uint32_t>((end - begin) * unit)});
      free_from = end + 1;
    }
    if (!list.complete()) return malformed();
  }
  i64 bytes = 0;
  for (const StreamRun& run : runs) {
    bytes += run.bytes;
    if (static_cast<i64>(run.at) + run.bytes > range.bytes() || ((run.at | run.bytes) & (unit - 1)) != 0) return malformed();
  }
  if (bytes != header.bytes) return malformed();
  return runs;
}

namespace {

bool overlap(const std::vector<StreamRun>& runs, const std::byte* window, const std::byte* packed, i64 bytes) {
  return packed < window + runs.back().at + runs.back().bytes && window < packed + bytes;
}

i64 bytes_of(const std::vector<StreamRun>& runs) {
  i64 bytes = 0;
  for (const StreamRun& run : runs) bytes += run.bytes;
  return bytes;
}

}  // namespace

void pack_runs(const std::vector<StreamRun>& runs, const std::byte* window, std::byte* packed) {
  const bool in_place = overlap(runs, window, packed, bytes_of(runs));
  for (const StreamRun& run : runs) {
    in_place ? static_cast<void>(std::memmove(packed, window + run.at, run.bytes)) : copy_run(packed, window + run.at, run.bytes);
    packed += run.bytes;
  }
}

void unpack_runs(const std::vector<StreamRun>& runs, const std::byte* packed, std::byte* window) {
  const i64 bytes = bytes_of(runs);
  if (!overlap(runs, window, packed, bytes)) {
    for (const StreamRun& run : runs) {
      copy_run(window + run.at, packed, run.bytes);
      packed += run.bytes;
    }
    return;
  }
  packed += bytes;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    packed -= run->bytes;
    std::memmove(window + run->at, packed, run->bytes);
  }
}

void set_valid(const WindowBuffer& buffer, i64 window, const std::vector<StreamRun>& runs) {
  const ValidMap valid = buffer.valid_map(window);
  for (const StreamRun& run : runs) {
    std::byte* const flags = valid.flags + (run.at >> valid.shift);
    if (run.bytes >> valid.shift == 1)
      *flags = std::byte{1};
    else
      std::memset(flags, 1, static_cast<size_t>(run.bytes >> valid.shift));
  }
}

}  // namespace mercutio
