// What a long command is doing and how much is left, on one line of the terminal. Nothing is printed where stderr is no terminal.
#pragma once

#include <chrono>
#include <string>

namespace mercutio::tool {

class Progress {
 public:
  // `steps` that take about the same time each; 0: not known.
  explicit Progress(int steps);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const std::string& what);   // the next step
  void clear();                          // the line, before something else is printed

 private:
  const bool shown_;
  const int steps_;
  int begun_ = 0;
  std::size_t width_ = 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// "12/90 vector-64, 3 min left": of a line with `done` of `steps` finished in `seconds`.
std::string progress_line(int done, int steps, double seconds, const std::string& what);

}  // namespace mercutio::tool
