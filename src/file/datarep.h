// Data representations: native, internal (native here), external32, and those that the program registered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "base/thread_annotations.h"
#include "model/type_spec.h"

namespace mercutio {

// A registered representation. The user's callbacks are behind plain functions (src/api binds the MPI types and extra_state). `type`
// is the datatype of the access; `count` of its elements are converted from `position` on (MPI 14.5.3). A null function means the
// native representation. If both are null, sizes and offsets in the file are native, too, regardless of file_extent. If one is null,
// an access in its direction is rejected if its elements have other sizes in the file than in memory.
struct RegisteredDatarep {
  std::string name;
  std::function<Status(void* user_buffer, const TypeSpecRef& type, i64 count, void* file_buffer, i64 position)> read;
  std::function<Status(void* user_buffer, const TypeSpecRef& type, i64 count, void* file_buffer, i64 position)> write;
  std::function<Result<i64>(const TypeSpecRef& named)> file_extent;   // of a predefined type in the file
  bool converts() const { return read || write; }
};

// ROMIO and OMPIO also accept the standard's names in capitals, and programs use them.
std::string plain_datarep_name(const std::string& name);
bool is_predefined_datarep(const std::string& name);   // of a plain name: whether MPI defines it

class DatarepRegistry {
 public:
  Status add(RegisteredDatarep datarep);                    // kDupDatarep, kArg for a bad name
  Result<std::shared_ptr<const RegisteredDatarep>> find(const std::string& name) const;   // kUnsupportedDatarep
 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const RegisteredDatarep>> by_name_ MERCUTIO_GUARDED_BY(mutex_);
};

}  // namespace mercutio
