// How what the ranks of a job recorded comes together at rank 0, in a file and in messages that do not grow with their number.
//
// Ranks send in a binomial tree: rank r receives from r + 1, r + 2, r + 4, ... So the ranks of a node come together first, where a node
// has consecutive ranks, and rank 0 receives log2(ranks) messages of at most half of the file. Each rank's piece is cut down to its share
// of the file. Of up to kMostPieces ranks each keeps its piece. Of more, those of a block of consecutive ranks become kPiecesOfBlock: those
// that did about the same become one (likeness.h), whose totals, bins and maps are the exact sums of its ranks. Calls whose events are
// kept are chosen by a hash that is the same on all ranks, so they stay whole and stand for all ranks alike.
#pragma once

#include <vector>

#include "insight/job.h"

namespace mercutio {

inline constexpr i64 kTraceBytes = 64 * MiB;   // of a trace of any number of ranks
inline constexpr i64 kMostPieces = 1024, kPiecesOfBlock = 4;

struct MergePlan {
  explicit MergePlan(i64 ranks);
  i64 block = 1;         // consecutive ranks, a power of two; 1: each rank keeps its piece
  i64 piece_bytes = 0;   // a piece's share of the file
  i64 block_of(i64 rank) const { return rank / block * block; }
};

// Messages between ranks. False: the other one does not answer, or there is no memory.
class PieceMover {
 public:
  virtual ~PieceMover() = default;
  virtual bool send(i64 to, std::vector<std::byte> pieces) = 0;
  virtual bool receive(i64 from, std::vector<std::byte>& pieces) = 0;
};

// Called by all ranks. `mine`: of this rank, at most MergePlan::piece_bytes; empty: it recorded nothing. Returns the pieces of all ranks on rank 0
// and nothing on the others.
Result<std::vector<std::byte>> merge_pieces(PieceMover& mover, i64 rank, i64 ranks, std::vector<std::byte> mine);

// What says in which file it is says one that is there.
bool sound(const RankTrace& trace);
// The sums of both, which are sound, and whose events count from the same rank. Steps and sketches are those of single ranks: they go.
void join(RankTrace& mine, RankTrace other);
std::vector<std::byte> encoded(const RankTrace& trace);   // as parse_trace reads it

}  // namespace mercutio
