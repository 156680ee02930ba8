// Recorders and files for the tests of what they record.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "insight/recorder.h"

namespace mercutio {

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

}  // namespace mercutio
