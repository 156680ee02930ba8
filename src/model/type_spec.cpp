// The TypeSpec makers and their text form.
#include "model/type_spec.h"

#include <utility>

namespace mercutio {
namespace {

TypeSpecRef made(TypeSpec spec) {
  return std::make_shared<const TypeSpec>(std::move(spec));
}

TypeSpec with_child(Combiner combiner, TypeSpecRef child) {
  TypeSpec spec;
  spec.combiner = combiner;
  spec.children.push_back(std::move(child));
  return spec;
}

TypeSpecRef make_irregular(Combiner combiner, NumberList lengths, NumberList displacements,
                           TypeSpecRef child) {
  TypeSpec spec = with_child(combiner, std::move(child));
  spec.count = displacements.size();
  spec.lengths = std::move(lengths);
  spec.displacements = std::move(displacements);
  return made(std::move(spec));
}

TypeSpecRef make_blocks(Combiner combiner, i64 block_length, NumberList displacements, TypeSpecRef child) {
  TypeSpec spec = with_child(combiner, std::move(child));
  spec.count = displacements.size();
  spec.block_length = block_length;
  spec.displacements = std::move(displacements);
  return made(std::move(spec));
}

TypeSpecRef make_strided(Combiner combiner, i64 count, i64 block_length, i64 stride, TypeSpecRef child) {
  TypeSpec spec = with_child(combiner, std::move(child));
  spec.count = count;
  spec.block_length = block_length;
  spec.stride = stride;
  return made(std::move(spec));
}

constexpr unsigned kShownEntries = 8;
constexpr int kNamedTypes = 32;

std::string list(const NumberList& values) {
  std::string text = "[";
  for (i64 i = 0; i < values.size() && i < kShownEntries; ++i) {
    if (i > 0) text += ",";
    text += std::to_string(values[i]);
  }
  if (values.size() > kShownEntries) text.append(",... ").append(std::to_string(values.size())).append(" in all");
  return text + "]";
}

std::string list(const std::vector<Distribution>& values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size() && i < kShownEntries; ++i) {
    text += i ? "," : "";
    text += values[i] == Distribution::kBlock ? "block" : values[i] == Distribution::kCyclic ? "cyclic" : "none";
  }
  return text + "]";
}

std::string basic_name(const BasicType& basic) {
  const std::string bits = std::to_string(static_cast<std::uint64_t>(basic.native_bytes) * 8);
  switch (basic.kind) {
    case Basic::kByte:
      return basic.native_bytes == 1 ? "byte" : "byte" + bits;
    case Basic::kChar:
      return "char";
    case Basic::kSigned:
      return "int" + bits;
    case Basic::kUnsigned:
      return "uint" + bits;
    case Basic::kFloat:
      return "float" + bits;
    case Basic::kLongDouble:
      return "longdouble";
    case Basic::kComplexFloat:
      return "complex" + bits;
    case Basic::kComplexLongDouble:
      return "complexlongdouble";
    case Basic::kLogical:
      return "logical" + bits;
    case Basic::kWideChar:
      return "wchar" + bits;
  }
  return "?";
}

// `left`: types that may still be named. A tree whose children are shared has more paths than anyone reads.
std::string text_of(const TypeSpec& spec, int& left);

std::string child_text(const TypeSpec& spec, int& left) {
  std::string text;
  for (std::size_t i = 0; i < spec.children.size() && i < kShownEntries; ++i) {
    text += i ? "," : "";
    text += spec.children[i] ? text_of(*spec.children[i], left) : "null";
  }
  if (spec.children.size() > kShownEntries) text += ",...";
  return text;
}

std::string numbers(std::initializer_list<i64> values) {
  std::string text;
  for (i64 v : values) text += std::to_string(v) + ",";
  return text;
}

std::string text_of(const TypeSpec& s, int& left) {
  if (left == 0) return "...";
  --left;
  if (s.combiner == Combiner::kNamed) return basic_name(s.basic);
  const std::string child = child_text(s, left);
  const std::string order = s.c_order ? "c" : "fortran";
  switch (s.combiner) {
    case Combiner::kContiguous:
      return "contiguous(" + numbers({s.count}) + child + ")";
    case Combiner::kVector:
      return "vector(" + numbers({s.count, s.block_length, s.stride}) + child + ")";
    case Combiner::kHvector:
      return "hvector(" + numbers({s.count, s.block_length, s.stride}) + child + ")";
    case Combiner::kIndexed:
      return "indexed(" + list(s.lengths) + "," + list(s.displacements) + "," + child + ")";
    case Combiner::kHindexed:
      return "hindexed(" + list(s.lengths) + "," + list(s.displacements) + "," + child + ")";
    case Combiner::kIndexedBlock:
      return "indexed_block(" + numbers({s.block_length}) + list(s.displacements) + "," + child + ")";
    case Combiner::kHindexedBlock:
      return "hindexed_block(" + numbers({s.block_length}) + list(s.displacements) + "," + child + ")";
    case Combiner::kStruct:
      return "struct(" + list(s.lengths) + "," + list(s.displacements) + ",[" + child + "])";
    case Combiner::kSubarray:
      return "subarray(" + list(s.sizes) + "," + list(s.lengths) + "," + list(s.displacements) + "," + order + "," +
             child + ")";
    case Combiner::kDarray:
      return "darray(" + numbers({s.count, s.block_length}) + list(s.sizes) + "," + list(s.distributions) + "," +
             list(s.lengths) + "," + list(s.displacements) + "," + order + "," + child + ")";
    case Combiner::kResized:
      return "resized(" + numbers({s.stride, s.extent}) + child + ")";
    case Combiner::kDup:
      return "dup(" + child + ")";
    case Combiner::kPair:
      return "pair(" + numbers({s.stride, s.extent}) + child + ")";
    case Combiner::kNamed:
      break;
  }
  return "?";
}

}  // namespace

TypeSpecRef make_named(BasicType basic) {
  TypeSpec spec;
  spec.basic = basic;
  return made(std::move(spec));
}

TypeSpecRef make_contiguous(i64 count, TypeSpecRef child) {
  return make_strided(Combiner::kContiguous, count, 0, 0, std::move(child));
}

TypeSpecRef make_vector(i64 count, i64 block_length, i64 stride, TypeSpecRef child) {
  return make_strided(Combiner::kVector, count, block_length, stride, std::move(child));
}

TypeSpecRef make_hvector(i64 count, i64 block_length, i64 stride_bytes, TypeSpecRef child) {
  return make_strided(Combiner::kHvector, count, block_length, stride_bytes, std::move(child));
}

TypeSpecRef make_indexed(NumberList lengths, NumberList displacements, TypeSpecRef child) {
  return make_irregular(Combiner::kIndexed, std::move(lengths), std::move(displacements), std::move(child));
}

TypeSpecRef make_hindexed(NumberList lengths, NumberList displacements_bytes, TypeSpecRef child) {
  return make_irregular(Combiner::kHindexed, std::move(lengths), std::move(displacements_bytes), std::move(child));
}

TypeSpecRef make_indexed_block(i64 block_length, NumberList displacements, TypeSpecRef child) {
  return make_blocks(Combiner::kIndexedBlock, block_length, std::move(displacements), std::move(child));
}

TypeSpecRef make_hindexed_block(i64 block_length, NumberList displacements_bytes, TypeSpecRef child) {
  return make_blocks(Combiner::kHindexedBlock, block_length, std::move(displacements_bytes), std::move(child));
}

TypeSpecRef make_struct(NumberList lengths, NumberList displacements_bytes,
                        std::vector<TypeSpecRef> children) {
  TypeSpec spec;
  spec.combiner = Combiner::kStruct;
  spec.count = static_cast<i64>(children.size());
  spec.lengths = std::move(lengths);
  spec.displacements = std::move(displacements_bytes);
  spec.children = std::move(children);
  return made(std::move(spec));
}

TypeSpecRef make_subarray(NumberList sizes, NumberList subsizes, NumberList starts, bool c_order,
                          TypeSpecRef child) {
  TypeSpec spec = with_child(Combiner::kSubarray, std::move(child));
  spec.sizes = std::move(sizes);
  spec.lengths = std::move(subsizes);
  spec.displacements = std::move(starts);
  spec.c_order = c_order;
  return made(std::move(spec));
}

TypeSpecRef make_darray(i64 world_size, i64 rank, NumberList gsizes, std::vector<Distribution> distributions,
                        NumberList dargs, NumberList psizes, bool c_order, TypeSpecRef child) {
  TypeSpec spec = with_child(Combiner::kDarray, std::move(child));
  spec.count = world_size;
  spec.block_length = rank;
  spec.sizes = std::move(gsizes);
  spec.distributions = std::move(distributions);
  spec.lengths = std::move(dargs);
  spec.displacements = std::move(psizes);
  spec.c_order = c_order;
  return made(std::move(spec));
}

TypeSpecRef make_resized(i64 lb, i64 extent, TypeSpecRef child) {
  TypeSpec spec = with_child(Combiner::kResized, std::move(child));
  spec.stride = lb;
  spec.extent = extent;
  return made(std::move(spec));
}

TypeSpecRef make_dup(TypeSpecRef child) {
  return made(with_child(Combiner::kDup, std::move(child)));
}

TypeSpecRef make_pair_type(TypeSpecRef first, TypeSpecRef second, i64 second_at, i64 extent) {
  TypeSpec spec = with_child(Combiner::kPair, std::move(first));
  spec.children.push_back(std::move(second));
  spec.stride = second_at;
  spec.extent = extent;
  return made(std::move(spec));
}

TypeSpecRef byte_type() {
  static const TypeSpecRef* const one = new TypeSpecRef(make_named(BasicType{}));
  return *one;
}

std::string to_string(const TypeSpec& spec) {
  int left = kNamedTypes;
  return text_of(spec, left);
}

}  // namespace mercutio
