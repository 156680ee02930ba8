// Sockets of remote files: small frames are sent at once, lost data is sent again soon after a link is back, and a dead peer is detected.
// A name may have several addresses, of which not all lead to the server (of a name with an IPv6 and an IPv4 address, often one): they are
// tried in turn.
#pragma once

#include <netdb.h>

#include <memory>
#include <optional>
#include <vector>

#include "remote/connection_file.h"

namespace mercutio::remote {

void set_up(int fd);   // options that the kernel does not support are skipped

class Addresses {
 public:
  static Result<Addresses> of(const Endpoint& host);   // in the order in which they should be tried, at least one
  size_t count() const { return all_.size(); }
  Result<int> connect(size_t which) const;   // a nonblocking socket that is connected or connecting

 private:
  std::shared_ptr<addrinfo> list_;
  std::vector<const addrinfo*> all_;
};

bool wait_for_event(int fd, short events, i64 end_ns);   // false: not in time
Status connection_of(int fd);   // what has become of one that was connecting
// The error of several attempts. It is a refusal if all that this machine has a way to refused; else the first one of another kind.
Error error_of_attempts(const std::optional<Error>& earlier, const Error& now);
// Tries all addresses, and waits for each as long as the time left permits if the others are to have as much.
Result<int> connect_until(const Endpoint& host, i64 end_ns);

}  // namespace mercutio::remote
