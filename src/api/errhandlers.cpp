#include "api/errhandlers.h"

#include <cstdio>
#include <utility>

#include "api/handles.h"
#include "api/process.h"
#include "mpi/abi_numbers.h"
#include "mpi/calls.h"
#include "mpi/real.h"

namespace mercutio {

int Errhandlers::create(void (*function)(), HandlerLanguage language, MPI_Errhandler* handle) {
  int code = PMPI_Comm_create_errhandler(reinterpret_cast<MPI_Comm_errhandler_function*>(function), handle);
  if (code != MPI_SUCCESS) return code;
  std::lock_guard lock(mutex_);
  entries_.push_back({*handle, function, language, 1, nullptr});
  return MPI_SUCCESS;
}

const Errhandlers::Entry* Errhandlers::find(MPI_Errhandler handle) const {
  for (const Entry& entry : entries_)
    if (entry.handle == handle) return &entry;
  return nullptr;
}

bool Errhandlers::set_cxx(MPI_Errhandler handle, void (*glue)()) {
  std::lock_guard lock(mutex_);
  auto* entry = const_cast<Entry*>(find(handle));
  if (!entry) return false;
  entry->language = HandlerLanguage::kCxx;
  entry->glue = glue;
  return true;
}

bool Errhandlers::knows(MPI_Errhandler handle) const {
  std::lock_guard lock(mutex_);
  return find(handle) != nullptr;
}

MPI_Errhandler& Errhandlers::slot(OpenHandle* of) { return of ? of->errhandler : of_null_; }

MPI_Errhandler Errhandlers::retain(MPI_Errhandler handle) {
  if (auto* entry = const_cast<Entry*>(find(handle))) ++entry->references;
  return handle;
}

MPI_Errhandler Errhandlers::take(OpenHandle* of) {
  std::lock_guard lock(mutex_);
  return retain(slot(of));
}

void Errhandlers::adopt(OpenHandle* to, MPI_Errhandler handle) {
  {
    std::lock_guard lock(mutex_);
    std::swap(slot(to), handle);
  }
  release(handle);
}

void Errhandlers::attach(OpenHandle* to, MPI_Errhandler handle) {
  {
    std::lock_guard lock(mutex_);
    (void)retain(handle);
  }
  adopt(to, handle);
}

void Errhandlers::release(MPI_Errhandler handle) {
  {
    std::lock_guard lock(mutex_);
    auto* entry = const_cast<Entry*>(find(handle));
    if (!entry || --entry->references > 0) return;
    entries_.erase(entries_.begin() + (entry - entries_.data()));
  }
  static auto* const real_free = real_function<int(MPI_Errhandler*)>("PMPI_Errhandler_free");
  if (real_free) real_free(&handle);
}

MPI_Errhandler Errhandlers::give(OpenHandle* of) {
  MPI_Errhandler handle = take(of);
  if (handle == MPI_ERRHANDLER_NULL) handle = abi_numbers().errors_return;
  std::lock_guard lock(mutex_);
  if (!find(handle)) ++handed_out_[handle];
  return handle;
}

bool Errhandlers::free(MPI_Errhandler handle) {
  if (knows(handle)) {
    release(handle);
    return true;
  }
  std::lock_guard lock(mutex_);
  const auto handed_out = handed_out_.find(handle);
  if (handed_out == handed_out_.end()) return false;
  if (--handed_out->second == 0) handed_out_.erase(handed_out);
  return true;
}

static int die(MPI_Comm comm, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(code, text, &length);
  std::fprintf(stderr, "mercutio: fatal file error (MPI_ERRORS_ARE_FATAL): %s\n", text);
  std::fflush(stderr);
  PMPI_Abort(comm, code);
  return code;
}

static bool is_errors_abort(MPI_Errhandler handle) {
  return handle != MPI_ERRHANDLER_NULL && handle == abi_numbers().errors_abort;
}

// The bindings for C++ throw what a call returns.
static bool returns_errors(MPI_Errhandler handle) {
  return handle != MPI_ERRHANDLER_NULL && (handle == abi_numbers().errors_return || handle == abi_numbers().errors_throw);
}

bool Errhandlers::fits_files(MPI_Errhandler handle) const {
  return returns_errors(handle) || handle == MPI_ERRORS_ARE_FATAL || is_errors_abort(handle) || knows(handle);
}

Errhandlers::OfThread& Errhandlers::of_this_thread() {
  static thread_local OfThread state;
  return state;
}

// Calls a function that takes an object of class MPI::File. MPICH's bindings would call it again for an error that is returned.
static void call_cxx(void (*glue)(), void (*function)(), MPI_File* file, int* code) {
#ifdef MERCUTIO_ABI_OPENMPI
  reinterpret_cast<void (*)(MPI_File*, int*, const char*, void (*)())>(glue)(file, code, "", function);
#else
  constexpr int kOfFiles = 1;
  reinterpret_cast<void (*)(int, MPI_File*, int*, void (*)())>(glue)(kOfFiles, file, code, function);
  *code = MPI_SUCCESS;
#endif
}

int Errhandlers::raise(OpenHandle* of, int code) {
  struct Taken {   // given back also where a handler throws
    Errhandlers& all;
    MPI_Errhandler handle;
    ~Taken() { all.release(handle); }
  } const taken{*this, take(of)};
  return invoke(taken.handle, of ? of->mpi() : MPI_FILE_NULL, of ? of->comm : MPI_COMM_SELF, code);
}

int Errhandlers::invoke(MPI_Errhandler handle, MPI_File file, MPI_Comm comm, int code) const {
  if (handle == MPI_ERRHANDLER_NULL || returns_errors(handle)) return code;
  if (handle == MPI_ERRORS_ARE_FATAL) return die(world_active() ? MPI_COMM_WORLD : comm, code);
  if (is_errors_abort(handle)) return die(comm, code);
  Entry entry{};
  {
    std::lock_guard lock(mutex_);
    const Entry* found = find(handle);
    if (!found) return code;
    entry = *found;
  }
  int shown = code;
  Fint fortran_file = entry.language == HandlerLanguage::kFortran ? process().handles.to_fortran(file) : 0;
  OfThread& mine = of_this_thread();
  mine.in_handler = true;
  if (entry.language == HandlerLanguage::kCxx) {
    call_cxx(entry.glue, entry.function, &file, &shown);
  } else if (entry.language == HandlerLanguage::kC) {
    reinterpret_cast<MPI_File_errhandler_function*>(entry.function)(&file, &shown);
  } else {
    reinterpret_cast<void (*)(Fint*, Fint*)>(entry.function)(&fortran_file, &shown);
  }
  mine.in_handler = false;
  return shown;   // a handler that sets MPI_SUCCESS has handled the error; any other leaves it to the caller
}

}  // namespace mercutio
