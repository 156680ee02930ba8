// Hashes a sequence of numbers.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace mercutio {

inline std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t value) {
  std::uint64_t x = (std::rotl(hash, 23) ^ value) + 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

inline std::uint64_t hash_of_text(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = mix_hash(hash, static_cast<unsigned char>(c));
  return hash;
}

// Two numbers at once, for long lists: both halves of a 128-bit product, as in wyhash.
inline std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t a, std::uint64_t b) {
  __extension__ using Product = unsigned __int128;
  const Product product = static_cast<Product>(hash ^ a) * (b ^ 0x9e3779b97f4a7c15ULL);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace mercutio
