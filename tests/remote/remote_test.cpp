// What a server lets a client do, and what it costs.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <random>

#include "fixture.h"

namespace mercutio::remote {
namespace {

using RemoteFiles = RemoteTest;

// Ranks that wait until another one has made the file connect meanwhile.
TEST_F(RemoteFiles, ConnectsBeforeAnythingIsOpened) {
  ::setenv("MERCUTIO_CONNECTIONS", folder.c_str(), 1);
  ASSERT_TRUE(store_connection(connection).ok());
  const auto driver = make_driver();
  driver->prepare("far/data/file");
  EXPECT_TRUE(logged("joined"));
  EXPECT_EQ(log().find("opens"), std::string::npos);
  EXPECT_TRUE(driver->open("far/data/file", writing()).ok());
  EXPECT_EQ(log().find("joined"), log().rfind("joined")) << "over that connection";
  driver->prepare("nowhere/data/file");
  EXPECT_FALSE(driver->open("nowhere/data/file", writing()).ok());
  ::unsetenv("MERCUTIO_CONNECTIONS");
}

TEST_F(RemoteFiles, PathsStayInTheirRoot) {
  std::filesystem::create_directory(folder + "/in");
  std::ofstream(folder + "/in/file") << "inside";
  std::filesystem::create_symlink("/etc/passwd", folder + "/absolute");
  std::filesystem::create_symlink("../../../../etc", folder + "/in/up");
  std::filesystem::create_symlink("in/file", folder + "/fine");
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0600), 0);
  const auto at = session();
  const auto refused = [&](const std::string& path) {
    const auto opened = open_remote(at, path, {});
    return opened ? ErrorClass::kNone : opened.error().cls;
  };
  EXPECT_EQ(refused("data/in/file"), ErrorClass::kNone);
  EXPECT_EQ(refused("data//in/../in/file"), ErrorClass::kNone);
  EXPECT_EQ(refused("data/fine"), ErrorClass::kNone);
  EXPECT_EQ(refused("data/absolute"), ErrorClass::kAccess);
  EXPECT_EQ(refused("data/in/up/passwd"), ErrorClass::kAccess);
  EXPECT_EQ(refused("data/../../etc/passwd"), ErrorClass::kAccess);
  EXPECT_EQ(refused("../etc/passwd"), ErrorClass::kNoSuchFile);
  EXPECT_EQ(refused("etc/passwd"), ErrorClass::kNoSuchFile);
  EXPECT_EQ(refused("data/in"), ErrorClass::kBadFile);
  EXPECT_EQ(refused("data"), ErrorClass::kBadFile);
  EXPECT_EQ(refused("data/pipe"), ErrorClass::kBadFile);
  EXPECT_EQ(refused(std::string("data/in/file\0x", 14)), ErrorClass::kBadFile);
  EXPECT_EQ(open_remote(at, "seen/in/file", writing()).error().cls, ErrorClass::kReadOnly);
  EXPECT_EQ(open_remote(at, "seen/new", writing()).error().cls, ErrorClass::kReadOnly);
  EXPECT_EQ(open_remote(at, "data/in/up/new", writing()).error().cls, ErrorClass::kAccess);
  EXPECT_TRUE(logged("opens to read data/absolute: refused")) << log();
}

TEST_F(RemoteFiles, DeletingStaysInTheRootToo) {
  std::filesystem::create_directory(folder + "/in");
  std::filesystem::create_symlink("/tmp", folder + "/in/out");
  std::ofstream(folder + "/gone") << "x";
  const auto at = session();
  const auto remove = [&](const std::string& path) { return RemoteTest::remove(*at, path); };
  EXPECT_EQ(remove("seen/gone"), ErrorClass::kReadOnly);
  EXPECT_EQ(remove("data/gone"), ErrorClass::kNone);
  EXPECT_EQ(remove("data/gone"), ErrorClass::kNoSuchFile);
  EXPECT_EQ(remove("data/in/out/anything"), ErrorClass::kAccess);
  EXPECT_NE(remove("data/in"), ErrorClass::kNone);
  EXPECT_NE(remove("data/.."), ErrorClass::kNone);
}

TEST_F(RemoteFiles, ErrorsNameTheHostAndItsErrno) {
  const auto opened = open_remote(session(), "data/missing", {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().sys_errno, ENOENT);
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  EXPECT_NE(opened.error().what.find(std::string("(on ") + host + ")"), std::string::npos) << opened.error().what;
}

// Block-cyclic: a thousand pieces a transfer, the same list at another place each time.
TEST_F(RemoteFiles, AListIsShippedOnceAndThenCostsWords) {
  connection.streams = 3;
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/cyclic", writing()));
  auto data = filled(1024 * 512, 1);
  i64 before = 0, requests = 0;
  for (i64 round = 0; round < 8; ++round) {
    if (round == 1) before = at->counts().request_bytes, requests = at->counts().requests;
    std::vector<IoPiece> pieces;
    for (i64 i = 0; i < 1024; ++i) pieces.push_back({(round * 1024 + i) * 4096 + 512, data.data() + i * 512, 512});
    ASSERT_EQ(file->write(pieces).value(), 1024 * 512);
  }
  EXPECT_LE(at->counts().definitions, 3) << "once a stream at most";
  EXPECT_LE(at->counts().request_bytes - before, 200 * (at->counts().requests - requests));
  const std::string there = content("cyclic");
  ASSERT_EQ(there.size(), (7 * 1024 + 1023) * 4096 + 1024);
  for (size_t i = 0; i < 8 * 1024; ++i)
    ASSERT_EQ(std::memcmp(there.data() + i * 4096 + 512, data.data() + i % 1024 * 512, 512), 0) << i;
}

TEST_F(RemoteFiles, IrregularListsGoBackAndForth) {
  auto file = std::move(*open_remote(session(), "data/irregular", writing()));
  auto out = filled(300'000, 5);
  std::vector<IoPiece> pieces;
  for (i64 at = 0, offset = 900'000; at < 300'000; at += 1000) {
    pieces.push_back({offset, out.data() + at, 1000});
    offset -= 1000 + (at / 1000 * 7) % 1900;
  }
  ASSERT_EQ(file->write(pieces).value(), 300'000);
  std::vector<std::byte> in(300'000);
  for (IoPiece& piece : pieces) piece.data = in.data() + (piece.data - out.data());
  ASSERT_EQ(file->read(pieces).value(), 300'000);
  EXPECT_EQ(in, out);
}

TEST_F(RemoteFiles, BigTransfersUseEveryStream) {
  auto file = std::move(*open_remote(session(), "data/big", writing()));
  auto out = filled(33 * MiB + 17, 2);
  ASSERT_EQ(write(*file, 3, out).value(), 33 * MiB + 17);
  std::vector<std::byte> in(out.size() + 100);
  const IoPiece piece{3, in.data(), static_cast<i64>(in.size())};
  EXPECT_EQ(file->read(std::span(&piece, 1)).value(), 33 * MiB + 17) << "cut short by the end of the file";
  in.resize(out.size());
  EXPECT_EQ(in, out);
  EXPECT_TRUE(file->sync().ok());
  EXPECT_TRUE(file->close().ok());
}

TEST_F(RemoteFiles, WriteBehindTellsItsErrorAtSync) {
  connection.write_behind_bytes = 1 * MiB;
  auto file = std::move(*open_remote(session(), "data/behind", keeping()));
  auto data = filled(1000, 3);
  EXPECT_TRUE(write(*file, 0, data).ok());
  EXPECT_TRUE(write(*file, i64{1} << 62, data).ok()) << "nobody knows yet";
  const Status synced = file->sync();
  ASSERT_FALSE(synced.ok());
  EXPECT_TRUE(file->sync().ok()) << "told once";
  EXPECT_TRUE(write(*file, i64{1} << 62, data).ok());
  EXPECT_FALSE(file->close().ok());
  EXPECT_TRUE(same(content("behind"), data));
}

TEST_F(RemoteFiles, WriteBehindKeepsTheOrderOfWhatOverlaps) {
  connection.write_behind_bytes = 4 * MiB;
  auto file = std::move(*open_remote(session(), "data/order", keeping()));
  std::vector<std::byte> data;
  for (int i = 0; i < 40; ++i) {
    data = filled(200'000, i);
    ASSERT_TRUE(write(*file, 0, data).ok());
  }
  EXPECT_TRUE(file->close().ok());
  EXPECT_TRUE(same(content("order"), data));
}

// Each of them waits for its reply at most once.
TEST_F(RemoteFiles, ASmallFileTakesThreeRequests) {
  const auto at = session();
  auto first = open_remote(at, "data/first", writing());
  const i64 before = at->counts().requests;
  auto file = std::move(*open_remote(at, "data/small", keeping()));
  auto data = filled(100, 1);
  ASSERT_TRUE(write(*file, 0, data).ok());
  ASSERT_TRUE(file->close().ok());
  EXPECT_EQ(at->counts().requests - before, 3);
  EXPECT_TRUE(same(content("small"), data));
}

TEST_F(RemoteFiles, AnOpenTellsTheSizeWithIt) {
  const auto at = session();
  auto data = filled(1234, 1);
  ASSERT_TRUE(write(**open_remote(at, "data/sized", writing()), 0, data).ok());
  auto file = std::move(*open_remote(at, "data/sized", writing()));
  const i64 before = at->counts().requests;
  EXPECT_EQ(file->known_size(), 1234);
  EXPECT_EQ(at->counts().requests, before);
  ASSERT_TRUE(file->set_size(1000).ok());
  EXPECT_EQ(file->known_size(), 1000);
  ASSERT_TRUE(write(*file, 1000, data).ok());
  EXPECT_EQ(file->size().value(), 2234);
  EXPECT_EQ(file->known_size(), 2234);
}

TEST_F(RemoteFiles, ChecksumsAreMadeThere) {
  auto file = std::move(*open_remote(session(), "data/sums", writing()));
  auto data = filled(300'000, 1);
  ASSERT_TRUE(write(*file, 0, data).ok());
  auto* const remote = dynamic_cast<RemoteStorage*>(file.get());
  ASSERT_NE(remote, nullptr);
  EXPECT_EQ(remote->checksum(1000, 200'000).value(), checksum_of(ConstBytes(data).subspan(1000, 199'000)));
  EXPECT_EQ(remote->checksum(100'000, 900'000).value(), checksum_of(ConstBytes(data).subspan(100'000))) << "as far as the file goes";
  EXPECT_FALSE(remote->checksum(-1, 5).ok());
  EXPECT_FALSE(remote->checksum(0, i64{1} << 40).ok()) << "more than a server would read at once";
}

TEST_F(RemoteFiles, ReadsInAdvanceSeeWhatThisProcessWrites) {
  auto file = std::move(*open_remote(session(), "data/ahead", keeping()));
  auto out = filled(3 * MiB + 777, 9);
  ASSERT_TRUE(write(*file, 0, out).ok());
  std::vector<std::byte> in(50'000);
  const auto reads_as_written = [&](i64 at) {
    const IoPiece piece{at, in.data(), 50'000};
    const i64 wanted = std::min<i64>(50'000, static_cast<i64>(out.size()) - at);
    ASSERT_EQ(file->read(std::span(&piece, 1)).value(), wanted) << at;
    ASSERT_EQ(std::memcmp(in.data(), out.data() + at, static_cast<size_t>(wanted)), 0) << at;
  };
  for (i64 at = 0; at < static_cast<i64>(out.size()); at += 50'000) {
    reads_as_written(at);
    if (at % 7 != 0) continue;
    const IoPiece change{at + 60'000, out.data() + 5, 1000};   // in what was asked for already
    ASSERT_TRUE(file->write(std::span(&change, 1)).ok());
    const i64 end = std::max<i64>(static_cast<i64>(out.size()), at + 61'000);
    out.resize(static_cast<size_t>(end));
    std::copy_n(std::vector<std::byte>(out.begin() + 5, out.begin() + 1005).begin(), 1000, out.begin() + at + 60'000);
  }
  EXPECT_TRUE(file->close().ok());
}

// What is read and written in small pieces near each other asks the server now and then only, and is what was written.
TEST_F(RemoteFiles, SmallAccessesInAnyOrderMeetInPages) {
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/pages", keeping()));
  std::mt19937 random(7);
  std::vector<std::byte> model;
  i64 reads = 0, writes = 0;
  for (int i = 0; i < 6'000; ++i) {
    const i64 offset = random() % 60'000, bytes = 1 + random() % 40;
    std::vector<std::byte> data = filled(bytes, i), in(static_cast<size_t>(bytes));
    const IoPiece halves[] = {{offset, data.data(), bytes / 2}, {offset + bytes / 2, data.data() + bytes / 2, bytes - bytes / 2}};
    if (i % 2 == 0) {
      ++writes;
      ASSERT_EQ(file->write(halves).value(), bytes);
      model.resize(std::max(model.size(), static_cast<size_t>(offset + bytes)));
      std::copy(data.begin(), data.end(), model.begin() + offset);
      continue;
    }
    ++reads;
    const IoPiece piece{offset, in.data(), bytes};
    const i64 wanted = std::clamp<i64>(static_cast<i64>(model.size()) - offset, 0, bytes);
    ASSERT_EQ(file->read(std::span(&piece, 1)).value(), wanted) << "access " << i;
    ASSERT_EQ(std::memcmp(in.data(), model.data() + offset, static_cast<size_t>(wanted)), 0) << "access " << i;
  }
  EXPECT_LT(at->counts().requests - writes, reads / 10);
  EXPECT_TRUE(file->close().ok());
  EXPECT_TRUE(same(content("pages"), model));
}

// A loop that reads each element after it was written: nothing is read in advance again and again to be thrown away.
TEST_F(RemoteFiles, ReadingInAdvanceGivesUpWhereItIsOfNoUse) {
  const auto at = session();
  auto file = std::move(*open_remote(at, "data/use", keeping()));
  auto whole = filled(4 * MiB, 1);
  ASSERT_TRUE(write(*file, 0, whole).ok());
  const i64 before = at->counts().requests;
  std::vector<std::byte> in(5'000);
  for (i64 i = 0; i < 400; ++i) {
    const IoPiece element{i * 5'000, in.data(), 5'000}, next{(i + 1) * 5'000, whole.data(), 5'000};
    ASSERT_EQ(file->read(std::span(&element, 1)).value(), 5'000);
    ASSERT_EQ(file->write(std::span(&next, 1)).value(), 5'000);
  }
  EXPECT_LT(at->counts().requests - before, 3 * 800);
}

// Another process writes; sync is where MPI's rules say that it is seen.
TEST_F(RemoteFiles, ReadsInAdvanceEndWithSync) {
  auto reader = std::move(*open_remote(session(), "data/others", keeping()));
  auto writer = std::move(*open_remote(session(), "data/others", keeping()));
  auto data = filled(2 * MiB, 1);
  ASSERT_TRUE(write(*writer, 0, data).ok());
  ASSERT_TRUE(writer->flush().ok());
  std::vector<std::byte> in(10'000);
  for (i64 at = 0; at < 500'000; at += 10'000) {
    const IoPiece piece{at, in.data(), 10'000};
    ASSERT_EQ(reader->read(std::span(&piece, 1)).value(), 10'000);
  }
  data = filled(2 * MiB, 2);
  ASSERT_TRUE(write(*writer, 0, data).ok());
  ASSERT_TRUE(writer->sync().ok());
  ASSERT_TRUE(reader->sync().ok());
  for (i64 at = 500'000; at < 1'000'000; at += 10'000) {
    const IoPiece piece{at, in.data(), 10'000};
    ASSERT_EQ(reader->read(std::span(&piece, 1)).value(), 10'000);
    ASSERT_EQ(std::memcmp(in.data(), data.data() + at, 10'000), 0) << at;
  }
}

TEST(ConnectionFile, ComesBackAndRefusesNonsense) {
  Connection connection;
  connection.host = "far";
  connection.key = *make_key();
  connection.servers = {{"10.0.0.1", 4000}, {"::1", 4001}};
  connection.streams = 7;
  connection.lz4 = true;
  const auto back = parse_connection(connection_text(connection));
  ASSERT_TRUE(back.ok()) << back.error().what;
  EXPECT_EQ(*back, connection);
  for (const char* wrong : {"", "host a\n", "host a\nkey 12\nserver a 1\n", "streams 17\n", "server a 70000\n", "colour red\n", "compress zip\n"})
    EXPECT_FALSE(parse_connection(wrong).ok()) << wrong;
}

// In a folder of their own, which ends with the test.
class StoredConnections : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder), nullptr);
    ::setenv("MERCUTIO_CONNECTIONS", folder, 1);
    connection.host = "far";
    connection.servers = {{"::1", 4001}};
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  char folder[sizeof "/tmp/mercutio-connection-XXXXXX"] = "/tmp/mercutio-connection-XXXXXX";
  Connection connection;
};

TEST_F(StoredConnections, MustBePrivate) {
  ASSERT_TRUE(store_connection(connection).ok());
  EXPECT_TRUE(load_connection("far").ok());
  ASSERT_EQ(::chmod((std::string(folder) + "/far").c_str(), 0640), 0);
  EXPECT_EQ(load_connection("far").error().cls, ErrorClass::kAccess);
  EXPECT_NE(load_connection("other").error().what.find("mercutio connect"), std::string::npos);
  for (const char* name : {"", "..", "a/b", ".hidden"}) EXPECT_FALSE(load_connection(name).ok()) << name;
}

// Of a process that was killed; another one may have its number now.
TEST_F(StoredConnections, WhatAKilledProcessLeavesIsInNobodysWay) {
  std::ofstream(std::string(folder) + "/far." + std::to_string(::getpid())) << "half";
  std::ofstream(std::string(folder) + "/.far.Xy12Zz") << "half";
  EXPECT_TRUE(store_connection(connection).ok());
  std::filesystem::remove(std::string(folder) + "/far." + std::to_string(::getpid()));
  EXPECT_EQ(*list_connections(), std::vector<std::string>{"far"});
  struct stat status {};
  ASSERT_EQ(::stat((std::string(folder) + "/far").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  std::filesystem::create_directory(std::string(folder) + "/near");   // it can't get its name
  connection.host = "near";
  EXPECT_FALSE(store_connection(connection).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()), 3);
}

// Files of /proc don't tell of their holes.
TEST(Extents, WhereNothingTellsTheyAreTheWholeFile) {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_LT(::lseek(fd, 0, SEEK_DATA), 0);
  const auto found = extents_of(fd, 0, INT64_MAX);
  ::close(fd);
  ASSERT_TRUE(found.ok()) << found.error().what;
  EXPECT_TRUE(found->empty());   // it has no size
}

TEST(Exports, MayBeBelowTheHomeDirectory) {
  char home[] = "/tmp/mercutio-home-XXXXXX";
  ASSERT_NE(::mkdtemp(home), nullptr);
  const std::string former = ::getenv("HOME") ? ::getenv("HOME") : "";
  std::filesystem::create_directory(std::string(home) + "/runs");
  std::ofstream(std::string(home) + "/runs/x") << "content";
  ::setenv("HOME", home, 1);
  const auto exports = Exports::open({{"all", "~", false}, {"runs", "~/runs", false}});
  ::unsetenv("HOME");
  const auto homeless = Exports::open({{"all", "~", false}});
  if (!former.empty()) ::setenv("HOME", former.c_str(), 1);
  ASSERT_TRUE(exports.ok()) << exports.error().what;
  EXPECT_EQ(exports->status("all/runs/x")->bytes, 7);
  EXPECT_EQ(exports->status("runs/x")->bytes, 7);
  ASSERT_FALSE(homeless.ok());
  EXPECT_NE(homeless.error().what.find("HOME is not set"), std::string::npos) << homeless.error().what;
  std::filesystem::remove_all(home);
}

// As by Linux before 5.6, and by containers that do not know the call. In a process of its own, because it cannot be taken back.
TEST(Exports, AreRefusedWhereTheKernelKeepsNoPathBelowItsRoot) {
  for (const int failed : {ENOSYS, EPERM}) {
    const pid_t child = ::fork();
    if (child == 0) {
      sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(failed)), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
      const sock_fprog filter{std::size(steps), steps};
      if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) ::_exit(3);
      const auto exports = Exports::open({{"data", "/tmp", false}});
      ::_exit(exports ? 1 : exports.error().what.find("Linux 5.6") == std::string::npos ? 2 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "system calls cannot be refused here";
    EXPECT_EQ(WEXITSTATUS(status), 0) << failed;
  }
}

TEST(Exports, AreReadFromTheCommandLine) {
  EXPECT_TRUE(parse_export("a=/b:rw")->writable);
  EXPECT_FALSE(parse_export("a=/b")->writable);
  EXPECT_EQ(parse_export("a=/b:c:rw")->directory, "/b:c");
  EXPECT_EQ(parse_export("a=gluster:volume/x:rw")->directory, "gluster:volume/x");
  EXPECT_TRUE(parse_export("a=gluster:volume/x:rw")->writable);
  EXPECT_EQ(parse_export("a=cephfs://")->directory, "cephfs://");
  EXPECT_EQ(parse_export("a=~/b:rw")->directory, "~/b");
  for (const char* wrong : {"", "a", "=/b", "a=b", "a/b=/c", "a=:rw", "a=gluster:rw", "a=Gluster:x", "a=g:x", "a=~b"}) EXPECT_FALSE(parse_export(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace mercutio::remote
