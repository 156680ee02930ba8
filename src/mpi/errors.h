// Error -> MPI error code. Each (class, text) has one code, made by MPI_Add_error_code/_string, so MPI_Error_class returns the
// class and MPI_Error_string our text. Some MPIs have only 8,192 codes. Therefore, after kMostCodes texts, the oldest code of a
// class gets the new text.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "mpi/mpi_header.h"

namespace mercutio {

int mpi_class(ErrorClass cls);

class ErrorCodes {
 public:
  int code_for(ErrorClass cls, const std::string& text);
  // The text of one of our codes; empty for any other code.
  std::string text_of(int code) const;

 private:
  static constexpr std::size_t kMostCodes = 1000;
  mutable std::mutex mutex_;
  std::map<std::pair<ErrorClass, std::string>, int> code_of_;
  std::map<int, std::string> text_of_;
  std::map<ErrorClass, std::deque<int>> of_class_;   // those whose text is the oldest first
};

}  // namespace mercutio
