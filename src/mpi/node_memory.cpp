#include "mpi/node_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "base/file_limit.h"
#include "base/random.h"

namespace mercutio {
namespace {

constexpr i64 kTokenBytes = sizeof(MemoryPlace::token);

bool is_at(const MemoryPlace& place, const struct stat& status) {
  return status.st_dev == static_cast<dev_t>(place.device) && status.st_ino == static_cast<ino_t>(place.inode);
}

// Of a new file. Writes the token behind the memory.
MemoryPlace place_of(int fd, const std::string& path, i64 bytes) {
  MemoryPlace place;
  struct stat status {};
  place.token = static_cast<std::int64_t>(random_number());
  if (fstat(fd, &status) != 0 || ::pwrite(fd, &place.token, sizeof place.token, bytes) != sizeof place.token) return {};
  std::snprintf(place.path, sizeof place.path, "%s", path.c_str());
  place.device = static_cast<std::int64_t>(status.st_dev);
  place.inode = static_cast<std::int64_t>(status.st_ino);
  place.bytes = bytes;
  return place;
}

// In another process namespace or on another node the path may be another process's file, which is not to be opened; and the numbers may be the same.
int open_place(const MemoryPlace& place) {
  struct stat status {};
  std::int64_t token = 0;
  if (::stat(place.path, &status) != 0 || !is_at(place, status)) return -1;
  const int fd = ::open(place.path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return -1;
  if (::pread(fd, &token, sizeof token, place.bytes) == sizeof token && token == place.token) return fd;
  ::close(fd);
  return -1;
}

std::shared_ptr<NodeMemory> mapped(i64 bytes, int kind, int fd) {
  void* const at = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, kind | MAP_NORESERVE, fd, 0);
  return at == MAP_FAILED ? nullptr : std::make_shared<NodeMemory>(static_cast<std::byte*>(at), bytes);
}

std::shared_ptr<NodeMemory> share(MPI_Comm comm, i64 bytes, OfferedMemory::Kind kind) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  OfferedMemory offered;
  MemoryPlace place;
  if (rank == 0) place = offered.offer(kind, bytes);
  PMPI_Bcast(&place, sizeof place, MPI_BYTE, 0, comm);
  auto memory = offered.map(place);
  int mine = memory != nullptr, all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);   // also: everybody has opened it
  return all ? memory : nullptr;
}

}  // namespace

OfferedMemory::~OfferedMemory() {
  if (fd_ >= 0) ::close(fd_);
  if (!name_.empty()) ::unlink(name_.c_str());
}

MemoryPlace OfferedMemory::offer(Kind kind, i64 bytes) { return kind == Kind::kAnonymous ? offer_anonymous(bytes) : offer_named(bytes); }

MemoryPlace OfferedMemory::offer_anonymous(i64 bytes) {
  fd_ = file_size_allowed(bytes + kTokenBytes) ? memfd_create("mercutio", MFD_CLOEXEC) : -1;
  if (fd_ < 0 || ftruncate(fd_, bytes) != 0) return {};
  return place_of(fd_, "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_), bytes);
}

// The space is taken at once: a full /dev/shm must be an error here, not a signal later.
MemoryPlace OfferedMemory::offer_named(i64 bytes) {
  const std::string name = random_file_name();
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    const std::string path = folder + name;
    fd_ = file_size_allowed(bytes + kTokenBytes) ? ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd_ < 0) continue;
    name_ = path;
    if (posix_fallocate(fd_, 0, bytes) == 0) return place_of(fd_, path, bytes);
    ::close(std::exchange(fd_, -1));
    ::unlink(name_.c_str());
    name_.clear();
  }
  return {};
}

std::shared_ptr<NodeMemory> OfferedMemory::map(const MemoryPlace& place) {
  if (!place.path[0]) return nullptr;
  if (fd_ < 0) fd_ = open_place(place);
  if (fd_ < 0) return nullptr;
  return mapped(place.bytes, MAP_SHARED, fd_);
}

NodeMemory::~NodeMemory() { munmap(data_, static_cast<std::size_t>(bytes_)); }

Result<std::shared_ptr<NodeMemory>> make_node_memory(MPI_Comm comm, i64 bytes) {
  int size = 1;
  PMPI_Comm_size(comm, &size);
  auto memory = size == 1 ? mapped(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1) : share(comm, bytes, OfferedMemory::Kind::kAnonymous);
  if (!memory && size > 1) memory = share(comm, bytes, OfferedMemory::Kind::kNamed);
  if (!memory) return Error{ErrorClass::kUnsupportedOperation, "the ranks of this node can't share memory"};
  return memory;
}

}  // namespace mercutio
