// Requests about names: what lies where, and changes of it, never outside of the roots.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "remote/exports.h"
#include "remote/host.h"

namespace {

std::atomic<bool> listing_waits{false};      // as in a directory whose server is slow
std::atomic<long> names_more{0};             // that a directory has in appearance

std::mutex synced_mutex;
std::vector<std::string> synced_names;       // of files when they were synced

}  // namespace

extern "C" int fsync(int fd) {
  static const auto real = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"));
  std::error_code failed;
  const std::string name = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), failed).filename();
  std::lock_guard guard(synced_mutex);
  synced_names.push_back(name);
  return real(fd);
}

extern "C" dirent* readdir(DIR* directory) {
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  while (listing_waits) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (names_more > 0) {
    thread_local dirent entry;
    std::snprintf(entry.d_name, sizeof entry.d_name, "z%0150ld", names_more--);
    return &entry;
  }
  return real(directory);
}

namespace mercutio::remote {
namespace {

class RemoteNames : public RemoteTest {
 protected:
  Result<Reply> ask(Kind kind, const NameRequest& request) {
    if (!at) at = session();
    Buffer message;
    put_message(message, request);
    return at->call(kind, std::move(message));
  }
  void TearDown() override {
    at.reset();
    RemoteTest::TearDown();
  }
  static Buffer buffer_of(const std::string& text) {
    Buffer bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
  }
  std::shared_ptr<Session> at;
};

TEST_F(RemoteNames, ListsComeInPartsAndByName) {
  const std::string tail(200, 'x');
  constexpr int kFiles = 6000;   // more than one reply holds
  for (int i = 0; i < kFiles; ++i) std::ofstream(folder + "/" + std::to_string(100'000 + i) + tail);
  std::filesystem::create_symlink("nowhere", folder + "/link");
  NameRequest request;
  request.path = "data";
  std::vector<ListEntry> all;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    const auto reply = ask(Kind::kList, request);
    ASSERT_TRUE(reply.ok()) << reply.error().what;
    const auto part = get_messages<ListEntry>(reply->more);
    ASSERT_TRUE(part.ok() && !part->empty());
    all.insert(all.end(), part->begin(), part->end());
    request.other = all.back().name;
    more = reply->value != 0;
  }
  EXPECT_GT(parts, 1);
  ASSERT_EQ(all.size(), size_t{kFiles + 1});
  EXPECT_EQ(all.front().name, "100000" + tail);
  EXPECT_EQ(all.back().name, "link");
  EXPECT_EQ(all.back().status.kind(), FileType::kLink);
  const auto roots = ask(Kind::kList, {});
  ASSERT_TRUE(roots.ok());
  EXPECT_EQ(get_messages<ListEntry>(roots->more)->size(), 2U);
}

TEST_F(RemoteNames, ASlowListHoldsUpNothing) {
  connection.streams = 1;
  connection.timeout_ms = 5'000;
  at = session();
  Buffer message;
  put_message(message, NameRequest{"data"});
  const auto list = std::make_shared<CallJob>(Kind::kList, std::move(message));
  listing_waits = true;
  at->submit(list);
  const auto status = ask(Kind::kStatus, {"data"});   // on the same stream
  const bool waited = !list->done();
  listing_waits = false;
  EXPECT_TRUE(status.ok()) << status.error().what;
  EXPECT_TRUE(waited);
  EXPECT_TRUE(list->wait().ok());
}

TEST_F(RemoteNames, APartOfAHugeListNeedsLittleMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "ASan keeps freed memory";
#endif
  for (const char* name : {"b", "a", "c"}) std::ofstream(folder + "/" + name);
  const auto exports = Exports::open({{"data", folder, false}});
  ASSERT_TRUE(exports.ok());
  const auto peak_bytes = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return i64{usage.ru_maxrss} * 1024;
  };
  const i64 before = peak_bytes();
  names_more = 1'000'000;   // of 151 bytes each, after the others
  const auto listed = exports->list("data", "", 8 * KiB);
  ASSERT_TRUE(listed.ok());
  EXPECT_LT(peak_bytes() - before, 32 * MiB);
  ASSERT_EQ(listed->entries.size(), 3U);
  EXPECT_EQ(listed->entries[0].name, "a");
  EXPECT_EQ(listed->entries[2].name, "c");
  EXPECT_FALSE(listed->whole);
}

TEST_F(RemoteNames, ASmallFileIsPutAndGotInAMessageEach) {
  std::ofstream(folder + "/x") << "before";
  synced_names.clear();
  NameRequest request{"data/x", "", 0, true, 0640, 1'577'836'800'123'456'789, 0, buffer_of("after")};
  const auto put = ask(Kind::kPut, request);
  ASSERT_TRUE(put.ok()) << put.error().what;
  EXPECT_EQ(static_cast<u64>(put->value), checksum_of(buffer_of("after")));
  {
    std::lock_guard guard(synced_mutex);
    ASSERT_EQ(synced_names.size(), 1U);
    EXPECT_TRUE(synced_names[0].starts_with(".mercutio-put-")) << "synced as " << synced_names[0] << ", before it is data/x";
  }
  EXPECT_EQ(content("x"), "after");
  const auto got = ask(Kind::kGet, {"seen/x"});
  ASSERT_TRUE(got.ok());
  const auto reply = get_message<GetReply>(got->more);
  EXPECT_EQ(reply->content, request.content);
  EXPECT_EQ(reply->status.permissions, 0640U);
  EXPECT_EQ(reply->status.modified_ns, request.modified_ns);
  EXPECT_TRUE(logged("reads seen/x")) << log();
  EXPECT_FALSE(ask(Kind::kStatus, {"data/../out"}).ok());
  EXPECT_TRUE(logged("looks at data/../out: refused")) << log();
  request.replace = false;
  EXPECT_FALSE(ask(Kind::kPut, request).ok());
  request.permissions = 06777;
  request.replace = true;
  EXPECT_TRUE(ask(Kind::kPut, request).ok());
  EXPECT_EQ(std::filesystem::status(folder + "/x").permissions(), std::filesystem::perms(0777)) << "nothing that gives another user's rights";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "nothing is left of it";
}

// As a program that opens the file and writes.
TEST_F(RemoteNames, WhatIsPutOrRenamedAsWritesKeepsPermissionsAndLinks) {
  const auto permissions = [&](const char* name) { return static_cast<unsigned>(std::filesystem::status(folder + "/" + name).permissions()); };
  const auto put = [&](const char* name, unsigned wanted, const char* text) { return ask(Kind::kPut, {name, "", 0, true, wanted | kAsWrites, -1, 0, buffer_of(text)}); };
  const mode_t umask_before = ::umask(027);
  std::ofstream(folder + "/secret") << "before";
  std::filesystem::permissions(folder + "/secret", std::filesystem::perms(0600));
  std::filesystem::create_directory(folder + "/runs");
  std::filesystem::create_symlink("runs/latest", folder + "/latest");
  std::filesystem::create_symlink("../secret", folder + "/runs/latest");
  std::filesystem::create_symlink("/etc/x", folder + "/out");
  std::filesystem::create_symlink("circle", folder + "/circle");
  EXPECT_TRUE(put("data/secret", 0666, "first").ok());
  EXPECT_EQ(content("secret"), "first");
  EXPECT_EQ(permissions("secret"), 0600U);
  const auto linked = put("data/latest", 0666, "second");
  EXPECT_TRUE(linked.ok()) << linked.error().what;
  EXPECT_EQ(content("secret"), "second");
  EXPECT_EQ(permissions("secret"), 0600U);
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/latest") && std::filesystem::is_symlink(folder + "/runs/latest"));
  EXPECT_TRUE(put("data/new", 0666, "third").ok());
  EXPECT_EQ(permissions("new"), 0640U) << "but for those in the umask";
  EXPECT_TRUE(ask(Kind::kRename, {"data/new", "data/latest", 0, true, kAsWrites}).ok());
  EXPECT_EQ(content("secret"), "third");
  EXPECT_EQ(permissions("secret"), 0600U);
  EXPECT_EQ(put("data/out", 0666, "x").error().sys_errno, EXDEV);
  EXPECT_EQ(put("data/circle", 0666, "x").error().sys_errno, ELOOP);
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/latest") && !std::filesystem::exists(folder + "/new"));
  ::umask(umask_before);
}

TEST_F(RemoteNames, WhatMayNotBeWrittenIsNotReplacedAsWrites) {
  constexpr uid_t kOther = 65534;   // root may write everything
  const bool is_root = ::geteuid() == 0;
  std::ofstream(folder + "/kept") << "kept";
  std::filesystem::permissions(folder + "/kept", std::filesystem::perms(0400));
  ASSERT_TRUE(ask(Kind::kPut, {"data/new", "", 0, true, 0600, -1, 0, buffer_of("new")}).ok());
  for (const char* name : {"", "/kept", "/new"}) ASSERT_TRUE(!is_root || ::chown((folder + name).c_str(), kOther, static_cast<gid_t>(-1)) == 0);
  ASSERT_TRUE(!is_root || ::seteuid(kOther) == 0);
  const auto put = ask(Kind::kPut, {"data/kept", "", 0, true, 0600 | kAsWrites, -1, 0, buffer_of("x")});
  const auto renamed = ask(Kind::kRename, {"data/new", "data/kept", 0, true, kAsWrites});
  ASSERT_TRUE(!is_root || ::seteuid(0) == 0);
  for (const auto& refused : {put, renamed}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().sys_errno, EACCES);
  }
  EXPECT_EQ(content("kept"), "kept");
}

TEST_F(RemoteNames, ARenamedLinkGivesNoPermissionsToWhatItLeadsTo) {
  const std::filesystem::path outside = folder + "-outside";
  std::ofstream(outside) << "outside";
  std::filesystem::permissions(outside, std::filesystem::perms(0600));
  std::ofstream(folder + "/open") << "open";
  std::filesystem::permissions(folder + "/open", std::filesystem::perms(0777));
  std::filesystem::create_symlink(outside, folder + "/out");
  const auto renamed = ask(Kind::kRename, {"data/out", "data/open", 0, true, kAsWrites});
  EXPECT_EQ(std::filesystem::status(outside).permissions(), std::filesystem::perms(0600));
  ASSERT_FALSE(renamed.ok());
  EXPECT_EQ(renamed.error().sys_errno, EOPNOTSUPP);
  EXPECT_EQ(content("open"), "open");
  std::filesystem::remove(outside);
}

TEST_F(RemoteNames, NothingLeavesItsRootOrChangesWhatIsReadOnly) {
  std::ofstream(folder + "/x") << "x";
  std::filesystem::create_directory(folder + "/sub");
  std::filesystem::create_symlink("/tmp", folder + "/out");
  const std::vector<std::string> outside = {"data/../x", "data/sub/../../x", "data/out/x", "nowhere/x", "data/..", "/etc/passwd", std::string("data/x\0y", 8)};
  for (const std::string& path : outside) {
    for (const Kind kind : {Kind::kStatus, Kind::kGet, Kind::kExtents, Kind::kList}) EXPECT_FALSE(ask(kind, {path}).ok()) << kind_name(kind) << " " << path;
    for (const Kind kind : {Kind::kPut, Kind::kMakeDirectory, Kind::kRemoveDirectory, Kind::kMakeLink, Kind::kSetAttributes}) EXPECT_FALSE(ask(kind, {path}).ok()) << kind_name(kind) << " " << path;
    EXPECT_FALSE(ask(Kind::kRename, {path, "data/y"}).ok()) << path;
    EXPECT_FALSE(ask(Kind::kRename, {"data/x", path}).ok()) << path;
  }
  EXPECT_FALSE(ask(Kind::kPut, {"seen/y"}).ok());
  EXPECT_FALSE(ask(Kind::kMakeDirectory, {"seen/y"}).ok());
  EXPECT_FALSE(ask(Kind::kRemoveDirectory, {"seen/sub"}).ok());
  EXPECT_FALSE(ask(Kind::kRename, {"seen/x", "data/y"}).ok());
  EXPECT_FALSE(ask(Kind::kRename, {"data/x", "seen/y"}).ok());
  EXPECT_EQ(content("x"), "x");
}

TEST_F(RemoteNames, LinksAreFollowedInTheFirstPartOfAPathOnly) {
  std::filesystem::create_directories(folder + "/kept/deep");
  std::ofstream(folder + "/kept/x") << "x";
  std::filesystem::create_directory(folder + "/top");
  std::filesystem::create_symlink("top", folder + "/by-link");
  std::filesystem::create_symlink("../kept", folder + "/top/link");
  at = session();
  const auto asked = [&](Kind kind, const std::string& path, const std::string& linked) {
    const i64 bytes = static_cast<i64>(linked.size());
    Buffer message;
    if (kind == Kind::kRemove)
      put_message(message, PlainRequest{.value = bytes, .path = path});
    else
      put_message(message, NameRequest{.path = path, .position = bytes});
    const auto reply = at->call(kind, std::move(message));
    return reply ? 0 : reply.error().sys_errno;
  };
  for (const std::string linked : {"d", "data", "data/", "data/top", "data/top/"}) {
    EXPECT_EQ(asked(Kind::kList, "data/top/link", linked), ELOOP) << linked;
    EXPECT_EQ(asked(Kind::kRemove, "data/top/link/x", linked), ELOOP) << linked;
    EXPECT_EQ(asked(Kind::kRemoveDirectory, "data/top/link/deep", linked), ELOOP) << linked;
    EXPECT_EQ(asked(Kind::kList, "data/top", linked), 0) << linked;
  }
  EXPECT_EQ(asked(Kind::kList, "data/by-link", "data"), ELOOP);
  EXPECT_EQ(asked(Kind::kList, "data/by-link/link", "data/by-link"), ELOOP);
  EXPECT_EQ(asked(Kind::kList, "data/by-link/link", ""), 0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/kept/x") && std::filesystem::exists(folder + "/kept/deep"));
  EXPECT_EQ(asked(Kind::kRemove, "data/by-link/link", "data/by-link"), 0) << "the link itself";
  EXPECT_EQ(asked(Kind::kRemove, "data/kept/x", ""), 0);
  EXPECT_EQ(asked(Kind::kRemoveDirectory, "data/kept/deep", "data/kept"), 0);
}

TEST_F(RemoteNames, ARenameKnowsTheFileItIsAbout) {
  at = session();
  auto file = std::move(*open_remote(at, "data/part", writing()));
  auto data = filled(1000, 1);
  ASSERT_TRUE(write(*file, 0, data).ok());
  const u64 handle = dynamic_cast<RemoteStorage&>(*file).handle();
  NameRequest request{"data/part", "data/whole", handle, true, 0600, 1'577'836'800'000'000'000};
  std::filesystem::rename(folder + "/part", folder + "/kept");
  std::ofstream(folder + "/part") << "of somebody else";
  const auto refused = ask(Kind::kRename, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().sys_errno, ESTALE);
  std::filesystem::rename(folder + "/kept", folder + "/part");
  ASSERT_TRUE(ask(Kind::kRename, request).ok());
  EXPECT_TRUE(same(content("whole"), data));
  EXPECT_FALSE(std::filesystem::exists(folder + "/part"));
  struct stat status {};
  ASSERT_EQ(::stat((folder + "/whole").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'577'836'800);
  EXPECT_TRUE(file->close().ok());
}

TEST_F(RemoteNames, AttributesAreOfTheNameItself) {
  std::filesystem::create_directory(folder + "/sub");
  std::ofstream(folder + "/sub/x") << "x";
  const std::filesystem::path outside = folder + "-outside";
  std::ofstream(outside) << "outside";
  ASSERT_TRUE(ask(Kind::kMakeLink, {"data/inside", "sub/x"}).ok());
  ASSERT_TRUE(ask(Kind::kMakeLink, {"data/out", outside.string()}).ok());
  EXPECT_EQ(std::filesystem::read_symlink(folder + "/inside"), "sub/x");
  EXPECT_EQ(ask(Kind::kMakeLink, {"data/inside", "sub"}).error().sys_errno, EEXIST);
  EXPECT_EQ(ask(Kind::kMakeLink, {"seen/inside", "sub"}).error().sys_errno, EROFS);
  const auto type = [&](const std::string& path) { return get_message<FileStatus>(ask(Kind::kOwnStatus, {path})->more)->kind(); };
  EXPECT_EQ(type("data/inside"), FileType::kLink);
  EXPECT_EQ(type("data/out"), FileType::kLink);
  EXPECT_EQ(type("data/sub/x"), FileType::kFile);
  EXPECT_EQ(type("data"), FileType::kDirectory);
  EXPECT_EQ(ask(Kind::kOwnStatus, {"data/none"}).error().sys_errno, ENOENT);
  EXPECT_EQ(ask(Kind::kReadLink, {"data/sub/x"}).error().sys_errno, EINVAL);
  std::string text;
  RemoteDecoder(ask(Kind::kReadLink, {"data/inside"})->more)(text);
  EXPECT_EQ(text, "sub/x");
  NameRequest change{"data/sub/x", "", 0, true, 04600, 1'577'836'800'000'000'000};
  ASSERT_TRUE(ask(Kind::kSetAttributes, change).ok());
  struct stat status {};
  ASSERT_EQ(::stat((folder + "/sub/x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_EQ(status.st_mtim.tv_sec, 1'577'836'800);
  const auto mode_after = [&](std::uint32_t permissions) {
    EXPECT_TRUE(ask(Kind::kSetAttributes, {"data/sub", "", 0, true, permissions, kTimeStays}).ok());
    EXPECT_EQ(::stat((folder + "/sub").c_str(), &status), 0);
    return status.st_mode & 07777;
  };
  EXPECT_EQ(mode_after(07750 | kExactly), 03750U);
  EXPECT_EQ(mode_after(0700), 03700U);
  EXPECT_EQ(mode_after(0750 | kExactly), 0750U);
  change.path = "data/out";
  EXPECT_EQ(ask(Kind::kSetAttributes, change).error().sys_errno, EOPNOTSUPP);
  change.permissions = kPermissionsStay;
  EXPECT_TRUE(ask(Kind::kSetAttributes, change).ok());
  ASSERT_EQ(::stat(outside.c_str(), &status), 0);
  EXPECT_NE(status.st_mtim.tv_sec, 1'577'836'800) << "the link's own time";
  change.path = "seen/x";
  EXPECT_EQ(ask(Kind::kSetAttributes, change).error().sys_errno, EROFS);
  const auto space = ask(Kind::kSpace, {"data"});
  ASSERT_TRUE(space.ok());
  EXPECT_GT(get_message<Space>(space->more)->block_bytes, 0);
  std::filesystem::remove(outside);
}

TEST_F(RemoteNames, HolesAreTold) {
  const int fd = ::open((folder + "/sparse").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::ftruncate(fd, 64 * MiB), 0);
  ASSERT_EQ(::pwrite(fd, "x", 1, 32 * MiB), 1);
  ::close(fd);
  const auto reply = ask(Kind::kExtents, {"data/sparse"});
  ASSERT_TRUE(reply.ok());
  const auto extents = get_messages<Extent>(reply->more);
  ASSERT_TRUE(extents.ok() && !extents->empty());
  i64 bytes = 0;
  for (const Extent& extent : *extents) bytes += extent.end - extent.begin;
  EXPECT_TRUE(bytes < MiB || bytes == 64 * MiB) << bytes;   // or the file system knows no holes
}

}  // namespace
}  // namespace mercutio::remote
