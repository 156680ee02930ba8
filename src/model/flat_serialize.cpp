// FlatType as bytes, for servers. Integers are LEB128 varints (signed ones zigzag);
// offsets go as differences; a node that occurs again is a reference. The parser trusts nothing: every
// read is bounded, a vector is never longer than the bytes left, every value is derived again with overflow checks. What
// it accepts is in canonical form (flat_node.h) as far as cursors rely on it, and is written the same again.
#include <unordered_map>

#include "model/flat_builder.h"

namespace mercutio {
namespace {

using Kind = FlatNode::Kind;

constexpr std::uint64_t kFormat = 1;
constexpr std::uint64_t kReference = 15;  // in place of a Kind: a node seen before

class Writer {
 public:
  Writer(std::vector<std::byte>& out, i64 most) : out_(out), most_(most) {}
  bool is_whole() const { return whole_ && static_cast<i64>(out_.size()) <= most_; }

  void number(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) out_.push_back(static_cast<std::byte>(v | 0x80));
    out_.push_back(static_cast<std::byte>(v));
  }
  void count(i64 v) { number(static_cast<std::uint64_t>(v)); }
  void offset(i64 v) { number((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63)); }

  void node(const FlatNodeRef& ref) {
    if (!whole_) return;
    const FlatNode& n = *ref;
    if (const auto seen = ids_.find(ref.get()); seen != ids_.end()) {
      number(kReference);
      return number(seen->second);
    }
    count(static_cast<i64>(n.kind));
    switch (n.kind) {
      case Kind::kRun:
        count(n.size);
        basic(n.basic);
        break;
      case Kind::kStrided:
        count(n.count);
        offset(n.stride);
        node(n.child);
        break;
      case Kind::kRuns:
        entries(n);
        basic(n.basic);
        break;
      case Kind::kBlocks:
        entries(n);
        offset(n.stride);
        node(n.child);
        break;
      case Kind::kStruct:
        entries(n);
        for (const FlatNodeRef& child : n.children) node(child);
        break;
    }
    ids_.emplace(ref.get(), ids_.size());
  }

 private:
  void basic(const BasicType& b) {
    count(static_cast<i64>(b.kind));
    count(b.native_bytes);
    count(b.external_bytes);
  }
  void entries(const FlatNode& n) {
    const i64 least = n.bytes.empty() ? n.entries() : 2 * n.entries();   // a byte a number
    whole_ = whole_ && least <= most_ - static_cast<i64>(out_.size());
    if (!whole_) return;
    count(n.entries());
    count(n.bytes.empty() ? n.unit : 0);
    for (i64 i = 0, previous = 0; i < n.entries(); previous = n.offset_at(i), ++i) offset(n.offset_at(i) - previous);
    if (n.bytes.empty()) return;
    for (i64 i = 0; i < n.entries(); ++i) count(n.entry_bytes(i));
  }

  std::vector<std::byte>& out_;
  const i64 most_;
  bool whole_ = true;
  std::unordered_map<const FlatNode*, std::uint64_t> ids_;  // in the order of completion
};

class Reader {
 public:
  explicit Reader(ConstBytes bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return at_ == bytes_.size(); }

  std::uint64_t number() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) return fail();
      const auto b = std::to_integer<std::uint64_t>(bytes_[at_++]);
      if ((shift == 63 && b > 1) || (shift > 0 && b == 0)) return fail();  // too large; longer than it has to be
      v |= (b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
    return fail();
  }
  i64 count() {
    const std::uint64_t v = number();
    return static_cast<i64>(v > INT64_MAX ? fail() : v);
  }
  i64 offset() {
    const std::uint64_t v = number();
    return static_cast<i64>((v >> 1) ^ (~(v & 1) + 1));
  }

  FlatNodeRef node(NodeBuilder& build, i64 depth) {
    const std::uint64_t kind = number();
    if (kind == kReference) {
      const std::uint64_t id = number();
      return id < nodes_.size() ? nodes_[id] : (fail(), nullptr);
    }
    if (kind > static_cast<std::uint64_t>(Kind::kStruct) || depth > kMaxFlatDepth) return fail(), nullptr;
    FlatNode n;
    n.kind = static_cast<Kind>(kind);
    shape(n, build, depth);
    if (failed_) return nullptr;
    FlatNodeRef ref = build.finish(std::move(n));
    if (!ref) return fail(), nullptr;
    nodes_.push_back(ref);
    return ref;
  }

 private:
  std::uint64_t fail() {
    failed_ = true;
    at_ = bytes_.size();
    return 0;
  }
  void require(bool good) {
    if (!good) fail();
  }

  void shape(FlatNode& n, NodeBuilder& build, i64 depth) {
    switch (n.kind) {
      case Kind::kRun:
        n.size = count();
        require(n.size > 0);
        return basic(n.basic);
      case Kind::kStrided:
        n.count = count();
        n.stride = offset();
        require(n.count > 1);
        n.child = child(build, depth);
        require(!failed_ && (n.child->kind != Kind::kRun || n.stride != n.child->size));  // that were one run
        return;
      case Kind::kRuns:
        entries(n);
        return basic(n.basic);
      case Kind::kBlocks:
        entries(n);
        n.stride = offset();
        n.child = child(build, depth);
        return check_blocks(n);
      case Kind::kStruct:
        entries(n);
        require(!n.bytes.empty());
        n.children.reserve(static_cast<std::size_t>(n.entries()));
        for (i64 i = 0; i < n.entries() && !failed_; ++i) {
          n.children.push_back(child(build, depth));
          require(!failed_ && n.children.back()->size == n.entry_bytes(i));
        }
    }
  }
  FlatNodeRef child(NodeBuilder& build, i64 depth) { return failed_ ? nullptr : node(build, depth + 1); }

  void basic(BasicType& b) {
    const i64 kind = count();
    b.native_bytes = count();
    b.external_bytes = count();
    require(kind <= static_cast<i64>(Basic::kWideChar));
    b.kind = failed_ ? Basic::kByte : static_cast<Basic>(kind);
  }

  void entries(FlatNode& n) {
    const i64 size = count();
    n.unit = count();
    require(size >= 2 && size <= static_cast<i64>(bytes_.size() - at_));
    if (failed_) return;
    SafeMath math;
    Numbers numbers;
    numbers.reserve(static_cast<std::size_t>(size) + 1);
    for (i64 i = 0, at = 0; i < size && !failed_; ++i) numbers.push_back(at = math.add(at, offset()));
    require(!failed_ && numbers[0] == 0);
    if (failed_) return;
    n.offsets = narrowed(numbers);
    if (n.unit == 0) {
      numbers.clear();
      for (i64 i = 0; i < size && !failed_; ++i) {
        numbers.push_back(count());
        require(numbers.back() > 0);
      }
      n.bytes = narrowed(numbers);
    }
    require(!math.overflow);
  }

  void check_blocks(const FlatNode& n) {
    if (failed_) return;
    if (n.bytes.empty()) return require(n.unit == n.child->size);
    for (i64 i = 0; i < n.entries(); ++i) require(n.entry_bytes(i) % n.child->size == 0);
  }

  ConstBytes bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
  std::vector<FlatNodeRef> nodes_;
};

}  // namespace

bool FlatType::serialize(std::vector<std::byte>& out, i64 most) const {
  Writer writer(out, most);
  writer.number(kFormat << 2 | (keep_kinds_ ? 2U : 0U) | (size_ > 0 ? 1U : 0U));
  writer.offset(lb_);
  writer.offset(extent_);
  if (size_ > 0) {
    writer.offset(first_);
    writer.node(root_);
  }
  return writer.is_whole();
}

Result<FlatTypeRef> FlatType::deserialize(ConstBytes bytes) {
  const Error damaged{ErrorClass::kIntern, "a serialised datatype is damaged"};
  Reader reader(bytes);
  const std::uint64_t head = reader.number();
  if (head >> 2 != kFormat) return damaged;
  FlatParts parts;
  parts.keep_kinds = (head & 2) != 0;
  parts.lb = reader.offset();
  if (__builtin_add_overflow(parts.lb, reader.offset(), &parts.ub)) return damaged;
  if (head & 1) {
    NodeBuilder build(parts.keep_kinds);
    parts.data.first = reader.offset();
    parts.data.node = reader.node(build, 1);
    if (reader.failed() || build.overflow() || !parts.data.node) return damaged;
  }
  if (reader.failed() || !reader.at_end()) return damaged;
  return FlatBuilder::make(std::move(parts));
}

}  // namespace mercutio
