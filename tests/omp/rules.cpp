// What the header says beside the moving of data: opening, errors on all threads alike, teams, the end of file.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "mercutio/omp_file.h"
#include "parallel.h"

namespace {

constexpr int kThreads = 4;
constexpr int kNoHint = OMP_FILE_NO_HINT;

class Rules : public ::testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }

  // A routine's value, which all threads have to have, and the text of thread 0.
  template <class Body>
  long all(Body body, int threads = kThreads) {
    std::vector<long> values(static_cast<size_t>(threads), 12345);
    parallel(threads, [&](int thread) {
      values[static_cast<size_t>(thread)] = body(thread);
      EXPECT_TRUE(values[static_cast<size_t>(thread)] >= 0 || errno != 0);
      if (thread == 0) text_ = omp_file_message();
    });
    for (long value : values) EXPECT_EQ(value, values[0]) << text_;
    return values[0];
  }
  int open(int flags = O_CREAT | O_RDWR) {
    int fd = 0;
    EXPECT_EQ(all([&](int) { return omp_file_open_all(&fd, path_.c_str(), flags); }), 0) << text_;
    return fd;
  }
  long close(int fd) {
    return all([&](int) { return omp_file_close_all(fd); });
  }
  long open_error(const std::string& name, int flags) {
    int fd = 7;
    const long code = all([&](int) { return omp_file_open_all(&fd, name.c_str(), flags); });
    EXPECT_EQ(fd, -1);
    return code;
  }
  bool says(const char* part) const { return text_.find(part) != std::string::npos; }
  long size() const {
    struct stat status {};
    return ::stat(path_.c_str(), &status) == 0 ? status.st_size : -1;
  }

  std::string path_ = ::testing::TempDir() + "omp_rules." + std::to_string(::getpid());
  std::string text_;
  char data_[4096] = "the data";
};

TEST_F(Rules, OpeningThatFails) {
  EXPECT_EQ(open_error(path_, O_RDONLY), OMP_FILE_ERR_NO_SUCH_FILE);
  EXPECT_TRUE(says("O_CREAT") && says(path_.c_str()) && says("omp_file_open_all")) << text_;
  close(open());
  EXPECT_EQ(open_error(path_, O_CREAT | O_EXCL | O_RDWR), OMP_FILE_ERR_EXISTS);
  EXPECT_TRUE(says("O_EXCL")) << text_;
  EXPECT_EQ(open_error(::testing::TempDir(), O_RDWR), OMP_FILE_ERR_ARG);
  EXPECT_EQ(open_error(path_, O_RDWR | O_SYNC), OMP_FILE_ERR_ARG);
  EXPECT_TRUE(says("omp_file_sync_all")) << text_;
  EXPECT_EQ(open_error(path_, O_RDONLY | O_TRUNC), OMP_FILE_ERR_ARG);
  EXPECT_EQ(open_error(path_, O_RDWR | O_EXCL), OMP_FILE_ERR_ARG);
  EXPECT_EQ(open_error(path_, O_WRONLY | O_RDWR), OMP_FILE_ERR_ARG);
  int fd = 7;
  const auto differ = [&](int thread) {
    return omp_file_open_all(&fd, path_.c_str(), thread == 2 ? O_RDONLY : O_RDWR);
  };
  EXPECT_EQ(all(differ), OMP_FILE_ERR_NOT_SAME);
  EXPECT_EQ(all([&](int thread) { return omp_file_open_all(&fd, thread == 1 ? nullptr : path_.c_str(), O_RDWR); }),
            OMP_FILE_ERR_ARG);
  EXPECT_EQ(all([&](int thread) { return omp_file_open_all(thread == 3 ? nullptr : &fd, path_.c_str(), O_RDWR); }),
            OMP_FILE_ERR_ARG);
  EXPECT_EQ(fd, -1);
}

TEST_F(Rules, FlagsOfOpen) {
  int fd = open(O_CREAT | O_WRONLY);
  EXPECT_EQ(all([&](int) { return omp_file_write_all(data_, 10, fd, kNoHint); }), 10);
  EXPECT_EQ(all([&](int) { return omp_file_read_all(data_, 10, fd, kNoHint); }), OMP_FILE_ERR_MODE);
  EXPECT_EQ(all([&](int) { return omp_file_sync_all(fd); }), 0);
  EXPECT_EQ(close(fd), 0);
  fd = open(O_RDWR | O_APPEND);
  EXPECT_EQ(all([&](int) { return omp_file_write_all(data_, 10, fd, kNoHint); }), 10);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(size(), 20 * kThreads);
  fd = open(O_RDONLY);
  EXPECT_EQ(all([&](int) { return omp_file_write_at_all(data_, 10, 0, fd, kNoHint); }), OMP_FILE_ERR_MODE);
  EXPECT_TRUE(says("O_WRONLY")) << text_;
  EXPECT_EQ(close(fd), 0);
  close(open(O_RDWR | O_TRUNC));
  EXPECT_EQ(size(), 0);
}

TEST_F(Rules, EveryThreadsOwnHandle) {
  std::vector<int> handles(kThreads);
  all([&](int thread) {
    return omp_file_open_all(&handles[static_cast<size_t>(thread)], "memory:handles", O_CREAT | O_RDWR);
  });
  for (int handle : handles) EXPECT_EQ(handle, handles[0]);
  EXPECT_EQ(all([&](int thread) {
              return omp_file_write_com_all(data_, 100, handles[static_cast<size_t>(thread)], kNoHint);
            }),
            100);
  EXPECT_EQ(close(handles[0]), 0);
  EXPECT_EQ(size(), -1) << "the prefix was not seen";
}

TEST_F(Rules, WrongArgumentsOfOneThread) {
  const int fd = open();
  const int two = open();
  const iovec good[] = {{data_, 8}, {data_, 8}}, bad[] = {{data_, 8}, {nullptr, 8}};
  const off_t offsets[] = {0, 100}, negative[] = {0, -100};
  for (int wrong = 0; wrong < kThreads; ++wrong) {
    const auto is = [wrong](int thread) { return thread == wrong; };
    EXPECT_EQ(all([&](int t) { return omp_file_write_all(data_, is(t) ? -1 : 8, fd, kNoHint); }), OMP_FILE_ERR_ARG);
    EXPECT_TRUE(says(("thread " + std::to_string(wrong)).c_str())) << text_;
    EXPECT_EQ(all([&](int t) { return omp_file_write_at_all(data_, 8, is(t) ? -1 : 8, fd, kNoHint); }),
              OMP_FILE_ERR_ARG);
    EXPECT_EQ(all([&](int t) { return omp_file_write_list_all(is(t) ? bad : good, 2, fd, kNoHint); }),
              OMP_FILE_ERR_ARG);
    EXPECT_EQ(all([&](int t) { return omp_file_write_list_all(is(t) ? nullptr : good, 2, fd, kNoHint); }),
              OMP_FILE_ERR_ARG);
    EXPECT_EQ(all([&](int t) { return omp_file_write_list_all(good, is(t) ? -2 : 2, fd, kNoHint); }), OMP_FILE_ERR_ARG);
    EXPECT_EQ(all([&](int t) { return omp_file_write_list_at_all(good, is(t) ? negative : offsets, 2, fd, kNoHint); }),
              OMP_FILE_ERR_ARG);
    EXPECT_EQ(all([&](int t) { return omp_file_write_com_all(data_, is(t) ? 9 : 8, fd, kNoHint); }),
              OMP_FILE_ERR_NOT_SAME);
    EXPECT_EQ(all([&](int t) { return omp_file_write_com_all(is(t) ? data_ + 1 : data_, 8, fd, kNoHint); }),
              OMP_FILE_ERR_NOT_SAME);
    EXPECT_EQ(all([&](int t) { return omp_file_write_com_at_all(data_, 8, is(t) ? 9 : 8, fd, kNoHint); }),
              OMP_FILE_ERR_NOT_SAME);
    EXPECT_EQ(all([&](int t) { return omp_file_write_com_list_at_all(good, offsets, is(t) ? 1 : 2, fd, kNoHint); }),
              OMP_FILE_ERR_NOT_SAME);
    EXPECT_EQ(all([&](int t) { return omp_file_write_all(data_, 8, is(t) ? two : fd, kNoHint); }),
              OMP_FILE_ERR_NOT_SAME);
    EXPECT_EQ(all([&](int t) {
                return is(t) ? omp_file_write_at_all(data_, 8, 0, fd, kNoHint)
                             : omp_file_write_all(data_, 8, fd, kNoHint);
              }),
              OMP_FILE_ERR_NOT_SAME);
    EXPECT_EQ(all([&](int t) { return is(t) ? omp_file_close_all(fd) : static_cast<int>(omp_file_sync_all(fd)); }),
              OMP_FILE_ERR_NOT_SAME);
    EXPECT_LT(all([&](int t) { return omp_file_write_all(data_, 8, is(t) ? -3 : fd, kNoHint) < 0 ? -1 : 0; }), 0);
  }
  EXPECT_EQ(size(), 0) << "something was moved";
  // The same list in each thread's own arrays is the same.
  EXPECT_EQ(all([&](int) {
              const iovec own[] = {{data_, 8}, {data_, 8}};
              const off_t at[] = {0, 100};
              return omp_file_write_com_list_at_all(own, at, 2, fd, kNoHint);
            }),
            16);
  EXPECT_EQ(size(), 108);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(close(two), 0);
  EXPECT_EQ(close(fd), OMP_FILE_ERR_FILE);
  EXPECT_TRUE(says("omp_file_open_all")) << text_;
}

TEST_F(Rules, StorageThatIsFull) {
  int fd = 0;
  ASSERT_EQ(all([&](int) { return omp_file_open_all(&fd, "/dev/full", O_WRONLY); }), 0) << text_;
  EXPECT_EQ(all([&](int thread) { return omp_file_write_all(data_, thread == 1 ? 8 : 0, fd, kNoHint); }),
            OMP_FILE_ERR_NO_SPACE);
  EXPECT_TRUE(says("ENOSPC") && says("/dev/full")) << text_;
  EXPECT_EQ(close(fd), 0);
}

TEST_F(Rules, NothingToDoIsFine) {
  const int fd = open();
  EXPECT_EQ(all([&](int) { return omp_file_write_all(nullptr, 0, fd, kNoHint); }), 0);
  EXPECT_EQ(all([&](int) { return omp_file_write_at_all(nullptr, 0, 1000000, fd, kNoHint); }), 0);
  EXPECT_EQ(all([&](int) { return omp_file_write_list_at_all(nullptr, nullptr, 0, fd, kNoHint); }), 0);
  EXPECT_EQ(all([&](int) { return omp_file_write_com_list_all(nullptr, 0, fd, kNoHint); }), 0);
  EXPECT_EQ(all([&](int) { return omp_file_read_com_at_all(nullptr, 0, 10, fd, kNoHint); }), 0);
  EXPECT_EQ(size(), 0);
  EXPECT_EQ(all([&](int) { return omp_file_read_all(data_, 100, fd, kNoHint); }), 0) << "an empty file";
  EXPECT_EQ(close(fd), 0);
}

TEST_F(Rules, AnotherTeam) {
  const int fd = open();
  EXPECT_EQ(all([&](int) { return omp_file_write_all(data_, 8, fd, kNoHint); }, 2), OMP_FILE_ERR_TEAM);
  EXPECT_TRUE(says("4 threads")) << text_;
  EXPECT_EQ(all([&](int) { return omp_file_write_all(data_, 8, fd, kNoHint); }, 8), OMP_FILE_ERR_TEAM);
  EXPECT_EQ(omp_file_write_all(data_, 8, fd, kNoHint), OMP_FILE_ERR_TEAM) << "outside of a parallel region";
  EXPECT_EQ(all([&](int) { return omp_file_write_all(data_, 8, fd, kNoHint); }), 8) << "a later region like the first";
  EXPECT_EQ(close(fd), 0);
  int own = 0;
  ASSERT_EQ(omp_file_open_all(&own, path_.c_str(), O_RDWR), 0) << "one thread, without a region";
  EXPECT_EQ(omp_file_read_com_all(data_, 100, own, kNoHint), 8 * kThreads);
  EXPECT_EQ(all([&](int) { return omp_file_sync_all(own); }), OMP_FILE_ERR_TEAM);
  EXPECT_EQ(omp_file_close_all(own), 0);
}

// Teams of one process that have nothing to do with each other, each with its file.
TEST_F(Rules, SeveralTeamsAtOnce) {
  std::vector<std::thread> masters;
  std::atomic<int> wrong{0};
  for (int master = 0; master < 3; ++master) {
    masters.emplace_back([&, master] {
      const std::string name = "memory:several" + std::to_string(master);
      for (int round = 0; round < 20; ++round) {
        int fd = 0;
        parallel(2 + master % 2, [&](int) {
          char back[64];
          if (omp_file_open_all(&fd, name.c_str(), O_CREAT | O_TRUNC | O_RDWR) != 0) ++wrong;
          if (omp_file_write_all(data_, 64, fd, kNoHint) != 64) ++wrong;
          if (omp_file_read_at_all(back, 64, 64, fd, kNoHint) != 64 || std::memcmp(back, data_, 64) != 0) ++wrong;
          if (omp_file_close_all(fd) != 0) ++wrong;
        });
      }
    });
  }
  for (std::thread& master : masters) master.join();
  EXPECT_EQ(wrong, 0);
}

// The first that come decide on which file the team meets.
TEST_F(Rules, SomeThreadsOpenWhileOthersWrite) {
  const int open_file = open();
  for (int fd : {open_file, 999}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<int> opened(kThreads, 7);
      EXPECT_EQ(all([&](int thread) {
                  int& own = opened[static_cast<size_t>(thread)];
                  if (thread % 2 == round % 2) return omp_file_write_all(data_, 8, fd, kNoHint);
                  return ssize_t{omp_file_open_all(&own, "memory:some", O_CREAT | O_RDWR)};
                }),
                OMP_FILE_ERR_NOT_SAME);
      for (int thread = 0; thread < kThreads; ++thread)
        EXPECT_EQ(opened[static_cast<size_t>(thread)], thread % 2 == round % 2 ? 7 : -1);
    }
  }
  EXPECT_EQ(size(), 0);
  EXPECT_EQ(all([&](int) { return omp_file_write_all(data_, 8, open_file, kNoHint); }), 8);
  EXPECT_EQ(close(open_file), 0);
}

// Two teams alike on one file: a call is a whole team's, or all of its threads are told to wait.
TEST_F(Rules, TeamsAlikeTakeTurns) {
  const int fd = open();
  std::vector<std::thread> masters;
  std::atomic<int> wrong{0};
  for (int master = 0; master < 2; ++master) {
    masters.emplace_back([&, master] {
      for (int round = 0; round < 100; ++round) {
        std::vector<long> values(kThreads, OMP_FILE_ERR_TEAM);
        while (values[0] == OMP_FILE_ERR_TEAM) {
          parallel(kThreads, [&](int thread) {
            const std::string data(64, static_cast<char>('A' + master * kThreads + thread));
            const off_t offset = ((round * 2 + master) * kThreads + thread) * 64;
            values[static_cast<size_t>(thread)] = omp_file_write_at_all(data.data(), 64, offset, fd, kNoHint);
          });
          for (long value : values)
            if (value != values[0]) ++wrong;
        }
        if (values[0] != 64) ++wrong;
      }
    });
  }
  for (std::thread& master : masters) master.join();
  EXPECT_EQ(wrong, 0);
  std::string all_data(100 * 2 * kThreads * 64, ' ');
  EXPECT_EQ(all([&](int) { return omp_file_read_com_all(all_data.data(), 100 * 2 * kThreads * 64, fd, kNoHint); }),
            100 * 2 * kThreads * 64);
  for (size_t at = 0; at < all_data.size(); at += 64)
    EXPECT_EQ(all_data.substr(at, 64), std::string(64, static_cast<char>('A' + at / 64 % (2 * kThreads))));
  EXPECT_EQ(close(fd), 0);
}

#ifdef _OPENMP
// Inner teams have files of their own; the outer team's is not theirs, nor is that of a sister team.
TEST_F(Rules, NestedTeams) {
  omp_set_max_active_levels(2);
  int outer = open();
  std::atomic<int> wrong{0};
  int inner[kThreads] = {};
#pragma omp parallel num_threads(kThreads)
  {
    const int me = omp_get_thread_num();
    const std::string name = "memory:nested" + std::to_string(me);
#pragma omp parallel num_threads(kThreads)
    {
      if (omp_get_num_threads() != kThreads) ++wrong;
      if (omp_file_write_all(data_, 8, outer, kNoHint) != OMP_FILE_ERR_TEAM) ++wrong;
      if (omp_file_open_all(&inner[me], name.c_str(), O_CREAT | O_RDWR) != 0) ++wrong;
      if (omp_file_write_all(data_, 8, inner[me], kNoHint) != 8) ++wrong;
    }
#pragma omp barrier
#pragma omp parallel num_threads(kThreads)
    if (omp_file_write_all(data_, 8, inner[(me + 1) % kThreads], kNoHint) != OMP_FILE_ERR_TEAM) ++wrong;
#pragma omp barrier
#pragma omp parallel num_threads(kThreads)
    if (omp_file_close_all(inner[me]) != 0) ++wrong;
    if (omp_file_write_all(data_, 8, outer, kNoHint) != 8) ++wrong;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(close(outer), 0);
}
#endif

}  // namespace
