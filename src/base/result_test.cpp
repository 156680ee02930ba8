// Errors made from errno: class, text, and that every class has its MPI name.
#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace mercutio {
namespace {

TEST(Result, ErrnoDecidesTheClass) {
  const std::pair<int, ErrorClass> expected[] = {
      {ENOENT, ErrorClass::kNoSuchFile}, {EEXIST, ErrorClass::kFileExists}, {EACCES, ErrorClass::kAccess},
      {EPERM, ErrorClass::kAccess},      {EROFS, ErrorClass::kReadOnly},    {ENOSPC, ErrorClass::kNoSpace},
      {EDQUOT, ErrorClass::kQuota},      {EISDIR, ErrorClass::kBadFile},    {ENAMETOOLONG, ErrorClass::kBadFile},
      {ETXTBSY, ErrorClass::kFileInUse}, {ENOMEM, ErrorClass::kNoMem},      {EIO, ErrorClass::kIo},
      {123456, ErrorClass::kIo}};
  for (const auto& [number, cls] : expected) EXPECT_EQ(class_from_errno(number), cls) << number;
}

TEST(Result, ErrorTextNamesTheCallAndTheErrno) {
  const Error error = error_from_errno("pwrite", ENOSPC, 4096, 512);
  EXPECT_NE(error.what.find("pwrite: No space left on device (ENOSPC); "), std::string::npos) << error.what;
  EXPECT_EQ(error.sys_errno, ENOSPC);
  EXPECT_EQ(error.offset, 4096);
  EXPECT_EQ(error.bytes, 512);
  EXPECT_NE(error_from_errno("lock", EAGAIN).what.find("(EAGAIN)"), std::string::npos);
  EXPECT_NE(error_from_errno("lock", EDEADLK).what.find("(EDEADLK)"), std::string::npos);
  for (int number = 1; number <= EHWPOISON; ++number) {   // 41 and 58 are no errno on most processors
    const bool has_name = error_from_errno("call", number).what.find("(E") != std::string::npos;
    EXPECT_TRUE(has_name || error_from_errno("call", number).what.find("Unknown error") != std::string::npos) << number;
  }
  EXPECT_NE(error_from_errno("call", 123456).what.find("errno 123456"), std::string::npos);
  EXPECT_EQ(error_from_errno("call", 0).cls, ErrorClass::kIo);
}

TEST(Result, ClassNamesAreDistinct) {
  std::set<std::string> names;
  const int last = static_cast<int>(ErrorClass::kOther);
  for (int i = 0; i <= last; ++i) names.insert(error_class_name(static_cast<ErrorClass>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_EQ(names.count("MPI_ERR_UNKNOWN"), 0U);
}

Result<int> half(int n) {
  if (n % 2) return Error{ErrorClass::kArg, "odd"};
  return n / 2;
}

Result<int> quarter(int n) {
  MERCUTIO_LET(const int once, half(n));
  MERCUTIO_TRY(half(once));
  return half(once);
}

TEST(Result, TryPassesTheErrorUp) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).error().what, "odd");
  EXPECT_EQ(quarter(3).error().cls, ErrorClass::kArg);
}

}  // namespace
}  // namespace mercutio
