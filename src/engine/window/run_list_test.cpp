#include "engine/window/run_list.h"

#include <gtest/gtest.h>

#include <random>

namespace mercutio {
namespace {

using Numbers = std::vector<std::pair<std::uint64_t, std::uint64_t>>;   // gaps and lengths

std::vector<std::byte> listed(const Numbers& numbers) {
  RunListWriter writer;
  for (const auto& [gap, length] : numbers) writer.add(gap, length);
  return writer.finish();
}

Numbers read(ConstBytes list, size_t count, bool& complete) {
  RunListReader reader(list);
  Numbers numbers;
  for (size_t i = 0; i < count; ++i) {
    const std::uint64_t gap = reader.gap();
    numbers.emplace_back(gap, reader.length());
  }
  complete = reader.complete();
  return numbers;
}

void expect_same(const Numbers& numbers) {
  const std::vector<std::byte> list = listed(numbers);
  bool complete = false;
  EXPECT_EQ(read(list, numbers.size(), complete), numbers);
  EXPECT_TRUE(complete);
  for (size_t bytes = 0; bytes < list.size(); ++bytes) {
    const std::vector<std::byte> part(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(bytes));   // a reader beyond its end is found
    (void)read(part, numbers.size(), complete);
    EXPECT_FALSE(complete) << bytes;
  }
}

// The numbers at which a code takes another form, at every parameter.
TEST(RunList, KeepsNumbersOfAllSizes) {
  std::vector<std::uint64_t> edges = {0, 1, UINT32_MAX - 1, UINT32_MAX};
  for (int low = 0; low < 27; ++low) {
    const std::uint64_t escape = static_cast<std::uint64_t>(kEscapeZeros) << low;
    edges.insert(edges.end(), {escape - 1, escape, escape + 1});
  }
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) expect_same({{a, b}, {b, a}, {0, b}, {a, 0}});
  }
}

TEST(RunList, KeepsRandomNumbers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    Numbers numbers(1 + random() % 40);
    const int wide = static_cast<int>(random() % 33);
    for (auto& [gap, length] : numbers) {
      gap = random() >> (64 - wide) % 64 & UINT32_MAX;
      length = random() % 4 == 0 ? random() & UINT32_MAX : random() % 3;
    }
    expect_same(numbers);
  }
}

TEST(RunList, AnEmptyListIsComplete) {
  bool complete = false;
  EXPECT_TRUE(read({}, 0, complete).empty());
  EXPECT_TRUE(complete);
}

}  // namespace
}  // namespace mercutio
