// File systems by the magic number of statfs(2), FUSE's by the type of their mount. What is known of each, and how it was
// found, is in docs/centres/storage.md.
#include "storage/posix/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string_view>

#include "base/absolute_path.h"
#include "base/file_text.h"
#include "base/hash.h"
#include "base/split.h"
#include "storage/posix/lustre.h"

namespace mercutio::posix {
namespace {

constexpr auto kImmediate = Coherence::kImmediate, kAfterOpen = Coherence::kAfterOpen, kUnknown = Coherence::kUnknown;
constexpr auto kDirect = CoherenceWay::kDirect, kNone = CoherenceWay::kNone;
constexpr auto kLustre = static_cast<unsigned long>(kLustreMagic);
constexpr unsigned long kNfs = 0x6969, kCifs = 0xFF534D42, kSmb2 = 0xFE534D42, kNineP = 0x01021997, kPvfs2 = 0x20030528;

struct Known {
  unsigned long magic;
  std::string_view name;
  Coherence coherence;   // through the page cache
  CoherenceWay way;      // what makes it coherent
  bool sparse_files;
  bool local;            // no other machine has it mounted: sizes and locks are answered by this kernel
};

constexpr Known kKnown[] = {
    {0xEF53, "ext4", kImmediate, kNone, true, true},
    {0x58465342, "xfs", kImmediate, kNone, true, true},
    {0x9123683E, "btrfs", kImmediate, kNone, true, true},
    {0x01021994, "tmpfs", kImmediate, kNone, true, true},
    {kNfs, "nfs", kAfterOpen, kDirect, true, false},
    {kLustre, "lustre", kImmediate, kNone, true, false},
    {0x47504653, "gpfs", kImmediate, kNone, true, false},
    {kFuseMagic, "fuse", kUnknown, kNone, true, false},
    {kCephMagic, "ceph", kImmediate, kNone, true, false},
    {0x19830326, "beegfs", kImmediate, kNone, true, false},
    {0x794C7630, "overlay", kImmediate, kNone, true, true},
    {0x2FC12FC1, "zfs", kImmediate, kNone, true, true},
    {0x01161970, "gfs2", kImmediate, kNone, true, false},
    {0x7461636F, "ocfs2", kImmediate, kNone, true, false},
    {0xAAD7AAEA, "panfs", kImmediate, kNone, true, false},
    {kPvfs2, "pvfs2", kAfterOpen, kDirect, true, false},
    {kCifs, "cifs", kImmediate, kNone, true, false},
    {kSmb2, "smb2", kImmediate, kNone, true, false},
    {kNineP, "9p", kImmediate, kNone, true, false},
    {0x858458F6, "ramfs", kImmediate, kNone, true, true},
    {0x4D44, "vfat", kImmediate, kNone, false, true},
    {0x2011BAB0, "exfat", kImmediate, kNone, false, true},
    {0x5346414F, "afs", kAfterOpen, kNone, true, false},   // OpenAFS
    {0x6B414653, "afs", kAfterOpen, kNone, true, false},   // the kernel's
    {0xF2F52010, "f2fs", kImmediate, kNone, true, true},
};

struct KnownFuse {
  std::string_view type;   // of the mount
  Coherence coherence;     // through the page cache of the kernel
  CoherenceWay way;
  bool locks_between_nodes;
  std::string_view advice;
  bool can_merge = true;
  bool is_told_at_open = false;   // its process has a cache too, which it passes for files that were opened with O_DIRECT
  bool keeps_data = false;        // its process has caches that O_DIRECT does not pass
};

constexpr KnownFuse kKnownFuse[] = {
    {"fuse.glusterfs", kAfterOpen, kDirect, true, ""},
    {"fuse.ceph-fuse", kAfterOpen, kDirect, true, "", false, true},
    {"fuse.mfs", kAfterOpen, kDirect, true, "", true, false, true},
    {"fuse.juicefs", kAfterOpen, kNone, true,
     "JuiceFS shows what other nodes wrote only after the file was closed and opened again: write from the ranks of one node"},
    {"fuse.sshfs", kAfterOpen, kNone, false, "sshfs keeps data and sizes in each node and has no locks: write from the ranks of one node"},
    {"fuse.s3fs", kAfterOpen, kNone, false, "s3fs uploads whole files at close: write from the ranks of one node"},
    {"fuse.rclone", kAfterOpen, kNone, false, "rclone uploads whole files at close: write from the ranks of one node"},
    {"fuse.gcsfuse", kAfterOpen, kNone, false, "gcsfuse uploads whole files at close: write from the ranks of one node"},
    {"fuse.bindfs", kImmediate, kNone, true, ""},
    {"fuse.fuse-overlayfs", kImmediate, kNone, true, ""},
    {"fuse.mergerfs", kImmediate, kNone, true, ""},
    {"fuseblk", kImmediate, kNone, true, ""},
    {"virtiofs", kImmediate, kNone, true, ""},
};

constexpr std::string_view kUnknownAdvice = "what other nodes see of a write isn't known for this file system: `mercutio doctor --dir FOLDER -- mpirun ...` on two nodes measures it";

// What caches in the client of GlusterFS, by its name in the client's graph, and the volume's option for it.
constexpr struct {
  std::string_view name, option;
} kGlusterCaches[] = {{"-write-behind", "write-behind"}, {"-io-cache", "io-cache"}, {"-quick-read", "quick-read"}, {"-read-ahead", "read-ahead"}, {"-md-cache", "stat-prefetch"}};

// The command that switches off the caches that are there; "" where there is none. All of them where the graph can't be read. An error of MPI
// may have 255 characters.
std::string gluster_advice(const std::string& mount_point) {
  std::error_code failed;
  std::filesystem::directory_iterator entry(mount_point + "/.meta/graphs/active", failed);
  const bool unknown = static_cast<bool>(failed);
  bool there[std::size(kGlusterCaches)] = {};
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    for (size_t i = 0; i < std::size(kGlusterCaches); ++i) there[i] |= entry->path().filename().string().ends_with(kGlusterCaches[i].name);
  std::string advice;
  for (size_t i = 0; i < std::size(kGlusterCaches); ++i)
    if (unknown || there[i]) advice += advice.empty() ? "gluster volume set VOLUME performance." + std::string(kGlusterCaches[i].option) + " off" : ", and " + std::string(kGlusterCaches[i].option);
  return advice;
}

void set_gluster_traits(const Mount& mount, Traits& traits) {
  const std::string advice = gluster_advice(mount.point);
  if (advice.empty()) return;
  traits.way = kNone;
  traits.coherence_advice = advice;
}

void set_fuse_traits(const Mount& mount, Traits& traits) {
  traits.file_system = mount.type;
  traits.locks_between_nodes = false;
  traits.coherence_advice = kUnknownAdvice;
  for (const KnownFuse& known : kKnownFuse) {
    if (known.type != mount.type) continue;
    traits.coherence = known.coherence;
    traits.way = known.way;
    traits.locks_between_nodes = known.locks_between_nodes;
    traits.can_merge = known.can_merge;
    traits.coherence_advice = known.advice;
  }
  if (mount.type == "fuse.glusterfs") set_gluster_traits(mount, traits);
}

std::optional<Mount> mount_of_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? mount_of(status.st_dev) : std::nullopt;
}

// With the mount option local_lock there are locks, which stay on each node.
void look_at_pvfs2(Traits& traits) {
  traits.locks_between_nodes = traits.can_merge = false;
  traits.coherence_advice = "PVFS2 has no locks between nodes. Without the mount, as pvfs2:/MOUNT/POINT/path, nothing is kept on the nodes";
}

// Whether an option of CIFS or 9p lets a node keep data that others may change. Linux shows that of 9p as "cache=mmap", without "cache=", or since 6.4
// as "cache=" and a number.
bool keeps_data(std::string_view option) {
  constexpr std::string_view kCache = "cache=", kKept[] = {"loose", "fscache", "mmap", "readahead", "singleclient"};
  const bool named = option.starts_with(kCache);
  if (named) option.remove_prefix(kCache.size());
  if (std::find(std::begin(kKept), std::end(kKept), option) != std::end(kKept)) return true;
  return named && option.find_first_not_of("0123456789abcdef") == std::string_view::npos && option.find_first_not_of('0') != std::string_view::npos;
}

// Of the running kernel; 0: not known, as there may be no descriptor left to ask with.
std::uint64_t boot_number() {
  static std::atomic<std::uint64_t> known{0};
  if (const std::uint64_t number = known.load(std::memory_order_relaxed)) return number;
  const auto id = text_of_file("/proc/sys/kernel/random/boot_id");
  if (!id || id->empty()) return 0;
  const std::uint64_t number = std::hash<std::string_view>()(std::string_view(*id).substr(0, id->find('\n'))) | 1;
  known.store(number, std::memory_order_relaxed);
  return number;
}

// A file system of this machine's own has other files than those with the same numbers on other machines. 0: it is not known which machine this is.
i64 number_of(const struct stat& status, const Traits& traits) {
  std::uint64_t system = 0;
  if (!traits.metadata_is_remote) {
    const std::uint64_t boot = boot_number();
    if (boot == 0) return 0;
    system = mix_hash(boot, status.st_dev);
  }
  return static_cast<i64>(mix_hash(system, status.st_ino) >> 1 | 1);
}

bool locks_work(int fd) {
  struct flock query {};
  query.l_type = (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? F_RDLCK : F_WRLCK;
  query.l_whence = SEEK_SET;
  query.l_len = 1;
  return ::fcntl(fd, F_OFD_GETLK, &query) == 0 || !lock_refused(errno);
}

// Locks of all local file systems are the kernel's own, so it is asked once.
bool local_locks_work(int fd) {
  static const bool works = locks_work(fd);
  return works;
}

// Puts the same file, opened with O_DIRECT, in place of a descriptor. The name in /proc is a link.
bool open_direct(int fd, int flags) {
  const int again = open_again(fd, flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW));
  if (again < 0) return false;
  const bool replaced = ::dup3(again, fd, O_CLOEXEC) >= 0;
  ::close(again);
  return replaced;
}

bool is_fuse_that(std::string_view file_system, bool KnownFuse::*trait) {
  return std::any_of(std::begin(kKnownFuse), std::end(kKnownFuse), [&](const KnownFuse& known) { return known.type == file_system && known.*trait; });
}

}  // namespace

void set_mount_traits(unsigned long magic, const Mount& mount, Traits& traits) {
  if (magic == kFuseMagic) return set_fuse_traits(mount, traits);
  if (magic == kLustre) {
    traits.locks_between_nodes = !mount.has_option("localflock");
    return;
  }
  if (magic == kNfs) {
    const bool local_locks = mount.has_option("nolock") || mount.has_option("local_lock=all") || mount.has_option("local_lock=posix");
    traits.locks_between_nodes = !local_locks;
    if (local_locks) traits.coherence_advice = "locks stay on this node: mount without nolock and local_lock";
    return;
  }
  for (const std::string_view option : split(mount.options, ',')) {
    if (!keeps_data(option)) continue;
    traits.coherence = kAfterOpen;
    traits.coherence_advice = "the mount option " + std::string(option) + " lets each node keep data: mount with cache=" + (magic == kNineP ? "none" : "strict");
  }
}

int open_again(int fd, int flags) {
  return ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), flags | O_DIRECT | O_CLOEXEC);
}

bool client_keeps_data(const Traits& traits) {
  return traits.way == kDirect && is_fuse_that(traits.file_system, &KnownFuse::keeps_data);
}

Result<i64> size_of(int fd, bool ask_server) {
  struct statx status {};
  const int ask = AT_EMPTY_PATH | (ask_server ? AT_STATX_FORCE_SYNC : 0);
  if (::statx(fd, "", ask, STATX_TYPE | STATX_SIZE, &status) != 0) return error_from_errno("statx", errno);
  if (!S_ISBLK(status.stx_mode)) return static_cast<i64>(status.stx_size);
  const off_t end = ::lseek(fd, 0, SEEK_END);
  return end < 0 ? Result<i64>(error_from_errno("lseek", errno)) : Result<i64>(i64{end});
}

bool lock_refused(int sys_errno) {
  return sys_errno == ENOLCK || sys_errno == EOPNOTSUPP || sys_errno == EINVAL || sys_errno == ENOSYS;
}

Traits traits_of(int fd) {
  Traits traits;
  traits.file_system = "unknown";
  traits.metadata_is_remote = true;
  traits.coherence = kUnknown;
  traits.coherence_advice = kUnknownAdvice;
  bool numbered = false;   // by the file system itself, not by this client of it
  struct statfs info {};
  if (::fstatfs(fd, &info) == 0) {
    const auto magic = static_cast<unsigned long>(info.f_type) & 0xFFFFFFFFUL;
    for (const Known& known : kKnown) {
      if (known.magic != magic) continue;
      traits.file_system = known.name;
      traits.coherence = known.coherence;
      traits.way = known.way;
      traits.coherence_advice = "";
      traits.sparse_files = known.sparse_files;
      traits.metadata_is_remote = !known.local;
      numbered = magic != kFuseMagic && magic != kCifs && magic != kSmb2 && magic != kNineP;
    }
    if (magic == kPvfs2) look_at_pvfs2(traits);
    if (magic == kFuseMagic || magic == kLustre || magic == kNfs || magic == kCifs || magic == kSmb2 || magic == kNineP)
      if (const auto mount = mount_of_file(fd)) set_mount_traits(magic, *mount, traits);
    if (info.f_bsize > 0) traits.block_bytes = info.f_bsize;
  }
  struct stat status {};
  if (::fstat(fd, &status) == 0) {
    if (status.st_blksize > 0) traits.block_bytes = status.st_blksize;
    if (numbered) traits.file_number = number_of(status, traits);
  }
  traits.can_lock = traits.metadata_is_remote ? locks_work(fd) : local_locks_work(fd);
  return traits;
}

void make_coherent(int fd, CoherenceWay wish, Traits& traits) {
  CoherenceWay way = traits.coherence == kImmediate ? kNone : wish == CoherenceWay::kAuto ? traits.way : wish;
  if (way == kDirect) {
    const int flags = ::fcntl(fd, F_GETFL);
    const bool taken = flags >= 0 && (is_fuse_that(traits.file_system, &KnownFuse::is_told_at_open) ? open_direct(fd, flags) : ::fcntl(fd, F_SETFL, flags | O_DIRECT) == 0);
    if (!taken) way = CoherenceWay::kLocks;
  }
  if (way == CoherenceWay::kLocks && !(traits.can_lock && (traits.locks_between_nodes || wish == CoherenceWay::kLocks))) way = kNone;
  traits.way = way;
  traits.writes_wait = way != kNone;   // no cache takes them
  if (way == kDirect) traits.coherence = kImmediate;
  if (way == kNone && traits.coherence != kImmediate && traits.coherence_advice.empty())
    traits.coherence_advice = "it takes no O_DIRECT here, and locks of other nodes aren't seen";
}

bool is_on_lustre(const std::string& path) {
  struct statfs info {};
  return ::statfs(folder_of(path).c_str(), &info) == 0 && info.f_type == kLustreMagic;
}

bool has_default_stripes(const std::string& path) {
  const std::string folder = folder_of(path);
  struct stat status {};
  if (gives_several_stripes(folder)) return true;
  if (::stat(folder.c_str(), &status) != 0) return false;
  const auto mount = mount_of(status.st_dev);
  return mount && gives_several_stripes(mount->point);
}

bool is_on_lustre(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 && info.f_type == kLustreMagic;
}

}  // namespace mercutio::posix
