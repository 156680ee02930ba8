#include "model/memory_kinds.h"

#include <gtest/gtest.h>

namespace mercutio {
namespace {

TEST(MemoryKinds, Cover) {
  EXPECT_TRUE(kinds_cover("mpi,system", ""));
  EXPECT_TRUE(kinds_cover("", ""));
  EXPECT_TRUE(kinds_cover("mpi,system", "system"));
  EXPECT_TRUE(kinds_cover("mpi, system", " system ,mpi"));
  EXPECT_TRUE(kinds_cover("mpi,system,cuda:device", "mpi:alloc_mem:win_allocate,cuda:device"));
}

TEST(MemoryKinds, DoNotCover) {
  EXPECT_FALSE(kinds_cover("", "system"));
  EXPECT_FALSE(kinds_cover("mpi,system", "cuda"));
  EXPECT_FALSE(kinds_cover("mpi,system", "system,cuda:device"));
  EXPECT_FALSE(kinds_cover("mpi,cuda:device", "cuda")) << "more than what is there";
  EXPECT_FALSE(kinds_cover("mpi,cuda:device", "cuda:host"));
  EXPECT_FALSE(kinds_cover("mpi,system", "sys"));
}

}  // namespace
}  // namespace mercutio
