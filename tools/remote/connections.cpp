// mercutio-connections, behind `mercutio connections` and `mercutio disconnect`: what `mercutio connect` has left here.
#include <signal.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "common.h"
#include "remote/host.h"
#include "remote/printable.h"
#include "server_end.h"
#include "tree.h"

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

// Which roots one of the servers exports, or why it does not answer.
Result<std::string> state_of(Connection connection, i64 server) {
  connection.patience_ms = connection.timeout_ms = connection.silence_ms = kAnswerMs;
  const auto session = Session::make(connection, server);
  if (!session) return session.error();
  Buffer message;
  put_message(message, NameRequest{});
  const Result<Reply> reply = (*session)->call(Kind::kList, std::move(message));
  if (!reply) return named(reply.error(), "does not answer");
  const auto entries = get_messages<ListEntry>(reply->more);
  if (!entries) return entries.error();
  std::string roots;
  for (const ListEntry& entry : *entries) roots += " " + printable(entry.name);
  return "answers, exports" + (roots.empty() ? " nothing" : roots);
}

// Where this machine has mounted something of it ('mercutio mount').
void show_mounts(const std::string& host) {
  const std::string source = kScheme + host;
  for (const MountedHere& one : mounted_here())
    if (one.source == source || one.source.starts_with(source + "/"))
      std::printf("  %s is mounted at %s\n", printable(one.source).c_str(), printable(one.folder).c_str());
}

Status show(const Arguments& arguments) {
  std::vector<std::string> hosts = arguments.words();
  if (hosts.empty()) {
    MERCUTIO_LET(hosts, list_connections());
  }
  struct Asked {
    Connection connection;
    i64 server = 0;
    Result<std::string> state = Error{ErrorClass::kNoMem, "could not be asked"};
  };
  std::vector<Asked> asked;   // of all connections, in the order in which they are shown
  std::vector<Result<Connection>> connections;
  for (const std::string& host : hosts) {
    const Result<Connection>& connection = connections.emplace_back(load_connection(host));
    for (size_t i = 0; connection && i < connection->servers.size(); ++i) asked.push_back({*connection, static_cast<i64>(i)});
  }
  if (!arguments.has("quick")) each_at_once(asked.size(), [&](size_t i) { asked[i].state = state_of(asked[i].connection, asked[i].server); });
  auto next = asked.begin();
  std::string unusable;
  for (size_t h = 0; h < hosts.size(); ++h) {
    std::printf("mercutio://%s  since %s\n", printable(hosts[h]).c_str(), age_of(hosts[h]).c_str());
    bool usable = connections[h].ok();
    if (!usable) std::printf("  %s\n", connections[h].error().what.c_str());
    show_mounts(hosts[h]);
    for (size_t i = 0; connections[h] && i < connections[h]->servers.size(); ++i, ++next) {
      const Endpoint& at = connections[h]->servers[i];
      std::printf("  %s port %d", at.address.c_str(), at.port);
      if (!arguments.has("quick")) std::printf("  %s", (next->state ? *next->state : next->state.error().what).c_str());
      std::printf("\n");
      usable = usable && (arguments.has("quick") || next->state);
    }
    if (!usable) unusable += " " + hosts[h];
  }
  if (arguments.words().empty() || unusable.empty()) return ok_status();
  return Error{ErrorClass::kIo, "no use can be made of:" + unusable};
}

// The connection stays where its server may run on: without the key nobody could end that.
Status end_one(const Arguments& arguments, const std::string& host) {
  if (arguments.has("keep")) return remove_connection(host);
  MERCUTIO_LET(Connection connection, load_connection(host));
  connection.patience_ms = connection.timeout_ms = kAnswerMs;
  const Result<i64> ended = end_servers(connection, arguments.has("force"));
  if (ended) return remove_connection(host);
  if (ended.error().sys_errno == EBUSY) return Error{ErrorClass::kFileInUse, host + ": " + ended.error().what + "; --force ends it nevertheless", EBUSY};
  return Error{ErrorClass::kIo, host + ": the server could not be told to end, and may run on until it is idle; try again later, or forget it "
                                       "('mercutio disconnect --keep " + host + "'): " + ended.error().what};
}

Status end(const Arguments& arguments) {
  if (arguments.words().empty()) return Error{ErrorClass::kArg, "for example: mercutio disconnect far.example"};
  return each_of("mercutio disconnect", arguments.words(), [&](const std::string& host) { return end_one(arguments, host); });
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
