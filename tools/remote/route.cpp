// mercutio-route, behind `mercutio route`: passes connections on, on a gateway between compute nodes and the servers of another
// cluster. It can't read what it carries, and connects only those who have its key, only to where its command line says.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common.h"
#include "remote/route.h"

namespace mercutio::remote {
namespace {

const std::vector<Option> kOptions = {
    {"listen", "ADDRESS[:PORT]", "numeric address of this machine to listen on (required)"},
    {"to", "ADDRESS:PORT", "address to which it may connect: mercutiod or the next router; * is any port; may be repeated (required)"},
    {"key-file", "FILE", "file of its key, readable by its owner only; made if there is none (required)"},
    {"connections", "N", "maximum number of connections (default 1024)"},
    {"audit", "FILE", "file to append connections and refusals to (default: stderr)"},
    {"detach", nullptr, "go to the background when listening (default: off)"},
    {"help", nullptr, "print this"},
};

Status make_key_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) return ok_status();
  if (fd < 0) {
    Error error = error_from_errno("open", errno);
    error.what = "the key file " + path + " can't be made: " + error.what;
    if (error.sys_errno == ENOENT) error.what += "; its directory must be there";
    return error;
  }
  MERCUTIO_LET(const Key key, make_key());
  const std::string line = key_text(key) + "\n";
  const bool written = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int wrong = errno;
  ::close(fd);
  if (!written) ::unlink(path.c_str());   // half a key is none
  return written ? ok_status() : Status(error_from_errno("write the key file", wrong));
}

Result<RouterOptions> options_from(const Arguments& arguments) {
  RouterOptions options;
  if (!arguments.has("listen") || !arguments.has("to") || !arguments.has("key-file"))
    return Error{ErrorClass::kArg, "--listen, --to and --key-file are needed, for example: --listen 10.0.0.1:4000 --to 192.0.2.7:40000 "
                                   "--key-file ~/.config/mercutio/route.key"};
  MERCUTIO_TRY(parse_address(arguments.text("listen"), options.address, options.port));
  options.targets = arguments.all("to");
  for (const std::string& target : options.targets)
    if (target.rfind(':') == std::string::npos)
      return Error{ErrorClass::kArg, "--to " + target + ": a port is wanted, as in 192.0.2.7:40000, or 192.0.2.7:* for any"};
  MERCUTIO_LET(options.most_connections, arguments.number("connections", options.most_connections, 1, kMostConnections));
  MERCUTIO_TRY(make_key_file(arguments.text("key-file")));
  MERCUTIO_LET(options.key, key_from_file(arguments.text("key-file")));
  return options;
}

Status route(const Arguments& arguments) {
  if (arguments.has("detach")) close_inherited();
  MERCUTIO_LET(RouterOptions options, options_from(arguments));
  MERCUTIO_LET(options.log, audit_log(arguments));
  raise_descriptor_limit();
  MERCUTIO_LET(const int ready, detach(arguments.has("detach")));
  const sigset_t ends = block_ends();
  MERCUTIO_LET(const auto router, Router::start(options));
  std::printf("mercutio-route 1 %s %d\n", announced(options.address).c_str(), router->port());
  std::fflush(stdout);
  leave_terminal(ready);
  int which = 0;
  while (sigwait(&ends, &which) != 0) {
  }
  return ok_status();
}

const Command kCommand{"mercutio route",
                       "mercutio route --listen ADDRESS[:PORT] --to ADDRESS:PORT --key-file FILE\n"
                       "Passes connections of Mercutio programs on to servers that they have no route to.",
                       kOptions};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  return mercutio::remote::run_command(mercutio::remote::kCommand, argc, argv, mercutio::remote::route);
}
