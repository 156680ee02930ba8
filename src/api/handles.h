// MPI_File handles: the live ones, their files, and their Fortran numbers.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_annotations.h"
#include "file/file.h"
#include "mpi/decode.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// What MPI_File_get_view tells of the view.
struct ToldView {
  ViewRef view = default_view();
  MPI_Datatype etype = MPI_BYTE, filetype = MPI_BYTE;   // if they are predefined. MPI_DATATYPE_NULL: get_view must create them
  bool registered = false;   // the program has registered the data representation
};

// The object to which an MPI_File handle points.
struct OpenHandle {
  std::unique_ptr<File> file;
  MPI_Comm comm = MPI_COMM_NULL;             // the library's duplicate, not owned
  int amode = 0;
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;   // of Errhandlers, under its lock
  KeptType split_type;   // of the active split collective, which its conversion functions receive

  void tell(ToldView view) {
    std::lock_guard lock(mutex_);
    told_ = std::move(view);
  }
  ToldView told() const {
    std::lock_guard lock(mutex_);
    return told_;
  }
  bool registered() const {   // the view's data representation
    std::lock_guard lock(mutex_);
    return told_.registered;
  }
  MPI_File mpi() { return reinterpret_cast<MPI_File>(this); }

 private:
  mutable std::mutex mutex_;
  ToldView told_ MERCUTIO_GUARDED_BY(mutex_);   // changes as a whole, as other threads may ask while one sets a view
};

class Handles {
 public:
  MPI_File add(std::unique_ptr<OpenHandle> handle);
  // The open file of a handle. Null for MPI_FILE_NULL and for anything that is not a live handle.
  OpenHandle* find(MPI_File file) const;
  std::unique_ptr<OpenHandle> remove(MPI_File file);
  void flush_all() const;   // flushes the write-behind data of all open files

  Fint to_fortran(MPI_File file) const;
  MPI_File from_fortran(Fint number) const;   // unknown: MPI_FILE_NULL

 private:
  // Handles that were found recently, which are found again without the lock. Handles are added and removed under the lock.
  std::atomic<MPI_File>& recent(MPI_File file) const { return recent_[reinterpret_cast<std::uintptr_t>(file) * 0x9e3779b97f4a7c15 >> 60]; }

  mutable std::array<std::atomic<MPI_File>, 16> recent_{};
  mutable std::mutex mutex_;
  std::map<MPI_File, Fint> number_of_;
  std::vector<MPI_File> by_number_;   // by Fortran number, from the first one on; MPI_FILE_NULL: it is free
};

}  // namespace mercutio
