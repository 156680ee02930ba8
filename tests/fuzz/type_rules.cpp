// Every constructor by its own rules (MPI 5.1); numbers saturate, so that nothing overflows here.
#include "type_rules.h"

#include <algorithm>
#include <unordered_map>

namespace mercutio::fuzz {
namespace {

i64 magnitude(i64 a) {
  return a == INT64_MIN ? kEndless : std::min(kEndless, a < 0 ? -a : a);
}
i64 times(i64 a, i64 b) {
  a = magnitude(a), b = magnitude(b);
  return a != 0 && b > kEndless / a ? kEndless : a * b;
}
i64 plus(i64 a, i64 b) {
  return std::min(kEndless, magnitude(a) + magnitude(b));
}

class Maker {
 public:
  Maker(Taker& taker, bool tame) : taker_(taker), tame_(tame) {}

  TypeSpecRef type(int depth) {
    if (depth <= 0 || taker_.empty()) return basic();
    const i64 choice = taker_.byte() % 32;
    if (choice == 31 && !made_.empty()) return made_[static_cast<std::size_t>(taker_.byte()) % made_.size()];
    if (choice == 30) return tower(depth);
    if (choice == 29 && !tame_) return nullptr;
    TypeSpecRef made = construct(static_cast<Combiner>(choice % 13), depth);
    made_.push_back(made);
    return made;
  }

 private:
  i64 count() { return tame_ ? taker_.byte() % 5 : taker_.number(); }
  i64 place() { return tame_ ? taker_.byte() % 64 - (taker_.flag() ? 32 : 0) : taker_.number(); }
  i64 length() { return tame_ ? taker_.byte() % 4 : taker_.number(); }
  i64 entries() { return taker_.byte() % (taker_.flag() ? 5 : 17); }

  TypeSpecRef basic() {
    static const BasicType kinds[] = {{Basic::kByte, 1, 1},     {Basic::kChar, 1, 1},  {Basic::kSigned, 2, 2},   {Basic::kSigned, 4, 4},
                                      {Basic::kFloat, 8, 8},    {Basic::kSigned, 8, 4}, {Basic::kWideChar, 4, 2}, {Basic::kLongDouble, 16, 16},
                                      {Basic::kByte, 0, 0}};
    const i64 choice = taker_.byte() % 10;
    if (choice == 9 && !tame_) return make_named({Basic::kByte, taker_.number(), taker_.number()});
    return make_named(kinds[choice % 9]);
  }

  // Many constructors on top of each other.
  TypeSpecRef tower(int depth) {
    TypeSpecRef top = type(depth - 1);
    const i64 storeys = taker_.byte() * (tame_ ? 1 : 8), kind = taker_.byte() % 3;
    for (i64 i = 0; i < storeys; ++i)
      top = kind == 0 ? make_dup(top) : kind == 1 ? make_contiguous(1, top) : make_struct({1}, {0}, {top});
    return top;
  }

  Numbers list(i64 size, i64 (Maker::*next)()) {
    Numbers out;
    for (i64 i = 0; i < size; ++i) out.push_back((this->*next)());
    if (!tame_ && taker_.byte() == 7) out.push_back(1);  // one too many
    return out;
  }

  TypeSpecRef structure(int depth) {
    const i64 size = taker_.byte() % 5;
    std::vector<TypeSpecRef> children;
    for (i64 i = 0; i < size; ++i) children.push_back(type(depth - 1));
    return make_struct(list(size, &Maker::length), list(size, &Maker::place), children);
  }

  TypeSpecRef subarray(TypeSpecRef child) {
    const i64 dims = taker_.byte() % 4 + (tame_ ? 1 : 0);
    if (!tame_) {
      const auto sizes = list(dims, &Maker::count), subsizes = list(dims, &Maker::count), starts = list(dims, &Maker::count);
      return make_subarray(sizes, subsizes, starts, taker_.flag(), std::move(child));
    }
    Numbers sizes, subsizes, starts;
    for (i64 d = 0; d < dims; ++d) {
      sizes.push_back(taker_.pick(1, 5));
      subsizes.push_back(taker_.pick(0, sizes.back()));
      starts.push_back(taker_.pick(0, sizes.back() - subsizes.back()));
    }
    return make_subarray(sizes, subsizes, starts, taker_.flag(), std::move(child));
  }

  TypeSpecRef darray(TypeSpecRef child) {
    const i64 dims = taker_.byte() % 4 + (tame_ ? 1 : 0);
    Numbers sizes, args, grid;
    std::vector<Distribution> distributions;
    i64 world = 1;
    for (i64 d = 0; d < dims; ++d) {
      distributions.push_back(static_cast<Distribution>(taker_.byte() % 3));
      sizes.push_back(tame_ ? taker_.pick(1, 6) : taker_.number());
      grid.push_back(!tame_ ? taker_.number() : distributions.back() == Distribution::kNone ? 1 : taker_.pick(1, 3));
      args.push_back(taker_.flag() ? kDefaultDistributionArg : tame_ ? taker_.pick(1, 6) : taker_.number());
      world = times(world, grid.back());
    }
    if (!tame_ && taker_.byte() == 7) world = taker_.number();
    const i64 rank = tame_ ? taker_.pick(0, world - 1) : taker_.flag() ? 0 : taker_.number();
    return make_darray(world, rank, sizes, distributions, args, grid, taker_.flag(), std::move(child));
  }

  TypeSpecRef construct(Combiner combiner, int depth) {
    if (combiner == Combiner::kNamed) return basic();
    if (combiner == Combiner::kStruct) return structure(depth);
    TypeSpecRef child = type(depth - 1);
    const i64 size = entries();
    switch (combiner) {
      case Combiner::kContiguous: {
        return make_contiguous(count(), std::move(child));
      }
      case Combiner::kVector:
      case Combiner::kHvector: {
        const i64 blocks = count(), block = length(), stride = place();
        return combiner == Combiner::kVector ? make_vector(blocks, block, stride, child) : make_hvector(blocks, block, stride, child);
      }
      case Combiner::kIndexed:
      case Combiner::kHindexed: {
        auto lengths = list(size, &Maker::length), places = list(size, &Maker::place);
        return combiner == Combiner::kIndexed ? make_indexed(lengths, places, child) : make_hindexed(lengths, places, child);
      }
      case Combiner::kIndexedBlock:
      case Combiner::kHindexedBlock: {
        const i64 block = length();
        auto places = list(size, &Maker::place);
        return combiner == Combiner::kIndexedBlock ? make_indexed_block(block, places, child) : make_hindexed_block(block, places, child);
      }
      case Combiner::kSubarray:
        return subarray(std::move(child));
      case Combiner::kDarray:
        return darray(std::move(child));
      case Combiner::kResized: {
        const i64 lb = place(), extent = place();
        return make_resized(lb, extent, std::move(child));
      }
      default:
        return make_dup(std::move(child));
    }
  }

  Taker& taker_;
  bool tame_;
  std::vector<TypeSpecRef> made_;
};

// ---- the rules ----

class Judge {
 public:
  explicit Judge(Sizes sizes) : sizes_(sizes) {}
  Judgement of(const TypeSpec& s) {
    if (const auto known = known_.find(&s); known != known_.end()) return known->second;
    return known_[&s] = look_at(s);
  }

 private:
  Judgement look_at(const TypeSpec& s) {
    if (s.combiner == Combiner::kNamed) return named(s.basic);
    if (s.combiner == Combiner::kStruct) return structure(s);
    if (s.children.size() != 1 || !s.children[0]) return illegal();
    const Judgement child = of(*s.children[0]);
    Judgement j = construct(s, child);
    j.legal = j.legal && child.legal;
    j.depth = child.depth + 1;
    return j;
  }

  static Judgement illegal() {
    Judgement j;
    j.legal = false;
    return j;
  }

  Judgement named(const BasicType& basic) const {
    const i64 bytes = sizes_ == Sizes::kNative ? basic.native_bytes : basic.external_bytes;
    Judgement j;
    j.legal = basic.native_bytes >= 0 && basic.external_bytes >= 0;
    j.bytes = j.reach = magnitude(bytes);
    return j;
  }

  // `copies` of child, none of them further than `distance` from its own place.
  static void add(Judgement& j, const Judgement& child, i64 copies, i64 distance) {
    j.work = plus(j.work, times(plus(copies, 1), child.work));
    j.bytes = plus(j.bytes, times(copies, child.bytes));
    j.reach = plus(j.reach, plus(distance, times(plus(copies, 1), plus(plus(child.reach, child.reach), child.bytes))));
  }

  Judgement structure(const TypeSpec& s) {
    Judgement j;
    if (s.lengths.size() != s.displacements.size() || s.lengths.size() != std::ssize(s.children)) return illegal();
    for (std::size_t i = 0; i < s.children.size(); ++i) {
      if (s.lengths[i] < 0 || !s.children[i]) return illegal();
      const Judgement child = of(*s.children[i]);
      j.legal = j.legal && (child.legal || s.lengths[i] == 0);  // what isn't used isn't looked at
      if (!child.legal) j.work = kEndless;
      j.depth = std::max(j.depth, child.depth + 1);
      add(j, child, s.lengths[i], s.displacements[i]);
    }
    return j;
  }

  static Judgement construct(const TypeSpec& s, const Judgement& child) {
    Judgement j;
    const i64 step = plus(child.reach, child.reach);  // no less than the child's extent
    switch (s.combiner) {
      case Combiner::kContiguous:
        j.legal = s.count >= 0;
        add(j, child, s.count, 0);
        return j;
      case Combiner::kVector:
      case Combiner::kHvector:
        j.legal = s.count >= 0 && s.block_length >= 0;
        j.work = plus(1, s.count);  // blocks of no length are counted as well
        add(j, child, times(s.count, s.block_length), times(times(s.count, s.stride), s.combiner == Combiner::kVector ? plus(step, 1) : 1));
        return j;
      case Combiner::kSubarray:
        return subarray(s, child);
      case Combiner::kDarray:
        return darray(s, child);
      case Combiner::kResized:
        add(j, child, 1, plus(s.stride, s.extent));
        return j;
      case Combiner::kDup:
        return child;
      default:
        return indexed(s, child, step);
    }
  }

  static Judgement indexed(const TypeSpec& s, const Judgement& child, i64 step) {
    const bool block = s.combiner == Combiner::kIndexedBlock || s.combiner == Combiner::kHindexedBlock;
    const bool elements = s.combiner == Combiner::kIndexed || s.combiner == Combiner::kIndexedBlock;
    Judgement j;
    if (!block && s.lengths.size() != s.displacements.size()) return illegal();
    add(j, child, 0, 0);
    for (i64 i = 0; i < s.displacements.size(); ++i) {
      const i64 length = block ? s.block_length : s.lengths[i];
      j.legal = j.legal && length >= 0;
      add(j, child, length, times(s.displacements[i], elements ? plus(step, 1) : 1));
    }
    return j;
  }

  static Judgement subarray(const TypeSpec& s, const Judgement& child) {
    const i64 dims = s.sizes.size();
    Judgement j;
    if (dims == 0 || s.lengths.size() != dims || s.displacements.size() != dims) return illegal();
    i64 places = 1;
    for (i64 d = 0; d < dims; ++d) {
      j.legal = j.legal && s.sizes[d] >= 1 && s.lengths[d] >= 0 && s.lengths[d] <= s.sizes[d] && s.displacements[d] >= 0 &&
                s.displacements[d] <= s.sizes[d] - s.lengths[d];
      places = times(places, s.sizes[d]);
    }
    add(j, child, places, 0);
    return j;
  }

  static Judgement darray(const TypeSpec& s, const Judgement& child) {
    const i64 dims = s.sizes.size();
    Judgement j;
    if (dims == 0 || s.lengths.size() != dims || s.displacements.size() != dims || std::ssize(s.distributions) != dims) return illegal();
    i64 places = 1, grid = 1, cycles = 1;
    for (i64 d = 0; d < dims; ++d) {
      const i64 size = s.sizes[d], procs = s.displacements[d], arg = s.lengths[d];
      if (size < 1 || procs < 1) return illegal();
      const i64 share = (size - 1) / procs + 1;
      const Distribution distribution = s.distributions[static_cast<std::size_t>(d)];
      if (distribution == Distribution::kNone) j.legal = j.legal && procs == 1;
      if (distribution == Distribution::kBlock) j.legal = j.legal && (arg == kDefaultDistributionArg || arg >= share);
      if (distribution == Distribution::kCyclic) j.legal = j.legal && (arg == kDefaultDistributionArg || arg >= 1);
      places = times(places, size);
      grid = times(grid, procs);
      cycles = times(cycles, times(procs, distribution == Distribution::kNone ? 1 : plus(arg, share)));
    }
    j.legal = j.legal && grid < kEndless && grid == s.count && s.block_length >= 0 && s.block_length < grid;
    add(j, child, places, times(cycles, times(places, plus(child.reach, child.reach))));
    return j;
  }

  Sizes sizes_;
  std::unordered_map<const TypeSpec*, Judgement> known_;  // a tree may have more paths than nodes
};

}  // namespace

TypeSpecRef type_from(Taker& taker, int depth, bool tame) {
  return Maker(taker, tame).type(depth);
}

Judgement judge(const TypeSpec& spec, Sizes sizes) {
  return Judge(sizes).of(spec);
}

}  // namespace mercutio::fuzz
