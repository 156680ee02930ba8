// For libFuzzer: now and then an input that was made up to be valid, as driver.cpp has them, among its own mutations.
#include <algorithm>
#include <cstring>

#include "fuzz.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

// libFuzzer's own objects come from another operator new than the one in support.cpp.
extern "C" const char* __asan_default_options() {
  return "alloc_dealloc_mismatch=0";
}
extern "C" const char* __ubsan_default_options() {
  return "print_stacktrace=1:halt_on_error=1";
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  constexpr unsigned kEvery = 32;
  if (seed % kEvery == 0) {
    mercutio::fuzz::Random random(seed);
    const mercutio::fuzz::Input made = mercutio::fuzz::example(random);
    size = std::min(made.size(), max_size);
    if (size > 0) std::memcpy(data, made.data(), size);
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
