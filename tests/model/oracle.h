// The oracle: what MPI-IO says must happen, byte by byte, computed without anything from the engine, plan, storage or
// file folders. A case is a seed, a number of ranks and a list of steps; a step is a kind and a seed, so that steps can
// be removed from a failing case and the rest still means something.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "file/file.h"
#include "model/type_oracle.h"

namespace mercutio::oracle {

enum class StepKind {
  kView,
  kAccess,
  kSeek,
  kSeekShared,
  kSetSize,
  kPreallocate,
  kSync,
  kAtomicity,
  kInfo,
  kReopen,
  kBadCall,
  kKinds
};

struct Step {
  StepKind kind;
  std::uint32_t seed;
};

struct Case {
  std::uint32_t seed = 0;
  i64 ranks = 1;
  bool on_disk = false;
  std::vector<Step> steps;
};

Case make_case(std::uint32_t seed);

enum class Synchronism { kBlocking, kNonblocking, kSplit };

// What one rank does in a step, and what must come of it.
struct RankPart {
  i64 displacement = 0;
  TypeSpecRef filetype;

  bool takes_part = true;  // independent accesses: false does nothing
  i64 offset = 0;          // access, seek
  Whence whence = Whence::kSet;
  TypeSpecRef memory;
  i64 count = 0;
  i64 base = 0;  // where the type's origin lies in the buffer
  std::vector<std::byte> buffer, buffer_after;
  ErrorClass error = ErrorClass::kNone;
  i64 bytes = 0;  // moved

  i64 pointer_after = 0;      // the individual pointer
  i64 byte_offset_after = 0;  // of that pointer
};

// A step made concrete.
struct Planned {
  StepKind kind;
  std::string text;
  std::string datarep = "native";
  TypeSpecRef etype;
  Direction direction = Direction::kRead;
  Positioning positioning = Positioning::kExplicit;
  Synchronism synchronism = Synchronism::kBlocking;
  bool collective = false;
  bool append = false;  // reopen
  i64 value = 0;        // size, atomicity
  InfoItems info;
  std::vector<RankPart> ranks;
  i64 size_after = 0, shared_after = 0;
};

struct PlannedCase {
  std::vector<Planned> steps;
  std::vector<std::byte> content;  // of the file in the end
};

PlannedCase plan_case(const Case& random_case);

// The representations of the test: "twice" stores every element twice with its bits inverted; "plain" has no functions.
void add_test_datareps(DatarepRegistry& registry);

}  // namespace mercutio::oracle
