// A relay between a client and a server in this process: it passes bytes on, and breaks the link in every way a test wants.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "remote/descriptor.h"

namespace mercutio::remote {

class Relay {
 public:
  explicit Relay(int target_port);
  ~Relay();
  int port() const { return port_; }

  void set_target(int port) { target_port_ = port; }   // of new streams
  void cut();                                    // every stream now; new ones are served
  void freeze() { frozen_ = accepted_.load(); }  // half open: the streams there are now say nothing any more; new ones are served
  void thaw() { frozen_ = 0; }                   // and go on, with what came meanwhile
  void damage() { damaging_ = true; }            // a byte of what passes next
  void refuse(bool yes) { refusing_ = yes; }     // new streams are closed at once
  void hold_answers(bool yes) { holding_ = yes; }// what the server says stays here
  void hold_all(bool yes) { silent_ = yes; }     // nothing passes, nothing is closed
  std::string first_client_bytes();              // what the first stream's client sent
  int streams() const { return accepted_; }
  int refused() const { return refused_; }
  long long bytes(int side) const { return bytes_[side]; }   // passed on so far: 0 of the client's, 1 of the server's

 private:
  void accept_streams();
  void pass(int client);
  bool send_all(int fd, const char* bytes, ssize_t count, int cuts);

  std::atomic<int> target_port_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> refusing_{false}, holding_{false}, silent_{false}, damaging_{false}, stopping_{false};
  std::atomic<int> cuts_{0}, accepted_{0}, frozen_{0}, refused_{0};
  std::atomic<long long> bytes_[2] = {0, 0};
  std::mutex mutex_;
  std::string first_bytes_;
  std::list<std::thread> threads_;
  std::thread accepting_;
};

int connect_to(int port);      // a plain stream to this machine
int listen_here(int& port);
int keep_port(int& port);      // at which nobody listens
std::vector<std::unique_ptr<Descriptor>> keep_silent_port(int& port);   // connections to it come about as little as they are refused

}  // namespace mercutio::remote
