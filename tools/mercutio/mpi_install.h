// An MPI as its launcher shows it: which it is, the compiler wrapper beside it, and what both need to be told when it does not
// lie in the system's folders.
#pragma once

#include <string>

#include "launcher.h"

namespace mercutio::tool {

struct Mpi {
  std::string name;      // "mpich-4.0.2"
  std::string launcher;
  std::string folder;    // where the launcher lies, as it was found
  LauncherKind kind = LauncherKind::kNone;
  std::string prefix;  // of an MPI outside the system's folders; else empty
};

Mpi describe_mpi(const std::string& launcher);  // a full path

// What its compiler and its launcher need in their environment: "env" and variables.
Words surroundings(const Mpi& mpi, bool crowded);

// Makes `program` of C sources in share/mercutio/<folder>, named without their .c, if it isn't there already. "", or why not.
std::string compile_program(const Mpi& mpi, const std::string& folder, const Words& sources, const std::string& program);

}  // namespace mercutio::tool
