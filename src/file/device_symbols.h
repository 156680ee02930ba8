// Functions of a library that is loaded already. Inside file/ only.
#pragma once

#include <dlfcn.h>

namespace mercutio {

// Whether all functions that were asked for are there.
class FunctionFinder {
 public:
  explicit FunctionFinder(void* library) : library_(library) {}
  template <class F>
  void find(F*& function, const char* name) {
    function = reinterpret_cast<F*>(::dlsym(library_, name));
    complete_ &= function != nullptr;
  }
  bool complete() const { return complete_; }

 private:
  void* library_;
  bool complete_ = true;
};

}  // namespace mercutio
