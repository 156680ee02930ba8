// A test driver all of whose calls but `open` throw C++ exceptions, `explain` too. MERCUTIO_TEST_FAIL=open: `open` fails with EDEADLK.
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "mercutio/driver.h"

namespace {

template <class... Arguments>
int fail(Arguments...) {
  throw std::runtime_error("thrown by a driver");
}

int open_it(const char*, const mercutio_driver_options*, mercutio_driver_file** file) {
  static int somewhere;
  if (std::getenv("MERCUTIO_TEST_FAIL")) return EDEADLK;
  *file = reinterpret_cast<mercutio_driver_file*>(&somewhere);
  return 0;
}

const char* explain() {
  throw 1;
}

}  // namespace

int mercutio_driver_init(const mercutio_driver_host*, const mercutio_driver** driver) {
  static mercutio_driver ours{};
  ours.abi = MERCUTIO_DRIVER_ABI;
  ours.size = sizeof ours;
  ours.open = open_it;
  ours.close = fail;
  ours.read = fail;
  ours.write = fail;
  ours.get_size = fail;
  ours.explain = explain;
  *driver = &ours;
  return 0;
}
