#include "faults/rank.h"

#include <algorithm>

namespace mercutio::programs {
namespace {

Amode amode_of(unsigned mode) {
  Amode amode;
  const bool read = mode & kRead, write = mode & kWrite;
  amode.read_write = read && write;
  amode.write_only = write && !read;
  amode.read_only = !write;
  amode.create = mode & kCreate;
  amode.exclusive = mode & kExclusive;
  amode.delete_on_close = mode & kDeleteOnClose;
  amode.unique_open = mode & kUniqueOpen;
  amode.append = mode & kAppend;
  amode.sequential = mode & kSequential;
  return amode;
}

mercutio::Positioning positioning_of(Positioning positioning) {
  return positioning == Positioning::kExplicit     ? mercutio::Positioning::kExplicit
         : positioning == Positioning::kIndividual ? mercutio::Positioning::kIndividual
                                                   : mercutio::Positioning::kShared;
}

mercutio::Whence whence_of(Whence whence) {
  return whence == Whence::kSet ? mercutio::Whence::kSet : whence == Whence::kCurrent ? mercutio::Whence::kCurrent : mercutio::Whence::kEnd;
}

Result<i64> as_result(const Status& status) { return status ? Result<i64>(i64{0}) : Result<i64>(status.error()); }

}  // namespace

std::string name_of_file(int file) { return "f" + std::to_string(file); }

void look(Files& files, int file, Entry& entry) {
  entry.came = Came::kDone;
  entry.content.clear();
  if (!files.exists(name_of_file(file))) return;
  for (const std::byte byte : files.file(name_of_file(file)).bytes) entry.content.push_back(static_cast<std::uint8_t>(byte));
}

void RankRun::go() {
  try {
    for (index_ = 0; index_ < run_.program.steps.size(); ++index_) {
      if (run_.planned[index_].dropped) continue;
      run_.job.enter_step(static_cast<i64>(index_));
      take(run_.program.steps[index_]);
    }
    files_.clear();
    return;
  } catch (const Died&) {
  }
  end_of_dead();
}

// The process is gone: whatever was under way has no end that anybody sees.
void RankRun::end_of_dead() {
  run_.job.abandon();
  const auto fail = [](Entry& entry) {
    entry.came = Came::kFailed;
    entry.error = rank_died();
  };
  fail(entry(index_));
  for (auto& [id, under_way] : under_way_) fail(entry(under_way.index));
  files_.clear();
}

void RankRun::take(const Step& step) {
  const Expected& expected = run_.planned[index_].ranks[static_cast<size_t>(rank_)];
  for (i64 left = part(step).delay_us; left > 0; left -= 50) run_.job.wait();
  Entry& mine = entry(index_);
  switch (step.op) {
    case Op::kBarrier:
      return run_.job.barrier();
    case Op::kMeterBegin:
    case Op::kMeterEnd:
      return;
    case Op::kComplete:
      return complete(step);
    case Op::kVerify:
      if (expected.in) look(run_.files, step.file, mine);
      return;
    case Op::kOpen:
      return open(step, mine);
    default:
      break;
  }
  if (!expected.in || files_.find(step.handle) == files_.end()) return;
  if (step.op != Op::kClose && broken_.count(step.handle) > 0) return;
  step.op == Op::kAccess ? access(step, expected, mine) : manage(step, mine);
}

void RankRun::note(Entry& entry, const Result<i64>& result) const {
  entry.came = result ? Came::kDone : Came::kFailed;
  if (result) entry.value = *result;
  if (!result) entry.error = result.error();
}

InfoItems RankRun::info(int number) const {
  InfoItems items;
  if (number < 0) return items;
  for (const auto& [key, value] : run_.program.infos[static_cast<size_t>(number)]) items.push_back({key, value});
  return items;
}

void RankRun::open(const Step& step, Entry& entry) {
  std::vector<i64> members;
  const int mine = static_cast<int>(rank_), ranks = run_.program.ranks;
  for (int r = 0; r < ranks; ++r) {
    if (colour_of(step.group, r, ranks) == colour_of(step.group, mine, ranks)) members.push_back(r);
  }
  OpenCall call;
  call.file_name = name_of_file(step.file);
  call.amode = amode_of(step.mode);
  call.info = info(step.info);
  Context context;
  context.progress = &run_.job.progress();
  context.datareps = &run_.datareps;
  context.job_processes = ranks;
  members_[step.handle] = members;
  auto opened = open_file(run_.job.make_comm(std::move(members), static_cast<i64>(index_) + 1), call, context);
  note(entry, opened ? Result<i64>(i64{0}) : Result<i64>(opened.error()));
  if (opened) files_[step.handle] = std::move(*opened);
}

// Where its place is no longer what the plan has.
bool RankRun::leaves_out(const Step& step) const {
  if (step.positioning != Positioning::kShared) return false;
  const std::vector<i64>& members = members_.at(step.handle);
  const bool one_died = std::any_of(members.begin(), members.end(), [this](i64 member) { return run_.job.is_dead(member); });
  return not_shared_.count(step.handle) > 0 || (!step.collective && one_died);
}

AccessCall RankRun::call_of(const Step& step, Entry& entry) {
  entry.buffer = std::make_shared<Buffer>(run_.program, step, static_cast<int>(rank_));
  AccessCall call;
  call.name = "an access";
  call.direction = step.write ? Direction::kWrite : Direction::kRead;
  call.positioning = positioning_of(step.positioning);
  call.collective = step.collective;
  call.offset = part(step).offset;
  call.memory = Memory{static_cast<std::byte*>(entry.buffer->origin()), types_.flat(part(step).memory), part(step).count};
  call.memory_spec = types_.get(part(step).memory);
  return call;
}

void RankRun::access(const Step& step, const Expected& expected, Entry& entry) {
  if (leaves_out(step)) return;
  mercutio::File& file = *files_[step.handle];
  if (step.positioning == Positioning::kIndividual && trouble()) static_cast<void>(file.seek(expected.first_etype, mercutio::Whence::kSet));
  const AccessCall call = call_of(step, entry);
  UnderWay begun{&step, index_, nullptr, &file};
  if (step.synchronism == Synchronism::kBlocking) {
    note(entry, file.access(call));
  } else if (step.synchronism == Synchronism::kSplit) {
    note(entry, as_result(file.begin(call)));
  } else {
    auto request = file.start(call, nullptr);
    note(entry, request ? Result<i64>(i64{0}) : Result<i64>(request.error()));
    if (request) begun.request = std::move(*request);
  }
  if (entry.came == Came::kDone && step.synchronism != Synchronism::kBlocking) under_way_[step.id] = std::move(begun);
  if (entry.came == Came::kFailed && call.positioning == mercutio::Positioning::kShared && step.collective) not_shared_.insert(step.handle);
}

void RankRun::complete(const Step& step) {
  std::vector<int> ids;
  for (const int id : step.targets) {
    if (under_way_.count(id) > 0) ids.push_back(id);
  }
  const bool tests = step.completion == Completion::kTestEach || step.completion == Completion::kTestAll ||
                     step.completion == Completion::kTestAny || step.completion == Completion::kTestSome;
  while (!ids.empty()) {
    size_t next = 0;
    if (tests) {
      const auto done = std::find_if(ids.begin(), ids.end(), [this](int id) {
        const UnderWay& under_way = under_way_[id];
        return !under_way.request || under_way.request->done();
      });
      next = static_cast<size_t>(done - ids.begin());
    }
    if (next == ids.size()) {
      run_.job.wait();
      continue;
    }
    end(under_way_[ids[next]]);
    under_way_.erase(ids[next]);
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(next));
  }
}

void RankRun::end(UnderWay& under_way) {
  const Step& step = *under_way.step;
  Entry& begun = entry(under_way.index);
  const Direction direction = step.write ? Direction::kWrite : Direction::kRead;
  note(begun, under_way.request ? under_way.request->wait()
                                : under_way.file->end("the end", direction, positioning_of(step.positioning), begun.buffer->origin()));
  if (begun.came == Came::kFailed && step.positioning == Positioning::kShared && step.collective) not_shared_.insert(step.handle);
}

void RankRun::manage(const Step& step, Entry& entry) {
  mercutio::File& file = *files_[step.handle];
  switch (step.op) {
    case Op::kSeek:
      if (!trouble()) note(entry, as_result(file.seek(part(step).offset, whence_of(step.whence))));
      return;
    case Op::kGetPosition:
      if (!trouble()) note(entry, file.position());
      return;
    case Op::kGetSize:
      return note(entry, file.size());
    case Op::kClose:
      note(entry, as_result(file.close()));
      files_.erase(step.handle);
      return;
    case Op::kSync:
      return note(entry, as_result(file.sync()));
    case Op::kSetSize:
      return note(entry, as_result(file.set_size(step.value)));
    case Op::kPreallocate:
      return note(entry, as_result(file.preallocate(step.value)));
    case Op::kSetInfo:
      return note(entry, as_result(file.set_info(info(step.info))));
    default:
      note(entry, as_result(set_up_handle(step, file)));
      if (entry.came == Came::kFailed) broken_.insert(step.handle);
  }
}

// What later accesses depend on.
Status RankRun::set_up_handle(const Step& step, mercutio::File& file) {
  if (step.op == Op::kSetView) {
    return file.set_view({part(step).displacement, types_.get(step.etype), types_.get(part(step).filetype), "native", info(step.info), ok_status()});
  }
  if (step.op == Op::kSeekShared) return file.seek_shared(step.value, mercutio::Whence::kSet);
  return file.set_atomicity(step.value != 0);
}

}  // namespace mercutio::programs
