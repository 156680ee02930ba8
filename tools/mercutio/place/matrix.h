// The matrices of process placement: how much each pair of ranks has to do with each other, and what a unit of it costs between
// each pair of places.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace mercutio::place {

// Symmetric, with nothing on the diagonal.
class Volume {
 public:
  explicit Volume(i64 ranks = 0) : ranks_(ranks), values_(static_cast<std::size_t>(ranks * ranks), 0) {}
  i64 ranks() const { return ranks_; }
  const float* row(i64 rank) const { return values_.data() + rank * ranks_; }
  float at(i64 a, i64 b) const { return row(a)[b]; }
  void add(i64 a, i64 b, double value) {   // to both (a, b) and (b, a)
    if (a == b) return;
    values_[static_cast<std::size_t>(a * ranks_ + b)] += static_cast<float>(value);
    values_[static_cast<std::size_t>(b * ranks_ + a)] += static_cast<float>(value);
  }
  Volume among(const std::vector<i64>& ranks) const;   // of these alone, renumbered
  bool empty() const;

 private:
  i64 ranks_;
  std::vector<float> values_;
};

// Costs between places; also inside one.
class Costs {
 public:
  Costs() = default;
  Costs(i64 places, double inside, double between);
  i64 places() const { return places_; }
  double at(i64 a, i64 b) const { return values_[static_cast<std::size_t>(a * places_ + b)]; }
  void set(i64 a, i64 b, double value) { values_[static_cast<std::size_t>(a * places_ + b)] = value; }

 private:
  i64 places_ = 0;
  std::vector<double> values_;
};

// The general application matrix (Venkatesan et al. 2013): `order` are the ranks in the order in which they touch the file; who
// follows whom is counted.
void add_neighbours(const std::vector<i64>& order, double weight, Volume& volume);

// Numbers in lines, separated by commas, semicolons or blanks; '#' begins a comment. A square of them.
Result<std::vector<std::vector<double>>> parse_square(const std::string& text);
// (a, b) and (b, a) are added up, unless they are equal: then it is meant as symmetric.
Result<Volume> parse_volume(const std::string& text);
// Of both directions the dearer counts.
Result<Costs> parse_costs(const std::string& text);
std::string volume_text(const Volume& volume);   // what parse_volume reads

}  // namespace mercutio::place
