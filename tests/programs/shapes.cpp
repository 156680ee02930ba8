// Filetypes ascend and their extents keep it so from copy to copy; memory types may go back, overlap nothing, and leave gaps.
#include "shapes.h"

#include <algorithm>
#include <numeric>

namespace mercutio::programs {
namespace {

Type made_of(Kind kind, int inner) {
  Type type;
  type.kind = kind;
  type.inner = {inner};
  return type;
}

int resized(Program& program, int inner, i64 lb, i64 extent) {
  Type type = made_of(Kind::kResized, inner);
  type.lb = lb;
  type.extent = extent;
  return program.add(type);
}

int contiguous(Program& program, int inner, i64 count) {
  Type type = made_of(Kind::kContiguous, inner);
  type.count = count;
  return program.add(type);
}

// Blocks at places, in one of the kinds that can say it. Places are in elements.
int blocks(Program& program, Draw& draw, int inner, const std::vector<Segment>& list) {
  const Kind kind = draw.one_of(std::vector<Kind>{Kind::kIndexed, Kind::kHindexed, Kind::kStruct});
  Type type = made_of(kind, inner);
  const i64 scale = kind == Kind::kIndexed ? 1 : program.map(inner).extent;
  for (const Segment& segment : list) {
    type.places.push_back(segment.at * scale);
    type.lengths.push_back(segment.bytes);
  }
  if (kind == Kind::kStruct) type.inner.assign(list.size(), inner);
  return program.add(type);
}

// `block` elements of every `tile`, `copies` times, the first one at `start`; its extent is that of the tiles.
int strided(Program& program, Draw& draw, int inner, Segment block, std::pair<i64, i64> tile_and_copies) {
  const auto [tile, copies] = tile_and_copies;
  const i64 unit = program.map(inner).extent;
  switch (draw.between(0, 5)) {
    case 0: {
      Type type = made_of(Kind::kSubarray, inner);
      type.sizes = {copies, tile};
      type.subsizes = {copies, block.bytes};
      type.starts = {0, block.at};
      return program.add(type);
    }
    case 1: {
      Type type = made_of(Kind::kSubarray, inner);
      type.sizes = {tile, copies};
      type.subsizes = {block.bytes, copies};
      type.starts = {block.at, 0};
      type.fortran_order = true;
      return program.add(type);
    }
    case 2: {
      std::vector<Segment> list;
      for (i64 i = 0; i < copies; ++i) list.push_back({i * tile + block.at, block.bytes});
      return resized(program, blocks(program, draw, inner, list), 0, tile * copies * unit);
    }
    case 3: {
      Type type = made_of(draw.percent(50) ? Kind::kIndexedBlock : Kind::kHindexedBlock, inner);
      type.block = block.bytes;
      for (i64 i = 0; i < copies; ++i) {
        type.places.push_back((i * tile + block.at) * (type.kind == Kind::kIndexedBlock ? 1 : unit));
      }
      return resized(program, program.add(type), 0, tile * copies * unit);
    }
    default: {
      Type type = made_of(draw.percent(50) ? Kind::kVector : Kind::kHvector, inner);
      type.count = copies;
      type.block = block.bytes;
      type.stride = tile * (type.kind == Kind::kVector ? 1 : unit);
      int whole = program.add(type);
      if (block.at > 0) {
        Type moved = made_of(Kind::kHindexed, whole);
        moved.places = {block.at * unit};
        moved.lengths = {1};
        whole = program.add(moved);
      }
      return resized(program, whole, 0, tile * copies * unit);
    }
  }
}

void darrays(Program& program, Draw& draw, View& view) {
  const i64 ranks = program.ranks;
  const bool two = draw.percent(50);
  i64 rows = 1;
  for (i64 i = 1; i <= ranks; ++i) {
    if (ranks % i == 0 && draw.percent(60)) rows = i;
  }
  for (i64 r = 0; r < ranks; ++r) {
    Type type = made_of(Kind::kDarray, view.etype);
    type.rank = r;
    type.sizes = two ? std::vector<i64>{4 * rows, 4 * (ranks / rows)} : std::vector<i64>{ranks * 12};
    type.starts = two ? std::vector<i64>{rows, ranks / rows} : std::vector<i64>{ranks};
    for (size_t d = 0; d < type.sizes.size(); ++d) {
      Draw same(program.seed + d);  // the same for all ranks
      const bool cyclic = same.percent(60);
      type.distributions.push_back(cyclic ? Distribution::kCyclic : Distribution::kBlock);
      type.subsizes.push_back(cyclic && same.percent(70) ? same.between(1, 3) : 0);
    }
    type.fortran_order = program.seed % 2 == 0;
    view.filetypes.push_back(program.add(type));
  }
  view.disjoint = true;
}

// Each element of a tile goes to somebody or nobody.
void irregular(Program& program, Draw& draw, View& view) {
  const i64 cells = draw.between(2, 40), unit = draw.one_of(std::vector<i64>{1, 1, 3, 16, 100});
  std::vector<std::vector<Segment>> lists(static_cast<size_t>(program.ranks));
  for (i64 cell = 0; cell < cells; ++cell) {
    const i64 owner = draw.between(0, program.ranks);
    if (owner < program.ranks) lists[static_cast<size_t>(owner)].push_back({cell * unit, unit - (draw.percent(20) ? unit / 2 : 0)});
  }
  const i64 tile = (cells + program.ranks) * unit;
  for (i64 r = 0; r < program.ranks; ++r) {
    auto& list = lists[static_cast<size_t>(r)];
    if (list.empty()) list.push_back({(cells + r) * unit, unit});
    const int whole = blocks(program, draw, view.etype, list);
    view.filetypes.push_back(resized(program, whole, 0, tile * view.etype_bytes));
  }
  view.disjoint = true;
}

void nest(Program& program, Draw& draw, View& view) {
  const i64 copies = draw.between(2, 3), gap = draw.one_of(std::vector<i64>{0, 0, 1, 5});
  for (int& filetype : view.filetypes) {
    const i64 extent = program.map(filetype).extent;
    Type type = made_of(Kind::kHvector, filetype);
    type.count = copies;
    type.block = 1;
    type.stride = extent + gap * view.etype_bytes;
    filetype = resized(program, program.add(type), 0, copies * type.stride);
  }
}

void interleave(Program& program, Draw& draw, View& view) {
  const i64 block = draw.one_of(std::vector<i64>{1, 2, 3, 7, 16, 50, 125, 500}), holes = draw.percent(30) ? draw.between(1, block) : 0;
  const i64 tile = block * program.ranks + holes, copies = draw.percent(40) ? 1 : draw.between(2, 6);
  const bool by_displacement = draw.percent(40);
  for (i64 r = 0; r < program.ranks; ++r) {
    view.filetypes.push_back(strided(program, draw, view.etype, {by_displacement ? 0 : r * block, block}, {tile, copies}));
    if (by_displacement) view.displacements[static_cast<size_t>(r)] += r * block * view.etype_bytes;
  }
  view.disjoint = true;
}

// Elements of one copy: a divisor of the whole, not too many of them.
i64 divisor(Draw& draw, i64 whole, i64 at_most) {
  for (int i = 0; i < 6; ++i) {
    const i64 candidate = draw.between(1, std::min(whole, at_most));
    if (whole % candidate == 0) return candidate;
  }
  return whole <= at_most ? whole : 1;
}

int scattered(Program& program, Draw& draw, int basic, i64 elements) {
  std::vector<Segment> list;
  i64 place = draw.percent(20) ? -draw.between(1, 20) : 0;
  for (i64 left = elements; left > 0;) {
    const i64 length = draw.between(1, std::max<i64>(left / 4, 1));
    list.push_back({place, length});
    place += length + draw.between(0, 5);
    left -= length;
  }
  if (draw.percent(50)) std::reverse(list.begin(), list.end());
  return blocks(program, draw, basic, list);
}

}  // namespace

int basic_type(Program& program, Basic basic) {
  Type type;
  type.basic = basic;
  for (size_t i = 0; i < program.types.size(); ++i) {
    if (program.types[i].kind == Kind::kBasic && program.types[i].basic == basic) return static_cast<int>(i);
  }
  return program.add(type);
}

View plain_view(Program& program) {
  View view;
  view.etype = basic_type(program, Basic::kByte);
  view.filetypes.assign(static_cast<size_t>(program.ranks), view.etype);
  view.displacements.assign(static_cast<size_t>(program.ranks), 0);
  return view;
}

View interleaved_view(Program& program, Draw& draw, i64 block, i64 tile) {
  View view = plain_view(program);
  for (i64 r = 0; r < program.ranks; ++r) {
    view.filetypes[static_cast<size_t>(r)] = strided(program, draw, view.etype, {r * block, block}, {tile, draw.between(1, 4)});
  }
  view.disjoint = block * program.ranks <= tile;
  return view;
}

View draw_view(Program& program, Draw& draw) {
  View view = plain_view(program);
  view.basic = draw.one_of(std::vector<Basic>{Basic::kByte, Basic::kByte, Basic::kChar, Basic::kShort, Basic::kInt,
                                              Basic::kFloat, Basic::kDouble, Basic::kLongLong});
  view.etype = basic_type(program, view.basic);
  if (draw.percent(20)) view.etype = contiguous(program, view.etype, draw.between(2, 5));
  if (draw.percent(5)) view.etype = program.add(made_of(Kind::kDup, view.etype));
  view.etype_bytes = program.map(view.etype).size;
  const i64 displacement = draw.percent(60) ? 0 : draw.percent(50) ? draw.between(1, 300) : draw.between(1, 9000);
  std::fill(view.displacements.begin(), view.displacements.end(), displacement);
  view.filetypes.clear();
  const i64 family = draw.between(0, 99);
  if (family < 12) {
    view.filetypes.assign(static_cast<size_t>(program.ranks), view.etype);
    return view;
  }
  if (family < 65) {
    interleave(program, draw, view);
  } else if (family < 80) {
    irregular(program, draw, view);
  } else if (family < 92) {
    darrays(program, draw, view);
  } else {  // the same with holes for all
    const i64 block = draw.between(1, 30);
    const int filetype = strided(program, draw, view.etype, {draw.between(0, 3), block}, {block + draw.between(3, 40), draw.between(1, 5)});
    view.filetypes.assign(static_cast<size_t>(program.ranks), filetype);
  }
  if (draw.percent(15)) nest(program, draw, view);
  return view;
}

std::pair<int, i64> draw_memory(Program& program, Draw& draw, Basic basic, i64 basics) {
  const int element = basic_type(program, basic);
  const i64 unit = bytes_of(basic);
  if (basics == 0 || draw.percent(60)) return {element, basics};
  const i64 each = divisor(draw, basics, 64), copies = basics / each;
  switch (draw.between(0, 6)) {
    case 0:  // gaps between copies
      return {resized(program, contiguous(program, element, each), 0, (each + draw.between(1, 9)) * unit), copies};
    case 1: {  // a column of a matrix
      const i64 columns = divisor(draw, basics, 16);
      Type type = made_of(Kind::kVector, element);
      type.count = basics / columns;
      type.block = 1;
      type.stride = columns;
      if (type.count > 400) return {element, basics};
      return {resized(program, program.add(type), 0, unit), columns};
    }
    case 2: {  // backwards
      Type type = made_of(Kind::kHvector, element);
      type.count = each;
      type.block = 1;
      type.stride = -2 * unit;
      return {resized(program, program.add(type), -2 * unit * each, 2 * unit * each), copies};
    }
    case 3: {
      const int whole = scattered(program, draw, element, each);
      const Map map = program.map(whole);
      const i64 extent = map.true_ub - map.true_lb + unit * draw.between(0, 3);
      return {resized(program, whole, map.true_lb, extent), copies};
    }
    case 4:
      return {strided(program, draw, element, {draw.between(0, 4), each}, {each + 4 + draw.between(0, 6), 1}), copies};
    case 5:
      return {contiguous(program, element, each), copies};
    default: {
      const int whole = strided(program, draw, element, {1, 1}, {draw.between(2, 4), each});
      return {whole, copies};
    }
  }
}

}  // namespace mercutio::programs
