// Of striped_servers.c: how a file lies on the servers. A layout is a list of ranges, each with stripes in turn over some servers from a
// first one on; it is set and told as Lustre's attribute "lustre.lov", plain or composite.
#pragma once

enum { kParts = 8, kHeader = 32, kPool = 16, kObject = 24, kEntry = 48, kRaid0 = 1, kOverstriping = 0x200, kInstantiated = 0x10 };
enum { kLovMagic = 0x0BD10BD0, kLovMagic3 = 0x0BD30BD0, kLovComposite = 0x0BD60BD0, kMostStripes = 64 };

typedef struct {
  int64_t begin, end, unit;
  int count, first;
} Part;

typedef struct {
  int parts;
  Part part[kParts];
} FileLayout;

static int servers = 4, default_count;
static int64_t stripe = 1 << 20;

static inline FileLayout default_layout(void) { return (FileLayout){1, {{0, INT64_MAX, stripe, default_count > 0 ? default_count : servers, 0}}}; }

static inline const Part *part_at(const FileLayout *layout, int64_t offset) {
  int i = 0;
  while (i + 1 < layout->parts && offset >= layout->part[i].end) ++i;
  return &layout->part[i];
}

static inline int server_at(const FileLayout *layout, int64_t offset) {
  const Part *part = part_at(layout, offset);
  return (int)((part->first + offset / part->unit % part->count) % servers);
}

// One past the bytes behind `offset` that lie in the same stripe.
static inline int64_t stripe_end(const FileLayout *layout, int64_t offset) {
  const Part *part = part_at(layout, offset);
  int64_t end = (offset / part->unit + 1) * part->unit;
  return offset < part->end && part->end < end ? part->end : end;
}

static inline uint32_t word_at(const unsigned char *from) {
  uint32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

// A plain layout's stripes; 0: not understood. What is left open is the default.
static inline int take_part(const unsigned char *lov, size_t bytes, Part *part, int *next_first) {
  if (bytes < kHeader || (word_at(lov) != kLovMagic && word_at(lov) != kLovMagic3)) return 0;
  uint32_t unit = word_at(lov + 24), count = word_at(lov + 28) & 0xffff, first = word_at(lov + 28) >> 16;
  int most = word_at(lov + 4) & kOverstriping ? kMostStripes : servers;
  part->unit = unit ? unit : stripe;
  part->count = count == 0 ? default_layout().part[0].count : (int)count > most ? most : (int)count;
  part->first = first == 0xffff ? *next_first : (int)first % servers;
  *next_first = (part->first + part->count) % servers;
  return part->unit % 65536 == 0;
}

// What "lustre.lov" asks for; 0: it is no such thing.
static inline int take_layout(const unsigned char *lov, size_t bytes, FileLayout *out) {
  int next_first = 0;
  FileLayout layout = {1, {{0, INT64_MAX, 0, 0, 0}}};
  if (bytes >= kHeader && word_at(lov) == kLovComposite) {
    layout.parts = (int)(word_at(lov + 12) >> 16);
    if (layout.parts < 1 || layout.parts > kParts || word_at(lov + 4) != bytes || bytes < kHeader + (size_t)layout.parts * kEntry) return 0;
    for (int i = 0; i < layout.parts; ++i) {
      const unsigned char *entry = lov + kHeader + i * kEntry;
      Part *part = &layout.part[i];
      size_t at = word_at(entry + 24), length = word_at(entry + 28);
      if (at > bytes || length > bytes - at || !take_part(lov + at, length, part, &next_first)) return 0;
      memcpy(&part->begin, entry + 8, 8), memcpy(&part->end, entry + 16, 8);
      if (part->end == -1) part->end = INT64_MAX;
      if (part->begin != (i ? layout.part[i - 1].end : 0) || part->end <= part->begin) return 0;
    }
  } else if (!take_part(lov, bytes, &layout.part[0], &next_first)) {
    return 0;
  }
  *out = layout;
  return 1;
}

static inline size_t give_part(unsigned char *to, const Part *part, int instantiated) {
  uint32_t header[8] = {kLovMagic, kRaid0, 0, 0, 0, 0, (uint32_t)part->unit, (uint32_t)part->count};
  if (part->count > servers) header[1] |= kOverstriping;
  memcpy(to, header, kHeader);
  for (int i = 0; instantiated && i < part->count; ++i) {
    uint32_t object[6] = {(uint32_t)i + 1, 0, 0, 0, 0, (uint32_t)((part->first + i) % servers)};
    memcpy(to + kHeader + i * kObject, object, kObject);
  }
  return kHeader + (instantiated ? (size_t)part->count * kObject : 0);
}

enum { kLovBytes = kHeader + kParts * (kEntry + kHeader + kMostStripes * kObject) };

// "lustre.lov" of a file of that size: ranges that it doesn't reach have no objects yet.
static inline size_t give_layout(unsigned char to[kLovBytes], const FileLayout *layout, int64_t size) {
  memset(to, 0, kLovBytes);
  if (layout->parts == 1) return give_part(to, &layout->part[0], 1);
  size_t at = kHeader + (size_t)layout->parts * kEntry;
  for (int i = 0; i < layout->parts; ++i) {
    const Part *part = &layout->part[i];
    int instantiated = i == 0 || part->begin < size;
    int64_t end = part->end == INT64_MAX ? -1 : part->end;
    size_t length = give_part(to + at, part, instantiated);
    uint32_t head[2] = {(uint32_t)i + 1, instantiated ? kInstantiated : 0}, tail[2] = {(uint32_t)at, (uint32_t)length};
    unsigned char *entry = to + kHeader + i * kEntry;
    memcpy(entry, head, 8), memcpy(entry + 8, &part->begin, 8), memcpy(entry + 16, &end, 8), memcpy(entry + 24, tail, 8);
    at += length;
  }
  uint32_t header[4] = {kLovComposite, (uint32_t)at, 1, (uint32_t)layout->parts << 16};
  memcpy(to, header, sizeof header);
  return at;
}

// As fgetxattr answers.
static inline ssize_t answer_with(const FileLayout *layout, int64_t size, void *value, size_t bytes) {
  unsigned char lov[kLovBytes];
  size_t length = give_layout(lov, layout, size);
  if (bytes == 0) return (ssize_t)length;
  if (bytes < length) return errno = ERANGE, -1;
  memcpy(value, lov, length);
  return (ssize_t)length;
}
