// What remote_mount's cases share: a server, what it exports, the directory beside it, and two mounts.
#pragma once

#include <cstdlib>
#include <filesystem>

#include "base/thread_annotations.h"
#include "fuzz.h"
#include "mount_tree.h"
#include "remote/connection_file.h"
#include "remote/server.h"
#include "storage/faulty.h"

namespace mercutio::fuzz {

inline constexpr i64 kNs = 1'000'000'000, kHour = 3600 * kNs;

class Place {
 public:
  Place() {
    char name[] = "/dev/shm/mercutio-fuzz-mount-XXXXXX";
    FUZZ_CHECK(::mkdtemp(name) != nullptr, "no folder in /dev/shm");
    base = name;
    for (const char* folder : {"there", "here"}) std::filesystem::create_directory(base / folder);
    remote::ServerOptions options;
    options.key = *remote::make_key();
    options.exports = {{"data", base / "there", true}};
    options.around = [this](std::unique_ptr<Storage> file) {
      std::lock_guard guard(mutex_);
      return make_faulty(std::move(file), faults_);
    };
    auto started = remote::Server::start(options);
    FUZZ_CHECK(started.ok(), "no server");
    server = std::move(*started);
    ::setenv("MERCUTIO_CONNECTIONS", (base / "connections").c_str(), 1);
    remote::Connection connection;
    connection.host = "there";
    connection.key = options.key;
    connection.servers = {{"127.0.0.1", server->port()}};
    connection.write_behind_bytes = connection.read_ahead_bytes = 256 * KiB;
    FUZZ_CHECK(remote::store_connection(connection).ok(), "no connection file");
    for (auto& tree : trees) FUZZ_CHECK(tree.begin().ok(), "nothing to mount");
  }
  ~Place() { std::filesystem::remove_all(base); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::shared_ptr<FaultPlan> fresh_faults() {
    std::lock_guard guard(mutex_);
    return faults_ = std::make_shared<FaultPlan>();
  }

  std::filesystem::path base;
  std::unique_ptr<remote::Server> server;
  remote::MountTree trees[2] = {{"there", "data", 0}, {"there", "data", kHour}};   // one keeps attributes, one doesn't
  i64 cases = 0;

 private:
  std::mutex mutex_;
  std::shared_ptr<FaultPlan> faults_ MERCUTIO_GUARDED_BY(mutex_) = std::make_shared<FaultPlan>();
};

inline Place& place() {
  static Place made;
  return made;
}

}  // namespace mercutio::fuzz
