#include "insight/likeness.h"

#include <algorithm>
#include <cmath>

namespace mercutio {

void Likeness::add(const FileTotals& totals) {
  held_ += static_cast<double>(totals.held_ns());
  bytes_ += static_cast<double>(totals.bytes());
  for (const StorageTotals& part : totals.storage) {
    requests_ += static_cast<double>(part.bytes);
    in_storage_ += static_cast<double>(part.ns);
  }
  waited_ += static_cast<double>(totals.phase_ns(Phase::kArrive));
  opens_ += static_cast<double>(totals.opens);
}

std::array<double, 6> Likeness::of_average_rank() const {
  const auto scaled = [this](double value, double unit) { return std::log2(1 + std::max(0.0, value) / ranks_ / unit); };
  return {scaled(held_, 1e6), scaled(bytes_, 4096), scaled(requests_, 4096), scaled(in_storage_, 1e6), scaled(waited_, 1e6), scaled(opens_, 1)};
}

double Likeness::distance(const Likeness& other) const {
  const std::array<double, 6> a = of_average_rank(), b = other.of_average_rank();
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum * ranks_ * other.ranks_ / (ranks_ + other.ranks_);
}

std::pair<std::size_t, std::size_t> likest(std::span<const Likeness> all) {
  std::pair<std::size_t, std::size_t> found{0, 1};
  double least = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      const double one = all[i].distance(all[k]);
      if (least < 0 || one < least) least = one, found = {i, k};
    }
  }
  return found;
}

}  // namespace mercutio
