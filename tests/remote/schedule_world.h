// Client, router and server of a fault schedule in this process, and what may go wrong between them.
//   clients -> relay -> (router -> relay ->) server -> a disk that is full, slow, or fails to sync for a while
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "relay.h"
#include "remote/file.h"
#include "remote/route.h"
#include "remote/server.h"

namespace mercutio::remote {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : generator_(seed) {}
  i64 below(i64 limit) { return static_cast<i64>(generator_() % static_cast<std::uint64_t>(limit)); }
  i64 from_to(i64 first, i64 last) { return first + below(last - first + 1); }
  bool one_in(i64 n) { return below(n) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[below(static_cast<i64>(all.size()))];
  }

 private:
  std::mt19937_64 generator_;
};

struct Disk {
  std::atomic<bool> full{false}, fails_to_sync{false};
  std::atomic<i64> delay_us{0};
};

class World {
 public:
  explicit World(std::uint64_t seed);
  ~World();

  void one_fault(Dice& dice);   // takes as long as it lasts
  void calm();                  // everything works from now on
  // How often the server was killed and what it was doing has ended.
  i64 kills() const { return kills_; }
  i64 faults() const { return faults_; }

  const Connection& connection() const { return connection_; }
  const std::string& folder() const { return folder_; }
  void note(const std::string& text);
  std::string notes();

 private:
  void start_server();
  void start_router();
  void kill_server(i64 down_ms);
  void kill_router(i64 down_ms);
  void abandon(Relay& relay, Dice& dice);
  void fault_of_the_link(Relay& relay, Dice& dice);
  void fault_of_the_disk(Dice& dice);

  std::string folder_;
  const std::shared_ptr<Disk> disk_ = std::make_shared<Disk>();
  ServerOptions options_;
  RouterOptions router_options_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<Relay> near_, far_;   // near_ leads to the router, if there is one
  Connection connection_;
  std::atomic<i64> kills_{0}, faults_{0};
  const i64 start_ns_;
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

void wait_ms(i64 ms);

}  // namespace mercutio::remote
