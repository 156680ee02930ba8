// Roots whose files belong to a storage driver: here "plain" of the tests, which keeps them in a directory.
#include <cstdlib>

#include "fixture.h"

namespace mercutio::remote {
namespace {

class RemoteDriverRoot : public RemoteTest {
 protected:
  void SetUp() override {
    ::setenv("MERCUTIO_DRIVERS", MERCUTIO_TEST_DRIVERS, 1);
    RemoteTest::SetUp();
    server.reset();
    options.exports = {{"data", "plain:" + folder, true}, {"seen", "plain://" + folder + "/", false}};
    start_server();
    at = session();
  }
  void TearDown() override {
    at.reset();
    RemoteTest::TearDown();
  }
  Result<Reply> ask(Kind kind, const NameRequest& request) {
    Buffer message;
    put_message(message, request);
    return at->call(kind, std::move(message));
  }
  ErrorClass remove(const std::string& path) { return RemoteTest::remove(*at, path); }
  std::shared_ptr<Session> at;
};

TEST_F(RemoteDriverRoot, FilesAreWrittenReadAndDeleted) {
  auto data = filled(300'000, 1);
  {
    auto file = open_remote(at, "data//./new", writing());
    ASSERT_TRUE(file.ok()) << file.error().what;
    ASSERT_TRUE(write(**file, 5, data).ok());
    EXPECT_EQ(*(*file)->size(), 300'005);
    ASSERT_TRUE((*file)->set_size(300'000).ok());
    ASSERT_TRUE((*file)->close().ok());
  }
  EXPECT_EQ(content("new").size(), 300'000U);
  auto file = open_remote(at, "seen/new", {});
  ASSERT_TRUE(file.ok()) << file.error().what;
  std::vector<std::byte> back(data.size());
  const IoPiece piece{5, back.data(), static_cast<i64>(back.size())};
  EXPECT_EQ(*(*file)->read(std::span(&piece, 1)), 299'995);
  EXPECT_TRUE(std::equal(data.begin(), data.end() - 5, back.begin()));
  EXPECT_EQ(remove("seen/new"), ErrorClass::kReadOnly);
  EXPECT_EQ(remove("data/new"), ErrorClass::kNone);
  EXPECT_EQ(remove("data/new"), ErrorClass::kNoSuchFile);
}

TEST_F(RemoteDriverRoot, PathsStayInTheRoot) {
  const auto refused = [&](const std::string& path) {
    const auto opened = open_remote(at, path, writing());
    return opened ? ErrorClass::kNone : opened.error().cls;
  };
  EXPECT_EQ(refused("data/../x"), ErrorClass::kAccess);
  EXPECT_EQ(refused("data/a/../../x"), ErrorClass::kAccess);
  EXPECT_EQ(refused("seen/x"), ErrorClass::kReadOnly);
  EXPECT_EQ(refused("data"), ErrorClass::kBadFile);
  EXPECT_EQ(refused("data/."), ErrorClass::kBadFile);
  EXPECT_EQ(remove("data/../x"), ErrorClass::kAccess);
  EXPECT_EQ(refused("data/x"), ErrorClass::kNone);
}

TEST_F(RemoteDriverRoot, TellsSizesAndNothingOfDirectories) {
  std::ofstream(folder + "/x") << "content";
  const auto status_of = [&](const std::string& path) {
    const auto reply = ask(Kind::kStatus, {path});
    EXPECT_TRUE(reply.ok()) << path;
    return reply ? *get_message<FileStatus>(reply->more) : FileStatus();
  };
  EXPECT_EQ(status_of("seen/x").bytes, 7);
  EXPECT_EQ(status_of("seen/x").kind(), FileType::kFile);
  EXPECT_EQ(status_of("data").kind(), FileType::kDirectory);
  const auto got = ask(Kind::kGet, {"seen/x"});
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(get_message<GetReply>(got->more)->content.size(), 7U);
  const auto roots = ask(Kind::kList, {});
  ASSERT_TRUE(roots.ok());
  EXPECT_EQ(get_messages<ListEntry>(roots->more)->size(), 2U);
  for (const Kind kind : {Kind::kList, Kind::kMakeDirectory, Kind::kRename, Kind::kPut, Kind::kSpace}) {
    NameRequest request{"data/x"};
    request.other = kind == Kind::kRename ? "data/y" : "";
    const auto reply = ask(kind, request);
    ASSERT_FALSE(reply.ok()) << static_cast<int>(kind);
    EXPECT_EQ(reply.error().cls, ErrorClass::kUnsupportedOperation) << reply.error().what;
  }
  EXPECT_EQ(ask(Kind::kStatus, {"seen/y"}).error().cls, ErrorClass::kNoSuchFile);
}

TEST_F(RemoteDriverRoot, AnErrorOfTheDriverIsTheClients) {
  ::setenv("MERCUTIO_TEST_FAIL", "open:122", 1);   // EDQUOT
  const auto opened = open_remote(at, "data/x", writing());
  ::unsetenv("MERCUTIO_TEST_FAIL");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().cls, ErrorClass::kQuota);
  EXPECT_NE(opened.error().what.find("told to fail"), std::string::npos) << opened.error().what;
}

TEST_F(RemoteDriverRoot, AMissingDriverIsSaidAtTheStart) {
  for (const char* missing : {"absent:vol/x", "absent://vol/x", "nfs:/tmp", "memory:x", "broken:x"}) {
    const auto exports = Exports::open({{"data", missing, false}});
    ASSERT_FALSE(exports.ok()) << missing;
    EXPECT_NE(exports.error().what.find("driver"), std::string::npos) << exports.error().what;
  }
}

}  // namespace
}  // namespace mercutio::remote
