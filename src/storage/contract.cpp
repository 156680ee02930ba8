#include "storage/contract.h"

#include "storage/contract_checks.h"

namespace mercutio {

std::unique_ptr<Storage> ContractRun::open(bool create, const WriterGroup& group, bool keeps_writes) {
  OpenOptions options;
  options.write = true;
  options.create = create;
  options.group = group;
  options.keeps_writes = keeps_writes;
  auto opened = open_(options);
  if (!opened) {
    expect(opened.error(), "open");
    return nullptr;
  }
  const bool publishes = (*opened)->traits().coherence == Coherence::kAfterPublish;
  if (create && publishes && group.size == 1) expect((*opened)->sync(), "sync");   // there is no file for other opens before
  return std::move(*opened);
}

bool ContractRun::expect(bool holds, const std::string& what) {
  if (!holds) failures_.push_back(what);
  return holds;
}
bool ContractRun::expect(const Status& status, const std::string& what) {
  return expect(status.ok(), what + (status ? "" : ": " + status.error().what));
}
bool ContractRun::equals(const Result<i64>& got, i64 want, const std::string& what) {
  if (!got) return expect(got.error(), what);
  return expect(*got == want, what + ": got " + std::to_string(*got) + ", want " + std::to_string(want));
}

const std::vector<ContractCheck>& contract_checks() {
  using namespace contract;
  static const std::vector<ContractCheck> checks = {
      {"pieces_in_any_order", "pieces in any order come back", pieces_in_any_order},
      {"many_small_pieces", "many small pieces come back", many_small_pieces},
      {"holes_and_the_end", "holes are zeros, and reads end with the file", holes_and_the_end},
      {"sizes", "set_size and preallocate keep the content", sizes},
      {"started_transfers", "transfers that were started end", started_transfers},
      {"large_transfers", "large transfers at odd places come back", large_transfers},
      {"far_offsets", "offsets beyond 4 GiB are kept apart", far_offsets},
      {"threads_of_one_open", "threads that share one open keep their bytes", threads_of_one_open},
      {"opens_keep_data", "opening to create a file keeps the data of one that is there", opens_keep_data},
      {"writes_are_seen", "what was written is there after flush, sync and close", writes_are_seen},
      {"kept_writes_are_seen", "what a rank may keep is there after flush, sync and close", kept_writes_are_seen},
      {"opens_are_apart", "closing one open leaves the others of a file usable", opens_are_apart},
      {"neighbours", "writers side by side keep each other's bytes", neighbours},
      {"kept_writes", "what a rank keeps of its writes is seen after flush and under locks", kept_writes},
      {"locks_exclude", "locks exclude threads and other opens", locks_exclude},
      {"tried_locks", "a lock that is tried is not waited for", tried_locks},
      {"shared_locks", "shared locks overlap and end one by one", shared_locks},
      {"exclusions_hold", "an exclusion keeps other opens for writing out", exclusions_hold},
      {"exclusions_of_a_group", "an exclusion lets the ranks of its own open in", exclusions_of_a_group},
  };
  return checks;
}

}  // namespace mercutio
