// What remote files carry over a long way: through a relay that holds every byte for half a round trip and passes on so many a second,
// shared by all streams. One line a case, with its part of what the link carries, and the round trips of open + small write + close.
//   remote_delay [MiB (64)] [round trip in ms (50)] [MB/s (50)] [streams (4)] [lz4]
// With lz4: instead, what compression is worth there for several kinds of data, as ratios of two transfers in turn.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>

#include "../tests/remote/relay.h"
#include "base/trace.h"
#include "remote/file.h"
#include "remote/server.h"
#include "base/threads.h"

namespace mercutio::remote {
namespace {

struct Link {
  i64 delay_ns = 0, bytes_per_s = 1;
  std::mutex mutex;
  i64 free_ns[2] = {0, 0};   // when the link has passed on all it has, each way
  i64 carried = 0;           // bytes, both ways

  i64 due(int way, i64 bytes) {
    std::lock_guard guard(mutex);
    carried += bytes;
    free_ns[way] = std::max(free_ns[way], now_ns()) + bytes * 1'000'000'000 / bytes_per_s;
    return free_ns[way] + delay_ns;
  }
};

struct Queue {
  struct Chunk {
    i64 due_ns;
    std::vector<char> bytes;
    size_t sent = 0;
  };
  std::deque<Chunk> chunks;
  i64 bytes = 0;
};

// Both ways of one stream, until one end closes it.
void pass(Link& link, int client, int server) {
  const int fds[] = {client, server};
  Queue queues[2];   // towards the server, towards the client
  const i64 most = 2 * link.bytes_per_s * link.delay_ns / 1'000'000'000 + 4 * MiB;
  for (bool open = true; open;) {
    pollfd ready[2];
    i64 wait_ns = 50'000'000;
    for (int side = 0; side < 2; ++side) {
      const Queue& out = queues[1 - side];
      const i64 left_ns = out.chunks.empty() ? wait_ns : out.chunks.front().due_ns - now_ns();
      ready[side] = {fds[side], static_cast<short>((queues[side].bytes < most ? POLLIN : 0) | (left_ns <= 0 ? POLLOUT : 0)), 0};
      if (left_ns > 0) wait_ns = std::min(wait_ns, left_ns);
    }
    const timespec timeout{0, static_cast<long>(wait_ns)};
    (void)::ppoll(ready, 2, &timeout, nullptr);
    for (int side = 0; side < 2 && open; ++side) {
      if ((ready[side].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        std::vector<char> bytes(256 * KiB);
        const ssize_t got = ::recv(fds[side], bytes.data(), bytes.size(), MSG_DONTWAIT);
        open = got > 0 || (got < 0 && errno == EAGAIN);
        if (got > 0) {
          bytes.resize(static_cast<size_t>(got));
          queues[side].bytes += got;
          queues[side].chunks.push_back({link.due(side, got), std::move(bytes)});
        }
      }
      Queue& out = queues[1 - side];
      while (open && !out.chunks.empty() && out.chunks.front().due_ns <= now_ns()) {
        Queue::Chunk& chunk = out.chunks.front();
        const ssize_t sent = ::send(fds[side], chunk.bytes.data() + chunk.sent, chunk.bytes.size() - chunk.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        open = sent > 0 || errno == EAGAIN;
        if (sent <= 0) break;
        chunk.sent += static_cast<size_t>(sent);
        out.bytes -= sent;
        if (chunk.sent == chunk.bytes.size()) out.chunks.pop_front();
      }
    }
  }
  ::close(client);
  ::close(server);
}

// A port whose streams lead to `target` over the link; for the life of the process.
int port_of(Link& link, int target) {
  int port = 0;
  const int listener = listen_here(port);
  start_thread([&link, listener, target] {
    for (;;) {
      const int client = ::accept(listener, nullptr, nullptr);
      start_thread([&link, client, target] { pass(link, client, connect_to(target)); }).value().detach();
    }
  }).value().detach();
  return port;
}

double seconds_since(i64 start_ns) {
  return static_cast<double>(now_ns() - start_ns) * 1e-9;
}

struct Setup {
  Link link;
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
    link.delay_ns = round_trip_ms * 500'000;
    link.bytes_per_s = mb_per_s * 1'000'000;
    connection.host = "here";
    connection.key = options.key;
    connection.streams = streams;
    connection.servers = {{"127.0.0.1", port_of(link, server->port())}};
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
  std::printf("open + write of 100 bytes + close: %.2f round trips, %lld requests\n", seconds_since(start) * 5e8 / static_cast<double>(setup.link.delay_ns),
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
                    static_cast<long long>(call / KiB), speed * 1e-6, speed / static_cast<double>(setup.link.bytes_per_s));
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
    const i64 before = setup.link.carried;
    const auto seconds = move(*file, direction, memory, bytes, MiB);
    if (!seconds) return false;
    cost.seconds[way] = *seconds;
    cost.bytes[way] = static_cast<double>(setup.link.carried - before);
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
