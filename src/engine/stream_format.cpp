#include "engine/stream_format.h"

#include <cstring>

namespace mercutio {
namespace {

Error malformed() { return Error{ErrorClass::kIntern, "a window of a node stream does not fit its domain"}; }

void append(std::vector<std::byte>& run_list, const void* data, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  run_list.insert(run_list.end(), from, from + bytes);
}

void append_bits(const std::byte* valid, i64 units, std::vector<std::byte>& run_list) {
  const size_t begin = run_list.size();
  run_list.resize(begin + static_cast<size_t>((units + 7) / 8));
  for (i64 i = 0; i < units; ++i) {
    run_list[begin + static_cast<size_t>(i / 8)] |= static_cast<std::byte>(static_cast<unsigned>(valid[i]) << (i % 8));
  }
}

std::vector<StreamRun> runs_of_bits(ConstBytes run_list, i64 unit, i64 units) {
  std::vector<StreamRun> runs;
  bool open = false;
  for (i64 i = 0; i < units; ++i) {
    const bool set = (run_list[static_cast<size_t>(i / 8)] >> (i % 8) & std::byte{1}) != std::byte{0};
    if (set && open) runs.back().bytes += static_cast<std::uint32_t>(unit);
    if (set && !open) runs.push_back(StreamRun{static_cast<std::uint32_t>(i * unit), static_cast<std::uint32_t>(unit)});
    open = set;
  }
  return runs;
}

}  // namespace

StreamHeader describe(const WindowBuffer& buffer, i64 window, std::vector<std::byte>& run_list) {
  const FileRange range = buffer.window(window);
  const i64 unit = buffer.unit_of(range), units = range.bytes() / unit;
  const Slot slot = buffer.slot(window);
  StreamHeader header{window, 0, 0, 0, 0, -1};
  std::vector<StreamRun> runs;
  const size_t bit_bytes = static_cast<size_t>((units + 7) / 8);
  for_each_run(slot.valid, units, [&](i64 begin, i64 end) {
    if (header.runs++ == 0) header.first = begin * unit;
    header.bytes += (end - begin) * unit;
    if (runs.size() * sizeof(StreamRun) <= bit_bytes) {
      runs.push_back(StreamRun{static_cast<std::uint32_t>(begin * unit), static_cast<std::uint32_t>((end - begin) * unit)});
    }
  });
  if (header.runs > 1) {
    const size_t before = run_list.size();
    if (runs.size() * sizeof(StreamRun) <= bit_bytes) {
      append(run_list, runs.data(), runs.size() * sizeof(StreamRun));
    } else {
      append_bits(slot.valid, units, run_list);
      header.runs = 0;
    }
    header.list_bytes = static_cast<i64>(run_list.size() - before);
  }
  return header;
}

Status check(const WindowBuffer& buffer, const StreamHeader& header) {
  if (header.window == buffer.windows()) return ok_status();
  if (header.window < 0 || header.window > buffer.windows()) return malformed();
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
  } else if (header.runs == 0) {
    if (static_cast<i64>(run_list.size()) != (units + 7) / 8) return malformed();
    runs = runs_of_bits(run_list, unit, units);
  } else {
    if (run_list.size() != static_cast<size_t>(header.runs) * sizeof(StreamRun)) return malformed();
    runs.resize(static_cast<size_t>(header.runs));
    std::memcpy(runs.data(), run_list.data(), run_list.size());
  }
  i64 bytes = 0;
  for (const StreamRun& run : runs) {
    bytes += run.bytes;
    if (static_cast<i64>(run.at) + run.bytes > range.bytes() || run.at % unit != 0 || run.bytes % unit != 0) return malformed();
  }
  if (bytes != header.bytes) return malformed();
  return runs;
}

void pack_runs(const std::vector<StreamRun>& runs, const std::byte* window, std::byte* packed) {
  for (const StreamRun& run : runs) {
    std::memmove(packed, window + run.at, run.bytes);
    packed += run.bytes;
  }
}

void unpack_runs(const std::vector<StreamRun>& runs, const std::byte* packed, std::byte* window) {
  for (const StreamRun& run : runs) packed += run.bytes;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    packed -= run->bytes;
    std::memmove(window + run->at, packed, run->bytes);
  }
}

void set_valid(const WindowBuffer& buffer, i64 window, const std::vector<StreamRun>& runs) {
  const i64 unit = buffer.unit_of(buffer.window(window));
  std::byte* valid = buffer.slot(window).valid;
  for (const StreamRun& run : runs) std::memset(valid + run.at / unit, 1, static_cast<size_t>(run.bytes / unit));
}

}  // namespace mercutio
