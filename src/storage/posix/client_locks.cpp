// Lustre (lustre_user.h). Lock-ahead, since 2.11: a request for locks of exactly the ranges given. It is sent and not waited for. A server refuses
// what another client's lock is in the way of; then the write asks for its lock as always. So that it asks for no more than it
// writes, locks of the descriptor are kept from growing. A group lock makes all clients give back their locks of the file. It is given back at once:
// whoever held on to it would keep other programs out, and clients that share one don't keep each other's pages right.
//
// GPFS (gpfs_fcntl.h). An access range says what part of the file this node will write, so that its token grows no further. A free range
// gives back this node's tokens.
#include "storage/posix/client_locks.h"

#include <dlfcn.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <vector>

namespace mercutio::posix {
namespace {

// What a message describes: whole pages, as clients lock no less.
constexpr i64 kLockedPage = 4096;

struct Span {
  i64 first = 0, last = 0;   // bytes; the last one is in it
};
Span pages_of(const IoPiece& range) {
  constexpr i64 kMost = std::numeric_limits<i64>::max() - kLockedPage;
  const i64 last = range.offset > kMost - range.bytes ? kMost : range.offset + range.bytes - 1;
  return {range.offset / kLockedPage * kLockedPage, last / kLockedPage * kLockedPage + kLockedPage - 1};
}

struct Advice {
  std::uint16_t advice = 0, mode = 0;
  std::uint32_t flags = 0;
  std::uint64_t first = 0, last = 0;
  std::uint32_t result = 0, unused = 0;
};
struct AdviceHeader {
  std::uint32_t magic = 0x1ADF1CE0, count = 0;
  std::uint64_t flags = 0;
  std::uint32_t unused[2] = {};
  std::uint64_t unused_too = 0;
};
static_assert(sizeof(Advice) == 32 && sizeof(AdviceHeader) == 32);

constexpr std::uint16_t kLockNoExpand = 3, kLockAhead = 4, kModeWrite = 2;
constexpr std::uint32_t kAsync = 1;
constexpr size_t kMostAdvices = 512;   // of a call; the client takes less than 1024
constexpr unsigned long kAdvise = _IOR('f', 250, Advice), kGroupLock = _IOW('f', 158, long), kGroupUnlock = _IOW('f', 159, long);

template <class Argument>
bool control(int fd, unsigned long request, Argument argument) {
  int code = 0;
  do {
    code = ::ioctl(fd, request, argument);
  } while (code < 0 && errno == EINTR);
  return code >= 0;
}

bool advise(int fd, std::span<const Advice> advices, std::uint64_t flags) {
  std::vector<std::uint64_t> message((sizeof(AdviceHeader) + advices.size_bytes()) / sizeof(std::uint64_t));
  auto* const bytes = reinterpret_cast<std::byte*>(message.data());
  AdviceHeader header;
  header.count = static_cast<std::uint32_t>(advices.size());
  header.flags = flags;
  std::copy_n(reinterpret_cast<const std::byte*>(&header), sizeof header, bytes);
  std::copy_n(reinterpret_cast<const std::byte*>(advices.data()), advices.size_bytes(), bytes + sizeof header);
  return control(fd, kAdvise, message.data());
}

bool keep_exact(int fd) {
  const Advice no_expand{kLockNoExpand};
  return advise(fd, {&no_expand, 1}, 0);   // the only one of its call
}

bool lock_ahead(int fd, std::span<const IoPiece> ranges) {
  std::vector<Advice> advices;
  for (const IoPiece& range : ranges) {
    const Span pages = pages_of(range);
    advices.push_back({kLockAhead, kModeWrite, kAsync, static_cast<std::uint64_t>(pages.first), static_cast<std::uint64_t>(pages.last)});
  }
  for (std::span<const Advice> left = advices; !left.empty(); left = left.subspan(std::min(kMostAdvices, left.size())))
    if (!advise(fd, left.first(std::min(kMostAdvices, left.size())), kAsync)) return false;
  return true;
}

// The structures of gpfs_fcntl: a header, then one or more of them.
struct GpfsHeader {
  int total_length = 0, version = 1, error_offset = 0, reserved = 0;
};
struct GpfsAccessRange {
  int length = sizeof(GpfsAccessRange), type = 1001;
  long long start = 0, bytes = 0;
  int is_write = 1;
  char padding[4] = {};
};
struct GpfsFreeRange {
  int length = sizeof(GpfsFreeRange), type = 1002;
  long long start = 0, bytes = 0;   // 0: to the end of the file
};
static_assert(sizeof(GpfsHeader) == 16 && sizeof(GpfsAccessRange) == 32 && sizeof(GpfsFreeRange) == 24);

using GpfsFcntl = int (*)(int fd, void* argument);

GpfsFcntl gpfs_fcntl() {
  static const GpfsFcntl found = [] {
    void* const library = ::dlopen("libgpfs.so", RTLD_NOW | RTLD_LOCAL);
    return library ? reinterpret_cast<GpfsFcntl>(::dlsym(library, "gpfs_fcntl")) : nullptr;
  }();
  return found;
}

template <class Hint>
bool tell_gpfs(int fd, Hint hint) {
  struct {
    GpfsHeader header;
    Hint hint;
  } message{{}, hint};
  message.header.total_length = sizeof message;
  const GpfsFcntl call = gpfs_fcntl();
  return call && call(fd, &message) == 0;
}

}  // namespace

ClientLocks::ClientLocks(const std::string& file_system)
    : kind_(file_system == "lustre" ? Kind::kLustre : file_system == "gpfs" ? Kind::kGpfs : Kind::kNone) {}

void ClientLocks::will_write(int fd, std::span<const IoPiece> ranges) {
  if (kind_ == Kind::kNone || ranges.empty() || refused_.load(std::memory_order_relaxed)) return;
  bool taken = true;
  if (kind_ == Kind::kLustre) {
    if (!exact_.exchange(true)) taken = keep_exact(fd);
    taken = taken && lock_ahead(fd, ranges);
  } else if (ranges.size() == 1) {   // a token has one range
    GpfsAccessRange range;
    range.start = ranges.front().offset;
    range.bytes = ranges.front().bytes;
    taken = tell_gpfs(fd, range);
  }
  if (!taken) refused_ = true;
}

void ClientLocks::give_back(int fd, bool of_all, i64 group) {
  if (kind_ == Kind::kGpfs) (void)tell_gpfs(fd, GpfsFreeRange{});
  if (kind_ != Kind::kLustre || !of_all || !control(fd, kGroupLock, static_cast<long>(group))) return;
  (void)control(fd, kGroupUnlock, static_cast<long>(group));
}

}  // namespace mercutio::posix
