// A server in this process that exports a fresh folder as "data" (may be written) and as "seen" (may not).
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/trace.h"
#include "relay.h"
#include "remote/file.h"
#include "remote/server.h"

namespace mercutio::remote {

class RemoteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mercutio-remote-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
    options.key = *make_key();
    options.exports = {{"data", folder, true}, {"seen", folder, false}};
    options.log = [this](const std::string& line) {
      std::lock_guard guard(log_mutex_);
      log_ += line + "\n";
    };
    start_server();
  }
  void TearDown() override {
    server.reset();
    std::filesystem::remove_all(folder);
  }
  void start_server() {
    auto started = Server::start(options);
    for (int tries = 0; tries < 5 && !started && started.error().sys_errno == EADDRINUSE; ++tries)   // of 2 s each
      started = Server::start(options);
    ASSERT_TRUE(started.ok()) << started.error().what;
    server = std::move(*started);
    connection.host = "far";
    connection.key = options.key;
    connection.servers = {{"127.0.0.1", server->port()}};
  }
  std::shared_ptr<Session> session() {
    auto made = Session::make(connection, 0);
    EXPECT_TRUE(made.ok());
    return *made;
  }
  // Opens a file through a session of its own: again and again, as a busy machine may take longer than the patience of this client.
  static std::unique_ptr<Storage> open_in_time(const Connection& through, std::shared_ptr<Session>& by, const std::string& path,
                                               const OpenOptions& wanted) {
    std::string what;
    for (int tries = 0; tries < 50; ++tries) {
      by = *Session::make(through, 0);
      auto opened = open_remote(by, path, wanted);
      if (opened) return std::move(*opened);
      what = opened.error().what;
    }
    ADD_FAILURE() << path << ": " << what;
    return nullptr;
  }
  static OpenOptions writing() {
    OpenOptions wanted;
    wanted.write = wanted.create = true;
    return wanted;
  }
  static OpenOptions keeping() {
    OpenOptions wanted = writing();
    wanted.keeps_writes = wanted.reads_ahead = true;
    return wanted;
  }
  std::string content(const std::string& name) {
    std::ifstream in(folder + "/" + name, std::ios::binary | std::ios::ate);
    std::string text(in ? static_cast<size_t>(in.tellg()) : 0, '\0');
    in.seekg(0);   // at once: a character after the other takes longer than what is tested
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text;
  }
  std::string log() {
    std::lock_guard guard(log_mutex_);
    return log_;
  }
  // Whether `text` comes up in what `said` tells: whoever is refused may hear of it before the line is written.
  template <typename Said>
  static bool comes_up(Said said, const std::string& text) {
    for (int i = 0; i < 2000; ++i) {
      if (said().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  bool logged(const std::string& text) {
    return comes_up([this] { return log(); }, text);
  }
  static std::vector<std::byte> filled(i64 bytes, int seed) {
    std::vector<std::byte> data(static_cast<size_t>(bytes));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>((i * 31 + i / 4096 + static_cast<size_t>(seed)) & 255);
    return data;
  }
  static Result<i64> write(Storage& file, i64 offset, std::vector<std::byte>& data) {
    const IoPiece piece{offset, data.data(), static_cast<i64>(data.size())};
    return file.write(std::span(&piece, 1));
  }
  static ErrorClass remove(Session& at, const std::string& path) {
    PlainRequest request;
    request.path = path;
    Buffer message;
    put_message(message, request);
    const auto reply = at.call(Kind::kRemove, std::move(message));
    return reply ? ErrorClass::kNone : reply.error().cls;
  }
  static bool same(const std::string& text, const std::vector<std::byte>& data) {
    return text.size() == data.size() && std::memcmp(text.data(), data.data(), data.size()) == 0;
  }

  std::string folder;
  ServerOptions options;
  std::unique_ptr<Server> server;
  Connection connection;

 private:
  std::mutex log_mutex_;
  std::string log_;
};

}  // namespace mercutio::remote
