// Every omp_file routine that moves data, with random data of random teams, against a file in memory and a pointer:
// what the header says of a call, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "mercutio/omp_file.h"
#include "parallel.h"

namespace {

constexpr char kUntouched = 0x5a;
#ifdef __SANITIZE_THREAD__
constexpr int kRounds = 4;  // of calls with one file; a tenth of the speed
#else
constexpr int kRounds = 8;
#endif

struct Kind {
  bool reading, common, listed, at;
};

struct Part {
  long offset;  // in the file, also where the routine takes none
  std::vector<char> data;
};

// What one thread gives to a call.
struct Arguments {
  std::vector<Part> parts;
  std::vector<iovec> list;
  std::vector<off_t> offsets;

  void prepare() {
    list.clear();
    offsets.clear();
    for (Part& part : parts) {
      list.push_back({part.data.empty() ? nullptr : part.data.data(), part.data.size()});
      offsets.push_back(part.offset);
    }
  }
  long bytes() const {
    long sum = 0;
    for (const Part& part : parts) sum += static_cast<long>(part.data.size());
    return sum;
  }
};

ssize_t call_listed(const Kind& kind, Arguments& own, int fd) {
  const iovec* const list = own.list.data();
  const off_t* const offsets = own.offsets.data();
  const int size = static_cast<int>(own.list.size());
  if (kind.at) {
    const auto routine = kind.reading ? (kind.common ? omp_file_read_com_list_at_all : omp_file_read_list_at_all)
                                      : (kind.common ? omp_file_write_com_list_at_all : omp_file_write_list_at_all);
    return routine(list, offsets, size, fd, OMP_FILE_NO_HINT);
  }
  const auto routine = kind.reading ? (kind.common ? omp_file_read_com_list_all : omp_file_read_list_all)
                                    : (kind.common ? omp_file_write_com_list_all : omp_file_write_list_all);
  return routine(list, size, fd, OMP_FILE_NO_HINT);
}

ssize_t call_single(const Kind& kind, Arguments& own, int fd) {
  void* const buffer = own.list[0].iov_base;
  const long length = static_cast<long>(own.list[0].iov_len);
  if (kind.at && kind.reading)
    return (kind.common ? omp_file_read_com_at_all : omp_file_read_at_all)(buffer, length, own.offsets[0], fd,
                                                                           OMP_FILE_NO_HINT);
  if (kind.at)
    return (kind.common ? omp_file_write_com_at_all : omp_file_write_at_all)(buffer, length, own.offsets[0], fd,
                                                                             OMP_FILE_NO_HINT);
  if (kind.reading)
    return (kind.common ? omp_file_read_com_all : omp_file_read_all)(buffer, length, fd, OMP_FILE_NO_HINT);
  return (kind.common ? omp_file_write_com_all : omp_file_write_all)(buffer, length, fd, OMP_FILE_NO_HINT);
}

class Oracle {
 public:
  Oracle(int threads, unsigned seed) : threads_(threads), random_(seed) {}

  std::vector<Arguments> draw(const Kind& kind) {
    const size_t callers = kind.common ? 1 : static_cast<size_t>(threads_);
    std::vector<Arguments> all(callers);
    const long usual = 1 + below(300);
    long at = kind.at ? below(200) : pointer_;
    for (Arguments& own : all) own.parts.resize(kind.listed ? static_cast<size_t>(below(12)) : 1);
    if (below(6) == 0 && !all[0].parts.empty())
      large_ = &all[static_cast<size_t>(below(static_cast<long>(callers)))].parts;
    for (Part* part : order(kind, all)) {
      const bool is_large = large_ && !large_->empty() && part == &large_->front();
      part->data.resize(static_cast<size_t>(is_large ? 2200000 + below(1000) : below(5) == 0 ? 0 : below(usual)));
      part->offset = at;
      at += static_cast<long>(part->data.size());
      if (kind.at)
        at = kind.reading ? below(static_cast<long>(image_.size()) + 500) : at + (below(2) == 0 ? 0 : below(100));
    }
    large_ = nullptr;
    for (Arguments& own : all) {
      for (Part& part : own.parts) fill(part.data, kind.reading);
      own.prepare();
    }
    return all;
  }

  // What a call does to the file and its pointer, and to the buffers of reads; its value for each caller.
  std::vector<long> expect(const Kind& kind, std::vector<Arguments>& all) {
    std::vector<long> values;
    long sum = 0;
    for (Arguments& own : all) {
      long moved = 0;
      for (Part& part : own.parts) moved += kind.reading ? take(part) : put(part);
      values.push_back(moved);
      sum += moved;
    }
    if (!kind.at) pointer_ += sum;
    return values;
  }

  const std::vector<char>& image() const { return image_; }

 private:
  long below(long limit) { return static_cast<long>(random_() % static_cast<unsigned long>(limit)); }

  void fill(std::vector<char>& data, bool reading) {
    const std::uint64_t key = random_() | 1;
    for (size_t i = 0; i < data.size(); ++i) data[i] = reading ? kUntouched : static_cast<char>((key * (i + 1)) >> 40);
  }

  // In which order the parts lie in the file: thread after thread, or in turn, or any.
  std::vector<Part*> order(const Kind& kind, std::vector<Arguments>& all) {
    std::vector<Part*> parts;
    const long way = kind.at ? below(3) : 0;
    for (size_t i = 0; way == 1 && i < 12; ++i)
      for (Arguments& own : all)
        if (i < own.parts.size()) parts.push_back(&own.parts[i]);
    for (Arguments& own : all)
      for (Part& part : own.parts)
        if (way != 1) parts.push_back(&part);
    if (way == 2) std::shuffle(parts.begin(), parts.end(), random_);
    return parts;
  }

  long take(Part& part) {
    const long here =
        std::clamp<long>(static_cast<long>(image_.size()) - part.offset, 0, static_cast<long>(part.data.size()));
    if (here > 0) std::copy_n(image_.begin() + part.offset, here, part.data.begin());
    return here;
  }
  long put(const Part& part) {
    if (part.data.empty()) return 0;
    const size_t end = static_cast<size_t>(part.offset) + part.data.size();
    if (image_.size() < end) image_.resize(end);
    std::copy(part.data.begin(), part.data.end(), image_.begin() + part.offset);
    return static_cast<long>(part.data.size());
  }

  const int threads_;
  std::mt19937_64 random_;
  std::vector<char> image_;
  long pointer_ = 0;
  const std::vector<Part>* large_ = nullptr;
};

std::vector<char> content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

class Routines : public ::testing::TestWithParam<int> {
 protected:
  std::string path_ = ::testing::TempDir() + "omp_routines." + std::to_string(::getpid());
  void TearDown() override { std::remove(path_.c_str()); }

  void make_call(const Kind& kind, Oracle& oracle, int fd) {
    std::vector<Arguments> given = oracle.draw(kind), wanted = given;
    const std::vector<long> values = oracle.expect(kind, wanted);
    std::vector<ssize_t> got(static_cast<size_t>(GetParam()));
    parallel(GetParam(), [&](int thread) {
      Arguments& own = given[kind.common ? 0 : static_cast<size_t>(thread)];
      got[static_cast<size_t>(thread)] = kind.listed ? call_listed(kind, own, fd) : call_single(kind, own, fd);
    });
    for (size_t thread = 0; thread < got.size(); ++thread)
      ASSERT_EQ(got[thread], values[kind.common ? 0 : thread]) << "thread " << thread << ": " << omp_file_message();
    for (size_t i = 0; i < given.size(); ++i)
      for (size_t k = 0; k < given[i].parts.size(); ++k)
        ASSERT_TRUE(given[i].parts[k].data == wanted[i].parts[k].data) << "thread " << i << ", part " << k;
  }
};

TEST_P(Routines, MoveWhatTheyShould) {
  for (int bits = 0; bits < 8; ++bits) {
    Kind kind{false, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    SCOPED_TRACE(testing::Message() << "common " << kind.common << ", list " << kind.listed << ", at " << kind.at);
    Oracle oracle(GetParam(), static_cast<unsigned>(100 * GetParam() + bits));
    int fd = 0;
    parallel(GetParam(), [&](int) { EXPECT_EQ(omp_file_open_all(&fd, path_.c_str(), O_CREAT | O_TRUNC | O_RDWR), 0); });
    ASSERT_GT(fd, 0) << omp_file_message();
    for (int round = 0; round < kRounds && !HasFatalFailure(); ++round) {
      make_call(kind, oracle, fd);
      Kind read = kind;
      read.reading = true;
      if (kind.at && !HasFatalFailure()) make_call(read, oracle, fd);
    }
    parallel(GetParam(), [&](int) { EXPECT_EQ(omp_file_close_all(fd), 0); });
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(content(path_) == oracle.image()) << content(path_).size() << " bytes, not " << oracle.image().size();
  }
}

// At the pointer, from the beginning of a file to its end and beyond it.
TEST_P(Routines, ReadToTheEnd) {
  for (int bits = 0; bits < 4; ++bits) {
    Kind kind{false, (bits & 1) != 0, (bits & 2) != 0, false};
    SCOPED_TRACE(testing::Message() << "common " << kind.common << ", list " << kind.listed);
    Oracle oracle(GetParam(), static_cast<unsigned>(100 * GetParam() + bits));
    Kind fill{false, true, false, true};
    int fd = 0;
    for (const int flags : {O_CREAT | O_TRUNC | O_WRONLY, O_RDONLY}) {
      parallel(GetParam(), [&](int) { EXPECT_EQ(omp_file_open_all(&fd, path_.c_str(), flags), 0); });
      kind.reading = flags == O_RDONLY;
      for (int round = 0; round < kRounds && !HasFatalFailure(); ++round)
        make_call(kind.reading ? kind : fill, oracle, fd);
      parallel(GetParam(), [&](int) { EXPECT_EQ(omp_file_close_all(fd), 0); });
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Routines, ::testing::Values(1, 2, 3, 4, 8));

}  // namespace
