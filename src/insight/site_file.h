// The file of a job's record in a place for all users: its name from a pattern, and how it is made there without harm.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mercutio {

struct SiteFacts {
  std::string user, job, host, program;
  i64 uid = 0;
  i64 start = 0;  // seconds since 1970
};

// %u user, %U its number, %j job, %h host, %p program, %d date (2026-11-25), %Y year, %M month, %D day, %%: a percent sign. What is put
// in can't change the folder: of other characters than letters, digits, ".", "_" and "-" each becomes "_". A pattern that ends in "/",
// or is a folder, gets "%u-%j-%p". The name ends in ".mjob".
Result<std::string> site_path(const std::string& pattern, const SiteFacts& facts);

// As a part of a name: at most 64 characters of these, none that hides the file or leads out of its folder; "none" of nothing.
std::string harmless(std::string_view value);

// Makes the folders, with the permissions of the one that they are in, and a new file, never through a symbolic link. Where there is one
// of this name, a number is added. Only its owner reads it, and the group of its folder if that hands its group on (setgid).
Status write_site_file(const std::string& path, const std::string& text);

}  // namespace mercutio
