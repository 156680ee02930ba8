// The mutations. O(size of the input) each.
#include "mutate.h"

#include <algorithm>
#include <cstring>
#include <fstream>

namespace mercutio::fuzz {
namespace {

constexpr std::size_t kMostBytes = 4096;

std::size_t place_in(const Input& input, Random& random) {
  return static_cast<std::size_t>(pick(random, 0, static_cast<i64>(input.size())));
}

Input part_of(const Input& input, Random& random) {
  std::size_t from = place_in(input, random), to = place_in(input, random);
  if (from > to) std::swap(from, to);
  to = std::min(to, from + static_cast<std::size_t>(pick(random, 1, 64)));
  return Input(input.begin() + static_cast<std::ptrdiff_t>(from), input.begin() + static_cast<std::ptrdiff_t>(to));
}

void insert(Input& input, std::size_t at, const Input& what) {
  input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), what.begin(), what.end());
}

void overwrite(Input& input, std::size_t at, const Input& what) {
  if (input.size() < at + what.size()) input.resize(at + what.size());
  std::copy(what.begin(), what.end(), input.begin() + static_cast<std::ptrdiff_t>(at));
}

// A number on which code may stumble, in one of the codings in use: a byte, eight bytes, LEB128.
Input number_that_matters(Random& random) {
  static constexpr std::uint64_t kSome[] = {0, 1, 2, 3, 15, 16, 127, 128, 255, 256, 4096, 65535, 0x7fffffff, 0x80000000, 0xffffffff};
  std::uint64_t value = kSome[pick(random, 0, 14)];
  if (pick(random, 0, 1)) value = (std::uint64_t{1} << pick(random, 0, 63)) + static_cast<std::uint64_t>(pick(random, -1, 1));
  if (pick(random, 0, 3) == 0) value = ~value;
  Input out;
  switch (pick(random, 0, 2)) {
    case 0:
      out.push_back(static_cast<std::byte>(value));
      break;
    case 1:
      out.resize(sizeof value);
      std::memcpy(out.data(), &value, sizeof value);
      break;
    default:
      for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
      out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

void mutate_once(Input& input, Random& random, const std::vector<Input>& words, const std::vector<Input>& others) {
  const std::size_t at = place_in(input, random);
  const bool inside = at < input.size();
  switch (pick(random, 0, 9)) {
    case 0:
      if (inside) input[at] ^= static_cast<std::byte>(1 << pick(random, 0, 7));
      return;
    case 1:
      if (inside) input[at] = static_cast<std::byte>(random());
      return;
    case 2:
      return insert(input, at, Input(static_cast<std::size_t>(pick(random, 1, 4)), static_cast<std::byte>(random())));
    case 3: {
      const auto gone = std::min(static_cast<std::size_t>(pick(random, 1, 16)), input.size() - at);
      input.erase(input.begin() + static_cast<std::ptrdiff_t>(at), input.begin() + static_cast<std::ptrdiff_t>(at + gone));
      return;
    }
    case 4:
      return insert(input, at, part_of(input, random));
    case 5:
      return overwrite(input, at, part_of(input, random));
    case 6:
      return overwrite(input, at, number_that_matters(random));
    case 7:
      return insert(input, at, number_that_matters(random));
    case 8:
      if (words.empty()) return;
      return insert(input, at, words[random() % words.size()]);
    default:
      if (others.empty()) return;
      return insert(input, at, part_of(others[random() % others.size()], random));
  }
}

int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 0;
}

Input unescaped(const std::string& text) {
  Input out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(static_cast<std::byte>(text[i]));
    } else if (text[++i] == 'x' && i + 2 < text.size()) {
      out.push_back(static_cast<std::byte>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(static_cast<std::byte>(text[i]));
    }
  }
  return out;
}

}  // namespace

std::vector<Input> read_dictionary(const std::string& path) {
  std::vector<Input> words;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (line.empty() || line[0] == '#' || open == close) continue;
    words.push_back(unescaped(line.substr(open + 1, close - open - 1)));
  }
  return words;
}

void mutate(Input& input, Random& random, const std::vector<Input>& words, const std::vector<Input>& others) {
  const i64 most = i64{1} << pick(random, 0, 3);
  for (i64 times = pick(random, 1, most); times > 0; --times) mutate_once(input, random, words, others);
  if (input.size() > kMostBytes) input.resize(kMostBytes);
}

}  // namespace mercutio::fuzz
