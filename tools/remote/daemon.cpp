// mercutiod: serves files of this cluster to Mercutio programs on another one. A plain program of the user's own: no root,
// no configuration, nothing is listened on or exported that its command line doesn't name. `mercutio connect` starts it;
// several may run side by side, alone or as the ranks of any mpirun, each with a port of its own.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "arguments.h"
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
    {"connections", "N", "the most connections at once (256)"},
    {"audit", "FILE", "append to this file who opened and deleted what, and what was refused (stderr)"},
    {"detach", nullptr, "go to the background when listening"},
    {"help", nullptr, "print this"},
};

Result<std::string> read_line(int fd) {
  std::string line;
  char c = 0;
  while (line.size() < 4096) {
    const ssize_t got = ::read(fd, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return error_from_errno("read", errno);
    if (got == 0 || c == '\n') break;
    line += c;
  }
  return line;
}

Result<Key> key_from(const Arguments& arguments) {
  int fd = -1;
  if (arguments.has("key-fd")) {
    MERCUTIO_LET(const i64 wanted, arguments.number("key-fd", 0));
    fd = static_cast<int>(wanted);
  } else if (arguments.has("key-file")) {
    fd = ::open(arguments.text("key-file").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return error_from_errno("open the key file", errno);
  } else {
    return Error{ErrorClass::kArg, "--key-fd or --key-file is needed: there is no access without a key"};
  }
  MERCUTIO_LET(const std::string line, read_line(fd));
  if (arguments.has("key-file")) ::close(fd);
  return parse_key(line);
}

// ADDRESS, ADDRESS:PORT, [ADDRESS]:PORT, or "ssh".
Status listen_at(const std::string& text, ServerOptions& options) {
  std::string address = text;
  if (text == "ssh") {   // "client port server port"
    const char* connection = std::getenv("SSH_CONNECTION");
    char server[128] = "";
    if (!connection || std::sscanf(connection, "%*s %*s %127s", server) != 1)
      return Error{ErrorClass::kArg, "--listen ssh: this is no ssh session"};
    options.address = server;
    return ok_status();
  }
  const size_t colon = text.rfind(':');
  const bool bare_ipv6 = colon != std::string::npos && text[0] != '[' && text.find(':') != colon;
  if (colon != std::string::npos && !bare_ipv6 && (text[0] != '[' || text[colon - 1] == ']')) {
    char* end = nullptr;
    const long port = std::strtol(text.c_str() + colon + 1, &end, 10);
    if (*end != '\0' || end == text.c_str() + colon + 1 || port < 0 || port > 65535)
      return Error{ErrorClass::kArg, "--listen " + text + ": the port is a number up to 65535; 0 takes any"};
    options.port = static_cast<int>(port);
    address = text.substr(0, colon);
  }
  if (address.size() > 2 && address.front() == '[' && address.back() == ']') address = address.substr(1, address.size() - 2);
  options.address = address;
  return ok_status();
}

Result<ServerOptions> options_from(const Arguments& arguments) {
  ServerOptions options;
  if (!arguments.has("listen") || !arguments.has("root"))
    return Error{ErrorClass::kArg, "--listen and --root are needed, for example: --listen 127.0.0.1:0 --root data=/scratch/me:rw"};
  MERCUTIO_TRY(listen_at(arguments.text("listen"), options));
  for (const std::string& root : arguments.all("root")) {
    MERCUTIO_LET(Export one, parse_export(root));
    options.exports.push_back(std::move(one));
  }
  MERCUTIO_LET(const i64 grace_s, arguments.number("grace", 120));
  MERCUTIO_LET(options.most_connections, arguments.number("connections", 256));
  options.grace_ms = grace_s * 1000;
  MERCUTIO_LET(options.key, key_from(arguments));
  return options;
}

Status log_to(const Arguments& arguments, ServerOptions& options) {
  int fd = STDERR_FILENO;
  if (arguments.has("audit")) {
    fd = ::open(arguments.text("audit").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return error_from_errno("open the audit file", errno);
  } else if (arguments.has("detach")) {
    return ok_status();
  }
  options.log = [fd](const std::string& text) {
    char when[32] = "";
    const time_t now = time(nullptr);
    struct tm parts {};
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ ", gmtime_r(&now, &parts));
    const std::string line = when + text + "\n";
    (void)!::write(fd, line.data(), line.size());
  };
  return ok_status();
}

// The address that clients should use: a wildcard means this host's name.
std::string announced(const std::string& address) {
  char name[256] = "";
  if ((address == "0.0.0.0" || address == "::") && ::gethostname(name, sizeof name - 1) == 0) return name;
  return address;
}

void leave_terminal() {
  ::setsid();
  const int null_fd = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; ++fd) ::dup2(null_fd, fd);
  if (null_fd > 2) ::close(null_fd);
}

Status serve(const Arguments& arguments, ServerOptions options) {
  MERCUTIO_LET(const i64 idle_s, arguments.number("idle", 3600));
  MERCUTIO_TRY(log_to(arguments, options));
  sigset_t ends;
  sigemptyset(&ends);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, one);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  signal(SIGPIPE, SIG_IGN);
  MERCUTIO_LET(const auto server, Server::start(options));
  std::printf("mercutiod %u %s %d\n", kProtocolVersion, announced(options.address).c_str(), server->port());
  std::fflush(stdout);
  if (arguments.has("detach")) leave_terminal();
  for (;;) {
    const timespec second{1, 0};
    if (sigtimedwait(&ends, nullptr, &second) > 0) return ok_status();
    if (idle_s > 0 && server->idle_ms() > idle_s * 1000) return ok_status();
  }
}

int complain(const Error& error) {
  std::fprintf(stderr, "mercutiod: %s\n", error.what.c_str());
  return error.cls == ErrorClass::kArg ? 2 : 1;
}

// With --detach the parent stays until the child is in the background or has failed: its output is a pipe until then.
int run(int argc, char** argv) {
  const auto arguments = Arguments::parse(argc, argv, kOptions);
  if (!arguments) return complain(arguments.error());
  if (arguments->has("help")) {
    std::printf("%s", help_text("mercutiod --listen ADDRESS[:PORT] --root NAME=/DIR[:rw] --key-fd N\n"
                                "Serves files to Mercutio programs on another cluster; 'mercutio connect' starts it.",
                                kOptions).c_str());
    return 0;
  }
  auto options = options_from(*arguments);
  if (!options) return complain(options.error());
  if (arguments->has("detach")) {
    const pid_t child = ::fork();
    if (child < 0) return complain(error_from_errno("fork", errno));
    if (child > 0) return 0;   // the child says what is wrong; the reader waits for the end of the output
  }
  const Status served = serve(*arguments, std::move(*options));
  return served ? 0 : complain(served.error());
}

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  return mercutio::remote::run(argc, argv);
}
