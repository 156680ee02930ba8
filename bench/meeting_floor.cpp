// What a small collective access of two ranks needs at least, if the ranks meet in it: two processes read or write their blocks of one
// file, and after each call one stores a number in shared memory and waits for that of the other. Nothing else is done. Printed in
// nanoseconds a call, the least of the rounds: reads and writes without meeting, meeting alone, and both. A measure for the rows of
// small collective accesses of `mercutio bench` under MPIs whose own ranks do not meet. Give it a core for each process.
//   meeting_floor [DIRECTORY]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr int kProcesses = 2, kCalls = 5000, kRounds = 40, kBlocks = 64;
constexpr std::size_t kLargest = 65536;

struct alignas(4096) Place {
  std::atomic<long> arrived{0};
  double ns = 0;   // of the round
};

struct Process {
  int number, file;
  Place* places;
  long meetings = 0;
  std::vector<char> memory = std::vector<char>(kLargest, 1);

  [[noreturn]] void fail(const char* call) {
    std::perror(call);
    places[number].arrived.store(LONG_MAX, std::memory_order_release);   // the other one does not wait
    std::_Exit(1);
  }
  void meet() {
    places[number].arrived.store(++meetings, std::memory_order_release);
    while (places[1 - number].arrived.load(std::memory_order_acquire) < meetings) continue;
  }
  // Of a call, of the slower process.
  double round(std::size_t bytes, bool reads, bool writes, bool meets) {
    meet();
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < kCalls; ++call) {
      const off_t offset = static_cast<off_t>(bytes) * (call % kBlocks * kProcesses + number);
      if (reads && pread(file, memory.data(), bytes, offset) != static_cast<ssize_t>(bytes)) fail("pread");
      if (writes && pwrite(file, memory.data(), bytes, offset) != static_cast<ssize_t>(bytes)) fail("pwrite");
      if (meets) meet();
    }
    places[number].ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kCalls;
    meet();
    const double slower = std::max(places[0].ns, places[1].ns);
    meet();
    return slower;
  }
  double least(std::size_t bytes, bool reads, bool writes, bool meets) {
    double ns = 1e12;
    for (int i = 0; i < kRounds; ++i) ns = std::min(ns, round(bytes, reads, writes, meets));
    return ns;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = std::string(argc > 1 ? argv[1] : "/dev/shm") + "/meeting_floor.dat";
  const int file = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, static_cast<off_t>(kLargest) * kBlocks * kProcesses) != 0) return std::perror(name.c_str()), 1;
  unlink(name.c_str());
  void* const shared = mmap(nullptr, sizeof(Place) * kProcesses, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return std::perror("mmap"), 1;
  Place* const places = new (shared) Place[kProcesses];
  const pid_t child = fork();
  if (child < 0) return std::perror("fork"), 1;
  Process me{child == 0 ? 1 : 0, file, places};
  if (me.number == 0) std::printf("bytes     read    write     meet  read and meet  write and meet   (ns)\n");
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1024}, std::size_t{4096}, std::size_t{16384}, kLargest}) {
    me.least(bytes, false, true, false);   // the pages are there
    const double read = me.least(bytes, true, false, false), write = me.least(bytes, false, true, false), meet = me.least(bytes, false, false, true);
    const double read_and_meet = me.least(bytes, true, false, true), write_and_meet = me.least(bytes, false, true, true);
    if (me.number == 0) std::printf("%5zu %8.0f %8.0f %8.0f %14.0f %15.0f\n", bytes, read, write, meet, read_and_meet, write_and_meet);
  }
  if (me.number == 1) std::_Exit(0);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
