// A random MPI-IO program as values: what each rank calls, in which order, with which types and hints. No MPI is known
// here. A program may say things that the standard does not allow; `legalise` (legal.h) makes a legal one of it, so
// that steps and ranks can be taken away and the rest still means something.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "types.h"

namespace mercutio::programs {

inline constexpr int kMaxRanks = 6;

using Info = std::vector<std::pair<std::string, std::string>>;

enum class Op {
  kOpen,
  kClose,
  kSetView,
  kAccess,
  kComplete,  // nonblocking accesses and split collectives of other steps
  kBarrier,
  kSync,
  kSetSize,
  kPreallocate,
  kSeek,
  kSeekShared,
  kGetSize,
  kGetPosition,
  kSetAtomicity,
  kSetInfo,
  kMeterBegin,  // from here on the bytes that the processes read are counted ..
  kMeterEnd,    // .. and compared here with those asked for
  kVerify       // rank 0 looks at the file by POSIX
};

enum class Group { kWorld, kSelf, kHalves, kParity };  // the communicator of an open

enum Mode : unsigned {
  kRead = 1,
  kWrite = 2,
  kCreate = 4,
  kExclusive = 8,
  kDeleteOnClose = 16,
  kUniqueOpen = 32,
  kAppend = 64,
  kSequential = 128
};

enum class Positioning { kExplicit, kIndividual, kShared };
enum class Synchronism { kBlocking, kNonblocking, kSplit };
enum class Completion {
  kWaitEach,
  kTestEach,
  kWaitAll,
  kTestAll,
  kWaitAny,
  kTestAny,
  kWaitSome,
  kTestSome,
  kStatusFirst
};
enum class Whence { kSet, kCurrent, kEnd };

// What one rank does in a step.
struct Part {
  bool in = true;  // collective steps: the same for all ranks of a communicator
  i64 delay_us = 0;
  i64 offset = 0;  // access: in etypes; seek
  int memory = 0;  // access: type and count
  i64 count = 0;
  int filetype = 0;  // set_view
  i64 displacement = 0;
};

struct Step {
  Op op = Op::kBarrier;
  int id = -1;  // the step of the generated program; legalise's own have -1
  int handle = -1;
  int file = 0;
  Group group = Group::kWorld;
  unsigned mode = 0;
  int info = -1;
  bool write = false, collective = false;
  Positioning positioning = Positioning::kExplicit;
  Synchronism synchronism = Synchronism::kBlocking;
  Completion completion = Completion::kWaitAll;
  std::vector<int> targets;  // ids
  int etype = 0;
  Whence whence = Whence::kSet;
  i64 value = 0;  // set_size, preallocate, seek_shared, atomicity
  std::vector<Part> parts;
};

struct File {
  i64 initial_bytes = -1;  // written by POSIX at the beginning; -1: it does not exist
};

struct Program {
  std::uint64_t seed = 0;
  int ranks = 1;
  int jobs = 1;             // 2: each half of the ranks is a job of its own, with kHalves as its world
  bool posix_order = true;  // what is ordered by messages in a job is determined without MPI_File_sync, too
  std::vector<Info> infos;
  std::vector<Type> types;
  std::vector<Map> maps;  // of the types
  std::vector<File> files;
  std::vector<Step> steps;
  int handles = 0;

  int add(const Type& type);
  [[nodiscard]] bool same_job(int rank, int other) const;
  [[nodiscard]] const Map& map(int type) const { return maps[static_cast<size_t>(type)]; }
};

// The communicator of rank r among those of a group, as a colour.
[[nodiscard]] inline int colour_of(Group group, int rank, int ranks) {
  switch (group) {
    case Group::kSelf:
      return rank;
    case Group::kHalves:
      return rank * 2 >= ranks ? 1 : 0;
    case Group::kParity:
      return rank % 2;
    case Group::kWorld:
      break;
  }
  return 0;
}

inline bool Program::same_job(int rank, int other) const {
  return jobs == 1 || colour_of(Group::kHalves, rank, ranks) == colour_of(Group::kHalves, other, ranks);
}

// Byte k of what a rank writes in a step, and what is around data in a buffer. Never 0: that is a hole.
[[nodiscard]] inline std::uint8_t pattern(std::uint32_t key, std::uint32_t k) {
  std::uint32_t x = key * 2654435761U + k * 0x9E3779B1U;
  x ^= x >> 15;
  x *= 0x85EBCA77U;
  x ^= x >> 13;
  return static_cast<std::uint8_t>(1 + (x >> 8) % 255);
}
[[nodiscard]] inline std::uint32_t key_of(int step_id, int rank) {
  return static_cast<std::uint32_t>(step_id) * 8U + static_cast<std::uint32_t>(rank) + 1U;
}
[[nodiscard]] inline std::uint32_t key_of_file(int file) {
  return 0x40000000U + static_cast<std::uint32_t>(file);
}

// write_at_all, iread_shared, read_ordered_begin ..
[[nodiscard]] std::string access_name(const Step& step);
[[nodiscard]] std::string describe(const Program& program, const Step& step);

}  // namespace mercutio::programs
