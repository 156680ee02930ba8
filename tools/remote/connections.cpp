// mercutio-connections, behind `mercutio connections` and `mercutio disconnect`: what `mercutio connect` has left here.
#include <mntent.h>
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "arguments.h"
#include "remote/host.h"
#include "remote/printable.h"
#include "server_end.h"

namespace mercutio::remote {
namespace {

constexpr i64 kAnswerMs = 3'000;

const std::vector<Option> kListOptions = {{"quick", nullptr, "don't ask the servers", 'q'}, {"help", nullptr, "print this"}};
const std::vector<Option> kEndOptions = {{"force", nullptr, "also where programs use the server, which lose it", 'f'},
                                         {"keep", nullptr, "only forget the connection: the server ends when it is idle"},
                                         {"help", nullptr, "print this"}};

std::string age_of(const std::string& host) {
  struct stat status {};
  if (::stat((connection_directory() + "/" + host).c_str(), &status) != 0) return "?";
  const i64 seconds = std::max<i64>(0, ::time(nullptr) - status.st_mtim.tv_sec);
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + " min";
  return seconds < 2 * 86400 ? std::to_string(seconds / 3600) + " h" : std::to_string(seconds / 86400) + " d";
}

// Which roots one of the servers exports, or why none answers.
std::string state_of(Connection connection, i64 server) {
  connection.patience_ms = connection.timeout_ms = connection.silence_ms = kAnswerMs;
  const auto session = Session::make(connection, server);
  if (!session) return session.error().what;
  Buffer message;
  put_message(message, NameRequest{});
  const Result<Reply> reply = (*session)->call(Kind::kList, std::move(message));
  if (!reply) return "does not answer: " + reply.error().what;
  const auto entries = get_messages<ListEntry>(reply->more);
  if (!entries) return entries.error().what;
  std::string roots;
  for (const ListEntry& entry : *entries) roots += " " + printable(entry.name);
  return "answers, exports" + (roots.empty() ? " nothing" : roots);
}

// Where this machine has mounted something of it ('mercutio mount').
void show_mounts(const std::string& host) {
  const auto close = [](FILE* file) { ::endmntent(file); };
  const std::unique_ptr<FILE, decltype(close)> mounts(::setmntent("/proc/self/mounts", "r"), close);
  const std::string source = kScheme + host;
  while (const mntent* const one = mounts ? ::getmntent(mounts.get()) : nullptr) {
    const std::string from = one->mnt_fsname;
    if (std::strcmp(one->mnt_type, "fuse.mercutio") == 0 && (from == source || from.starts_with(source + "/")))
      std::printf("  %s is mounted at %s\n", printable(from).c_str(), printable(one->mnt_dir).c_str());
  }
}

Status show(const Arguments& arguments) {
  std::vector<std::string> hosts = arguments.words();
  if (hosts.empty()) {
    MERCUTIO_LET(hosts, list_connections());
  }
  struct Asked {
    Connection connection;
    i64 server = 0;
    std::string state = "could not be asked";
  };
  std::vector<Asked> asked;   // of all connections, in the order in which they are shown
  std::vector<Result<Connection>> connections;
  for (const std::string& host : hosts) {
    const Result<Connection>& connection = connections.emplace_back(load_connection(host));
    for (size_t i = 0; connection && i < connection->servers.size(); ++i) asked.push_back({*connection, static_cast<i64>(i)});
  }
  if (!arguments.has("quick")) each_at_once(asked.size(), [&](size_t i) { asked[i].state = state_of(asked[i].connection, asked[i].server); });
  auto next = asked.begin();
  for (size_t h = 0; h < hosts.size(); ++h) {
    std::printf("mercutio://%s  since %s\n", printable(hosts[h]).c_str(), age_of(hosts[h]).c_str());
    if (!connections[h]) std::printf("  %s\n", connections[h].error().what.c_str());
    show_mounts(hosts[h]);
    for (size_t i = 0; connections[h] && i < connections[h]->servers.size(); ++i, ++next) {
      const Endpoint& at = connections[h]->servers[i];
      std::printf("  %s port %d%s%s\n", at.address.c_str(), at.port, arguments.has("quick") ? "" : "  ", arguments.has("quick") ? "" : next->state.c_str());
    }
  }
  return ok_status();
}

Status end(const Arguments& arguments) {
  if (arguments.words().empty()) return Error{ErrorClass::kArg, "for example: mercutio disconnect far.example"};
  for (const std::string& host : arguments.words()) {
    MERCUTIO_LET(Connection connection, load_connection(host));
    connection.patience_ms = connection.timeout_ms = kAnswerMs;
    if (!arguments.has("keep")) {
      const Result<i64> ended = end_servers(connection, arguments.has("force"));
      if (!ended && ended.error().sys_errno == EBUSY)
        return Error{ErrorClass::kFileInUse, host + ": " + ended.error().what + "; --force ends it nevertheless", EBUSY};
      if (!ended) std::fprintf(stderr, "mercutio disconnect: %s: the server could not be told, and ends when it is idle: %s\n", host.c_str(), ended.error().what.c_str());
    }
    MERCUTIO_TRY(remove_connection(host));
  }
  return ok_status();
}

const Command kShow{"mercutio connections", "mercutio connections [HOST...]\nLists the connections made here by 'mercutio connect', and whether their servers answer.", kListOptions};
const Command kEnd{"mercutio disconnect", "mercutio disconnect [--force] HOST...\nEnds the servers of connections and forgets them.", kEndOptions};

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  using namespace mercutio::remote;
  signal(SIGPIPE, SIG_IGN);
  if (argc > 1 && std::strcmp(argv[1], "connections") == 0) return run_command(kShow, argc - 1, argv + 1, show);
  if (argc > 1 && std::strcmp(argv[1], "disconnect") == 0) return run_command(kEnd, argc - 1, argv + 1, end);
  std::fprintf(stderr, "mercutio-connections: connections or disconnect is wanted\n");
  return 2;
}
