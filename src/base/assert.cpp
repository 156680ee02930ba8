#include "base/assert.h"

#ifdef MERCUTIO_ASSERTS
#include <cstdio>
#include <cstdlib>

namespace mercutio {

void assertion_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace mercutio
#endif
