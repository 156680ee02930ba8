#include "api/handles.h"

#include <algorithm>
#include <cstdio>

namespace mercutio {

// The integers of predefined handles are below kFirstNumber. An integer of no file is taken for that of MPI_FILE_NULL, so that 0 is one, too.
#ifdef MERCUTIO_ABI_STANDARD
constexpr Fint kNullNumber = 0x118, kFirstNumber = 4096;
#else
constexpr Fint kNullNumber = 0, kFirstNumber = 1;
#endif

MPI_File Handles::add(std::unique_ptr<OpenHandle> handle) {
  MPI_File file = handle.release()->mpi();
  std::lock_guard lock(mutex_);
  const auto place = std::find(by_number_.begin(), by_number_.end(), MPI_FILE_NULL);
  number_of_[file] = kFirstNumber + static_cast<Fint>(place - by_number_.begin());
  if (place == by_number_.end()) by_number_.push_back(file);
  else *place = file;
  return file;
}

OpenHandle* Handles::find(MPI_File file) const {
  if (recent(file).load(std::memory_order_acquire) == file) return reinterpret_cast<OpenHandle*>(file);
  std::lock_guard lock(mutex_);
  if (number_of_.count(file) == 0) return nullptr;
  recent(file).store(file, std::memory_order_release);
  return reinterpret_cast<OpenHandle*>(file);
}

std::unique_ptr<OpenHandle> Handles::remove(MPI_File file) {
  std::lock_guard lock(mutex_);
  auto it = number_of_.find(file);
  if (it == number_of_.end()) return nullptr;
  by_number_[static_cast<std::size_t>(it->second - kFirstNumber)] = MPI_FILE_NULL;
  number_of_.erase(it);
  if (recent(file).load(std::memory_order_relaxed) == file) recent(file).store(nullptr, std::memory_order_relaxed);
  return std::unique_ptr<OpenHandle>(reinterpret_cast<OpenHandle*>(file));
}

void Handles::flush_all() const {
  std::lock_guard lock(mutex_);
  for (const auto& [file, number] : number_of_) {
    File& open = *reinterpret_cast<OpenHandle*>(file)->file;
    Status flushed = open.flush();
    if (!flushed) std::fprintf(stderr, "mercutio: %s\n", open.describe("a file that was not closed", flushed.error()).c_str());
  }
}

Fint Handles::to_fortran(MPI_File file) const {
  std::lock_guard lock(mutex_);
  auto it = number_of_.find(file);
  return it == number_of_.end() ? kNullNumber : it->second;
}

MPI_File Handles::from_fortran(Fint number) const {
  std::lock_guard lock(mutex_);
  const i64 place = i64{number} - kFirstNumber;
  return place >= 0 && place < std::ssize(by_number_) ? by_number_[static_cast<std::size_t>(place)] : MPI_FILE_NULL;
}

}  // namespace mercutio
