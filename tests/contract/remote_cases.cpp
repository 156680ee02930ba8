// Remote files, through the library that the registry loads, from a server in this process that exports everything.
#include <gtest/gtest.h>

#include <cstdlib>

#include "more_cases.h"
#include "remote/connection_file.h"
#include "remote/server.h"

namespace mercutio {
namespace {

class ServerHere final : public ::testing::Environment {
 public:
  void SetUp() override {
    char folder[] = "/tmp/mercutio-contract-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    ::setenv("MERCUTIO_CONNECTIONS", folder, 1);
    remote::ServerOptions options;
    options.key = *remote::make_key();
    options.exports = {{"top", "/", true}};
    auto server = remote::Server::start(options);
    ASSERT_TRUE(server.ok()) << server.error().what;
    server_ = std::move(*server);
    remote::Connection connection;
    connection.key = options.key;
    connection.servers = {{"127.0.0.1", server_->port()}};
    connection.host = "here";
    ASSERT_TRUE(remote::store_connection(connection).ok());
    connection.host = "behind";
    connection.write_behind_bytes = 1 * MiB;
    ASSERT_TRUE(remote::store_connection(connection).ok());
    connection.host = "compressed";
    connection.lz4 = true;
    ASSERT_TRUE(remote::store_connection(connection).ok());
  }
  void TearDown() override {
    server_.reset();
    for (const char* name : {"/here", "/behind", "/compressed"}) (void)std::remove((folder_ + name).c_str());
    (void)std::remove(folder_.c_str());
  }

 private:
  std::unique_ptr<remote::Server> server_;
  std::string folder_;
};

}  // namespace

std::vector<ContractCase> more_cases() {
  static const auto* const server = ::testing::AddGlobalTestEnvironment(new ServerHere);
  (void)server;
  return {{"remote", "mercutio://here/top", true, nullptr},
          {"remote_write_behind", "mercutio://behind/top", true, nullptr, AsyncBackend::kAuto, true},
          {"remote_compressed", "mercutio://compressed/top", true, nullptr, AsyncBackend::kAuto, true}};
}

}  // namespace mercutio
