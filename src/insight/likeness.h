// Which ranks of a job are alike: what the rules of the report tell ranks apart by, and what is lost where groups of ranks become one
// (agglomerative clustering, Ward 1963).
#pragma once

#include <array>
#include <span>
#include <utility>

#include "insight/totals.h"

namespace mercutio {

class Likeness {
 public:
  explicit Likeness(i64 ranks) : ranks_(static_cast<double>(ranks)) {}
  void add(const FileTotals& totals);   // of each file, the sums of the ranks
  // How much is lost when two groups become one: more if both are large.
  double distance(const Likeness& other) const;

 private:
  std::array<double, 6> of_average_rank() const;
  double ranks_ = 1, held_ = 0, bytes_ = 0, requests_ = 0, in_storage_ = 0, waited_ = 0, opens_ = 0;
};

// Of two or more the two that are most alike; the first stands before the second.
std::pair<std::size_t, std::size_t> likest(std::span<const Likeness> all);

}  // namespace mercutio
