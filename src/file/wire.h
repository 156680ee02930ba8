// Encodes the messages that ranks exchange when a file is opened or its hints change: a sequence of numbers and strings. Internal to
// file/. Both sides are the same build, so the byte order is the machine's.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "base/types.h"
#include "model/hints.h"

namespace mercutio {

class WireWriter {
 public:
  void put(i64 value) { append(&value, sizeof value); }
  void put(const std::string& text) {
    put(static_cast<i64>(text.size()));
    append(text.data(), text.size());
  }
  void put(const InfoItems& items) {
    put(static_cast<i64>(items.size()));
    for (const auto& [key, value] : items) {
      put(key);
      put(value);
    }
  }
  void put(const std::vector<AskedHint>& asked) {
    put(static_cast<i64>(asked.size()));
    for (const AskedHint& hint : asked) {
      put(hint.key);
      put(hint.value);
      put(hint.origin.where);
      put(static_cast<i64>(hint.origin.source) * 4 + (hint.origin.ours ? 2 : 0) + (hint.origin.forced ? 1 : 0));
    }
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, size_t size) {
    const size_t end = bytes_.size();
    bytes_.resize(end + size);
    if (size > 0) std::memcpy(bytes_.data() + end, data, size);
  }
  std::vector<std::byte> bytes_;
};

// Decodes such a message. Beyond its end all values are zero or empty, and failed() is true.
class WireReader {
 public:
  explicit WireReader(ConstBytes bytes) : rest_(bytes) {}
  i64 number() {
    i64 value = 0;
    if (rest_.size() < sizeof value) return fail(), 0;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string text() {
    const auto size = static_cast<size_t>(number());
    if (size > rest_.size()) return fail(), std::string();
    std::string out(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return out;
  }
  InfoItems items() {
    InfoItems out;
    i64 left = number();
    if (left < 0) fail();
    for (; left > 0 && !failed_; --left) {
      std::string key = text();
      out.emplace_back(std::move(key), text());
    }
    return out;
  }
  std::vector<AskedHint> asked() {
    std::vector<AskedHint> out;
    i64 left = number();
    if (left < 0) fail();
    for (; left > 0 && !failed_; --left) {
      AskedHint hint{text(), text(), {}};
      hint.origin.where = text();
      const i64 bits = number();
      if (bits < 0 || bits / 4 > static_cast<i64>(HintSource::kInfo)) fail();
      hint.origin.source = failed_ ? HintSource::kDefault : static_cast<HintSource>(bits / 4);
      hint.origin.ours = (bits & 2) != 0;
      hint.origin.forced = (bits & 1) != 0;
      out.push_back(std::move(hint));
    }
    return out;
  }
  bool failed() const { return failed_; }   // the message ended too early, or has an impossible length

 private:
  void fail() {
    failed_ = true;
    rest_ = {};
  }
  ConstBytes rest_;
  bool failed_ = false;
};

}  // namespace mercutio
