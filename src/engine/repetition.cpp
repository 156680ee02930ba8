#include "engine/node_entry.h"

namespace mercutio {

Repetition repetition_of(const PatternMemory::Last& last, const Entry& now) {
  const Entry& then = last.mine;
  const Circumstances& circumstances = now.circumstances;
  const i64 distance = now.summary.first - then.summary.first;
  if (circumstances.failed != 0 || !circumstances.all_hold(last.all.choices.layout)) return {};
  if (!then.circumstances.plans_like(circumstances) || then.choices != now.choices) return {};
  RankSummary moved = then.summary;
  moved.first += distance;
  moved.last += distance;
  if (moved != now.summary) return {};
  const bool same_bytes =
      now.signature.hash == then.signature.hash && now.signature.origin - then.signature.origin == distance;
  // An exchange of other bytes has another key.
  if (last.all.dense_key != 0 && !same_bytes && !last.plan) return {};
  Repetition mine;
  mine.words[Repetition::kStanding] = Repetition::kRepeats;
  if (now.summary.bytes > 0) mine.words[Repetition::kFarthest] = distance;
  if (now.summary.bytes > 0) mine.words[Repetition::kInverseNearest] = ~distance;
  mine.words[Repetition::kForm] = circumstances.more != 0 ? Repetition::kMore : Repetition::kRun;
  const bool reading = last.all.pattern.direction == Direction::kRead;
  mine.words[Repetition::kSize] = reading ? circumstances.size : i64{!same_bytes};
  mine.words[Repetition::kFileBytes] = circumstances.file_bytes;
  mine.words[Repetition::kInverseAlignment] = ~circumstances.alignment;
  return mine;
}

void move_to(PatternMemory::Last& last, const Entry& mine, const Repetition& all) {
  Gathered& gathered = last.all;
  gathered.pattern = moved(std::move(gathered.pattern), all.moved_by());
  for (FileRange& range : gathered.ranges) {
    if (!range.empty()) range = FileRange{range.begin + all.moved_by(), range.end + all.moved_by()};
  }
  Circumstances& circumstances = gathered.circumstances;
  const bool reading = gathered.pattern.direction == Direction::kRead;
  circumstances.more = all.more();
  if (reading) circumstances.size = all.words[Repetition::kSize];
  circumstances.file_bytes = all.words[Repetition::kFileBytes];
  circumstances.alignment = ~all.words[Repetition::kInverseAlignment];
  circumstances.lowest_layout = circumstances.highest_layout = gathered.choices.layout;
  if (!reading && all.words[Repetition::kSize] != 0) gathered.dense_key = 0;
  last.mine = mine;
}

}  // namespace mercutio
