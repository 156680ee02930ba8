#include "mpi/node_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/file_limit.h"
#include "base/random.h"

namespace mercutio {
namespace {

// The location of the memory that rank 0 created.
struct Place {
  char path[256] = "";   // empty: it could not be created
  long long device = 0, inode = 0;
};

Place place_of(int fd, const std::string& path) {
  Place place;
  struct stat status {};
  if (fstat(fd, &status) != 0) return place;
  std::snprintf(place.path, sizeof place.path, "%s", path.c_str());
  place.device = static_cast<long long>(status.st_dev);
  place.inode = static_cast<long long>(status.st_ino);
  return place;
}

Place make_anonymous(int& fd, i64 bytes) {
  fd = file_size_allowed(bytes) ? memfd_create("mercutio", MFD_CLOEXEC) : -1;
  if (fd < 0 || ftruncate(fd, bytes) != 0) return {};
  return place_of(fd, "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd));
}

// Allocates the space at once, so that a full /dev/shm is an error here and not a signal later.
Place make_named(int& fd, i64 bytes) {
  char name[64];
  std::snprintf(name, sizeof name, "/mercutio-%lx-%016llx", static_cast<long>(getpid()), static_cast<unsigned long long>(random_number()));
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    const std::string path = std::string(folder) + name;
    fd = file_size_allowed(bytes) ? ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0) continue;
    if (posix_fallocate(fd, 0, bytes) == 0) return place_of(fd, path);
    ::close(fd);
    ::unlink(path.c_str());
  }
  fd = -1;
  return {};
}

int open_place(const Place& place) {
  const int fd = ::open(place.path, O_RDWR | O_CLOEXEC);
  const Place found = fd >= 0 ? place_of(fd, place.path) : Place{};
  if (fd >= 0 && found.device == place.device && found.inode == place.inode) return fd;
  if (fd >= 0) ::close(fd);   // in another process namespace the path may be another process's file
  return -1;
}

template <class Make>
std::shared_ptr<NodeMemory> share(MPI_Comm comm, i64 bytes, bool named, Make make) {
  int rank = 0, fd = -1;
  PMPI_Comm_rank(comm, &rank);
  Place place;
  if (rank == 0) place = make(fd, bytes);
  PMPI_Bcast(&place, sizeof place, MPI_BYTE, 0, comm);
  if (rank != 0 && place.path[0]) fd = open_place(place);
  void* at = MAP_FAILED;
  if (fd >= 0 && place.path[0])
    at = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  std::shared_ptr<NodeMemory> memory;
  if (at != MAP_FAILED) memory = std::make_shared<NodeMemory>(static_cast<std::byte*>(at), bytes);
  int mine = memory != nullptr, all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm);   // also ensures that every rank has opened it
  if (fd >= 0) ::close(fd);
  if (rank == 0 && named && place.path[0]) ::unlink(place.path);
  return all ? memory : nullptr;
}

}  // namespace

NodeMemory::~NodeMemory() { munmap(data_, static_cast<std::size_t>(bytes_)); }

Result<std::shared_ptr<NodeMemory>> make_node_memory(MPI_Comm comm, i64 bytes) {
  auto memory = share(comm, bytes, false, make_anonymous);
  if (!memory) memory = share(comm, bytes, true, make_named);
  if (!memory) return Error{ErrorClass::kUnsupportedOperation, "the ranks of this node can't share memory"};
  return memory;
}

}  // namespace mercutio
