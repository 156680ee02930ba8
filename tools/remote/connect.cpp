// mercutio-connect, behind `mercutio connect`: starts mercutiod on another cluster through the user's own ssh, hands it a key
// made for this one connection, and keeps how to reach it in a file that only the user can read and jobs find.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <utility>

#include "base/shell_word.h"
#include "common.h"
#include "remote/announcement.h"
#include "remote/connection_file.h"
#include "remote/descriptor.h"
#include "remote/exports.h"
#include "remote/route.h"
#include "server_end.h"
#include "remote/session.h"

namespace mercutio::remote {
namespace {

constexpr int kNotFound = 127, kNotRun = 126;   // exit codes of shells, env and ssh for a program
constexpr i64 kFormerMs = 3'000;   // for the answer of a server that is to be replaced

const std::vector<Option> kOptions = {
    {"root", "NAME=/DIR[:rw]", "directory there (or ~/DIR, or DRIVER://path of a storage driver) that programs open as mercutio://host/NAME; read-only without :rw; may be repeated (required)"},
    {"name", "HOST", "host of the names mercutio://HOST/... (default: the host given to ssh)"},
    {"listen", "ADDRESS[:PORT[-PORT]]", "address on which mercutiod listens there; of several ports the first that is free (default: ssh, the address that ssh reached)"},
    {"ssh", "COMMAND", "command that starts ssh, such as 'ssh -p 2222' (default: ssh)"},
    {"daemon", "COMMAND", "command that starts mercutiod there (default: mercutiod)"},
    {"servers", "N", "number of servers; programs are spread over them (default: 1)"},
    {"launcher", "COMMAND", "command that starts the servers there, on nodes of its choice, such as 'srun -N 4'; -n N is added (default: none)"},
    {"via", "COMMAND", "command in place of ssh and a host, such as 'docker exec -i box' (default: none)"},
    {"forward", nullptr, "send data through ssh, too, so that no port needs to be open there (default: off)"},
    {"forward-at", "ADDRESS", "address of this machine that takes data to forward (default: 127.0.0.1, for programs of this machine)"},
    {"router", "ADDRESS:PORT=FILE", "router on the way (mercutio route) and the file of its key; may be repeated, in the order of the way (default: none)"},
    {"idle", "SECONDS", "time without a client after which mercutiod ends; 0: never (default: 3600)"},
    {"expires", "SECONDS", "time for which the key is valid; then programs need another 'mercutio connect' (default: 0, for ever)"},
    {"grace", "SECONDS", "time for which a program whose connection broke keeps its files and locks (default: 120)"},
    {"connections", "N", "maximum number of connections of mercutiod; a program needs its processes times --streams (default: 4096)"},
    {"copy-to", "ADDRESS:PORT", "mercutiod of another cluster to which the one there may copy files itself; * as the port, or as all of it: any; may be repeated (default: none)"},
    {"audit", "FILE", "file there for mercutiod's audit log (default: none)"},
    {"streams", "N", "maximum number of connections of a process to its server, 1 to 16 (default: 4)"},
    {"compress", "lz4", "compress file data where it shrinks; for links that are slower than a core compresses (default: off)"},
    {"write-behind", "BYTES", "maximum bytes of a file that may be under way when a write returns, where the hint allows it (default: 32 MiB)"},
    {"read-ahead", "BYTES", "maximum bytes that are requested in advance where reads follow each other (default: 32 MiB)"},
    {"help", nullptr, "print this"},
};

std::vector<std::string> split(const std::string& text) {
  std::istringstream input(text);
  std::vector<std::string> words;
  for (std::string word; input >> word;) words.push_back(word);
  return words;
}

// The shells that take the words of --via apart: each ssh hands them to one as a line.
i64 shells_of(const std::vector<std::string>& words) {
  return std::count_if(words.begin(), words.end(), [](const std::string& word) {
    const std::string program = word.substr(word.rfind('/') + 1);
    return program == "ssh" || program == "rsh" || program == "gsissh";
  });
}

// Runs at the other side, as one line for whatever shell is there: $1 is the number of servers, then what starts them, and the
// key comes in. They read it from a file that only their user can read, and that is gone when all of them listen. They stay if
// the line "keep" follows.
constexpr const char* kLaunch =
    "m=$(umask); umask 077; d=$(mktemp -d \"${HOME:-/tmp}/.mercutiod.XXXXXX\") || exit 1; read -r key; echo \"$key\" >\"$d/key\"; n=$1; shift; : >\"$d/out\"; "
    "umask \"$m\"; setsid \"$@\" --key-file \"$d/key\" </dev/null >\"$d/out\" 2>\"$d/err\" & launcher=$!; tries=0; "
    "while [ $(grep -c '^mercutiod ' \"$d/out\") -lt $n ] && kill -0 $launcher 2>/dev/null && [ $tries -lt 600 ]; "
    "do sleep 0.1; tries=$((tries+1)); done; cat \"$d/err\" >&2; cat \"$d/out\"; [ $(grep -c '^mercutiod ' \"$d/out\") -ge $n ]; "
    "failed=$?; rm -rf \"$d\"; word=; [ $failed != 0 ] || read -r word; [ \"$word\" = keep ] || { kill $launcher 2>/dev/null; exit 1; }";

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
  if (!launches) {
    add("key-fd", "0");
    words.push_back("--await-keep");
  }
  const bool by_ssh = via ? shells_of(split(arguments.text("via"))) > 0 : !arguments.has("forward");
  add("listen", arguments.text("listen", by_ssh ? "ssh" : "127.0.0.1:0"));
  for (const std::string& root : arguments.all("root")) add("root", root);
  for (const char* name : {"idle", "expires", "grace", "connections", "audit"})
    if (arguments.has(name)) add(name, arguments.text(name));
  for (const std::string& other : arguments.all("copy-to")) add("copy-to", other);
  if (launches && !arguments.has("audit")) add("audit", "/dev/null");
  if (!launches) words.push_back("--detach");
  return words;
}

// What runs a command there.
std::vector<std::string> words_there(const Arguments& arguments, const std::vector<std::string>& command) {
  std::string line;   // for the shell that ssh hands it to
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + shell_word(word);
  std::vector<std::string> words = split(arguments.has("via") ? arguments.text("via") : arguments.text("ssh", "ssh"));
  if (!arguments.has("via")) {
    words.insert(words.end(), {"--", arguments.words()[0], line});
    return words;
  }
  const i64 shells = shells_of(words);
  for (i64 i = 1; i < shells; ++i) line = shell_word(line);
  if (shells == 0)
    words.insert(words.end(), command.begin(), command.end());
  else
    words.push_back(line);
  return words;
}

// Starts `words` with these descriptors as its standard input, output and error.
Result<pid_t> start(const std::vector<std::string>& words, int in, int out, int err) {
  const pid_t child = ::fork();
  if (child < 0) return error_from_errno("fork", errno);
  if (child > 0) return child;
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  std::fprintf(stderr, "mercutio connect: %s can't be run\n", pointers[0]);
  ::_exit(127);
}

// Its exit code; -1: a signal ended it.
int exit_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    out = std::make_unique<Descriptor>(ends[0]);
    in = std::make_unique<Descriptor>(ends[1]);
  }
  std::unique_ptr<Descriptor> out, in;   // null: none is to be had, or it is closed
};

// What starts the servers there. They stay when they are told to; else they end with the end of their starter's input, also where
// this program is killed or the link breaks. So a server is never ended by a number that may be another process by then.
class Starter {
 public:
  static Result<std::unique_ptr<Starter>> make(const std::vector<std::string>& words, const std::string& key) {
    Pipe to, from;
    if (!to.in || !from.in) return error_from_errno("pipe", errno);
    std::unique_ptr<Starter> starter(new Starter(words[0]));
    MERCUTIO_LET(starter->child_, start(words, to.out->get(), from.in->get(), STDERR_FILENO));
    starter->to_ = std::move(to.in);
    starter->from_ = std::move(from.out);
    starter->say(key);
    return starter;
  }
  ~Starter() {
    if (child_ > 0) (void)end();
  }
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;

  // What it says up to the announcement of so many servers.
  Result<std::string> announcements(i64 servers) {
    std::string output;
    for (i64 found = 0; found < servers;) {
      const Result<std::string> line = read_line(from_->get());
      if (!line || (line->empty() && at_end())) {
        MERCUTIO_TRY(ended_well());
        return output;
      }
      output += *line + "\n";
      if (line->starts_with("mercutiod ")) ++found;
    }
    return output;
  }
  Status keep() {
    say("keep");
    return ended_well();
  }

 private:
  explicit Starter(const std::string& name) : name_(name) {}
  void say(const std::string& word) {
    const std::string line = word + "\n";
    (void)!::write(to_->get(), line.data(), line.size());
  }
  bool at_end() const {
    pollfd there{from_->get(), POLLIN, 0};
    return ::poll(&there, 1, -1) == 1 && (there.revents & POLLIN) == 0;
  }
  int end() {
    to_.reset();
    char rest[4096];
    while (::read(from_->get(), rest, sizeof rest) > 0) {
    }
    return exit_of(std::exchange(child_, -1));
  }
  Status ended_well() {
    const int code = end();
    if (code == 0) return ok_status();
    std::string text = name_ + " could not start mercutiod there; what it said stands above";
    if (code == kNotFound || code == kNotRun) text += ". Is Mercutio installed there, and mercutiod on the PATH of a command run by ssh? --daemon /full/path/mercutiod";
    return Error{ErrorClass::kOther, text};
  }
  const std::string name_;
  pid_t child_ = -1;
  std::unique_ptr<Descriptor> to_, from_;
};

// One that goes to the background by itself, and keeps none of our descriptors.
bool starts_in_background(const std::vector<std::string>& words) {
  const Pipe nothing, output;
  if (!nothing.in || !output.in) return false;
  const Result<pid_t> child = start(words, nothing.out->get(), output.in->get(), output.in->get());
  const bool started = child && exit_of(*child) == 0;
  (void)::fcntl(output.out->get(), F_SETFL, O_NONBLOCK);
  char text[4096];
  for (ssize_t got = 0; (got = ::read(output.out->get(), text, sizeof text)) > 0;) std::fwrite(text, 1, static_cast<size_t>(got), stderr);
  return started;
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
  // Until it ends: a process that gets its number later began at another time.
  const std::string wait = "sh -c " + shell_word("b() { sed 's/.*) //' /proc/" + std::to_string(announced.processes[0]) +
                                             "/stat 2>/dev/null | cut -d' ' -f20; }; t=$(b); while [ \"$(b)\" = \"${t:-none}\" ]; do sleep 5; done");
  const auto bracketed = [](const std::string& address) { return address.find(':') == std::string::npos ? address : "[" + address + "]"; };
  for (int tries = 0;; ++tries) {   // somebody else may take the port
    MERCUTIO_LET(const int port, free_port(here));
    const std::string ports = bracketed(here) + ":" + std::to_string(port) + ":" + bracketed(there.address) + ":" + std::to_string(there.port);
    std::vector<std::string> words = split(arguments.text("ssh", "ssh"));
    words.insert(words.end(), {"-f", "-o", "ExitOnForwardFailure=yes", "-o", "ServerAliveInterval=15", "-o", "ControlMaster=no", "-o", "ControlPath=none", "-L", ports,
                               "--", arguments.words()[0], wait});
    if (starts_in_background(words)) return Endpoint{here, port};
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

// To each server a request that only one with this key can refuse in the way it has to be refused. The error names the server.
Status try_out(const Connection& connection) {
  for (size_t i = 0; i < connection.servers.size(); ++i) {
    MERCUTIO_LET(const auto session, Session::make(connection, static_cast<i64>(i)));
    Buffer message;
    put_message(message, PlainRequest{});
    const Result<Reply> reply = session->call(Kind::kSize, std::move(message));
    if (!reply && reply.error().sys_errno != EBADF) return reply.error();
  }
  return ok_status();
}

std::string host_of(const Arguments& arguments) {
  if (arguments.has("name")) return arguments.text("name");
  if (arguments.words().empty()) return "";
  const std::string& target = arguments.words()[0];
  return target.substr(target.rfind('@') + 1);   // a user's name may have one, too
}

// The server of an earlier connection of this name goes where nobody uses it; else it ends by itself when it is idle.
void end_former(Connection former) {
  former.patience_ms = kFormerMs;
  former.timeout_ms = kFormerMs;
  const Result<i64> others = end_servers(former, /*even_if_used=*/false);
  if (!others && others.error().sys_errno == EBUSY)
    std::fprintf(stderr, "mercutio connect: programs still use the former server of %s; it ends when nobody has used it for a while\n", former.host.c_str());
  else if (!others)
    std::fprintf(stderr, "mercutio connect: the former server of %s could not be told to end; if it runs, it ends when nobody has used it for a while\n", former.host.c_str());
}

// A server that is to listen at one port and no other can't start beside the one that has it.
bool wants_port_of(const Arguments& arguments, const Connection& former) {
  std::string address;
  int port = 0, last_port = 0;
  if (!parse_ports(arguments.text("listen"), address, port, last_port) || port == 0 || last_port > port) return false;
  return std::any_of(former.servers.begin(), former.servers.end(), [&](const Endpoint& at) { return at.port == port; });
}

Status start_servers(const Arguments& arguments, i64 servers, Connection& connection) {
  MERCUTIO_LET(connection.key, make_key());
  MERCUTIO_LET(const auto starter, Starter::make(words_there(arguments, daemon_words(arguments)), key_text(connection.key)));
  MERCUTIO_LET(const std::string output, starter->announcements(servers));
  MERCUTIO_LET(const Announced announced, read_announcements(output));
  connection.servers = announced.servers;
  if (arguments.has("forward")) {
    MERCUTIO_LET(const Endpoint here, forward(arguments, announced));
    connection.servers = {here};
    connection.forwarded = true;
  }
  MERCUTIO_TRY(try_out(connection));
  return starter->keep();
}

// The former server goes when another one has shown that it is of use.
Status replace_former(const Arguments& arguments, i64 servers, Connection& connection) {
  const Result<Connection> former = load_connection(connection.host);
  const bool first = former && wants_port_of(arguments, *former);
  if (first) end_former(*former);
  MERCUTIO_TRY(start_servers(arguments, servers, connection));
  if (const Status stored = store_connection(connection); !stored) {
    (void)end_servers(connection, /*even_if_used=*/true);   // nobody else knows of them
    return stored;
  }
  if (former && !first) end_former(*former);
  return ok_status();
}

Status connect(const Arguments& arguments) {
  constexpr i64 kMostBuffered = 1024 * 1024 * MiB;
  if (arguments.words().size() != (arguments.has("via") ? 0U : 1U) || host_of(arguments).empty() || !arguments.has("root"))
    return Error{ErrorClass::kArg, "for example: mercutio connect --root data=/scratch/me:rw me@far.example (with --via, --name in place "
                                   "of a host)"};
  if (arguments.has("forward") && (arguments.has("via") || arguments.has("router")))
    return Error{ErrorClass::kArg, "--forward goes through ssh alone, without --via and --router"};
  MERCUTIO_LET(const i64 servers, arguments.number("servers", 1, 1, 256));
  if (servers > 1 && !arguments.has("launcher"))
    return Error{ErrorClass::kArg, "--servers: what starts them there is needed, too: --launcher mpirun"};
  if (arguments.has("launcher") && arguments.has("forward"))
    return Error{ErrorClass::kArg, "--forward goes to one server, without --launcher; through a gateway lead more: mercutio route"};
  for (const std::string& root : arguments.all("root")) MERCUTIO_TRY(parse_export(root));
  Connection connection;
  connection.host = host_of(arguments);
  MERCUTIO_LET(connection.streams, arguments.number("streams", connection.streams, 1, 16));
  MERCUTIO_LET(connection.write_behind_bytes, arguments.number("write-behind", connection.write_behind_bytes, 0, kMostBuffered));
  MERCUTIO_LET(connection.read_ahead_bytes, arguments.number("read-ahead", connection.read_ahead_bytes, 0, kMostBuffered));
  connection.lz4 = arguments.has("compress");
  if (connection.lz4 && arguments.text("compress") != "lz4") return Error{ErrorClass::kArg, "--compress: lz4 is what there is"};
  for (const std::string& router : arguments.all("router")) {
    MERCUTIO_LET(Hop hop, parse_router(router));
    connection.hops.push_back(std::move(hop));
  }
  if (!is_connection_name(connection.host))
    return Error{ErrorClass::kArg, "'" + connection.host + "' can't be a host's name, which has no space, / or #: --name gives it another one"};
  if (connection_directory().empty()) return Error{ErrorClass::kArg, "HOME is not set: name a directory for the connection in MERCUTIO_CONNECTIONS"};
  for (const char* name : {"idle", "expires", "grace"}) MERCUTIO_TRY(arguments.number(name, 0, 0, kMostSeconds));
  MERCUTIO_TRY(arguments.number("connections", 1, 1, kMostConnections));
  signal(SIGPIPE, SIG_IGN);
  MERCUTIO_TRY(replace_former(arguments, servers, connection));
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
