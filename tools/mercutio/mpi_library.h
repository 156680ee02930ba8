// Which MPI library a program uses, without running it.
#pragma once

#include <string>

#include "launcher.h"

namespace mercutio::tool {

struct MpiLibrary {
  std::string path;     // full path of libmpi; empty when unknown
  std::string flavour;  // "mpich", "openmpi", "abi"; empty when unknown
  std::string why;      // where it was found, or why not
};

// By the program's dynamic dependencies (asks ld.so by way of ldd).
MpiLibrary library_of_program(const std::string& program);

// By the launcher: the library beside it, else the one ld.so finds.
MpiLibrary library_of_launcher(const std::string& launcher, bool is_openmpi);

// Why this launcher starts each process of a program of this flavour as a job of one rank; empty: it needn't.
std::string wrong_launcher(const std::string& launcher, LauncherKind kind, const std::string& flavour);

// The flavour a library of this file name belongs to; empty when it is none.
std::string flavour_of_library(const std::string& file_name);

}  // namespace mercutio::tool
