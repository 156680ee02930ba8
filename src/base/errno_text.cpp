#include "base/errno_text.h"

#include <cstring>

namespace mercutio {
namespace {

// strerror_r() is of two kinds: POSIX's fills the buffer, GNU's may leave it and returns the text.
[[maybe_unused]] const char* text_of(int /*failed*/, const char* buffer) { return buffer; }
[[maybe_unused]] const char* text_of(const char* text, const char* /*buffer*/) { return text; }

}  // namespace

std::string errno_text(int sys_errno) {
  char buffer[256] = "";
  return text_of(::strerror_r(sys_errno, buffer, sizeof buffer), buffer);
}

}  // namespace mercutio
