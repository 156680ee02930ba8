// What a mount says of a file while what was written to it is under way (tools/remote/mount_tree.h).
#include "mount_tree.h"

#include <future>

#include "fixture.h"
#include "gate.h"

namespace mercutio::remote {
namespace {

class RemoteMountTree : public RemoteTest {
 protected:
  void SetUp() override {
    options.around = [this](std::unique_ptr<Storage> inner) -> std::unique_ptr<Storage> { return std::make_unique<Gated>(std::move(inner), gate); };
    RemoteTest::SetUp();
    connection.host = "there";
    ::setenv("MERCUTIO_CONNECTIONS", (folder + "-connections").c_str(), 1);
    ASSERT_TRUE(store_connection(connection).ok());
    tree = std::make_unique<MountTree>("there", "data", 0);
    ASSERT_TRUE(tree->begin().ok());
  }
  void TearDown() override {
    gate.set(true);
    tree.reset();
    RemoteTest::TearDown();
    std::filesystem::remove_all(folder + "-connections");
  }

  Gate gate;
  std::unique_ptr<MountTree> tree;
};

// Large writes: a list comes by another stream, so it does not wait for them by itself.
TEST_F(RemoteMountTree, AListHasTheSizesThatProgramsHaveWritten) {
  auto file = tree->open("/file", O_CREAT | O_WRONLY, 0644);
  ASSERT_TRUE(file.ok());
  const auto data = filled(140 * KiB, 1);
  const i64 bytes = static_cast<i64>(data.size());
  ASSERT_TRUE(tree->write(**file, data.data(), bytes, 0).ok());
  ASSERT_TRUE(tree->flush(**file).ok());
  gate.set(false);
  ASSERT_TRUE(tree->write(**file, data.data(), bytes, bytes).ok());
  gate.await_somebody();
  auto listed = std::async(std::launch::async, [&] { return tree->list("/"); });
  (void)listed.wait_for(std::chrono::milliseconds(500));
  gate.set(true);
  const auto entries = listed.get();
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ((*entries)[0].status.bytes, 2 * bytes);
  EXPECT_TRUE(tree->close(*file).ok());
}

TEST_F(RemoteMountTree, TruncatingANameToItsSizeKeepsTheTimeAsTruncateDoes) {
  const i64 past = 1'577'836'800'000'000'000;
  auto file = tree->open("/file", O_CREAT | O_WRONLY, 0644);
  ASSERT_TRUE(file.ok());
  const auto data = filled(100, 1);
  ASSERT_TRUE(tree->write(**file, data.data(), 100, 0).ok());
  ASSERT_TRUE(tree->change_attributes("/file", kPermissionsStay, past).ok());
  const auto modified_after = [&](MountTree::File* open, i64 bytes) {
    EXPECT_TRUE(tree->set_size("/file", open, bytes).ok());
    const auto status = tree->status("/file", nullptr);
    EXPECT_TRUE(status.ok() && status->bytes == bytes);
    return status ? status->modified_ns : -1;
  };
  EXPECT_EQ(modified_after(nullptr, 100), past);
  EXPECT_GT(modified_after(nullptr, 50), past);
  ASSERT_TRUE(tree->change_attributes("/file", kPermissionsStay, past).ok());
  EXPECT_GT(modified_after(file->get(), 50), past);
  EXPECT_TRUE(tree->close(*file).ok());
}

class RemoteMountOfDriver : public RemoteTest {
 protected:
  void SetUp() override {
    ::setenv("MERCUTIO_DRIVERS", MERCUTIO_TEST_DRIVERS, 1);
    RemoteTest::SetUp();
    server.reset();
    options.exports = {{"data", "plain:" + folder, true}};
    start_server();
    connection.host = "there";
    ::setenv("MERCUTIO_CONNECTIONS", (folder + "-connections").c_str(), 1);
    ASSERT_TRUE(store_connection(connection).ok());
  }
  void TearDown() override {
    RemoteTest::TearDown();
    std::filesystem::remove_all(folder + "-connections");
  }
};

// A program that closes the file after an fsync that failed hears of it again, or the file is published.
TEST_F(RemoteMountOfDriver, ACloseAfterAFailedSyncPublishes) {
  MountTree tree("there", "data", 0);
  ASSERT_TRUE(tree.begin().ok());
  const auto file = tree.open("/file", O_CREAT | O_WRONLY, 0644);
  ASSERT_TRUE(file.ok()) << file.error().what;
  const auto data = filled(1000, 1);
  ASSERT_TRUE(tree.write(**file, data.data(), 1000, 0).ok());
  ::setenv("MERCUTIO_TEST_FAIL", "sync:28", 1);
  EXPECT_EQ(tree.sync(**file).error().sys_errno, 28);
  const Status still_fails = tree.flush(**file);
  ::unsetenv("MERCUTIO_TEST_FAIL");
  EXPECT_EQ(still_fails ? 0 : still_fails.error().sys_errno, 28);
  EXPECT_TRUE(tree.flush(**file).ok());
  EXPECT_TRUE(tree.close(*file).ok());
  EXPECT_TRUE(same(content("file"), data));
}

}  // namespace
}  // namespace mercutio::remote
