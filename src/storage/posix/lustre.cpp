// Lustre's layouts. A plain one is little endian: a 32-byte header (magic, pattern, 16 bytes of object id, stripe size, stripe count,
// first server or generation), in version 3 a 16-byte pool name, then 24 bytes per object with the server's index last. A composite
// one (progressive files, data on the metadata server, self-extending files, mirrors) is a header of 32 bytes, entries of 48 bytes with
// range and flags, and a plain layout for each.
#include "storage/posix/lustre.h"

#include <fcntl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "storage/posix/lustre_api.h"

namespace mercutio::posix {
namespace {

constexpr std::uint32_t kVersion1 = 0x0BD10BD0;
constexpr std::uint32_t kVersion3 = 0x0BD30BD0;
constexpr std::uint32_t kSpecific = 0x0BD50BD0;
constexpr std::uint32_t kComposite = 0x0BD60BD0;
constexpr std::uint32_t kRaid0 = 1, kOnMetadataServer = 0x100, kOverstriped = 0x200, kForeign = 0x400, kReleased = 0x80000000;   // patterns
constexpr std::uint32_t kStale = 0x1, kPreferredForWriting = 0x4, kOffline = 0x8, kInitialised = 0x10, kExtension = 0x40, kParity = 0x80;
constexpr std::uint32_t kUnlimitedCount = 0xffe0;   // and above: of all servers, one or several stripes each
constexpr std::uint64_t kEnd = ~std::uint64_t{0};
constexpr size_t kHeaderBytes = 32, kPoolBytes = 16, kObjectBytes = 24, kEntryBytes = 48;
constexpr int kDelayObjects = O_NOCTTY | FASYNC;  // Lustre's O_LOV_DELAY_CREATE
constexpr size_t kMaxAttributeBytes = 65536;      // Linux's limit
constexpr const char* kAttribute = "lustre.lov";

// There and back: the attribute is little endian on every processor.
template <class T>
T little_endian(T value) {
  auto* const bytes = reinterpret_cast<std::byte*>(&value);
  if (std::endian::native == std::endian::big) std::reverse(bytes, bytes + sizeof value);
  return value;
}

template <class T>
T field(ConstBytes bytes, size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof value) std::memcpy(&value, bytes.data() + at, sizeof value);
  return little_endian(value);
}

// The servers of the objects that are there; none where some are missing.
std::vector<i64> servers_of(ConstBytes objects, i64 count) {
  std::vector<i64> servers;
  if (count < 1 || objects.size() / kObjectBytes < static_cast<size_t>(count)) return servers;
  for (i64 i = 0; i < count; ++i) {
    const auto server = field<std::uint32_t>(objects, static_cast<size_t>(i) * kObjectBytes + 20);
    servers.push_back(server == 0xffffffff ? -1 : i64{server});
  }
  return servers;
}

std::string pool_of(ConstBytes bytes) {
  std::string pool(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return pool.substr(0, std::min(pool.find('\0'), pool.size()));
}

// The stripes of a plain layout. Those of a component whose servers aren't chosen may leave size and count open.
std::optional<LayoutComponent> parse_plain(ConstBytes bytes) {
  const auto magic = field<std::uint32_t>(bytes, 0), pattern = field<std::uint32_t>(bytes, 4);
  if (magic != kVersion1 && magic != kVersion3 && magic != kSpecific) return std::nullopt;
  const size_t header = magic == kVersion1 ? kHeaderBytes : kHeaderBytes + kPoolBytes;
  if (bytes.size() < header || (pattern & kForeign) != 0 || (pattern & (kRaid0 | kOnMetadataServer)) == 0) return std::nullopt;
  LayoutComponent component;
  component.on_metadata_server = (pattern & kOnMetadataServer) != 0;
  component.overstriped = (pattern & kOverstriped) != 0;
  component.stripe_bytes = field<std::uint32_t>(bytes, 24);
  const i64 count = field<std::uint16_t>(bytes, 28);
  component.stripe_count = component.on_metadata_server ? 1 : count >= kUnlimitedCount ? 0 : count;
  if ((pattern & kReleased) == 0 && !component.on_metadata_server) component.servers = servers_of(bytes.subspan(header), component.stripe_count);
  component.instantiated = component.on_metadata_server || !component.servers.empty();
  if (header > kHeaderBytes) component.pool = pool_of(bytes.subspan(kHeaderBytes, kPoolBytes));
  return component;
}

void describe(Layout& layout, const LayoutComponent& component) {
  layout.stripe_bytes = component.stripe_bytes;
  layout.stripe_count = component.stripe_count;
  layout.first_server = component.servers.empty() ? -1 : component.servers.front();
}

std::optional<Layout> parse_whole(ConstBytes bytes) {
  const auto component = parse_plain(bytes);
  if (!component || component->stripe_bytes == 0 || component->stripe_count == 0) return std::nullopt;
  Layout layout;
  describe(layout, *component);
  layout.components.push_back(*component);
  return layout;
}

struct Entry {
  std::uint32_t flags = 0;
  LayoutComponent component;
};

// One of a composite layout's entries and what it stands for; nothing: the attribute is damaged or of a kind that isn't known.
std::optional<Entry> parse_entry(ConstBytes bytes, size_t at) {
  const size_t offset = field<std::uint32_t>(bytes, at + 24), length = field<std::uint32_t>(bytes, at + 28);
  if (bytes.size() < at + kEntryBytes || offset > bytes.size() || length > bytes.size() - offset) return std::nullopt;
  const auto plain = parse_plain(bytes.subspan(offset, length));
  const auto begin = field<std::uint64_t>(bytes, at + 8), end = field<std::uint64_t>(bytes, at + 16);
  constexpr auto kMost = static_cast<std::uint64_t>(kEndOfFile);
  if (!plain || begin > kMost || (end > kMost && end != kEnd) || begin > end) return std::nullopt;
  Entry entry{field<std::uint32_t>(bytes, at + 4), *plain};
  LayoutComponent& component = entry.component;
  component.begin = static_cast<i64>(begin);
  component.end = end == kEnd ? kEndOfFile : static_cast<i64>(end);
  component.mirror = field<std::uint32_t>(bytes, at) >> 16 & 0x7fff;
  component.extension = (entry.flags & kExtension) != 0;
  component.stale = (entry.flags & (kStale | kOffline)) != 0;
  component.instantiated = (entry.flags & kInitialised) != 0 && !component.extension;
  if (!component.instantiated) component.servers.clear();
  if (component.on_metadata_server && component.stripe_bytes == 0) component.stripe_bytes = std::min<i64>(component.end, std::int64_t{1} << 31);
  return entry;
}

// The mirror that is written: one that misses nothing, and of those one that is preferred.
i64 mirror_in_use(const std::vector<Entry>& entries) {
  i64 chosen = entries.front().component.mirror, best = -1;
  for (const Entry& candidate : entries) {
    i64 worth = 1;
    for (const Entry& entry : entries) {
      if (entry.component.mirror != candidate.component.mirror) continue;
      if (entry.component.stale) worth = std::min<i64>(worth, 0);
      else if ((entry.flags & kPreferredForWriting) != 0 && worth > 0) worth = 2;
    }
    if (worth > best) best = worth, chosen = candidate.component.mirror;
  }
  return chosen;
}

// What is said of the whole file: the component written last, as far as servers tell.
void describe_whole(Layout& layout) {
  const LayoutComponent* last = nullptr;
  for (const LayoutComponent& component : layout.components) {
    if (component.mirror != layout.mirror || component.extension || component.on_metadata_server) continue;
    if (!last || component.instantiated) last = &component;
  }
  if (!last) last = &layout.components.front();
  describe(layout, *last);
}

std::optional<Layout> parse_composite(ConstBytes bytes) {
  const size_t size = field<std::uint32_t>(bytes, 4), count = field<std::uint16_t>(bytes, 14);
  if (bytes.size() < kHeaderBytes || size > bytes.size() || count == 0) return std::nullopt;
  std::vector<Entry> entries;
  for (size_t i = 0; i < count; ++i) {
    auto entry = parse_entry(bytes, kHeaderBytes + kEntryBytes * i);
    if (!entry) return std::nullopt;
    if ((entry->flags & kParity) == 0) entries.push_back(std::move(*entry));
  }
  if (entries.empty()) return std::nullopt;
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    const LayoutComponent &left = a.component, &right = b.component;
    return left.mirror != right.mirror ? left.mirror < right.mirror : left.begin < right.begin;
  });
  Layout layout;
  layout.mirror = mirror_in_use(entries);
  for (Entry& entry : entries) {
    const bool overlaps = !layout.components.empty() && layout.components.back().mirror == entry.component.mirror &&
                          layout.components.back().end > entry.component.begin;
    if (overlaps) return std::nullopt;
    layout.components.push_back(std::move(entry.component));
  }
  describe_whole(layout);
  return layout;
}

}  // namespace

std::optional<Layout> parse_lov(ConstBytes attribute) {
  const auto magic = field<std::uint32_t>(attribute, 0);
  return magic == kComposite ? parse_composite(attribute) : parse_whole(attribute);
}

namespace {

template <class T>
void put(std::vector<std::byte>& bytes, size_t at, T value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  value = little_endian(value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Zero fields ask for the file system's default.
std::vector<std::byte> make_plain(const LayoutComponent& component, i64 first_server) {
  const bool listed = !component.servers.empty();
  std::vector<std::byte> bytes(component.pool.empty() && !listed ? kHeaderBytes : kHeaderBytes + kPoolBytes);
  put(bytes, 0, listed ? kSpecific : component.pool.empty() ? kVersion1 : kVersion3);
  put(bytes, 4, component.overstriped ? kRaid0 | kOverstriped : kRaid0);
  put(bytes, 24, static_cast<std::uint32_t>(std::clamp<i64>(component.stripe_bytes, 0, 0xffff0000)));
  put(bytes, 28, static_cast<std::uint16_t>(std::clamp<i64>(component.stripe_count, 0, 0xffff)));
  put(bytes, 30, static_cast<std::uint16_t>(first_server < 0 ? 0xffff : std::min<i64>(first_server, 0xfffe)));
  if (!component.pool.empty()) std::memcpy(bytes.data() + kHeaderBytes, component.pool.data(), std::min(component.pool.size(), kPoolBytes - 1));
  for (const i64 server : component.servers) put(bytes, bytes.size() + 20, static_cast<std::uint32_t>(server));
  return bytes;
}

Layout one_component(const LayoutComponent& component) {
  Layout layout;
  layout.components = {component};
  layout.components[0].begin = 0;
  layout.components[0].end = kEndOfFile;
  return layout;
}

// As components, where there are none.
Layout in_components(const Layout& layout) {
  if (!layout.components.empty()) return layout;
  LayoutComponent component;
  component.stripe_bytes = layout.stripe_bytes;
  component.stripe_count = layout.stripe_count;
  Layout out = one_component(component);
  out.first_server = layout.first_server;
  return out;
}

bool set_lov(int fd, const Layout& layout) {
  const std::vector<std::byte> bytes = make_lov(layout);
  return ::fsetxattr(fd, kAttribute, bytes.data(), bytes.size(), 0) == 0;
}

}  // namespace

std::vector<std::byte> make_lov(const Layout& wanted) {
  const Layout layout = in_components(wanted);
  if (layout.components.size() == 1) return make_plain(layout.components[0], layout.first_server);
  std::vector<std::byte> bytes(kHeaderBytes + kEntryBytes * layout.components.size());
  put(bytes, 0, kComposite);
  put(bytes, 14, static_cast<std::uint16_t>(layout.components.size()));
  for (size_t i = 0; i < layout.components.size(); ++i) {
    const LayoutComponent& component = layout.components[i];
    const std::vector<std::byte> plain = make_plain(component, i == 0 ? layout.first_server : -1);
    const size_t entry = kHeaderBytes + kEntryBytes * i;
    put(bytes, entry + 8, static_cast<std::uint64_t>(component.begin));
    put(bytes, entry + 16, component.end == kEndOfFile ? kEnd : static_cast<std::uint64_t>(component.end));
    put(bytes, entry + 24, static_cast<std::uint32_t>(bytes.size()));
    put(bytes, entry + 28, static_cast<std::uint32_t>(plain.size()));
    bytes.insert(bytes.end(), plain.begin(), plain.end());
  }
  put(bytes, 4, static_cast<std::uint32_t>(bytes.size()));
  return bytes;
}

Layout lustre_layout(int fd) {
  std::vector<std::byte> bytes(kMaxAttributeBytes);
  const ssize_t length = ::fgetxattr(fd, kAttribute, bytes.data(), bytes.size());
  if (length <= 0) return {};
  return parse_lov(ConstBytes(bytes).first(static_cast<size_t>(length))).value_or(Layout{});
}

bool gives_several_stripes(ConstBytes attribute) {
  if (parse_plain(attribute)) return field<std::uint16_t>(attribute, 28) > 1;
  const auto layout = parse_lov(attribute);
  return !layout || layout->components.size() > 1 || layout->stripe_count != 1;
}

bool gives_several_stripes(const std::string& folder) {
  std::vector<std::byte> bytes(kMaxAttributeBytes);
  const ssize_t length = ::getxattr(folder.c_str(), kAttribute, bytes.data(), bytes.size());
  if (length <= 0) return false;
  return gives_several_stripes(ConstBytes(bytes).first(static_cast<size_t>(length)));
}

int create_striped(const OpenCalls& calls, int flags, int permissions, const Layout& layout) {
  const Layout wanted = in_components(layout);
  if (!calls.path.empty()) {
    const int fd = create_by_library(calls.path, flags, permissions, wanted);
    if (fd >= 0 || errno == EEXIST) return fd;
  }
  // The library may have made the file before it failed.
  const bool made = !calls.path.empty() && errno != ENOSYS;
  const int fd = calls.open(flags | O_CREAT | kDelayObjects | (made ? 0 : O_EXCL));
  if (fd < 0) return -1;
  // Servers of before 2.10 know no components.
  if (!set_lov(fd, wanted) && wanted.components.size() > 1) (void)set_lov(fd, one_component(wanted.components[1]));
  return fd;
}

}  // namespace mercutio::posix
