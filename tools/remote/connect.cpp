// mercutio-connect, behind `mercutio connect`: starts mercutiod on another cluster through the user's own ssh, hands it a key
// made for this one connection, and keeps how to reach it in a file that only the user can read and jobs find.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "common.h"
#include "remote/announcement.h"
#include "remote/connection_file.h"
#include "remote/exports.h"
#include "remote/route.h"
#include "remote/session.h"

namespace mercutio::remote {
namespace {

const std::vector<Option> kOptions = {
    {"root", "NAME=/DIR[:rw]", "a directory there to use as mercutio://host/NAME; read-only without :rw; may be repeated"},
    {"name", "HOST", "the host in mercutio://HOST/... (the one given to ssh)"},
    {"listen", "ADDRESS[:PORT]", "where mercutiod listens there (the address that ssh reached)"},
    {"daemon", "COMMAND", "how mercutiod is called there (mercutiod)"},
    {"servers", "N", "so many of them, programs spread over them (1)"},
    {"launcher", "COMMAND", "what starts them there, on nodes of its choice: 'mpirun', 'srun -N 4'; -n N is added"},
    {"via", "COMMAND", "run this instead of ssh and a host, for example: 'docker exec -i box'"},
    {"forward", nullptr, "no port needs to be open there: data goes through ssh, too"},
    {"forward-at", "ADDRESS", "where this machine listens for forwarded data (127.0.0.1: programs of this machine only)"},
    {"router", "ADDRESS:PORT=FILE", "a router on the way (mercutio route) and the file of its key; more of them in the order of the way"},
    {"idle", "SECONDS", "mercutiod ends when it had no client for so long (3600)"},
    {"grace", "SECONDS", "a program that broke off keeps its files and locks there for so long (120)"},
    {"connections", "N", "the most connections that mercutiod serves at once (4096); those of a program are its processes times --streams"},
    {"audit", "FILE", "a file there for mercutiod's audit log"},
    {"streams", "N", "the most connections of a process to its server, 1 to 16 (4)"},
    {"compress", "lz4", "file data goes compressed where it shrinks, for links slower than a core compresses (off)"},
    {"write-behind", "BYTES", "so many bytes of a file may be under way when a write returns, where the hint allows it (32 MiB)"},
    {"read-ahead", "BYTES", "so many bytes are asked for in advance where reads follow each other (32 MiB)"},
    {"help", nullptr, "print this"},
};

std::vector<std::string> split(const std::string& text) {
  std::istringstream input(text);
  std::vector<std::string> words;
  for (std::string word; input >> word;) words.push_back(word);
  return words;
}

// For the shell at the far end of ssh.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// The shells that take the words of --via apart: each ssh hands them to one as a line.
i64 shells_of(const std::vector<std::string>& words) {
  return std::count_if(words.begin(), words.end(), [](const std::string& word) {
    const std::string program = word.substr(word.rfind('/') + 1);
    return program == "ssh" || program == "rsh" || program == "gsissh";
  });
}

// Runs at the other side, as one line for whatever shell is there: $1 is the number of servers, then what starts them, and the
// key comes in. They read it from a file that only their user can read, and that is gone when all of them listen.
constexpr const char* kLaunch =
    "umask 077; d=$(mktemp -d \"${HOME:-/tmp}/.mercutiod.XXXXXX\") || exit 1; cat >\"$d/key\"; n=$1; shift; : >\"$d/out\"; "
    "setsid \"$@\" --key-file \"$d/key\" </dev/null >\"$d/out\" 2>\"$d/err\" & launcher=$!; tries=0; "
    "while [ $(grep -c '^mercutiod ' \"$d/out\") -lt $n ] && kill -0 $launcher 2>/dev/null && [ $tries -lt 600 ]; "
    "do sleep 0.1; tries=$((tries+1)); done; cat \"$d/err\" >&2; cat \"$d/out\"; [ $(grep -c '^mercutiod ' \"$d/out\") -ge $n ]; "
    "failed=$?; [ $failed = 0 ] || kill $launcher 2>/dev/null; rm -rf \"$d\"; exit $failed";

std::vector<std::string> launcher_words(const Arguments& arguments) {
  const std::string servers = arguments.text("servers", "1");
  std::vector<std::string> words = {"sh", "-c", kLaunch, "mercutio", servers};
  for (const std::string& word : split(arguments.text("launcher"))) words.push_back(word);
  words.insert(words.end(), {"-n", servers});
  return words;
}

std::vector<std::string> daemon_words(const Arguments& arguments) {
  const bool via = arguments.has("via"), launches = arguments.has("launcher");
  std::vector<std::string> words;
  if (launches) words = launcher_words(arguments);
  for (const std::string& word : split(arguments.text("daemon", "mercutiod"))) words.push_back(word);
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back("--" + name);
    words.push_back(value);
  };
  if (!launches) add("key-fd", "0");
  const bool by_ssh = via ? shells_of(split(arguments.text("via"))) > 0 : !arguments.has("forward");
  add("listen", arguments.text("listen", by_ssh ? "ssh" : "127.0.0.1:0"));
  for (const std::string& root : arguments.all("root")) add("root", root);
  for (const char* name : {"idle", "grace", "connections", "audit"})
    if (arguments.has(name)) add(name, arguments.text(name));
  if (launches && !arguments.has("audit")) add("audit", "/dev/null");
  if (!launches) words.push_back("--detach");
  return words;
}

std::vector<std::string> starter_words(const Arguments& arguments) {
  const std::vector<std::string> daemon = daemon_words(arguments);
  std::vector<std::string> words;
  std::string line;
  for (const std::string& word : daemon) line += (line.empty() ? "" : " ") + quoted(word);
  if (!arguments.has("via")) return {"ssh", "--", arguments.words()[0], line};
  words = split(arguments.text("via"));
  const i64 shells = shells_of(words);
  for (i64 i = 1; i < shells; ++i) line = quoted(line);
  if (shells == 0)
    words.insert(words.end(), daemon.begin(), daemon.end());
  else
    words.push_back(line);
  return words;
}

// Runs `words` with `input` as its standard input; what it writes to standard output. One that `stays` goes to the
// background by itself: its end is not waited for, and it keeps none of our descriptors.
Result<std::string> run(const std::vector<std::string>& words, const std::string& input, bool stays = false) {
  int to[2], from[2];
  if (::pipe(to) != 0 || ::pipe(from) != 0) return error_from_errno("pipe", errno);
  const pid_t child = ::fork();
  if (child < 0) return error_from_errno("fork", errno);
  if (child == 0) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    if (stays) ::dup2(from[1], 2);
    for (const int fd : {to[0], to[1], from[0], from[1]}) ::close(fd);
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    ::execvp(pointers[0], pointers.data());
    std::fprintf(stderr, "mercutio connect: %s can't be run\n", pointers[0]);
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  signal(SIGPIPE, SIG_IGN);
  (void)!::write(to[1], input.data(), input.size());
  ::close(to[1]);
  std::string output;
  char buffer[4096];
  int status = 0;
  if (stays) {
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    (void)::fcntl(from[0], F_SETFL, O_NONBLOCK);
  }
  for (ssize_t got = 0; (got = ::read(from[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0) output.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  ::close(from[0]);
  if (stays) std::fputs(output.c_str(), stderr);
  while (!stays && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{ErrorClass::kOther, words[0] + " could not start mercutiod there; what it said stands above. Is Mercutio installed "
                                                "there, and mercutiod on the PATH of a command run by ssh? --daemon /full/path/mercutiod"};
  return output;
}

// A port that nobody listens at just now.
Result<int> free_port(const std::string& address) {
  int port = 0;
  MERCUTIO_LET(const int fd, listen_at(address, port));
  ::close(fd);
  return port;
}

// An ssh in the background that carries what comes to a port here to the server's there, as long as the server lives.
Result<Endpoint> forward(const Arguments& arguments, const Announced& announced) {
  const std::string here = arguments.text("forward-at", "127.0.0.1");
  const Endpoint& there = announced.servers[0];
  if (announced.processes.empty()) return Error{ErrorClass::kOther, "mercutiod there doesn't say its process number: install the same Mercutio on both sides"};
  const std::string wait = "while kill -0 " + std::to_string(announced.processes[0]) + " 2>/dev/null; do sleep 5; done";
  const auto bracketed = [](const std::string& address) { return address.find(':') == std::string::npos ? address : "[" + address + "]"; };
  for (int tries = 0;; ++tries) {   // somebody else may take the port
    MERCUTIO_LET(const int port, free_port(here));
    const std::string ports = bracketed(here) + ":" + std::to_string(port) + ":" + bracketed(there.address) + ":" + std::to_string(there.port);
    const Result<std::string> started = run({"ssh", "-f", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=15", "-o", "ControlMaster=no",
                                             "-o", "ControlPath=none", "-L", ports, "--", arguments.words()[0], wait},
                                            "", true);
    if (started) return Endpoint{here, port};
    if (tries == 2)
      return Error{ErrorClass::kOther, "ssh could not forward a port; what it said stands above. Where the site forbids it (AllowTcpForwarding), let "
                                       "mercutiod listen on a port (--listen), or use a router (mercutio route)"};
  }
}

// ADDRESS:PORT=FILE.
Result<Hop> parse_router(const std::string& text) {
  const size_t equals = text.find('=');
  Hop hop;
  if (equals == std::string::npos) return Error{ErrorClass::kArg, "--router " + text + ": the file of its key is wanted, as in 10.0.0.1:4000=route.key"};
  MERCUTIO_TRY(parse_address(text.substr(0, equals), hop.at.address, hop.at.port));
  if (hop.at.port == 0) return Error{ErrorClass::kArg, "--router " + text + ": a port is wanted, as in 10.0.0.1:4000=route.key"};
  MERCUTIO_LET(hop.key, key_from_file(text.substr(equals + 1)));
  return hop;
}

// A request that only a server with this key can refuse in the way it has to be refused.
Status try_out(const Connection& connection) {
  MERCUTIO_LET(const auto session, Session::make(connection, 0));
  Buffer message;
  put_message(message, PlainRequest{});
  const Result<Reply> reply = session->call(Kind::kSize, std::move(message));
  if (reply || reply.error().sys_errno == EBADF) return ok_status();
  return reply.error();
}

std::string host_of(const Arguments& arguments) {
  if (arguments.has("name")) return arguments.text("name");
  if (arguments.words().empty()) return "";
  const std::string& target = arguments.words()[0];
  return target.substr(target.find('@') == std::string::npos ? 0 : target.find('@') + 1);
}

Status connect(const Arguments& arguments) {
  if (arguments.words().size() != (arguments.has("via") ? 0U : 1U) || host_of(arguments).empty() || !arguments.has("root"))
    return Error{ErrorClass::kArg, "for example: mercutio connect --root data=/scratch/me:rw me@far.example (with --via, --name in place "
                                   "of a host)"};
  if (arguments.has("forward") && (arguments.has("via") || arguments.has("router")))
    return Error{ErrorClass::kArg, "--forward goes through ssh alone, without --via and --router"};
  MERCUTIO_LET(const i64 servers, arguments.number("servers", 1));
  if (servers < 1 || servers > 256) return Error{ErrorClass::kArg, "--servers: 1 to 256"};
  if (servers > 1 && !arguments.has("launcher"))
    return Error{ErrorClass::kArg, "--servers: what starts them there is needed, too: --launcher mpirun"};
  if (arguments.has("launcher") && arguments.has("forward"))
    return Error{ErrorClass::kArg, "--forward goes to one server, without --launcher; through a gateway lead more: mercutio route"};
  for (const std::string& root : arguments.all("root")) MERCUTIO_TRY(parse_export(root));
  Connection connection;
  connection.host = host_of(arguments);
  MERCUTIO_LET(connection.streams, arguments.number("streams", connection.streams));
  MERCUTIO_LET(connection.write_behind_bytes, arguments.number("write-behind", connection.write_behind_bytes));
  MERCUTIO_LET(connection.read_ahead_bytes, arguments.number("read-ahead", connection.read_ahead_bytes));
  connection.lz4 = arguments.has("compress");
  if (connection.lz4 && arguments.text("compress") != "lz4") return Error{ErrorClass::kArg, "--compress: lz4 is what there is"};
  if (connection.streams < 1 || connection.streams > 16) return Error{ErrorClass::kArg, "--streams: 1 to 16"};
  for (const std::string& router : arguments.all("router")) {
    MERCUTIO_LET(Hop hop, parse_router(router));
    connection.hops.push_back(std::move(hop));
  }
  MERCUTIO_LET(connection.key, make_key());
  MERCUTIO_LET(const std::string output, run(starter_words(arguments), key_text(connection.key) + "\n"));
  MERCUTIO_LET(const Announced announced, read_announcements(output));
  connection.servers = announced.servers;
  if (arguments.has("forward")) {
    MERCUTIO_LET(const Endpoint here, forward(arguments, announced));
    connection.servers = {here};
  }
  MERCUTIO_TRY(try_out(connection));
  MERCUTIO_TRY(store_connection(connection));
  for (const std::string& root : arguments.all("root"))
    std::printf("mercutio://%s/%s\n", connection.host.c_str(), root.substr(0, root.find('=')).c_str());
  std::fprintf(stderr, "connected; programs find it in %s/%s\n", connection_directory().c_str(), connection.host.c_str());
  return ok_status();
}

const Command kCommand{"mercutio connect",
                       "mercutio connect --root NAME=/DIR[:rw] user@host\nStarts mercutiod there by ssh; afterwards programs here "
                       "open mercutio://host/NAME/file.",
                       kOptions};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  return mercutio::remote::run_command(mercutio::remote::kCommand, argc, argv, mercutio::remote::connect);
}
