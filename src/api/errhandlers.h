// Error handlers of files. A handler is a real MPI handle, so f2c, c2f and comparison work, but it is never attached to a
// communicator. The function it calls is stored here.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/types.h"
#include "mpi/mpi_header.h"

namespace mercutio {

struct OpenHandle;

enum class HandlerLanguage { kC, kFortran, kCxx };

class Errhandlers {
  // Handlers of C++ programs may throw, and these exceptions must reach the program.
  struct OfThread {
    bool in_handler = false;   // while a handler runs, and from its exception until that has left the library
    int calls = 0;             // depth of nested calls
  };
  [[gnu::noinline]] static OfThread& of_this_thread();   // looked up once a call, which takes nanoseconds in a library that is loaded late

 public:
  // Creates a handler that calls `function` (an MPI_File_errhandler_function or a Fortran subroutine).
  int create(void (*function)(), HandlerLanguage language, MPI_Errhandler* handle);
  // It was made by the MPI's bindings for C++, whose `glue` calls its function.
  bool set_cxx(MPI_Errhandler handle, void (*glue)());   // false: it is not one of ours
  bool knows(MPI_Errhandler handle) const;
  bool fits_files(MPI_Errhandler handle) const;   // not made for communicators, windows or sessions

  // The handler of an open file. Null stands for MPI_FILE_NULL, whose handler new files inherit, and which failed opens and deletes call.
  // Threads may raise errors of a file while others change its handler.
  void attach(OpenHandle* to, MPI_Errhandler handle);   // releases the one before
  void inherit(OpenHandle& to) { adopt(&to, take(nullptr)); }
  void detach(OpenHandle& from) { adopt(&from, MPI_ERRHANDLER_NULL); }
  MPI_Errhandler give(OpenHandle* of);   // to the program, which frees it
  bool free(MPI_Errhandler handle);      // false: the program has not got it from here, so the free is passed to the MPI
  // Calls the handler for `code`. Returns the return value of the MPI call.
  int raise(OpenHandle* of, int code);
  // Whether the exception being handled was thrown by a handler of the program.
  static bool has_thrown() { return of_this_thread().in_handler; }

  // Created at the beginning of every call of the library.
  class CallScope {
   public:
    CallScope() : mine_(of_this_thread()), in_handler_(std::exchange(mine_.in_handler, false)) { ++mine_.calls; }
    ~CallScope() {
      --mine_.calls;
      if (returns_) mine_.in_handler = in_handler_;
      if (!returns_ && mine_.calls == 0) mine_.in_handler = false;
    }
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;
    void returns() { returns_ = true; }   // no exception leaves the call

   private:
    OfThread& mine_;
    const bool in_handler_;   // the state of the enclosing call, if any
    bool returns_ = false;
  };

 private:
  struct Entry {
    MPI_Errhandler handle;
    void (*function)();
    HandlerLanguage language;
    int references;
    void (*glue)() = nullptr;
  };
  const Entry* find(MPI_Errhandler handle) const;
  MPI_Errhandler& slot(OpenHandle* of);                 // requires the lock
  MPI_Errhandler retain(MPI_Errhandler handle);         // requires the lock; adds a reference, if it is one of ours
  MPI_Errhandler take(OpenHandle* of);                  // with a reference more
  void adopt(OpenHandle* to, MPI_Errhandler handle);    // attaches it with the caller's reference
  void release(MPI_Errhandler handle);                  // releases a reference; the last one frees the handler
  int invoke(MPI_Errhandler handle, MPI_File file, MPI_Comm comm, int code) const;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  MPI_Errhandler of_null_ = MPI_ERRHANDLER_NULL;   // as in each file, MPI_ERRORS_RETURN: its value is known when MPI is initialised
  // How often a predefined one has been given to the program. Open MPI counts references of those, too, and rejects a free without a
  // reference, so the matching free must not be passed on.
  std::map<MPI_Errhandler, i64> handed_out_;
};

}  // namespace mercutio
