// What remote files carry, beside what the same number of plain TLS streams carries in the same run: server and client are two
// processes on this machine, the file is in /dev/shm. One line a case: streams, what, plain MB/s, remote MB/s, ratio.
//   remote_streams [MiB, default 256]
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "../tests/remote/relay.h"
#include "base/trace.h"
#include "remote/file.h"
#include "remote/server.h"
#include "remote/threads.h"

namespace mercutio::remote {
namespace {

constexpr i64 kCall = 8 * MiB;

double mb_per_s(i64 bytes, i64 start_ns) {
  return static_cast<double>(bytes) * 1e3 / static_cast<double>(now_ns() - start_ns);
}

// Frames of the largest block, each answered by a byte: what a transfer over bare TLS would do.
void swallow(const std::shared_ptr<TlsContext>& tls, int fd, i64 bytes) {
  Channel channel(std::move(*tls->wrap(fd)), "plain");
  if (!channel.shake_hands(10'000)) return;
  Frame frame;
  for (i64 left = bytes; left > 0; left -= frame.header.data_bytes)
    if (const auto got = channel.receive(frame, kMaxDataBytes, 60'000); !got || !*got) return;
  (void)channel.send(frame_of(Kind::kPong, 0, {}), 60'000);
}

double plain(const Key& key, i64 streams, i64 bytes) {
  int port = 0;
  const int listener = listen_here(port);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto tls = *make_tls(TlsSide::kServer, key);
    std::vector<std::thread> threads;
    for (i64 i = 0; i < streams; ++i) threads.emplace_back(swallow, tls, ::accept(listener, nullptr, nullptr), bytes / streams);
    for (std::thread& thread : threads) thread.join();
    ::_exit(0);
  }
  ::close(listener);
  const auto tls = *make_tls(TlsSide::kClient, key);
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Channel>> channels;
  for (i64 i = 0; i < streams; ++i) {
    channels.push_back(std::make_unique<Channel>(std::move(*tls->wrap(connect_to(port))), "plain"));
    if (!channels.back()->shake_hands(10'000)) std::exit(1);
  }
  const i64 start = now_ns();
  for (auto& channel : channels)
    threads.emplace_back([&channel, share = bytes / streams] {
      Buffer frame(static_cast<size_t>(kHeaderBytes + MiB), std::byte{7});
      seal(frame, Kind::kWrite, 1, 0);
      for (i64 left = share; left > 0; left -= MiB)
        if (!channel->send(frame, 60'000)) std::exit(1);
      Frame answer;
      (void)channel->receive(answer, 0, 60'000);
    });
  for (std::thread& thread : threads) thread.join();
  const double speed = mb_per_s(bytes, start);
  (void)::waitpid(child, nullptr, 0);
  return speed;
}

struct Served {
  pid_t child;
  int port;
};
Served serve(const Key& key) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(1);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGPIPE, SIG_IGN);
    ServerOptions options;
    options.key = key;
    options.exports = {{"shm", "/dev/shm", true}};
    const auto server = Server::start(options);
    const int port = server ? (*server)->port() : 0;
    (void)!::write(ends[1], &port, sizeof port);
    ::pause();
  }
  int port = 0;
  if (::read(ends[0], &port, sizeof port) != sizeof port || port == 0) std::exit(1);
  return {child, port};
}

// Block-cyclic as one of four ranks would have it, or (block 0) one run.
std::vector<IoPiece> pieces_of(i64 offset, i64 block, std::byte* data) {
  if (block == 0) return {{offset, data, kCall}};
  std::vector<IoPiece> pieces;
  for (i64 at = 0; at < kCall; at += block) pieces.push_back({(offset + at) * 4, data + at, block});
  return pieces;
}

double transfer(Storage& file, Direction direction, i64 block, i64 bytes) {
  std::vector<std::byte> data(static_cast<size_t>(kCall), std::byte{5});
  const i64 start = now_ns();
  for (i64 at = 0; at < bytes; at += kCall) {
    const auto pieces = pieces_of(at, block, data.data());
    const auto moved = direction == Direction::kRead ? file.read(pieces) : file.write(pieces);
    if (!moved || *moved != kCall) std::exit(1);
  }
  return mb_per_s(bytes, start);
}

void measure(i64 streams, i64 bytes) {
  const Key key = *make_key();
  const double reference = plain(key, streams, bytes);
  const Served served = serve(key);
  Connection connection;
  connection.host = "here";
  connection.key = key;
  connection.streams = streams;
  connection.servers = {{"127.0.0.1", served.port}};
  {
    OpenOptions options;
    options.write = options.create = true;
    const std::string name = "mercutio-bench-" + std::to_string(::getpid());
    const auto session = *Session::make(connection, 0);
    auto file = std::move(*open_remote(session, "shm/" + name, options));
    for (const i64 block : {i64{0}, 4 * KiB, 64 * KiB, 1 * MiB})
      for (const Direction direction : {Direction::kWrite, Direction::kRead}) {
        const double speed = transfer(*file, direction, block, bytes);
        std::printf("%lld streams  %-5s blocks of %7lld  plain TLS %7.0f MB/s  remote %7.0f MB/s  ratio %.2f\n",
                    static_cast<long long>(streams), direction == Direction::kRead ? "read" : "write", static_cast<long long>(block),
                    reference, speed, speed / reference);
      }
    (void)file->close();
    std::filesystem::remove("/dev/shm/" + name);
  }
  ::kill(served.child, SIGKILL);
  (void)::waitpid(served.child, nullptr, 0);
}

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const mercutio::i64 bytes = (argc > 1 ? std::atoll(argv[1]) : 256) * mercutio::MiB;
  for (const mercutio::i64 streams : {1, 2, 4}) mercutio::remote::measure(streams, bytes);
  return 0;
}
