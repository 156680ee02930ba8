// Each check does the thing itself on a small scale; nothing is concluded from version numbers.
#include "machine.h"

#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "scratch.h"

namespace mercutio::tool {
namespace {

std::string file_system_name(long magic) {
  static constexpr std::pair<long, const char*> kNames[] = {
      {0xEF53, "ext4"},         {0x58465342, "xfs"},    {0x9123683E, "btrfs"},     {0x01021994, "tmpfs"},
      {0x6969, "nfs"},          {0x0BD00BD0, "lustre"}, {0x47504653, "gpfs"},      {0x19830326, "beegfs"},
      {0x00C36400, "ceph"},     {0x65735546, "fuse"},   {0x794C7630, "overlayfs"}, {0x2FC12FC1, "zfs"},
      {0x20030528, "orangefs"}, {0x73757245, "coda"},   {0xFF534D42, "cifs"},      {0x01021997, "9p"},
      {0x858458F6, "ramfs"},    {0xAAD7AAEA, "panfs"}};
  for (const auto& [known, name] : kNames) {
    if (known == magic) return name;
  }
  char text[32];
  snprintf(text, sizeof text, "unknown (0x%lx)", magic);
  return text;
}

std::string gibibytes(double bytes) {
  char text[32];
  snprintf(text, sizeof text, "%.1f GiB", bytes / (1024.0 * 1024.0 * 1024.0));
  return text;
}

std::string because(int error) {
  return std::string(": ") + std::strerror(error);
}

// True when a second process sees the first one's lock and is refused.
int child_sees_lock(int fd) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    struct flock other {};
    other.l_type = F_WRLCK;
    other.l_len = 8;
    const bool refused = fcntl(fd, F_SETLK, &other) != 0 && (errno == EAGAIN || errno == EACCES);
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
}

std::string sysctl_text(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

}  // namespace

Finding check_directory(const std::string& directory) {
  struct statfs info {};
  if (statfs(directory.c_str(), &info) != 0) return {Verdict::kProblem, "file system", directory + because(errno)};
  const double free_bytes = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_bsize);
  const std::string what = file_system_name(static_cast<long>(info.f_type)) + " at " + directory;
  const ScratchFile scratch(directory, "doctor");
  if (scratch.fd() < 0)
    return {Verdict::kProblem, "file system", what + ", cannot create files" + because(scratch.error())};
  if (pwrite(scratch.fd(), "mercutio", 8, 0) != 8) {
    return {Verdict::kProblem, "file system", what + ", cannot write" + because(errno)};
  }
  if (info.f_bavail == 0) return {Verdict::kProblem, "file system", what + ", is full"};
  return {Verdict::kOk, "file system", what + ", " + gibibytes(free_bytes) + " free"};
}

Finding check_locks(const std::string& directory) {
  const ScratchFile scratch(directory, "doctor");
  if (scratch.fd() < 0) return {Verdict::kProblem, "range locks", "no file to try them on" + because(scratch.error())};
  struct flock mine {};
  mine.l_type = F_WRLCK;
  mine.l_len = 8;
  if (fcntl(scratch.fd(), F_SETLK, &mine) != 0) {
    return {Verdict::kNote, "range locks",
            "not supported here" + because(errno) +
                "; in atomic mode the ranks take turns, or it is refused, and writes with gaps are not merged"};
  }
  if (child_sees_lock(scratch.fd()) != 1) {
    return {Verdict::kNote, "range locks",
            "accepted, but another process does not see them (mounted with local locks?)"};
  }
  return {Verdict::kOk, "range locks", "work between processes"};
}

Finding check_preallocation(const std::string& directory) {
  const ScratchFile scratch(directory, "doctor");
  if (scratch.fd() < 0) return {Verdict::kProblem, "preallocation", "no file to try it on" + because(scratch.error())};
  if (fallocate(scratch.fd(), 0, 0, 65536) == 0) return {Verdict::kOk, "preallocation", "fallocate works"};
  const bool unknown = errno == EOPNOTSUPP || errno == ENOSYS;
  if (!unknown) return {Verdict::kProblem, "preallocation", "fallocate fails" + because(errno) + ", and so does MPI_File_preallocate"};
  return {Verdict::kNote, "preallocation", "no fallocate" + because(errno) + "; MPI_File_preallocate writes instead"};
}

Finding check_io_uring() {
  io_uring_params parameters{};
  const long fd = syscall(SYS_io_uring_setup, 1, &parameters);
  if (fd >= 0) {
    close(static_cast<int>(fd));
    return {Verdict::kOk, "io_uring", "usable"};
  }
  const int error = errno;
  const std::string disabled = sysctl_text("/proc/sys/kernel/io_uring_disabled");
  std::string why = because(error);
  if (!disabled.empty() && disabled != "0")
    why += " (kernel.io_uring_disabled=" + disabled + ")";
  else if (error == EPERM)
    why += " (a seccomp filter, as in many containers)";
  return {Verdict::kNote, "io_uring", "not usable" + why + "; threads are used instead"};
}

Finding check_shared_memory() {
  struct statfs info {};
  if (statfs("/dev/shm", &info) != 0) return {Verdict::kProblem, "shared memory", "/dev/shm" + because(errno)};
  const ScratchFile scratch("/dev/shm", "doctor");
  if (scratch.fd() < 0)
    return {Verdict::kProblem, "shared memory", "cannot create a segment" + because(scratch.error())};
  if (ftruncate(scratch.fd(), 65536) != 0)
    return {Verdict::kProblem, "shared memory", "cannot size a segment" + because(errno)};
  void* memory = mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, scratch.fd(), 0);
  if (memory == MAP_FAILED) return {Verdict::kProblem, "shared memory", "cannot map a segment" + because(errno)};
  munmap(memory, 65536);
  const double free_bytes = static_cast<double>(info.f_bavail) * static_cast<double>(info.f_bsize);
  if (free_bytes < 64.0 * 1024 * 1024) {
    return {Verdict::kNote, "shared memory",
            "only " + gibibytes(free_bytes) + " left in /dev/shm; give the container more"};
  }
  return {Verdict::kOk, "shared memory", gibibytes(free_bytes) + " free in /dev/shm"};
}

}  // namespace mercutio::tool
