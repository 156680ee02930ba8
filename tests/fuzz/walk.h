// Whether a FlatType keeps what its header promises, seen from its tree: the nodes are spelled out piece by piece, without
// cursor, search or derived values, and everything else must agree with that.
#pragma once

#include <optional>
#include <vector>

#include "fuzz.h"
#include "model/flat_type.h"

namespace mercutio::fuzz {

struct Piece {
  i64 offset, bytes;
};

// One copy's pieces in typemap order; nothing where there are more than `most`.
std::optional<std::vector<Piece>> spell_out(const FlatType& type, i64 most);

// The offset of every data byte of `copies` tiled copies.
std::vector<i64> bytes_of(const FlatType& type, const std::vector<Piece>& pieces, i64 copies);

// Size, bounds and properties against the pieces of one copy.
void check_properties(const FlatType& type, const std::vector<Piece>& pieces);
// Cursors and searches over as many copies as `offsets` holds: all of it, and any part in any portions.
void check_cursors(const FlatTypeRef& type, const std::vector<i64>& offsets, Random& random);
// pack and unpack through a buffer that is exactly as long as the data's span.
void check_packing(const FlatTypeRef& type, const std::vector<i64>& offsets);
// The same questions at random places of a type that is too large to be spelled out.
void check_samples(const FlatTypeRef& type, Random& random);

// All of it, as far as it is cheap.
void check_type(const FlatTypeRef& type, Random& random);

}  // namespace mercutio::fuzz
