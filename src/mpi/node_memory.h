// Memory mapped by all ranks of a communicator on one node. Nothing is left behind, not even after a crash: it is an
// anonymous file of rank 0 that the others open through /proc, or, where they may not (containers with process namespaces
// of their own), a file in /dev/shm or /tmp that is unlinked as soon as all have mapped it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

// How the other ranks find what one has made. Travels as bytes.
struct MemoryPlace {
  char path[256] = "";   // empty: it could not be made
  std::int64_t device = 0, inode = 0, bytes = 0;
};

// Memory that one rank of the node offers and all map. It is to be kept until all have mapped it.
class OfferedMemory {
 public:
  OfferedMemory() = default;
  OfferedMemory(const OfferedMemory&) = delete;
  OfferedMemory& operator=(const OfferedMemory&) = delete;
  ~OfferedMemory();
  enum class Kind { kAnonymous, kNamed };
  MemoryPlace offer(Kind kind, i64 bytes);                    // on the rank that makes it
  std::shared_ptr<NodeMemory> map(const MemoryPlace& place);   // on all; null: not possible

 private:
  MemoryPlace offer_anonymous(i64 bytes);
  MemoryPlace offer_named(i64 bytes);
  int fd_ = -1;
  std::string name_;   // to be removed
};

// Collective over `comm`, whose ranks sit on one node; all get it or none does. Zero at first, pages come when touched.
Result<std::shared_ptr<NodeMemory>> make_node_memory(MPI_Comm comm, i64 bytes);

}  // namespace mercutio
