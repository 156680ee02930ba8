// Error handlers of files. A handler is a genuine MPI handle (so that f2c, c2f and comparison work) that is never attached
// to a communicator; what it calls is kept here.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "base/types.h"
#include "mpi/mpi_header.h"

namespace mercutio {

enum class HandlerLanguage { kC, kFortran };

class Errhandlers {
 public:
  // Makes a handler that calls `function` (MPI_File_errhandler_function or the Fortran subroutine).
  int create(void (*function)(), HandlerLanguage language, MPI_Errhandler* handle);
  bool knows(MPI_Errhandler handle) const;
  void retain(MPI_Errhandler handle);    // one more reference, if it is one of ours
  void release(MPI_Errhandler handle);   // the last one frees it

  // A predefined handler that MPI_File_get_errhandler gave out: Open MPI counts those too and refuses a free it hasn't
  // counted, so the frees of ours must not reach it.
  void lend(MPI_Errhandler handle);
  bool take_back(MPI_Errhandler handle);   // false: it wasn't lent, the MPI knows it

  // Calls the handler for `code`; returns what the MPI call should return. `file` is the handle to show the handler.
  int invoke(MPI_Errhandler handle, MPI_File file, MPI_Comm comm, int code) const;
  // Whether the exception that is being handled came out of a handler of the program.
  static bool has_thrown();

  // Around every call of the library.
  class CallScope {
   public:
    CallScope();
    ~CallScope();
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;
    void returns() { returns_ = true; }   // no exception leaves the call

   private:
    const bool in_handler_;   // of a call further out, which has called this one
    bool returns_ = false;
  };

 private:
  struct Entry {
    MPI_Errhandler handle;
    void (*function)();
    HandlerLanguage language;
    int references;
  };
  const Entry* find(MPI_Errhandler handle) const;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::map<MPI_Errhandler, i64> lent_;   // how often
};

}  // namespace mercutio
