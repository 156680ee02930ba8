// A hash of numbers, one after the other.
#pragma once

#include <bit>
#include <cstdint>

namespace mercutio {

inline std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = (std::rotl(hash, 23) ^ value) + 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace mercutio
