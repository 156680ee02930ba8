// Deferred open: with romio_no_indep_rw only rank 0 and the usual aggregators open the file when all ranks do, the others when they need it
// (storage/deferred.h). They learn from rank 0 what the storage says of itself. Of a file on another cluster only rank 0 opens it, while the usual
// aggregators connect: what costs a round trip is left to the first access of a rank.
#include <algorithm>

#include "file/open_file.h"
#include "file/wire.h"
#include "plan/plan.h"
#include "storage/drivers.h"

namespace mercutio {

// On rank 0. A rank that moves data of its own in collective accesses has to open the file anyway.
bool OpenFile::wants_deferral(const std::vector<AskedHint>& outside, const InfoItems& info) const {
  const auto named = [&](std::string_view key) {
    return std::any_of(outside.begin(), outside.end(), [&](const AskedHint& hint) { return hint.key == key; }) ||
           std::any_of(info.begin(), info.end(), [&](const auto& item) { return item.first == key; });
  };
  if (comm_->size() == 1 || amode_.sequential) return false;
  if (!named("romio_no_indep_rw") && !named("mercutio_remote") && !is_remote(*resolve(name_).driver)) return false;
  HintSet asked;
  apply_hints(asked, outside, HintTime::kOpen);
  apply_hints(asked, info, HintSource::kInfo, HintTime::kOpen);
  const Hints& hints = asked.values;
  const bool wanted = hints.romio_no_indep_rw || is_remote(*resolve(name_, hints.mercutio_remote).driver);
  return wanted && hints.romio_cb_read != Toggle::kDisable && hints.romio_cb_write != Toggle::kDisable;
}

// Before rank 0 has said what the storage says of itself, only hints tell of stripes.
bool OpenFile::is_usual_aggregator() const {
  const Hints& hints = hints_->values;
  const std::vector<i64> aggregators = usual_aggregators(hints, comm_->topology(), layout_with_hints(facts_->layout, hints));
  return std::find(aggregators.begin(), aggregators.end(), comm_->rank()) != aggregators.end();
}

// By the first call that needs the file, from any thread, after the open.
Result<std::unique_ptr<Storage>> OpenFile::open_later(OpenOptions options) const {
  const char* const why = "this rank opens the file only now, for its first access of its own: ";
  options.read = readable_;
  options.handle = handle_;
  auto opened = resolved_.driver->open(later_path_, options);
  if (!opened) {
    Error error = std::move(opened).error();
    error.what = why + error.what;
    return error;
  }
  const Traits& traits = (*opened)->traits();
  const i64 first = facts_->traits.file_number;
  const std::vector<i64>& nodes = comm_->topology().node_of_rank;
  const bool other_node = !nodes.empty() && nodes[static_cast<size_t>(comm_->rank())] != nodes[0];
  const bool copies = !amode_.writable() && !traits.metadata_is_remote && other_node;   // of a file on each node
  if (first == 0 || traits.file_number == first || copies || options.coherence == CoherenceWay::kNone) return opened;
  return Error{ErrorClass::kNotSame, std::string(why) + "the name stands for another file than on rank 0"};
}

std::vector<std::byte> deferral_message(const std::vector<std::byte>& handle, const DeferredFacts& facts) {
  const Traits& traits = facts.traits;
  WireWriter writer;
  writer.put(std::string(reinterpret_cast<const char*>(handle.data()), handle.size()));
  for (const std::string* text : {&traits.file_system, &traits.coherence_advice, &traits.transfers}) writer.put(*text);
  for (const bool flag : {traits.can_lock, traits.locks_between_nodes, traits.can_merge, traits.sparse_files, traits.writes_wait, traits.metadata_is_remote,
                          traits.remote_cluster, traits.caches_per_rank, traits.keeps_writes})
    writer.put(i64{flag});
  for (const i64 number : {static_cast<i64>(traits.coherence), static_cast<i64>(traits.way), traits.block_bytes, traits.file_number,
                           facts.layout.stripe_bytes, facts.layout.stripe_count, facts.layout.first_server})
    writer.put(number);
  return writer.take();
}

Status take_deferral(ConstBytes message, std::vector<std::byte>& handle, DeferredFacts& facts) {
  Traits& traits = facts.traits;
  WireReader reader(message);
  const std::string bytes = reader.text();
  handle.assign(reinterpret_cast<const std::byte*>(bytes.data()), reinterpret_cast<const std::byte*>(bytes.data() + bytes.size()));
  for (std::string* const text : {&traits.file_system, &traits.coherence_advice, &traits.transfers}) *text = reader.text();
  for (bool* const flag : {&traits.can_lock, &traits.locks_between_nodes, &traits.can_merge, &traits.sparse_files, &traits.writes_wait, &traits.metadata_is_remote,
                           &traits.remote_cluster, &traits.caches_per_rank, &traits.keeps_writes})
    *flag = reader.number() != 0;
  traits.coherence = static_cast<Coherence>(reader.number());
  traits.way = static_cast<CoherenceWay>(reader.number());
  for (i64* const number : {&traits.block_bytes, &traits.file_number, &facts.layout.stripe_bytes, &facts.layout.stripe_count, &facts.layout.first_server})
    *number = reader.number();
  return reader.failed() ? Status(Error{ErrorClass::kIntern, "what rank 0 said of the file is damaged"}) : ok_status();
}

}  // namespace mercutio
