// The folders that remote_server's server exports, and what must stay as it is beside them.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <tuple>
#include <vector>

#include "fuzz.h"
#include "remote_model.h"
#include "storage/forwarding.h"

namespace mercutio::fuzz {

inline constexpr char kSecret[] = "what nobody may read 7d1f";
inline constexpr char kFixed[] = "this stays as it is";
inline constexpr char kBegin[] = "abcdefghijklmnopqrstuvwxyz";   // of data/a
inline std::vector<std::byte> bytes_of(const char* text) {
  const auto bytes = std::as_bytes(std::span(text, std::strlen(text)));
  return {bytes.begin(), bytes.end()};
}

inline i64 open_descriptors() {
  i64 count = 0;
  DIR* const folder = ::opendir("/proc/self/fd");
  while (::readdir(folder)) ++count;
  ::closedir(folder);
  return count;
}

// data and seen are exported; outside is not.
class Playground {
 public:
  Playground() {
    char name[] = "/dev/shm/mercutio-fuzz-XXXXXX";
    FUZZ_CHECK(::mkdtemp(name) != nullptr, "no folder in /dev/shm");
    base = name;
    for (const char* folder : {"outside", "seen"}) std::filesystem::create_directory(base / folder);
    write("outside/secret", kSecret);
    write("seen/fixed", kFixed);
    rlimit limit{};
    (void)::getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = static_cast<rlim_t>(kMostFileBytes);
    (void)::setrlimit(RLIMIT_FSIZE, &limit);
    (void)::signal(SIGXFSZ, SIG_IGN);
  }
  ~Playground() { std::filesystem::remove_all(base); }
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  void refresh() const {
    std::filesystem::remove_all(base / "data");
    std::filesystem::create_directories(base / "data/folder");
    write("data/a", kBegin);
    std::filesystem::create_symlink("../outside/secret", base / "data/link");
    std::filesystem::create_symlink("../../outside", base / "data/folder/out");
    std::filesystem::create_symlink(base / "outside/secret", base / "data/absolute");
    std::filesystem::create_symlink("loop", base / "data/loop");
    (void)::mkfifo((base / "data/fifo").c_str(), 0600);
  }
  void check() const {
    for (const auto& [folder, file, text] : {std::tuple{"outside", "secret", kSecret}, std::tuple{"seen", "fixed", kFixed}}) {
      FUZZ_CHECK(std::distance(std::filesystem::directory_iterator(base / folder), {}) == 1, "something was made in " + std::string(folder));
      FUZZ_CHECK(content(std::filesystem::path(folder) / file) == bytes_of(text), "it was changed: " + std::string(file));
    }
    FUZZ_CHECK(std::distance(std::filesystem::directory_iterator(base), {}) == 3, "something was made beside the roots");
  }
  std::vector<std::byte> content(const std::filesystem::path& name) const {
    std::ifstream in(base / name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  std::filesystem::path base;

 private:
  void write(const char* name, const char* text) const { std::ofstream(base / name) << text; }
};

inline const Playground& playground() {
  static const Playground made;
  return made;
}

// A file whose locks are never waited for, and which fails where the input says.
class NoWait final : public Forwarding {
 public:
  using Forwarding::Forwarding;
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    if (held_ > 0) return error_from_errno("lock", EDEADLK);
    MERCUTIO_LET(auto lock, inner_->lock(begin, end, exclusive));
    return std::unique_ptr<HeldLock>(std::make_unique<Held>(std::move(lock)));
  }

 private:
  struct Held final : HeldLock {
    explicit Held(std::unique_ptr<HeldLock> l) : lock(std::move(l)) { ++held_; }
    ~Held() override { --held_; }
    Status release() override { return lock->release(); }
    std::unique_ptr<HeldLock> lock;
  };
  static inline i64 held_ = 0;
};

}  // namespace mercutio::fuzz
