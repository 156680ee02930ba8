// What several rules ask of a file, or of a family of files.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "insight/rules.h"

namespace mercutio {

inline constexpr i64 kManyTimes = 10;   // of calls that all ranks of a file make together

i64 ranks_where(const JobFile& file, const std::function<bool(const FileTotals&)>& holds);
double sum_of_members(const JobFile& file, const std::function<double(const JobFile&)>& value);
double sum_of_ranks(const JobFile& file, const std::function<double(const FileTotals&)>& value);
std::string number_text(i64 value);
// "rank 3", "ranks 3 and 5", "ranks 3, 5 and 12 more", of indices into the traces.
std::string names_of_ranks(const Job& job, const std::vector<std::size_t>& ranks);
// How long a rank was ready to run, and had no core.
double queued_seconds(const RankTrace& trace);
bool has_text(const JobFile& file, TextKind kind, const std::string& part);
// Of the rank that makes most.
i64 calls_of_a_rank(const JobFile& file, Direction direction);
// From the first to the last byte that independent calls read.
double read_range(const FileTotals& totals);
double read_ranges(const JobFile& file);
i64 bytes_written(const JobFile& file);
Direction main_direction(const JobFile& file);
// What writes asked for, storage wrote, and was read to be merged, but for accesses that mercutio_adapt carried out in a way of its own.
struct Written {
  i64 asked = 0, stored = 0, merged = 0;
  i64 excess() const { return merged + std::max<i64>(0, stored - asked); }
};
Written written_by_program(const JobFile& file);
// Whether data beyond what was written is read before, or written back.
bool merges(const JobFile& file);

// What storage read for the reads of a file beyond what they asked for, by cause.
struct Excess {
  i64 asked = 0, moved = 0;
  i64 holes = 0;    // between the pieces
  i64 unused = 0;   // in advance
  i64 windows = 0;  // the rest: windows of collective reads are read whole, by whoever owns them
  i64 bytes() const { return holes + unused + windows; }
  bool noticeable() const { return asked > 0 && 10 * bytes() > asked && bytes() >= kSmallBytes; }
  bool by_holes() const { return holes >= unused && holes >= windows; }
};

Excess excess_of(const JobFile& file);
bool reads_holes(const JobFile& file);
// Most of the accesses are by the shared file pointer, which keeps them in an order.
bool by_shared_pointer(const JobFile& file);
// Each rank opens its files alone (MPI_COMM_SELF), in a job of several.
bool opened_alone(const Job& job, const JobFile& file);
// Replaces independent accesses by collective ones, for which ranks must open the file together.
std::string together_advice(const Job& job, const JobFile& file, Direction direction);
// Whether several ranks do this with one file, so that they can do it together. Of files that are known by their pattern only, each may
// be another rank's.
bool several_ranks(const JobFile& file, const std::function<bool(const FileTotals&)>& holds);
bool several_ranks_stride(const JobFile& file, Direction direction);
// Of a rank: its independent calls.
double alone_calls(const FileTotals& one, Direction direction);
inline double alone_reads(const FileTotals& one) { return alone_calls(one, Direction::kRead); }
inline double alone_writes(const FileTotals& one) { return alone_calls(one, Direction::kWrite); }

// The rules of files of their own: rules_of_holes.cpp, rules_of_lateness.cpp, rules_of_slow_storage.cpp, and rules_of_calls.cpp with the files that they mean.
std::optional<Detection> merged_writes(const Job& job, const JobFile& file);
std::optional<Detection> amplified_reads(const Job& job, const JobFile& file);
std::optional<Detection> straggler(const Job& job, const JobFile& file);
std::optional<Detection> slow_storage(const Job& job, const JobFile& file);
bool viewed_often(const JobFile& file);
std::optional<Detection> many_views(const Job& job, const JobFile& file);
bool resized_often(const JobFile& file);
std::optional<Detection> resized(const Job& job, const JobFile& file);
bool set_often(const JobFile& file);
std::optional<Detection> many_settings(const Job& job, const JobFile& file);

}  // namespace mercutio
