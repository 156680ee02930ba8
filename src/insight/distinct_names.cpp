#include "insight/distinct_names.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/hash.h"

namespace mercutio {

void DistinctNames::add(std::string_view name) {
  const std::uint64_t hash = hash_of_text(name);
  std::uint8_t& longest = longest_[hash >> (64 - kIndexBits)];
  longest = std::max(longest, static_cast<std::uint8_t>(1 + std::countl_zero(hash << kIndexBits | 1)));
}

void DistinctNames::add(const DistinctNames& other) {
  for (std::size_t i = 0; i < longest_.size(); ++i) longest_[i] = std::max(longest_[i], other.longest_[i]);
}

double DistinctNames::count() const {
  const auto size = static_cast<double>(longest_.size());
  double sum = 0;
  for (const std::uint8_t longest : longest_) sum += std::ldexp(1.0, -longest);
  const double estimate = 0.7213 / (1 + 1.079 / size) * size * size / sum;
  const auto empty = static_cast<double>(std::count(longest_.begin(), longest_.end(), 0));
  return estimate <= 2.5 * size && empty > 0 ? size * std::log(size / empty) : estimate;
}

}  // namespace mercutio
