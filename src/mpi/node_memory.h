// Memory mapped by all ranks of a communicator on one node. Nothing is left behind, not even after a crash: it is an
// anonymous file of rank 0 that the others open through /proc, or, where they may not (containers with process namespaces
// of their own), a file in /dev/shm or /tmp that is unlinked as soon as all have mapped it.
#pragma once

#include <memory>

#include "base/result.h"
#include "mpi/mpi_header.h"

namespace mercutio {

class NodeMemory {
 public:
  NodeMemory(std::byte* data, i64 bytes) : data_(data), bytes_(bytes) {}
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  ~NodeMemory();
  std::byte* data() const { return data_; }
  i64 bytes() const { return bytes_; }

 private:
  std::byte* data_;
  i64 bytes_;
};

// Collective over `comm`, whose ranks sit on one node; all get it or none does. Zero at first, pages come when touched.
Result<std::shared_ptr<NodeMemory>> make_node_memory(MPI_Comm comm, i64 bytes);

}  // namespace mercutio
