// Roots whose files belong to a storage driver: here "plain" of the tests, which keeps them in a directory.
#include <cstdlib>
#include <future>
#include <set>

#include "fixture.h"

namespace mercutio::remote {
namespace {

class RemoteDriverRoot : public RemoteTest {
 protected:
  void SetUp() override {
    ::setenv("MERCUTIO_DRIVERS", MERCUTIO_TEST_DRIVERS, 1);
    RemoteTest::SetUp();
    server.reset();
    options.exports = {{"data", "plain:" + folder, true}, {"seen", "plain://" + folder + "/", false}, {"least", "least:" + folder, true}};
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
  ErrorClass class_of(Kind kind, const std::string& path, const std::string& other = "", bool replace = true) {
    NameRequest request{path};
    request.other = other;
    request.replace = replace;
    const auto reply = ask(kind, request);
    return reply ? ErrorClass::kNone : reply.error().cls;
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

TEST_F(RemoteDriverRoot, TellsSizes) {
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
  EXPECT_EQ(get_messages<ListEntry>(roots->more)->size(), 3U);
  EXPECT_EQ(ask(Kind::kStatus, {"seen/y"}).error().cls, ErrorClass::kNoSuchFile);
  EXPECT_EQ(ask(Kind::kGet, {"data/."}).error().cls, ErrorClass::kBadFile);
}

TEST_F(RemoteDriverRoot, WhatADriverHasNoFunctionForIsAnErrorThatNamesIt) {
  std::ofstream(folder + "/x") << "content";
  const auto status = ask(Kind::kStatus, {"least/x"});
  ASSERT_TRUE(status.ok()) << status.error().what;
  EXPECT_EQ(get_message<FileStatus>(status->more)->bytes, 7);
  for (const Kind kind : {Kind::kList, Kind::kMakeDirectory, Kind::kRemoveDirectory, Kind::kRename, Kind::kPut, Kind::kSpace, Kind::kMakeLink, Kind::kSetAttributes}) {
    NameRequest request{"least/x"};
    request.other = kind == Kind::kRename ? "least/y" : "";
    const auto reply = ask(kind, request);
    ASSERT_FALSE(reply.ok()) << static_cast<int>(kind);
    EXPECT_EQ(reply.error().cls, ErrorClass::kUnsupportedOperation) << reply.error().what;
    EXPECT_NE(reply.error().what.find("driver"), std::string::npos) << reply.error().what;
  }
  const auto file = open_remote(at, "least/x", writing());
  ASSERT_TRUE(file.ok()) << file.error().what;
  const Status claimed = dynamic_cast<RemoteStorage&>(**file).claim();
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().cls, ErrorClass::kUnsupportedOperation) << claimed.error().what;
}

TEST_F(RemoteDriverRoot, FilesHaveFoldersAndGetOtherNames) {
  EXPECT_EQ(class_of(Kind::kMakeDirectory, "data/run"), ErrorClass::kNone);
  EXPECT_EQ(class_of(Kind::kMakeDirectory, "data/run"), ErrorClass::kFileExists);
  NameRequest put{"data/run/b"};
  put.content.assign(1000, std::byte{7});
  put.replace = true;
  const auto made = ask(Kind::kPut, put);
  ASSERT_TRUE(made.ok()) << made.error().what;
  EXPECT_EQ(static_cast<u64>(made->value), checksum_of(put.content));
  EXPECT_EQ(content("run/b"), std::string(1000, '\7'));
  std::ofstream(folder + "/run/a") << "content";
  const auto listed = ask(Kind::kList, {"seen/run"});
  ASSERT_TRUE(listed.ok()) << listed.error().what;
  const auto entries = get_messages<ListEntry>(listed->more);
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[1].status.bytes, 1000);
  EXPECT_GT((*entries)[1].status.modified_ns, 0);
  EXPECT_EQ(*get_message<FileStatus>(ask(Kind::kStatus, {"data/run/b"})->more), (*entries)[1].status);
  EXPECT_EQ(class_of(Kind::kRename, "data/run/b", "data/run/a", /*replace=*/false), ErrorClass::kFileExists);
  EXPECT_EQ(class_of(Kind::kRename, "data/run/b", "data/c"), ErrorClass::kNone);
  EXPECT_EQ(class_of(Kind::kRename, "data/c", "least/d"), ErrorClass::kIo);
  EXPECT_EQ(class_of(Kind::kRename, "data/c", "seen/d"), ErrorClass::kReadOnly);
  EXPECT_EQ(class_of(Kind::kRemoveDirectory, "data/run"), ErrorClass::kIo);   // it has a file
  EXPECT_EQ(remove("data/run/a"), ErrorClass::kNone);
  EXPECT_EQ(class_of(Kind::kRemoveDirectory, "data/run"), ErrorClass::kNone);
  EXPECT_EQ(class_of(Kind::kMakeDirectory, "seen/run"), ErrorClass::kReadOnly);
  EXPECT_EQ(class_of(Kind::kList, "data/run"), ErrorClass::kNoSuchFile);
  EXPECT_EQ(class_of(Kind::kList, "data/../x"), ErrorClass::kAccess);
}

TEST_F(RemoteDriverRoot, ManyNamesComeInPages) {
  std::set<std::string> want;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "name" + std::to_string(i * 7919);
    want.insert(name);
    const std::ofstream made(folder + "/" + name);
  }
  const auto exports = Exports::open(options.exports);
  ASSERT_TRUE(exports.ok());
  std::vector<std::string> got;
  for (bool whole = false; !whole;) {
    const auto page = exports->list("data", got.empty() ? "" : got.back(), 1000);
    ASSERT_TRUE(page.ok()) << page.error().what;
    ASSERT_LT(page->entries.size(), 20U);
    ASSERT_FALSE(page->entries.empty());
    for (const ListEntry& entry : page->entries) got.push_back(entry.name);
    whole = page->whole;
  }
  EXPECT_EQ(got, std::vector<std::string>(want.begin(), want.end()));
}

TEST_F(RemoteDriverRoot, ACopyKeepsItsFileUntilItHasItsName) {
  auto data = filled(50'000, 3);
  const auto file = open_remote(at, "data/.x.mercutio-part", writing());
  ASSERT_TRUE(file.ok()) << file.error().what;
  auto& remote = dynamic_cast<RemoteStorage&>(**file);
  ASSERT_TRUE(remote.claim().ok());
  ASSERT_TRUE(write(**file, 0, data).ok());
  NameRequest publish{"data/.x.mercutio-part", "data/x", remote.handle()};
  publish.replace = true;
  std::filesystem::rename(folder + "/.x.mercutio-part", folder + "/mine");
  EXPECT_EQ(ask(Kind::kRename, publish).error().cls, ErrorClass::kNoSuchFile);
  std::filesystem::rename(folder + "/mine", folder + "/.x.mercutio-part");
  ASSERT_TRUE(ask(Kind::kRename, publish).ok());
  EXPECT_TRUE(same(content("x"), data));
}

// Opens of several servers don't see what is not published yet.
TEST_F(RemoteDriverRoot, FilesThatArePublishedAreReadOnlyOnOneOfSeveralServers) {
  ::setenv("MERCUTIO_TEST_SEEN", "3", 1);
  std::ofstream(folder + "/x") << "content";
  const auto exports = Exports::open({{"data", "plain:" + folder, true, /*one_of_several=*/true}});
  ASSERT_TRUE(exports.ok());
  const auto refused = exports->open_file("data/x", writing());
  const auto read = exports->open_file("data/x", {});
  ::unsetenv("MERCUTIO_TEST_SEEN");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().what.find("one of several"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(read.ok());
}

// Opens of one process see what is not published yet, those of others don't.
TEST_F(RemoteDriverRoot, FilesThatArePublishedAreWritten) {
  for (const char* seen : {"1", "2", "3"}) {
    ::setenv("MERCUTIO_TEST_SEEN", seen, 1);
    const auto opened = open_remote(at, "data/x", writing());
    ::unsetenv("MERCUTIO_TEST_SEEN");
    EXPECT_EQ(opened ? ErrorClass::kNone : opened.error().cls, *seen == '3' ? ErrorClass::kNone : ErrorClass::kUnsupportedOperation) << seen;
  }
}

TEST_F(RemoteDriverRoot, AWildDriverIsAnError) {
  for (const auto& [kind, plan] : {std::pair(Kind::kStatus, "look:wild"), std::pair(Kind::kList, "list:wild")}) {
    ::setenv("MERCUTIO_TEST_FAIL", plan, 1);
    const auto reply = ask(kind, {"data/x"});
    ::unsetenv("MERCUTIO_TEST_FAIL");
    ASSERT_FALSE(reply.ok()) << plan;
    EXPECT_NE(reply.error().what.find("defect"), std::string::npos) << reply.error().what;
  }
}

TEST_F(RemoteDriverRoot, AnErrorOfTheDriverIsTheClients) {
  ::setenv("MERCUTIO_TEST_FAIL", "open:122", 1);   // EDQUOT
  const auto opened = open_remote(at, "data/x", writing());
  ::unsetenv("MERCUTIO_TEST_FAIL");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().cls, ErrorClass::kQuota);
  EXPECT_NE(opened.error().what.find("told to fail"), std::string::npos) << opened.error().what;
}

// What a driver refuses under way leaves neither the name nor another one.
TEST_F(RemoteDriverRoot, APutThatFailsLeavesNothing) {
  std::ofstream(folder + "/x") << "former";
  NameRequest put{"data/x"};
  put.content.assign(1000, std::byte{7});
  put.replace = true;
  for (const char* plan : {"open:28", "write:28", "read:5", "sync:5", "close:5", "rename:13", "write:wild"}) {
    ::setenv("MERCUTIO_TEST_FAIL", plan, 1);
    const auto reply = ask(Kind::kPut, put);
    ::unsetenv("MERCUTIO_TEST_FAIL");
    ASSERT_FALSE(reply.ok()) << plan;
    EXPECT_NE(reply.error().what.find(std::string(plan).ends_with("wild") ? "defect" : "told to fail"), std::string::npos) << plan << ": " << reply.error().what;
    EXPECT_EQ(content("x"), "former") << plan;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 1) << plan;
  }
  put.replace = false;
  EXPECT_EQ(ask(Kind::kPut, put).error().cls, ErrorClass::kFileExists);
  EXPECT_EQ(content("x"), "former");
}

TEST_F(RemoteDriverRoot, ErrorsOfOpenFilesAndNamesAreTheClients) {
  std::ofstream(folder + "/x") << "content";
  const auto file = open_remote(at, "data/x", writing());
  ASSERT_TRUE(file.ok());
  auto data = filled(100, 1);
  const auto number = [](const auto& result) { return result ? 0 : result.error().sys_errno; };
  const auto with = [&](const char* plan, const auto& call) {
    ::setenv("MERCUTIO_TEST_FAIL", plan, 1);
    const auto result = call();
    ::unsetenv("MERCUTIO_TEST_FAIL");
    EXPECT_TRUE(result || result.error().what.find("told to fail") != std::string::npos) << plan << ": " << (result ? "" : result.error().what);
    return number(result);
  };
  const IoPiece piece{0, data.data(), 7};
  EXPECT_EQ(with("write:28", [&] { return write(**file, 0, data); }), 28);
  EXPECT_EQ(with("read:5", [&] { return (*file)->read(std::span(&piece, 1)); }), 5);
  EXPECT_EQ(with("get_size:5", [&] { return (*file)->size(); }), 5);
  EXPECT_EQ(with("get_size:5", [&] { return open_remote(at, "data/x", writing()); }), 5);
  EXPECT_EQ(with("set_size:27", [&] { return (*file)->set_size(3); }), 27);
  EXPECT_EQ(with("preallocate:28", [&] { return (*file)->preallocate(1000); }), 28);
  EXPECT_EQ(with("sync:5", [&] { return (*file)->sync(); }), 5);
  EXPECT_EQ(with("look:13", [&] { return ask(Kind::kStatus, {"data/x"}); }), 13);
  EXPECT_EQ(with("list:13", [&] { return ask(Kind::kList, {"data"}); }), 13);
  EXPECT_EQ(with("make_folder:30", [&] { return ask(Kind::kMakeDirectory, {"data/new"}); }), 30);
  EXPECT_EQ(with("remove:16", [&] { return remove("data/x") == ErrorClass::kNone ? ok_status() : Status(Error{ErrorClass::kIo, "told to fail", 16}); }), 16);
  EXPECT_EQ(content("x"), "content");
  EXPECT_TRUE((*file)->close().ok());
}

// The size that one client sets comes after what another one has written, and is there for both.
TEST_F(RemoteDriverRoot, ASizeIsPublishedForAllOpens) {
  ::setenv("MERCUTIO_TEST_SEEN", "3", 1);
  const auto one = open_remote(at, "data/x", keeping()), other = open_remote(session(), "data/x", writing());
  ASSERT_TRUE(one.ok() && other.ok());
  auto data = filled(50'000, 1);
  ASSERT_TRUE(write(**one, 0, data).ok());
  ASSERT_TRUE((*one)->flush().ok());
  EXPECT_TRUE((*other)->set_size(20'000).ok());
  EXPECT_EQ(*(*one)->size(), 20'000);
  ::setenv("MERCUTIO_TEST_FAIL", "sync:28", 1);
  EXPECT_EQ((*other)->set_size(10'000).error().sys_errno, 28);   // what was written before it is not published
  ::unsetenv("MERCUTIO_TEST_FAIL");
  EXPECT_TRUE((*other)->set_size(10'000).ok());
  EXPECT_TRUE((*one)->close().ok());
  EXPECT_TRUE((*other)->set_size(5'000).ok());   // the closed one is not asked any more
  EXPECT_TRUE((*other)->close().ok());
  ::unsetenv("MERCUTIO_TEST_SEEN");
  data.resize(5'000);
  EXPECT_TRUE(same(content("x"), data));
}

// To publish takes as long as the store takes.
TEST_F(RemoteDriverRoot, ASizeOfOneFileHoldsUpNoOther) {
  const std::string go = folder + "/go";
  ::setenv("MERCUTIO_TEST_SEEN", "3", 1);
  ::setenv("MERCUTIO_TEST_SYNC_AWAITS", go.c_str(), 1);
  const auto one = open_remote(at, "data/x", writing());
  ASSERT_TRUE(one.ok());
  auto resizing = std::async(std::launch::async, [&] { return (*one)->set_size(10); });
  while (!std::filesystem::exists(go + ".awaited")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto by = session();
  auto opening = std::async(std::launch::async, [&] { return open_remote(by, "data/y", writing()); });
  EXPECT_EQ(opening.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  std::ofstream(go) << "go";
  EXPECT_TRUE(resizing.get().ok());
  EXPECT_TRUE(opening.get().ok());
  ::unsetenv("MERCUTIO_TEST_SYNC_AWAITS");
  ::unsetenv("MERCUTIO_TEST_SEEN");
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
