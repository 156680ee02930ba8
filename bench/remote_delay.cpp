// What remote files carry over a long way: through a relay that holds every byte for half a round trip and passes on so many a second,
// shared by all streams. One line a case, with its part of what the link carries, and the round trips of open + small write + close.
//   remote_delay [MiB (64)] [round trip in ms (50)] [MB/s (50)] [streams (4)] [lz4]
// With lz4: instead, what compression is worth there for several kinds of data, as ratios of two transfers in turn.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

#include "remote/slow_link.h"
#include "base/trace.h"
#include "remote/file.h"
#include "remote/server.h"

namespace mercutio::remote {
namespace {

double seconds_since(i64 start_ns) {
  return static_cast<double>(now_ns() - start_ns) * 1e-9;
}

struct Setup {
  SlowLink link;
  std::unique_ptr<Server> server;
  Connection connection;
  std::string name = "shm/mercutio-delay-" + std::to_string(::getpid());
  OpenOptions wanted;

  bool start(i64 round_trip_ms, i64 mb_per_s, i64 streams) {
    ServerOptions options;
    options.key = *make_key();
    options.exports = {{"shm", "/dev/shm", true}};
    auto started = Server::start(options);
    if (!started) return false;
    server = std::move(*started);
    link.set(round_trip_ms, mb_per_s);
    connection.host = "here";
    connection.key = options.key;
    connection.streams = streams;
    connection.servers = {{"127.0.0.1", link.leads_to("127.0.0.1", {"127.0.0.1", server->port()}).value()}};
    wanted.write = wanted.create = wanted.keeps_writes = wanted.reads_ahead = true;
    return true;
  }
  void remove_files() const {
    for (const char* end : {"", ".small"}) std::filesystem::remove("/dev/" + name + end);
  }
};

// In calls of `call` bytes, from memory that is used again and again; seconds, or none.
std::optional<double> move(Storage& file, Direction direction, std::vector<std::byte>& memory, i64 bytes, i64 call) {
  const i64 start = now_ns(), parts = static_cast<i64>(memory.size()) / call;
  for (i64 at = 0, part = 0; at < bytes; at += call, part = (part + 1) % parts) {
    const IoPiece piece{at, memory.data() + part * call, call};
    const auto moved = direction == Direction::kRead ? file.read(std::span(&piece, 1)) : file.write(std::span(&piece, 1));
    if (!moved || *moved != call) return std::nullopt;
  }
  if (!file.flush()) return std::nullopt;
  return seconds_since(start);
}

bool small_file(Setup& setup, const std::shared_ptr<Session>& session) {
  std::vector<std::byte> data(100, std::byte{3});
  const i64 requests = session->counts().requests, start = now_ns();
  const auto file = *open_remote(session, setup.name + ".small", setup.wanted);
  const IoPiece small{0, data.data(), 100};
  if (!file->write(std::span(&small, 1)) || !file->close()) return false;
  std::printf("open + write of 100 bytes + close: %.2f round trips, %lld requests\n", seconds_since(start) * 5e8 / static_cast<double>(setup.link.delay_ns()),
              static_cast<long long>(session->counts().requests - requests));
  return true;
}

bool delays(Setup& setup, i64 bytes) {
  const auto session = *Session::make(setup.connection, 0);
  std::vector<std::byte> data(static_cast<size_t>(4 * MiB), std::byte{3});
  const auto file = *open_remote(session, setup.name, setup.wanted);   // connects
  if (!small_file(setup, session)) return false;
  for (const Direction direction : {Direction::kWrite, Direction::kRead})
    for (const i64 call : {64 * KiB, 1 * MiB, 4 * MiB})
      for (int turn = 0; turn < 2; ++turn) {   // the first one makes the streams and opens their windows
        const auto seconds = move(*file, direction, data, bytes, call);
        if (!seconds) return false;
        if (turn == 0) continue;
        const double speed = static_cast<double>(bytes) / *seconds;
        std::printf("%-5s calls of %4lld KiB: %6.1f MB/s, %.2f of the link\n", direction == Direction::kRead ? "read" : "write",
                    static_cast<long long>(call / KiB), speed * 1e-6, speed / static_cast<double>(setup.link.bytes_per_s()));
      }
  return file->close().ok();
}

struct Data {
  const char* name;
  float (*value)(i64 at, std::mt19937& random);
};
float wave(i64 at) {
  return 280.0F + 20.0F * std::sin(static_cast<float>(at % 720) * 0.0087F) + 5.0F * std::sin(static_cast<float>(at / 720) * 0.031F);
}
const Data kData[] = {
    {"zeros", [](i64, std::mt19937&) { return 0.0F; }},
    {"a field, a third of it a fill value", [](i64 at, std::mt19937&) { return at / 240 % 3 == 0 ? 1e20F : wave(at); }},
    {"a field rounded to a quarter", [](i64 at, std::mt19937&) { return std::round(wave(at) * 4) / 4; }},
    {"a field in full precision", [](i64 at, std::mt19937& random) { return wave(at) + static_cast<float>(random() % 4096) * 1e-4F; }},
};

struct Cost {
  double seconds[2] = {0, 0}, bytes[2] = {0, 0};   // of writing, of reading
};
bool measure(Setup& setup, const std::vector<std::byte>& data, i64 bytes, Cost& cost) {
  const auto session = *Session::make(setup.connection, 0);
  const auto file = *open_remote(session, setup.name, setup.wanted);
  std::vector<std::byte> memory = data;
  for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
    const int way = direction == Direction::kRead ? 1 : 0;
    const i64 before = setup.link.carried();
    const auto seconds = move(*file, direction, memory, bytes, MiB);
    if (!seconds) return false;
    cost.seconds[way] = *seconds;
    cost.bytes[way] = static_cast<double>(setup.link.carried() - before);
  }
  return file->close().ok();
}

bool compression(Setup& setup, i64 bytes) {
  for (const Data& kind : kData) {
    std::mt19937 random(1);
    std::vector<float> values(static_cast<size_t>(8 * MiB) / sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) values[i] = kind.value(static_cast<i64>(i), random);
    std::vector<std::byte> data(values.size() * sizeof(float));
    std::memcpy(data.data(), values.data(), data.size());
    Cost cost[2];
    for (const bool lz4 : {false, true}) {
      setup.connection.lz4 = lz4;
      if (!measure(setup, data, bytes, cost[lz4 ? 1 : 0])) return false;
    }
    std::printf("%s:", kind.name);
    for (const int way : {0, 1})
      std::printf(" %s %.2f of the bytes in %.2f of the time (%.2f s)%s", way == 0 ? "written" : "read", cost[1].bytes[way] / cost[0].bytes[way],
                  cost[1].seconds[way] / cost[0].seconds[way], cost[0].seconds[way], way == 0 ? "," : "\n");
  }
  return true;
}

int run(i64 bytes, i64 round_trip_ms, i64 mb_per_s, i64 streams, bool lz4) {
  Setup setup;
  if (!setup.start(round_trip_ms, mb_per_s, streams)) return 1;
  const bool right = lz4 ? compression(setup, bytes) : delays(setup, bytes);
  setup.remove_files();
  return right ? 0 : 1;
}

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto number = [&](int at, mercutio::i64 otherwise) { return argc > at ? std::atoll(argv[at]) : otherwise; };
  std::_Exit(mercutio::remote::run(number(1, 64) * mercutio::MiB, number(2, 50), number(3, 50), number(4, 4), argc > 5));
}
