#include "model/pattern_file.h"

#include <algorithm>

#include "model/keyed_lines.h"

namespace mercutio {
namespace {

constexpr i64 kLargest = i64{1} << 58;   // of sizes and of what is computed of them

struct Shape {
  enum class Kind { kNone, kContiguous, kInterleaved, kBlocks } kind = Kind::kNone;
  i64 origin = 0;
  i64 block = 1, count = 1, gap = 0;                 // contiguous, interleaved
  std::vector<i64> grid, array;                      // blocks
  i64 element = 1, halo = 0;
  std::vector<i64> idle;
};

struct Reader {
  Shape shape;
  PatternFile file;
};

// "rank 3 bytes 100 first 0 last 200 run 10 first_run 10": of a rank whose data has no shape.
Status read_rank(PatternFile& file, const KeyedLine& line) {
  MERCUTIO_LET(const i64 rank, line.size());
  if (rank >= static_cast<i64>(file.ranks.size())) return line.wrong("the machine has no such rank");
  RankSummary& summary = file.ranks[static_cast<size_t>(rank)];
  for (size_t word = 1; word < line.words.size(); word += 2) {
    MERCUTIO_LET(const i64 value, line.size(word + 1));
    const std::string& name = line.words[word];
    if (name == "bytes") summary.bytes = value;
    else if (name == "first") summary.first = value;
    else if (name == "last") summary.last = value;
    else if (name == "run") summary.run_bytes = value;
    else if (name == "first_run") summary.first_run_bytes = value;
    else return line.wrong("'" + name + "' must be bytes, first, last, run or first_run");
  }
  if (summary.bytes > 0 && summary.last <= summary.first) return line.wrong("last must be more than first");
  if (summary.last > kLargest || summary.bytes > kLargest) return line.wrong("too large");
  return ok_status();
}

i64* number_of(Shape& shape, const std::string& key) {
  if (key == "origin") return &shape.origin;
  if (key == "block") return &shape.block;
  if (key == "count") return &shape.count;
  if (key == "gap") return &shape.gap;
  if (key == "element") return &shape.element;
  return key == "halo" ? &shape.halo : nullptr;
}

std::vector<i64>* numbers_of(Shape& shape, const std::string& key) {
  if (key == "grid") return &shape.grid;
  if (key == "array") return &shape.array;
  return key == "idle" ? &shape.idle : nullptr;
}

Status read_line(Reader& reader, const KeyedLine& line) {
  if (i64* number = number_of(reader.shape, line.key)) {
    if (line.words.size() > 1) return line.wrong("one number only");
    MERCUTIO_LET(*number, line.size());
  } else if (std::vector<i64>* numbers = numbers_of(reader.shape, line.key)) {
    MERCUTIO_LET(*numbers, line.sizes());
  } else if (line.key == "access") {
    MERCUTIO_LET(const size_t which, line.one_of({"read", "write"}));
    reader.file.direction = which == 0 ? Direction::kRead : Direction::kWrite;
  } else if (line.key == "atomic") {
    MERCUTIO_LET(reader.file.atomic, line.yes_or_no());
  } else if (line.key == "shape") {
    MERCUTIO_LET(const size_t which, line.one_of({"contiguous", "interleaved", "blocks"}));
    reader.shape.kind = static_cast<Shape::Kind>(which + 1);
  } else if (line.key == "rank") {
    return read_rank(reader.file, line);
  } else {
    return line.wrong("no such key in a pattern file");
  }
  return ok_status();
}

// Whether what is computed of the numbers stays in range, and the grid is one of the ranks.
Status check(const Shape& shape, i64 ranks) {
  const auto wrong = [](const char* why) { return Error{ErrorClass::kArg, why}; };
  i64 most = std::max<i64>(1, ranks);
  const auto grow = [&](i64 factor) { return !__builtin_mul_overflow(most, std::max<i64>(1, factor), &most) && most < kLargest; };
  if (shape.origin > kLargest || shape.gap > kLargest || shape.block > kLargest || shape.halo > kLargest) return wrong("a number is too large");
  if (shape.kind != Shape::Kind::kBlocks) {
    if (shape.block < 1 || shape.count < 1) return wrong("block and count must be at least 1");
    return grow(shape.block + shape.gap) && grow(shape.count) ? ok_status() : wrong("the file would be too large");
  }
  i64 members = 1;
  for (const i64 extent : shape.grid) members = members <= ranks && extent <= ranks ? members * extent : 0;
  if (members != ranks) return wrong("grid: as many places as the machine has ranks");
  if (shape.array.size() != shape.grid.size()) return wrong("array: as many dimensions as the grid");
  if (shape.element < 1 || !grow(shape.element)) return wrong("element: at least 1 byte");
  for (size_t d = 0; d < shape.array.size(); ++d) {
    if (shape.array[d] < shape.grid[d]) return wrong("array: a rank would have no element");
    if (!grow(shape.array[d])) return wrong("the file would be too large");
  }
  return ok_status();
}

// The rank's block of the array, without `halo` elements on each side.
TypeSpecRef block_of(const Shape& shape, i64 rank) {
  Numbers starts(shape.grid.size()), extents(shape.grid.size());
  for (size_t d = shape.grid.size(); d-- > 0; rank /= shape.grid[d]) {
    const i64 place = rank % shape.grid[d];
    starts[d] = shape.array[d] * place / shape.grid[d] + shape.halo;
    extents[d] = shape.array[d] * (place + 1) / shape.grid[d] - shape.halo - starts[d];
    if (extents[d] < 1) return nullptr;
  }
  return make_subarray(Numbers(shape.array.begin(), shape.array.end()), extents, starts, true, make_contiguous(shape.element, byte_type()));
}

Result<RankSummary> summary_of_rank(const Shape& shape, i64 rank, i64 ranks) {
  View view = *default_view();
  view.displacement = shape.origin;
  i64 bytes = shape.block * shape.count;
  TypeSpecRef type = byte_type();
  if (shape.kind == Shape::Kind::kContiguous) {
    view.displacement += rank * (bytes + shape.gap);
  } else if (shape.kind == Shape::Kind::kInterleaved) {
    view.displacement += rank * (shape.block + shape.gap);
    type = make_resized(0, ranks * (shape.block + shape.gap), make_contiguous(shape.block, byte_type()));
  } else {
    type = block_of(shape, rank);
    if (!type) return Error{ErrorClass::kArg, "halo: a block has no inside"};
  }
  MERCUTIO_LET(view.filetype, FlatType::lower(*type));
  if (shape.kind == Shape::Kind::kBlocks) bytes = view.filetype->size();
  return summary_of(view, 0, bytes);
}

}  // namespace

Result<PatternFile> parse_pattern(const std::string& text, i64 ranks) {
  Reader reader;
  const std::vector<KeyedLine> lines = keyed_lines(text);
  reader.file.ranks.resize(static_cast<size_t>(ranks));
  for (const KeyedLine& line : lines) {
    if (line.key != "rank") MERCUTIO_TRY(read_line(reader, line));
  }
  const Shape& shape = reader.shape;
  if (shape.kind != Shape::Kind::kNone) {
    MERCUTIO_TRY(check(shape, ranks));
    for (i64 rank = 0; rank < ranks; ++rank) {
      if (std::find(shape.idle.begin(), shape.idle.end(), rank) != shape.idle.end()) continue;
      MERCUTIO_LET(reader.file.ranks[static_cast<size_t>(rank)], summary_of_rank(shape, rank, ranks));
    }
  }
  for (const KeyedLine& line : lines) {   // after the shape, so that a rank may differ from it
    if (line.key == "rank") MERCUTIO_TRY(read_line(reader, line));
  }
  return std::move(reader.file);
}

}  // namespace mercutio
