// The types of a program as MPI datatypes, made when they are first asked for.
#pragma once

#include <mpi.h>

#include <vector>

#include "program.h"

namespace mercutio::programs {

class MpiTypes {
 public:
  explicit MpiTypes(const Program& program);
  ~MpiTypes();
  MpiTypes(const MpiTypes&) = delete;
  MpiTypes& operator=(const MpiTypes&) = delete;
  [[nodiscard]] MPI_Datatype get(int type);            // not committed: made of others only
  [[nodiscard]] MPI_Datatype get_committed(int type);

 private:
  struct Made {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    bool committed = false;
  };
  [[nodiscard]] MPI_Datatype make(const Type& type);
  [[nodiscard]] MPI_Datatype make_blocks(const Type& type, MPI_Datatype inner);
  [[nodiscard]] MPI_Datatype make_array(const Type& type, MPI_Datatype inner);

  const Program& program_;
  std::vector<Made> made_;
};

}  // namespace mercutio::programs
