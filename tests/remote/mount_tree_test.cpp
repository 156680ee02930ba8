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

}  // namespace
}  // namespace mercutio::remote
