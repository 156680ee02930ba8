// How the parts of the S3 driver tell each other that something failed. Thrown inside this folder, caught in driver.cpp, where it becomes
// an errno value and the text of explain().
#pragma once

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace mercutio_s3 {

using i64 = std::int64_t;
inline constexpr i64 MiB = i64{1} << 20, GiB = i64{1} << 30;

inline constexpr int kMostRivals = 5;   // who replaced the object meanwhile (ESTALE), before a change of it is given up

class Failure : public std::runtime_error {
 public:
  Failure(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  int code() const { return code_; }   // of <errno.h>

 private:
  int code_;
};

inline Failure deleted() { return {ENOENT, "s3: somebody has deleted the object while it was open here"}; }

}  // namespace mercutio_s3
