// Many clients of one server at once, a process each, as the ranks of a job are: what each call said. The lines are numbers of processes: "ok N", then
// "failed N TEXT" for each text; "mixed" if an access in atomic mode was not one.
//   remote_ranks atomic|streams RANKS NAME [MiB (4)]       NAME: mercutio://host/root/file; MERCUTIO_CONNECTIONS says where the connection's file is
// atomic: each writes the same bytes of the file under a lock, three times in one request and three times with the lock held for several of them.
// streams: each writes so much to its own part of the file, on as many streams as the connection has.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "remote/file.h"
#include "remote/host.h"

namespace mercutio::remote {
namespace {

constexpr i64 kShort = 4 * KiB;
constexpr int kTimes = 3;

struct Settings {
  bool atomic = true;
  i64 ranks = 1, bytes = 4 * MiB;
  std::string name;
};

Result<std::unique_ptr<Storage>> opened(const Settings& settings) {
  OpenOptions options;
  options.read = options.write = options.create = true;
  return make_driver().release()->open(split_name(settings.name).host + "/" + split_name(settings.name).path, options);   // the driver lives as long as the process
}

Status write_locked(Storage& file, i64 begin, ConstBytes bytes, bool in_one_request) {
  const IoPiece piece{begin, const_cast<std::byte*>(bytes.data()), static_cast<i64>(bytes.size())};
  const i64 end = begin + piece.bytes;
  if (in_one_request) {
    if (const auto moved = file.move_locked(Direction::kWrite, std::span(&piece, 1), begin, end)) return *moved ? ok_status() : Status(moved->error());
  }
  MERCUTIO_LET(const auto lock, file.lock(begin, end, true));
  MERCUTIO_TRY(file.write(std::span(&piece, 1)));
  return ok_status();
}

Status work(const Settings& settings, i64 rank) {
  MERCUTIO_LET(const auto file, opened(settings));
  const std::vector<std::byte> data(static_cast<size_t>(settings.bytes), static_cast<std::byte>(rank % 251));
  for (int i = 0; i < kTimes && settings.atomic; ++i) {
    MERCUTIO_TRY(write_locked(*file, 0, ConstBytes(data).first(static_cast<size_t>(kShort)), true));
    MERCUTIO_TRY(write_locked(*file, kShort, data, false));
  }
  const IoPiece own{rank * settings.bytes, const_cast<std::byte*>(data.data()), settings.bytes};
  if (!settings.atomic) MERCUTIO_TRY(file->write(std::span(&own, 1)));
  return file->close();
}

// A process: its outcome is a line in the pipe.
void start(const Settings& settings, i64 rank, int out) {
  if (::fork() != 0) return;
  const Status done = work(settings, rank);
  std::string line = done ? "ok" : "failed " + done.error().what;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line = line.substr(0, 500) + "\n";   // goes into a pipe as a whole
  (void)!::write(out, line.data(), line.size());
  ::_exit(0);
}

// Whether what all have written is of one of them.
Status is_whole(const Settings& settings) {
  MERCUTIO_LET(const auto file, opened(settings));
  for (const auto& [begin, bytes] : {std::pair{i64{0}, kShort}, std::pair{kShort, settings.bytes}}) {
    std::vector<std::byte> data(static_cast<size_t>(bytes));
    const IoPiece piece{begin, data.data(), bytes};
    MERCUTIO_LET(const i64 got, file->read(std::span(&piece, 1)));
    if (got != bytes || std::any_of(data.begin(), data.end(), [&](std::byte b) { return b != data[0]; })) return Error{ErrorClass::kIo, "mixed"};
  }
  return file->close();
}

int run(const Settings& settings) {
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  for (i64 rank = 0; rank < settings.ranks; ++rank) start(settings, rank, ends[1]);
  ::close(ends[1]);
  std::map<std::string, int> outcomes;
  FILE* const in = ::fdopen(ends[0], "r");
  char line[600];
  i64 answered = 0;
  for (; std::fgets(line, sizeof line, in) != nullptr; ++answered) ++outcomes[line];
  while (::wait(nullptr) > 0) {
  }
  for (const auto& [outcome, count] : outcomes) {
    const bool good = outcome == "ok\n";
    std::printf("%s %d%s", good ? "ok" : "failed", count, good ? "\n" : outcome.substr(6).c_str());
  }
  if (answered != settings.ranks) std::printf("failed %lld without a word\n", static_cast<long long>(settings.ranks - answered));
  if (settings.atomic && outcomes.size() == 1 && outcomes.count("ok\n") == 1)
    if (const Status whole = is_whole(settings); !whole) std::printf("%s\n", whole.error().what.c_str());
  return 0;
}

}  // namespace
}  // namespace mercutio::remote

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  mercutio::remote::Settings settings;
  settings.atomic = std::strcmp(argv[1], "atomic") == 0;
  settings.ranks = std::atoll(argv[2]);
  settings.name = argv[3];
  if (argc > 4) settings.bytes = std::atoll(argv[4]) * mercutio::MiB;
  const int outcome = mercutio::remote::run(settings);
  std::fflush(stdout);
  std::_Exit(outcome);   // a driver's connections may live on
}
