#include "insight/likeness.h"

#include <gtest/gtest.h>

#include <vector>

namespace mercutio {
namespace {

// Of collective accesses, which hold all ranks equally long, one rank's requests take longer.
TEST(Likeness, ARankWithSlowStorageIsNotLikeTheOthers) {
  std::vector<Likeness> all;
  for (const i64 storage_ns : {10'000'000, 600'000'000, 11'000'000}) {
    FileTotals totals;
    totals.opens = 1;
    totals.of(Direction::kWrite, true).bytes = totals.storage[1].bytes = 6 * MiB;
    totals.of(Direction::kWrite, true).ns = 610'000'000;
    totals.storage[1].ns = storage_ns;
    all.emplace_back(1).add(totals);
  }
  EXPECT_EQ(likest(all), std::pair(std::size_t{0}, std::size_t{2}));
}

}  // namespace
}  // namespace mercutio
