// What an output through an irregular map needs at least: a plain loop from a share's memory, with lists of 4-byte places, no marks
// and no messages, into windows that are written by pwrite, or straight into a mapping of the file, which each thread makes for
// the output, as it does for a step of a simulation. Four threads, 8 MiB each, beside the same bytes written contiguously; into
// a file that is there, and into one that grows. A measure for CE-QUAL-ICM's cases of `mercutio bench`.
//   scatter_floor [DIRECTORY]
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kShares = 4, kTimes = 9;
constexpr std::size_t kCells = std::size_t{1} << 20, kAll = kShares * kCells, kWindow = 64 * 1024;   // doubles

struct Map {
  const char* name;
  std::size_t run;     // cells that follow each other in the file, on average
  bool random_order;   // in memory
};

struct Share {
  std::vector<double> memory;
  std::vector<std::uint32_t> file, slots;                     // in file order
  std::vector<std::size_t> first_of_window;                   // of the lists, and their end
};

std::vector<Share> deal(const Map& map) {
  std::mt19937 random(1);
  std::vector<Share> shares(kShares);
  for (std::size_t at = 0; at < kAll;) {
    const std::size_t length = map.run == 1 ? 1 : 1 + random() % (2 * map.run), owner = random() % kShares;
    for (const std::size_t end = std::min(at + length, kAll); at < end; ++at) shares[owner].file.push_back(static_cast<std::uint32_t>(at));
  }
  for (Share& share : shares) {
    std::uint32_t slot = 0;
    for (std::size_t i = 0; i < share.file.size(); ++i) {
      while (random() % 100 < 27) ++slot;   // ghost cells
      share.slots.push_back(slot++);
    }
    if (map.random_order) std::shuffle(share.slots.begin(), share.slots.end(), random);
    share.memory.assign(slot, 1.5);
    for (std::size_t window = 0; window <= kAll / kWindow; ++window)
      share.first_of_window.push_back(static_cast<std::size_t>(
          std::lower_bound(share.file.begin(), share.file.end(), window * kWindow) - share.file.begin()));
  }
  return shares;
}

void put(int file, const double* data, std::size_t count, std::size_t at) {
  const std::size_t bytes = count * sizeof(double);
  if (::pwrite(file, data, bytes, static_cast<off_t>(at * sizeof(double))) != static_cast<ssize_t>(bytes)) {
    std::perror("scatter_floor: pwrite");
    std::exit(1);
  }
}

struct File {
  int fd;
  bool grows;   // it is empty before each output
};

// Seconds of the slowest, median of all times.
template <class Work>
double measured(const File& file, Work work) {
  std::vector<double> seconds;
  std::barrier meet(kShares);
  std::vector<std::thread> threads;
  for (int me = 0; me < kShares; ++me) {
    threads.emplace_back([&, me] {
      for (int time = 0; time < kTimes; ++time) {
        if (me == 0 && file.grows && ::ftruncate(file.fd, 0) != 0) std::perror("scatter_floor: ftruncate");
        meet.arrive_and_wait();
        const auto start = std::chrono::steady_clock::now();
        work(me, meet);
        meet.arrive_and_wait();
        if (me == 0) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

double contiguous(const File& file) {
  const std::vector<double> data(kCells, 2.5);
  return measured(file, [&](int me, std::barrier<>&) { put(file.fd, data.data(), kCells, static_cast<std::size_t>(me) * kCells); });
}

// Each thread has a window of its own at a time, in its quarter of the file; all fill all of them, each beginning with its own.
double through_windows(const File& file, const std::vector<Share>& shares) {
  std::vector<std::vector<double>> windows(kShares, std::vector<double>(kWindow));
  return measured(file, [&](int me, std::barrier<>& meet) {
    const Share& mine = shares[static_cast<std::size_t>(me)];
    constexpr std::size_t kRounds = kCells / kWindow;
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (int turn = 0; turn < kShares; ++turn) {
        const auto owner = static_cast<std::size_t>((me + turn) % kShares), window = owner * kRounds + round;
        double* const to = windows[owner].data();
        for (std::size_t i = mine.first_of_window[window]; i < mine.first_of_window[window + 1]; ++i)
          to[mine.file[i] - window * kWindow] = mine.memory[mine.slots[i]];
      }
      meet.arrive_and_wait();
      const auto own = static_cast<std::size_t>(me);
      put(file.fd, windows[own].data(), kWindow, (own * kRounds + round) * kWindow);
      meet.arrive_and_wait();
    }
  });
}

// Each thread begins in its own quarter. A load brings the pages around it, which are writable then, too; without that each costs
// a fault of its own.
void store(const File& file, const Share& mine, int me) {
  void* const mapping = ::mmap(nullptr, kAll * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
  if (mapping == MAP_FAILED) {
    std::perror("scatter_floor: mmap");
    std::exit(1);
  }
  auto* const all = static_cast<double*>(mapping);
  for (std::size_t at = 0; at < kAll; at += 64 * 1024 / sizeof(double)) (void)*static_cast<volatile double*>(all + at);
  const std::size_t begin = mine.first_of_window[static_cast<std::size_t>(me) * kCells / kWindow], count = mine.file.size();
  for (std::size_t i = begin; i < begin + count; ++i) {
    const std::size_t cell = i < count ? i : i - count;
    all[mine.file[cell]] = mine.memory[mine.slots[cell]];
  }
  ::munmap(mapping, kAll * sizeof(double));
}

double into_mapping(const File& file, const std::vector<Share>& shares) {
  return measured(file, [&](int me, std::barrier<>& meet) {
    constexpr std::size_t kBytes = kCells * sizeof(double);
    if (file.grows && ::fallocate(file.fd, 0, static_cast<off_t>(static_cast<std::size_t>(me) * kBytes), kBytes) != 0) std::perror("scatter_floor: fallocate");
    meet.arrive_and_wait();
    store(file, shares[static_cast<std::size_t>(me)], me);
  });
}

void compare(const File& file) {
  (void)contiguous(file);   // the pages are there from now on
  std::printf("%s\n", file.grows ? "a file that grows:" : "a file that is there:");
  for (const Map& map : {Map{"runs of 64 cells on average, memory in file order", 64, false}, Map{"runs of 8, memory in file order", 8, false},
                         Map{"single cells, memory in file order", 1, false}, Map{"single cells, memory in random order", 1, true}}) {
    const std::vector<Share> shares = deal(map);
    const double plain = contiguous(file), windows = through_windows(file, shares), mapped = into_mapping(file, shares);
    std::printf("  %-50s contiguous %4.1f ms; windows %4.1f ms, %.2f times; mapping %4.1f ms, %.2f times\n", map.name, plain * 1e3, windows * 1e3,
                windows / plain, mapped * 1e3, mapped / plain);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string path = std::string(argc > 1 ? argv[1] : "/dev/shm") + "/scatter_floor.XXXXXX";
  const int fd = ::mkstemp(path.data());
  if (fd < 0) return std::perror(path.c_str()), 1;
  ::unlink(path.c_str());
  for (const bool grows : {false, true}) compare({fd, grows});
  ::close(fd);
  return 0;
}
