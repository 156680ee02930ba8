// Files, handles and single steps of a random program.
#include "generate.h"

#include <algorithm>
#include <tuple>

#include "generator.h"

namespace mercutio::programs {
namespace {

constexpr unsigned kReadWrite = kRead | kWrite;

Draw draw_of_block(i64 seed) {
  return Draw(static_cast<std::uint64_t>(seed / kBlock) * 7919 + 17);
}

}  // namespace

int Program::add(const Type& type) {
  std::vector<Map> inner;
  for (const int i : type.inner) inner.push_back(maps[static_cast<size_t>(i)]);
  maps.push_back(map_of(type, inner));
  types.push_back(type);
  return static_cast<int>(types.size()) - 1;
}

Job job_of(i64 seed, const std::string& folder) {
  Draw draw = draw_of_block(seed);
  Job job;
  static const std::vector<int> kRanks = {1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6};
  job.ranks = draw.one_of(kRanks);
  if (draw.percent(30)) job.environment = draw_environment(draw, folder);
  if (job.ranks > 1 && draw.percent(8)) job.jobs = 2;
  return job;
}

Program generate(i64 seed) {
  return Generator(seed, job_of(seed, "")).run();
}

Generator::Generator(i64 seed, const Job& job) : draw_(static_cast<std::uint64_t>(seed)) {
  program_.seed = static_cast<std::uint64_t>(seed);
  program_.ranks = job.ranks;
  program_.jobs = job.jobs;
  handles_.reserve(64);  // scenarios keep references
  static_cast<void>(basic_type(program_, Basic::kByte));
  hints_ = draw_.percent(50);
  program_.posix_order = !hints_ && job.environment.empty();
  const bool dense = draw_.percent(50);
  for (int i = 0; hints_ && i < 3; ++i) program_.infos.push_back(draw_hints(draw_, dense));
}

Program Generator::run() {
  choose_files();
  if (draw_.percent(10)) file_bytes_ = draw_.percent(50) ? 8000 : 500000;
  if (!hints_ && draw_.percent(4) && program_.jobs == 1) metered();
  for (i64 left = draw_.between(2, 5); left > 0; --left) {
    const i64 kind = draw_.between(0, 99);
    Handle& handle = some_handle();
    if (kind < 16)
      mixed(handle);
    else if (kind < 26)
      relay(handle);
    else if (kind < 36)
      in_a_row(handle);
    else if (kind < 44)
      read_in_a_row(handle);
    else if (kind < 52)
      own_overwrites(handle);
    else if (kind < 60)
      storm(handle);
    else if (kind < 67)
      shared_pointer(handle);
    else if (kind < 72)
      sizes(handle);
    else if (kind < 76)
      settings(handle);
    else if (kind < 82)
      pointers(handle);
    else if (kind < 91)
      beside();
    else
      handover(handle);
    if (draw_.percent(50)) complete_some();
  }
  program_.handles = static_cast<int>(handles_.size());
  return std::move(program_);
}

void Generator::choose_files() {
  for (i64 left = draw_.one_of(std::vector<i64>{1, 1, 2, 3}); left > 0; --left) {
    File file;
    if (draw_.percent(40)) file.initial_bytes = draw_.one_of(std::vector<i64>{0, 1, 1000, 4096, 30000, 65536});
    program_.files.push_back(file);
  }
}

int Generator::some_info() {
  return hints_ && draw_.percent(80) ? static_cast<int>(draw_.between(0, 2)) : -1;
}

Step& Generator::add(Op op, int handle) {
  Step step;
  step.op = op;
  step.id = static_cast<int>(program_.steps.size());
  step.handle = handle;
  step.parts.resize(static_cast<size_t>(program_.ranks));
  delay(step);
  program_.steps.push_back(step);
  return program_.steps.back();
}

// Mostly nobody is late; where one is, mostly one alone.
void Generator::delay(Step& step) {
  const i64 kind = draw_.between(0, 99);
  if (kind < 88) return;
  const i64 late = draw_.between(0, program_.ranks - 1), most = kind < 96 ? 100 : kind < 99 ? 600 : 2000;
  for (i64 r = 0; r < program_.ranks; ++r) {
    if (r == late || draw_.percent(20)) step.parts[static_cast<size_t>(r)].delay_us = draw_.between(10, most);
  }
}

Generator::Handle& Generator::open(int file, Group group, unsigned mode) {
  if (program_.jobs == 2 && group != Group::kSelf) group = Group::kHalves;   // a file is opened by ranks of one job
  Step& step = add(Op::kOpen, static_cast<int>(handles_.size()));
  step.file = file;
  step.group = group;
  step.mode = mode;
  step.info = some_info();
  Handle handle;
  handle.number = step.handle;
  handle.file = file;
  handle.group = group;
  handle.mode = mode;
  handle.view = plain_view(program_);
  handle.alive = true;
  handles_.push_back(handle);
  return handles_.back();
}

Generator::Handle& Generator::some_handle() {
  std::vector<int> alive;
  for (size_t i = 0; i < handles_.size(); ++i) {
    if (handles_[i].alive) alive.push_back(static_cast<int>(i));
  }
  if (!alive.empty() && draw_.percent(alive.size() < 3 ? 60 : 90))
    return handles_[static_cast<size_t>(draw_.one_of(alive))];
  const int file = static_cast<int>(draw_.between(0, static_cast<i64>(program_.files.size()) - 1));
  const i64 kind = draw_.between(0, 99);
  unsigned mode = kReadWrite;
  if (kind >= 65 && kind < 82) mode = kWrite;
  if (kind >= 82 && kind < 90 && program_.files[static_cast<size_t>(file)].initial_bytes > 0) mode = kRead;
  if (kind >= 90) mode |= kAppend;
  if (draw_.percent(50)) mode |= kCreate;
  if (draw_.percent(10)) mode |= kExclusive;
  if (draw_.percent(3)) mode |= kDeleteOnClose;
  if (draw_.percent(4)) mode |= kUniqueOpen;
  if (draw_.percent(2)) mode |= kSequential;
  const i64 group = draw_.between(0, 99);
  Handle& handle = open(file,
                        group < 68   ? Group::kWorld
                        : group < 88 ? Group::kSelf
                        : group < 94 ? Group::kHalves
                                     : Group::kParity,
                        mode);
  if (draw_.percent(65)) set_view(handle, draw_view(program_, draw_));
  return handle;
}

void Generator::set_view(Handle& handle, const View& view) {
  Step& step = add(Op::kSetView, handle.number);
  step.etype = view.etype;
  step.info = draw_.percent(20) ? some_info() : -1;
  for (size_t r = 0; r < step.parts.size(); ++r) {
    step.parts[r].filetype = view.filetypes[r];
    step.parts[r].displacement = view.displacements[r];
  }
  handle.view = view;
}

Generator::Ordering Generator::some_ordering() {
  return draw_.one_of(std::vector<Ordering>{Ordering::kNone, Ordering::kNone, Ordering::kBarrier, Ordering::kBarrier,
                                            Ordering::kSync, Ordering::kSync, Ordering::kReopen});
}

void Generator::order(Handle& handle, Ordering ordering) {
  if (ordering == Ordering::kNone) return;
  if (ordering == Ordering::kReopen && handles_.size() > 50) ordering = Ordering::kSync;
  if (ordering == Ordering::kBarrier) {
    add(Op::kBarrier, -1);
    return;
  }
  add(ordering == Ordering::kSync ? Op::kSync : Op::kClose, handle.number);
  add(Op::kBarrier, -1);
  if (ordering == Ordering::kSync) {
    add(Op::kSync, handle.number);
    return;
  }
  handle.alive = false;
  const unsigned lasting = handle.mode & ~static_cast<unsigned>(kExclusive | kDeleteOnClose | kSequential);
  Handle& again = open(handle.file, handle.group, lasting);
  if (draw_.percent(60)) set_view(again, handle.view);
  std::swap(again, handle);  // the caller goes on with the new one
}

Step& Generator::access(Handle& handle, bool write, bool collective) {
  Step& step = add(Op::kAccess, handle.number);
  step.write = write;
  step.collective = collective;
  return step;
}

void Generator::only(Step& step, int rank) {
  for (int r = 0; r < program_.ranks; ++r) step.parts[static_cast<size_t>(r)].in = r == rank;
}

void Generator::set_part(Handle& handle, Step& step, int rank, Segment etypes) {
  Part& part = step.parts[static_cast<size_t>(rank)];
  const Map& map = program_.map(handle.view.filetypes[static_cast<size_t>(rank)]);
  const i64 room =
      std::max<i64>(file_bytes_ * map.size / map.extent / handle.view.etype_bytes, 2);  // etypes; files stay small
  if (etypes.at + etypes.bytes > room) {
    etypes.bytes = std::min(etypes.bytes, (room + 1) / 2);
    etypes.at %= room / 2 + 1;
  }
  part.offset = etypes.at;
  const i64 basics = etypes.bytes * handle.view.etype_bytes / bytes_of(handle.view.basic);
  std::tie(part.memory, part.count) = draw_memory(program_, draw_, handle.view.basic, basics);
}

Synchronism Generator::some_synchronism(bool collective) {
  const i64 kind = draw_.between(0, 99);
  if (kind < 65) return Synchronism::kBlocking;
  return collective && kind < 80 ? Synchronism::kSplit : Synchronism::kNonblocking;
}

i64 Generator::some_etypes(const Handle& handle) {
  const i64 kind = draw_.between(0, 99);
  const i64 most = kind < 10 ? 8 : kind < 60 ? 600 : kind < 85 || hints_ ? 3000 : kind < 97 ? 9000 : 40000;
  return std::max<i64>(draw_.between(1, most) / handle.view.etype_bytes, 1);
}

// A place for a rank: where views don't part the ranks, each has a part of the file for itself, mostly.
i64 Generator::slot(const Handle& handle, int rank, i64 etypes) {
  const i64 far = draw_.percent(85) ? 2 : 12;
  if (handle.view.disjoint) return draw_.between(0, far) * draw_.between(0, 300) / handle.view.etype_bytes;
  if (draw_.percent(15)) return draw_.between(0, 2000) / handle.view.etype_bytes;
  return (draw_.between(0, far) * program_.ranks + rank) * etypes;
}

void Generator::complete_some() {
  if (under_way_.empty()) return;
  Step& step = add(Op::kComplete, -1);
  step.completion = static_cast<Completion>(draw_.between(0, static_cast<i64>(Completion::kStatusFirst)));
  std::vector<int> kept;
  for (const int id : under_way_) (draw_.percent(70) ? step.targets : kept).push_back(id);
  for (size_t i = step.targets.size(); i > 1; --i)
    std::swap(step.targets[i - 1], step.targets[static_cast<size_t>(draw_.between(0, static_cast<i64>(i) - 1))]);
  under_way_ = kept;
}

}  // namespace mercutio::programs
