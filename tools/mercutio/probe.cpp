// Step 1 of choosing aggregators (Chaarawi and Gabriel 2011), once a file system: writes of growing size by one process, and
// k is the first size that comes close to the best; then as many processes at once as gain something. Every measurement
// ends with the data on the storage (fdatasync), so that it is not the page cache that is measured. The median of several, with the lowest
// and the highest. Where these would lead to another answer, the answer is unsure, and that is said.
#include "probe.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/file_text.h"
#include "model/hints_measured.h"
#include "process.h"
#include "progress.h"
#include "scratch.h"

namespace mercutio::tool {
namespace {

constexpr i64 kLeastWrite = 4 * KiB;
constexpr double kClose = 0.9;   // of the best: close enough

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Writes [begin, begin + volume) in pieces, and sees it stored. False with errno.
bool write_share(int fd, i64 begin, i64 volume, const std::vector<char>& piece) {
  const i64 piece_bytes = static_cast<i64>(piece.size());
  for (i64 at = 0; at < volume;) {
    const i64 bytes = std::min(piece_bytes, volume - at);
    const ssize_t written = pwrite(fd, piece.data(), static_cast<size_t>(bytes), begin + at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
  }
  return fdatasync(fd) == 0;
}

// All of `processes` begin when the pipe is closed; returns whether each was successful.
bool write_together(int fd, const ProbeOptions& options, i64 processes, const std::vector<char>& piece, double& seconds) {
  int gate[2];
  if (pipe(gate) != 0) return false;
  std::vector<pid_t> children;
  for (i64 i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      close(gate[1]);
      char word = 0;
      const bool opened = read(gate[0], &word, 1) == 0;   // end of file: go
      _exit(opened && write_share(fd, i * options.volume_bytes, options.volume_bytes, piece) ? 0 : 1);
    }
    children.push_back(child);
  }
  close(gate[0]);
  const auto start = std::chrono::steady_clock::now();
  close(gate[1]);
  bool good = static_cast<i64>(children.size()) == processes;
  for (const pid_t child : children) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  seconds = seconds_since(start);
  return good;
}

// Bytes a second; a median of 0 is a failure.
struct Spread {
  double median = 0, least = 0, most = 0;
};

Spread bandwidth(const ProbeOptions& options, i64 processes, i64 piece_bytes) {
  const std::vector<char> piece(static_cast<size_t>(piece_bytes), 'm');
  std::vector<double> all;
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    const ScratchFile scratch(options.directory, "probe");
    const int fd = scratch.fd();
    if (fd < 0) return {};
    double seconds = 0;
    const auto start = std::chrono::steady_clock::now();
    bool good = true;
    if (processes > 1) good = write_together(fd, options, processes, piece, seconds);
    else good = write_share(fd, 0, options.volume_bytes, piece);
    if (processes == 1) seconds = seconds_since(start);
    if (!good) return {};
    all.push_back(static_cast<double>(processes * options.volume_bytes) / std::max(seconds, 1e-9));
  }
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2], all.front(), all.back()};
}

struct Point {
  i64 at;
  Spread bandwidth;
};

// The first that is close to the best.
i64 saturation(const std::vector<Point>& points, double Spread::* which = &Spread::median) {
  double best = 0;
  for (const Point& point : points) best = std::max(best, point.bandwidth.*which);
  for (const Point& point : points) {
    if (point.bandwidth.*which >= kClose * best) return point.at;
  }
  return points.back().at;
}

// The answer, and what it could also be: what the slowest and the fastest repetitions alone say.
i64 concluded(const std::vector<Point>& points, const char* unit, bool& unsure) {
  const i64 answer = saturation(points), slow = saturation(points, &Spread::least), fast = saturation(points, &Spread::most);
  const auto [least, most] = std::minmax({answer, slow, fast});
  if (most > 2 * least) {   // one step more or less changes little
    unsure = true;
    std::printf("  unsure: from %lld to %lld %s, by the slowest and the fastest repetitions\n", static_cast<long long>(least), static_cast<long long>(most), unit);
  }
  return answer;
}

std::string because() { return std::strerror(errno ? errno : EIO); }

// Powers of two from `first` to `last`; empty after a failure.
std::vector<Point> sweep(const ProbeOptions& options, i64 first, i64 last, i64 piece_bytes) {
  std::vector<Point> points;
  int steps = 0;
  for (i64 at = first; at <= last; at *= 2) ++steps;
  Progress progress(steps);
  for (i64 at = first; at <= last; at *= 2) {
    progress.begin(std::to_string(at) + (piece_bytes > 0 ? " processes" : " bytes"));
    const Spread seen = piece_bytes > 0 ? bandwidth(options, at, piece_bytes) : bandwidth(options, 1, at);
    progress.clear();
    if (seen.median <= 0) return {};
    points.push_back(Point{at, seen});
    std::printf("  %10lld %-9s %10.1f MiB/s  (%.1f to %.1f)\n", static_cast<long long>(at), piece_bytes > 0 ? "processes" : "bytes", seen.median / MiB,
                seen.least / MiB, seen.most / MiB);
    std::fflush(stdout);
  }
  return points;
}

int store(const std::string& directory, const InfoItems& items) {
  const std::string path = measured_file();
  if (path.empty()) return complain("probe", "neither XDG_CONFIG_HOME nor HOME is set", "nothing is stored");
  const auto before = text_of_file(path);
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0777);   // those that are there already stay; the rest shows when the file is written
  }
  const std::string fresh = path + ".new-" + std::to_string(getpid());   // another one may end at the same time
  std::ofstream output(fresh, std::ios::trunc);
  output << with_section(before ? *before : "", directory, items);
  output.close();
  if (!output || rename(fresh.c_str(), path.c_str()) != 0) {
    discard(fresh);
    return complain("probe", path, because());
  }
  std::printf("stored in %s; files of this file system are opened with it\n", path.c_str());
  return 0;
}

}  // namespace

int probe(const ProbeOptions& options) {
  char directory[PATH_MAX];
  errno = 0;
  if (!realpath(options.directory.c_str(), directory)) return complain("probe", options.directory, because());
  std::printf("one process at %s, by size of a write: the median of %lld, the lowest and the highest\n", directory, static_cast<long long>(options.repetitions));
  const std::vector<Point> sizes = sweep(options, kLeastWrite, options.volume_bytes, 0);
  if (sizes.empty()) return complain("probe", std::string(directory), because());
  bool unsure = false;
  const i64 size = concluded(sizes, "bytes", unsure);
  const i64 processors = std::clamp<i64>(sysconf(_SC_NPROCESSORS_ONLN), 1, 16);
  std::printf("processes that write at once, %lld bytes each time\n", static_cast<long long>(size));
  const std::vector<Point> counts = sweep(options, 1, options.most_processes > 0 ? options.most_processes : processors, size);
  if (counts.empty()) return complain("probe", std::string(directory), because());
  const i64 count = concluded(counts, "processes", unsure);
  const InfoItems items = {{"mercutio_saturation_bytes", std::to_string(size)}, {"mercutio_aggregators_per_node", std::to_string(count)}};
  for (const auto& [key, value] : items) std::printf("%s %s\n", key.c_str(), value.c_str());
  if (unsure) {
    std::printf("repetitions differ too much for a sure answer: other processes use this machine or its storage, or --bytes is too little. Run it again then,\n"
                "or with --repetitions %lld\n", static_cast<long long>(3 * options.repetitions));
  }
  return options.keep ? store(directory, items) : 0;
}

}  // namespace mercutio::tool
