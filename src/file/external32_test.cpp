// Files in external32, byte for byte: written out here, so that they are the same on all processors.
#include <gtest/gtest.h>

#include <cfloat>
#include <cstring>
#include <thread>
#include <type_traits>

#include "comm/in_process.h"
#include "file/file.h"

namespace mercutio {
namespace {

struct Case {
  BasicType basic;
  std::vector<std::byte> values;   // of four elements in memory
  const char* bytes;               // in the file, in hexadecimal
};

template <class T>
Case of(Basic kind, i64 external_bytes, std::initializer_list<T> values, const char* bytes, i64 parts = 1) {
  Case one{{kind, static_cast<i64>(sizeof(T)) * parts, external_bytes}, std::vector<std::byte>(values.size() * sizeof(T)), bytes};
  constexpr bool kPadded = std::is_same_v<T, long double> && LDBL_MANT_DIG == 64;   // x87: six bytes of anything
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&one.values[i * sizeof(T)], values.begin() + i, kPadded ? 10 : sizeof(T));
  return one;
}

std::vector<Case> cases() {
  return {
      of<char>(Basic::kChar, 1, {'M', 'P', 'I', '5'}, "4d504935"),
      of<short>(Basic::kSigned, 2, {1, -2, 0x1234, 0x7fff}, "0001fffe12347fff"),
      of<int>(Basic::kSigned, 4, {1, -2, 0x12345678, 0}, "00000001fffffffe1234567800000000"),
      of<long>(Basic::kSigned, 4, {1, -2, 0x12345678, INT32_MIN}, "00000001fffffffe1234567880000000"),
      of<unsigned long>(Basic::kUnsigned, 4, {1, 2, 0x12345678, UINT32_MAX}, "000000010000000212345678ffffffff"),
      of<long long>(Basic::kSigned, 8, {1, -2, 0x0123456789abcdef, 0}, "0000000000000001fffffffffffffffe0123456789abcdef0000000000000000"),
      of<wchar_t>(Basic::kWideChar, 2, {L'a', L'\u20ac', L'b', 0xfffd}, "006120ac0062fffd"),
      of<bool>(Basic::kLogical, 1, {true, false, false, true}, "01000001"),
      of<int>(Basic::kLogical, 4, {1, 0, 0, 1}, "00000001000000000000000000000001"),
      of<float>(Basic::kFloat, 4, {1.5F, -2, 0, 0.1F}, "3fc00000c0000000000000003dcccccd"),
      of<double>(Basic::kFloat, 8, {1.5, -2, 0, 0.1}, "3ff8000000000000c00000000000000000000000000000003fb999999999999a"),
      of<long double>(Basic::kLongDouble, 16, {1.5L, -2, 0, 1 + 0x1p-60L},
                      "3fff8000000000000000000000000000c0000000000000000000000000000000"
                      "000000000000000000000000000000003fff0000000000000010000000000000"),
      of<float>(Basic::kComplexFloat, 8, {1, -2, 0, 0.1F, 1, 1, 2, 2},
                "3f800000c0000000000000003dcccccd3f8000003f8000004000000040000000", 2),
  };
}

std::string hex(const std::vector<std::byte>& bytes) {
  std::string text;
  for (const std::byte b : bytes) {
    text += "0123456789abcdef"[std::to_integer<int>(b) >> 4];
    text += "0123456789abcdef"[std::to_integer<int>(b) & 15];
  }
  return text;
}

// Of two ranks each has every second element.
class Job {
 public:
  Job(const Case& one, std::unique_ptr<Comm> comm) : one_(one), rank_(comm->rank()), type_(make_named(one.basic)) {
    OpenCall call;
    call.file_name = "memory:external32";
    call.amode.read_write = call.amode.create = true;
    auto opened = open_file(std::move(comm), call, Context{progress_.get(), &datareps_, nullptr});
    EXPECT_TRUE(opened.ok());
    if (opened) file_ = std::move(*opened);
  }
  void write() { EXPECT_EQ(move(Direction::kWrite, mine()), bytes()); }
  void read_back() {
    std::vector<std::byte> found(mine().size());
    EXPECT_EQ(move(Direction::kRead, found), bytes());
    EXPECT_EQ(hex(found), hex(mine())) << one_.bytes;
  }
  std::string in_file() {
    EXPECT_TRUE(file_->set_view({0, byte_type(), byte_type(), "native", {}}));
    std::vector<std::byte> found(4 * static_cast<size_t>(one_.basic.external_bytes));
    const Result<i64> read = file_->access(call_of(Direction::kRead, found, byte_type(), contiguous_bytes(), std::ssize(found)));
    EXPECT_TRUE(read && *read == std::ssize(found));
    return hex(found);
  }

 private:
  i64 bytes() const { return 2 * one_.basic.native_bytes; }
  std::vector<std::byte> mine() const {
    const auto size = static_cast<size_t>(one_.basic.native_bytes);
    std::vector<std::byte> values;
    for (size_t i = static_cast<size_t>(rank_); i < 4; i += 2) values.insert(values.end(), &one_.values[i * size], &one_.values[i * size] + size);
    return values;
  }
  static AccessCall call_of(Direction direction, std::vector<std::byte>& data, TypeSpecRef spec, FlatTypeRef flat, i64 count) {
    AccessCall call;
    call.direction = direction;
    call.memory = Memory{data.data(), std::move(flat), count};
    call.memory_spec = std::move(spec);
    return call;
  }
  i64 move(Direction direction, std::vector<std::byte>&& data) { return move(direction, data); }
  i64 move(Direction direction, std::vector<std::byte>& data) {
    EXPECT_TRUE(file_->set_view({rank_ * one_.basic.external_bytes, type_, make_vector(2, 1, 2, type_), "external32", {}}));
    AccessCall call = call_of(direction, data, type_, *FlatType::of(*type_), 2);
    call.collective = true;
    const Result<i64> moved = file_->access(call);
    EXPECT_TRUE(moved.ok());
    return moved ? *moved : -1;
  }

  const Case& one_;
  i64 rank_;
  TypeSpecRef type_;
  std::unique_ptr<Progress> progress_ = make_progress_thread();
  DatarepRegistry datareps_;
  std::unique_ptr<File> file_;
};

TEST(External32, FilesAreTheSameOnAllProcessors) {
  for (const Case& one : cases()) {
    auto world = make_in_process_world(2);
    std::vector<std::thread> ranks;
    for (auto& comm : world) {
      ranks.emplace_back([&one, comm = std::move(comm)]() mutable {
        Job job(one, std::move(comm));
        job.write();
        job.read_back();
        EXPECT_EQ(job.in_file(), one.bytes);
      });
    }
    for (auto& rank : ranks) rank.join();
  }
}

}  // namespace
}  // namespace mercutio
