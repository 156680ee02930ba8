// What is found beside a program does not depend on how it was called, nor on where the user is.
#include "base/installation.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace mercutio {
namespace {

TEST(Installation, IsWhereThisProgramIs) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  EXPECT_EQ(own_folder(), std::filesystem::path(program).parent_path());
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path("/");
  for (const std::string& folder : library_folders()) EXPECT_TRUE(folder.starts_with("/")) << folder;
  EXPECT_EQ(library_folders().front(), own_folder());
  std::filesystem::current_path(before);
}

TEST(Installation, HasFilesOfItsPrefix) {
  const std::filesystem::path folder = own_folder();
  if (folder.filename() != "bin") GTEST_SKIP() << "this program is not in PREFIX/bin";
  EXPECT_EQ(installed_file("etc/x"), folder.parent_path() / "etc/x");
}

}  // namespace
}  // namespace mercutio
