#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace mercutio::tool {
namespace {

constexpr std::size_t kColumns = 79;   // where the terminal does not say

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? static_cast<std::size_t>(size.ws_col) - 1 : kColumns;
}

}  // namespace

std::string progress_line(int done, int steps, double seconds, const std::string& what) {
  std::string line = std::to_string(done + 1) + (steps > 0 ? "/" + std::to_string(steps) : "") + " " + what;
  if (done < 1 || steps <= done || seconds < 1) return line;
  const double left = seconds / done * (steps - done);
  char text[48];
  if (left < 90)
    std::snprintf(text, sizeof text, ", %.0f s left", std::max(1.0, left));
  else
    std::snprintf(text, sizeof text, ", %.0f min left", left / 60);
  return line + text;
}

Progress::Progress(int steps) : shown_(isatty(STDERR_FILENO) == 1), steps_(steps) {}

void Progress::begin(const std::string& what) {
  if (shown_) {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
    const std::string line = progress_line(begun_, steps_, since.count(), what).substr(0, columns());
    std::fprintf(stderr, "\r%-*s", static_cast<int>(width_), line.c_str());
    std::fflush(stderr);
    width_ = line.size();
  }
  ++begun_;
}

void Progress::clear() {
  if (shown_ && width_ > 0) std::fprintf(stderr, "\r%*s\r", static_cast<int>(width_), "");
  width_ = 0;
}

}  // namespace mercutio::tool
