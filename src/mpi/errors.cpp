#include "mpi/errors.h"

#include <algorithm>

#include "mpi/failures.h"

namespace mercutio {

int mpi_class(ErrorClass cls) {
  switch (cls) {
    case ErrorClass::kNone: return MPI_SUCCESS;
    case ErrorClass::kFile: return MPI_ERR_FILE;
    case ErrorClass::kNotSame: return MPI_ERR_NOT_SAME;
    case ErrorClass::kAmode: return MPI_ERR_AMODE;
    case ErrorClass::kUnsupportedDatarep: return MPI_ERR_UNSUPPORTED_DATAREP;
    case ErrorClass::kUnsupportedOperation: return MPI_ERR_UNSUPPORTED_OPERATION;
    case ErrorClass::kNoSuchFile: return MPI_ERR_NO_SUCH_FILE;
    case ErrorClass::kFileExists: return MPI_ERR_FILE_EXISTS;
    case ErrorClass::kBadFile: return MPI_ERR_BAD_FILE;
    case ErrorClass::kAccess: return MPI_ERR_ACCESS;
    case ErrorClass::kNoSpace: return MPI_ERR_NO_SPACE;
    case ErrorClass::kQuota: return MPI_ERR_QUOTA;
    case ErrorClass::kReadOnly: return MPI_ERR_READ_ONLY;
    case ErrorClass::kFileInUse: return MPI_ERR_FILE_IN_USE;
    case ErrorClass::kDupDatarep: return MPI_ERR_DUP_DATAREP;
    case ErrorClass::kConversion: return MPI_ERR_CONVERSION;
    case ErrorClass::kIo: return MPI_ERR_IO;
    case ErrorClass::kArg: return MPI_ERR_ARG;
    case ErrorClass::kBuffer: return MPI_ERR_BUFFER;
    case ErrorClass::kCount: return MPI_ERR_COUNT;
    case ErrorClass::kType: return MPI_ERR_TYPE;
    case ErrorClass::kComm: return MPI_ERR_COMM;
    case ErrorClass::kRequest: return MPI_ERR_REQUEST;
    case ErrorClass::kInfo: return MPI_ERR_INFO;
    case ErrorClass::kInfoValue: return MPI_ERR_INFO_VALUE;
    case ErrorClass::kTruncate: return MPI_ERR_TRUNCATE;
    case ErrorClass::kNoMem: return MPI_ERR_NO_MEM;
    case ErrorClass::kIntern: return MPI_ERR_INTERN;
    case ErrorClass::kProcFailed: return failure_classes().failed;
    case ErrorClass::kOther: return MPI_ERR_OTHER;
  }
  return MPI_ERR_OTHER;
}

namespace {

// Truncates a text to what MPI accepts (Open MPI: 255 characters). The cause and the advice are at its end, so the file name is
// truncated first, from the left.
std::string fitted(const std::string& text) {
  constexpr std::size_t kMost = MPI_MAX_ERROR_STRING - 1, kKept = 24;
  const std::size_t quote = text.find("file '");
  const std::size_t begin = quote + 6, end = quote == std::string::npos ? quote : text.find('\'', begin);
  if (text.size() <= kMost || end == std::string::npos || end - begin <= kKept + 3) return text.substr(0, kMost);
  const std::size_t cut = std::min(end - begin - kKept, text.size() - kMost + 3);
  return (text.substr(0, begin) + "..." + text.substr(begin + cut)).substr(0, kMost);
}

}  // namespace

int ErrorCodes::code_for(ErrorClass cls, const std::string& text) {
  if (cls == ErrorClass::kNone) return MPI_SUCCESS;
  std::lock_guard lock(mutex_);
  std::string shown = fitted(text);
  auto known = code_of_.find({cls, shown});
  if (known != code_of_.end()) return known->second;
  int code = mpi_class(cls);
  std::deque<int>& codes = of_class_[cls];
  if (text_of_.size() >= kMostCodes && !codes.empty()) {
    code = codes.front();
    codes.pop_front();
    code_of_.erase({cls, text_of_[code]});
  } else if (PMPI_Add_error_code(mpi_class(cls), &code) != MPI_SUCCESS) {
    return mpi_class(cls);
  }
  PMPI_Add_error_string(code, shown.c_str());
  code_of_[{cls, shown}] = code;
  text_of_[code] = shown;
  codes.push_back(code);
  return code;
}

std::string ErrorCodes::text_of(int code) const {
  std::lock_guard lock(mutex_);
  auto it = text_of_.find(code);
  return it == text_of_.end() ? "" : it->second;
}

}  // namespace mercutio
