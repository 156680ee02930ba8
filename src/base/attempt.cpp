#include "base/attempt.h"

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

namespace mercutio {
namespace {

Error no_memory() { return Error{ErrorClass::kNoMem, "out of memory", ENOMEM}; }   // short: no memory is needed for it

Error described(ErrorClass cls, const char* text, int sys_errno) {
  try {
    return Error{cls, text, sys_errno};
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

}  // namespace

Error current_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::length_error&) {   // a list longer than any memory
    return no_memory();
  } catch (const std::system_error& error) {
    return described(class_from_errno(error.code().value()), error.what(), error.code().value());
  } catch (const std::exception& error) {
    return described(ErrorClass::kIntern, error.what(), 0);
  } catch (...) {
    if (!std::current_exception()) throw;   // not one of C++: by it glibc ends a cancelled thread
    return described(ErrorClass::kIntern, "an unknown exception", 0);
  }
}

}  // namespace mercutio
