// The contract of Storage (storage/storage.h) as checks that need no test program: tests/contract runs them over every driver and
// decorator, `mercutio driver check` over anybody's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/storage.h"

namespace mercutio {

// Opens the same file, a new one for each check. The options say how.
using OpenSubject = std::function<Result<std::unique_ptr<Storage>>(const OpenOptions&)>;

// One check under way: what it has found.
class ContractRun {
 public:
  ContractRun(OpenSubject open, bool keeps_bytes) : open_(std::move(open)), keeps_bytes_(keeps_bytes) {}

  // For reading and writing; null where that failed, which is noted.
  std::unique_ptr<Storage> open(bool create = true, const WriterGroup& group = {});
  bool keeps_bytes() const { return keeps_bytes_; }   // false: what is read is zero

  // Note what doesn't hold, in words; return whether it does.
  bool expect(bool holds, const std::string& what);
  bool expect(const Status& status, const std::string& what);
  bool equals(const Result<i64>& got, i64 want, const std::string& what);
  void skip(const std::string& why) { skipped_ = why; }

  const std::vector<std::string>& failures() const { return failures_; }
  const std::string& skipped() const { return skipped_; }   // why; empty: it wasn't

 private:
  const OpenSubject open_;
  const bool keeps_bytes_;
  std::vector<std::string> failures_;
  std::string skipped_;
};

struct ContractCheck {
  const char* name;       // as an identifier
  const char* sentence;   // what must hold
  void (*run)(ContractRun& run);
};

const std::vector<ContractCheck>& contract_checks();

}  // namespace mercutio
