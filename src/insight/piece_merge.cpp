#include "insight/piece_merge.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/attempt.h"
#include "insight/likeness.h"

namespace mercutio {
namespace {

Likeness likeness_of(const RankTrace& trace) {
  Likeness likeness(trace.header.members);
  for (const FileRecord& file : trace.files) likeness.add(file.totals);
  return likeness;
}

// The pieces of one block.
class Block {
 public:
  Block(const MergePlan& plan, i64 first_rank) : plan_(plan), first_rank_(first_rank) {}

  Status add(ConstBytes pieces) {
    MERCUTIO_LET(std::vector<RankTrace> found, parse_trace(pieces));
    for (RankTrace& trace : found) {
      if (!sound(trace)) continue;   // it is missing
      for (EventRecord& event : trace.events) event.member = static_cast<std::uint16_t>(event.member + trace.header.first_rank - first_rank_);
      trace.header.first_rank = first_rank_;
      traces_.push_back(std::move(trace));
    }
    while (static_cast<i64>(traces_.size()) > kPiecesOfBlock) {
      std::vector<Likeness> all;
      for (const RankTrace& trace : traces_) all.push_back(likeness_of(trace));
      const auto [first, second] = likest(all);
      join(traces_[first], std::move(traces_[second]));
      traces_.erase(traces_.begin() + static_cast<std::ptrdiff_t>(second));
      limit(traces_[first]);
    }
    return ok_status();
  }

  std::vector<std::byte> pieces() const {
    std::vector<std::byte> all;
    for (const RankTrace& trace : traces_) {
      const std::vector<std::byte> one = encoded(trace);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

 private:
  void limit(RankTrace& trace) const {
    const std::vector<std::byte> whole = encoded(trace);
    if (static_cast<i64>(whole.size()) <= plan_.piece_bytes) return;
    auto fewer = parse_trace(trimmed(whole, limits_within(whole, plan_.piece_bytes)));
    if (fewer && fewer->size() == 1) trace = std::move(fewer->front());
  }

  const MergePlan plan_;
  const i64 first_rank_;
  std::vector<RankTrace> traces_;
};

}  // namespace

MergePlan::MergePlan(i64 ranks) {
  const i64 blocks = kMostPieces / kPiecesOfBlock;
  if (ranks > kMostPieces) block = static_cast<i64>(std::bit_ceil(static_cast<std::uint64_t>((ranks + blocks - 1) / blocks)));
  piece_bytes = kTraceBytes / std::min(std::max<i64>(1, ranks), kMostPieces);
}

// A child's whole blocks are passed on as they are; those of the same block as this rank's are joined with them.
Result<std::vector<std::byte>> merge_pieces(PieceMover& mover, i64 rank, i64 ranks, std::vector<std::byte> mine) {
  const MergePlan plan(ranks);
  Block block(plan, plan.block_of(rank));
  std::vector<std::byte> all;
  bool joined = plan.block == 1;
  // Without memory, or where they are damaged, what came is missing.
  const auto add = [&](const std::vector<std::byte>& pieces) {
    (void)attempt([&] { return joined ? (all.insert(all.end(), pieces.begin(), pieces.end()), ok_status()) : block.add(pieces); });
  };
  const auto end_block = [&] {
    if (std::exchange(joined, true)) return;
    (void)attempt([&] { return all = block.pieces(), ok_status(); });
  };
  add(std::exchange(mine, {}));
  for (i64 distance = 1; (rank & distance) == 0 && rank + distance < ranks; distance *= 2) {
    if (distance >= plan.block) end_block();
    std::vector<std::byte> theirs;
    if (!mover.receive(rank + distance, theirs)) return Error{ErrorClass::kIntern, "rank " + std::to_string(rank + distance) + " did not send what it recorded"};
    add(theirs);
  }
  end_block();
  if (rank == 0) return all;
  const i64 parent = rank & (rank - 1);
  if (!mover.send(parent, std::move(all))) return Error{ErrorClass::kIntern, "rank " + std::to_string(parent) + " did not take what was recorded"};
  return std::vector<std::byte>();
}

}  // namespace mercutio
