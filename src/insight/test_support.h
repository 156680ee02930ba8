// Recorders and files for the tests of what they record.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "insight/job.h"
#include "insight/recorder.h"

namespace mercutio {

// Pieces are in no directory of other users, as /tmp may be.
inline std::string folder_of_tests() {
  struct Folder {
    std::string name = ::testing::TempDir() + "recorder-test-XXXXXX";
    Folder() { EXPECT_NE(::mkdtemp(name.data()), nullptr); }
    ~Folder() { ::rmdir(name.c_str()); }
  };
  static const Folder folder;
  return folder.name + "/";
}

inline std::unique_ptr<Recorder> make(RecorderOptions options = {}) {
  auto made = Recorder::make(options);
  EXPECT_TRUE(made.ok());
  return std::move(*made);
}

inline FileFacts facts_of(const std::string& name) {
  FileFacts facts;
  facts.name = name;
  facts.amode = "rdwr|create";
  facts.block_bytes = 4096;
  return facts;
}

inline RankTrace read_back(const Recorder& recorder, const PieceLimits& limits = {}) {
  auto traces = parse_trace(recorder.snapshot(limits));
  EXPECT_TRUE(traces.ok());
  EXPECT_EQ(traces->size(), 1u);
  return std::move(traces->front());
}

}  // namespace mercutio
