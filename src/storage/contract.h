// The contract of Storage (storage/storage.h) as checks without a test framework. tests/contract runs them over every driver and
// decorator, `mercutio driver check` over drivers of others.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace mercutio {

// Opens the file of the current check with the given options. Each check has a new file.
using OpenSubject = std::function<Result<std::unique_ptr<Storage>>(const OpenOptions&)>;

// The state and the findings of one check.
class ContractRun {
 public:
  ContractRun(OpenSubject open, bool keeps_bytes) : open_(std::move(open)), keeps_bytes_(keeps_bytes) {}

  // Opens for reading and writing; records a failure and returns null if that is impossible.
  std::unique_ptr<Storage> open(bool create = true, const WriterGroup& group = {}, bool keeps_writes = false);
  bool keeps_bytes() const { return keeps_bytes_; }   // false: what is read is zero

  // Each records a failure, with its text, if the condition is false, and returns the condition.
  bool expect(bool holds, const std::string& what);
  bool expect(const Status& status, const std::string& what);
  bool equals(const Result<i64>& got, i64 want, const std::string& what);
  void skip(const std::string& why) { skipped_ = why; }

  const std::vector<std::string>& failures() const { return failures_; }
  const std::string& skipped() const { return skipped_; }   // the reason; empty: the check was not skipped

 private:
  const OpenSubject open_;
  const bool keeps_bytes_;
  std::vector<std::string> failures_;
  std::string skipped_;
};

struct ContractCheck {
  const char* name;       // as an identifier
  const char* sentence;   // the requirement
  void (*run)(ContractRun& run);
};

const std::vector<ContractCheck>& contract_checks();

}  // namespace mercutio
