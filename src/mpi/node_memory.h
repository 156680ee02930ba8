// Memory mapped by all ranks of a communicator on one node. No file remains, even after a crash: the memory is an anonymous file of
// rank 0 that the others open through /proc. If they may not (containers with separate process namespaces), it is a file in
// /dev/shm or /tmp that is unlinked as soon as all ranks have mapped it.
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

// Collective over `comm`, whose ranks are on one node. Either all ranks get the memory or all get an Error. It is zeroed; pages are
// allocated when they are touched.
Result<std::shared_ptr<NodeMemory>> make_node_memory(MPI_Comm comm, i64 bytes);

}  // namespace mercutio
