// What remote files carry, beside what as many plain TLS streams carry in the same run. Clients and servers are processes on
// this machine, the file is in /dev/shm; Stampi's pattern: the clients' blocks take turns in one file. The cases take turns,
// too, and the medians of their ratios are printed: MB/s on the clock, and processor time for a byte of both sides together.
//   plain   OpenSSL as it comes: blocking SSL_write and SSL_read of 256 KiB, nothing checked, nothing stored
//   write   mercutio, in blocks of 4 KiB to 1 MiB
//   read    the same way back
//   routed  writes of 64 KiB through a router in a process of its own
//   old     Stampi's old mode: one client process, one server, one stream, a call waits for the one before
//   remote_streams [MiB of a client (64)] [clients (4)] [streams of a client (1)] [rounds (5)] [case (all): write, read, routed, old, or 'write 4 KiB' etc.]
//                  [clients' network namespace] [the router's] [its address for clients] [the servers' namespace] [their address]
//                  [round trip in ms (0)]
// Those of the last lines spread the processes over namespaces, where links are separate: bench/remote_links.py. With a round trip all
// streams go through a relay beside the router, which holds every byte for half of it.
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>

#include "remote/slow_link.h"
#include "base/trace.h"
#include "remote/file.h"
#include "remote/route.h"
#include "remote/server.h"
#include "remote/sockets.h"
#include "base/threads.h"

namespace mercutio::remote {
namespace {

constexpr i64 kCall = 8 * MiB, kPlainBlock = 256 * KiB;
constexpr i64 kBlocks[] = {4 * KiB, 16 * KiB, 64 * KiB, 256 * KiB, 1 * MiB};

// Where processes run: a network namespace, as a file of /proc, and their address there.
struct Place {
  std::string network, address = "127.0.0.1";
  void enter() const;
};
struct Places {
  Place clients, router, servers;
};
struct Settings {
  i64 bytes = 64 * MiB, clients = 4, streams = 1, rounds = 5, round_trip_ms = 0;
  std::string only;
  Places places;
};
struct Figure {
  double seconds = 0, processor = 0;
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

void be_called(const char* name) {   // by perf
  (void)::prctl(PR_SET_NAME, name);
}

void Place::enter() const {
  if (network.empty()) return;
  const int fd = ::open(network.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || ::setns(fd, CLONE_NEWNET) != 0) fail(network.c_str());
  ::close(fd);
}

double processor_of(pid_t pid) {
  clockid_t clock;
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Processes that begin together: the clock runs from their start to the end of the last one.
Figure together(i64 count, const std::vector<pid_t>& servers, const std::function<std::function<void()>(i64)>& prepare) {
  int ready[2], go[2];
  if (::pipe(ready) != 0 || ::pipe(go) != 0) fail("pipe");
  std::vector<pid_t> children;
  for (i64 i = 0; i < count; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    ::close(go[1]);
    const auto work = prepare(i);
    char byte = 0;
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(go[0], &byte, 1);
    work();
    ::_exit(0);
  }
  char byte = 0;
  for (i64 i = 0; i < count; ++i)
    if (::read(ready[0], &byte, 1) != 1) fail("read");
  const auto processor = [&] {
    double sum = 0;
    for (const pid_t pid : servers) sum += processor_of(pid);
    rusage used{};
    (void)::getrusage(RUSAGE_CHILDREN, &used);
    return sum + static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  };
  double before = processor();
  for (const pid_t child : children) before += processor_of(child);
  const i64 start = now_ns();
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) ::close(fd);
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) != child || status != 0) fail("a client");
  }
  return {static_cast<double>(now_ns() - start) * 1e-9, processor() - before};
}

// What OpenSSL does by itself, but for the key.
SSL* plain_stream(TlsContext& tls, int fd) {
  auto* const context = static_cast<SSL_CTX*>(tls.native());
  SSL_CTX_set_read_ahead(context, 0);
  SSL_CTX_clear_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE);
  SSL* const ssl = SSL_new(context);
  SSL_set_app_data(ssl, new std::string);   // the handshake notes the name of the key there; as long as the process
  SSL_set_fd(ssl, fd);
  return ssl;
}

// A process at a place that listens and serves for ever; its port.
pid_t started(const Place& place, int& port, const std::function<int()>& start) {
  int ends[2];
  if (::pipe(ends) != 0) fail("pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    place.enter();
    const int its_port = start();
    (void)!::write(ends[1], &its_port, sizeof its_port);
    for (;;) ::pause();
  }
  if (::read(ends[0], &port, sizeof port) != sizeof port || port == 0) fail("a process that serves");
  for (const int fd : ends) ::close(fd);
  return child;
}

// The plain server: a thread a stream, which reads until the client is done, and says so.
void serve_plainly(int listener, const std::shared_ptr<TlsContext>& tls) {
  for (;;) {
    pollfd ready{listener, POLLIN, 0};
    (void)::poll(&ready, 1, -1);   // the listener does not block
    const int fd = ::accept(listener, nullptr, nullptr);
    if (fd < 0) continue;
    start_thread([tls, fd] {
      SSL* const ssl = plain_stream(*tls, fd);
      std::vector<char> buffer(kPlainBlock);
      if (SSL_accept(ssl) != 1) fail("SSL_accept");
      while (SSL_read(ssl, buffer.data(), static_cast<int>(buffer.size())) > 0) {
      }
      (void)SSL_shutdown(ssl);
      SSL_free(ssl);
      ::close(fd);
    }).value().detach();
  }
}

pid_t plain_server(const Place& place, const Key& key, int& port) {
  return started(place, port, [&] {
    be_called("plain server");
    int its_port = 0;
    const auto listener = listen_at(place.address, its_port);
    if (!listener) fail("listen");
    start_thread([fd = *listener, tls = *make_tls(TlsSide::kServer, key)] { serve_plainly(fd, tls); }).value().detach();
    return its_port;
  });
}

int connected_to(const Endpoint& to) {
  const auto fd = connect_until(to, now_ns() + 10'000'000'000);
  if (!fd) fail("connect");
  (void)::fcntl(*fd, F_SETFL, ::fcntl(*fd, F_GETFL) & ~O_NONBLOCK);
  return *fd;
}

std::function<void()> plain_client(const Key& key, const Endpoint& server, const Settings& settings) {
  be_called("plain client");
  const auto tls = *make_tls(TlsSide::kClient, key);
  std::vector<SSL*> streams;
  for (i64 i = 0; i < settings.streams; ++i) {
    streams.push_back(plain_stream(*tls, connected_to(server)));
    if (SSL_connect(streams.back()) != 1) fail("SSL_connect");
  }
  return [streams, tls, settings] {
    std::vector<std::thread> threads;
    for (SSL* const ssl : streams)
      threads.emplace_back([ssl, share = settings.bytes / settings.streams] {
        std::vector<char> data(kPlainBlock, 5);
        for (i64 left = share; left > 0; left -= kPlainBlock)
          for (int done = 0; done < kPlainBlock;) {
            const int sent = SSL_write(ssl, data.data() + done, static_cast<int>(kPlainBlock) - done);
            if (sent <= 0) fail("SSL_write");
            done += sent;
          }
        (void)SSL_shutdown(ssl);
        char byte = 0;
        (void)SSL_read(ssl, &byte, 1);
      });
    for (std::thread& thread : threads) thread.join();
  };
}

pid_t server(const Place& place, const Key& key, int& port) {
  return started(place, port, [&] {
    be_called("server");
    ServerOptions options;
    options.key = key;
    options.address = place.address;
    options.exports = {{"shm", "/dev/shm", true}};
    auto served = Server::start(options);
    return served ? std::move(*served).release()->port() : 0;   // as long as the process
  });
}

// A router to every port of the servers, in a process of its own.
pid_t router(const Places& places, const Key& key, int& port) {
  return started(places.router, port, [&] {
    RouterOptions options;
    options.key = key;
    options.address = places.router.address;
    options.targets = {places.servers.address + ":*"};
    auto routing = Router::start(options);
    return routing ? std::move(*routing).release()->port() : 0;
  });
}

// A relay that makes the way to a server as long as the settings say; nothing where they don't.
Endpoint lengthened(const Settings& settings, const Endpoint& server, std::vector<pid_t>& pids) {
  if (settings.round_trip_ms == 0) return server;
  const std::string address = settings.places.router.address;
  int port = 0;
  pids.push_back(started(settings.places.router, port, [&] {
    auto link = std::make_unique<SlowLink>();
    link->set(settings.round_trip_ms, 0);
    const auto its_port = link.release()->leads_to(address, server);   // as long as the process
    return its_port ? *its_port : 0;
  }));
  return {address, port};
}

// One client's call: its blocks lie `stride` blocks apart.
std::vector<IoPiece> pieces_of(i64 offset, i64 block, i64 stride, std::byte* data) {
  if (stride == 1) return {{offset, data, kCall}};
  std::vector<IoPiece> pieces;
  for (i64 at = 0; at < kCall; at += block) pieces.push_back({(offset + at) * stride, data + at, block});
  return pieces;
}

struct Share {
  i64 first = 0, block = 64 * KiB, stride = 1, bytes = 0;
  Direction direction = Direction::kWrite;
  bool keeps = true;
};

std::function<void()> client(const Connection& connection, const std::string& name, const Share& share) {
  be_called("client");
  OpenOptions options;
  options.write = options.create = true;
  options.keeps_writes = options.reads_ahead = share.keeps;
  const auto session = *Session::make(connection, 0);
  const std::shared_ptr<Storage> file = std::move(*open_remote(session, "shm/" + name, options));
  const auto data = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(kCall), std::byte{5});
  for (int i = 0; i < 4; ++i) {   // every stream is there, and the memory of writes under way
    const IoPiece warm_up{share.first, data->data(), kCall};
    if (share.direction == Direction::kWrite ? !file->write(std::span(&warm_up, 1)) : !file->read(std::span(&warm_up, 1))) fail("warm up");
  }
  if (!file->flush()) fail("flush");
  return [session, file, data, share] {
    for (i64 at = 0; at < share.bytes; at += kCall) {
      auto pieces = pieces_of(at, share.block, share.stride, data->data());
      for (IoPiece& piece : pieces) piece.offset += share.first;
      const auto moved = share.direction == Direction::kRead ? file->read(pieces) : file->write(pieces);
      if (!moved || *moved != kCall) fail("transfer");
    }
    if (!file->flush()) fail("flush");
  };
}

class Bench {
 public:
  explicit Bench(const Settings& settings) : settings_(settings), key_(*make_key()) {
    const std::string& there = settings.places.servers.address;
    int port = 0;
    plain_.push_back(plain_server(settings.places.servers, key_, port));
    plain_way_ = lengthened(settings, {there, port}, relays_);
    for (i64 i = 0; i < settings.clients; ++i) {
      servers_.push_back(server(settings.places.servers, key_, port));
      at_.push_back({there, port});
      ways_.push_back(lengthened(settings, at_.back(), relays_));
    }
    servers_.push_back(router(settings.places, key_, port));
    router_way_ = lengthened(settings, {settings.places.router.address, port}, relays_);
  }
  ~Bench() {
    for (const auto& pids : {plain_, servers_, relays_})
      for (const pid_t pid : pids) ::kill(pid, SIGKILL), (void)::waitpid(pid, nullptr, 0);
    std::filesystem::remove("/dev/shm/" + name_);
  }
  void run() {
    (void)remote(Direction::kWrite, 1 * MiB);   // the file's pages
    for (i64 round = 0; round < settings_.rounds; ++round) {
      const auto wanted = [&](const std::string& name) { return settings_.only.empty() || settings_.only == name; };
      const auto add_blocks = [&](const std::string& way, Direction direction) {
        for (const i64 block : kBlocks) {
          const std::string name = way + " " + std::to_string(block / KiB) + " KiB";
          if (wanted(way) || wanted(name)) add(name, [&] { return remote(direction, block); });
        }
      };
      add_blocks("write", Direction::kWrite);
      add_blocks("read", Direction::kRead);
      if (wanted("routed")) add("routed 64 KiB", [&] { return remote(Direction::kWrite, 64 * KiB, true); });
      if (wanted("old")) add("old", [&] { return old(); });
    }
    for (const std::string& name : order_) {
      std::vector<double>& speed = ratios_[name].first;
      std::vector<double>& processor = ratios_[name].second;
      std::sort(speed.begin(), speed.end());
      std::sort(processor.begin(), processor.end());
      std::printf("%-16s %7.0f MB/s  of plain %.2f  processor time of plain %.2f\n", name.c_str(),
                  static_cast<double>(settings_.bytes * settings_.clients) * 1e-6 / best_[name], speed[speed.size() / 2], processor[processor.size() / 2]);
    }
  }

 private:
  Connection connection(i64 server_index, i64 streams) const {
    Connection connection;
    connection.host = "here";
    connection.key = key_;
    connection.streams = streams;
    connection.servers = {ways_[static_cast<size_t>(server_index)]};
    return connection;
  }
  Figure remote(Direction direction, i64 block, bool routed = false) {
    return together(settings_.clients, servers_, [&](i64 rank) {
      settings_.places.clients.enter();
      const Share share{rank * block, block, settings_.clients, settings_.bytes, direction};
      Connection way = connection(rank, settings_.streams);
      if (routed) way.servers = {at_[static_cast<size_t>(rank)]}, way.hops = {{router_way_, key_}};
      return client(way, name_, share);
    });
  }
  Figure old() {
    return together(1, servers_, [&](i64) {
      settings_.places.clients.enter();
      const Share share{0, kCall, 1, settings_.bytes * settings_.clients, Direction::kWrite, false};
      return client(connection(0, 1), name_, share);
    });
  }
  Figure plain() {
    return together(settings_.clients, plain_, [&](i64) {
      settings_.places.clients.enter();
      return plain_client(key_, plain_way_, settings_);
    });
  }
  // Between two of plain streams: the machine may be busy otherwise.
  void add(const std::string& name, const std::function<Figure()>& measure) {
    const Figure before = plain(), figure = measure(), after = plain();
    const Figure plain{(before.seconds + after.seconds) / 2, (before.processor + after.processor) / 2};
    if (!ratios_.count(name)) order_.push_back(name), best_[name] = figure.seconds;
    best_[name] = std::min(best_[name], figure.seconds);
    ratios_[name].first.push_back(plain.seconds / figure.seconds);
    ratios_[name].second.push_back(figure.processor / plain.processor);
  }

  const Settings settings_;
  const Key key_;
  const std::string name_ = "mercutio-bench-" + std::to_string(::getpid());
  Endpoint plain_way_, router_way_;
  std::vector<Endpoint> at_, ways_;      // the servers, and the beginnings of the ways there
  std::vector<pid_t> plain_, servers_, relays_;
  std::vector<std::string> order_;
  std::map<std::string, double> best_;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> ratios_;
};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::signal(SIGPIPE, SIG_IGN);
  mercutio::remote::Settings settings;
  const auto number = [&](int at, mercutio::i64 otherwise) { return argc > at ? std::atoll(argv[at]) : otherwise; };
  settings.bytes = number(1, 64) * mercutio::MiB;
  settings.clients = number(2, 4);
  settings.streams = number(3, 1);
  settings.rounds = number(4, 5);
  settings.only = argc > 5 && std::string(argv[5]) != "all" ? argv[5] : "";
  settings.round_trip_ms = number(11, 0);
  if (argc > 10) settings.places = {{argv[6]}, {argv[7], argv[8]}, {argv[9], argv[10]}};
  mercutio::remote::Bench(settings).run();
  return 0;
}
