// Memory mapped by all ranks of a communicator on one node. No file remains, even after a crash: the memory is an anonymous file of
// rank 0 that the others open through /proc. If they may not (containers with separate process namespaces), it is a file in
// /dev/shm or /tmp that is unlinked as soon as all ranks have mapped it. Memory of one rank alone is no file.
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

 private:
  std::byte* data_;
  i64 bytes_;
};

// How the other ranks find the memory that one rank has created. Sent as bytes, also to ranks of other nodes, where the same path may name something else.
struct MemoryPlace {
  char path[64] = "";   // empty: it could not be created
  std::int64_t device = 0, inode = 0, bytes = 0;
  std::int64_t token = 0;   // a random number, which follows the memory in its file
};

// Memory that one rank of the node offers and all ranks map. It must be kept until all ranks have mapped it.
class OfferedMemory {
 public:
  OfferedMemory() = default;
  OfferedMemory(const OfferedMemory&) = delete;
  OfferedMemory& operator=(const OfferedMemory&) = delete;
  ~OfferedMemory();
  enum class Kind { kAnonymous, kNamed };
  MemoryPlace offer(Kind kind, i64 bytes);                    // on the rank that creates it
  std::shared_ptr<NodeMemory> map(const MemoryPlace& place);   // on all ranks; null: not possible

 private:
  MemoryPlace offer_anonymous(i64 bytes);
  MemoryPlace offer_named(i64 bytes);
  int fd_ = -1;
  std::string name_;   // to be unlinked
};

// Collective over `comm`, whose ranks are on one node. Either all ranks get the memory or all get an Error. It is zeroed; pages are
// allocated when they are touched.
Result<std::shared_ptr<NodeMemory>> make_node_memory(MPI_Comm comm, i64 bytes);

}  // namespace mercutio
