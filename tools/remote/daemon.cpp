// mercutiod: serves files of this cluster to Mercutio programs on another one. A plain program of the user's own: no root,
// no configuration, nothing is listened on or exported that its command line doesn't name. `mercutio connect` starts it;
// several may run side by side, alone or as the ranks of any mpirun, each with a port of its own.
#include <poll.h>
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

constexpr i64 kLastWordMs = 5'000;   // in which clients that come too late are told why
constexpr unsigned kLastSeconds = 2;   // for requests under way and closes, when it is told to end

const std::vector<Option> kOptions = {
    {"listen", "ADDRESS[:PORT[-PORT]]", "numeric address of this machine to listen on, or 'ssh' for that of the ssh session; of several ports the first that is free (required)"},
    {"root", "NAME=/DIR[:rw]", "directory (or ~/DIR, or DRIVER://path of a storage driver) to export as mercutio://host/NAME; read-only without :rw; may be repeated (required)"},
    {"key-fd", "N", "descriptor from which to read the connection's key, 64 hexadecimal digits (this or --key-file is required)"},
    {"key-file", "FILE", "file that holds the key, readable by its owner only"},
    {"await-keep", nullptr, "after the key, wait for the line 'keep' at --key-fd, and end where its input ends without it (default: off)"},
    {"idle", "SECONDS", "time without a client after which it ends; 0: never (default: 3600)"},
    {"expires", "SECONDS", "time for which the key is valid; then mercutiod admits no more clients, and ends after the last one (default: 0, for ever)"},
    {"grace", "SECONDS", "time for which it waits for a client whose connection broke (default: 120)"},
    {"connections", "N", "maximum number of connections (default: 4096)"},
    {"copy-to", "ADDRESS:PORT", "other mercutiod to which it may copy files if a client asks; * as the port, or as all of it: any; may be repeated (default: none)"},
    {"audit", "FILE", "file to append opens, deletions and refusals to (default: stderr)"},
    {"detach", nullptr, "go to the background when listening (default: off)"},
    {"help", nullptr, "print this"},
};

Result<Key> key_from(const Arguments& arguments) {
  int fd = -1;
  if (arguments.has("key-fd")) {
    MERCUTIO_LET(const i64 wanted, arguments.number("key-fd", 0, 0, INT32_MAX));
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
  if (text != "ssh" && !text.starts_with("ssh:")) return parse_ports(text, options.address, options.port, options.last_port);
  std::string unused;
  MERCUTIO_TRY(parse_ports(text, unused, options.port, options.last_port));
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
    one.one_of_several = arguments.has("key-file");   // of a launcher's servers
    options.exports.push_back(std::move(one));
  }
  MERCUTIO_LET(const i64 grace_s, arguments.number("grace", 120, 0, kMostSeconds));
  MERCUTIO_LET(options.most_connections, arguments.number("connections", options.most_connections, 1, kMostConnections));
  options.most_sessions = std::max(options.most_sessions, options.most_connections);
  options.grace_ms = grace_s * 1000;
  options.copy_to = arguments.all("copy-to");
  MERCUTIO_LET(const i64 expires_s, arguments.number("expires", 0, 0, kMostSeconds));
  if (expires_s > 0) options.expires_ns = now_ns() + expires_s * 1'000'000'000;
  MERCUTIO_LET(options.key, key_from(arguments));
  return options;
}

// Its starter tries it out, then says that it is to stay. Whatever happens to the starter before ends the input.
Status await_keep(int fd, const sigset_t& ends) {
  for (;;) {
    const timespec none{};
    pollfd input{fd, POLLIN, 0};
    const int ready = ::poll(&input, 1, 200);
    if (sigtimedwait(&ends, nullptr, &none) > 0) return Error{ErrorClass::kOther, "ended by a signal before it was to stay"};
    if (ready <= 0) continue;
    MERCUTIO_LET(const std::string line, read_line(fd));
    if (line == "keep") return ok_status();
    return Error{ErrorClass::kOther, "its starter ended before it said that the server is to stay (--await-keep)"};
  }
}

// A request may hang in a file system for ever. It does not keep a server that was told to end.
void end_soon() {
  signal(SIGALRM, [](int) { ::_exit(EXIT_FAILURE); });
  ::alarm(kLastSeconds);
}

Status serve(const Arguments& arguments) {
  MERCUTIO_LET(const i64 key_fd, arguments.number("key-fd", 0, 0, INT32_MAX));
  if (arguments.has("detach")) close_inherited(static_cast<int>(key_fd));
  MERCUTIO_LET(ServerOptions options, options_from(arguments));
  MERCUTIO_LET(const i64 idle_s, arguments.number("idle", 3600, 0, kMostSeconds));
  MERCUTIO_LET(options.log, audit_log(arguments));
  raise_descriptor_limit();
  MERCUTIO_LET(const int ready, detach(arguments.has("detach")));
  const sigset_t ends = block_ends();
  MERCUTIO_LET(const auto server, Server::start(options));
  std::printf("%s\n", announcement({announced(options.address), server->port()}, ::getpid()).c_str());
  std::fflush(stdout);
  if (arguments.has("await-keep")) MERCUTIO_TRY(await_keep(static_cast<int>(key_fd), ends));
  leave_terminal(ready);
  for (;;) {
    const timespec period{0, 200'000'000};
    if (sigtimedwait(&ends, nullptr, &period) > 0 || server->asked_to_end()) return end_soon(), ok_status();
    if (idle_s > 0 && server->idle_ms() > idle_s * 1000) return ok_status();
    if (now_ns() >= options.expires_ns && server->idle_ms() > kLastWordMs) return ok_status();
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
