#include "storage/posix/layouts.h"

#include <sys/ioctl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace mercutio::posix {
namespace {

constexpr i64 kMostStripeBytes = i64{1} << 32, kMostServers = 1 << 16;

// The number behind "key=" as a word of its own; 0: none.
i64 number_in(std::string_view text, std::string_view key) {
  for (size_t at = 0; (at = text.find(key, at)) != std::string_view::npos; at += key.size()) {
    if (at > 0 && text[at - 1] != ' ') continue;
    i64 value = 0;
    const char* const digits = text.data() + at + key.size();
    const auto [end, failed] = std::from_chars(digits, text.data() + text.size(), value);
    const bool whole = failed == std::errc{} && (end == text.data() + text.size() || *end == ' ');
    return whole ? std::max<i64>(value, 0) : 0;
  }
  return 0;
}

Layout ceph_layout(int fd) {
  char text[512];
  const ssize_t length = ::fgetxattr(fd, "ceph.file.layout", text, sizeof text);
  return length > 0 ? parse_ceph_layout({text, static_cast<size_t>(length)}) : Layout{};
}

// BeeGFS's request 25 of type 'f'.
struct StripeInfo {
  unsigned pattern = 0, chunk_bytes = 0;
  std::uint16_t targets = 0;
};

Layout beegfs_layout(int fd) {
  StripeInfo info;
  if (::ioctl(fd, _IOR('f', 25, StripeInfo), &info) != 0 || info.chunk_bytes == 0 || info.targets == 0) return {};
  return Layout{static_cast<i64>(info.chunk_bytes), static_cast<i64>(info.targets)};
}

}  // namespace

Layout parse_ceph_layout(std::string_view text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.remove_suffix(1);
  const i64 unit = number_in(text, "stripe_unit="), count = number_in(text, "stripe_count="), object = number_in(text, "object_size=");
  if (unit < 1 || unit > kMostStripeBytes || count < 1 || count > kMostServers || object < unit || object > kMostStripeBytes) return {};
  return count > 1 ? Layout{unit, count} : Layout{object, 0};
}

Layout query_layout(int fd, const std::string& file_system) {
  if (file_system == "ceph" || file_system == "fuse.ceph-fuse") return ceph_layout(fd);
  return file_system == "beegfs" ? beegfs_layout(fd) : Layout{};
}

}  // namespace mercutio::posix
