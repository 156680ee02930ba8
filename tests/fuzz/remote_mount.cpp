// What `mercutio mount` makes of the kernel's calls (tools/remote/mount_tree.h), with a server in this process: an input is a series of
// calls, each of which is done in a directory of tmpfs, too. Meanwhile streams are cut, another machine changes files, threads write
// at the same time, and operations on the server's files fail. What holds: bytes, sizes, names, attributes and errors are those of the
// directory; what was written is there in the end, or a call on that file has told an error.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "remote_mount.h"

namespace mercutio::fuzz {
namespace {

using namespace remote;
using FileRef = std::shared_ptr<MountTree::File>;

constexpr i64 kMostSet = 1'000'000;        // seconds: earlier times have been set, later ones are those of a clock
constexpr i64 kMostOffset = 300'000, kApart = 500'000;
constexpr const char* kNames[] = {"/a", "/b", "/c", "/d", "/d/a", "/d/b", "/e", "/e/a", "/e/f", "/e/f/a", "/l", ""};
constexpr const char* kTexts[] = {"a", "../a", "/nowhere", "d/a", "l"};

int number_of(const Status& status) {
  return status ? 0 : errno_of(status.error());
}
template <class T>
int number_of(const Result<T>& result) {
  return result ? 0 : errno_of(result.error());
}
int number_of(long long outcome) {
  return outcome < 0 ? errno : 0;
}

struct Handle {
  FileRef file;
  int fd = -1, access = O_RDONLY;
  std::string name;   // empty: it has none any more
  bool reads() const { return access != O_WRONLY; }
  bool writes() const { return access != O_RDONLY; }
};

class Case {
 public:
  explicit Case(ConstBytes input) : taker_(input) {
    prefix_ = "/" + std::to_string(++place().cases);
    for (const std::string& side : {there(""), here("")}) std::filesystem::create_directory(side);
    faults_ = place().fresh_faults();
    if (const i64 fail = taker_.byte(); fail >= 200) {
      faults_->kinds = kFaultRead | kFaultWrite | kFaultSize | kFaultSetSize | kFaultPreallocate | kFaultSync;
      faults_->fail_at = fail - 200;
    }
    keeps_ = taker_.flag();
  }
  ~Case() {
    for (const std::string& side : {there(""), here("")}) std::filesystem::remove_all(side);
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  void run() {
    while (!taker_.empty()) step();
    while (!handles_.empty()) close(0);
    FUZZ_CHECK(!doubt_ || told_, "something is lost, and nobody was told");
    if (!told_) compare_directories("");
  }

 private:
  MountTree& tree() const { return place().trees[keeps_ ? 1 : 0]; }
  std::string there(const std::string& name) const { return place().base.string() + "/there" + prefix_ + name; }
  std::string here(const std::string& name) const { return place().base.string() + "/here" + prefix_ + name; }
  std::string mounted(const std::string& name) const { return prefix_ + name; }
  bool may_fail() const { return faults_->fail_at >= 0; }

  void step();
  void open();
  void close(size_t which);
  void read(Handle& handle);
  void write(Handle& handle);
  void set_size();
  void preallocate(Handle& handle);
  void rename();
  void remove();
  void make();
  void look();
  void list();
  void change_attributes();
  void change_outside();
  void write_together();
  void compare_status(const FileStatus& status, const struct stat& wanted, const std::string& what);
  void compare_directories(const std::string& name);
  void moved(const std::string& name, const std::string& other);

  std::string some_name();
  Handle* some_handle();
  bool through_link(const std::string& name) const;
  bool is(const std::string& name, mode_t type) const;
  // Whether both succeeded, and what they have may be compared.
  bool same(const std::string& what, int mount, int directory);
  void holds(bool condition, const std::string& what);

  Taker taker_;
  std::string prefix_;
  std::shared_ptr<FaultPlan> faults_;
  bool keeps_ = false;
  bool told_ = false;    // an error that the directory doesn't have
  bool doubt_ = false;   // something differs, which an error has to explain
  std::vector<Handle> handles_;
};

bool Case::same(const std::string& what, int mount, int directory) {
  if (mount != directory && may_fail()) {
    told_ = told_ || mount != 0;
    doubt_ = true;
    return false;
  }
  FUZZ_CHECK(told_ || mount == directory, what + ": errno " + std::to_string(mount) + " instead of " + std::to_string(directory));
  return !told_ && mount == 0;
}

void Case::holds(bool condition, const std::string& what) {
  if (may_fail()) doubt_ = doubt_ || !condition;
  else FUZZ_CHECK(condition, what);
}

std::string Case::some_name() {
  const i64 which = taker_.byte();
  if (which < 230) return kNames[static_cast<size_t>(which) % (std::size(kNames) - 1)];
  std::string name = which < 240 ? std::string(static_cast<size_t>(which) + 15, 'n') : taker_.text(40);
  std::erase_if(name, [](char c) { return c == '/' || c == '\0'; });
  if (name.empty() || name == "." || name == "..") name = "x";
  return (which % 2 == 0 ? "/" : "/d/") + name;
}

Handle* Case::some_handle() {
  return handles_.empty() ? nullptr : &handles_[static_cast<size_t>(taker_.byte()) % handles_.size()];
}

bool Case::is(const std::string& name, mode_t type) const {
  struct stat status {};
  return ::lstat(here(name).c_str(), &status) == 0 && (status.st_mode & S_IFMT) == type;
}

// The kernel resolves links itself, before it calls.
bool Case::through_link(const std::string& name) const {
  for (size_t slash = name.find('/', 1); slash != std::string::npos; slash = name.find('/', slash + 1))
    if (is(name.substr(0, slash), S_IFLNK)) return true;
  return false;
}

void Case::step() {
  const i64 what = taker_.byte() % 24;
  if (what >= 3 && what < 13) {
    Handle* const handle = some_handle();
    if (!handle) return;
    if (what < 7) return write(*handle);
    if (what < 10) return read(*handle);
    if (what == 10) return void(same("flush", number_of(tree().flush(*handle->file)), 0));
    if (what == 11) return preallocate(*handle);
    return close(static_cast<size_t>(handle - handles_.data()));
  }
  switch (what) {
    case 13: return set_size();
    case 14: return rename();
    case 15: return remove();
    case 16:
    case 17: return make();
    case 18: return look();
    case 19: return list();
    case 20: return change_attributes();
    case 21: return change_outside();
    case 22: return write_together();
    case 23: return taker_.byte() < 16 ? place().server->cut_streams() : void();   // a client waits a while until it comes again
    default: return open();
  }
}

void Case::open() {
  const std::string name = some_name();
  const i64 form = taker_.byte();
  const int access = form % 3 == 0 ? O_RDWR : form % 3 == 1 ? O_RDONLY : O_WRONLY;
  const int flags = access | ((form & 4) != 0 ? O_CREAT : 0) | ((form & 12) == 12 && (form & 16) != 0 ? O_EXCL : 0) | ((form & 96) == 96 ? O_TRUNC : 0);
  const bool directory = is(name, S_IFDIR) && access == O_RDONLY;   // opendir is another call
  if (handles_.size() >= 6 || directory || through_link(name) || is(name, S_IFLNK)) return;
  const int asked = is(name, S_IFREG) && (flags & O_EXCL) == 0 ? flags & ~O_CREAT : flags;   // the kernel has looked for it
  Handle handle{nullptr, ::open(here(name).c_str(), flags | O_CLOEXEC, 0640), access, name};
  const int wanted = number_of(static_cast<long long>(handle.fd));
  Result<FileRef> opened = tree().open(mounted(name), asked, 0640);
  (void)same("open " + name, number_of(opened), wanted);
  if (opened && handle.fd >= 0) {
    handle.file = std::move(*opened);
    handles_.push_back(std::move(handle));
  } else {
    if (opened) (void)tree().close(*opened);
    if (handle.fd >= 0) ::close(handle.fd);
  }
}

void Case::close(size_t which) {
  const Handle handle = std::move(handles_[which]);
  handles_.erase(handles_.begin() + static_cast<std::ptrdiff_t>(which));
  (void)same("flush", number_of(tree().flush(*handle.file)), 0);
  (void)same("close", number_of(tree().close(handle.file)), 0);
  ::close(handle.fd);
}

void Case::read(Handle& handle) {
  const i64 offset = taker_.pick(0, kMostOffset), bytes = 1 + taker_.pick(0, 3) * 20'000;
  if (!handle.reads()) return;
  std::vector<std::byte> wanted(static_cast<size_t>(bytes)), got(wanted.size());
  const ssize_t expected = ::pread(handle.fd, wanted.data(), wanted.size(), offset);
  const Result<i64> read = tree().read(*handle.file, got.data(), bytes, offset);
  if (!same("read", number_of(read), number_of(static_cast<long long>(expected)))) return;
  holds(*read == expected, "read of " + std::to_string(bytes) + " at " + std::to_string(offset) + ": " + std::to_string(*read) + " bytes instead of " + std::to_string(expected));
  holds(std::equal(wanted.begin(), wanted.begin() + std::min<i64>(*read, expected), got.begin()), "other bytes are read at " + std::to_string(offset));
}

std::vector<std::byte> made_up(i64 bytes, i64 seed) {
  std::vector<std::byte> data(static_cast<size_t>(bytes));
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31 + i / 251 + static_cast<size_t>(seed));
  return data;
}

void Case::write(Handle& handle) {
  const i64 offset = taker_.pick(0, kMostOffset), form = taker_.byte();
  if (!handle.writes()) return;
  const auto data = made_up(form < 128 ? 1 + form : (form - 127) * 700, form + offset);
  const ssize_t expected = ::pwrite(handle.fd, data.data(), data.size(), offset);
  const Result<i64> written = tree().write(*handle.file, data.data(), static_cast<i64>(data.size()), offset);
  (void)same("write", number_of(written), number_of(static_cast<long long>(expected)));
}

void Case::set_size() {
  const bool by_name = taker_.flag();
  const i64 form = taker_.byte(), bytes = form < 250 ? taker_.pick(0, kMostOffset) : i64{1} << (form - 215);
  Handle* const handle = by_name ? nullptr : some_handle();
  const std::string name = handle ? handle->name : some_name();
  if (handle ? !handle->writes() : through_link(name) || is(name, S_IFLNK)) return;
  struct stat before {};
  const bool stays = !handle && ::lstat(here(name).c_str(), &before) == 0 && before.st_size == bytes;
  const int wanted = number_of(static_cast<long long>(handle ? ::ftruncate(handle->fd, bytes) : ::truncate(here(name).c_str(), bytes)));
  const timespec times[2] = {{0, UTIME_OMIT}, before.st_mtim};   // as in truncate(2), not as in tmpfs, where a file with pages has another time then
  if (stays && wanted == 0) FUZZ_CHECK(::utimensat(AT_FDCWD, here(name).c_str(), times, 0) == 0, "the time can't be set");
  const Status done = tree().set_size(name.empty() ? "" : mounted(name), handle ? handle->file.get() : nullptr, bytes);
  (void)same("truncate " + name, number_of(done), wanted);
}

void Case::preallocate(Handle& handle) {
  const i64 bytes = 1 + taker_.pick(0, kMostOffset);
  if (!handle.writes()) return;
  if (taker_.flag()) return void(same("fsync", number_of(tree().sync(*handle.file)), 0));
  const int wanted = number_of(static_cast<long long>(::fallocate(handle.fd, 0, 0, bytes)));
  (void)same("fallocate", number_of(tree().preallocate(*handle.file, bytes)), wanted);
}

// What is open goes along, or has no name any more.
void Case::moved(const std::string& name, const std::string& other) {
  for (Handle& handle : handles_) {
    if (handle.name == other) handle.name = name == other ? other : "";
    else if (handle.name == name) handle.name = other;
    else if (handle.name.starts_with(name + "/")) handle.name = other + handle.name.substr(name.size());
  }
}

void Case::rename() {
  const std::string name = some_name(), other = some_name();
  const bool replace = taker_.pick(0, 3) != 0;
  if (through_link(name) || through_link(other)) return;
  struct stat one {}, two {};
  const bool same_file = ::lstat(here(name).c_str(), &one) == 0 && ::lstat(here(other).c_str(), &two) == 0 && one.st_ino == two.st_ino;
  const int wanted = number_of(static_cast<long long>(::renameat2(AT_FDCWD, here(name).c_str(), AT_FDCWD, here(other).c_str(), replace ? 0 : RENAME_NOREPLACE)));
  const Status done = tree().rename(mounted(name), mounted(other), replace);
  if (same("rename " + name + " " + other, number_of(done), wanted) && !same_file) moved(name, other);
}

void Case::remove() {
  const std::string name = some_name();
  const bool directory = taker_.pick(0, 3) == 0;
  if (through_link(name)) return;
  const int wanted = number_of(static_cast<long long>(directory ? ::rmdir(here(name).c_str()) : ::unlink(here(name).c_str())));
  const Status done = directory ? tree().remove_directory(mounted(name)) : tree().remove(mounted(name));
  if (!same((directory ? "rmdir " : "unlink ") + name, number_of(done), wanted)) return;
  for (Handle& handle : handles_)
    if (handle.name == name) handle.name.clear();
}

void Case::make() {
  const std::string name = some_name();
  const i64 form = taker_.byte();
  if (through_link(name)) return;
  if (form % 4 == 0) {
    const std::string text = kTexts[static_cast<size_t>(form / 4) % std::size(kTexts)];
    const int wanted = number_of(static_cast<long long>(::symlink(text.c_str(), here(name).c_str())));
    return void(same("symlink " + name, number_of(tree().make_link(mounted(name), text)), wanted));
  }
  const int wanted = number_of(static_cast<long long>(::mkdir(here(name).c_str(), 0750)));
  (void)same("mkdir " + name, number_of(tree().make_directory(mounted(name), 0750)), wanted);
}

void Case::compare_status(const FileStatus& status, const struct stat& wanted, const std::string& what) {
  const mode_t type = wanted.st_mode & S_IFMT;
  const FileType kind = type == S_IFDIR ? FileType::kDirectory : type == S_IFLNK ? FileType::kLink : FileType::kFile;
  holds(status.kind() == kind, what + ": another type");
  holds(kind == FileType::kLink || status.permissions == (wanted.st_mode & 07777), what + ": other permissions");
  holds(kind == FileType::kDirectory || status.bytes == wanted.st_size, what + ": " + std::to_string(status.bytes) + " bytes instead of " + std::to_string(wanted.st_size));
  const i64 modified = wanted.st_mtim.tv_sec * kNs + wanted.st_mtim.tv_nsec;
  const bool was_set = wanted.st_mtim.tv_sec < kMostSet;
  holds(kind == FileType::kDirectory || (was_set ? status.modified_ns == modified : status.modified_ns > kMostSet * kNs), what + ": another time");
}

void Case::look() {
  Handle* const handle = taker_.flag() ? some_handle() : nullptr;
  const std::string name = handle ? handle->name : some_name();
  if (!handle && through_link(name)) return;
  struct stat wanted {};
  const int expected = number_of(static_cast<long long>(handle ? ::fstat(handle->fd, &wanted) : ::lstat(here(name).c_str(), &wanted)));
  const Result<FileStatus> status = tree().status(name.empty() && handle ? "" : mounted(name), handle ? handle->file.get() : nullptr);
  if (!same("stat " + name, number_of(status), expected)) return;
  if (handle && name.empty()) return holds(status->bytes == wanted.st_size, "another size of a file without a name");
  compare_status(*status, wanted, "stat " + name);
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const listing = ::opendir(directory.c_str());
  if (!listing) return names;
  while (const dirent* const entry = ::readdir(listing))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  const int failed = errno;
  ::closedir(listing);
  errno = failed;
  std::sort(names.begin(), names.end());
  return names;
}

void Case::list() {
  const std::string name = taker_.flag() ? "" : some_name();
  if (through_link(name)) return;
  if (is(name, S_IFLNK)) {
    char text[100];
    const ssize_t bytes = ::readlink(here(name).c_str(), text, sizeof text);
    const Result<std::string> link = tree().read_link(mounted(name));
    if (same("readlink " + name, number_of(link), 0)) holds(*link == std::string(text, static_cast<size_t>(bytes)), "another link");
    return;
  }
  const int fd = ::open(here(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int wanted = number_of(static_cast<long long>(fd));
  if (fd >= 0) ::close(fd);
  const auto entries = tree().list(mounted(name));
  if (!same("list " + name, number_of(entries), wanted)) return;
  std::vector<std::string> names;
  for (const ListEntry& entry : *entries) {
    names.push_back(entry.name);
    holds(is(name + "/" + entry.name, S_IFDIR) == (entry.status.kind() == FileType::kDirectory), "another type is listed");
  }
  std::sort(names.begin(), names.end());
  holds(names == names_in(here(name)), "other names are listed in " + name);
}

void Case::change_attributes() {
  const std::string name = some_name();
  const i64 form = taker_.byte();
  if (through_link(name)) return;
  const bool mode = (form & 1) != 0 && !is(name, S_IFLNK);
  const timespec times[2] = {{0, UTIME_OMIT}, {form * 3, form}};
  const int wanted = number_of(static_cast<long long>(mode ? ::chmod(here(name).c_str(), 0600 | static_cast<mode_t>(form)) : ::utimensat(AT_FDCWD, here(name).c_str(), times, AT_SYMLINK_NOFOLLOW)));
  const Status done = tree().change_attributes(mounted(name), mode ? 0600 | static_cast<std::uint32_t>(form) : kPermissionsStay, mode ? -1 : form * 3 * kNs + form);
  (void)same((mode ? "chmod " : "utimens ") + name, number_of(done), wanted);
}

// By another machine: what is open here isn't touched, and what has been seen may be kept.
void Case::change_outside() {
  const std::string name = some_name();
  const i64 form = taker_.byte();
  const bool open_here = std::any_of(handles_.begin(), handles_.end(), [&](const Handle& handle) { return handle.name == name || handle.name.starts_with(name + "/"); });
  if (keeps_ || told_ || open_here || through_link(name) || is(name, S_IFLNK)) return;
  const auto data = made_up(form * 100, form);
  for (const std::string& side : {here(name), there(name)}) {
    if (form % 3 == 0) {
      std::error_code failed;
      std::filesystem::remove_all(side, failed);
      continue;
    }
    const int fd = ::open(side.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) continue;
    FUZZ_CHECK(::write(fd, data.data(), data.size()) == static_cast<ssize_t>(data.size()), "tmpfs is full");
    ::close(fd);
  }
}

// Each through an open of its own, to places of its own.
void Case::write_together() {
  const i64 form = taker_.byte();
  std::vector<std::thread> threads;
  std::vector<int> outcome(handles_.size(), 0);
  for (size_t i = 0; i < handles_.size(); ++i) {
    if (!handles_[i].writes()) continue;
    const i64 begin = kMostOffset + static_cast<i64>(i) * kApart;
    const auto data = made_up(1 + form * 50, form);
    for (i64 part = 0; part < 3; ++part) (void)!::pwrite(handles_[i].fd, data.data(), data.size(), begin + part * 10'000);
    threads.emplace_back([this, i, begin, data, &outcome] {
      std::vector<std::byte> back(data.size());
      for (i64 part = 0; part < 3; ++part) {
        const Result<i64> written = tree().write(*handles_[i].file, data.data(), static_cast<i64>(data.size()), begin + part * 10'000);
        if (!written) outcome[i] = errno_of(written.error());
      }
      if (!handles_[i].reads()) return;
      const Result<i64> read = tree().read(*handles_[i].file, back.data(), static_cast<i64>(back.size()), begin + 20'000);
      if (!read) outcome[i] = errno_of(read.error());
      else if (outcome[i] == 0 && back != data) outcome[i] = -1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int one : outcome) {
    if (one == -1) holds(false, "a thread reads other bytes than it wrote");
    else (void)same("write or read of a thread", one, 0);
  }
}

std::string content_of(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || ::fstat(fd, &status) != 0) return "unreadable";
  std::string text(static_cast<size_t>(std::min<i64>(status.st_size, 16 * MiB)), '\0');
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  ::close(fd);
  return got == static_cast<ssize_t>(text.size()) ? text : "unreadable";
}

// Sizes beyond what was written are holes.
void Case::compare_directories(const std::string& name) {
  const std::vector<std::string> names = names_in(here(name));
  FUZZ_CHECK(names == names_in(there(name)), "other names are in " + name + " in the end");
  for (const std::string& one : names) {
    const std::string path = name + "/" + one;
    struct stat wanted {}, status {};
    FUZZ_CHECK(::lstat(here(path).c_str(), &wanted) == 0 && ::lstat(there(path).c_str(), &status) == 0, path);
    compare_status(status_from(status), wanted, path + " in the end");
    if (S_ISDIR(wanted.st_mode)) compare_directories(path);
    if (S_ISREG(wanted.st_mode)) FUZZ_CHECK(content_of(here(path)) == content_of(there(path)), "other bytes are in " + path + " in the end");
  }
}

}  // namespace

Input example(Random& random) {
  Input input(static_cast<size_t>(pick(random, 20, 600)));
  for (std::byte& byte : input) byte = static_cast<std::byte>(random());
  if (random() % 4 != 0) input[0] = std::byte{0};   // nothing fails
  return input;
}

}  // namespace mercutio::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mercutio::fuzz;
  Case one(std::as_bytes(std::span(data, size)));
  one.run();
  return 0;
}
