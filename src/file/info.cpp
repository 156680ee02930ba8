// Hints of an open file. Rank 0's value counts where all ranks must agree; the others' own values count elsewhere.
// Items travel in one broadcast whatever each rank gave, so keys on one rank only can't hang.
#include <algorithm>

#include "file/open_file.h"
#include "file/wire.h"
#include "plan/plan.h"

namespace mercutio {

void OpenFile::apply_agreed_hints(HintSet& set, const InfoItems& rank_zero, const InfoItems& own, HintTime time) {
  InfoItems common, mine;
  for (const auto& item : rank_zero)
    if (hint_must_agree(item.first)) common.push_back(item);
  for (const auto& item : own)
    if (!hint_must_agree(item.first)) mine.push_back(item);
  apply_hints(set, common, HintSource::kInfo, time);
  apply_hints(set, mine, HintSource::kInfo, time);
  for (const auto& item : own) {
    if (!hint_must_agree(item.first) || std::find(common.begin(), common.end(), item) != common.end()) continue;
    set.notes.push_back(
        HintNote{item.first, item.second, HintSource::kInfo, false, "rank 0 decides, and gave another value"});
  }
}

Status OpenFile::set_info(const InfoItems& info) {
  std::vector<std::byte> message;
  if (comm_->rank() == 0) {
    WireWriter writer;
    writer.put(info);
    message = writer.take();
  }
  const Channel channel = next_channel();
  MERCUTIO_TRY(wait_for(broadcast(channel, 0, message)));
  WireReader reader(message);
  const InfoItems from_rank_zero = reader.items();
  if (reader.failed()) return Error{ErrorClass::kIntern, "the hints of rank 0 arrived damaged"};
  std::lock_guard lock(mutex_);
  auto changed = std::make_shared<HintSet>(*hints_);
  apply_agreed_hints(*changed, from_rank_zero, info, HintTime::kAnyTime);
  hints_ = std::move(changed);
  return ok_status();
}

namespace {

// Numbers with a blank between them, as ROMIO has it; no longer than any MPI lets a value be.
std::string list_of(const std::vector<i64>& numbers) {
  constexpr size_t kLongest = 240;
  std::string out;
  for (const i64 number : numbers) {
    const std::string next = std::to_string(number);
    if (out.size() + next.size() > kLongest) return out + " ...";
    out += (out.empty() ? "" : " ") + next;
  }
  return out;
}

}  // namespace

InfoItems OpenFile::info() const {
  Hints hints;
  {
    std::lock_guard lock(mutex_);
    hints = hints_->values;
  }
  const Traits& traits = storage_->traits();
  hints.romio_visibility_immediate = traits.visibility_immediate && (!keeps_writes_ || comm_->size() == 1);
  hints.romio_filesystem_type = traits.file_system;
  const Layout layout = storage_->layout();  // what the file has, not what was asked for
  const std::vector<i64> aggregators = usual_aggregators(hints, comm_->topology(), layout);
  hints.romio_aggregator_list = list_of(aggregators);
  if (hints.cb_nodes == 0 && !aggregators.empty()) hints.cb_nodes = static_cast<i64>(aggregators.size());
  hints.striping_unit = layout.stripe_bytes;
  hints.striping_factor = layout.stripe_count;
  hints.start_iodevice = layout.first_server;
  if (hints.cb_nodes == 0) hints.cb_nodes = std::min(most_aggregators(comm_->topology(), hints), comm_->size());
  return effective_hints(hints);
}

}  // namespace mercutio
