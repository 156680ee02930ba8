#include "api/handles.h"

#include <cstdio>

#include "mpi/abi_numbers.h"

namespace mercutio {

Handles::Handles() : by_number_{MPI_FILE_NULL} {}

MPI_File Handles::add(std::unique_ptr<OpenHandle> handle) {
  MPI_File file = handle.release()->mpi();
  std::lock_guard lock(mutex_);
  Fint number = 1;
  while (number < static_cast<Fint>(by_number_.size()) && by_number_[static_cast<std::size_t>(number)] != MPI_FILE_NULL) ++number;
  if (number == static_cast<Fint>(by_number_.size())) by_number_.push_back(MPI_FILE_NULL);
  by_number_[static_cast<std::size_t>(number)] = file;
  number_of_[file] = number;
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
  by_number_[static_cast<std::size_t>(it->second)] = MPI_FILE_NULL;
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
  return it == number_of_.end() ? 0 : it->second;
}

MPI_File Handles::from_fortran(Fint number) const {
  std::lock_guard lock(mutex_);
  bool known = number > 0 && number < static_cast<Fint>(by_number_.size());
  return known ? by_number_[static_cast<std::size_t>(number)] : MPI_FILE_NULL;
}

MPI_Errhandler Handles::default_errhandler() const {
  std::lock_guard lock(mutex_);
  return default_ != MPI_ERRHANDLER_NULL ? default_ : abi_numbers().errors_return;
}

void Handles::set_default_errhandler(MPI_Errhandler handler) {
  std::lock_guard lock(mutex_);
  default_ = handler;
}

}  // namespace mercutio
