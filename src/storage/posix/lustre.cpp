// Lustre's striping. The attribute is little endian: a 32-byte header (magic, pattern, 16 bytes of object id, stripe
// size, stripe count, first server or generation), in version 3 a 16-byte pool name, then 24 bytes per object with the
// server's index last. A composite one (progressive layouts) is a 32-byte header, 48-byte entries, and plain ones
// inside.
#include "storage/posix/lustre.h"

#include <fcntl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace mercutio::posix {
namespace {

static_assert(std::endian::native == std::endian::little, "the attribute is read in place");

constexpr std::uint32_t kVersion1 = 0x0BD10BD0;
constexpr std::uint32_t kVersion3 = 0x0BD30BD0;
constexpr std::uint32_t kSpecific = 0x0BD50BD0;
constexpr std::uint32_t kComposite = 0x0BD60BD0;
constexpr std::uint32_t kRaid0 = 1;
constexpr std::uint32_t kInitialised = 0x10;
constexpr int kDelayObjects = O_NOCTTY | FASYNC;  // Lustre's O_LOV_DELAY_CREATE
constexpr size_t kMaxAttributeBytes = 65536;      // Linux's limit
constexpr const char* kAttribute = "lustre.lov";

template <class T>
T field(ConstBytes bytes, size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof value) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::optional<Layout> parse_plain(ConstBytes bytes) {
  const auto magic = field<std::uint32_t>(bytes, 0);
  if (magic != kVersion1 && magic != kVersion3 && magic != kSpecific) return std::nullopt;
  const size_t header = magic == kVersion1 ? 32 : 48;
  if (bytes.size() < header || (field<std::uint32_t>(bytes, 4) & kRaid0) == 0) return std::nullopt;
  const i64 stripe_bytes = field<std::uint32_t>(bytes, 24);
  const i64 stripe_count = field<std::uint16_t>(bytes, 28);
  if (stripe_bytes == 0 || stripe_count == 0 || stripe_count == 0xffff) return std::nullopt;
  const bool has_objects = bytes.size() >= header + 24;
  return Layout{stripe_bytes, stripe_count, has_objects ? i64{field<std::uint32_t>(bytes, header + 20)} : -1};
}

std::optional<Layout> parse_composite(ConstBytes bytes) {
  std::optional<Layout> found;
  const size_t entries = field<std::uint16_t>(bytes, 14);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = 32 + 48 * i;
    if (bytes.size() < entry + 48) break;
    const size_t at = field<std::uint32_t>(bytes, entry + 24);
    const size_t length = field<std::uint32_t>(bytes, entry + 28);
    if (at > bytes.size() || length > bytes.size() - at) continue;
    if (found && (field<std::uint32_t>(bytes, entry + 4) & kInitialised) == 0) continue;
    if (auto layout = parse_plain(bytes.subspan(at, length)); layout) found = layout;
  }
  return found;
}

}  // namespace

std::optional<Layout> parse_lov(ConstBytes attribute) {
  switch (field<std::uint32_t>(attribute, 0)) {
    case kVersion1:
    case kVersion3:
    case kSpecific:
      return parse_plain(attribute);
    case kComposite:
      return parse_composite(attribute);
    default:
      return std::nullopt;
  }
}

std::vector<std::byte> make_lov(const Layout& layout) {
  std::vector<std::byte> bytes(32);
  const auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, kVersion1);
  put(4, kRaid0);
  put(24, static_cast<std::uint32_t>(std::clamp<i64>(layout.stripe_bytes, 0, 0xffff0000)));
  put(28, static_cast<std::uint16_t>(std::clamp<i64>(layout.stripe_count, 0, 0xffff)));
  put(30, static_cast<std::uint16_t>(layout.first_server < 0 ? 0xffff : std::min<i64>(layout.first_server, 0xfffe)));
  return bytes;
}

Layout lustre_layout(int fd) {
  std::vector<std::byte> bytes(kMaxAttributeBytes);
  const ssize_t length = ::fgetxattr(fd, kAttribute, bytes.data(), bytes.size());
  if (length <= 0) return {};
  return parse_lov(ConstBytes(bytes).first(static_cast<size_t>(length))).value_or(Layout{});
}

int create_striped(const std::function<int(int flags)>& open, int flags, const Layout& layout) {
  const int fd = open(flags | O_CREAT | O_EXCL | kDelayObjects);
  if (fd < 0) return -1;
  const std::vector<std::byte> bytes = make_lov(layout);
  (void)::fsetxattr(fd, kAttribute, bytes.data(), bytes.size(), 0);
  return fd;
}

}  // namespace mercutio::posix
