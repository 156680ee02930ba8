// A copy's steps where something else happens in between, and listings that can't be had.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>
#include <thread>

#include "common.h"
#include "copy_file.h"
#include "remote/connection_file.h"
#include "remote/exports.h"
#include "remote/server.h"
#include "storage/forwarding.h"

namespace mercutio::remote {
namespace {

namespace fs = std::filesystem;

class Copies : public testing::Test {
 protected:
  Copies() {
    std::string name = testing::TempDir() + "mercutio-copies-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    fs::permissions(folder_, fs::perms::all);
  }
  ~Copies() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string make(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Tree& local() { return *trees_.place("/").tree; }
  Trees::Place place(const std::string& name) { return trees_.place(path(name)); }
  // Of the host called "far", as long as MERCUTIO_CONNECTIONS is set.
  auto serve(const Export& what) const {
    ServerOptions options;
    options.key = *make_key();
    options.exports = {what};
    auto server = Server::start(options);
    if (!server) return server;
    Connection connection;
    connection.host = "far";
    connection.key = options.key;
    connection.servers = {{"127.0.0.1", (*server)->port()}};
    ::setenv("MERCUTIO_CONNECTIONS", path("connections").c_str(), 1);
    EXPECT_TRUE(store_connection(connection));
    return server;
  }
  static void write(Storage& file, std::string text) {
    const IoPiece piece{0, reinterpret_cast<std::byte*>(text.data()), static_cast<i64>(text.size())};
    ASSERT_TRUE(file.write(std::span(&piece, 1)));
  }

  fs::path folder_;
  Trees trees_;
};

// The rights of somebody who isn't root.
class Nobody {
 public:
  Nobody() : was_root_(::geteuid() == 0 && ::seteuid(65534) == 0) {}
  ~Nobody() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;

 private:
  const bool was_root_;
};

TEST_F(Copies, APartThatIsAnotherFileByNowIsNotPublished) {
  make("x", "before");
  auto part = local().open_part(path("part"), false);
  ASSERT_TRUE(part);
  write(**part, "mine");
  fs::remove(path("part"));
  make("part", "half of another");
  const Status published = local().publish(**part, path("part"), path("x"), {0640, 0});
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().sys_errno, ESTALE);
  EXPECT_EQ(content("x"), "before");
  EXPECT_EQ(content("part"), "half of another");
}

TEST_F(Copies, AttributesDontFollowALinkInThePartsPlace) {
  make("victim", "");
  ASSERT_EQ(::chmod(path("victim").c_str(), 0600), 0);
  auto part = local().open_part(path("part"), false);
  ASSERT_TRUE(part);
  fs::remove(path("part"));
  fs::create_symlink("victim", path("part"));
  EXPECT_FALSE(local().publish(**part, path("part"), path("x"), {0666, 0}));
  struct stat status {};
  ASSERT_EQ(::stat(path("victim").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(Copies, OnlyOneCopyAtATimeHasThePart) {
  for (const bool resume : {false, true}) {
    auto first = local().open_part(path("part"), resume);
    ASSERT_TRUE(first);
    for (const bool second : {false, true}) {
      const auto refused = local().open_part(path("part"), second);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().sys_errno, EBUSY) << refused.error().what;
    }
    write(**first, "kept");
  }
  ASSERT_TRUE(local().open_part(path("part"), true));
  EXPECT_EQ(content("part"), "kept");
  ASSERT_TRUE(local().open_part(path("part"), false));
  EXPECT_EQ(content("part"), "");
}

TEST_F(Copies, ARemotePartHasOneCopyOnly) {
  const auto server = serve({"data", folder_.string(), true});
  ASSERT_TRUE(server) << server.error().what;
  Trees one, other;   // with a session each
  Tree& mine = *one.place("mercutio://far/data").tree;
  Tree& another = *other.place("mercutio://far/data").tree;
  {
    const auto first = mine.open_part("data/part", true);
    ASSERT_TRUE(first) << first.error().what;
    write(**first, "kept");
    for (const bool resume : {true, false}) {
      const auto refused = another.open_part("data/part", resume);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().sys_errno, EBUSY) << refused.error().what;
    }
    const auto here = local().open_part(path("part"), true);   // by a program there
    ASSERT_FALSE(here);
    EXPECT_EQ(here.error().sys_errno, EBUSY);
    EXPECT_EQ(content("part"), "kept");
    ASSERT_TRUE((*first)->close());
  }
  const auto second = another.open_part("data/part", true);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_EQ(content("part"), "kept");
  ASSERT_TRUE((*second)->close());
  const auto anew = mine.open_part("data/part", false);
  ASSERT_TRUE(anew) << anew.error().what;
  EXPECT_EQ(content("part"), "");
  ASSERT_TRUE((*anew)->close());
  ::unsetenv("MERCUTIO_CONNECTIONS");
}

// Some drivers tell no times.
TEST_F(Copies, WhatHasNoTimeGetsThatOfItsCopy) {
  ::setenv("MERCUTIO_DRIVERS", MERCUTIO_TEST_DRIVERS, 1);
  const auto server = serve({"least", "least:" + folder_.string(), false});
  ASSERT_TRUE(server) << server.error().what;
  make("x", "content");
  const Trees::Place source = trees_.place("mercutio://far/least/x");
  const auto modified = [&](const std::string& name) { return local().status(path(name))->modified_ns; };
  CopySettings settings;
  ASSERT_TRUE(copy_file(source, place("y"), settings));
  EXPECT_GE(modified("y"), modified("x"));
  const auto got = source.tree->begin_get(source.path)->wait();
  ASSERT_TRUE(got);
  ASSERT_TRUE(local().begin_put(path("small"), got->content, attributes_of(got->status))->wait());
  EXPECT_GE(modified("small"), modified("x"));
  make("y", "another");   // as long, and from 1970
  ASSERT_TRUE(local().begin_set_attributes(path("y"), {0600, 0})->wait());
  EXPECT_TRUE(has_time(*local().status(path("y"))));
  settings.resume = true;
  ASSERT_TRUE(copy_file(source, place("y"), settings));
  EXPECT_EQ(content("y"), "content");
  ::unsetenv("MERCUTIO_CONNECTIONS");
}

TEST_F(Copies, APartIsNoLink) {
  make("victim", "kept");
  fs::create_symlink("victim", path("part"));
  const auto resumed = local().open_part(path("part"), true);
  ASSERT_FALSE(resumed);
  EXPECT_EQ(resumed.error().sys_errno, ELOOP);
  ASSERT_TRUE(local().open_part(path("part"), false));
  EXPECT_FALSE(fs::is_symlink(path("part")));
  EXPECT_EQ(content("victim"), "kept");
}

TEST_F(Copies, ExtentsAreThoseOfTheOpenFile) {
  make("x", std::string(100'000, 'x'));
  const auto known = local().status(path("x"));
  const auto file = local().open(path("x"), {});
  ASSERT_TRUE(known && file);
  fs::remove(path("x"));
  make("x", "");
  fs::resize_file(path("x"), 100'000);   // all of it a hole
  const auto extents = local().extents(**file, path("x"), *known);
  ASSERT_TRUE(extents);
  ASSERT_EQ(extents->size(), 1U);
  EXPECT_EQ((*extents)[0].begin, 0);
  EXPECT_GE((*extents)[0].end, 100'000);
}

TEST_F(Copies, AnotherFilesTemporaryNameIsNotTaken) {
  const std::string other = ".mercutio-put-" + std::to_string(::getpid());   // of a process on another node
  make(other, "half");
  ASSERT_TRUE(local().begin_put(path("x"), Buffer(3, std::byte{'y'}), {})->wait());
  EXPECT_EQ(content("x"), "yyy");
  EXPECT_EQ(content(other), "half");
}

// A tree where something happens before each read of a file.
class WatchedFile final : public Forwarding {
 public:
  WatchedFile(std::unique_ptr<Storage> inner, const std::function<void()>& before_read) : Forwarding(std::move(inner)), before_read_(before_read) {}
  Result<i64> read(std::span<const IoPiece> pieces) override {
    before_read_();
    return inner_->read(pieces);
  }

 private:
  const std::function<void()>& before_read_;
};

class WatchedTree final : public Tree {
 public:
  WatchedTree(Tree& tree, std::function<void()> before_read) : tree_(tree), before_read_(std::move(before_read)) {}
  Result<FileStatus> status(const std::string& path) override { return tree_.status(path); }
  Result<std::vector<ListEntry>> list(const std::string& path, i64 linked) override { return tree_.list(path, linked); }
  Result<std::unique_ptr<Storage>> open(const std::string& path, const OpenOptions& options) override {
    MERCUTIO_LET(auto file, tree_.open(path, options));
    return std::unique_ptr<Storage>(std::make_unique<WatchedFile>(std::move(file), before_read_));
  }
  Result<std::unique_ptr<Storage>> open_part(const std::string& part, bool resume) override { return tree_.open_part(part, resume); }
  Result<std::vector<Extent>> extents(const Storage&, const std::string&, const FileStatus& known) override {
    return std::vector<Extent>{{0, known.bytes}};
  }
  Status remove_directory(const std::string& path, i64 linked) override { return tree_.remove_directory(path, linked); }
  Status rename(const std::string& path, const std::string& other, bool replace) override { return tree_.rename(path, other, replace); }
  Status publish(Storage& file, const std::string& part, const std::string& target, const Attributes& attributes) override {
    return tree_.publish(file, part, target, attributes);
  }
  std::unique_ptr<Pending> begin_get(const std::string& path) override { return tree_.begin_get(path); }
  std::unique_ptr<Pending> begin_own_status(const std::string& path) override { return tree_.begin_own_status(path); }
  std::unique_ptr<Pending> begin_put(const std::string& path, Buffer content, const Attributes& attributes) override {
    return tree_.begin_put(path, std::move(content), attributes);
  }
  std::unique_ptr<Pending> begin_make_directory(const std::string& path, int permissions) override {
    return tree_.begin_make_directory(path, permissions);
  }
  std::unique_ptr<Pending> begin_set_attributes(const std::string& path, const Attributes& attributes) override {
    return tree_.begin_set_attributes(path, attributes);
  }
  std::unique_ptr<Pending> begin_remove(const std::string& path, i64 linked) override { return tree_.begin_remove(path, linked); }

 private:
  Tree& tree_;
  const std::function<void()> before_read_;
};

TEST_F(Copies, AThreadWithoutMemoryEndsTheCopy) {
  make("source", std::string(40'000'000, 's'));
  std::atomic<i64> helped{0};
  WatchedTree tree(local(), [&, first = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != first) {
      ++helped;
      throw std::bad_alloc();
    }
    while (helped == 0) std::this_thread::yield();   // the others have their turn
  });
  Trees::Place source = place("source");
  source.tree = &tree;
  CopySettings settings;
  settings.verify = false;
  const Status copied = copy_file(source, place("target"), settings);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().cls, ErrorClass::kNoMem) << copied.error().what;
  EXPECT_FALSE(fs::exists(path("target")));
}

TEST_F(Copies, ASourceThatIsChangedMeanwhileIsNoCopy) {
  const auto overwrite = [&] { std::fstream(path("source"), std::ios::in | std::ios::out) << "other"; };
  const auto append = [&] { std::ofstream(path("source"), std::ios::app) << "more"; };
  const auto replace = [&] {   // as long and as old, but another file
    make("fresh", std::string(100'000, 'f'));
    fs::last_write_time(path("fresh"), fs::last_write_time(path("source")));
    fs::rename(path("fresh"), path("source"));
  };
  for (const std::function<void()>& change : {std::function<void()>(overwrite), std::function<void()>(append), std::function<void()>(replace)}) {
    for (const bool resume : {false, true}) {
      make("source", std::string(100'000, 's'));
      fs::last_write_time(path("source"), fs::last_write_time(path("source")) - std::chrono::hours(1));
      make("target", "before");
      bool changed = false;
      WatchedTree tree(local(), [&] {
        if (!std::exchange(changed, true)) change();
      });
      Trees::Place source = place("source");
      source.tree = &tree;
      CopySettings settings;
      settings.resume = resume;
      const Status copied = copy_file(source, place("target"), settings);
      ASSERT_TRUE(changed);
      ASSERT_FALSE(copied);
      EXPECT_NE(copied.error().what.find(path("source") + " to "), std::string::npos) << copied.error().what;
      EXPECT_NE(copied.error().what.find("changed while it was copied"), std::string::npos) << copied.error().what;
      EXPECT_EQ(content("target"), "before");
      settings.resume = true;
      ASSERT_TRUE(copy_file(source, place("target"), settings));
      EXPECT_EQ(content("target"), content("source"));
    }
  }
}

TEST_F(Copies, AListWithoutTheRightToItsEntriesFails) {
  fs::create_directory(path("closed"));
  make("closed/x", "x");
  fs::permissions(path("closed"), fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read);
  const auto exports = Exports::open({{"data", folder_.string(), false}});
  ASSERT_TRUE(exports);
  Error here, there;
  {
    const Nobody nobody;
    const auto local_list = local().list(path("closed"), 0);
    const auto served = exports->list("data/closed", "", 1 << 20);
    EXPECT_FALSE(local_list);
    EXPECT_FALSE(served);
    if (!local_list) here = local_list.error();
    if (!served) there = served.error();
  }
  fs::permissions(path("closed"), fs::perms::all);
  EXPECT_EQ(here.sys_errno, EACCES);
  EXPECT_EQ(there.sys_errno, EACCES);
}

TEST_F(Copies, AKeyIsNotAwaitedFromAPipe) {
  ASSERT_EQ(::mkfifo(path("key").c_str(), 0600), 0);
  const auto key = key_from_file(path("key"));
  ASSERT_FALSE(key);
  EXPECT_NE(key.error().what.find("no plain file"), std::string::npos) << key.error().what;
}

TEST(Commands, EndWithTwoWhereTheirLineIsWrong) {
  const std::vector<Option> options;
  const Command command{"mercutio test", "", options};
  std::string name = "mercutio-test";
  char* line[] = {name.data(), nullptr};
  const auto code_of = [&](const Status& done) { return run_command(command, 1, line, [&](const Arguments&) { return done; }); };
  EXPECT_EQ(code_of(ok_status()), 0);
  EXPECT_EQ(code_of(Error{ErrorClass::kArg, "a name is wanted"}), 2);
  EXPECT_EQ(code_of(Error{ErrorClass::kArg, "what a server refuses", EINVAL}), 1);
  EXPECT_EQ(code_of(Error{ErrorClass::kIo, "lost"}), 1);
}

}  // namespace
}  // namespace mercutio::remote
