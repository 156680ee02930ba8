#include "base/frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace mercutio {
namespace {

constexpr std::size_t kSizes[] = {1, 255, 256, 257, 1'100, 8'192, 8'193, 100'000};

TEST(Frames, FramesInUseDoNotOverlap) {
  for (int round = 0; round < 3; ++round) {
    std::vector<unsigned char*> frames;
    for (int i = 0; i < 20; ++i)
      for (const std::size_t bytes : kSizes) {
        frames.push_back(static_cast<unsigned char*>(take_frame(bytes)));
        std::memset(frames.back(), static_cast<int>(frames.size() % 251), bytes);
      }
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const std::size_t bytes = kSizes[i % std::size(kSizes)];
      for (std::size_t at = 0; at < bytes; ++at) ASSERT_EQ(frames[i][at], (i + 1) % 251) << i << " at " << at;
    }
    for (std::size_t i = 0; i < frames.size(); ++i) free_frame(frames[i], kSizes[i % std::size(kSizes)]);
  }
}

TEST(Frames, MayBeFreedByAnotherThread) {
  for (int round = 0; round < 100; ++round) {
    std::vector<void*> frames;
    for (int i = 0; i < 20; ++i) frames.push_back(take_frame(2'000));
    std::thread other([&] {
      for (void* frame : frames) free_frame(frame, 2'000);
      for (void*& frame : frames) frame = take_frame(2'000);
    });
    other.join();
    for (void* frame : frames) free_frame(frame, 2'000);
  }
}

}  // namespace
}  // namespace mercutio
