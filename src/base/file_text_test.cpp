#include "base/file_text.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace mercutio {
namespace {

TEST(FileText, IsAllOfAFile) {
  std::string path = ::testing::TempDir() + "file-text-XXXXXX";
  ::close(::mkstemp(path.data()));
  for (const std::size_t bytes : {0, 1, 4095, 4096, 4097, 100'000}) {
    std::string text(bytes, 'x');
    if (bytes > 2) text[1] = '\0', text[2] = '\n';
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_EQ(text_of_file(path).value(), text) << bytes;
  }
  ::unlink(path.c_str());
}

TEST(FileText, NeedsNoSize) {
  const auto text = text_of_file("/proc/self/status");
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("Threads:"), std::string::npos);
  EXPECT_GT(text_of_file("/proc/cpuinfo").value().size(), 0u);
}

TEST(FileText, SaysWhyThereIsNone) {
  EXPECT_EQ(text_of_file("/no/such/file").error().sys_errno, ENOENT);
  EXPECT_EQ(text_of_file("/proc").error().sys_errno, EISDIR);
}

}  // namespace
}  // namespace mercutio
