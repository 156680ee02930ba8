// DistinctNames: about how many different names several ranks have seen, from 128 bytes of each of them (HyperLogLog, Flajolet et al., 2007; few names
// by linear counting). The standard error is about 9 %. The same on all ranks, whatever their processors.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mercutio {

class DistinctNames {
 public:
  void add(std::string_view name);
  void add(const DistinctNames& other);
  bool none() const { return *this == DistinctNames(); }
  double count() const;
  bool operator==(const DistinctNames&) const = default;

 private:
  static constexpr int kIndexBits = 7;
  std::array<std::uint8_t, std::size_t{1} << kIndexBits> longest_{};   // run of zeros in a hash, plus one, by its first bits
};

}  // namespace mercutio
