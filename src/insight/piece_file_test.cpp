#include "insight/piece_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace mercutio {
namespace {

class PieceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "piece-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name + "/";
    std::filesystem::create_directory(folder_ + "pieces");
    path_ = folder_ + "pieces/host-1.piece";
    std::ofstream(folder_ + "victim") << "mine";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static std::string refusal(const std::string& path) {
    const auto piece = map_piece(path, 1000);
    return piece.ok() ? "" : piece.error().what;
  }
  std::string folder_, path_;
};

TEST_F(PieceFile, IsInADirectoryOfTheUser) {
  EXPECT_EQ(refusal(path_), "");
  EXPECT_EQ(refusal(path_), "") << "the next rank of the node";
  const bool root = ::geteuid() == 0;   // others can give nothing away, but /usr is not theirs
  if (root) {
    ASSERT_EQ(::chown((folder_ + "pieces").c_str(), 12345, 12345), 0);
  }
  EXPECT_EQ(refusal(root ? path_ : "/usr/host-1.piece"), "the directory for the ranks' pieces belongs to another user");
}

TEST_F(PieceFile, LinksAreNotFollowed) {
  ASSERT_EQ(::symlink("../victim", path_.c_str()), 0);
  EXPECT_NE(refusal(path_), "");
  std::filesystem::remove(path_);
  ASSERT_EQ(::link((folder_ + "victim").c_str(), path_.c_str()), 0);
  EXPECT_EQ(refusal(path_), "the file of a node's pieces is not the user's own");
  EXPECT_EQ(std::filesystem::file_size(folder_ + "victim"), 4u);
  ASSERT_EQ(::symlink("pieces", (folder_ + "link").c_str()), 0);
  EXPECT_EQ(refusal(folder_ + "link/host-2.piece"), "the directory for the ranks' pieces is a symbolic link");
  EXPECT_EQ(refusal(folder_ + "victim/host-2.piece"), "the directory for the ranks' pieces is a file");
}

TEST_F(PieceFile, OthersCannotPutAPipeThere) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(path_), "the file of a node's pieces is not the user's own");
}

}  // namespace
}  // namespace mercutio
