// File systems by the magic number of statfs(2).
#include "storage/posix/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

#include "storage/posix/lustre.h"

namespace mercutio::posix {
namespace {

struct Known {
  unsigned long magic;
  const char* name;
  bool visibility_immediate;
  bool sparse_files;
  bool local;   // no other machine has it mounted: sizes and locks are answered by this kernel
};

constexpr Known kKnown[] = {
    {0xEF53, "ext4", true, true, true},        {0x58465342, "xfs", true, true, true},
    {0x9123683E, "btrfs", true, true, true},   {0x01021994, "tmpfs", true, true, true},
    {0x6969, "nfs", false, true, false},        {static_cast<unsigned long>(kLustreMagic), "lustre", true, true, false},
    {0x47504653, "gpfs", true, true, false},    {0x65735546, "fuse", true, true, false},
    {0x00C36400, "ceph", true, true, false},    {0x19830326, "beegfs", true, true, false},
    {0x794C7630, "overlay", true, true, true}, {0x2FC12FC1, "zfs", true, true, true},
    {0x01161970, "gfs2", true, true, false},    {0x7461636F, "ocfs2", true, true, false},
    {0xAAD7AAEA, "panfs", true, true, false},   {0x20030528, "pvfs2", true, true, false},
    {0xFF534D42, "cifs", false, true, false},   {0xFE534D42, "smb2", false, true, false},
    {0x01021997, "9p", true, true, false},      {0x858458F6, "ramfs", true, true, true},
    {0x4D44, "vfat", true, false, true},       {0x2011BAB0, "exfat", true, false, true},
    {0x5346414F, "afs", false, true, false},    {0xF2F52010, "f2fs", true, true, true},
};

bool locks_work(int fd) {
  struct flock query {};
  query.l_type = (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? F_RDLCK : F_WRLCK;
  query.l_whence = SEEK_SET;
  query.l_len = 1;
  return ::fcntl(fd, F_OFD_GETLK, &query) == 0 || !lock_refused(errno);
}

}  // namespace

bool lock_refused(int sys_errno) {
  return sys_errno == ENOLCK || sys_errno == EOPNOTSUPP || sys_errno == EINVAL || sys_errno == ENOSYS;
}

Traits traits_of(int fd) {
  Traits traits;
  traits.file_system = "unknown";
  traits.metadata_is_remote = true;
  struct statfs info {};
  if (::fstatfs(fd, &info) == 0) {
    for (const Known& known : kKnown) {
      if (known.magic != (static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFUL)) continue;
      traits.file_system = known.name;
      traits.visibility_immediate = known.visibility_immediate;
      traits.sparse_files = known.sparse_files;
      traits.metadata_is_remote = !known.local;
    }
    if (info.f_bsize > 0) traits.block_bytes = info.f_bsize;
  }
  struct stat status {};
  if (::fstat(fd, &status) == 0 && status.st_blksize > 0) traits.block_bytes = status.st_blksize;
  traits.can_lock = locks_work(fd);
  return traits;
}

bool is_on_lustre(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct statfs info {};
  return ::statfs(folder.c_str(), &info) == 0 && info.f_type == kLustreMagic;
}

bool is_on_lustre(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 && info.f_type == kLustreMagic;
}

}  // namespace mercutio::posix
