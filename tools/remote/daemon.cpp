// mercutiod: serves files of this cluster to Mercutio programs on another one. A plain program of the user's own: no root,
// no configuration, nothing is listened on or exported that its command line doesn't name. `mercutio connect` starts it;
// several may run side by side, alone or as the ranks of any mpirun, each with a port of its own.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "common.h"
#include "remote/announcement.h"
#include "remote/server.h"

namespace mercutio::remote {
namespace {

const std::vector<Option> kOptions = {
    {"listen", "ADDRESS[:PORT]", "where to listen: a numeric address of this machine, or 'ssh' for that the ssh session uses"},
    {"root", "NAME=/DIR[:rw]", "a directory to export as mercutio://host/NAME; read-only without :rw; may be repeated"},
    {"key-fd", "N", "the descriptor to read the connection's key from, 64 hexadecimal digits"},
    {"key-file", "FILE", "or the file that holds it, readable by its owner only"},
    {"idle", "SECONDS", "without a client for so long, it ends (3600; 0: never)"},
    {"grace", "SECONDS", "a client whose connection broke is waited for so long (120)"},
    {"connections", "N", "the most connections at once (4096)"},
    {"audit", "FILE", "append to this file who opened and deleted what, and what was refused (stderr)"},
    {"detach", nullptr, "go to the background when listening"},
    {"help", nullptr, "print this"},
};

Result<Key> key_from(const Arguments& arguments) {
  int fd = -1;
  if (arguments.has("key-fd")) {
    MERCUTIO_LET(const i64 wanted, arguments.number("key-fd", 0));
    fd = static_cast<int>(wanted);
  } else if (arguments.has("key-file")) {
    return key_from_file(arguments.text("key-file"));
  } else {
    return Error{ErrorClass::kArg, "--key-fd or --key-file is needed: there is no access without a key"};
  }
  MERCUTIO_LET(const std::string line, read_line(fd));
  return parse_key(line);
}

// An address, or "ssh".
Status listen_where(const std::string& text, ServerOptions& options) {
  if (text != "ssh") return parse_address(text, options.address, options.port);
  const char* connection = std::getenv("SSH_CONNECTION");   // "client port server port"
  char server[128] = "";
  if (!connection || std::sscanf(connection, "%*s %*s %127s", server) != 1)
    return Error{ErrorClass::kArg, "--listen ssh: this is no ssh session"};
  options.address = server;
  return ok_status();
}

Result<ServerOptions> options_from(const Arguments& arguments) {
  ServerOptions options;
  if (!arguments.has("listen") || !arguments.has("root"))
    return Error{ErrorClass::kArg, "--listen and --root are needed, for example: --listen 127.0.0.1:0 --root data=/scratch/me:rw"};
  MERCUTIO_TRY(listen_where(arguments.text("listen"), options));
  for (const std::string& root : arguments.all("root")) {
    MERCUTIO_LET(Export one, parse_export(root));
    options.exports.push_back(std::move(one));
  }
  MERCUTIO_LET(const i64 grace_s, arguments.number("grace", 120));
  MERCUTIO_LET(options.most_connections, arguments.number("connections", options.most_connections));
  options.most_sessions = std::max(options.most_sessions, options.most_connections);
  if (options.most_connections < 1) return Error{ErrorClass::kArg, "--connections: at least 1"};
  options.grace_ms = grace_s * 1000;
  MERCUTIO_LET(options.key, key_from(arguments));
  return options;
}

Status serve(const Arguments& arguments) {
  MERCUTIO_LET(ServerOptions options, options_from(arguments));
  MERCUTIO_LET(const i64 idle_s, arguments.number("idle", 3600));
  MERCUTIO_LET(options.log, audit_log(arguments));
  raise_descriptor_limit();
  MERCUTIO_TRY(detach(arguments));
  const sigset_t ends = block_ends();
  MERCUTIO_LET(const auto server, Server::start(options));
  std::printf("%s\n", announcement({announced(options.address), server->port()}, ::getpid()).c_str());
  std::fflush(stdout);
  leave_terminal(arguments);
  for (;;) {
    const timespec second{1, 0};
    if (sigtimedwait(&ends, nullptr, &second) > 0) return ok_status();
    if (idle_s > 0 && server->idle_ms() > idle_s * 1000) return ok_status();
  }
}

const Command kCommand{"mercutiod",
                       "mercutiod --listen ADDRESS[:PORT] --root NAME=/DIR[:rw] --key-fd N\n"
                       "Serves files to Mercutio programs on another cluster; 'mercutio connect' starts it.",
                       kOptions};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  return mercutio::remote::run_command(mercutio::remote::kCommand, argc, argv, mercutio::remote::serve);
}
