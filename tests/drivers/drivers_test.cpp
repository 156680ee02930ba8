// What Mercutio makes of a driver in a library (src/storage/library), and what it says where it can't use one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "file/test_support.h"
#include "storage/library/library.h"
#include "storage/storage.h"

namespace mercutio {
namespace {

class DriverLibraries : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("MERCUTIO_DRIVERS", MERCUTIO_TEST_DRIVERS, 1);
    path_ = ::testing::TempDir() + "driver." + std::to_string(::getpid());
    (void)::unlink(path_.c_str());
  }
  void TearDown() override {
    ::unsetenv("MERCUTIO_TEST_FAIL");
    ::unsetenv("MERCUTIO_TEST_SEEN");
    ::unsetenv("MERCUTIO_TEST_LOCKS");
    (void)::unlink(path_.c_str());
  }
  static void fail(const std::string& plan) { ::setenv("MERCUTIO_TEST_FAIL", plan.c_str(), 1); }

  Result<std::unique_ptr<Storage>> try_open(const std::string& prefix, bool read = true, bool keeps_writes = false) {
    const Resolved at = resolve(prefix + path_);
    OpenOptions options;
    options.keeps_writes = keeps_writes;
    options.read = read;
    options.write = options.create = true;
    return at.driver->open(at.path, options);
  }
  std::unique_ptr<Storage> open(const std::string& prefix) {
    auto opened = try_open(prefix);
    EXPECT_TRUE(opened.ok()) << opened.error().what;
    return opened ? std::move(*opened) : nullptr;
  }
  static Result<i64> write(Storage& storage, i64 offset, std::string text) {
    const IoPiece piece{offset, reinterpret_cast<std::byte*>(text.data()), static_cast<i64>(text.size())};
    return storage.write({&piece, 1});
  }
  std::string path_;
};

void expect_error(const Error& error, ErrorClass cls, std::initializer_list<const char*> parts) {
  EXPECT_EQ(error.cls, cls) << error.what;
  for (const char* part : parts) EXPECT_NE(error.what.find(part), std::string::npos) << part << " isn't in: " << error.what;
}

void expect_resolved(const std::string& name, const std::string& driver, const std::string& path) {
  const Resolved resolved = resolve(name);
  EXPECT_EQ(resolved.driver->name(), driver) << name;
  EXPECT_EQ(resolved.path, path) << name;
}

TEST_F(DriverLibraries, APrefixCountsWhereThereIsALibrary) {
  expect_resolved("plain:/a/b:c", "plain", "/a/b:c");
  expect_resolved("plain:a", "plain", "a");
  expect_resolved("plain:///a", "plain", "/a");
  expect_resolved("plain://a/b", "plain", "a/b");
  for (const char* name : {"Plain:/a", "plain", "./plain:a", "plains:a", "plai:a", "plain_1:a", "p:a", "1plain:a", "wrfout_d01_2020-01-01_00:00:00", "orangefs:/a"})
    expect_resolved(name, "posix", name);
  ::setenv("MERCUTIO_DRIVERS", "/nowhere", 1);
  expect_resolved("plain:/a", "posix", "plain:/a");
}

// Also where it is the rest of a file name with a colon that nobody took.
TEST_F(DriverLibraries, TwoSlashesNameADriverInAnyCase) {
  expect_resolved("absent://bucket/key", "absent", "bucket/key");
  expect_resolved("ufs://a", "posix", "//a");
  expect_resolved("memory://a", "memory", "//a");
  expect_resolved("mercutio://host/a", "mercutio", "host/a");
  expect_error(resolve("absent://bucket/key").driver->load().error(), ErrorClass::kUnsupportedOperation,
               {"libmercutio-driver-absent.so", MERCUTIO_TEST_DRIVERS, "MERCUTIO_DRIVERS"});
  EXPECT_FALSE(resolve("absent://bucket/key").driver->open("bucket/key", {}).ok());
  EXPECT_FALSE(resolve("absent://bucket/key").driver->remove("bucket/key").ok());
}

TEST_F(DriverLibraries, AnotherRanksChoiceIsFollowed) {
  EXPECT_EQ(driver_library_of("plain:a"), "plain");
  EXPECT_EQ(driver_library_of("absent://a"), "absent");
  EXPECT_EQ(driver_library_of("ufs://a"), "");
  EXPECT_STREQ(resolve("plain:a", "", "").driver->name(), "posix");
  EXPECT_STREQ(resolve("absent:a", "", "absent").driver->name(), "absent");
  EXPECT_EQ(resolve("absent:a", "", "absent").path, "a");
}

TEST_F(DriverLibraries, FoldersAreSearchedInTheirOrder) {
  const std::string folders = std::string("relative::/nowhere:") + MERCUTIO_TEST_DRIVERS;
  ::setenv("MERCUTIO_DRIVERS", folders.c_str(), 1);
  expect_resolved("plain:a", "plain", "a");
  ASSERT_EQ(::chdir(MERCUTIO_TEST_DRIVERS), 0);
  ::setenv("MERCUTIO_DRIVERS", ":.:", 1);
  expect_resolved("plain:a", "posix", "plain:a");
}

TEST_F(DriverLibraries, WhatCannotBeUsedIsNamed) {
  const auto error = [](const char* name) { return resolve(std::string(name) + ":a").driver->load().error(); };
  const auto unsupported = ErrorClass::kUnsupportedOperation;
  expect_error(error("future"), unsupported, {"libmercutio-driver-future.so", "version 99", "version 1", "driver.h"});
  expect_error(error("partial"), unsupported, {"libmercutio-driver-partial.so", "'write'"});
  expect_error(error("nothing"), unsupported, {"libmercutio-driver-nothing.so", "mercutio_driver_init"});
  expect_error(error("broken"), unsupported, {"libmercutio-driver-broken.so", "can't be loaded"});
  expect_error(error("unwilling"), ErrorClass::kIo, {"unwilling", "EHOSTDOWN", "the server of this driver is asleep"});
  EXPECT_TRUE(resolve("plain:a").driver->load().ok());
}

TEST_F(DriverLibraries, TraitsAreTheDrivers) {
  const auto storage = open("plain:");
  const Traits& traits = storage->traits();
  EXPECT_EQ(traits.file_system, "plain");
  EXPECT_TRUE(traits.can_lock && traits.locks_between_nodes && traits.metadata_is_remote && traits.caches_per_rank);
  EXPECT_EQ(traits.coherence, Coherence::kImmediate);
  EXPECT_EQ(traits.block_bytes, 8192);
  EXPECT_EQ(storage->layout().stripe_bytes, 65536);
  EXPECT_EQ(storage->layout().stripe_count, 4);
  EXPECT_EQ(storage->layout().first_server, 2);
  ::setenv("MERCUTIO_TEST_SEEN", "1", 1);
  ::setenv("MERCUTIO_TEST_LOCKS", "1", 1);
  const auto closed_to_open = open("plain:");
  EXPECT_EQ(closed_to_open->traits().coherence, Coherence::kAfterOpen);
  EXPECT_EQ(closed_to_open->traits().coherence_advice, "Ask whoever wrote the driver");
  EXPECT_TRUE(closed_to_open->traits().can_lock);
  EXPECT_FALSE(closed_to_open->traits().locks_between_nodes);
  ::setenv("MERCUTIO_TEST_LOCKS", "0", 1);
  const auto without_locks = open("plain:");
  EXPECT_FALSE(without_locks->traits().can_lock);
  expect_error(without_locks->lock(0, 1, true).error(), ErrorClass::kUnsupportedOperation, {"plain", "lock"});
}

TEST_F(DriverLibraries, WhatADriverLeavesOutIsDoneOrRefused) {
  const auto storage = open("least:");
  EXPECT_FALSE(storage->traits().can_lock);
  EXPECT_TRUE(storage->sync().ok() && storage->refresh().ok());
  EXPECT_TRUE(storage->shared_handle().value().empty());
  ASSERT_EQ(write(*storage, 0, "abc").value(), 3);
  ASSERT_TRUE(storage->set_size(100).ok());
  EXPECT_EQ(storage->size().value(), 100);
  ASSERT_TRUE(storage->preallocate(300).ok() && storage->preallocate(200).ok() && storage->set_size(300).ok());
  EXPECT_EQ(storage->size().value(), 300);
  char back[301] = {};
  const IoPiece all{0, reinterpret_cast<std::byte*>(back), 301};
  EXPECT_EQ(storage->read({&all, 1}).value(), 300);
  EXPECT_EQ(std::string(back, 5), std::string("abc\0\0", 5));
  expect_error(storage->set_size(2).error(), ErrorClass::kUnsupportedOperation, {"least", "shorter"});
  expect_error(storage->lock(0, 1, true).error(), ErrorClass::kUnsupportedOperation, {"least", "atomic"});
  const Resolved at = resolve("least:" + path_);
  expect_error(at.driver->remove(at.path).error(), ErrorClass::kUnsupportedOperation, {"least", "delete"});
}

TEST_F(DriverLibraries, ErrorsKeepTheirErrnoAndText) {
  auto storage = open("plain:");
  ASSERT_EQ(write(*storage, 0, "abc").value(), 3);
  fail("write:28");   // ENOSPC
  const Error full = write(*storage, 7, "x").error();
  expect_error(full, ErrorClass::kNoSpace, {"driver plain: write", "ENOSPC", "write was told to fail"});
  EXPECT_EQ(full.offset, 7);
  EXPECT_EQ(full.sys_errno, ENOSPC);
  EXPECT_EQ(storage->start(Direction::kWrite, {IoPiece{0, reinterpret_cast<std::byte*>(path_.data()), 1}})->wait().error().cls, ErrorClass::kNoSpace);
  fail("read:5");
  char byte = 0;
  const IoPiece one{0, reinterpret_cast<std::byte*>(&byte), 1};
  expect_error(storage->read({&one, 1}).error(), ErrorClass::kIo, {"EIO"});
  fail("get_size:13");
  EXPECT_EQ(storage->size().error().cls, ErrorClass::kAccess);
  fail("set_size:122");
  EXPECT_EQ(storage->set_size(5).error().cls, ErrorClass::kQuota);
  fail("preallocate:28");
  EXPECT_EQ(storage->preallocate(5).error().cls, ErrorClass::kNoSpace);
  fail("sync:5");
  EXPECT_EQ(storage->sync().error().cls, ErrorClass::kIo);
  fail("refresh:116");
  EXPECT_EQ(storage->refresh().error().sys_errno, ESTALE);
  fail("lock:37");
  EXPECT_EQ(storage->lock(0, 1, true).error().sys_errno, ENOLCK);
  fail("unlock:5");
  auto held = storage->lock(0, 1, true);
  ASSERT_TRUE(held.ok());
  EXPECT_EQ((*held)->release().error().sys_errno, EIO);
  fail("get_handle:12");
  EXPECT_EQ(storage->shared_handle().error().cls, ErrorClass::kNoMem);
  fail("remove:13");
  const Resolved at = resolve("plain:" + path_);
  EXPECT_EQ(at.driver->remove(at.path).error().cls, ErrorClass::kAccess);
  fail("close:28");
  EXPECT_EQ(storage->close().error().cls, ErrorClass::kNoSpace);
  fail("open:2");
  EXPECT_EQ(try_open("plain:").error().cls, ErrorClass::kNoSuchFile);
  fail("get_traits:5");
  EXPECT_EQ(try_open("plain:").error().cls, ErrorClass::kIo);
}

TEST_F(DriverLibraries, AnswersThatCannotBeAreErrors) {
  const auto storage = open("plain:");
  fail("write:wild");
  expect_error(write(*storage, 0, "abc").error(), ErrorClass::kIo, {"moved", "defect"});
  fail("get_size:wild");
  expect_error(storage->size().error(), ErrorClass::kIo, {"-3", "defect"});
  fail("sync:wild");
  expect_error(storage->sync().error(), ErrorClass::kIo, {"-1", "errno.h", "defect"});
  fail("get_handle:wild");
  expect_error(storage->shared_handle().error(), ErrorClass::kIo, {"4097", "defect"});
  fail("open:wild");
  expect_error(try_open("plain:").error(), ErrorClass::kIo, {"no file", "defect"});
  fail("get_traits:wild");
  expect_error(try_open("plain:").error(), ErrorClass::kIo, {"-22", "defect"});
}

TEST_F(DriverLibraries, ExceptionsAreErrors) {
  auto storage = open("throwing:");
  const Error thrown = write(*storage, 7, "abc").error();
  expect_error(thrown, ErrorClass::kIntern, {"driver throwing: write", "thrown by a driver", "defect"});
  EXPECT_EQ(thrown.offset, 7);
  EXPECT_EQ(thrown.bytes, 3);
  expect_error(storage->size().error(), ErrorClass::kIntern, {"driver throwing: get_size"});
  expect_error(storage->close().error(), ErrorClass::kIntern, {"driver throwing: close"});
  storage.reset();                                             // it is closed all the same: no second call
  (void)open("throwing:");
}

TEST_F(DriverLibraries, AnErrorStaysWhereItsTextCannotBeHad) {
  fail("open");
  const Error error = try_open("throwing:").error();
  expect_error(error, ErrorClass::kIo, {"driver throwing: open", "(EDEADLK)"});
  EXPECT_EQ(error.sys_errno, EDEADLK);
}

TEST_F(DriverLibraries, TextsOfADriverAreOneShortLine) {
  EXPECT_EQ(driver_text("a\n\x1b[31mb\xff"), R"(a  [31mb\xff)");
  EXPECT_EQ(driver_text(nullptr), "");
  EXPECT_LT(driver_text(std::string(1 << 20, 'x').c_str()).size(), 600u);
  ::setenv("MERCUTIO_TEST_SEEN", "1", 1);
  ::setenv("MERCUTIO_TEST_ADVICE", "switch off\nthe cache\xff", 1);
  EXPECT_EQ(open("plain:")->traits().coherence_advice, R"(switch off the cache\xff)");
  ::unsetenv("MERCUTIO_TEST_ADVICE");
}

TEST_F(DriverLibraries, TraitsThatCannotBeAreRefused) {
  const auto refused = [&](const char* variable, const std::string& value, const std::string& member) {
    ::setenv(variable, value.c_str(), 1);
    const auto opened = try_open("plain:");
    ::unsetenv(variable);
    ASSERT_FALSE(opened.ok()) << value;
    expect_error(opened.error(), ErrorClass::kIo, {"driver plain: get_traits says", member.c_str(), "defect"});
  };
  refused("MERCUTIO_TEST_SEEN", "9", "seen = 9");
  refused("MERCUTIO_TEST_LOCKS", "9", "locks = 9");
  refused("MERCUTIO_TEST_LOCKS", "-1", "locks = -1");
  for (const char* member : {"extents_per_call=-1", "extents_per_call=0", "block_bytes=-5", "stripe_bytes=-1", "stripe_count=-1", "first_server=-2"}) {
    std::string shown = member;
    shown.replace(shown.find('='), 1, " = ");
    refused("MERCUTIO_TEST_TRAIT", member, shown);
  }
}

// Also where the open fails when the driver has made the file.
TEST_F(DriverLibraries, AFailedExclusiveOpenLeavesNoFile) {
  fail("get_traits:5");
  EXPECT_FALSE(try_open("plain:").ok());
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0);   // it may be another's
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  const Resolved at = resolve("plain:" + path_);
  OpenOptions options;
  options.write = options.create = options.exclusive = true;
  EXPECT_FALSE(at.driver->open(at.path, options).ok());
  EXPECT_NE(::access(path_.c_str(), F_OK), 0);
}

TEST_F(DriverLibraries, TransfersNeedTheRightWayOfOpening) {
  const auto opened = try_open("plain:", /*read=*/false);
  ASSERT_TRUE(opened.ok());
  std::byte byte{1};
  const IoPiece piece{0, &byte, 1};
  EXPECT_EQ((*opened)->read({&piece, 1}).error().sys_errno, EBADF);
  EXPECT_EQ((*opened)->start(Direction::kRead, {piece})->wait().error().sys_errno, EBADF);
  const IoPiece far{INT64_MAX, &byte, 2};
  EXPECT_EQ((*opened)->write({&far, 1}).error().cls, ErrorClass::kArg);
}

TEST_F(DriverLibraries, WritesAreKeptWhereTheyMay) {
  EXPECT_FALSE(open("plain:")->traits().keeps_writes);
  EXPECT_FALSE((*try_open("least:", true, true))->traits().keeps_writes);
  auto storage = std::move(*try_open("plain:", true, true));
  const auto other = open("plain:");
  EXPECT_TRUE(storage->traits().keeps_writes);
  ASSERT_EQ(write(*storage, 0, "abc").value(), 3);
  EXPECT_EQ(other->size().value(), 0);
  ASSERT_TRUE(storage->flush().ok());
  EXPECT_EQ(other->size().value(), 3);
  ASSERT_EQ(write(*storage, 0, "abcdef").value(), 6);
  auto held = storage->lock(0, 1, true);
  ASSERT_TRUE(held.ok() && (*held)->release().ok());
  EXPECT_EQ(other->size().value(), 6);
  ASSERT_EQ(write(*storage, 0, "abcdefgh").value(), 8);
  ASSERT_TRUE(storage->set_size(2).ok() && storage->flush().ok());   // what was kept doesn't come after the change
  EXPECT_EQ(other->size().value(), 2);
  ASSERT_EQ(write(*storage, 0, "abc").value(), 3);
  ASSERT_TRUE(storage->close().ok());
  EXPECT_EQ(other->size().value(), 3);
}

TEST_F(DriverLibraries, WhatCannotBeFlushedIsAnError) {
  auto storage = std::move(*try_open("plain:", true, true));
  fail("flush:28");
  EXPECT_EQ(storage->flush().error().cls, ErrorClass::kNoSpace);
  EXPECT_EQ(storage->set_size(5).error().cls, ErrorClass::kNoSpace);
  auto held = storage->lock(0, 1, true);
  ASSERT_TRUE(held.ok());
  expect_error((*held)->release().error(), ErrorClass::kNoSpace, {"flush was told to fail"});
  fail("");
  const auto free = open("plain:")->try_lock(0, 1, true);   // it was given back all the same
  EXPECT_TRUE(free.ok() && *free);
}

TEST_F(DriverLibraries, HandlesAreThoseOfTheFile) {
  const auto first = open("plain:");
  const auto handle = first->shared_handle().value();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(handle.data()), handle.size()), path_);
  OpenOptions options;
  options.handle = handle;
  const Resolved at = resolve("plain:" + path_);
  EXPECT_TRUE(at.driver->open(at.path, options).ok());
  options.handle = std::span(handle).first(3);
  EXPECT_FALSE(at.driver->open(at.path, options).ok());
}

// As the program's error handler may end it, when all open files are flushed.
TEST_F(DriverLibraries, AFileThatCouldNotBeClosedIsNotFlushed) {
  on_ranks(1, [&](Rank& rank, std::unique_ptr<Comm> comm) {
    auto file = mercutio::open(rank, std::move(comm), "plain:" + path_, kReadWrite, {{"mercutio_write_behind", "enable"}});
    ASSERT_TRUE(file.ok()) << file.error().what;
    fail("close:28");
    EXPECT_EQ(class_of((*file)->close()), ErrorClass::kNoSpace);
    EXPECT_TRUE((*file)->flush());
  });
}

}  // namespace
}  // namespace mercutio
