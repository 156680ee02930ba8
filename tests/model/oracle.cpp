#include "oracle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace mercutio::oracle {
namespace {

using Rng = std::mt19937;

i64 pick(Rng& rng, i64 low, i64 high) {
  return std::uniform_int_distribution<i64>(low, high)(rng);
}
bool chance(Rng& rng, i64 one_in) {
  return pick(rng, 1, one_in) == 1;
}

enum class Form { kNative, kExternal32, kTwice };

Form form_of(const std::string& datarep) {
  return datarep == "external32" ? Form::kExternal32 : datarep == "twice" ? Form::kTwice : Form::kNative;
}

i64 bytes_in_file(const BasicType& basic, Form form) {
  if (form == Form::kTwice) return 2 * basic.native_bytes;
  return form == Form::kExternal32 ? basic.external_bytes : basic.native_bytes;
}

// A type tree with other sizes in the place of external32's, to expand it for the representation "twice".
TypeSpecRef with_sizes(const TypeSpecRef& spec, Form form) {
  auto copy = std::make_shared<TypeSpec>(*spec);
  if (spec->combiner == Combiner::kNamed) copy->basic.external_bytes = bytes_in_file(spec->basic, form);
  for (auto& child : copy->children) child = with_sizes(child, form);
  return copy;
}

Sizes sizes_in_file(Form form) { return form == Form::kNative ? Sizes::kNative : Sizes::kExternal32; }

Typemap expand_for_file(const TypeSpecRef& spec, Form form) {
  return expand(*with_sizes(spec, form), sizes_in_file(form));
}

// Where an element of memory has its n-th byte, from the one that counts least.
i64 place_of(i64 n, i64 size) { return std::endian::native == std::endian::little ? n : size - 1 - n; }

// One element between memory and file, per representation.
void element_to_file(const BasicType& basic, Form form, const std::byte* native, std::byte* file) {
  const i64 size = basic.native_bytes, in_file = bytes_in_file(basic, form);
  for (i64 i = 0; i < in_file; ++i) {
    if (form == Form::kNative) file[i] = native[i];
    if (form == Form::kTwice) file[i] = ~native[i % size];
    if (form == Form::kExternal32) file[i] = native[place_of(in_file - 1 - i, size)];
  }
}

void element_from_file(const BasicType& basic, Form form, const std::byte* file, std::byte* native) {
  const i64 size = basic.native_bytes, in_file = bytes_in_file(basic, form);
  std::byte fill{0};
  if (form == Form::kExternal32 && basic.kind == Basic::kSigned && (file[0] & std::byte{0x80}) != std::byte{0})
    fill = ~fill;
  for (i64 i = 0; i < size; ++i) {
    if (form == Form::kNative) native[i] = file[i];
    if (form == Form::kTwice) native[i] = ~file[i];
    if (form == Form::kExternal32) native[place_of(i, size)] = i < in_file ? file[in_file - 1 - i] : fill;
  }
}

struct RankView {
  i64 displacement = 0;
  std::vector<i64> offsets{0};  // of the data bytes of one copy
  i64 extent = 1;
  i64 etype_bytes = 1;
  i64 pointer = 0;
  i64 at(i64 stream) const {
    const i64 size = static_cast<i64>(offsets.size());
    return displacement + stream / size * extent + offsets[static_cast<size_t>(stream % size)];
  }
  // Stream bytes below a file offset; the offsets ascend.
  i64 below(i64 offset) const {
    i64 low = 0, high = 1;
    while (at(high - 1) < offset) high *= 2;
    while (low < high) {
      const i64 middle = (low + high) / 2;
      if (at(middle) < offset)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

struct World {
  explicit World(i64 count) : ranks(static_cast<size_t>(count)) {}
  std::vector<RankView> ranks;
  std::vector<std::byte> file;
  std::string datarep = "native";
  TypeSpecRef etype = byte_type();
  bool same_view = true;
  i64 shared = 0;
  i64 size() const { return static_cast<i64>(file.size()); }
  void put(i64 offset, std::byte value) {
    if (offset >= size()) file.resize(static_cast<size_t>(offset) + 1);
    file[static_cast<size_t>(offset)] = value;
  }
};

bool usable_in(const Typemap& map, Form form) {
  if (form != Form::kExternal32) return true;
  return std::none_of(map.elements.begin(), map.elements.end(),
                      [](const Element& e) { return e.basic.kind == Basic::kLongDouble; });
}

// A filetype: data bytes strictly ascending, also from copy to copy, and made of whole etypes.
TypeSpecRef random_filetype(Rng& rng, Form form, i64 etype_bytes, RankView& view) {
  for (;;) {
    TypeSpecRef spec = random_type(rng, static_cast<int>(pick(rng, 0, 3)), true);
    if (etype_bytes > 1) spec = make_contiguous(etype_bytes, spec);
    if (chance(rng, 4)) spec = make_resized(0, pick(rng, 1, 400), spec);
    const Typemap map = expand_for_file(spec, form);
    const std::vector<i64> three = byte_offsets(map, sizes_in_file(form), 3);
    if (three.empty() || three.size() > 6000 || three[0] < 0) continue;
    if (!std::is_sorted(three.begin(), three.end(), std::less_equal<>())) continue;
    view.offsets.assign(three.begin(), three.begin() + static_cast<i64>(three.size() / 3));
    view.extent = map.ub - map.lb;
    return spec;
  }
}

// A buffer for `count` copies of the type, with a margin, filled with values every representation can hold.
void make_buffer(Rng& rng, const Typemap& map, RankPart& part) {
  i64 low = 0, high = 0;
  for (i64 copy = 0; copy < part.count; ++copy)
    for (const Element& e : map.elements) {
      const i64 at = copy * (map.ub - map.lb) + e.offset;
      low = std::min(low, at);
      high = std::max(high, at + e.basic.native_bytes);
    }
  part.base = 8 - low;
  part.buffer.resize(static_cast<size_t>(high - low + 16));
  for (auto& byte : part.buffer) byte = static_cast<std::byte>(pick(rng, 0, 255));
  for (i64 copy = 0; copy < part.count; ++copy)
    for (const Element& e : map.elements) {
      if (e.basic.native_bytes == e.basic.external_bytes) continue;
      const i64 small = pick(rng, e.basic.kind == Basic::kSigned ? -90 : 0, 90);
      std::memcpy(&part.buffer[static_cast<size_t>(part.base + copy * (map.ub - map.lb) + e.offset)], &small,
                  static_cast<size_t>(e.basic.native_bytes));
    }
}

bool disjoint(const Typemap& map, i64 copies) {
  std::vector<i64> offsets = byte_offsets(map, Sizes::kNative, copies);
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
}

// Memory type and count of an access that covers whole etypes. Returns its bytes in the file.
i64 random_memory(Rng& rng, const World& world, RankPart& part, Typemap& map) {
  const Form form = form_of(world.datarep);
  const i64 etype_bytes = world.ranks[0].etype_bytes;
  for (;;) {
    part.memory = random_type(rng, static_cast<int>(pick(rng, 0, 3)), false);
    part.count = chance(rng, 8) ? 0 : pick(rng, 1, 6);
    map = expand(*part.memory, Sizes::kNative);
    i64 one = 0;
    for (const Element& e : map.elements) one += bytes_in_file(e.basic, form);
    if (one * part.count % etype_bytes != 0) part.count *= etype_bytes;
    if (one * part.count > 3000 || !usable_in(map, form) || !disjoint(map, part.count)) continue;
    make_buffer(rng, map, part);
    part.buffer_after = part.buffer;
    return one * part.count;
  }
}

// Moves the data as the standard says; returns the bytes moved in the file's representation.
i64 move_data(World& world, const RankView& view, i64 first_etype, Direction direction, const Typemap& map,
              RankPart& part) {
  const Form form = form_of(world.datarep);
  i64 stream = first_etype * view.etype_bytes;
  const i64 start = stream, end_of_file = world.size();
  for (i64 copy = 0; copy < part.count; ++copy)
    for (const Element& e : map.elements) {
      const auto place = static_cast<size_t>(part.base + copy * (map.ub - map.lb) + e.offset);
      const i64 in_file = bytes_in_file(e.basic, form);
      std::byte image[64] = {};
      if (direction == Direction::kWrite) {
        element_to_file(e.basic, form, &part.buffer[place], image);
        for (i64 i = 0; i < in_file; ++i) world.put(view.at(stream++), image[i]);
        part.bytes += e.basic.native_bytes;
        continue;
      }
      i64 there = 0;
      for (; there < in_file && view.at(stream) < end_of_file; ++there, ++stream)
        image[there] = world.file[static_cast<size_t>(view.at(stream))];
      if (there == in_file) {
        element_from_file(e.basic, form, image, &part.buffer_after[place]);
        part.bytes += e.basic.native_bytes;
      } else {
        if (form != Form::kNative) return stream - there - start;   // a part of an element can't be converted, so it is not read
        std::copy(image, image + there, &part.buffer_after[place]);
        part.bytes += there;
        return stream - start;
      }
    }
  return stream - start;
}

void plan_view(Rng& rng, World& world, Planned& step) {
  static const char* const kDatareps[] = {"native", "native", "internal", "external32", "twice", "plain"};
  step.datarep = world.datarep = kDatareps[pick(rng, 0, 5)];
  const Form form = form_of(step.datarep);
  const i64 etype_count = i64{1} << pick(rng, 0, 3);
  step.etype = world.etype =
      etype_count == 1 && chance(rng, 2) ? byte_type() : make_contiguous(etype_count, byte_type());
  world.same_view = chance(rng, 2);
  for (size_t r = 0; r < world.ranks.size(); ++r) {
    RankView& view = world.ranks[r];
    RankPart& part = step.ranks[r];
    if (world.same_view && r > 0) {
      view = world.ranks[0];
      part = step.ranks[0];
      continue;
    }
    view.etype_bytes = etype_count * bytes_in_file(BasicType{}, form);
    view.displacement = part.displacement = chance(rng, 3) ? 0 : pick(rng, 0, 100);
    view.pointer = 0;
    part.filetype = random_filetype(rng, form, etype_count, view);
    step.text += " " + to_string(*part.filetype) + "@" + std::to_string(part.displacement);
  }
  world.shared = 0;
}

// Writes of several ranks in one step must not touch the same byte: the standard leaves the outcome open.
bool conflicts(const World& world, const RankView& view, i64 first_etype, i64 bytes, std::map<i64, bool>& taken) {
  (void)world;
  std::vector<i64> mine;
  for (i64 i = 0; i < bytes; ++i) mine.push_back(view.at(first_etype * view.etype_bytes + i));
  if (std::any_of(mine.begin(), mine.end(), [&](i64 at) { return taken.contains(at); })) return true;
  for (i64 at : mine) taken[at] = true;
  return false;
}

void choose_access(Rng& rng, const World& world, Planned& step) {
  step.direction = chance(rng, 2) ? Direction::kRead : Direction::kWrite;
  step.collective = chance(rng, 2);
  step.positioning = static_cast<Positioning>(pick(rng, 0, world.same_view ? 2 : 1));
  step.synchronism = static_cast<Synchronism>(pick(rng, 0, step.collective ? 2 : 1));
  const bool no_such_call =
      step.collective && step.positioning == Positioning::kShared && step.synchronism == Synchronism::kNonblocking;
  if (no_such_call) step.synchronism = Synchronism::kSplit;
  static const char* const kPositions[] = {"explicit", "individual", "shared"};
  static const char* const kModes[] = {"blocking", "nonblocking", "split"};
  step.text += step.direction == Direction::kRead ? " read " : " write ";
  step.text += std::string(kPositions[static_cast<int>(step.positioning)]) +
               (step.collective ? " collective " : " independent ") + kModes[static_cast<int>(step.synchronism)];
}

void plan_access(Rng& rng, World& world, Planned& step) {
  choose_access(rng, world, step);
  const i64 only = !step.collective && step.positioning == Positioning::kShared
                       ? pick(rng, 0, 100) % static_cast<i64>(world.ranks.size())
                       : -1;
  std::map<i64, bool> taken;
  World before = world;  // reads of a step see nothing of it, as all ranks go the same way
  for (size_t r = 0; r < world.ranks.size(); ++r) {
    RankView& view = world.ranks[r];
    RankPart& part = step.ranks[r];
    part.takes_part = step.collective || only < 0 ? step.collective || !chance(rng, 4) : only == static_cast<i64>(r);
    if (!part.takes_part) continue;
    Typemap map;
    i64 bytes = random_memory(rng, world, part, map);
    part.offset = pick(rng, 0, 300 / view.etype_bytes);
    const i64 first = step.positioning == Positioning::kExplicit     ? part.offset
                      : step.positioning == Positioning::kIndividual ? view.pointer
                                                                     : world.shared;
    if (step.direction == Direction::kWrite && conflicts(before, view, first, bytes, taken)) part.count = bytes = 0;
    const i64 moved = move_data(world, view, first, step.direction, map, part);
    step.text += "\n      rank " + std::to_string(r) + ": " + std::to_string(part.count) + " of " +
                 to_string(*part.memory) + " at etype " + std::to_string(first);
    const i64 asked = bytes / view.etype_bytes;
    if (step.positioning == Positioning::kShared) world.shared += asked;
    if (step.positioning != Positioning::kIndividual) continue;
    view.pointer +=
        step.synchronism == Synchronism::kBlocking ? (moved + view.etype_bytes - 1) / view.etype_bytes : asked;
  }
}

i64 end_in_etypes(const World& world, const RankView& view) {
  return (view.below(world.size()) + view.etype_bytes - 1) / view.etype_bytes;
}

void choose_seek(Rng& rng, i64 current, i64 end, RankPart& part, i64& target) {
  part.whence = static_cast<Whence>(pick(rng, 0, 2));
  const i64 base = part.whence == Whence::kSet ? 0 : part.whence == Whence::kCurrent ? current : end;
  part.offset = pick(rng, -10, 60);
  part.error = base + part.offset < 0 ? ErrorClass::kArg : ErrorClass::kNone;
  if (part.error == ErrorClass::kNone) target = base + part.offset;
}

void plan_seeks(Rng& rng, World& world, Planned& step) {
  if (step.kind == StepKind::kSeekShared) {
    choose_seek(rng, world.shared, end_in_etypes(world, world.ranks[0]), step.ranks[0], world.shared);
    if (!world.same_view && step.ranks[0].whence == Whence::kEnd)
      step.ranks[0].whence = Whence::kSet, step.ranks[0].offset = world.shared = 0,
      step.ranks[0].error = ErrorClass::kNone;
    for (RankPart& part : step.ranks) part = step.ranks[0];
    return;
  }
  for (size_t r = 0; r < world.ranks.size(); ++r) {
    RankView& view = world.ranks[r];
    choose_seek(rng, view.pointer, end_in_etypes(world, view), step.ranks[r], view.pointer);
  }
}

// A collective read where one rank gives a bad offset: everybody must learn of it.
void plan_bad_call(Rng& rng, World& world, Planned& step) {
  step.collective = true;
  const size_t guilty = static_cast<size_t>(pick(rng, 0, 1000)) % world.ranks.size();
  for (size_t r = 0; r < world.ranks.size(); ++r) {
    RankPart& part = step.ranks[r];
    Typemap map;
    random_memory(rng, world, part, map);
    part.offset = r == guilty ? -pick(rng, 1, 9) : pick(rng, 0, 50);
    part.error = ErrorClass::kArg;
  }
}

template <class Rng>
std::string any_of(Rng& rng, std::initializer_list<const char*> values) {
  return values.begin()[pick(rng, 0, static_cast<i64>(values.size()) - 1)];
}

InfoItems random_info(Rng& rng) {
  static const char* const kToggles[] = {"automatic", "enable", "disable"};
  auto size = [&] { return std::to_string(chance(rng, 3) ? pick(rng, 4096, 100000) : pick(rng, 64, 600)); };
  return {{"cb_buffer_size", size()},
          {"ind_rd_buffer_size", size()},
          {"ind_wr_buffer_size", size()},
          {"cb_nodes", std::to_string(pick(rng, 0, 5))},
          {"romio_cb_read", kToggles[pick(rng, 0, 2)]},
          {"romio_cb_write", kToggles[pick(rng, 0, 2)]},
          {"romio_ds_read", kToggles[pick(rng, 0, 2)]},
          {"romio_ds_write", kToggles[pick(rng, 0, 2)]},
          {"mercutio_strategy", any_of(rng, {"auto", "auto", "individual", "list", "sieve", "two_phase", "dynamic", "static", "transpose"})},
          {"mercutio_domains", any_of(rng, {"auto", "even", "aligned", "stripe_cyclic", "group_cyclic"})},
          {"mercutio_placement", any_of(rng, {"auto", "rank_order", "round_robin", "stripe_aware", "cost"})},
          {"mercutio_exchange", any_of(rng, {"auto", "auto", "messages", "shared_memory", "two_layer"})},
          {"mercutio_order", any_of(rng, {"auto", "normal", "ring", "nd_shift", "nd_rank_shift"})},
          {"mercutio_depth", std::to_string(pick(rng, 0, 4))}};
}

void plan_reopen(Rng& rng, World& world, Planned& step) {
  step.append = chance(rng, 3);
  step.info = random_info(rng);
  for (RankView& view : world.ranks) {
    view = RankView{};
    view.pointer = step.append ? world.size() : 0;
  }
  world.shared = step.append ? world.size() : 0;
  world.same_view = true;
  world.datarep = "native";
  world.etype = byte_type();
}

void plan_step(const Step& step, World& world, Planned& planned) {
  static const char* const kNames[] = {"view", "access",    "seek", "seek_shared", "set_size", "preallocate",
                                       "sync", "atomicity", "info", "reopen",      "bad_call"};
  Rng rng(step.seed);
  planned.text = kNames[static_cast<int>(step.kind)];
  switch (step.kind) {
    case StepKind::kView:
      plan_view(rng, world, planned);
      break;
    case StepKind::kAccess:
      plan_access(rng, world, planned);
      break;
    case StepKind::kSeek:
    case StepKind::kSeekShared:
      plan_seeks(rng, world, planned);
      break;
    case StepKind::kSetSize:
      planned.value = pick(rng, 0, 2000);
      world.file.resize(static_cast<size_t>(planned.value));
      break;
    case StepKind::kPreallocate:
      planned.value = pick(rng, 0, 3000);
      world.file.resize(std::max(world.file.size(), static_cast<size_t>(planned.value)));
      break;
    case StepKind::kAtomicity:
      planned.value = pick(rng, 0, 1);
      break;
    case StepKind::kInfo:
      planned.info = random_info(rng);
      break;
    case StepKind::kReopen:
      plan_reopen(rng, world, planned);
      break;
    case StepKind::kBadCall:
      plan_bad_call(rng, world, planned);
      break;
    default:
      break;
  }
}

}  // namespace

Case make_case(std::uint32_t seed) {
  Rng rng(seed);
  Case made;
  made.seed = seed;
  made.ranks = pick(rng, 1, 5);
  made.on_disk = chance(rng, 4);
  made.steps.push_back({StepKind::kReopen, static_cast<std::uint32_t>(rng())});
  for (i64 left = pick(rng, 2, 10); left > 0; --left) {
    const i64 roll = pick(rng, 0, 29);
    StepKind kind = StepKind::kAccess;
    if (roll < 6)
      kind = StepKind::kView;
    else if (roll < 15)
      kind = static_cast<StepKind>(2 + roll - 6);
    made.steps.push_back({kind, static_cast<std::uint32_t>(rng())});
  }
  return made;
}

PlannedCase plan_case(const Case& random_case) {
  World world(random_case.ranks);
  PlannedCase all;
  for (const Step& step : random_case.steps) {
    Planned planned;
    planned.kind = step.kind;
    planned.ranks.resize(world.ranks.size());
    plan_step(step, world, planned);
    for (size_t r = 0; r < world.ranks.size(); ++r) {
      planned.ranks[r].pointer_after = world.ranks[r].pointer;
      planned.ranks[r].byte_offset_after = world.ranks[r].at(world.ranks[r].pointer * world.ranks[r].etype_bytes);
    }
    planned.size_after = world.size();
    planned.shared_after = world.shared;
    all.steps.push_back(std::move(planned));
  }
  all.content = std::move(world.file);
  return all;
}

namespace {

// Elements `position`, ... of the tiled type: calls f(address, basic, index).
template <class F>
Status for_elements(void* user_buffer, const TypeSpec& type, i64 count, i64 position, F f) {
  const Typemap map = expand(type, Sizes::kNative);
  const i64 in_copy = static_cast<i64>(map.elements.size());
  for (i64 i = 0; i < count; ++i) {
    const Element& e = map.elements[static_cast<size_t>((position + i) % in_copy)];
    f(static_cast<std::byte*>(user_buffer) + (position + i) / in_copy * (map.ub - map.lb) + e.offset, e.basic);
  }
  return ok_status();
}

}  // namespace

void add_test_datareps(DatarepRegistry& registry) {
  RegisteredDatarep twice;
  twice.name = "twice";
  twice.file_extent = [](const TypeSpecRef& named) -> Result<i64> { return 2 * named->basic.native_bytes; };
  twice.write = [](void* user, const TypeSpecRef& type, i64 count, void* file, i64 position) {
    auto* to = static_cast<std::byte*>(file);
    return for_elements(user, *type, count, position, [&](std::byte* at, const BasicType& basic) {
      element_to_file(basic, Form::kTwice, at, to);
      to += 2 * basic.native_bytes;
    });
  };
  twice.read = [](void* user, const TypeSpecRef& type, i64 count, void* file, i64 position) {
    const auto* from = static_cast<const std::byte*>(file);
    return for_elements(user, *type, count, position, [&](std::byte* at, const BasicType& basic) {
      element_from_file(basic, Form::kTwice, from, at);
      from += 2 * basic.native_bytes;
    });
  };
  RegisteredDatarep plain;
  plain.name = "plain";
  plain.file_extent = [](const TypeSpecRef& named) -> Result<i64> { return named->basic.native_bytes; };
  if (!registry.add(std::move(twice)) || !registry.add(std::move(plain))) std::abort();
}

}  // namespace mercutio::oracle
