// What programs do with a file, in stretches of steps. Each was drawn after something that goes wrong in MPI-IO: what is late, what
// is kept back, what is read too early, what is written around.
#include <algorithm>
#include <numeric>

#include "generator.h"

namespace mercutio::programs {

// Accesses of all kinds, with and without order between them.
void Generator::mixed(Handle& handle) {
  for (i64 left = draw_.between(3, 12); left > 0; --left) {
    const bool collective = draw_.percent(50);
    const i64 etypes = some_etypes(handle);
    const bool even = draw_.percent(50);
    Step& step = access(handle, draw_.percent(55), collective);
    step.synchronism = some_synchronism(collective);
    if (step.synchronism != Synchronism::kBlocking) under_way_.push_back(step.id);
    for (int r = 0; r < program_.ranks; ++r) {
      const i64 length = even ? etypes : draw_.percent(15) && collective ? 0 : draw_.between(1, etypes);
      set_part(handle, step, r, {slot(handle, r, etypes), length});
      if (!collective) step.parts[static_cast<size_t>(r)].in = draw_.percent(70);
    }
    if (draw_.percent(35)) order(handle, some_ordering());
    if (draw_.percent(20)) complete_some();
  }
}

// Ranks write one after the other in time, or with nothing between them; then all read what was written.
void Generator::relay(Handle& handle) {
  if (draw_.percent(50)) set_view(handle, interleaved_view(program_, draw_, draw_.one_of(std::vector<i64>{1, 8, 100, 1000}), 6000));
  const i64 pieces = draw_.between(1, 8), each = std::min<i64>(some_etypes(handle), 1200);
  const bool waits = draw_.percent(40), collective = draw_.percent(70);
  for (int r = 0; r < program_.ranks; ++r) {
    for (i64 i = 0; i < pieces; ++i) {
      Step& step = access(handle, true, false);
      only(step, r);
      const i64 first = handle.view.disjoint ? i * each : (i * program_.ranks + r) * each;
      set_part(handle, step, r, {first, each});
      if (!waits && draw_.percent(10)) step.parts[static_cast<size_t>(r)].delay_us = draw_.between(10, 1500);
    }
    if (waits) order(handle, Ordering::kBarrier);
  }
  if (draw_.percent(50)) order(handle, some_ordering());
  const i64 reads = draw_.percent(50) ? 1 : pieces;
  for (i64 i = 0; i < reads; ++i) {
    Step& step = access(handle, false, collective);
    step.synchronism = some_synchronism(collective);
    if (step.synchronism != Synchronism::kBlocking) under_way_.push_back(step.id);
    for (int r = 0; r < program_.ranks; ++r) {
      const i64 length = pieces / reads * each;
      set_part(handle, step, r, {handle.view.disjoint ? i * each : (i * program_.ranks + r) * each, handle.view.disjoint ? length : each});
    }
  }
}

// Small pieces in a row by one rank or by each; then others overwrite some of them, or read them.
void Generator::in_a_row(Handle& handle) {
  const i64 pieces = draw_.between(10, 30);
  const i64 each = std::max<i64>(1, draw_.one_of(std::vector<i64>{1, 8, 100, 1000, 1000, 4096, hints_ ? 500 : 20000}) / handle.view.etype_bytes);
  const int writer = static_cast<int>(draw_.between(0, program_.ranks - 1));
  const bool all = draw_.percent(30);
  for (i64 i = 0; i < pieces; ++i) {
    Step& step = access(handle, true, false);
    if (!all) only(step, writer);
    for (int r = 0; r < program_.ranks; ++r) set_part(handle, step, r, {(all && !handle.view.disjoint ? r * pieces : 0) * each + i * each, each});
  }
  order(handle, some_ordering());
  const int other = static_cast<int>(draw_.between(0, program_.ranks - 1));
  for (i64 i = 0; i < pieces; ++i) {
    if (draw_.percent(60)) continue;
    Step& step = access(handle, draw_.percent(70), false);
    only(step, other);
    set_part(handle, step, other, {i * each + draw_.between(0, each - 1), draw_.between(1, each)});
  }
  if (draw_.percent(70)) order(handle, some_ordering());
  Step& step = access(handle, false, draw_.percent(60));
  for (int r = 0; r < program_.ranks; ++r) set_part(handle, step, r, {0, std::min<i64>(each * pieces, 50000 / handle.view.etype_bytes)});
}

// Small reads in a row, also while others write.
void Generator::read_in_a_row(Handle& handle) {
  const i64 pieces = draw_.between(8, 30), each = std::max<i64>(1, draw_.one_of(std::vector<i64>{1, 16, 300, 1000}) / handle.view.etype_bytes);
  const bool collective = draw_.percent(25), by_pointer = draw_.percent(40);
  const int writer = static_cast<int>(draw_.between(0, program_.ranks - 1));
  if (by_pointer) add(Op::kSeek, handle.number);
  for (i64 i = 0; i < pieces; ++i) {
    Step& step = access(handle, false, collective);
    if (by_pointer) step.positioning = Positioning::kIndividual;
    for (int r = 0; r < program_.ranks; ++r) set_part(handle, step, r, {i * each, each});
    if (!draw_.percent(20)) continue;
    Step& write = access(handle, true, false);
    only(write, writer);
    set_part(handle, write, writer, {draw_.between(0, pieces) * each, draw_.between(1, each)});
    if (draw_.percent(40)) order(handle, draw_.percent(50) ? Ordering::kSync : Ordering::kBarrier);
  }
}

// A collective write, and then ranks write over some of their own bytes.
void Generator::own_overwrites(Handle& handle) {
  if (!handle.view.disjoint && draw_.percent(70)) set_view(handle, interleaved_view(program_, draw_, draw_.one_of(std::vector<i64>{1, 10, 100}), 640));
  const i64 etypes = std::max<i64>(some_etypes(handle), 4);
  for (i64 left = draw_.between(1, 4); left > 0; --left) {
    Step& step = access(handle, true, true);
    for (int r = 0; r < program_.ranks; ++r) set_part(handle, step, r, {0, etypes});
    const Synchronism synchronism = some_synchronism(true);
    step.synchronism = synchronism;
    if (synchronism != Synchronism::kBlocking) {
      const int id = step.id;
      add(Op::kComplete, handle.number).targets = {id};
    }
    for (i64 pieces = draw_.between(1, 5); pieces > 0; --pieces) {
      Step& over = access(handle, draw_.percent(80), false);
      for (int r = 0; r < program_.ranks; ++r) {
        const i64 at = draw_.between(0, etypes - 1);
        set_part(handle, over, r, {at, draw_.between(1, etypes - at)});
        over.parts[static_cast<size_t>(r)].in = draw_.percent(60);
      }
    }
  }
  if (draw_.percent(60)) order(handle, some_ordering());
  Step& step = access(handle, false, draw_.percent(60));
  for (int r = 0; r < program_.ranks; ++r) set_part(handle, step, r, {0, etypes});
}

// Many nonblocking accesses under way, on bytes of their own; completed in any order.
void Generator::storm(Handle& handle) {
  const i64 accesses = draw_.between(3, 14), etypes = std::min<i64>(some_etypes(handle), 1500);
  const bool collective = draw_.percent(35);
  for (i64 i = 0; i < accesses; ++i) {
    const bool now = draw_.percent(20);
    Step& step = access(handle, draw_.percent(70), collective && !now);
    step.synchronism = now ? Synchronism::kBlocking : Synchronism::kNonblocking;
    if (draw_.percent(20)) step.positioning = Positioning::kIndividual;
    for (int r = 0; r < program_.ranks; ++r) {
      const i64 first = (handle.view.disjoint ? i : i * program_.ranks + r) * etypes;
      set_part(handle, step, r, {first, draw_.between(1, etypes)});
    }
    if (!now) under_way_.push_back(step.id);
    if (draw_.percent(15)) complete_some();
  }
  complete_some();
  if (draw_.percent(50)) order(handle, some_ordering());
  mixed(handle);
}

void Generator::shared_pointer(Handle& handle) {
  if (draw_.percent(75)) {
    View view = handle.view;  // the same for all ranks
    std::fill(view.filetypes.begin(), view.filetypes.end(), view.filetypes[0]);
    std::fill(view.displacements.begin(), view.displacements.end(), view.displacements[0]);
    view.disjoint = false;
    set_view(handle, view);
  }
  for (i64 left = draw_.between(3, 10); left > 0; --left) {
    const bool ordered = draw_.percent(50);
    if (draw_.percent(15)) add(Op::kSeekShared, handle.number).value = draw_.between(0, 200);
    Step& step = access(handle, draw_.percent(65), ordered);
    step.positioning = Positioning::kShared;
    step.synchronism = some_synchronism(ordered);
    if (step.synchronism != Synchronism::kBlocking) under_way_.push_back(step.id);
    if (!ordered) only(step, static_cast<int>(draw_.between(0, program_.ranks - 1)));
    const i64 etypes = std::min<i64>(some_etypes(handle), 800);
    for (int r = 0; r < program_.ranks; ++r) set_part(handle, step, r, {0, draw_.between(ordered ? 0 : 1, etypes)});
    if (draw_.percent(20)) order(handle, some_ordering());
  }
}

void Generator::sizes(Handle& handle) {
  for (i64 left = draw_.between(2, 6); left > 0; --left) {
    const i64 kind = draw_.between(0, 5);
    if (kind == 0) add(Op::kSetSize, handle.number).value = draw_.between(0, draw_.percent(50) ? 500 : 40000);
    if (kind == 1) add(Op::kPreallocate, handle.number).value = draw_.between(1, 20000);
    if (kind == 2) order(handle, some_ordering());
    if (kind >= 3) {
      Step& step = access(handle, kind < 5, draw_.percent(40));
      const i64 etypes = some_etypes(handle);
      for (int r = 0; r < program_.ranks; ++r) set_part(handle, step, r, {slot(handle, r, etypes), draw_.between(1, etypes)});
    }
    Step& step = add(Op::kGetSize, handle.number);
    if (draw_.percent(50)) only(step, static_cast<int>(draw_.between(0, program_.ranks - 1)));
  }
}

void Generator::settings(Handle& handle) {
  const i64 kind = draw_.between(0, 3);
  if (kind == 0) add(Op::kSetInfo, handle.number).info = hints_ ? some_info() : -1;
  if (kind == 1) set_view(handle, draw_view(program_, draw_));
  if (kind == 2) {
    add(Op::kSetAtomicity, handle.number).value = 1;
    for (i64 left = draw_.between(1, 3); left > 0; --left) handover(handle);
    if (draw_.percent(70)) add(Op::kSetAtomicity, handle.number).value = 0;
  }
  if (kind == 3) set_view(handle, plain_view(program_));
  mixed(handle);
}

void Generator::pointers(Handle& handle) {
  for (i64 left = draw_.between(4, 14); left > 0; --left) {
    if (draw_.percent(40)) {
      Step& seek = add(Op::kSeek, handle.number);
      seek.whence = draw_.one_of(std::vector<Whence>{Whence::kSet, Whence::kCurrent, Whence::kEnd});
      for (Part& part : seek.parts) {
        part.offset = draw_.between(seek.whence == Whence::kSet ? 0 : -60, 200);
        part.in = draw_.percent(75);
      }
    }
    const bool collective = draw_.percent(40);
    Step& step = access(handle, draw_.percent(55), collective);
    step.positioning = Positioning::kIndividual;
    step.synchronism = some_synchronism(collective);
    if (step.synchronism != Synchronism::kBlocking) under_way_.push_back(step.id);
    const i64 etypes = std::min<i64>(some_etypes(handle), 1000);
    for (int r = 0; r < program_.ranks; ++r) {
      set_part(handle, step, r, {0, draw_.between(1, etypes)});
      if (!collective) step.parts[static_cast<size_t>(r)].in = draw_.percent(70);
    }
    if (draw_.percent(40)) add(Op::kGetPosition, handle.number);
    if (draw_.percent(15)) order(handle, some_ordering());
  }
}

// One file through two openings, one of them by each process alone: disjoint bytes, at the same time.
void Generator::beside() {
  if (handles_.size() > 45) return;
  const int file = static_cast<int>(draw_.between(0, static_cast<i64>(program_.files.size()) - 1));
  const i64 block = draw_.one_of(std::vector<i64>{1, 4, 8, 8, 100}), tile = block * program_.ranks * 3;
  Handle& first = open(file, draw_.percent(50) ? Group::kWorld : Group::kSelf, kRead | kWrite | kCreate);
  Handle& second = open(file, draw_.percent(70) ? Group::kSelf : Group::kWorld, kRead | kWrite | kCreate);
  const View view = interleaved_view(program_, draw_, block, tile);
  View others = interleaved_view(program_, draw_, block, tile);
  for (i64& displacement : others.displacements) displacement += block * program_.ranks;
  set_view(first, view);
  if (draw_.percent(60)) set_view(second, others);
  add(Op::kBarrier, -1);
  const i64 rounds = draw_.between(3, 12), etypes = block * draw_.between(1, 20);
  for (i64 i = 0; i < rounds; ++i) {
    const int writer = static_cast<int>(draw_.between(0, program_.ranks - 1));
    Step& step = access(first, true, draw_.percent(20));
    if (!step.collective) only(step, writer);
    for (int r = 0; r < program_.ranks; ++r) set_part(first, step, r, {i * etypes, etypes});
    for (i64 holes = draw_.between(1, 4); holes > 0; --holes) {
      Step& hole = access(second, true, false);
      if (draw_.percent(50)) only(hole, static_cast<int>(draw_.between(0, program_.ranks - 1)));
      for (int r = 0; r < program_.ranks; ++r) {
        const bool viewed = second.view.disjoint;
        const i64 copy = i * etypes / block + draw_.between(0, etypes / block - 1);
        set_part(second, hole, r, {viewed ? copy * block : copy * tile + (program_.ranks + r) * block, block});
      }
    }
  }
  const bool reopen = draw_.percent(30);
  order(first, reopen ? Ordering::kReopen : Ordering::kSync);
  order(second, reopen ? Ordering::kReopen : Ordering::kSync);
  add(Op::kSync, first.number);
  for (Handle* handle : {&first, &second}) {
    Step& step = access(*handle, false, draw_.percent(50));
    for (int r = 0; r < program_.ranks; ++r) set_part(*handle, step, r, {0, std::min<i64>(rounds * etypes, 20000)});
  }
}

// What one rank wrote is read or overwritten by the others, with an order between them.
void Generator::handover(Handle& handle) {
  const i64 pieces = draw_.between(1, 20), each = std::min<i64>(some_etypes(handle), draw_.percent(70) ? 300 : 3000);
  const int writer = static_cast<int>(draw_.between(0, program_.ranks - 1));
  for (i64 turn = draw_.between(1, 3); turn > 0; --turn) {
    for (i64 i = 0; i < pieces; ++i) {
      Step& step = access(handle, true, false);
      only(step, writer);
      set_part(handle, step, writer, {i * each, each});
    }
    order(handle, draw_.one_of(std::vector<Ordering>{Ordering::kBarrier, Ordering::kBarrier, Ordering::kSync, Ordering::kReopen}));
    const bool write = draw_.percent(40);
    const int other = static_cast<int>(draw_.between(0, program_.ranks - 1));
    for (i64 i = 0; i < (write ? pieces : 1); ++i) {
      Step& step = access(handle, write, false);
      for (int r = 0; r < program_.ranks; ++r) {
        set_part(handle, step, r, {i * each, write ? draw_.between(1, each) : std::min<i64>(pieces * each, 20000)});
        if (write) step.parts[static_cast<size_t>(r)].in = r == other;
      }
    }
    if (draw_.percent(60)) order(handle, some_ordering());
  }
}

// Dense reads of a file that nobody writes, with the bytes counted that the processes read for them.
void Generator::metered() {
  File file;
  file.initial_bytes = 768 * 1024;
  program_.files.push_back(file);
  Handle& handle = open(static_cast<int>(program_.files.size()) - 1, draw_.percent(80) ? Group::kWorld : Group::kSelf,
                        draw_.percent(60) ? kRead : kRead | kWrite);
  const bool collective = draw_.percent(60), interleaved = draw_.percent(60);
  const i64 each = draw_.one_of(std::vector<i64>{4096, 8192, 16384, 65536});
  const i64 pieces = std::min<i64>(file.initial_bytes / program_.ranks / each, 24);
  if (draw_.percent(30)) set_view(handle, interleaved_view(program_, draw_, each, each * program_.ranks));
  add(Op::kMeterBegin, -1);
  for (i64 i = 0; i < pieces; ++i) {
    Step& step = access(handle, false, collective);
    for (int r = 0; r < program_.ranks; ++r) {
      step.parts[static_cast<size_t>(r)].memory = basic_type(program_, Basic::kByte);
      step.parts[static_cast<size_t>(r)].count = each;
      step.parts[static_cast<size_t>(r)].offset = handle.view.disjoint ? i * each : (interleaved ? i * program_.ranks + r : r * pieces + i) * each;
      step.parts[static_cast<size_t>(r)].delay_us = 0;
    }
  }
  add(Op::kMeterEnd, -1);
}

}  // namespace mercutio::programs
